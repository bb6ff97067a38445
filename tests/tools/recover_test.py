#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings that are damaged, still being written, or named by the command.

Usage: recover_test.py TWINSTEP
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from support import TWINSTEP, CommandTest, run


def wait_for(condition, seconds=20):
    """Polls until the condition yields something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError("waited in vain")


class ProcessTest(CommandTest):
    def start(self, *arguments, text=False, stdout=subprocess.PIPE):
        process = subprocess.Popen(
            [TWINSTEP, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=text
        )

        def stop():
            process.kill()
            process.communicate()

        self.addCleanup(stop)
        return process

    def record_until_killed(self, path, size):
        """A recorder that has written so many bytes, to be killed."""
        writer = self.start("record", "marine", "-o", path, "--ticks", "100000000")
        wait_for(lambda: path.exists() and path.stat().st_size > size)
        return writer

    @staticmethod
    def kill(process):
        process.send_signal(signal.SIGKILL)
        process.wait()


class RecoverTest(ProcessTest):
    def damaged(self, source, name, change):
        data = bytearray(source.read_bytes())
        data = change(data) or data
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_a_whole_recording_is_copied_as_it_is(self):
        path, made = self.record(ticks=2000)
        out = self.folder / "out.twin"
        answer = self.json("recover", path, "-o", out, "--verify")
        self.assertEqual(out.read_bytes(), path.read_bytes())
        self.assertEqual(answer["kept_ticks"], "2000")
        self.assertEqual(answer["lost_bytes"], "0")
        self.assertEqual(answer["state"], "closed")
        self.assertEqual(answer["source_state"], "closed")
        self.assertEqual(answer["defects"], [])
        self.assertEqual(len(answer["parts"]), 1)
        self.assertGreater(int(answer["parts"][0]["hashes_checked"]), 2000)
        self.assertEqual(self.json("info", out)["chain"], made["chain"])

    def test_a_cut_recording_keeps_its_ticks_and_says_where_it_is_cut(self):
        path, _ = self.record(ticks=2000)
        cut = self.damaged(path, "cut.twin", lambda data: data[: len(data) - 3000])
        whole = int(self.json("check", cut, code=3)["ticks"])
        defect = self.json("check", cut, code=3)["defects"][0]
        self.assertEqual(defect["verdict"], f"truncated at tick {whole}")
        self.assertEqual(self.json("info", cut, code=3)["defects"], [defect])
        self.assertIn(f"truncated at tick {whole}", run("info", cut).stderr)
        out = self.folder / "out.twin"
        answer = self.json("recover", cut, "-o", out, "--verify", code=3)
        self.assertEqual(answer["kept_ticks"], str(whole))
        self.assertEqual(answer["state"], "open")
        self.assertEqual(answer["source_state"], "truncated")
        self.assertEqual(answer["defects"][0]["verdict"], f"truncated at tick {whole}")
        self.assertEqual(int(answer["lost_bytes"]), cut.stat().st_size - out.stat().st_size)
        self.assertTrue(cut.read_bytes().startswith(out.read_bytes()))
        self.assertEqual(self.json("verify", out, code=3)["ticks"], str(whole))

    def test_a_flipped_bit_names_the_chunk(self):
        path, _ = self.record(ticks=3000)

        def flip(data):
            data[len(data) // 2] ^= 4

        bad = self.damaged(path, "bad.twin", flip)
        defect = self.json("check", bad, code=3)["defects"][0]
        self.assertRegex(defect["verdict"], r"^corrupt chunk \d+$")
        self.assertEqual(defect["verdict"], f"corrupt chunk {defect['chunk']}")
        out = self.folder / "out.twin"
        answer = self.json("recover", bad, "-o", out, code=3)
        self.assertEqual(answer["kept_ticks"], defect["tick"])
        self.assertEqual(answer["source_state"], "damaged")

    def test_nothing_to_keep_is_a_failure_and_leaves_nothing_behind(self):
        path, _ = self.record(ticks=50)

        bad = self.damaged(path, "bad.twin", lambda data: data[: len(data) // 50])
        out = self.folder / "out.twin"
        self.assertNotEqual(run("recover", bad, "-o", out).returncode, 0)
        self.refused("recover", self.folder / "missing.twin", "-o", out, code=1)
        self.refused("recover", path, "-o", path, code=1, mentions=["exists"])
        self.assertFalse(out.exists())
        self.assertEqual(list(self.folder.glob("*.part")), [])

    def flip_middle(self, data):
        data[len(data) // 2] ^= 4

    def judge_late_part(self, path, answer):
        self.assertEqual(len(answer["parts"]), 2)
        late = answer["parts"][1]
        name = pathlib.Path(late["file"])
        self.assertEqual(name.name, f"out.from-{late['first_tick']}.twin")
        self.assertEqual(late["state"], "closed")
        self.assertEqual(self.json("verify", name)["ticks"], late["ticks"])
        manifest = self.json("info", name)["manifest"]
        self.assertEqual(manifest["record.first_tick"], late["first_tick"])
        source = self.json("info", path)
        self.assertTrue(manifest["record.recovered_from"].startswith(source["session"]))
        self.assertEqual(self.json("info", name)["final_hash"], source["final_hash"])
        # One chunk is lost, nothing else.
        self.assertGreaterEqual(int(answer["kept_ticks"]), 6000 - 600)

    def test_behind_damage_a_keyframe_starts_a_recording_of_its_own(self):
        path, _ = self.record(ticks=6000)
        keyed = self.folder / "keyed.twin"
        self.json("keyframes", "add", path, "--every", 600, "-o", keyed)
        bad = self.damaged(keyed, "bad.twin", self.flip_middle)
        out = self.folder / "out.twin"
        answer = self.json("recover", bad, "-o", out, "--verify", code=3)
        if answer["source_state"] == "damaged" and len(answer["parts"]) == 1:
            # The flip met a keyframe: nothing of the recording is lost.
            self.assertEqual(answer["kept_ticks"], "6000")
            return
        self.judge_late_part(path, answer)

    def test_a_keyframe_of_the_side_file_does_too(self):
        path, _ = self.record("a.twin", ticks=6000)
        self.json("keyframes", "add", path, "--every", 600)
        bad = self.damaged(path, "bad.twin", self.flip_middle)
        (self.folder / "bad.kf").write_bytes((self.folder / "a.kf").read_bytes())
        out = self.folder / "out.twin"
        self.judge_late_part(path, self.json("recover", bad, "-o", out, "--verify", code=3))

    def test_a_packed_recording_is_recovered_packed(self):
        path, _ = self.record(ticks=3000)
        packed = self.folder / "packed.twin"
        self.json("pack", path, "-o", packed)
        out = self.folder / "out.twin"
        answer = self.json("recover", packed, "-o", out, "--verify")
        self.assertEqual(out.read_bytes(), packed.read_bytes())
        self.assertEqual(answer["kept_ticks"], "3000")

    def test_what_a_killed_writer_left_in_its_journal_is_kept(self):
        path = self.folder / "killed.twin"
        self.kill(self.record_until_killed(path, 20_000))
        known = int(self.json("info", path, code=3)["ticks"])
        out = self.folder / "out.twin"
        answer = self.json("recover", path, "-o", out, code=3)
        self.assertEqual(answer["kept_ticks"], str(known))
        self.assertEqual(answer["lost_bytes"], "0")
        self.assertEqual(answer["source_state"], "open")
        for journal in self.folder.glob("*.journal"):
            journal.unlink()
        self.assertEqual(int(self.json("info", out, code=3)["ticks"]), known)


class FollowTest(ProcessTest):
    def test_a_recording_that_is_done_is_shown_as_cat_shows_it(self):
        path, _ = self.record(ticks=700)
        done = run("follow", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, run("cat", path).stdout)
        answer = self.json("follow", path, "--verify")
        self.assertEqual(answer["ticks"], "700")
        self.assertEqual(answer["end"], "closed")
        self.assertEqual(answer["divergences"], [])
        self.assertGreater(int(answer["hashes_checked"]), 700)
        self.assertEqual(self.json("follow", path, "--ticks", 10)["end"], "ticks")
        self.assertIn("700 ticks", run("follow", path, "--summary").stdout)

    def test_a_follower_sees_every_tick_while_they_come(self):
        path, _ = self.record(ticks=700)
        data = path.read_bytes()
        copy = self.folder / "grows.twin"
        with copy.open("wb", buffering=0) as out:
            out.write(data[:4000])
            follower = self.start("follow", copy, "--verify", text=True)
            first = json.loads(follower.stdout.readline())
            self.assertEqual(first["type"], "head")
            ticks = 0
            at = 4000
            while at < len(data):
                out.write(data[at : at + 997])
                at += 997
                time.sleep(0.01)
            for line in follower.stdout:
                record = json.loads(line)
                if record["type"] == "tick":
                    self.assertEqual(record["tick"], str(ticks))
                    ticks += 1
        self.assertEqual(ticks, 700)
        self.assertEqual(follower.wait(), 0, follower.stderr.read())

    def test_a_new_tick_is_shown_within_tens_of_milliseconds(self):
        path, _ = self.record(ticks=300)
        data = path.read_bytes()
        copy = self.folder / "grows.twin"
        with copy.open("wb", buffering=0) as out:
            out.write(data[:3000])
            follower = self.start("follow", copy)
            pipe = follower.stdout.fileno()
            os.set_blocking(pipe, False)
            shown = 0

            def lines():
                nonlocal shown
                try:
                    shown += os.read(pipe, 1 << 20).count(b"\n")
                except BlockingIOError:
                    pass
                return shown

            wait_for(lambda: lines() > 10)
            latencies = []
            for at in range(3000, 5000, 100):
                time.sleep(0.03)
                before = lines()
                start = time.monotonic()
                out.write(data[at : at + 100])
                wait_for(lambda: lines() > before)
                latencies.append(time.monotonic() - start)
        latencies.sort()
        # The best ones, because the machine may be busy with other things.
        self.assertLess(latencies[len(latencies) // 4], 0.1, latencies)

    def test_after_a_kill_the_follower_has_every_tick_and_says_that_it_is_not_whole(self):
        path = self.folder / "killed.twin"
        writer = self.record_until_killed(path, 4000)
        follower = self.start("follow", path, "--json", "--until-idle", "2", text=True)
        time.sleep(0.3)
        self.kill(writer)
        out, err = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 3, err)
        answer = json.loads(out)
        self.assertEqual(answer["end"], "idle")
        self.assertEqual(answer["ticks"], self.json("info", path, code=3)["ticks"])

    def test_a_divergence_ends_it_with_four(self):
        path, _ = self.record(ticks=200)
        flipped = self.flip_input(path, 50)
        answer = self.json("follow", flipped, "--verify", code=4)
        self.assertEqual(answer["end"], "divergence")
        self.assertEqual(answer["divergences"][0]["tick"], "51")

    def test_files_that_are_cut_or_replaced_are_called_so(self):
        path, _ = self.record(ticks=300)
        other, _ = self.record("other.twin", ticks=300)
        data = path.read_bytes()
        for what, change in (
            ("cut", lambda copy: os.truncate(copy, 2500)),
            ("another recording", lambda copy: os.replace(other, copy)),
        ):
            copy = self.folder / "grows.twin"
            copy.write_bytes(data[:5000])
            follower = self.start("follow", copy, "--summary", "--until-idle", "20", text=True)
            time.sleep(0.5)
            change(copy)
            _, err = follower.communicate(timeout=60)
            self.assertEqual(follower.returncode, 1, err)
            self.assertIn(what, err)
        self.refused("follow", self.folder / "missing.twin", code=1)


class NamesTest(CommandTest):
    pattern = re.compile(r"^\d{8}T\d{6}Z_[0-9a-f]{8}\.twin$")

    def test_without_a_name_a_recording_gets_its_time_and_session(self):
        folder = self.folder / "gr\u00fc\u00df\u65e5"
        folder.mkdir()
        answer = self.json("record", "marine", "--ticks", "20", "-o", folder)
        path = pathlib.Path(answer["file"])
        self.assertEqual(path.parent, folder)
        self.assertRegex(path.name, self.pattern)
        info = self.json("info", path)
        self.assertEqual(path.name[17:25], info["session"][:8])
        self.assertEqual(path.name[:16], info["manifest"]["record.created_utc"])
        done = subprocess.run(
            [TWINSTEP, "record", "marine", "--ticks", "20", "--json"],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        self.assertRegex(json.loads(done.stdout)["file"], self.pattern)
        self.refused("record", "marine", "-o", f"{self.folder}/no/", "--ticks", "1", code=1)

    def test_two_recorders_of_one_second_get_two_files(self):
        command = [TWINSTEP, "record", "marine", "--ticks", "200", "-o", f"{self.folder}/"]
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
        self.assertEqual([process.wait() for process in running], [0, 0, 0, 0])
        made = sorted(self.folder.glob("*.twin"))
        self.assertEqual(len(made), 4)
        for path in made:
            self.assertEqual(self.json("info", path)["ticks"], "200")


if __name__ == "__main__":
    unittest.main()
