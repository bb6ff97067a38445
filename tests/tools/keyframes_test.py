# SPDX-License-Identifier: MIT
"""Keyframes from the command line: made, used by play and state, checked, taken away.

Usage: keyframes_test.py TWINSTEP [unittest options]
"""

import unittest

from support import CommandTest, run


def set_byte(path, offset, value=None):
    """Flips a bit of a byte, so that the file is damaged there."""
    data = bytearray(path.read_bytes())
    data[offset] = data[offset] ^ 1 if value is None else value
    path.write_bytes(data)


class UsageTest(CommandTest):
    def test_each_sub_verb_has_help_with_an_example(self):
        for verb in ("add", "strip", "check"):
            done = run("keyframes", verb, "--help")
            self.assertEqual(done.returncode, 0, verb)
            self.assertIn(f"Example:\n  twinstep keyframes {verb}", done.stdout)

    def test_wrong_usage_ends_with_two_and_one_line(self):
        path, _ = self.record()
        for arguments in (
            [],
            ["fly"],
            ["add"],
            ["strip", path],
            ["add", path, "--every", "0"],
            ["add", path, "--every", "10m"],
            ["add", path, "--every", "s"],
            ["add", path, "--codec", "lz4"],
            ["add", path, "--side", "-o", self.folder / "b.twin"],
        ):
            self.refused("keyframes", *arguments, code=2)
        self.refused("play", path, "--speed", "65", code=2, mentions=["0.1 to 64"])
        self.refused("play", path, "--speed", "fast", code=2, mentions=["unlimited"])
        self.assertEqual(len(list(self.folder.iterdir())), 1)


class AddTest(CommandTest):
    def test_a_side_file_leaves_the_recording_alone(self):
        path, made = self.record(ticks=2000)
        before = path.read_bytes()
        added = self.json("keyframes", "add", path)
        side = path.with_suffix(".kf")
        self.assertEqual(added["file"], str(side))
        # Ten seconds of marine are 350 ticks; the last one is before tick 2000.
        self.assertEqual((added["every_ticks"], added["keyframes"]), ("350", "5"))
        self.assertEqual((added["ticks"], added["bytes"]), ("2000", str(side.stat().st_size)))
        self.assertEqual(path.read_bytes(), before)
        checked = self.json("keyframes", "check", path)
        self.assertEqual((checked["keyframes"], checked["problems"]), ("5", []))
        self.assertGreaterEqual(int(checked["hashes_checked"]), 2000)
        self.assertEqual(self.json("state", path, "--at", 2000)["hash"], made["final_hash"])
        self.refused("keyframes", "add", path, code=1, mentions=[side])

    def test_a_copy_holds_them_and_stripping_gives_the_file_back(self):
        for game, every in (("marine", 100), ("swarm", 100), ("pile", 120)):
            path, _ = self.record(f"{game}.twin", game=game, ticks=700)
            copy = self.folder / f"{game}-copy.twin"
            bare = self.folder / f"{game}-bare.twin"
            added = self.json("keyframes", "add", path, "-o", copy, "--every", every)
            self.assertEqual(added["bytes"], str(copy.stat().st_size), game)
            self.assertGreater(int(added["keyframes"]), 0, game)
            # The proof is the same one.
            self.assertEqual(self.json("info", copy)["chain"], self.json("info", path)["chain"])
            self.json("verify", copy)
            self.assertEqual(
                self.json("keyframes", "check", copy)["keyframes"], added["keyframes"], game
            )
            stripped = self.json("keyframes", "strip", copy, "-o", bare)
            self.assertEqual(stripped["keyframes"], added["keyframes"], game)
            self.assertEqual(bare.read_bytes(), path.read_bytes(), game)
            self.refused("keyframes", "strip", copy, "-o", bare, code=1, mentions=[bare])

    def test_every_codec_leads_to_the_same_states(self):
        hashes = set()
        sizes = {}
        for codec in ("raw", "zero_runs", "zstd"):
            path, _ = self.record(f"{codec}.twin", game="swarm", ticks=400)
            done = run("keyframes", "add", path, "--codec", codec, "--every", "5s")
            if codec == "zstd" and done.returncode == 5:
                self.assertIn("use zero_runs", done.stderr)
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            sizes[codec] = path.with_suffix(".kf").stat().st_size
            hashes.add(self.json("state", path, "--at", 333)["hash"])
        self.assertEqual(len(hashes), 1)
        self.assertLess(sizes["zero_runs"], sizes["raw"])
        self.assertLess(sizes.get("zstd", 0), sizes["zero_runs"])

    def test_a_packed_recording_takes_a_side_file_and_nothing_else(self):
        path, made = self.record(ticks=2000)
        packed = self.folder / "packed.twin"
        if run("pack", path, "-o", packed).returncode == 5:
            self.json("pack", path, "-o", packed, "--level", 0)
        copy = self.folder / "copy.twin"
        self.refused("keyframes", "add", packed, "-o", copy, code=5, mentions=["unpack it first"])
        self.refused("keyframes", "strip", packed, "-o", copy, code=5, mentions=["packed"])
        self.assertFalse(copy.exists())
        self.json("keyframes", "add", packed, "--side")
        self.assertEqual(self.json("keyframes", "check", packed)["keyframes"], "5")
        self.assertEqual(self.json("state", packed, "--at", 2000)["hash"], made["final_hash"])
        # Both forms are one session, so one side file serves both.
        packed.with_suffix(".kf").rename(path.with_suffix(".kf"))
        self.assertEqual(self.json("keyframes", "check", path)["keyframes"], "5")

    def test_nothing_is_made_of_a_recording_that_diverges(self):
        path, _ = self.record(ticks=400)
        bad = self.flip_input(path, 120)
        for options in ([], ["-o", self.folder / "copy.twin"]):
            self.refused("keyframes", "add", bad, *options, "--every", 50, code=4, mentions=["121"])
        self.assertFalse(bad.with_suffix(".kf").exists())
        self.assertFalse((self.folder / "copy.twin").exists())

    def test_a_cut_recording_gets_a_side_file_and_no_copy(self):
        path, _ = self.record(ticks=400)
        cut = self.folder / "cut.twin"
        cut.write_bytes(path.read_bytes()[:-300])
        copy = self.folder / "copy.twin"
        self.refused("keyframes", "add", cut, "-o", copy, code=3, mentions=["repair it first"])
        self.assertFalse(copy.exists())
        self.json("keyframes", "add", cut, "--every", 50, code=3)
        self.assertGreater(int(self.json("keyframes", "check", cut, code=3)["keyframes"]), 3)


