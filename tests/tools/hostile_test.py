#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command does with hostile options, names, streams, files and text.

Usage: hostile_test.py TWINSTEP [unittest options]
"""

import json
import os
import random
import resource
import subprocess
import unittest

from support import TWINSTEP, CommandTest, run

SEED = int(os.environ.get("TWINSTEP_TEST_SEED", "7"))
MEMORY_BYTES_MAX = 512 << 20


class OptionsTest(CommandTest):
    def test_numbers_are_whole_decimal_and_in_range(self):
        path, _ = self.record(ticks=20)
        out = self.folder / "no.twin"
        for value in ("-1", "18446744073709551616", "0x10", "1e3", "", " 5", "3.5", "abc"):
            for arguments in (
                ["record", "marine", "-o", out, "--ticks", value],
                ["record", "marine", "-o", out, "--slots", value],
                ["record", "marine", "-o", out, f"--seed={value}"],
                ["play", path, "--from", value],
                ["play", path, "--until", value],
                ["state", path, "--at", value],
                ["verify", path, "--fork-every", value],
                ["verify", path, "--roundtrip-every", value],
                ["verify", path, "--jobs", value],
            ):
                self.refused(*arguments, code=2, mentions=["--"])
        self.refused("verify", path, "--fork-every", "0", code=2)
        self.assertFalse(out.exists())
        self.assertEqual(self.record("octal.twin", ticks="010")[1]["ticks"], "10")

    def test_speed_means_real_time_and_keeps_its_range(self):
        path, _ = self.record(ticks=20)
        for value in ("nan", "0", "-1", "1e9", "inf", "0.05", "", "x"):
            self.refused("play", path, "--speed", value, code=2, mentions=["--speed", "0.1 to 64"])
        self.refused("play", path, "--speed", 1, "--frames", "unlimited", code=2)
        self.assertGreater(int(self.json("play", path, "--speed", 4)["frames"]), 5)

    def test_unknown_verbs_and_empty_names_are_told_what_exists(self):
        self.refused("fly", code=2, mentions=["fly", "record, play"])
        self.refused(code=2, mentions=["record, play"])
        self.refused("--json", code=2, mentions=["record, play"])
        for arguments in (["info", ""], ["verify", ""], ["record", "marine", "-o", ""]):
            self.refused(*arguments, code=2, mentions=["the name is empty"])
        for source in ("demo:", "wad:", "ndjson:", "bot:", "bot:-1"):
            out = self.folder / "no.twin"
            self.refused("record", "marine", "-o", out, "--from", source, code=2, mentions=[source])

    def test_count_streams_that_lead_nowhere_end(self):
        path, _ = self.record(ticks=20)
        counts = self.folder / "counts.txt"
        for stream, code in (("S", 1), ("0", 1), ("-5", 1), ("R\n5", 1), ("9" * 30, 1), ("", 1)):
            counts.write_text(stream + "\n")
            self.refused("play", path, "--frames", f"counts:{counts}", code=code)
        self.refused("play", path, "--frames", "counts:/none", code=1, mentions=["/none"])
        self.refused("play", path, "--frames", "counts:", code=2)


class StreamsTest(CommandTest):
    def test_a_full_or_closed_standard_output_is_an_error(self):
        path, _ = self.record(ticks=20)
        for arguments in (["--help"], ["--version"], ["games"], ["cat", path], ["info", path]):
            for redirection in (">/dev/full", ">&-"):
                done = subprocess.run(
                    ["sh", "-c", f'"$@" {redirection}', "sh", TWINSTEP, *map(str, arguments)],
                    capture_output=True,
                    check=False,
                    timeout=60,
                )
                self.assertEqual(done.returncode, 1, (arguments, redirection))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_text_never_lands_in_a_recording_where_streams_are_closed(self):
        path = self.folder / "closed.twin"
        command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", TWINSTEP, "record", "marine"]
        subprocess.run([*command, "-o", str(path), "--ticks", "50"], check=False, timeout=60)
        self.assertEqual(self.json("check", path)["ticks"], "50")

    def test_a_reader_that_leaves_ends_the_command_quietly(self):
        path, _ = self.record(ticks=700)
        done = subprocess.run(
            ["sh", "-c", '"$1" cat "$2" | head -n 1', "sh", TWINSTEP, str(path)],
            capture_output=True,
            check=True,
            timeout=60,
        )
        self.assertEqual(done.stderr, b"")
        self.assertEqual(json.loads(done.stdout)["type"], "head")

    def test_a_limit_on_the_size_of_files_is_an_error_of_one_line(self):
        path = self.folder / "big.twin"
        done = subprocess.run(
            [TWINSTEP, "record", "marine", "-o", str(path)],
            capture_output=True,
            check=False,
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.json("info", path, code=3)["state"], "open")


class PathsTest(CommandTest):
    def test_what_is_no_regular_file_is_no_recording(self):
        fifo = self.folder / "fifo.twin"
        os.mkfifo(fifo)
        for place in (fifo, "/dev/zero", self.folder):
            for verb in (["info"], ["check"], ["cat"], ["play"], ["state", "--at", "0"]):
                self.refused(*verb, place, code=1, mentions=[place])
            self.refused("diff", place, place, code=1, mentions=[place])
        self.json("verify", fifo, code=1)
        text = self.folder / "text.twin"
        for place in (self.folder, "/proc/self/mem", "/dev/zero", "/none"):
            self.refused("import", place, "-o", text, code=1, mentions=[place])
            self.assertFalse(text.exists(), place)

    def test_directories_are_searched_without_loops_and_without_silence(self):
        inner = self.folder / "tree" / "inner"
        inner.mkdir(parents=True)
        (inner / "loop").symlink_to("..")
        (inner / "folder.twin").mkdir()
        path, _ = self.record("tree/inner/a.twin", ticks=20)
        tree = self.folder / "tree"
        self.assertEqual(self.json("verify", tree, tree, path)["files"], 1)
        (tree / "gone.twin").symlink_to("nowhere")
        failures = self.json("verify", tree, code=1)["failures"]
        self.assertEqual([failure["file"] for failure in failures], [f"{tree}/gone.twin"])
        (tree / "gone.twin").unlink()
        if os.geteuid() != 0:
            (tree / "locked").mkdir(mode=0)
            self.assertIn("locked", self.json("verify", tree, code=1)["failures"][0]["file"])
        shard = run("verify", path, "--shard", "2/2")
        self.assertEqual(shard.returncode, 6)
        self.assertIn("--shard 2/2", shard.stderr)

    def test_names_cannot_play_with_the_terminal(self):
        name = "e\x1b[31m\u009b\u202e\n\u00fc.twin"
        path, _ = self.record(name, ticks=20)
        shown = "e\\x1b[31m\\u009b\\u202e\\x0a\u00fc.twin"
        for arguments in (["info"], ["check"], ["play"], ["verify"], ["verify", "--report", "tap"]):
            done = run(*arguments, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(shown, done.stdout)
        self.assertIn(shown, self.refused("info", f"{path}x", code=1))
        answer = run("info", path, "--json").stdout
        self.assertNotIn("\u009b", answer)
        self.assertEqual(json.loads(answer)["file"], str(path))
        bad = os.fsencode(self.folder) + b"/\xff.twin"
        done = subprocess.run([TWINSTEP, "verify", bad, "--json"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        json.loads(done.stdout.decode())
        self.assertIn(b"\\xff", done.stderr)


class RecordingsTest(CommandTest):
    def judged(self, data, *codes):
        """Every verb answers for the bytes with one of the codes, in little memory."""
        path = self.folder / "hostile.twin"
        path.write_bytes(data)
        for verb in ("info", "verify", "cat"):
            done = subprocess.run(
                [TWINSTEP, verb, str(path), "--json"],
                capture_output=True,
                check=False,
                timeout=60,
                preexec_fn=limit_memory,
            )
            self.assertIn(done.returncode, codes, (verb, done.stderr))
            self.assertTrue(1 <= len(done.stderr.splitlines()) <= 2, done.stderr)
            for line in done.stdout.splitlines():
                json.loads(line)

    def test_cuts_flips_and_splices_are_never_taken_for_whole(self):
        print(f"TWINSTEP_TEST_SEED={SEED}")
        chance = random.Random(SEED)
        whole = self.record(ticks=200)[0].read_bytes()
        other = self.record("pile.twin", game="pile", ticks=50)[0].read_bytes()
        for _ in range(40):
            self.judged(whole[: chance.randrange(len(whole))], 1, 3)
            flipped = bytearray(whole)
            flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            self.judged(flipped, 1, 3)
            cut = chance.randrange(1, len(whole))
            self.judged(whole[:cut] + other[chance.randrange(len(other)) :], 1, 3)
        self.judged(whole + whole, 1, 3)

    def test_a_cut_file_is_a_loss_for_every_verb(self):
        path, _ = self.record(ticks=200)
        cut = self.folder / "cut.twin"
        cut.write_bytes(path.read_bytes()[:3000])
        self.assertTrue(self.json("play", cut, code=3)["matched"])
        self.assertTrue(self.json("diff", cut, cut, code=3)["same"])
        self.json("play", cut, "--until", 5)

    def test_a_hostile_manifest_is_refused_and_shown_harmless(self):
        path, _ = self.record(game="swarm", ticks=2)
        lines = run("cat", path, "--editable").stdout.splitlines()

        def with_manifest(changes):
            head = json.loads(lines[0])
            head["manifest"].update(changes)
            text = self.folder / "hostile.ndjson"
            text.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
            out = self.folder / "hostile.twin"
            out.unlink(missing_ok=True)
            self.json("import", text, "-o", out)
            return out

        for key, value in (
            ("session.slots", "4294967296"),
            ("session.slots", "0"),
            ("session.slots", "-1"),
            ("session.seed", "18446744073709551616"),
            ("session.seed", ""),
            ("sim.tick_rate", "0/0"),
            ("config.units", "4000000000"),
            ("config.units", "18446744073709551616"),
            ("config.bogus", "1"),
        ):
            out = with_manifest({key: value})
            for verb in (["verify"], ["play"], ["state", "--at", "1"]):
                done = subprocess.run(
                    [TWINSTEP, *verb, str(out), "--json"],
                    capture_output=True,
                    check=False,
                    timeout=60,
                    preexec_fn=limit_memory,
                )
                self.assertIn(done.returncode, (1, 5), (key, value, done.stderr))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(str(out).encode(), done.stderr)
        # The most that the game allows is bounded, and is not what was recorded.
        self.json("verify", with_manifest({"config.units": "200000"}), code=4)
        out = with_manifest({"\x1b]0;title\x07": "\x1b[2J\nforged = line\u202e"})
        done = run("info", out)
        self.assertFalse(any(c in done.stdout for c in "\x1b\x07\u202e"), done.stdout)
        self.assertNotIn("\nforged", done.stdout)


class TextTest(CommandTest):
    def test_hostile_text_is_refused_in_one_line(self):
        path, _ = self.record(ticks=20)
        lines = run("cat", path).stdout.splitlines()
        tick = json.loads(lines[3])
        for number, text in (
            (1, ""),
            (1, "\n".join(lines[1:])),
            (2, "\n".join([lines[0], lines[0]])),
            (4, "\n".join([*lines[:3], lines[-1], *lines[3:]])),
            (4, "\n".join([*lines[:3], "[" * 100_000])),
            (4, "\n".join([*lines[:3], '{"type":' * 100_000])),
            (4, "\n".join([*lines[:3], '"' + "x" * 10_000_000])),
            (4, "\n".join([*lines[:3], json.dumps({**tick, "tick": 2})])),
            (4, "\n".join([*lines[:3], json.dumps({**tick, "tick": float("nan")})])),
            (4, "\n".join([*lines[:3], json.dumps({**tick, "\x1b[1m": "2"})])),
            (4, "\n".join([*lines[:3], json.dumps({**tick, "slots": "\ud800"})])),
            (4, "\n".join([*lines[:3], json.dumps({**tick, "slots": [None] * 5000})])),
            (4, "\n".join([*lines[:3], lines[3].replace("{", '{"tick":"9",', 1)])),
            (len(lines) + 1, "\n".join([*lines, lines[-1]])),
        ):
            source = self.folder / "hostile.ndjson"
            source.write_text(text + "\n" if text else "")
            out = self.folder / "hostile.twin"
            line = self.refused("import", source, "-o", out, code=1, mentions=[f"line {number}:"])
            self.assertNotIn("\x1b", line)
            self.assertLess(len(line), 1000)
            self.assertFalse(out.exists())

    def test_line_ends_of_another_system_and_pipes_are_taken(self):
        path, _ = self.record(ticks=20)
        text = run("cat", path).stdout
        done = subprocess.run(
            [TWINSTEP, "import", "/dev/stdin", "-o", str(self.folder / "piped.twin")],
            input=text.replace("\n", "\r\n").encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "piped.twin").read_bytes(), path.read_bytes())


def limit_memory():
    # The address space of a sanitized program has no limit that means anything.
    if "TWINSTEP_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


if __name__ == "__main__":
    unittest.main()
