#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line's contract: exit codes, JSON keys, one-line errors.

Usage: cli_test.py TWINSTEP [unittest options]
"""

import json
import signal
import subprocess
import time
import unittest

from support import TWINSTEP, WADS, CommandTest, run

VERBS = [
    "games",
    "record",
    "play",
    "verify",
    "merge",
    "info",
    "check",
    "cat",
    "import",
    "pack",
    "unpack",
    "keygen",
    "sign",
    "check-signature",
    "trim",
    "concat",
    "fork",
    "bisect",
    "rebaseline",
    "recover",
    "follow",
    "keyframes",
    "diff",
    "state",
    "coverage",
    "timing",
    "doctor",
    "lint",
    "netsim",
    "self-test",
]


class UsageTest(CommandTest):
    def test_every_verb_has_help_with_an_example(self):
        for verb in VERBS:
            done = run(verb, "--help")
            self.assertEqual(done.returncode, 0, verb)
            self.assertIn(f"Example:\n  twinstep {verb}", done.stdout)

    def test_wrong_usage_ends_with_two_and_one_line(self):
        for arguments in (
            [],
            ["fly"],
            ["record"],
            ["play"],
            ["info", "a", "--loud"],
            ["verify", "x", "--jobs", "0"],
            ["verify", "x", "--shard", "3/2"],
            ["verify", "x", "--shard", "0/2"],
            ["verify", "x", "--shard", "1/2x"],
            ["verify", "x", "--report", "pdf"],
            ["state", "x"],
            ["coverage", "x"],
            ["coverage", "x", "--at", "1", "--samples", "0"],
            ["timing"],
        ):
            self.refused(*arguments, code=2)

    def test_bad_values_of_record_name_the_option(self):
        out = self.folder / "no.twin"
        base = ["record", "marine", "-o", out]
        self.refused(
            "record", "chess", "-o", out, code=2, mentions=["chess", "marine, swarm, pile"]
        )
        self.refused(*base, "--from", "bot:x", code=2, mentions=["bot:SEED"])
        self.refused(*base, "--from", "radio:1", code=2, mentions=["radio", "wad:FILE.wad:LUMP"])
        self.refused(*base, "--slots", "9", code=2, mentions=["slots", "9"])
        for cadence in ("0", "-3", "fast", "jitter:", "jitter:x", "60.5"):
            self.refused(*base, "--frames", cadence, code=2, mentions=["--frames", "jitter:SEED"])
        self.assertFalse(out.exists())

    def test_config_files_name_the_line(self):
        config = self.folder / "game.conf"
        config.write_text("# comment\n\nskill = 3\nskill = 4\n")
        self.refused(
            "record",
            "marine",
            "-o",
            self.folder / "a.twin",
            "--config",
            config,
            code=1,
            mentions=["line 4"],
        )
        config.write_text("flavour = sweet\n")
        self.refused(
            "record",
            "marine",
            "-o",
            self.folder / "a.twin",
            "--config",
            config,
            code=2,
            mentions=["flavour"],
        )
        self.refused(
            "record",
            "marine",
            "-o",
            self.folder / "a.twin",
            "--config",
            "/none",
            code=1,
            mentions=["/none"],
        )


class RecordAndPlayTest(CommandTest):
    def test_games_lists_the_three(self):
        games = {game["id"]: game for game in self.json("games")["games"]}
        self.assertEqual(sorted(games), ["marine", "pile", "swarm"])
        self.assertEqual(
            [games[g]["tick_rate"] for g in ("marine", "swarm", "pile")], ["35/1", "20/1", "60/1"]
        )
        for game in games.values():
            self.assertTrue(game["input"].startswith("{"))
            self.assertIn("random=", game["state"])

    def test_a_recording_replays_the_same_at_every_cadence(self):
        for game, ticks in (("marine", 300), ("pile", 60), ("swarm", 10)):
            path, made = self.record(f"{game}.twin", "--frames", "jitter:5", game=game, ticks=ticks)
            self.assertEqual(made["ticks"], str(ticks))
            counts = self.folder / "counts.txt"
            counts.write_text("166667\n500000\n1\nS\n90\nG\n")
            for cadence in ("30", "60", "144", "240", "jitter:1", f"counts:{counts}", "unlimited"):
                played = self.json("play", path, "--frames", cadence)
                self.assertEqual(
                    (played["final_hash"], played["ticks"], played["matched"]),
                    (made["final_hash"], str(ticks), True),
                    (game, cadence),
                )

    def test_a_part_can_be_played(self):
        path, _ = self.record()
        part = self.json("play", path, "--from", 50, "--until", 80)
        self.assertEqual(part["ticks"], "30")
        self.assertEqual(part["final_hash"], self.json("state", path, "--at", 80)["hash"])
        self.refused("play", path, "--from", 80, "--until", 50, code=2)
        self.refused("play", path, "--from", 900, code=2, mentions=["200 ticks"])

    def test_nothing_is_overwritten(self):
        path, _ = self.record()
        before = path.read_bytes()
        self.refused("record", "marine", "-o", path, code=1, mentions=[path, "exist"])
        text = self.folder / "a.ndjson"
        text.write_text(run("cat", path).stdout)
        self.refused("import", text, "-o", path, code=1, mentions=[path, "exist"])
        self.assertEqual(path.read_bytes(), before)

    def test_places_that_cannot_be_written_are_named(self):
        self.refused(
            "record",
            "marine",
            "-o",
            "/no/such/folder/a.twin",
            code=1,
            mentions=["/no/such/folder/a.twin"],
        )

    def test_a_killed_recorder_leaves_a_file_that_verifies(self):
        path = self.folder / "killed.twin"
        with subprocess.Popen(
            [TWINSTEP, "record", "marine", "-o", str(path), "--ticks", "100000000"]
        ) as process:
            deadline = time.monotonic() + 30
            while (
                not path.exists() or path.stat().st_size < 50_000
            ) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        info = self.json("info", path, code=3)
        self.assertIn(info["state"], ("open", "truncated"))
        verified = self.json("verify", path, code=3)
        self.assertEqual(verified["divergences"], [])
        self.assertGreater(int(verified["hashes_checked"]), 100)


class VerifyTest(CommandTest):
    def test_a_good_recording_verifies_with_every_check(self):
        path, made = self.record()
        verified = self.json("verify", path, "--twice", "--fork-every", 50, "--roundtrip-every", 7)
        self.assertEqual(
            (verified["files"], verified["ticks"], verified["divergences"]), (1, "400", [])
        )
        self.assertGreaterEqual(int(verified["hashes_checked"]), 2 * int(made["ticks"]))

    def test_a_flipped_input_bit_is_found_at_its_tick(self):
        path, _ = self.record()
        bad = self.flip_input(path, 120)
        found = self.json("verify", bad, code=4)["divergences"]
        self.assertEqual(len(found), 1)
        self.assertEqual(
            (found[0]["file"], found[0]["tick"], found[0]["section"]), (str(bad), "121", "players")
        )
        self.assertNotEqual(found[0]["expected"], found[0]["actual"])
        self.assertFalse(self.json("play", bad, code=4)["matched"])
        difference = self.json("diff", path, bad, code=4)
        self.assertEqual((difference["tick"], difference["section"]), ("121", "players"))
        self.assertTrue(difference["field"].startswith("players[0]."), difference["field"])
        self.assertNotEqual(difference["left"], difference["right"])
        self.assertEqual(difference["input"]["tick"], "120")

    def test_a_check_that_checked_nothing_fails(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertEqual(self.json("verify", empty, code=6)["files"], 0)
        path, _ = self.record("a.twin")
        self.json("verify", path, "--shard", "2/2", code=6)
        nothing = self.folder / "nothing.twin"
        self.json("record", "marine", "-o", nothing, "--ticks", 0, code=6)
        self.json("play", nothing, code=6)

    def test_verdicts_do_not_blur(self):
        path, _ = self.record()
        whole = path.read_bytes()
        cut = self.folder / "cut.twin"
        cut.write_bytes(whole[: len(whole) // 2])
        self.assertEqual(self.json("verify", cut, code=3)["divergences"], [])
        foreign = self.folder / "foreign.twin"
        foreign.write_bytes(b"PK\x03\x04 not ours, and long enough to hold a head" * 10)
        self.refused("info", foreign, code=1, mentions=[foreign])
        self.refused("play", foreign, code=1, mentions=[foreign])
        self.refused("info", self.folder / "none.twin", code=1, mentions=["none.twin"])
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 0x10
        broken = self.folder / "broken.twin"
        broken.write_bytes(damaged)
        self.json("verify", broken, code=1)
        self.assertEqual(self.json("info", broken, code=3)["state"], "damaged")
        defect = self.json("check", broken, code=3)["defects"][0]
        self.assertLessEqual(int(defect["offset"]), len(whole) // 2)

    def test_another_simulation_is_named_by_key_and_values(self):
        path, _ = self.record()
        text = run("cat", path, "--editable").stdout
        for key, old, new in (
            ("sim.id", "marine", "chess"),
            ("sim.version", "1", "9"),
            ("input.fingerprint", None, "0000000000000000"),
        ):
            lines = text.splitlines()
            head = json.loads(lines[0])
            old = old or head["manifest"][key]
            head["manifest"][key] = new
            source = self.folder / f"{key}.ndjson"
            source.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
            other = self.folder / f"{key}.twin"
            self.json("import", source, "-o", other)
            done = run("verify", other)
            self.assertEqual(done.returncode, 5, done.stdout)
            self.assertIn(key, done.stdout)
            self.assertIn(new, done.stdout)
            self.assertIn(old, done.stdout)

    def test_reports_have_their_formats(self):
        path, _ = self.record()
        bad = self.flip_input(path, 120)
        junit = run("verify", path, bad, "--report", "junit").stdout
        self.assertIn('tests="2" failures="1"', junit)
        tap = run("verify", path, bad, "--report", "tap").stdout
        self.assertEqual(tap.splitlines()[:2], ["TAP version 13", "1..2"])
        self.assertIn("not ok", tap)
        self.assertIn("::error file=", run("verify", path, bad, "--report", "github").stdout)


class FilesTest(CommandTest):
    def test_text_form_is_lossless(self):
        path, _ = self.record("a.twin", "--slots", 4, ticks=700)
        text = self.folder / "a.ndjson"
        text.write_text(run("cat", path, "--format", "ndjson").stdout)
        for line in text.read_text().splitlines():
            json.loads(line)
        copy = self.folder / "copy.twin"
        self.json("import", text, "-o", copy)
        self.assertEqual(copy.read_bytes(), path.read_bytes())

    def test_packing_is_undone_to_the_byte(self):
        path, made = self.record("a.twin", "--slots", 4, ticks=1500)
        packed = self.folder / "a.packed.twin"
        answer = self.json("pack", path, "-o", packed)
        self.assertEqual(
            (answer["ticks"], answer["chain"], answer["bytes"]),
            ("1500", made["chain"], str(packed.stat().st_size)),
        )
        self.assertLess(packed.stat().st_size, path.stat().st_size / 2)
        # A packed file is read like any other.
        self.assertEqual(run("cat", packed).stdout, run("cat", path).stdout)
        self.assertEqual(self.json("verify", packed)["hashes_checked"][:2], "15")
        self.assertEqual(self.json("info", packed)["chain"], made["chain"])
        again = self.folder / "again.twin"
        self.assertEqual(self.json("unpack", packed, "-o", again)["bytes"], made["bytes"])
        self.assertEqual(again.read_bytes(), path.read_bytes())
        self.assertEqual(
            sorted(file.name for file in self.folder.iterdir()),
            ["a.packed.twin", "a.twin", "again.twin"],
        )

    def test_packing_never_writes_over_a_file(self):
        path, _ = self.record()
        before = path.read_bytes()
        other, _ = self.record("b.twin")
        self.refused("pack", path, "-o", path, code=1, mentions=[path, "exist"])
        self.refused("pack", path, "-o", other, code=1, mentions=[other, "exist"])
        self.refused("unpack", path, "-o", other, code=1, mentions=[other, "exist"])
        self.refused("pack", path, "-o", self.folder / "x.twin", "--level", "23", code=2)
        self.assertEqual(path.read_bytes(), before)

    def test_what_is_not_whole_is_packed_if_it_is_open_and_refused_if_it_is_cut(self):
        path, _ = self.record(ticks=700)
        whole = path.read_bytes()
        path.write_bytes(whole[:-54])
        done = run("pack", path, "-o", self.folder / "open.twin")
        self.assertEqual(done.returncode, 3, done.stderr)
        done = run("unpack", self.folder / "open.twin", "-o", self.folder / "again.twin")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual((self.folder / "again.twin").read_bytes(), whole[:-54])
        path.write_bytes(whole[:-60])
        self.refused("pack", path, "-o", self.folder / "cut.twin", code=1, mentions=[path])
        self.assertFalse((self.folder / "cut.twin").exists())
        self.assertFalse((self.folder / "cut.twin.part").exists())

    def test_section_bytes_can_be_left_out(self):
        path, made = self.record(ticks=700)
        packed = self.folder / "small.twin"
        answer = self.json("pack", path, "-o", packed, "--no-section-bytes")
        self.assertTrue(answer["section_bytes_dropped"])
        self.assertNotEqual(answer["chain"], made["chain"])
        self.assertEqual(self.json("verify", packed)["ticks"], "700")

    def test_a_text_recording_is_a_source(self):
        path, made = self.record()
        text = self.folder / "a.ndjson"
        text.write_text(run("cat", path).stdout)
        again = self.json(
            "record", "marine", "-o", self.folder / "b.twin", "--from", f"ndjson:{text}"
        )
        self.assertEqual((again["ticks"], again["final_hash"]), (made["ticks"], made["final_hash"]))

    def test_hostile_text_is_refused_with_its_line(self):
        path, _ = self.record(ticks=20)
        lines = run("cat", path).stdout.splitlines()
        for damage in (
            "{",
            "null",
            '{"tick": 5}',
            '{"tick": "-1"}',
            "[1]",
            '{"tick":"3","slots":[{"input":"zz"}]}',
        ):
            text = self.folder / "bad.ndjson"
            text.write_text("\n".join([*lines[:4], damage, *lines[5:]]) + "\n")
            self.refused("import", text, "-o", self.folder / "bad.twin", code=1, mentions=["5"])
            self.assertFalse((self.folder / "bad.twin").exists())

    def test_info_needs_no_simulation(self):
        path, made = self.record()
        info = self.json("info", path)
        self.assertEqual(
            (info["ticks"], info["chain"], info["state"], info["final_hash"]),
            (made["ticks"], made["chain"], "closed", made["final_hash"]),
        )
        self.assertEqual(info["manifest"]["sim.id"], "marine")
        self.assertEqual(info["bytes"], str(path.stat().st_size))
        check = self.json("check", path)
        self.assertEqual((check["defects"], check["ticks"]), ([], "200"))

    def test_state_is_a_named_tree(self):
        path, made = self.record()
        state = self.json("state", path, "--at", 200)
        self.assertEqual((state["tick"], state["hash"]), ("200", made["final_hash"]))
        self.assertIn("players", state["state"])
        self.assertIn("random", state["state"])
        self.refused("state", path, "--at", 201, code=2, mentions=["200 ticks"])

    def test_coverage_tells_scores_from_what_matters(self):
        path, _ = self.record()
        report = self.json("coverage", path, "--at", 100, "--samples", 400, "--ticks", 32)
        self.assertEqual((report["tick"], report["ticks"], report["samples"]), ("100", "32", "400"))
        self.assertEqual(report["unhashed"], [])
        self.assertIn("players players[].kills", report["unnoticed"])
        moved = [f for f in report["fields"] if f["field"] == "players[].angle"]
        self.assertGreater(int(moved[0]["noticed"]), 0)
        changed = sum(int(field["changed"]) for field in report["fields"])
        self.assertEqual(changed + int(report["refused"]) + int(report["reshaped"]), 400)
        # Not beyond the recording, and not at its end, after which there is nothing to play.
        self.refused("coverage", path, "--at", 201, code=2, mentions=["200 ticks"])
        self.refused("coverage", path, "--at", 200, code=2, mentions=["no tick after"])

    def test_diff_of_a_file_with_itself_is_the_same(self):
        path, _ = self.record()
        self.assertTrue(self.json("diff", path, path)["same"])
        longer, _ = self.record("longer.twin", ticks=220)
        self.assertFalse(self.json("diff", path, longer, code=4)["same"])


class PeopleTest(CommandTest):
    def test_a_demo_that_people_played_is_recorded_whole(self):
        path = self.folder / "demo.twin"
        made = self.json(
            "record", "marine", "-o", path, "--from", f"wad:{WADS}/freedoom1.wad:DEMO2"
        )
        self.assertGreater(int(made["ticks"]), 1000)
        self.assertEqual(self.json("play", path)["final_hash"], made["final_hash"])

    def test_bad_demos_are_refused_or_cut_with_a_message(self):
        header = bytes([109, 2, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0])
        tics = bytes([25, 0, 1, 0]) * 10
        lump = self.folder / "a.lmp"

        def record(data, code, *mentions):
            lump.write_bytes(data)
            out = self.folder / f"{len(list(self.folder.iterdir()))}.twin"
            done = run("record", "marine", "-o", out, "--from", f"demo:{lump}", "--json")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1 if mentions else 0, done.stderr)
            for text in mentions:
                self.assertIn(text, done.stderr)
            return json.loads(done.stdout)["ticks"] if done.stdout else None

        self.assertEqual(record(header + tics + b"\x80", 0), "10")
        self.assertEqual(record(header + tics, 3, "a.lmp"), "10")
        self.assertEqual(record(header + tics[:-2], 3, "a.lmp"), "9")
        self.assertEqual(record(header + tics + b"\x80PK", 0, "2 bytes after the end"), "10")
        two = header[:9] + bytes([1, 0, 1, 0])
        self.assertEqual(record(two + tics + b"\x80", 0), "5")
        self.assertEqual(record(two + tics[:-4], 3, "a.lmp", "4 whole tics"), "4")
        self.assertIsNone(record(header[:9] + bytes(4) + tics + b"\x80", 1, "nobody plays"))
        self.assertIsNone(record(header[:9] + bytes([2, 0, 0, 0]) + tics, 1, "byte 9"))
        self.assertEqual(record(header + b"\x80", 6, "no tick was recorded"), "0")
        self.assertIsNone(record(b"\x6e" + header[1:] + tics + b"\x80", 1, "a.lmp", "110"))
        self.assertIsNone(record(b"\x6c" + header[1:] + tics + b"\x80", 1, "a.lmp", "108"))
        self.assertIsNone(record(header[:7], 1, "a.lmp"))
        self.assertIsNone(record(b"", 1, "a.lmp"))
        self.refused(
            "record",
            "marine",
            "-o",
            self.folder / "x.twin",
            "--from",
            f"wad:{WADS}/freedoom1.wad:DEMO9",
            code=1,
            mentions=["DEMO9", "DEMO1"],
        )
        self.refused(
            "record",
            "marine",
            "-o",
            self.folder / "x.twin",
            "--from",
            "wad:/none.wad:DEMO1",
            code=1,
            mentions=["/none.wad"],
        )


class MachineTest(CommandTest):
    def timing(self, stream, *options, code=0):
        counts = self.folder / "counts.txt"
        counts.write_text(stream)
        done = run("timing", "--counts", counts, "--json", *options)
        self.assertEqual(done.returncode, code, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_timing_keeps_the_golden_vectors(self):
        stall = self.timing("166667\n27000000\n166667\n166667\n")
        self.assertEqual([row["steps"] for row in stall], [1, 8, 1, 1])
        self.assertEqual(sum(row["dropped_steps"] for row in stall), 7)
        self.assertEqual(sum(int(row["dropped_counts"]) for row in stall), 24_500_000)
        back = self.timing("166667\n-50\n166727\n")
        self.assertEqual([row["steps"] for row in back], [1, 0, 1])
        self.assertEqual(sum(row["regressions"] for row in back), 1)
        half = self.timing("166667\n165667\n167667\n165667\n167667\n", "--phase", "half")
        self.assertEqual([row["steps"] for row in half], [1, 1, 1, 1, 1])

    def test_timing_refuses_what_cannot_work(self):
        self.timing("1\n", "--rate", "0", code=2)
        self.timing("1\n", "--frequency", "0", code=2)
        self.timing("1\n", "--max-frame", "0.001", code=2)
        self.timing("1\n", "--max-steps", "0", code=2)
        self.timing("1\n", "--scale", "nan", code=2)
        self.timing("1\n2\nzebra\n", code=1)
        self.timing("", code=1)
        self.timing("+5\n", code=6)

    def test_doctor_and_self_test(self):
        doctor = self.json("doctor")
        self.assertTrue(doctor["float_environment"]["exact"])
        self.assertGreater(int(doctor["counter"]["frequency_hz"]), 0)
        self.assertIn("exact", doctor["verdict"])
        self.assertEqual(self.json("self-test")["failed"], 0)
        self.assertGreater(self.json("self-test")["passed"], 5)


if __name__ == "__main__":
    unittest.main()
