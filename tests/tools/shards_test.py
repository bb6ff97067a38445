#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verification in parts: segments of a recording, shards of many, and the merge of their reports.

Usage: shards_test.py TWINSTEP SIDE_FILE
"""

import json
import os
import pathlib
import pty
import random
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

SIDE_FILE = sys.argv.pop(2)

from support import TWINSTEP, CommandTest, run  # noqa: E402: it takes its own argument

HOSTILE = [
    'a"<b>&amp;.twin',
    "line\nbreak.twin",
    "\x1b[31mred.twin",
    "nonchar\ufffe.twin",
    "'.twin",
]


class SegmentsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.path, _ = self.record(ticks=2000)
        subprocess.run([SIDE_FILE, self.path, "150"], check=True)
        self.side = self.path.with_suffix(".kf")

    def same_as_one_pass(self, path, code, jobs=2):
        serial = self.json("verify", path, code=code)
        parts = self.json("verify", path, "--segments", "--jobs", jobs, code=code)
        segments = parts.pop("segments")
        serial.pop("segments")
        remarks = parts.pop("remarks")
        serial.pop("remarks")
        self.assertEqual(parts, serial)
        return int(segments), remarks

    def test_segments_give_the_answer_of_one_pass(self):
        for jobs in (1, 2, 3):
            segments, remarks = self.same_as_one_pass(self.path, 0, jobs)
            self.assertEqual((segments, remarks), (14, []))
        text = run("verify", self.path, "--segments", "--jobs", 2).stdout
        self.assertIn("in 14 segments", text)
        for tick in (0, 149, 150, 151, 1000, 1999):
            bad = self.flip_input(self.path, tick, f"bad{tick}.twin")
            bad.with_suffix(".kf").write_bytes(self.side.read_bytes())
            self.same_as_one_pass(bad, 4)

    def test_a_wrong_keyframe_is_a_remark(self):
        damaged = bytearray(self.side.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        self.side.write_bytes(damaged)
        segments, remarks = self.same_as_one_pass(self.path, 0)
        self.assertLess(segments, 14)
        self.assertIn("keyframe", remarks[0]["remarks"][0])
        self.assertIn("not used", remarks[0]["remarks"][0])
        self.side.write_bytes(b"something else entirely")
        segments, remarks = self.same_as_one_pass(self.path, 0)
        self.assertEqual(segments, 1)
        self.assertIn("not used", remarks[0]["remarks"][0])

    def test_without_keyframes_it_is_one_pass_and_says_so(self):
        self.side.unlink()
        segments, remarks = self.same_as_one_pass(self.path, 0)
        self.assertEqual(segments, 0)
        self.assertIn("no keyframes: verified in one pass", remarks[0]["remarks"][0])

    def test_many_files_with_and_without_keyframes(self):
        self.record("b.twin", ticks=300)
        cut = self.folder / "c.twin"
        cut.write_bytes(self.path.read_bytes()[:3000])
        cut.with_suffix(".kf").write_bytes(self.side.read_bytes())
        broken = bytearray(self.path.read_bytes())
        broken[len(broken) // 2] ^= 4
        (self.folder / "d.twin").write_bytes(broken)
        (self.folder / "d.kf").write_bytes(self.side.read_bytes())
        self.same_as_one_pass(self.folder, 1, jobs=2)

    def test_what_needs_one_run_is_refused(self):
        for option in ("--fork-every", "--roundtrip-every"):
            self.refused("verify", self.path, "--segments", option, 5, code=2, mentions=[option])
        twice = self.json("verify", self.path, "--segments", "--twice")
        self.assertEqual((twice["ticks"], twice["segments"]), ("4000", "28"))


class ShardsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.recordings = self.folder / "recordings"
        (self.recordings / "inner").mkdir(parents=True)
        names = ["e.twin", "b.twin", "inner/z.twin", "a.twin", "d.twin"]
        for number, name in enumerate(names):
            self.record(f"recordings/{name}", ticks=60 + number)
        self.flip_input(self.recordings / "a.twin", 20, "recordings/bad.twin")
        (self.recordings / "cut.twin").write_bytes((self.recordings / "b.twin").read_bytes()[:-200])

    def reports(self, count, ending, code=None):
        paths = []
        for index in range(1, count + 1):
            path = self.folder / f"shard-{index}-of-{count}{ending}"
            done = run(
                "verify", self.recordings, "--shard", f"{index}/{count}", "--report-file", path
            )
            if code is not None:
                self.assertEqual(done.returncode, code, done.stderr)
            paths.append(path)
        return paths

    def test_joined_shards_are_the_report_of_one_run(self):
        for ending, option in ((".json", "--json"), (".xml", "--report=junit")):
            whole = run("verify", self.recordings, option)
            self.assertEqual(whole.returncode, 4)
            for count in (1, 2, 3, 7):
                paths = self.reports(count, ending)
                random.Random(count).shuffle(paths)
                out = self.folder / f"joined-{count}{ending}"
                answer = self.json("merge", *paths, "-o", out, code=4)
                self.assertEqual((answer["shards"], answer["files"]), (count, 7))
                self.assertEqual(out.read_text(), whole.stdout)
        # What was joined is a report, and can be joined.
        self.json("merge", out, "-o", self.folder / "again.xml", code=4)

    def test_more_shards_than_files(self):
        for name in ("bad.twin", "cut.twin"):
            (self.recordings / name).unlink()
        for ending in (".json", ".xml"):
            paths = self.reports(7, ending)
            self.json("verify", self.recordings, "--shard", "7/7", code=6)
            self.json("merge", *paths, "-o", self.folder / f"all{ending}", code=0)

    def test_what_is_no_whole_is_refused(self):
        out = self.folder / "out.json"
        for ending in (".json", ".xml"):
            paths = self.reports(3, ending)
            self.refused("merge", *paths[:2], "-o", out, code=6, mentions=["shard 3/3 is missing"])
            self.refused("merge", *paths[1:], "-o", out, code=6, mentions=["shard 1/3 is missing"])
            self.refused(
                "merge", *paths, paths[1], "-o", out, code=2, mentions=["both are shard 2"]
            )
            self.refused(
                "merge", paths[0], paths[0], paths[2], "-o", out, code=2, mentions=["both are"]
            )
            other = self.reports(4, ending)
            self.refused("merge", *paths[:2], other[2], "-o", out, code=2, mentions=["different"])
        one, two = self.reports(2, ".json")[0], self.reports(2, ".xml")[1]
        self.refused("merge", one, two, "-o", out, code=2, mentions=["JSON", "JUnit"])
        self.assertFalse(out.exists())
        self.assertEqual(list(self.folder.glob("*.part")), [])

    def test_another_list_of_as_many_files_is_noticed(self):
        first = self.reports(2, ".json")[0]
        first = first.rename(self.folder / "first.json")
        (self.recordings / "e.twin").rename(self.recordings / "f.twin")
        (self.folder / "shard-2-of-2.json").unlink()
        second = self.reports(2, ".json")[1]
        message = self.refused(
            "merge", first, second, "-o", self.folder / "out.json", code=2, mentions=["different"]
        )
        self.assertIn("7 files in 2 parts", message)

    def test_a_report_that_checked_nothing_is_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for ending in (".json", ".xml"):
            path = self.folder / f"none{ending}"
            self.assertEqual(run("verify", empty, "--report-file", path).returncode, 6)
            self.refused("merge", path, "-o", self.folder / "out", code=6, mentions=["nothing"])

    def test_hostile_reports_are_refused_in_one_line(self):
        out = self.folder / "out.json"
        good = self.reports(1, ".json")[0].read_text()
        xml_text = self.reports(1, ".xml")[0].read_text()
        report = json.loads(good)
        edits = [
            "",
            "{}",
            "[" * 100000,
            good[: len(good) // 2],
            good.replace('"exit":4', '"exit":0'),
            good.replace('"files":7', '"files":6', 1),
            json.dumps({**report, "hashes_checked": "-1"}),
            json.dumps({**report, "ticks": "99999999999999999999"}),
            json.dumps({**report, "shard": {**report["shard"], "index": 0}}),
            json.dumps({**report, "shard": {**report["shard"], "count": 10**18}}),
            json.dumps({**report, "divergences": []}),
            json.dumps({**report, "failures": [{"file": {"a": [[[]]]}}]}),
            xml_text[:-1],
            xml_text + "\n",
            xml_text.replace('failures="2"', 'failures="1"'),
            xml_text.replace("<testcase", "<!-- x --><testcase", 1),
            xml_text.replace("twinstep.exit", "twinstep.other"),
            xml_text.replace('classname="twinstep" name="', 'classname="twinstep" name="&ent;', 1),
            "\x00" * 1000,
        ]
        for number, edit in enumerate(edits):
            self.assertNotIn(edit, (good, xml_text), number)
            path = self.folder / "hostile.json"
            path.write_text(edit)
            self.refused("merge", path, "-o", out, code=1, mentions=["hostile.json"])
        self.refused("merge", self.folder / "none", "-o", out, code=1, mentions=["none"])
        self.refused("merge", self.folder, "-o", out, code=1, mentions=["directory"])
        self.assertFalse(out.exists())

    def test_reports_are_never_written_over(self):
        path = self.folder / "report.json"
        path.write_text("mine")
        self.refused("verify", self.recordings, "--report-file", path, code=1, mentions=[path])
        reports = self.reports(1, ".json")
        self.refused("merge", *reports, "-o", path, code=1, mentions=[path])
        self.assertEqual(path.read_text(), "mine")
        self.refused("verify", "x", "--report-file", "a.pdf", code=2, mentions=["a.pdf", ".xml"])

    def test_a_directory_that_cannot_be_searched_belongs_to_one_shard(self):
        if os.geteuid() == 0:
            self.skipTest("root searches everything")
        closed = self.recordings / "closed"
        closed.mkdir(mode=0)
        try:
            paths = self.reports(2, ".json")
            whole = run("verify", self.recordings, "--json")
            self.json("merge", *paths, "-o", self.folder / "all.json", code=4)
            self.assertEqual((self.folder / "all.json").read_text(), whole.stdout)
        finally:
            closed.chmod(0o700)


class ReportsTest(CommandTest):
    def test_hostile_names_are_well_formed_in_every_report(self):
        whole, _ = self.record(ticks=50)
        folder = self.folder / "names"
        folder.mkdir()
        for number, name in enumerate(HOSTILE):
            (folder / name).write_bytes(whole.read_bytes()[: None if number % 2 else -300])
        (pathlib.Path(os.fsdecode(bytes(folder) + b"/\xff\xfe.twin"))).write_bytes(b"PK" * 99)
        report = self.folder / "report.xml"
        done = run("verify", folder, "--json", "--report-file", report)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["files"], len(HOSTILE) + 1)
        suite = xml.etree.ElementTree.fromstring(report.read_bytes())
        names = [case.get("name") for case in suite.iter("testcase")]
        self.assertEqual(len(names), len(HOSTILE) + 1)
        self.assertIn(str(folder / HOSTILE[0]), names)
        self.assertIn(str(folder) + "/\\x1b[31mred.twin", names)
        self.assertIn(str(folder) + "/nonchar\\ufffe.twin", names)
        self.assertEqual(int(suite.get("failures")), len(list(suite.iter("failure"))))
        self.json("merge", report, "-o", self.folder / "again.xml", code=1)
        # The names as they are shown have another order than the names as they are.
        again = (self.folder / "again.xml").read_text()
        self.assertEqual(sorted(again.splitlines()), sorted(report.read_text().splitlines()))
        tap = run("verify", folder, "--report", "tap").stdout.splitlines()
        self.assertEqual(tap[1], f"1..{len(HOSTILE) + 1}")
        self.assertTrue(all(line.startswith(("ok", "not ok", "#", "TAP", "1..")) for line in tap))
        github = run("verify", folder, "--report", "github").stdout.splitlines()
        self.assertTrue(all(line.startswith("::error file=") for line in github))

    def test_the_bar_shows_rate_and_time_left_on_a_terminal_only(self):
        path, _ = self.record(game="swarm", ticks=400)
        for options in ([], ["--segments"]):
            begun = time.monotonic()
            done = run("verify", path, "--twice", *options)
            self.assertNotIn("ticks/s", done.stderr)
            taken = time.monotonic() - begun
            leader, follower = pty.openpty()
            with subprocess.Popen(
                [TWINSTEP, "verify", path, "--twice", *options],
                stdout=subprocess.DEVNULL,
                stderr=follower,
            ) as process:
                os.close(follower)
                shown = b""
                while True:
                    try:
                        piece = os.read(leader, 4096)
                    except OSError:  # Linux's way to say that the other side is closed.
                        break
                    if not piece:
                        break
                    shown += piece
                self.assertEqual(process.wait(), 0)
            os.close(leader)
            if taken > 2.5:  # Else this machine is too fast for a bar.
                self.assertRegex(shown.decode(), r"0/1 files, \d+%, \d+ ticks/s, \d+ s left")


if __name__ == "__main__":
    unittest.main()
