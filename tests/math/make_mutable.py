#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies the headers of sim/math so that their tables can be changed while a program runs.

    make_mutable.py SOURCE TARGET    both are folders that hold twinstep/sim/math

Tables lose their `constexpr`, and so do the functions that read them; nothing else changes.
"""
import os
import re
import sys

UNTOUCHED = {"exact.hpp", "root.hpp", "values.hpp"}  # they read no table


def mutable(name, text):
    if name in UNTOUCHED:
        return text
    if name == "tables.hpp":
        return text.replace("inline constexpr ", "inline ")
    text = text.replace("inline constexpr Octant", "inline const Octant")
    return re.sub(r"^(TWINSTEP_MATH_\w+ )?constexpr ", r"\1inline ", text, flags=re.MULTILINE)


def main():
    source, target = (os.path.join(folder, "twinstep/sim/math") for folder in sys.argv[1:3])
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)):
        with open(os.path.join(source, name), encoding="utf-8") as file:
            text = mutable(name, file.read())
        with open(os.path.join(target, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
