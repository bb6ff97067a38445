#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""keygen, sign, check-signature and record --sign-key-file, as a person would use them.

Usage: sign_test.py TWINSTEP [unittest options]
"""

import json
import os
import unittest

from support import CommandTest, run


class Sign(CommandTest):
    def setUp(self):
        super().setUp()
        self.key = self.folder / "referee.key"
        done = run("keygen", self.key, "--json")
        if done.returncode == 5:
            self.skipTest("built without libsodium: " + done.stderr.strip())
        self.public = self.folder / "referee.key.pub"

    def sign(self, source, name="signed.twin", *options, code=0):
        path = self.folder / name
        answer = self.json("sign", source, "-o", path, "--key-file", self.key, *options, code=code)
        return path, answer

    def judged(self, path, code=0, key=None):
        return self.json("check-signature", path, "--key-file", key or self.public, code=code)

    def edited(self, source, edit, name="edited.twin"):
        """The recording with edited lines of text; every check that the text knows fits again."""
        text = self.folder / (name + ".ndjson")
        with text.open("w") as out:
            for line in run("cat", source, "--editable").stdout.splitlines():
                out.writelines(json.dumps(record) + "\n" for record in edit(json.loads(line)))
        path = self.folder / name
        self.json("import", text, "-o", path)
        return path

    def test_key_files(self):
        answer = json.loads(run("keygen", self.folder / "a", "--json").stdout)
        self.assertEqual(answer["public_file"], str(self.folder / "a.pub"))
        self.assertRegex(answer["key"], "^[0-9a-f]{64}$")
        text = (self.folder / "a.pub").read_text()
        self.assertEqual(text, f"twinstep-ed25519-public:{answer['key']}\n")
        self.assertRegex(
            (self.folder / "a").read_text(), "^twinstep-ed25519-secret:[0-9a-f]{64}\n$"
        )
        self.assertNotIn(answer["key"], (self.folder / "a").read_text())
        if os.name == "posix":
            self.assertEqual((self.folder / "a").stat().st_mode & 0o777, 0o600)
        before = (self.folder / "a").read_bytes()
        self.refused("keygen", self.folder / "a", code=1, mentions=["exists already"])
        self.assertEqual((self.folder / "a").read_bytes(), before)
        # Half a pair helps nobody.
        (self.folder / "b.pub").write_text("mine")
        self.refused("keygen", self.folder / "b", code=1, mentions=["b.pub"])
        self.assertFalse((self.folder / "b").exists())
        self.refused("keygen", self.folder / "no" / "c", code=1)

    def test_a_secret_key_that_others_may_read_is_refused(self):
        path, _ = self.record()
        arguments = ("sign", path, "-o", self.folder / "x.twin", "--key-file")
        if os.name == "posix":
            for mode in (0o640, 0o604, 0o622):
                os.chmod(self.key, mode)
                self.refused(*arguments, self.key, code=1, mentions=[self.key, "chmod 600"])
            os.chmod(self.key, 0o600)
        self.refused(*arguments, self.public, code=1, mentions=["a public key"])
        self.refused(*arguments, self.folder / "none", code=1, mentions=["none"])
        self.refused(*arguments, self.folder, code=1)
        self.refused(
            "check-signature", path, "--key-file", self.key, code=1, mentions=["a secret key"]
        )
        self.assertFalse((self.folder / "x.twin").exists())
        self.assertFalse((self.folder / "x.twin.part").exists())
        # Keys are files: there is no other option for them.
        self.refused("sign", path, "-o", "x", "--key", "00", code=2)
        self.refused("check-signature", path, code=2, mentions=["--key-file"])

    def test_signed_checked_and_still_the_same_recording(self):
        path, recorded = self.record(ticks=1300)
        signed, answer = self.sign(path)
        self.assertEqual(answer["ticks"], "1300")
        self.assertEqual(answer["covered_ticks"], "1300")
        self.assertTrue(answer["ends"])
        self.assertEqual(answer["chain"], recorded["chain"])
        judged = self.judged(signed)
        self.assertTrue(judged["covers_all"])
        self.assertEqual(judged["key"], answer["key"])
        self.assertEqual(len(judged["signatures"]), 1)
        self.assertEqual(judged["signatures"][0]["verdict"], "valid")
        self.assertEqual(self.json("verify", signed)["divergences"], [])
        line = run("check-signature", signed, "--key-file", self.public).stdout
        self.assertEqual(
            line, f"{signed}: tick 0 to tick 1299 signed, and the end, by {answer['key']}\n"
        )
        # Packing keeps it, text keeps it.
        self.json("pack", signed, "-o", self.folder / "p.twin")
        self.assertTrue(self.judged(self.folder / "p.twin")["covers_all"])
        self.json("unpack", self.folder / "p.twin", "-o", self.folder / "u.twin")
        self.assertEqual((self.folder / "u.twin").read_bytes(), signed.read_bytes())
        text = self.edited(signed, lambda record: [record])
        self.assertEqual(text.read_bytes(), signed.read_bytes())
        # Nothing is written over.
        before = signed.read_bytes()
        self.refused("sign", path, "-o", signed, "--key-file", self.key, code=1)
        self.assertEqual(signed.read_bytes(), before)

    def test_who_did_not_sign_vouches_for_nothing(self):
        path, _ = self.record()
        signed, _ = self.sign(path)
        self.json("keygen", self.folder / "other")
        other = self.folder / "other.pub"
        self.assertEqual(self.judged(signed, code=1, key=other)["others"], "1")
        self.refused(
            "check-signature",
            signed,
            "--key-file",
            other,
            code=1,
            mentions=["not signed by this key"],
        )
        self.refused(
            "check-signature",
            path,
            "--key-file",
            self.public,
            code=1,
            mentions=["nor by any other"],
        )

    def test_an_edited_recording_is_found_out(self):
        path, _ = self.record()
        signed, _ = self.sign(path)

        def flip(record):
            if record.get("tick") == "50":
                slot = record["slots"][0]
                record["slots"][0] = slot[:4] + f"{int(slot[4:6], 16) ^ 1:02x}" + slot[6:]
            return [record]

        changed = self.edited(signed, flip)
        self.assertEqual(self.json("check", changed)["state"], "closed")
        self.assertEqual(self.judged(changed, code=1)["invalid"], "1")
        self.refused(
            "check-signature",
            changed,
            "--key-file",
            self.public,
            code=1,
            mentions=["does not hold"],
        )
        stripped = self.edited(
            signed, lambda r: [] if r.get("tag") == 0x42 else [r], "stripped.twin"
        )
        self.assertEqual(stripped.read_bytes(), path.read_bytes())
        self.judged(stripped, code=1)

    def test_a_signature_of_another_session_does_not_hold(self):
        frames = {}
        for name in ("a", "b"):
            path, _ = self.record(f"{name}.twin")
            signed, _ = self.sign(path, f"{name}-signed.twin")
            lines = map(json.loads, run("cat", signed).stdout.splitlines())
            frames[name] = [line["payload"] for line in lines if line.get("tag") == 0x42][0]

        def swap(record):
            if record.get("tag") == 0x42:
                record["payload"] = frames["b"]
            return [record]

        moved = self.edited(self.folder / "a-signed.twin", swap)
        self.assertEqual(self.judged(moved, code=1)["invalid"], "1")

    def test_a_cut_file_keeps_what_was_signed_before(self):
        path, _ = self.record(ticks=2000)
        signed, answer = self.sign(path, "signed.twin", "--every", "1")
        self.assertEqual(answer["signatures"], "4")
        data = signed.read_bytes()
        claims = self.judged(signed)["signatures"]
        self.assertEqual([claim["ticks"] for claim in claims], ["600", "1200", "1800", "2000"])
        cut = self.folder / "cut.twin"
        cut.write_bytes(data[: int(claims[1]["offset"]) + 1000])
        judged = self.judged(cut, code=3)
        self.assertEqual(judged["covered_ticks"], "1200")
        self.assertEqual(judged["state"], "truncated")
        self.assertFalse(judged["covers_all"])
        said = run("check-signature", cut, "--key-file", self.public)
        self.assertIn("tick 0 to tick 1199 signed by", said.stdout)
        self.assertIn("not covered: tick 1200 to tick", said.stderr)
        # Damage in the third chunk.
        damaged = bytearray(data)
        damaged[int(claims[1]["offset"]) + 3000] ^= 1
        cut.write_bytes(damaged)
        self.assertEqual(self.judged(cut, code=3)["covered_ticks"], "1200")
        # Before the first signature nothing is left of it.
        cut.write_bytes(data[: int(claims[0]["offset"]) - 1])
        self.judged(cut, code=1)

    def test_a_recording_cut_at_a_signed_place_and_closed_again(self):
        path, _ = self.record(ticks=1300)
        signed, _ = self.sign(path, "signed.twin", "--every", "1")
        seen = []

        def half(record):
            seen.append(record)
            signatures = [one for one in seen if one.get("tag") == 0x42]
            done = len(signatures) > 1 or (signatures and record.get("tag") != 0x42)
            if record["type"] == "trailer":
                record["ticks"] = "600"
            return [] if done and record["type"] != "trailer" else [record]

        closed = self.edited(signed, half)
        self.assertEqual(self.json("check", closed)["state"], "closed")
        judged = self.judged(closed, code=3)
        self.assertEqual(judged["covered_ticks"], judged["ticks"])
        self.assertFalse(judged["ends"])
        self.refused_end(closed)

    def refused_end(self, path):
        said = run("check-signature", path, "--key-file", self.public)
        self.assertIn("nobody vouches that the recording ends at tick 600", said.stderr)

    def test_one_boundary_may_be_chosen(self):
        path, _ = self.record(ticks=1300)
        signed, answer = self.sign(path, "at.twin", "--at", 600)
        self.assertEqual(answer["covered_ticks"], "600")
        self.assertFalse(answer["ends"])
        self.assertEqual(self.judged(signed, code=3)["covered_ticks"], "600")
        common = ("sign", path, "-o", self.folder / "x.twin", "--key-file", self.key)
        self.refused(*common, "--at", 700, code=1, mentions=["600 and 1200"])
        self.refused(*common, "--at", 600, "--every", 1, code=2)
        self.refused(*common, "--every", 0, code=2)
        self.assertFalse((self.folder / "x.twin").exists())

    def test_what_cannot_be_signed_is_refused_in_one_line(self):
        path, _ = self.record(ticks=100)
        self.json("pack", path, "-o", self.folder / "p.twin", "--level", 0)
        common = ("-o", self.folder / "x.twin", "--key-file", self.key)
        self.refused("sign", self.folder / "p.twin", *common, code=5, mentions=["unpack it first"])
        self.refused("sign", self.folder / "none.twin", *common, code=1)
        self.refused("sign", self.public, *common, code=1, mentions=["not a Twinstep recording"])
        cut = self.folder / "cut.twin"
        cut.write_bytes(path.read_bytes()[:2000])
        self.refused("sign", cut, *common, code=6, mentions=["nothing to sign"])
        self.assertFalse((self.folder / "x.twin").exists())
        self.assertFalse((self.folder / "x.twin.part").exists())
        # Signed up to the last chunk end, and told that it is not whole.
        path, _ = self.record("long.twin", ticks=1000)
        cut.write_bytes(path.read_bytes()[:-400])
        _, answer = self.sign(cut, "y.twin", code=3)
        self.assertEqual(answer["covered_ticks"], "600")
        self.assertFalse(answer["ends"])

    def test_signed_while_it_is_recorded(self):
        path, recorded = self.record("r.twin", "--sign-key-file", self.key, ticks=1300)
        judged = self.judged(path)
        self.assertTrue(judged["covers_all"])
        self.assertEqual(judged["valid"], "3")
        self.assertEqual(self.json("verify", path)["divergences"], [])
        self.assertEqual(recorded["ticks"], "1300")
        target = self.folder / "n.twin"
        self.refused(
            "record",
            "marine",
            "-o",
            target,
            "--sign-key-file",
            self.public,
            code=1,
            mentions=["a public key"],
        )
        self.assertFalse(target.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
