# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, and what every answer must look like.

The first argument of a test program is the command's path; unittest's options follow.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TWINSTEP = sys.argv.pop(1) if len(sys.argv) > 1 else "twinstep"
WADS = pathlib.Path(os.environ.get("TWINSTEP_WADS", "/usr/share/games/doom"))


def run(*arguments, binary=False):
    done = subprocess.run(
        [TWINSTEP, *map(str, arguments)], capture_output=True, check=False, timeout=120
    )
    if not binary:
        done.stdout = done.stdout.decode()
    done.stderr = done.stderr.decode()
    return done


class CommandTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def json(self, *arguments, code=0):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1, f"{arguments}: not exactly one object: {done.stdout}")
        return json.loads(lines[0])

    def refused(self, *arguments, code, mentions=()):
        """The verb ends with `code`, says so in one line on standard error, prints nothing else."""
        done = run(*arguments)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in mentions:
            self.assertIn(str(text), done.stderr)
        return done.stderr

    def record(self, name="a.twin", *options, game="marine", ticks=200):
        path = self.folder / name
        answer = self.json(
            "record", game, "-o", path, "--from", "bot:3", "--ticks", ticks, *options
        )
        return path, answer

    def flip_input(self, source, tick, name="flipped.twin"):
        """A consistent file in which the lowest bit of slot 0's turn differs at `tick`."""
        text = self.folder / "flipped.ndjson"
        flipped = 0
        with text.open("w") as out:
            for line in run("cat", source, "--editable").stdout.splitlines():
                record = json.loads(line)
                if record.get("tick") == str(tick):
                    slot = record["slots"][0]
                    record["slots"][0] = slot[:4] + f"{int(slot[4:6], 16) ^ 1:02x}" + slot[6:]
                    line = json.dumps(record)
                    flipped += 1
                out.write(line + "\n")
        self.assertEqual(flipped, 1)
        self.json("import", text, "-o", self.folder / name)
        return self.folder / name
