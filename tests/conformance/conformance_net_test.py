#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the Python decoder of datagrams with the library, in what it reads and what it refuses.

    conformance_net_test.py MAKE_DATAGRAMS PAGE FIXTURES TWINSTEP
"""
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import decode_net
import decode_twin

MAKER = PAGE = FIXTURES = TWINSTEP = None


def shown_events(events):
    return [
        {"kind": kind, **({"slot": slot - 1} if slot else {}), "payload": payload}
        for kind, slot, payload in events
    ]


class NetConformance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        subprocess.run([MAKER, str(cls.directory)], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_every_kept_datagram_is_decoded_to_the_last_byte(self):
        seen = set()
        with open(FIXTURES, encoding="ascii") as lines:
            for number, way, data, bad, context in decode_net.read_capture(lines):
                self.assertFalse(bad)
                with self.subTest(line=number):
                    out = decode_net.decode(way, data, context)
                    seen.add(out["packet"])
                    seen.update(frame["frame"] for frame in out.get("frames", []))
        names = {name for name, *_ in decode_net.PACKETS.values()}
        names |= {name for name, *_ in decode_net.FRAMES.values()}
        self.assertEqual(seen, names | {"DATA"})

    def test_both_decoders_refuse_the_same_damaged_datagrams(self):
        refused = taken = 0
        with open(self.directory / "damaged.txt", encoding="ascii") as lines:
            for number, way, data, bad, context in decode_net.read_capture(lines):
                try:
                    decode_net.decode(way, data, context)
                    problem = None
                    taken += 1
                except decode_net.Refused as error:
                    problem = str(error)
                    refused += 1
                if bad != (problem is not None):
                    self.fail(f"line {number}: {way} {data.hex()}: here {problem}, there {bad}")
        self.assertGreater(refused, 10000)
        self.assertGreater(taken, 1000)

    def test_both_decoders_read_the_same_inputs_and_ticks(self):
        compared = {"frames": 0, "inputs": 0}
        text = (self.directory / "traffic.txt").read_text(encoding="ascii").splitlines()
        for number, way, data, bad, context in decode_net.read_capture(text):
            expected = re.search(r"# (frames|inputs) (\S*)$", text[number - 1])
            if expected is None:
                self.assert_same_verdict(number, way, data, bad, context)
                continue
            out = decode_net.decode(way, data, context)["frames"][0]
            values = expected[2].split(",")
            compared[expected[1]] += 1
            if expected[1] == "inputs":
                self.assertEqual(out["inputs"], values, number)
                continue
            self.assertEqual(len(out["ticks"]), len(values), number)
            for at, (tick, frame) in enumerate(zip(out["ticks"], values)):
                whole = decode_twin.frame_of(decode_twin.Cursor(bytes.fromhex(frame)))
                self.assertEqual(whole["tick"], str(out["first"] + at), number)
                self.assertEqual(whole["slots"], tick["slots"], number)
                self.assertEqual(whole["events"], shown_events(tick["events"]), number)
        self.assertGreater(compared["frames"], 300)
        self.assertGreater(compared["inputs"], 300)

    def assert_same_verdict(self, number, way, data, bad, context):
        try:
            decode_net.decode(way, data, context)
            self.assertFalse(bad, f"line {number}: {data.hex()}")
        except decode_net.Refused as error:
            self.assertTrue(bad, f"line {number}: {data.hex()}: {error}")

    def test_the_worked_examples_of_the_page_are_kept_datagrams(self):
        page = PAGE.read_text(encoding="utf-8")
        example = page[page.index("## Worked examples") :]
        with open(FIXTURES, encoding="ascii") as lines:
            kept = {data.hex(" ") for _, _, data, _, _ in decode_net.read_capture(lines)}
        blocks = re.findall(r"(?:^    [0-9a-f]{4}  .*\n)+", example, re.M)
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            rows = re.findall(r"^    [0-9a-f]{4}  ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b", block, re.M)
            shown = " ".join(rows)
            self.assertIn(shown, kept)
            offsets = re.findall(r"^    ([0-9a-f]{4})  ", block, re.M)
            at = 0
            for offset, row in zip(offsets, rows):
                self.assertEqual(int(offset, 16), at, shown)
                at += len(row.split())

    def test_the_tables_of_the_page_are_those_of_the_decoder(self):
        page = PAGE.read_text(encoding="utf-8")
        rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \| (up|down|both) \|", page, re.M)
        shown = {int(number): (name, way) for number, name, way in rows}
        self.assertEqual(shown, {n: (name, way) for n, (name, way, _) in decode_net.FRAMES.items()})

    def test_whole_matches_over_bad_lines_are_decoded(self):
        summaries = []
        for game, seed, ticks in (("tally", 2, 900), ("tally", 7, 900), ("marine", 3, 200)):
            capture = self.directory / f"{game}_{seed}.txt"
            command = [TWINSTEP, "netsim", "--game", game, "--seeds", str(seed)]
            command += ["--ticks", str(ticks), "--faults", "loss,burst", "--capture", str(capture)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                self.assertEqual(decode_net.main(["--summary", str(capture)]), 0, capture)
            summaries.append(json.loads(printed.getvalue()))
        for summary in summaries:
            for kind in ("INPUTS", "BLOB_ACK", "LOSS"):
                self.assertGreater(summary.get(f"up {kind}", 0), 0, summary)
            for kind in ("TICKS", "BLOB_CHUNK", "LOSS"):
                self.assertGreater(summary.get(f"down {kind}", 0), 0, summary)
            self.assertNotIn("down refused", summary)
            self.assertNotIn("up refused", summary)

    def test_no_datagram_is_a_failure_of_its_own(self):
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            empty = self.directory / "empty.txt"
            empty.write_text("# nothing\n", encoding="ascii")
            self.assertEqual(decode_net.main([str(empty)]), 6)
            self.assertEqual(decode_net.main([]), 2)
            wrong = self.directory / "wrong.txt"
            wrong.write_text("up 40\n", encoding="ascii")
            self.assertEqual(decode_net.main([str(wrong)]), 1)
            wrong.write_text("up 40010002000000 bad\n", encoding="ascii")
            self.assertEqual(decode_net.main([str(wrong)]), 1)


if __name__ == "__main__":
    MAKER, PAGE = sys.argv[1], pathlib.Path(sys.argv[2])
    FIXTURES, TWINSTEP = sys.argv[3:5]
    unittest.main(argv=sys.argv[:1], verbosity=2)
