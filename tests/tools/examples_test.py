#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every worked example of a page, in order, in one folder.

Usage: examples_test.py TWINSTEP PAGE

An example is a block that begins with ```console. A line "$ COMMAND" is run by bash, which finds
`twinstep`; the lines up to the next command are all it prints, on both streams. "..." stands for
anything in a line, a line "..." for any number of lines. A command that ends with another code than
0 says so in a last line "[exit N]".
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def examples(page):
    """(line number, command, expected lines) of every command in the page."""
    inside = False
    found = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside and line == "```console"
        elif inside and line.startswith("$ "):
            found.append((number, line[2:], []))
        elif inside:
            assert found, f"{page}:{number}: an example begins with a command"
            found[-1][2].append(line)
    return found


def pattern(lines):
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r"[^\n]*".join(map(re.escape, line.split("..."))) + r"\n")
    return re.compile("".join(parts))


def shown(number, command, folder, environment):
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    text = done.stdout.decode()
    if text and not text.endswith("\n"):
        text += "\n"
    return text + (f"[exit {done.returncode}]\n" if done.returncode != 0 else "")


def main():
    command, page = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    verbs = set()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / ".tools"
        tools.mkdir()
        (tools / "twinstep").symlink_to(command)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        found = examples(page)
        for number, line, expected in found:
            verbs.update(re.findall(r"twinstep ([a-z-]+)", line))
            text = shown(number, line, folder, environment)
            if not pattern(expected).fullmatch(text):
                failures += 1
                print(f"{page.name}:{number}: $ {line}\nexpected:", *expected, sep="\n  ")
                print("printed:", *text.splitlines(), sep="\n  ")
    if not found:
        sys.exit(f"{page}: no example was found")
    print(f"{len(found)} commands, {failures} failed; verbs: {' '.join(sorted(verbs))}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
