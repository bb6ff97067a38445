#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers and players as processes: two people's demos against each other, and what may go wrong.

Usage: join_test.py TWINSTEP [unittest options]
"""

import json
import secrets
import signal
import subprocess
import time
import unittest

from serve_support import Server, wait_for
from support import TWINSTEP, WADS, CommandTest, run

PATIENCE = 90


class Player:
    """A `twinstep join` that is running."""

    def __init__(self, address, game, *arguments):
        self.process = subprocess.Popen(
            [TWINSTEP, "join", address, game, "--json", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def end(self):
        """Exit code, the JSON object or None, standard error."""
        try:
            out, error = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
        lines = out.decode().splitlines()
        return self.process.returncode, json.loads(lines[0]) if lines else None, error.decode()


class JoinTest(CommandTest):
    def serve(self, *arguments):
        return Server(self.folder, *arguments, "--record-dir", self.folder / "server", admin=False)

    def setUp(self):
        super().setUp()
        (self.folder / "server").mkdir()

    def won(self, player):
        code, answer, error = player.end()
        self.assertEqual(code, 0, error)
        return answer

    def recording(self, server):
        """The server's recording of the match that was played, once the server has ended."""
        self.assertEqual(server.process.wait(PATIENCE), 0, server.log())
        found = list((self.folder / "server").glob("**/*.twin"))
        played = [path for path in found if self.json("info", path)["ticks"] != "0"]
        self.assertEqual(len(played), 1, found)
        return played[0]

    def ticks_of(self, path, count):
        """Inputs and hashes of the first ticks, without the checks of the file."""
        rows = [json.loads(line) for line in run("cat", path).stdout.splitlines()]
        ticks = [row for row in rows if row["type"] == "tick"][:count]
        for tick in ticks:
            tick.pop("check", None)
        return ticks


class TwoPlayersTest(JoinTest):
    def test_two_demos_play_against_each_other(self):
        demos = [f"wad:{WADS / name}" for name in ("freedoom1.wad:DEMO2", "freedoom2.wad:DEMO1")]
        ticks = 280
        with self.serve("marine", "--exit-when-empty") as server:
            mine = self.folder / "mine.twin"
            left = Player(
                server.address, "marine", "--from", demos[0], "--ticks", ticks, "-o", mine
            )
            right = Player(server.address, "marine", "--from", demos[1], "--ticks", ticks)
            answers = [self.won(left), self.won(right)]
            recording = self.recording(server)
        self.assertEqual([a["ticks"] for a in answers], [str(ticks)] * 2)
        self.assertEqual(sorted(a["slot"] for a in answers), [0, 1])
        self.assertEqual(answers[0]["final_hash"], answers[1]["final_hash"])
        self.assertEqual([a["divergences"] for a in answers], [[], []])
        for answer in answers:
            self.assertGreaterEqual(answer["delay_ticks"], 1)
            self.assertLess(answer["rtt_ms"], 1000)
        verified = self.json("verify", recording)
        self.assertGreaterEqual(int(verified["hashes_checked"]), ticks)
        self.assertEqual(
            self.json("state", recording, "--at", ticks)["hash"], answers[0]["final_hash"]
        )
        self.assertEqual(self.ticks_of(recording, ticks), self.ticks_of(mine, ticks))
        # Somebody really played: both slots' inputs are those of people.
        for slot in (0, 1):
            inputs = {tick["slots"][slot] for tick in self.ticks_of(mine, ticks)}
            self.assertGreater(len(inputs), 5)

    def test_a_spectator_sees_the_same_match(self):
        with self.serve("marine", "--exit-when-empty", "--spectator-delay", "1s") as server:
            players = [
                Player(server.address, "marine", "--bot", seed, "--ticks", 250) for seed in (3, 4)
            ]
            watcher = Player(server.address, "marine", "--spectate", "--ticks", 150)
            seen = self.won(watcher)
            answers = [self.won(player) for player in players]
            recording = self.recording(server)
        self.assertIsNone(seen["slot"])
        self.assertEqual(answers[0]["final_hash"], answers[1]["final_hash"])
        self.assertEqual(self.json("state", recording, "--at", 150)["hash"], seen["final_hash"])

    def test_a_killed_player_comes_back_to_its_slot(self):
        ticket = self.folder / "ticket"
        with self.serve("marine", "--exit-when-empty") as server:
            stays = Player(server.address, "marine", "--bot", 1, "--ticks", 400)
            dies = Player(server.address, "marine", "--bot", 2, "--ticket-file", ticket)
            wait_for(ticket.exists)
            time.sleep(3)
            dies.process.kill()
            dies.process.communicate()
            time.sleep(1)
            back = Player(
                server.address,
                "marine",
                *("--bot", 2, "--ticket-file", ticket, "--ticks", 400),
            )
            answers = [self.won(stays), self.won(back)]
            recording = self.recording(server)
        self.assertEqual(sorted(a["slot"] for a in answers), [0, 1])
        self.assertEqual(answers[0]["final_hash"], answers[1]["final_hash"])
        self.json("verify", recording)


