#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the Python decoder with the library, and proves that the decoder can refuse.

    conformance_test.py MAKE_RECORDINGS PAGE [RECORDINGS]
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

import decode_keyframes
import decode_packed
import decode_signature
import decode_twin

MAKER = PAGE = CORPUS = None

# Bytes, XXH3-64, upper half of XXH3-128 (whose lower half is XXH3-64 beyond 240 bytes), over the
# buffer that xxHash's own self-check uses.
VECTORS = [
    (17, 0x796F5ACD3A60F862, 0x955FA78643ED3669),
    (24, 0xA3FE70BF9D3510EB, 0x0CE966E4678D3761),
    (32, 0x9FEADDBDBF57EED3, 0x98FC6458710DC2E8),
    (33, 0xABFB2D081B400A10, 0x3103C192CEAA2DED),
    (56, 0xF3F207A03F7545A9, 0x0B980EF5390C79D1),
    (64, 0x9CB48487720EC49D, 0x6D90E81A9B0FD622),
    (65, 0xFD81AAC4BEBC3883, 0x6C074D65E54DB85A),
    (96, 0x935A769A7F94776F, 0xD9D0B885F56C93F1),
    (97, 0xCA4CA268FD3C3A6C, 0x09DFF37FAA6B284C),
    (128, 0xFCFF24126754D861, 0x39992220E045260A),
    (129, 0x98F1B0A679A2CA29, 0x03815FC91F1B30B6),
    (160, 0x9D03A319ED4CBD2B, 0xBA5D218964B622AD),
    (195, 0xCD94217EE362EC3A, 0x7729543A26B207EE),
    (240, 0x81C3C2B67F568CCF, 0xAA4202DAA2769DC8),
    (241, 0xC5A639ECD2030E5E, 0x99A80ECF0ECFC647),
    (403, 0xCDEB804D65C6DEA4, 0x1B6DE21E332DD73D),
    (1024, 0xDD85C9B5C1109C5C, 0x0D30D24071C64C57),
    (1025, 0xD870C0FA13211C6A, 0xFD3EE4FE7F2954C6),
    (2048, 0xDD59E2C3A5F038E0, 0xF736557FD47073A5),
    (2367, 0xCB37AEB9E5D361ED, 0xE89C0F6FF369B427),
]


def check_buffer(size):
    value, result = 2654435761, bytearray()
    for _ in range(size):
        result.append(value >> 56)
        value = value * 11400714785074694797 & decode_twin.MASK64
    return bytes(result)


