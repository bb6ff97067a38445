#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A packed file answers as its open form does, and is as small as is promised.

Usage: pack_test.py TWINSTEP [unittest options]
"""

import json
import pathlib
import sys
import unittest

from support import TWINSTEP, WADS, CommandTest, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import pack_sizes  # noqa: E402

# What differs between a file and its packed form, and nothing else does.
OF_THE_FILE = ("file", "bytes", "packed", "left_file", "right_file")


class PackedTest(CommandTest):
    def packed(self, path, *options, code=0):
        target = path.with_suffix(".packed.twin")
        self.json("pack", path, "-o", target, *options, code=code)
        return target

    def answer(self, path, verb, *rest, code=0):
        """The JSON of a verb without what is the file's own."""
        answer = self.json(verb, path, *rest, code=code)
        answer.get("shard", {}).pop("list", None)  # of the names of files
        for part in [answer, *answer.get("divergences", []), *answer.get("defects", [])]:
            for key in OF_THE_FILE:
                part.pop(key, None)
        return answer

    def same(self, left, right, verb, *rest, code=0):
        answer = self.answer(left, verb, *rest, code=code)
        self.assertEqual(answer, self.answer(right, verb, *rest, code=code), verb)
        return answer

    def test_every_verb_answers_as_on_the_open_form(self):
        path, made = self.record("a.twin", "--slots", 4, ticks=1500)
        packed = self.packed(path)
        self.assertLess(packed.stat().st_size, path.stat().st_size / 2)
        for verb in (
            ["info"],
            ["check"],
            ["verify"],
            ["verify", "--twice", "--fork-every", 400, "--roundtrip-every", 300],
            ["play"],
            ["play", "--frames", "jitter:3", "--from", 700, "--until", 1300],
            ["state", "--at", 0],
            ["state", "--at", 1234],
            ["state", "--at", 1500],
        ):
            self.same(path, packed, *verb)
        self.assertEqual(self.answer(packed, "info")["chain"], made["chain"])
        self.assertEqual(run("cat", packed).stdout, run("cat", path).stdout)
        self.assertTrue(self.json("diff", path, packed)["same"])
        self.assertTrue(self.json("diff", packed, packed)["same"])
        info = self.json("info", packed)
        self.assertEqual((info["packed"], info["bytes"]), (True, str(packed.stat().st_size)))
        self.assertIs(self.json("info", path)["packed"], False)
        for past in ("state", "--at", 1501), ("play", "--from", 2000):
            self.refused(past[0], packed, *past[1:], code=2, mentions=["1500 ticks"])

    def test_a_divergence_is_named_as_in_the_open_form(self):
        path, _ = self.record()
        bad = self.flip_input(path, 120)
        packed = self.packed(bad)
        found = self.same(bad, packed, "verify", code=4)["divergences"]
        self.assertEqual((found[0]["tick"], found[0]["section"]), ("121", "players"))
        self.same(bad, packed, "play", code=4)
        for left, right in ((path, packed), (packed, path), (self.packed(path), packed)):
            found = self.json("diff", left, right, code=4)
            self.assertEqual((found["tick"], found["section"]), ("121", "players"))
            self.assertTrue(found["field"].startswith("players[0]."), found)

    def test_what_is_cut_or_damaged_is_said(self):
        path, _ = self.record("a.twin", "--frames", "60", ticks=1500)
        whole = self.packed(path).read_bytes()
        cut, damaged = self.folder / "cut.twin", self.folder / "damaged.twin"
        cut.write_bytes(whole[:-20])
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 4
        damaged.write_bytes(flipped)
        for bad, state in (cut, "truncated"), (damaged, "damaged"):
            for options in [], ["--frames-only"]:
                check = self.json("check", bad, *options, code=3)
                self.assertEqual((check["state"], len(check["defects"])), (state, 1))
                self.assertLess(int(check["defects"][0]["offset"]), len(whole))
            info = self.json("info", bad, code=3)
            self.assertEqual((info["state"], info["bytes"]), (state, str(bad.stat().st_size)))
        # Only the trailer was cut.
        self.assertEqual(self.json("verify", cut, code=3)["ticks"], "1500")
        self.assertEqual(self.json("verify", damaged, code=1)["divergences"], [])

    def test_a_check_of_frames_says_that_it_read_no_records(self):
        path, _ = self.record(ticks=1500)
        packed = self.packed(path)
        fast, full = self.json("check", packed, "--frames-only"), self.json("check", packed)
        self.assertEqual((fast["checked"], full["checked"]), ("frames", "records"))
        self.assertEqual((fast["records"], full["records"]), (None, "1504"))
        for key in ("ticks", "chunks", "state", "defects"):
            self.assertEqual(fast[key], full[key])
        self.assertGreater(int(fast["packed_frames"]), 0)
        self.assertIn("none was unpacked", run("check", packed, "--frames-only").stdout)
        self.refused("check", path, "--frames-only", code=2, mentions=[path, "not packed"])
        self.refused("check", self.folder / "none", "--frames-only", code=1, mentions=["none"])
        self.refused("check", self.folder, "--frames-only", code=1, mentions=["directory"])


class SizesTest(unittest.TestCase):
    def test_the_demos_of_freedoom_take_no_more_than_is_promised(self):
        """Freedoom is a package that every build needs: without it this fails."""
        *rows, total = pack_sizes.measure(TWINSTEP, WADS)
        print(json.dumps(total), file=sys.stderr)
        self.assertEqual((len(rows), total["ticks"]), (8, 22637))
        for key, goal in pack_sizes.GOALS.items():
            self.assertLessEqual(total[key] / total["ticks"], goal, key)
        # With columns, people's inputs take less than what compresses them best as they are.
        self.assertLess(total["inputs"], total["xz"])
        # Section bytes are no part of the promise: one of each of the five sections, and no more.
        self.assertLess(total["with_sections"] / total["ticks"], pack_sizes.GOALS["packed"] + 5.01)


if __name__ == "__main__":
    unittest.main()
