#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each check of verify finds the faults that it claims, and nothing in games without faults.

Usage: checks_test.py TWINSTEP PLANTED_GAME [unittest options]
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest
import unittest.mock

PLANTED = sys.argv.pop(2)

from support import CommandTest, run  # noqa: E402

RECORDINGS = pathlib.Path(__file__).parents[2] / "recordings"
SANITIZED = "TWINSTEP_SANITIZED" in os.environ


def planted(*arguments):
    return subprocess.run(
        [PLANTED, *map(str, arguments)], capture_output=True, check=False, text=True, timeout=120
    )


class PlantedTest(CommandTest):
    def record(self, plant):
        config = self.folder / f"{plant}.conf"
        config.write_text(f"plant = {plant}\n")
        path = self.folder / f"{plant}.twin"
        path.unlink(missing_ok=True)
        done = planted("record", "planted", "-o", path, "--ticks", 120, "--config", config)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def found(self, plant, check, *options, field="fault"):
        path = self.record(plant)
        done = planted("verify", path, *options, "--json")
        self.assertEqual(done.returncode, 4, f"{plant}: {done.stdout}{done.stderr}")
        divergence = json.loads(done.stdout)["divergences"][0]
        self.assertEqual(
            (divergence["check"], divergence["tick"], divergence["section"]),
            (check, "50", "faults"),
            plant,
        )
        self.assertEqual(divergence["field"], field, plant)
        program, *again = shlex.split(divergence["command"])
        self.assertEqual(program, pathlib.Path(PLANTED).name)
        done = planted(*again)
        self.assertEqual(done.returncode, 4, divergence["command"])
        self.assertIn(f"{check}: tick 50", done.stdout)

    def clean(self, plant, *options):
        done = planted("verify", self.record(plant), *options)
        self.assertEqual(done.returncode, 0, f"{plant}: {done.stdout}{done.stderr}")

    def test_rollback_finds_what_load_does_not_take_back(self):
        self.found("unsaved", "rollback", "--rollback-every", "1:9", "--seed", 4)
        self.found("static", "rollback", "--rollback-every", "1:9", "--seed", 4)
        self.clean("static")
        self.clean("unsaved")

    def test_a_nan_is_no_divergence_and_is_said(self):
        path = self.record("nan")
        done = planted("verify", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        remarks = json.loads(done.stdout)["remarks"][0]["remarks"]
        self.assertEqual(remarks, [f"{path}: NaN from tick 50 on: section faults, field ratio"])

    def test_a_fork_finds_what_serialize_leaves_out(self):
        self.found("unsaved", "fork", "--fork-every", 7)

    def test_workers_find_a_state_that_depends_on_their_number(self):
        self.found("workers", "2 workers", "--workers-each", 3)
        self.clean("workers")

    @unittest.skipIf(SANITIZED, "a sanitizer's heap is its own")
    def test_poison_finds_reads_of_what_nobody_wrote(self):
        self.found("heap", "poison", "--poison")
        self.found("stack", "poison", "--poison")

    @unittest.skipIf(SANITIZED, "a sanitizer's heap is its own")
    def test_shuffle_finds_the_order_of_addresses(self):
        for seed in (1, 2, 3):
            self.found("pointers", "shuffle", "--shuffle", "--seed", seed)
            self.found("iteration", "shuffle", "--shuffle", "--seed", seed)

    @unittest.skipUnless(shutil.which("localedef"), "makes a locale")
    def test_another_locale_finds_numbers_that_are_read_by_it(self):
        made = subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", self.folder / "de_DE.UTF-8"],
            capture_output=True,
            check=False,
        )
        if not (self.folder / "de_DE.UTF-8").exists():
            self.skipTest(f"no locale can be made: {made.stderr}")
        # The C library keeps a copy of LOCPATH for ever, which is none of our leaks.
        leaks = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        with unittest.mock.patch.dict(os.environ, LOCPATH=str(self.folder), ASAN_OPTIONS=leaks):
            self.found("locale", "perturb", "--perturb")
        self.clean("locale")

    def test_another_process_has_another_time_zone(self):
        path = self.record("zone")
        self.assertEqual(planted("verify", path).returncode, 0)
        done = planted("verify", path, "--fresh", "--json")
        self.assertEqual(done.returncode, 4)
        divergence = json.loads(done.stdout)["divergences"][0]
        self.assertEqual(
            (divergence["check"], divergence["tick"], divergence["section"]),
            ("fresh process", "50", "faults"),
        )
        self.assertIn("--fresh", divergence["command"])

    def test_another_run_finds_what_is_not_of_the_game(self):
        path = self.record("clock")
        done = planted("verify", path, "--json")
        self.assertEqual(done.returncode, 4)
        divergence = json.loads(done.stdout)["divergences"][0]
        self.assertEqual(
            (divergence["check"], divergence["tick"], divergence["section"]),
            ("recorded hash", "50", "faults"),
        )
        # In one run with a second simulation beside it the field is known too.
        self.found("clock", "fork", "--fork-every", 1)

    def test_a_second_pass_finds_what_the_first_left_in_the_process(self):
        path = self.record("static")
        self.assertEqual(planted("verify", path).returncode, 0)
        self.assertEqual(planted("verify", path, "--fresh").returncode, 0)
        done = planted("verify", path, "--twice")
        self.assertEqual(done.returncode, 4)
        self.assertIn("tick 50", done.stdout)


class CleanTest(CommandTest):
    def test_the_reference_games_pass_every_check(self):
        for game, ticks in (("marine", 700), ("pile", 130), ("swarm", 110)):
            path = self.folder / f"{game}.twin"
            self.json("record", game, "-o", path, "--ticks", ticks)
            report = self.json("verify", path, "--checks", "all", "--seed", 5)
            self.assertEqual(report["divergences"], [])
            self.assertGreater(int(report["hashes_checked"]), 100)

    def test_wrong_options_are_refused(self):
        path = RECORDINGS / "marine" / "bots-one.twin"
        for options in (
            ("--rollback-every", "0"),
            ("--rollback-every", "5:"),
            ("--rollback-every", "5:0"),
            ("--rollback-every", "5:1001"),
            ("--rollback-every", "-1"),
            ("--workers-each", "1"),
            ("--workers-each", "65"),
            ("--checks", "none"),
            ("--rollback-every", "5", "--segments"),
            ("--poison", "--segments"),
        ):
            self.assertEqual(run("verify", path, *options).returncode, 2, options)


if __name__ == "__main__":
    unittest.main()