class Conformance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        subprocess.run([MAKER, str(cls.directory)], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_hash_gives_known_answers(self):
        for size, low, high in VECTORS:
            data = check_buffer(size)
            self.assertEqual(decode_twin.xxh3_64(data), low, size)
            if size > 240:
                self.assertEqual(decode_twin.xxh3_128(data), (low, high), size)

    def test_both_decoders_agree_on_every_line(self):
        files = sorted(self.directory.glob("*.twin"))
        other = re.compile("-packed|^keyframes-|signed")
        self.assertEqual(len([path for path in files if not other.search(path.stem)]), 14)
        for path in files:
            if "-" in path.stem:
                continue  # compared as bytes of its open form
            decoded = decode_twin.decode_bytes(path.read_bytes())
            text = path.with_suffix(".ndjson").read_text(encoding="utf-8")
            self.assertEqual(decoded["lines"], [json.loads(line) for line in text.splitlines()])
            self.assertEqual(decoded["state"], "open" if "open" in path.stem else "closed")

    def test_a_packed_file_stands_for_its_open_form(self):
        paths = sorted(self.directory.glob("*-stored.twin"))
        if decode_packed.has_zstd():
            paths += sorted(self.directory.glob("*-packed.twin"))
        self.assertGreaterEqual(len(paths), 5)
        for path in paths:
            opened = self.directory / (path.stem.split("-")[0] + ".twin")
            self.assertEqual(decode_packed.open_form(path.read_bytes()), opened.read_bytes(), path)

    def signed(self):
        path = self.directory / "signed.twin"
        if not path.exists():
            self.skipTest("the library was built without libsodium")
        return path.read_bytes()

    def test_signatures_hold_by_the_page_and_rfc_8032(self):
        # RFC 8032, section 7.1, test 2.
        key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        signature = bytes.fromhex(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        )
        self.assertTrue(decode_signature.is_signed(key, b"\x72", signature))
        self.assertFalse(decode_signature.is_signed(key, b"\x73", signature))
        self.assertFalse(decode_signature.is_signed(key, b"\x72", bytes([0x93]) + signature[1:]))
        for name in ("signed", "signed-stored"):
            self.signed()
            data = (self.directory / f"{name}.twin").read_bytes()
            found = decode_twin.decode_bytes(data)["signatures"]
            self.assertEqual([claim["verdict"] for claim in found], ["valid"] * 4)
            self.assertEqual([claim["ticks"] for claim in found], ["1", "2", "3", "4"])
            self.assertEqual([claim["ends"] for claim in found], [False, False, False, True])

    def test_a_signature_in_another_place_is_no_signature(self):
        data = self.signed()
        records = decode_twin.decode_bytes(data)["lines"]
        payloads = [line["payload"] for line in records if line.get("tag") == 0x42]
        self.assertEqual(len(payloads), 4)
        place = (1, 250, 1, 0, records[-1]["chain"])
        judge = decode_signature.Signatures(b"another head", 250).judge
        self.assertEqual(judge(bytes.fromhex(payloads[0]), place)["verdict"], "invalid")
        self.assertEqual(judge(b"\2" + bytes(143), place)["verdict"], "unknown")

    def test_every_flipped_byte_of_a_packed_file_is_refused(self):
        data = bytearray((self.directory / "tiny-stored.twin").read_bytes())
        for at in range(len(data)):
            data[at] ^= 0x10
            with self.assertRaises(decode_twin.Damaged, msg=f"byte {at}"):
                decode_twin.decode_bytes(bytes(data))
            data[at] ^= 0x10

    def keyframed(self):
        """(name, recording, side file or nothing) of what was made with keyframes."""
        for path in sorted(self.directory.glob("keyframes-*.twin")):
            side = path.with_suffix(".kf")
            yield path.stem, path.read_bytes(), side.read_bytes() if side.exists() else None

    def test_every_keyframe_holds_the_state_that_the_recording_has(self):
        codecs, deltas = set(), 0
        for name, recording, side in self.keyframed():
            if name.endswith("zstd") and not decode_packed.has_zstd():
                continue
            keyframes = decode_keyframes.decode(recording, side)
            self.assertGreater(len(keyframes), 1, name)
            codecs.update(keyframe["codec"] for keyframe in keyframes)
            deltas += sum(keyframe["base"] is not None for keyframe in keyframes)
        self.assertLessEqual({"raw", "zero_runs"}, codecs)
        self.assertGreater(deltas, 0)

    def test_sections_in_chunks_are_told_by_their_mark_and_hashed_so(self):
        recording = (self.directory / "keyframes-in-tracked.twin").read_bytes()
        recorded = decode_keyframes.Recorded(decode_twin.decode_bytes(recording)["lines"])
        keyframes = decode_keyframes.snapshots(decode_keyframes.assembled(recorded.parts))
        self.assertGreater(len(keyframes), 4)
        lengths = set()
        for head, snapshot in keyframes:
            _, state, sections = decode_keyframes.hashes_of(snapshot)
            self.assertEqual(state, head["state"])
            lengths.update(size for name, size, _ in sections if name == "bodies")
            for name, size, hash_ in sections:
                mark = snapshot.index(name.encode("ascii")) - 1
                chunked = snapshot[mark] == len(name) | decode_keyframes.CHUNKED
                self.assertEqual(chunked, name in ("cells", "bodies"))
                # Without the mark, or with one too many, it is another state.
                other = bytearray(snapshot)
                other[mark] ^= decode_keyframes.CHUNKED
                self.assertNotIn((name, size, hash_), decode_keyframes.hashes_of(bytes(other))[2])
        self.assertGreater(max(lengths), 4096)
        self.assertTrue(any((size - 8) % 4096 for size in lengths))

    def test_a_state_of_several_parts_is_put_together(self):
        recording = (self.directory / "large.keyframed").read_bytes()
        side = (self.directory / "large.kf").read_bytes()
        (keyframe,) = decode_keyframes.decode(recording, side)
        self.assertGreater(int(keyframe["stored_bytes"]), 2 * decode_keyframes.PART_BYTES)

    def test_a_keyframe_of_the_state_after_the_inputs_is_refused(self):
        path = self.directory / "keyframes-side.twin"
        off = self.directory / "keyframes-side.off"
        with self.assertRaises(decode_twin.Damaged) as caught:
            decode_keyframes.decode(path.read_bytes(), off.read_bytes())
        self.assertIn("the recording has another hash", str(caught.exception))

    def test_every_flipped_bit_of_a_side_file_is_refused(self):
        path = self.directory / "keyframes-side.twin"
        recording, data = path.read_bytes(), bytearray(path.with_suffix(".kf").read_bytes())
        recorded = decode_keyframes.Recorded(decode_twin.decode_bytes(recording)["lines"])
        for bit in range(0, len(data) * 8, 3):
            data[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(decode_twin.Damaged, msg=f"bit {bit}"):
                decode_keyframes.side_parts(bytes(data), recorded.session)
            data[bit // 8] ^= 1 << bit % 8

    def test_the_worked_example_of_the_page_is_a_real_file(self):
        page = PAGE.read_text(encoding="utf-8")
        example = page[page.index("## Worked example") :]
        rows = re.findall(r"^    [0-9a-f]{4}  ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b", example, re.M)
        shown = bytes.fromhex(" ".join(rows))
        self.assertEqual(shown.hex(" "), (self.directory / "tiny.twin").read_bytes().hex(" "))

    def test_every_flipped_bit_is_refused(self):
        data = bytearray((self.directory / "tiny.twin").read_bytes())
        for bit in range(len(data) * 8):
            data[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(decode_twin.Damaged, msg=f"bit {bit}"):
                decode_twin.decode_bytes(bytes(data))
            data[bit // 8] ^= 1 << bit % 8

    def test_a_cut_inside_a_record_is_refused(self):
        data = (self.directory / "tiny.twin").read_bytes()
        whole = 0
        for size in range(len(data)):
            try:
                decode_twin.decode_bytes(data[:size])
                whole += 1
            except decode_twin.Damaged:
                pass
        # After the head, after the tick, after the chunk end.
        self.assertEqual(whole, 3)

    def test_no_recording_is_a_failure_of_its_own(self):
        with contextlib.redirect_stderr(io.StringIO()):
            with tempfile.TemporaryDirectory() as empty:
                self.assertEqual(decode_twin.main([empty]), 6)
            self.assertEqual(decode_twin.main([]), 2)

    def test_the_corpus_is_decoded_to_the_last_byte(self):
        if CORPUS is None or not CORPUS.is_dir():
            self.skipTest("there is no corpus yet")
        # A corpus without a recording is no pass: main answers 6 then.
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(decode_twin.main(["--summary", str(CORPUS)]), 0)


if __name__ == "__main__":
    MAKER, PAGE = sys.argv[1], pathlib.Path(sys.argv[2])
    CORPUS = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    unittest.main(argv=sys.argv[:1], verbosity=2)
