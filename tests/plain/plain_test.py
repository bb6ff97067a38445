#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command that was built without zstd and libsodium does all it can, and says what it cannot.

Usage: plain_test.py TWINSTEP RECORDINGS [unittest options]
"""

import os
import pathlib
import struct
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "conformance")]
from support import TWINSTEP, CommandTest, run  # noqa: E402

import decode_packed  # noqa: E402
import decode_twin  # noqa: E402

RECORDINGS = pathlib.Path(sys.argv.pop(1))


def as_compressed(data):
    """The packed file with its first frame said to be compressed, under a check that is right."""
    form = decode_packed.OpenForm(data)
    frame = bytearray(data)
    start = form.rest.at
    cursor = decode_twin.Cursor(data)
    cursor.at = start + 1
    size = cursor.varint("length", 1 << 20)
    codec, end = cursor.at + len(decode_packed.PACKED_MARKER), cursor.at + size
    assert data[start] == decode_packed.PACKED and data[codec] == 0
    frame[codec] = 1
    place = form.session + struct.pack("<II", 0, decode_twin.MASK32)
    check = decode_twin.xxh3_64(place + bytes(frame[start:end])) & decode_twin.MASK32
    frame[end : end + 4] = check.to_bytes(4, "little")
    return bytes(frame)


class PlainTest(CommandTest):
    def test_the_corpus_is_verified(self):
        files = [
            path
            for path in RECORDINGS.rglob("*.twin")
            if not {"must-fail", "format"} & set(path.parts) and not self.is_packed(path)
        ]
        verified = self.json("verify", *files)
        self.assertGreater(verified["files"], 2)
        self.assertEqual(verified["divergences"], [])
        self.assertGreater(int(verified["hashes_checked"]), 1000)

    def is_packed(self, path):
        with path.open("rb") as file:
            return bool(file.read(28)[24] & decode_twin.PACKED_FEATURE)

    def test_a_recording_is_made_and_read(self):
        path, made = self.record(ticks=700)
        self.assertEqual(self.json("verify", path)["ticks"], "700")
        self.assertEqual(self.json("play", path)["final_hash"], made["final_hash"])
        text = self.folder / "a.ndjson"
        text.write_text(run("cat", path).stdout)
        self.json("import", text, "-o", self.folder / "copy.twin")
        self.assertEqual((self.folder / "copy.twin").read_bytes(), path.read_bytes())

    def test_packing_without_compression_works(self):
        path, made = self.record(ticks=700)
        out = self.folder / "stored.twin"
        self.refused("pack", path, "-o", out, code=5, mentions=["without zstd", "level 0"])
        self.assertEqual([file.name for file in self.folder.iterdir()], [path.name])
        self.json("pack", path, "-o", out, "--level", 0)
        self.assertLess(out.stat().st_size, path.stat().st_size)
        self.assertEqual(self.json("verify", out)["ticks"], "700")
        self.assertEqual(self.json("check", out, "--frames-only")["ticks"], "700")
        self.json("unpack", out, "-o", self.folder / "again.twin")
        self.assertEqual((self.folder / "again.twin").read_bytes(), path.read_bytes())
        self.assertEqual(self.json("info", out)["chain"], made["chain"])

    def test_signed_files_are_read_and_signatures_are_not_judged(self):
        folder = RECORDINGS / "format" / "1.1"
        signed, key = folder / "signed.twin", folder / "signed.key.pub"
        self.assertEqual(self.json("check", signed)["state"], "closed")
        self.refused(
            "check-signature", signed, "--key-file", key, code=5, mentions=["without libsodium"]
        )
        out = self.folder / "k"
        self.refused("keygen", out, code=5, mentions=["without libsodium"])
        path, _ = self.record()
        self.refused("sign", path, "-o", out, "--key-file", key, code=5, mentions=["libsodium"])
        self.assertEqual([file.name for file in self.folder.iterdir()], [path.name])

    def test_what_is_compressed_is_refused_in_one_line(self):
        path, _ = self.record(ticks=700)
        stored, packed = self.folder / "stored.twin", self.folder / "packed.twin"
        self.json("pack", path, "-o", stored, "--level", 0)
        packed.write_bytes(as_compressed(stored.read_bytes()))
        out = self.folder / "out.twin"
        for arguments in (
            ["info", packed],
            ["check", packed],
            ["play", packed],
            ["state", packed, "--at", 100],
            ["diff", packed, path],
            ["diff", path, packed],
            ["unpack", packed, "-o", out],
            ["pack", packed, "-o", out, "--level", 0],
            ["cat", packed],
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 5, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            for text in (str(packed), "built without zstd", "unpack"):
                self.assertIn(text, done.stderr, arguments)
        done = run("verify", packed, path)
        self.assertEqual(done.returncode, 5, done.stdout)
        self.assertEqual(done.stdout.count("built without zstd"), 1, done.stdout)
        self.assertFalse(out.exists())
        # Its frames can be checked all the same.
        self.assertEqual(self.json("check", packed, "--frames-only")["state"], "closed")

    @unittest.skipIf(os.environ.get("TWINSTEP_LINT_ZYDIS") == "1", "built with a decoder")
    def test_lint_says_that_it_sees_calls_only(self):
        checked = self.json("lint", TWINSTEP, code=1)["coverage"][0]["checked"]
        self.assertIn("imports only: this build has no decoder", checked)


if __name__ == "__main__":
    unittest.main()
