#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verbs that make recordings out of recordings: trim, concat, fork, bisect, rebaseline; diff of
inputs; inputs as a table.

Usage: edit_test.py TWINSTEP FAULTY_GAME [unittest options]
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

FAULTY = pathlib.Path(sys.argv.pop(2)).resolve() if len(sys.argv) > 2 else None

from support import TWINSTEP, CommandTest, run  # noqa: E402


def faulty(*arguments, other=False):
    """Runs the command of the faulty game; `other`: as another build of it."""
    environment = {**os.environ, **({"TWINSTEP_TEST_FAULT": "other"} if other else {})}
    return subprocess.run(
        [FAULTY, *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=300,
        text=True,
        env=environment,
    )


def ticks_of(path):
    """Tick lines of a recording, without what depends on the session: hashes and inputs."""
    lines = []
    for line in run("cat", path, "--editable").stdout.splitlines():
        record = json.loads(line)
        if record["type"] == "tick":
            lines.append(line)
    return lines


def manifest_of(path):
    return json.loads(run("info", path, "--json").stdout)["manifest"]


class TrimTest(CommandTest):
    def test_parts_verify_and_join_to_the_same_ticks(self):
        whole, answer = self.record(ticks=1500)
        first, second = self.folder / "first.twin", self.folder / "second.twin"
        head = self.json("trim", whole, "--until", 700, "-o", first)
        tail = self.json("trim", whole, "--from", 700, "-o", second)
        self.assertEqual((head["first_tick"], head["ticks"]), ("0", "700"))
        self.assertEqual((tail["first_tick"], tail["ticks"]), ("700", "800"))
        self.assertEqual(tail["final_hash"], answer["final_hash"])
        self.assertEqual(tail["simulated_ticks"], "700")
        for part, ticks in ((first, "700"), (second, "800")):
            self.assertEqual(self.json("verify", part)["ticks"], ticks)
            self.assertEqual(self.json("check", part)["defects"], [])
        notes = manifest_of(second)
        self.assertEqual(notes["record.edit"], "trim")
        self.assertEqual(notes["record.first_tick"], "700")
        self.assertEqual(notes["record.parent_tick"], "1500")
        self.assertEqual(notes["record.parent_chain"], answer["chain"])
        again = self.folder / "again.twin"
        joined = self.json("concat", first, second, "-o", again)
        self.assertEqual(joined["final_hash"], answer["final_hash"])
        self.assertEqual(joined["ticks"], "1500")
        self.json("verify", again)
        self.assertEqual(ticks_of(again), ticks_of(whole))
        self.assertTrue(self.json("diff", whole, again)["same"])

    def test_packed_recordings_are_edited_like_open_ones(self):
        whole, answer = self.record(ticks=900)
        packed = self.folder / "packed.twin"
        self.json("pack", whole, "-o", packed)
        parts = []
        for begin, end in ((0, 250), (250, 900)):
            part = self.folder / f"{begin}.twin"
            self.json("trim", packed, "--from", begin, "--until", end, "-o", part)
            parts.append(self.folder / f"{begin}.packed.twin")
            self.json("pack", part, "-o", parts[-1])
        again = self.folder / "again.twin"
        joined = self.json("concat", *parts, "-o", again)
        self.assertEqual(joined["final_hash"], answer["final_hash"])
        self.assertEqual(ticks_of(again), ticks_of(whole))

    def test_what_does_not_follow_is_refused_in_one_line(self):
        whole, _ = self.record(ticks=300)
        other = self.folder / "other.twin"
        self.json("record", "marine", "-o", other, "--from", "bot:4", "--ticks", 300)
        first, gap, wrong = (self.folder / f"{name}.twin" for name in ("first", "gap", "wrong"))
        self.json("trim", whole, "--until", 100, "-o", first)
        self.json("trim", whole, "--from", 101, "-o", gap)
        self.json("trim", other, "--from", 100, "-o", wrong)
        out = self.folder / "out.twin"
        self.refused("concat", first, gap, "-o", out, code=5, mentions=[gap, 101, 100, first])
        line = self.refused("concat", first, wrong, "-o", out, code=5, mentions=[wrong, first, 100])
        hashes = [word.strip(",") for word in line.split() if len(word.strip(",")) == 32]
        self.assertEqual(len(set(hashes)), 2, line)
        swarm, _ = self.record("swarm.twin", game="swarm", ticks=100)
        self.refused("concat", first, swarm, "-o", out, code=5, mentions=["sim.id"])
        self.assertEqual(sorted(p.name for p in self.folder.glob("out*")), [])

    def test_the_page_alone_is_enough_to_read_what_edits_write(self):
        whole, _ = self.record(ticks=700)
        made = [self.folder / f"{name}.twin" for name in ("late", "early", "joined", "branch")]
        self.json("trim", whole, "--from", 333, "-o", made[0])
        self.json("trim", whole, "--until", 333, "-o", made[1])
        self.json("concat", made[1], made[0], "-o", made[2])
        self.json("fork", made[0], "--at", 500, "-o", made[3], "--from", "bot:5", "--ticks", 50)
        decoder = pathlib.Path(__file__).parent.parent / "conformance" / "decode_twin.py"
        done = subprocess.run(
            [sys.executable, decoder, "--summary", *made],
            capture_output=True,
            check=False,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for line, path in zip(map(json.loads, done.stdout.splitlines()), made):
            self.assertEqual(line["state"], "closed")
            self.assertEqual(line["chain"], self.json("info", path)["chain"])

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_the_name_is_durable_after_the_file_is(self):
        whole, _ = self.record(ticks=100)
        log = self.folder / "calls"
        calls = "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2"
        out = self.folder / "out.twin"
        command = [TWINSTEP, "trim", str(whole), "--until", "50", "-o", str(out)]
        done = subprocess.run(
            ["strace", "-f", "-y", "-e", calls, "-o", str(log), *command],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0 or not log.exists():
            self.skipTest("strace may not look here")
        lines = log.read_text().splitlines()
        file = next(i for i, l in enumerate(lines) if re.search(r"sync\(\d+<.*out.twin.part>", l))
        name = next(i for i, l in enumerate(lines) if "link" in l and "out.twin.part" in l)
        folder = next(
            i
            for i, l in enumerate(lines)
            if f"<{os.path.realpath(self.folder)}>" in l and "fsync" in l
        )
        self.assertLess(file, name)
        self.assertLess(name, folder)

    def test_ranges_outputs_and_divergence(self):
        whole, _ = self.record(ticks=200)
        out = self.folder / "out.twin"
        for options in (["--from", 200], ["--until", 201], ["--from", 9, "--until", 9]):
            self.refused("trim", whole, *options, "-o", out, code=2, mentions=[whole, "200"])
        self.refused("trim", whole, "-o", whole, code=1, mentions=["exists"])
        self.refused("trim", self.folder / "no.twin", "-o", out, code=1)
        # The state at tick 100 of a recording that diverges at tick 51 is nobody's.
        flipped = self.flip_input(whole, 50)
        self.refused("trim", flipped, "--from", 100, "-o", out, code=4, mentions=["51"])
        self.assertFalse(out.exists())
        self.assertFalse((self.folder / "out.twin.part").exists())

    def test_an_open_recording_is_closed_and_reported(self):
        whole, _ = self.record(ticks=200)
        data = whole.read_bytes()
        cut = self.folder / "cut.twin"
        cut.write_bytes(data[: len(data) * 2 // 3])
        out = self.folder / "out.twin"
        self.json("trim", cut, "-o", out, code=3)
        self.assertEqual(self.json("info", out)["state"], "closed")
        self.json("verify", out)
        part = self.folder / "part.twin"
        self.json("trim", cut, "--until", 50, "-o", part)
        self.json("verify", part)

    def test_a_full_disk_leaves_nothing(self):
        whole, _ = self.record(ticks=2000)
        out = self.folder / "out.twin"
        script = 'ulimit -f 8; "$0" trim "$1" --until 1999 -o "$2"'
        done = subprocess.run(
            ["bash", "-c", script, TWINSTEP, whole, out],
            capture_output=True,
            check=False,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(self.folder.glob("out*")), [])


class ForkTest(CommandTest):
    def test_a_branch_has_its_own_future(self):
        whole, answer = self.record(ticks=700)
        branch = self.folder / "branch.twin"
        made = self.json(
            "fork", whole, "--at", 400, "-o", branch, "--from", "bot:9", "--ticks", 300
        )
        self.assertEqual((made["forked_at"], made["new_ticks"]), ("400", "300"))
        self.assertEqual(made["ticks"], "700")
        self.json("verify", branch)
        self.assertEqual(ticks_of(branch)[:400], ticks_of(whole)[:400])
        difference = self.json("diff", whole, branch, code=4)
        self.assertEqual(difference["input"]["tick"], "400")
        self.assertEqual(difference["tick"], "401")
        notes = manifest_of(branch)
        self.assertEqual(notes["record.parent_chain"], answer["chain"])
        self.assertEqual(notes["record.parent_tick"], "400")
        self.assertEqual(notes["record.edit"], "fork")

    def test_a_branch_may_end_where_it_begins_or_follow_a_text(self):
        whole, answer = self.record(ticks=300)
        stump = self.folder / "stump.twin"
        self.assertEqual(self.json("fork", whole, "--at", 120, "-o", stump)["ticks"], "120")
        self.json("verify", stump)
        # With the recording's own inputs from there on, the branch is the recording.
        text = self.folder / "whole.ndjson"
        text.write_text(run("cat", whole).stdout)
        same = self.folder / "same.twin"
        made = self.json("fork", whole, "--at", 120, "-o", same, "--from", f"ndjson:{text}")
        self.assertEqual(made["final_hash"], answer["final_hash"])
        self.assertTrue(self.json("diff", whole, same)["same"])

    def test_wrong_branches_are_refused(self):
        whole, _ = self.record(ticks=100)
        out = self.folder / "out.twin"
        self.refused("fork", whole, "--at", 101, "-o", out, code=2, mentions=["101"])
        self.refused("fork", whole, "--at", 50, "-o", out, "--ticks", 9, code=2)
        self.refused("fork", whole, "--at", 50, "-o", out, "--from", "bot:x", code=2)
        four = self.folder / "four.twin"
        self.json("record", "marine", "-o", four, "--slots", 4, "--ticks", 100)
        text = self.folder / "four.ndjson"
        text.write_text(run("cat", four).stdout)
        self.refused(
            "fork", whole, "--at", 5, "-o", out, "--from", f"ndjson:{text}", code=2, mentions=["4"]
        )
        self.assertEqual(list(self.folder.glob("out*")), [])


class DiffInputsTest(CommandTest):
    def test_every_field_that_differs_is_listed(self):
        whole, _ = self.record(ticks=200)
        flipped = self.flip_input(whole, 50)
        found = self.json("diff", whole, flipped, "--inputs", code=4)
        self.assertFalse(found["same"])
        self.assertEqual(found["ticks_compared"], "200")
        self.assertEqual(found["ticks_different"], "1")
        self.assertEqual(found["fields_different"], "1")
        (difference,) = found["inputs"]
        self.assertEqual(difference["tick"], "50")
        self.assertEqual(difference["field"], "slots[0].turn")
        self.assertEqual(abs(int(difference["left"]) - int(difference["right"])), 1)

    def test_lists_are_bounded_and_counts_are_exact(self):
        left, _ = self.record(ticks=300)
        right = self.folder / "right.twin"
        self.json("record", "marine", "-o", right, "--from", "bot:4", "--ticks", 250)
        found = self.json("diff", left, right, "--inputs", "--limit", 7, code=4)
        self.assertEqual(len(found["inputs"]), 7)
        self.assertEqual(found["ticks_compared"], "250")
        whole = self.json("diff", left, right, "--inputs", code=4)
        self.assertEqual(whole["fields_different"], found["fields_different"])
        self.assertEqual(str(len(whole["inputs"])), found["fields_different"])

    def test_a_part_is_compared_where_both_have_ticks(self):
        whole, _ = self.record(ticks=300)
        part = self.folder / "part.twin"
        self.json("trim", whole, "--from", 100, "--until", 200, "-o", part)
        found = self.json("diff", whole, part, "--inputs", code=4)
        self.assertEqual((found["ticks_compared"], found["ticks_different"]), ("100", "0"))
        packed = self.folder / "packed.twin"
        self.json("pack", whole, "-o", packed)
        self.assertTrue(self.json("diff", whole, packed, "--inputs")["same"])
        late = self.folder / "late.twin"
        self.json("trim", whole, "--from", 100, "-o", late)
        states = self.json("diff", whole, late, code=4)
        self.assertNotIn("tick", states)
        self.assertEqual((states["ticks_left"], states["ticks_right"]), ("300", "200"))


class CsvTest(CommandTest):
    def test_inputs_are_a_table(self):
        whole, _ = self.record(ticks=60, game="marine")
        done = run("cat", whole, "--format", "csv", binary=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout.decode()
        self.assertEqual(text.count("\r\n"), 61)
        self.assertNotIn("\n", text.replace("\r\n", ""))
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        self.assertEqual([row["tick"] for row in rows], [str(i) for i in range(60)])
        for row, line in zip(rows, run("cat", whole).stdout.splitlines()[1:]):
            fields = json.loads(line)["fields"][0]
            for name, value in fields.items():
                cell = row[f"slots[0].{name}"]
                self.assertEqual(
                    cell, str(value).lower() if isinstance(value, bool) else str(value)
                )
            self.assertEqual(row["slots[0]"], "present")

    def test_nothing_is_a_formula(self):
        whole, _ = self.record(ticks=20)
        for row in csv.reader(io.StringIO(run("cat", whole, "--format", "csv").stdout)):
            for cell in row:
                if cell[:1] in ("=", "+", "-", "@", "\t"):
                    self.assertTrue(cell.lstrip("-").isdigit(), cell)


class FaultyTest(CommandTest):
    def record_faulty(self, special, ticks=400, slots=3):
        """A session of bots in which some inputs are others: {(tick, slot): hexadecimal bytes}."""
        plain = self.folder / "plain.twin"
        plain.unlink(missing_ok=True)
        done = faulty("record", "faulty", "-o", plain, "--slots", slots, "--ticks", ticks)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = []
        for line in faulty("cat", plain, "--editable").stdout.splitlines():
            record = json.loads(line)
            for (tick, slot), data in special.items():
                if record.get("tick") == str(tick):
                    record["slots"][slot] = data
            lines.append(json.dumps(record))
        text = self.folder / "special.ndjson"
        text.write_text("\n".join(lines) + "\n")
        path = self.folder / "special.twin"
        path.unlink(missing_ok=True)
        done = faulty("record", "faulty", "-o", path, "--from", f"ndjson:{text}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return path


@unittest.skipIf(FAULTY is None, "needs the faulty game")
class BisectTest(FaultyTest):
    def bisected(self, *arguments, code=0, other=False):
        done = faulty("bisect", *arguments, "--json", other=other)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_a_forgotten_field_is_found_by_its_two_inputs(self):
        path = self.record_faulty({(31, 2): "640001", (333, 0): "110100"})
        out = self.folder / "out.twin"
        found = self.bisected(path, "-o", out, "--check", "fork:10")
        self.assertEqual(found["inputs_kept"], 2)
        self.assertTrue(found["minimal"])
        self.assertEqual(
            [(line["tick"], line["slot"], line["fields"]) for line in found["inputs"]],
            [("31", 2, {"forward": "100"}), ("333", 0, {"jump": "true"})],
        )
        self.assertEqual(found["divergence"]["tick"], "334")
        self.assertEqual(found["divergence"]["section"], "game")
        self.assertEqual(found["divergence"]["field"], "score")
        self.assertEqual(found["ticks"], "334")
        self.assertEqual(faulty("verify", out).returncode, 0)
        self.assertEqual(faulty("verify", out, "--fork-every", 10).returncode, 4)
        # The same search finds the same.
        again = self.folder / "again.twin"
        self.assertEqual(
            self.bisected(path, "-o", again, "--check", "fork:10")["runs"], found["runs"]
        )
        self.assertEqual(
            faulty("cat", again, "--format", "csv").stdout,
            faulty("cat", out, "--format", "csv").stdout,
        )

    def test_another_build_is_found_by_the_two_inputs_that_part_them(self):
        path = self.record_faulty({(31, 2): "000001", (333, 0): "000100", (350, 1): "000100"})
        program = self.folder / "other"
        program.write_text(f'#!/bin/sh\nTWINSTEP_TEST_FAULT=other exec "{FAULTY}" "$@"\n')
        program.chmod(0o755)
        out = self.folder / "out.twin"
        found = self.bisected(path, "-o", out, "--against", program)
        self.assertEqual(
            [(line["tick"], line["slot"], line["fields"]) for line in found["inputs"]],
            [("31", 2, {"duck": "true"}), ("333", 0, {"jump": "true"})],
        )
        self.assertEqual(found["divergence"]["tick"], "334")
        self.assertEqual(found["divergence"]["field"], "score")
        self.assertEqual(
            (found["divergence"]["expected"], found["divergence"]["actual"]), ("10000", "20000")
        )
        self.assertEqual(faulty("verify", out).returncode, 0)
        self.assertEqual(faulty("verify", out, other=True).returncode, 4)
        # The field, without a search.
        done = faulty("verify", path, "--bisect-build", program, "--json")
        self.assertEqual(done.returncode, 4, done.stderr)
        divergence = json.loads(done.stdout)["divergences"][0]
        for key in ("tick", "section", "field"):
            self.assertEqual(divergence[key], found["divergence"][key], key)
        self.assertEqual(int(divergence["actual"]) - int(divergence["expected"]), 10000)
        self.assertEqual(divergence["check"], "other build")
        self.assertIn(f"--bisect-build {program}", divergence["command"])
        self.assertEqual(faulty("verify", path, "--bisect-build", FAULTY).returncode, 0)
        self.assertEqual(faulty("verify", path, "--bisect-build", "/no/such").returncode, 2)
        self.assertEqual(faulty("verify", path, "--bisect-build", "/bin/false").returncode, 1)
        # Nothing parts a build from itself.
        self.bisected(path, "-o", self.folder / "no.twin", "--against", FAULTY, code=6)
        self.assertFalse((self.folder / "no.twin").exists())

    def test_limits_and_refusals(self):
        path = self.record_faulty({(31, 2): "640000", (333, 0): "000100"})
        out = self.folder / "out.twin"
        found = self.bisected(path, "-o", out, "--check", "roundtrip:10", "--max-runs", 3)
        self.assertFalse(found["minimal"])
        self.assertEqual(found["runs"], "3")
        self.assertGreater(found["inputs_kept"], 2)
        for options in (["--check", "fork"], ["--check", "fork:0"], ["--check", "luck"], []):
            done = faulty("bisect", path, "-o", self.folder / "x.twin", *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        clean = self.record_faulty({})
        self.bisected(clean, "-o", self.folder / "x.twin", "--check", "twice", code=6)
        missing = faulty("bisect", path, "-o", self.folder / "x.twin", "--against", "/no/such")
        self.assertEqual((missing.returncode, len(missing.stderr.splitlines())), (1, 1))
        self.assertEqual(list(self.folder.glob("x*")), [])


@unittest.skipIf(FAULTY is None, "needs the faulty game")
class RebaselineTest(FaultyTest):
    def old_recording(self, name="a.twin"):
        """A recording whose inputs matter to the build that is called other."""
        path = self.record_faulty({(31, 2): "000001", (333, 0): "000100"})
        return path.rename(self.folder / name)

    def rebaselined(self, path, *arguments, code=0, other=True):
        done = faulty("rebaseline", path, "--json", *arguments, other=other)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if done.stdout else None

    def test_a_changed_game_gets_new_hashes_and_keeps_the_old_file(self):
        path = self.old_recording()
        before = path.read_bytes()
        self.assertEqual(faulty("verify", path, other=True).returncode, 4)
        answer = self.rebaselined(path, "--reason", "jumps count double")
        (found,) = answer["recordings"]
        self.assertEqual((found["tick"], found["section"]), ("334", "game"))
        self.assertTrue(found["changed"])
        self.assertNotEqual(found["old_hash"], found["new_hash"])
        self.assertEqual(pathlib.Path(found["backup"]).read_bytes(), before)
        self.assertEqual(faulty("verify", path, other=True).returncode, 0)
        notes = json.loads(faulty("info", path, "--json").stdout)
        self.assertEqual(notes["chain"], found["new_chain"])
        manifest = notes["manifest"]
        self.assertEqual(manifest["record.rebaseline_reason"], "jumps count double")
        self.assertEqual(manifest["record.rebaseline_old_chain"], found["old_chain"])
        self.assertEqual(manifest["record.rebaseline_old_hash"], found["old_hash"])
        self.assertEqual(manifest["record.rebaseline_new_hash"], found["new_hash"])
        # Once more: nothing has changed, and nothing is touched.
        after = path.read_bytes()
        answer = self.rebaselined(path, "--reason", "jumps count double")
        self.assertFalse(answer["recordings"][0]["changed"])
        self.assertEqual(path.read_bytes(), after)
        # A second change does not write over what the first one kept.
        done = faulty("rebaseline", path, "--reason", "and back")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn(".old", done.stderr)
        self.assertEqual(path.read_bytes(), after)
        self.rebaselined(path, "--reason", "and back", "--no-backup", other=False)
        self.assertEqual(faulty("verify", path).returncode, 0)
        self.assertEqual(list(self.folder.glob("*.part")), [])

    def test_a_reason_is_needed(self):
        path = self.old_recording()
        for options in ([], ["--reason", ""], ["--reason", "  "]):
            done = faulty("rebaseline", path, *options, other=True)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))

    def test_the_format_corpus_is_left_alone(self):
        folder = self.folder / "golden"
        (folder / "deep").mkdir(parents=True)
        path = self.old_recording()
        for place in (folder / "a.twin", folder / "deep" / "b.twin"):
            place.write_bytes(path.read_bytes())
        (folder / "deep" / "FORMAT-CORPUS").write_text("Bytes are what is tested.\n")
        done = faulty("rebaseline", folder, "--reason", "why not", other=True)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (5, 1), done.stderr)
        self.assertIn("FORMAT-CORPUS", done.stderr)
        for place in (folder / "a.twin", folder / "deep" / "b.twin"):
            self.assertEqual(place.read_bytes(), path.read_bytes())
        marked = self.folder / "marked.ndjson"
        lines = faulty("cat", path, "--editable").stdout.splitlines()
        head = json.loads(lines[0])
        head["manifest"]["record.corpus"] = "format"
        marked.write_text("\n".join([json.dumps(head)] + lines[1:]) + "\n")
        corpus = self.folder / "corpus.twin"
        self.assertEqual(faulty("import", marked, "-o", corpus).returncode, 0)
        done = faulty("rebaseline", corpus, "--reason", "why not", other=True)
        self.assertEqual(done.returncode, 5)
        self.assertIn("record.corpus", done.stderr)
        # A part of it is another file, which may change.
        part = self.folder / "part.twin"
        self.assertEqual(faulty("trim", corpus, "-o", part).returncode, 0)
        self.rebaselined(part, "--reason", "why not")

    def test_other_inputs_and_other_games_are_refused(self):
        marine, _ = self.record(ticks=50)
        done = faulty("rebaseline", marine, "--reason", "x")
        self.assertEqual(done.returncode, 5)
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertEqual(faulty("rebaseline", empty, "--reason", "x").returncode, 6)


if __name__ == "__main__":
    unittest.main(verbosity=1)
