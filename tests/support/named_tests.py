#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every test that docs/determinism.md names for an invariant exists under that name.

    named_tests.py ROOT

Exit codes: 0 all exist, 1 one does not, 6 the page names none.
"""
import pathlib
import re
import sys


def known_names(root):
    names = set()
    for path in root.glob("tests/**/*.cpp"):
        text = path.read_text(encoding="utf-8")
        for literals in re.findall(r'TEST_CASE\(\s*((?:"[^"]*"\s*)+),', text):
            names.add("".join(re.findall(r'"([^"]*)"', literals)))
    for path in root.glob("tests/**/CMakeLists.txt"):
        for name in re.findall(r'NAME\s+"([^"]+)"', path.read_text(encoding="utf-8")):
            names.add(name.partition(": ")[2])
    return names


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / "docs/determinism.md").read_text(encoding="utf-8")
    named = re.findall(r"`(?:sim|replay|fault|games|marine|tidy): ([^`]+)`", page)
    if not named:
        print("docs/determinism.md names no test")
        return 6
    missing = sorted(set(named) - known_names(root))
    for name in missing:
        print(f"docs/determinism.md names a test that does not exist: {name}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
