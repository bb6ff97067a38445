#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verdicts of verify never blur: one file for each, its exit code, its word and what it names.

Usage: verdict_test.py TWINSTEP
"""

import json
import pathlib
import struct
import sys
import unittest

from support import CommandTest, run

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "conformance"))
from decode_twin import xxh3_64  # noqa: E402

PREAMBLE_BYTES = 64
TICKS = 1500  # Chunks end after 600.


class VerdictTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.path, _ = self.record("whole.twin", ticks=TICKS)
        self.whole = self.path.read_bytes()

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def judged(self, path, verdict, code, *words, **keys):
        """Text and JSON agree on the verdict; no other word of the list is in the JSON."""
        done = run("verify", path)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(str(word), done.stdout)
        answer = self.json("verify", path, code=code)
        self.assertEqual(answer["exit"], code)
        entries = answer["divergences"] + answer["failures"]
        self.assertEqual([entry["verdict"] for entry in entries], [verdict])
        for key, value in keys.items():
            self.assertEqual(entries[0].get(key), value, f"{key} in {entries[0]}")
        for key in ("tick", "chunk"):
            if key not in keys:
                self.assertNotIn(key, entries[0])
        junit = run("verify", path, "--report", "junit").stdout
        self.assertIn(f'type="{verdict}"', junit)
        return entries[0]

    def with_preamble(self, change):
        """The file with other bytes in its preamble, whose check is right."""
        preamble = bytearray(self.whole[:PREAMBLE_BYTES])
        change(preamble)
        preamble[56:64] = struct.pack("<Q", xxh3_64(bytes(preamble[:56])))
        return bytes(preamble) + self.whole[PREAMBLE_BYTES:]

    def with_manifest(self, key, value):
        lines = run("cat", self.path, "--editable").stdout.splitlines()
        head = json.loads(lines[0])
        old = head["manifest"][key]
        head["manifest"][key] = value
        source = self.folder / "edited.ndjson"
        source.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
        path = self.folder / f"{key}.twin"
        self.json("import", source, "-o", path)
        return path, old

    def test_whole(self):
        answer = self.json("verify", self.path)
        self.assertEqual((answer["exit"], answer["failures"], answer["divergences"]), (0, [], []))
        self.assertIn("identical", run("verify", self.path).stdout)

    def test_io(self):
        self.judged(self.folder / "none.twin", "io", 1, "none.twin", "No such file")
        directory = self.folder / "folder.twin" / "inner.twin"
        directory.mkdir(parents=True)
        answer = self.json("verify", directory.parent, code=6)  # A directory is searched.
        self.assertEqual(answer["files"], 0)

    def test_not_a_recording(self):
        zip_file = self.file("zip.twin", b"PK\x03\x04 somebody else's, and long enough" * 20)
        self.judged(zip_file, "not_a_recording", 1, "not ours", "not a Twinstep recording")

    def test_truncated(self):
        half = self.file("half.twin", self.whole[: len(self.whole) // 2 + 1])
        for cut in range(3):
            # Three in a row cannot all be at the end of a record.
            half.write_bytes(self.whole[: len(self.whole) // 2 + cut])
            state = json.loads(run("info", half, "--json").stdout)
            if state["state"] == "truncated":
                break
        ticks = state["ticks"]
        self.judged(half, "truncated", 3, f"truncated at tick {ticks}", tick=ticks)
        head = self.file("head.twin", self.whole[:40])
        self.judged(head, "truncated", 1, "the file is truncated")
        self.judged(self.file("empty.twin", b""), "truncated", 1, "the file is truncated")

    def test_open(self):
        trailer_bytes = 1
        while True:  # The longest prefix that is no cut record.
            path = self.file("open.twin", self.whole[:-trailer_bytes])
            if json.loads(run("info", path, "--json").stdout)["state"] == "open":
                break
            trailer_bytes += 1
        tick = str(TICKS)
        self.judged(path, "open", 3, f"open at tick {tick}", "no trailer", tick=tick)

    def test_damaged(self):
        damaged = bytearray(self.whole)
        damaged[len(self.whole) // 2] ^= 0x10
        path = self.file("damaged.twin", damaged)
        info = json.loads(run("info", path, "--json").stdout)
        self.assertEqual((info["state"], info["chunks"]), ("damaged", "1"))
        tick = info["ticks"]
        words = ["damaged", "byte", "corrupt chunk 1", f"good up to tick {tick}"]
        entry = self.judged(path, "damaged", 1, *words, tick=tick, chunk="1")
        self.assertLessEqual(int(entry["offset"]), len(self.whole) // 2)
        head = bytearray(self.whole)
        head[20] ^= 1
        self.judged(self.file("head.twin", head), "damaged", 1, "the head of the recording")

    def test_unsupported(self):
        def later_version(preamble):
            preamble[8:10] = struct.pack("<H", 9)

        def unknown_feature(preamble):
            preamble[27] |= 0x80

        later = self.file("later.twin", self.with_preamble(later_version))
        self.judged(later, "unsupported", 5, "unsupported", "another version of the format", "9")
        feature = self.file("feature.twin", self.with_preamble(unknown_feature))
        self.judged(feature, "unsupported", 5, "unsupported")

    def test_incompatible(self):
        for key, value in (
            ("sim.id", "chess"),
            ("sim.version", "99"),
            ("state.fingerprint", "0123456789abcdef"),
        ):
            path, old = self.with_manifest(key, value)
            self.judged(path, "incompatible", 5, "incompatible", key, value, old, field=key)

    def test_divergence(self):
        bad = self.flip_input(self.path, 700, "bad.twin")
        entry = self.judged(bad, "divergence", 4, "DIVERGES", "tick 701", tick="701")
        self.assertEqual((entry["section"], entry["check"]), ("players", "recorded hash"))

    def test_divergence_before_damage_is_the_divergence(self):
        bad = self.flip_input(self.path, 20, "bad.twin")
        data = bytearray(bad.read_bytes())
        data[len(data) // 2] ^= 0x10
        bad.write_bytes(data)
        self.judged(bad, "divergence", 4, "tick 21", tick="21")

    def test_nothing_checked(self):
        nothing = self.folder / "nothing.twin"
        self.json("record", "marine", "-o", nothing, "--ticks", 0, code=6)
        self.judged(nothing, "nothing_checked", 6, "unchecked", "no hash was checked")

    def test_the_gravest_verdict_decides(self):
        bad = self.flip_input(self.path, 700, "bad.twin")
        other, _ = self.with_manifest("sim.version", "99")
        foreign = self.file("foreign.twin", b"PK" * 200)
        cut = self.file("cut.twin", self.whole[: len(self.whole) // 2])
        nothing = self.folder / "nothing.twin"
        self.json("record", "marine", "-o", nothing, "--ticks", 0, code=6)
        order = [(bad, 4), (other, 5), (foreign, 1), (cut, 3), (nothing, 6), (self.path, 0)]
        for first in range(len(order)):
            paths = [path for path, _ in order[first:]]
            self.json("verify", *paths, "--jobs", 2, code=order[first][1])


if __name__ == "__main__":
    unittest.main()
