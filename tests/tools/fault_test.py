#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command does where others have lost recordings: see docs/recording-faults.md.

Usage: fault_test.py TWINSTEP [unittest options]
"""

import datetime
import os
import subprocess
import unittest

from support import TWINSTEP, CommandTest


class FaultTest(CommandTest):
    def test_two_recorders_of_one_second_both_work(self):
        def start(name):
            return subprocess.Popen(
                [TWINSTEP, "record", "marine", "-o", self.folder / name]
                + ["--from", "bot:3", "--ticks", "2000"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )

        runs = [start(name) for name in ("a.twin", "b.twin", "a.twin")]
        errors = [run.communicate(timeout=120)[1] for run in runs]
        codes = [run.returncode for run in runs]
        # Whoever comes second to a name is told, and spoils nothing.
        self.assertEqual(sorted((codes[0], codes[2])), [0, 1], errors)
        self.assertEqual(codes[1], 0, errors)
        sessions = set()
        for name in ("a.twin", "b.twin"):
            self.assertEqual(self.json("verify", self.folder / name)["divergences"], [])
            sessions.add(self.json("info", self.folder / name)["session"])
        self.assertEqual(len(sessions), 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.twin", "b.twin"])

    def test_times_are_utc_whatever_the_zone(self):
        for number, zone in enumerate(
            ("UTC", "Pacific/Kiritimati", "America/Los_Angeles", "ABC+12")
        ):
            before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
            path = self.folder / f"{number}.twin"
            done = subprocess.run(
                [TWINSTEP, "record", "marine", "-o", path, "--from", "bot:3", "--ticks", "20"],
                capture_output=True,
                check=False,
                timeout=60,
                env={**os.environ, "TZ": zone},
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            text = self.json("info", path)["manifest"]["record.created_utc"]
            created = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(
                tzinfo=datetime.timezone.utc
            )
            self.assertLessEqual(before, created, zone)
            self.assertLess(created - before, datetime.timedelta(minutes=2), zone)


if __name__ == "__main__":
    unittest.main()