class CheckTest(CommandTest):
    def test_nothing_checked_is_said(self):
        path, _ = self.record()
        self.json("keyframes", "check", path, code=6)

    def test_a_damaged_side_file_is_used_up_to_the_damage(self):
        path, made = self.record(ticks=2000)
        self.json("keyframes", "add", path, "--every", 200, "--whole-every", 1)
        side = path.with_suffix(".kf")
        set_byte(side, side.stat().st_size // 2)
        checked = self.json("keyframes", "check", path, code=3)
        self.assertEqual(len(checked["problems"]), 1)
        self.assertIn(int(checked["keyframes"]), range(3, 7))
        for verb in (["state", path, "--at", 2000], ["play", path, "--from", 1990]):
            self.assertEqual(
                self.json(*verb)["final_hash" if verb[0] == "play" else "hash"], made["final_hash"]
            )

    def test_another_recording_s_side_file_is_refused(self):
        path, made = self.record(ticks=400)
        other, _ = self.record("b.twin", ticks=400)
        self.json("keyframes", "add", other, "--every", 50)
        other.with_suffix(".kf").rename(path.with_suffix(".kf"))
        checked = self.json("keyframes", "check", path, code=3)
        self.assertEqual((checked["keyframes"], len(checked["problems"])), ("0", 1))
        self.assertEqual(self.json("state", path, "--at", 400)["hash"], made["final_hash"])


class GoTest(CommandTest):
    def test_any_tick_has_the_state_of_the_straight_run(self):
        path, _ = self.record(game="swarm", ticks=300)
        straight = {
            at: self.json("state", path, "--at", at)["hash"] for at in (0, 99, 100, 101, 300)
        }
        self.json("keyframes", "add", path, "--every", 50)
        for at, hash_ in straight.items():
            self.assertEqual(self.json("state", path, "--at", at)["hash"], hash_, at)

    def test_a_part_plays_the_same_in_every_way(self):
        path, _ = self.record(ticks=700)
        self.json("keyframes", "add", path, "--every", 100)
        start = self.json("state", path, "--at", 400)["hash"]
        end = self.json("state", path, "--at", 450)["hash"]
        for options in ([], ["--speed", "64"], ["--speed", "unlimited"], ["--frames", "jitter:3"]):
            part = self.json("play", path, "--from", 400, "--until", 450, *options)
            self.assertEqual((part["ticks"], part["final_hash"]), ("50", end), options)
            self.assertGreaterEqual(int(part["hashes_checked"]), 50, options)
        back = self.json("play", path, "--from", 400, "--until", 450, "--backwards")
        self.assertEqual((back["ticks"], back["final_hash"]), ("50", start))
        self.assertEqual((back["hashes_checked"], back["matched"]), ("50", True))

    def test_a_divergence_is_named_with_its_first_tick_however_one_comes_to_it(self):
        path, _ = self.record(ticks=400)
        bad = self.flip_input(path, 120)
        for verb in (
            ["play", bad],
            ["play", bad, "--from", 300],
            ["play", bad, "--backwards"],
            ["state", bad, "--at", 350],
        ):
            done = run(*verb)
            self.assertEqual(done.returncode, 4, verb)
            self.assertIn("tick 121", done.stderr, verb)
        self.json("state", bad, "--at", 120)


if __name__ == "__main__":
    unittest.main()