class SignalTest(JoinTest):
    def test_a_signal_of_the_terminal_is_a_goodbye(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Server(self.folder, "marine", "--exit-when-empty") as server:
                stays = Player(server.address, "marine", "--bot", 1, "--ticks", 150)
                leaves = Player(server.address, "marine", "--bot", 2)
                wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 20)
                leaves.process.send_signal(number)
                answer = self.won(leaves)
                self.assertEqual(answer["closed"], "leaving", number)
                self.assertEqual(self.won(stays)["divergences"], [])


class DesyncTest(JoinTest):
    def test_one_wrong_bit_is_named_with_tick_section_and_field(self):
        evidence = self.folder / "evidence"
        evidence.mkdir()
        with self.serve("marine", "--exit-when-empty", "--evidence-dir", evidence) as server:
            honest = Player(server.address, "marine", "--bot", 1, "--ticks", 250)
            wrong = Player(
                server.address,
                "marine",
                *("--bot", 2, "--ticks", 250, "--plant-fault", 100, "--evidence-dir", evidence),
            )
            code, answer, error = wrong.end()
            self.assertEqual(code, 4, error)
            self.assertEqual(self.won(honest)["divergences"], [])
            wait_for(lambda: len(list(evidence.iterdir())) == 2)
            recording = self.recording(server)
        found = answer["divergences"][0]
        self.assertEqual(found["tick"], "100")
        self.assertNotEqual(found["section"], "")
        self.assertIn("tick 100", error)
        # The verdict carries no hash: the player knows what it has, and says nothing of the other.
        self.assertNotIn("expected", found)
        self.assertRegex(found["actual"], "^[0-9a-f]{8}$")
        self.assertRegex(error, f"tick 100, section {found['section']}: actual {found['actual']}\n")
        self.assertNotIn("expected", error)
        sides = sorted(evidence.iterdir())
        difference = self.json("diff", *sides, code=4)
        self.assertEqual((difference["tick"], difference["section"]), ("100", found["section"]))
        self.assertNotEqual(difference["field"], "")
        self.assertEqual(int(difference["left"]) ^ int(difference["right"]), 1, difference)
        # The recording is the judge, and it goes on.
        self.assertEqual(self.json("verify", recording)["divergences"], [])


class RefusedTest(JoinTest):
    def test_another_build_is_told_what_differs(self):
        with self.serve("marine") as server:
            error = self.refused(
                *("join", server.address, "swarm", "--bot", 1),
                code=5,
                mentions=["sim.id", "marine", "swarm"],
            )
        self.assertIn(server.address, error)

    def test_a_wrong_key_is_refused(self):
        right, wrong = self.folder / "right.key", self.folder / "wrong.key"
        for path in (right, wrong):
            path.write_text(secrets.token_hex(32) + "\n")
        with self.serve("marine", "--room-key-file", right, "--players", 1) as server:
            self.refused(
                *("join", server.address, "marine", "--key-file", wrong),
                *("--connect-seconds", 3),
                code=1,
                mentions=[server.address],
            )
            player = Player(server.address, "marine", "--key-file", right, "--ticks", 30)
            self.assertEqual(self.won(player)["ticks"], "30")

    def test_nobody_there_is_said_in_one_line(self):
        self.refused(
            *("join", "127.0.0.1:9", "marine", "--connect-seconds", 1),
            code=1,
            mentions=["127.0.0.1:9"],
        )

    def test_plain_connections_stay_on_this_machine(self):
        self.refused("join", "192.0.2.1:7777", "marine", code=2, mentions=["--key-file"])

    def test_bad_options_name_what_is_wrong(self):
        self.refused("join", "localhost", code=2)
        self.refused("join", "localhost", "chess", code=2, mentions=["chess", "marine"])
        self.refused(
            *("join", "localhost", "marine", "--bot", 1, "--spectate"), code=2, mentions=["--bot"]
        )
        self.refused("join", "localhost:99999", "marine", code=2, mentions=["99999"])
        self.refused(
            *("join", "localhost", "marine", "--from", "wad:/none.wad:DEMO1"),
            code=1,
            mentions=["/none.wad"],
        )
        key = self.folder / "short.key"
        key.write_text("abc\n")
        self.refused("join", "localhost", "marine", "--key-file", key, code=1, mentions=[key])


if __name__ == "__main__":
    unittest.main()
