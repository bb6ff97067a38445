#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every test that a page of docs/ names exists under that name.

    named_tests.py ROOT PAGE...

A test is named as CTest names it, `module: sentence`; a method of a Python test is
`module: test_name`.
Exit codes: 0 all exist, 1 one does not, 6 a page names none.
"""
import pathlib
import re
import sys

NAMED = r"`(?:sim|replay|fault|games|marine|tidy|conformance|tools\w*|net_\w+): ([^`]+)`"


def known_names(root):
    names = set()
    for path in root.glob("tests/**/*.cpp"):
        text = path.read_text(encoding="utf-8")
        for literals in re.findall(r'TEST_CASE\(\s*((?:"[^"]*"\s*)+),', text):
            names.add("".join(re.findall(r'"([^"]*)"', literals)))
    for path in root.glob("tests/**/*.py"):
        names.update(re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8")))
    for path in root.glob("tests/**/CMakeLists.txt"):
        for name in re.findall(r'NAME\s+"([^"]+)"', path.read_text(encoding="utf-8")):
            names.add(name.partition(": ")[2])
    return names


def main():
    root = pathlib.Path(sys.argv[1])
    known = known_names(root)
    missing = 0
    for page in sys.argv[2:]:
        named = re.findall(NAMED, (root / page).read_text(encoding="utf-8"))
        if not named:
            print(f"{page} names no test")
            return 6
        for name in sorted(set(named) - known):
            print(f"{page} names a test that does not exist: {name}")
            missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
