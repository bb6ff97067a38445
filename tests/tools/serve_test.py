#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The server as a process: ready line, admin port, drain, recordings, systemd, Agones.

Usage: serve_test.py TWINSTEP HANGING_GAME [unittest options]
"""

import http.server
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import unittest

# The second argument, before support.py takes the first and unittest the rest.
HANGING = sys.argv.pop(2) if len(sys.argv) > 2 and not sys.argv[2].startswith("-") else None

from serve_support import ServeTest, wait_for  # noqa: E402
from support import run  # noqa: E402

METRIC = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')


class LifeTest(ServeTest):
    def test_the_ready_file_and_the_first_line_name_what_is_bound(self):
        with self.server("marine") as server:
            port = int(server.address.split(":")[1])
            self.assertTrue(0 < port < 65536)
            self.assertTrue(server.ready["admin"].startswith("127.0.0.1:"))
            self.assertEqual(server.ask("/readyz")[0], 200)
            server.signal()
            self.assertEqual(server.wait(), 0)
            lines = server.output()
            self.assertEqual(lines[0], server.ready)
            self.assertEqual(lines[1], {"matches": "1", "ticks": "0", "desyncs": "0"})

    def test_a_relay_needs_no_game_and_an_admin_port_only_if_wanted(self):
        with self.server(admin=False) as server:
            self.assertIsNone(server.ready["admin"])
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait(), 0)

    def test_a_port_that_is_taken_is_an_error_of_one_line(self):
        with self.server() as server:
            self.refused("serve", "--listen", server.address, code=1, mentions=[server.address])
            admin = server.ready["admin"]
            self.refused(
                *("serve", "--listen", "127.0.0.1:0", "--admin-listen", admin),
                code=1,
                mentions=[admin],
            )

    def test_two_bots_play_and_their_match_is_recorded_and_verified(self):
        with self.server("marine", "--record-dir", self.recordings, "--matches", 1) as server:
            players = [self.join(server, "--bot", seed, "--ticks", 70) for seed in (1, 2)]
            for result in map(self.result, players):
                self.assertEqual(result["divergences"], [])
                self.assertEqual(result["ticks"], "70")
            self.assertEqual(server.wait(), 0)
        (path,) = self.finished()
        self.assertRegex(path.name, r"^\d{8}T\d{6}Z-[0-9a-f]{32}\.twin$")
        verified = self.json("verify", path)
        self.assertEqual(verified["divergences"], [])
        self.assertGreaterEqual(int(verified["ticks"]), 70)
        self.assertEqual(self.json("info", path)["state"], "closed")

    def test_a_new_match_follows_one_that_has_ended(self):
        with self.server("marine") as server:
            first = wait_for(server.matches)[0]["id"]
            self.assertEqual(server.ask(f"/matches/{first}/end", "POST")[0], 202)
            wait_for(lambda: any(match["id"] != first for match in server.matches()))
            self.assertEqual(server.ask("/matches/1/end", "POST")[0], 404)

    def test_another_match_opens_when_none_has_room(self):
        with self.server("marine", "--max-matches", 2) as server:
            for seed in (1, 2):
                self.join(server, "--bot", seed)
            wait_for(lambda: [m["state"] for m in server.matches()] == ["running", "waiting"])
            self.assertEqual(server.metric('twinstep_matches{state="running"}'), 1)


class DrainTest(ServeTest):
    def test_a_running_match_is_ended_after_the_timeout_and_its_recording_closed(self):
        with self.server(
            *("marine", "--record-dir", self.recordings, "--drain-timeout", "500ms")
        ) as server:
            players = [self.join(server, "--bot", seed) for seed in (1, 2)]
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 10)
            self.assertEqual(server.ask("/drain", "POST")[0], 202)
            self.assertEqual(server.ask("/readyz")[0], 503)
            self.assertEqual(server.wait(), 0)
            self.assertEqual(len(server.events("draining")), 1)
        for player in players:
            player.communicate(timeout=20)
        (path,) = self.finished()
        self.assertEqual(self.json("info", path)["state"], "closed")
        self.assertEqual(self.json("verify", path)["divergences"], [])

    def test_a_draining_server_takes_nobody_new(self):
        with self.server("marine", "--drain-timeout", "30s") as server:
            players = [self.join(server, "--bot", seed) for seed in (1, 2)]
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 5)
            server.signal()
            wait_for(lambda: server.ask("/readyz")[0] == 503)
            late = self.join(server, "--spectate", "--connect-seconds", 2)
            _, error = late.communicate(timeout=30)
            self.assertEqual(late.returncode, 1)
            self.assertIn("takes nobody new", error.decode())
            self.assertGreater(server.metric("twinstep_drain_seconds_remaining"), 1)
            for player in players:
                player.terminate()
            self.assertEqual(server.wait(40), 0)

    def test_a_second_signal_ends_at_once_with_the_recordings_closed(self):
        with self.server("marine", "--record-dir", self.recordings) as server:
            for seed in (1, 2):
                self.join(server, "--bot", seed)
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 10)
            self.assertEqual(server.end_at_once(), 1)
        (path,) = self.finished()
        self.assertEqual(self.json("verify", path)["divergences"], [])

    def test_a_closing_terminal_drains_and_nohup_goes_on(self):
        with self.server(
            "marine", "--record-dir", self.recordings, "--drain-timeout", "500ms"
        ) as server:
            for seed in (1, 2):
                self.join(server, "--bot", seed)
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 10)
            server.signal(signal.SIGHUP)
            wait_for(lambda: server.events("draining"))
            server.signal(signal.SIGHUP)  # By the shell, too: no second wish.
            self.assertEqual(server.wait(), 0)
        (path,) = self.finished()
        self.assertEqual(self.json("info", path)["state"], "closed")
        ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # What nohup does.
        try:
            with self.server("marine") as server:
                server.signal(signal.SIGHUP)
                time.sleep(0.5)
                self.assertEqual(server.ask("/readyz")[0], 200)
                self.assertEqual(server.events("draining"), [])
                server.signal()
                self.assertEqual(server.wait(), 0)
        finally:
            signal.signal(signal.SIGHUP, ignored)


class AdminTest(ServeTest):
    def test_metrics_keep_the_text_format(self):
        with self.server("marine") as server:
            status, body = server.ask("/metrics")
        self.assertEqual(status, 200)
        families, samples = {}, set()
        for line in body.splitlines():
            if line.startswith("# HELP "):
                self.assertNotIn(line.split()[2], families, "a family has two headings")
                family = line.split()[2]
            elif line.startswith("# TYPE "):
                self.assertEqual(line.split()[2], family)
                families[family] = line.split()[3]
            else:
                self.assertRegex(line, METRIC.pattern + "$")
                name, value = line.rsplit(" ", 1)
                self.assertNotIn(name, samples)
                samples.add(name)
                base = re.sub(r"_(bucket|sum|count)$", "", name.split("{")[0])
                self.assertIn(family, (base, name.split("{")[0]))
                float(value)
        for family, kind in families.items():
            self.assertTrue(family.startswith(("twinstep_", "process_")), family)
            self.assertEqual(family.endswith("_total"), kind == "counter", family)
            if kind == "histogram":
                bounds = re.findall(rf'^{family}_bucket{{le="([^"]+)"}}', body, re.M)
                self.assertEqual(bounds[-1], "+Inf")
                self.assertEqual(sorted(bounds[:-1], key=float), bounds[:-1])
        for family in ("tick_lateness_seconds", "step_duration_seconds", "desyncs_total"):
            self.assertIn(f"twinstep_{family}", families)
        for family in ("twinstep_rtt_seconds", "twinstep_input_margin_seconds"):
            self.assertEqual(families[family], "histogram")

    def test_each_live_player_adds_to_the_line_histograms_once_a_second(self):
        with self.server("marine") as server:
            for seed in (1, 2):
                self.join(server, "--bot", seed)
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 10)
            start = time.monotonic()
            for name in ("rtt", "input_margin"):
                wait_for(lambda n=name: server.metric(f"twinstep_{n}_seconds_count") >= 4)
            taken = server.metric("twinstep_rtt_seconds_count")
            self.assertLessEqual(taken, 2 * (time.monotonic() - start + 2))
            self.assertGreater(server.metric("twinstep_rtt_seconds_sum"), 0)

    def test_wrong_requests_are_answered_and_pages_refused(self):
        with self.server() as server:
            self.assertEqual(server.ask("/")[0], 404)
            self.assertEqual(server.ask("/drain")[0], 405)
            self.assertEqual(server.ask("/metrics", "POST")[0], 405)
            self.assertEqual(server.ask("/matches/x/end", "POST")[0], 404)
            for header in ({"Origin": "http://example.org"}, {"Sec-Fetch-Site": "cross-site"}):
                self.assertEqual(server.ask("/drain", "POST", header)[0], 403)
            host, port = server.ready["admin"].rsplit(":", 1)
            for hostile, answer in (
                (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 413"),
                (b"POST /drain HTTP/1.1\r\nContent-Length: 5000\r\n\r\n", b"HTTP/1.1 413"),
                (b"\0\1\2\3\r\n\r\n", b""),
            ):
                with socket.create_connection((host, int(port)), timeout=10) as connection:
                    connection.sendall(hostile)
                    try:
                        self.assertTrue(connection.recv(100).startswith(answer))
                    except ConnectionResetError:
                        pass
            self.assertEqual(server.ask("/readyz")[0], 200)

    def test_silent_connections_are_closed_and_do_not_keep_others_out(self):
        with self.server() as server:
            host, port = server.ready["admin"].rsplit(":", 1)
            silent = [socket.create_connection((host, int(port))) for _ in range(32)]
            try:
                wait_for(lambda: not silent[0].recv(1), patience=20)
                self.assertEqual(server.ask("/healthz")[0], 200)
            finally:
                for connection in silent:
                    connection.close()

    def test_a_token_guards_everything_but_the_probes(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        with self.server("--admin-token-file", token) as server:
            self.assertEqual(server.ask("/healthz")[0], 200)
            for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": "0123456789abcdef"}):
                self.assertEqual(server.ask("/metrics", headers=wrong)[0], 401)
            right = {"Authorization": "Bearer 0123456789abcdef"}
            self.assertEqual(server.ask("/metrics", headers=right)[0], 200)
            self.assertNotIn("0123456789abcdef", server.log())


class RecordingTest(ServeTest):
    def test_a_killed_server_offers_its_match_again(self):
        arguments = ("marine", "--record-dir", self.recordings, "--seed", 5, "--resume")
        with self.server(*arguments) as server:
            for seed in (1, 2):
                self.join(server, "--bot", seed, "--name", f"player {seed}")
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 40)
            match = server.matches()[0]["id"]
            server.signal(signal.SIGKILL)
            server.wait()
        for player in self.players:
            player.kill()
        self.assertEqual(len(list(self.recordings.glob("*.twin.part"))), 1)
        with self.server(*arguments, "--matches", 1) as server:
            (again,) = server.matches()
            self.assertEqual(again["id"], match)
            resumed_at = int(again["next_tick"])
            self.assertGreaterEqual(resumed_at, 40)
            # Tickets died with the process: names bring the players back to their slots.
            until = resumed_at + 70
            players = [
                self.join(server, "--bot", seed, "--name", f"player {seed}", "--ticks", until)
                for seed in (1, 2)
            ]
            for result in map(self.result, players):
                self.assertEqual(result["divergences"], [])
            server.signal()
            self.assertEqual(server.wait(), 0)
        (path,) = self.finished()
        self.assertEqual(len(list(self.recordings.glob("*.twin.resumed"))), 1)
        verified = self.json("verify", path)
        self.assertEqual(verified["divergences"], [])
        self.assertGreater(int(verified["ticks"]), resumed_at + 60)

    def test_every_match_of_a_killed_server_goes_on_and_what_cannot_stays(self):
        arguments = ("marine", "--record-dir", self.recordings, "--slots", 1, "--max-matches", 3)
        with self.server(*arguments) as server:
            for count in (1, 2):
                self.join(server, "--bot", count)
                wait_for(
                    lambda: sum(int(match["next_tick"]) > 40 for match in server.matches()) == count
                    and len(server.matches()) == count + 1
                )
            played = {match["id"] for match in server.matches() if int(match["next_tick"]) > 40}
            server.signal(signal.SIGKILL)
            server.wait()
        for player in self.players:
            player.kill()
        foreign = self.recordings / "19990101T000000Z-0.twin.part"
        foreign.write_bytes(b"not a recording")
        # A match that nobody had begun yet left a file as well.
        arguments = (*arguments[:-1], 4, "--resume")
        with self.server(*arguments) as server:
            again = {match["id"] for match in server.matches() if int(match["next_tick"]) > 40}
            self.assertEqual(again, played)
            (event,) = server.events("match_not_resumed")
            self.assertIn(foreign.name, event)
        self.assertEqual(foreign.read_bytes(), b"not a recording")
        self.assertGreaterEqual(len(list(self.recordings.glob("*.twin.resumed"))), 2)

    def test_a_recording_stops_at_its_limit_and_the_match_goes_on(self):
        limits = ("--record-match-max", 65536, "--record-quota", "2M")
        with self.server("swarm", "--record-dir", self.recordings, *limits) as server:
            self.join(server, "--bot", 1, game="swarm")
            self.join(server, "--bot", 2, game="swarm")
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 5)
            (part,) = self.recordings.glob("*.part")
            # The rest of the limit is taken by ticks; at 20 Hz that takes its time, so only the
            # event's absence is shown here and the limit itself in the unit test of the file.
            self.assertEqual(server.events("recording_stopped"), [])
            self.assertLessEqual(part.stat().st_size, 65536)

    def test_a_full_directory_refuses_or_goes_on_as_the_setting_says(self):
        (self.recordings / "20200101T000000Z-old.twin").write_bytes(bytes(2 << 20))
        full = ("marine", "--record-dir", self.recordings, "--record-quota", "1M")
        full += ("--record-match-max", "1M")
        self.refused(
            *("serve", *full, "--record-required", "--listen", "127.0.0.1:0"),
            code=1,
            mentions=["record-quota", self.recordings],
        )
        with self.server(*full) as server:
            self.assertEqual(len(server.events("recording_not_started")), 1)
            self.assertEqual(server.metric("twinstep_recording_errors_total"), 1)
            for seed in (1, 2):
                self.join(server, "--bot", seed)
            wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 10)

    def test_one_server_at_a_time_records_into_a_directory(self):
        with self.server("marine", "--record-dir", self.recordings):
            self.refused(
                *("serve", "marine", "--record-dir", self.recordings, "--listen", "127.0.0.1:0"),
                code=1,
                mentions=[self.recordings, "another server"],
            )

    def test_hostile_names_reach_neither_file_names_nor_lines_of_the_log(self):
        names = ("../../x", "CON", "a\nevil level=error", "\x1b[31mred", "\u202egnp.exe", "n" * 300)
        outside = list(self.folder.parent.glob("x"))
        for name in names:
            with self.server("marine", "--record-dir", self.recordings) as server:
                player = self.join(server, "--bot", 1, "--name", name)
                self.join(server, "--bot", 2)
                try:
                    wait_for(lambda: server.metric("twinstep_ticks_closed_total") > 3, patience=5)
                except AssertionError:
                    # The client may refuse such a name itself.
                    self.assertIsNotNone(player.poll(), name)
                server.end_at_once()
                for line in server.log().splitlines():
                    self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warn|error) \w+")
                    self.assertNotRegex(line, "[\x00-\x1f\x7f\u202a-\u202e]")
        for path in self.recordings.iterdir():
            self.assertRegex(
                path.name, r"^\d{8}T\d{6}Z-[0-9a-f]{32}\.twin(\.part)?$|^\.twinstep-lock$"
            )
        self.assertEqual([p for p in self.folder.parent.glob("x") if p not in outside], [])
        self.assertEqual(list(self.folder.glob("x")), [])


class DesyncTest(ServeTest):
    def test_fail_on_desync_ends_with_four_and_leaves_evidence(self):
        evidence = self.folder / "evidence"
        evidence.mkdir()
        with self.server(
            *("marine", "--fail-on-desync", "--evidence-dir", evidence, "--hash-interval", 4)
        ) as server:
            self.join(server, "--bot", 1)
            self.join(server, "--bot", 2, "--plant-fault", 30)
            self.assertEqual(server.wait(), 4)
            (line,) = server.events("desync")[:1]
            self.assertIn("verdict=peer", line)
            self.assertEqual(server.output()[-1]["desyncs"], "1")
        self.assertEqual(len(list(evidence.iterdir())), 1)


class Sidecar(http.server.ThreadingHTTPServer):
    """Agones' REST interface as far as a game server sees it."""

    def __init__(self):
        self.calls = []
        self.state = "Scheduled"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, body):
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer({"status": {"state": outer.state}})

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.calls.append(self.path)
                outer.state = {
                    "/ready": "Ready",
                    "/allocate": "Allocated",
                    "/shutdown": "Shutdown",
                }.get(self.path, outer.state)
                self.answer({})

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class SupervisorTest(ServeTest):
    def setUp(self):
        super().setUp()
        if HANGING is None:
            self.skipTest("no program with the hanging game was given")

    def hang(self, server):
        """Two players of the hanging game: its step on the server never returns from tick 20 on."""
        for seed in (1, 2):
            self.join(server, "--bot", seed, game="hanging", program=HANGING)

    def test_agones_hears_of_health_before_readiness_and_of_the_end(self):
        with Sidecar() as sidecar:
            environment = {"AGONES_SDK_HTTP_PORT": str(sidecar.server_address[1])}
            with self.server("marine", environment=environment) as server:
                wait_for(lambda: "/ready" in sidecar.calls)
                self.assertLess(sidecar.calls.index("/health"), sidecar.calls.index("/ready"))
                self.assertNotIn("/allocate", sidecar.calls)
                for seed in (1, 2):
                    self.join(server, "--bot", seed)
                wait_for(lambda: "/allocate" in sidecar.calls)
                count = sidecar.calls.count("/health")
                wait_for(lambda: sidecar.calls.count("/health") > count)
                server.end_at_once()
            with self.server("marine", environment=environment) as server:
                wait_for(lambda: sidecar.state == "Ready")
                server.signal()
                self.assertEqual(server.wait(), 0)
            self.assertEqual(sidecar.calls[-1], "/shutdown")

    def test_health_ends_when_a_simulation_is_stuck(self):
        with Sidecar() as sidecar:
            environment = {
                "AGONES_SDK_HTTP_PORT": str(sidecar.server_address[1]),
                "TWINSTEP_TEST_HANG": "1",
            }
            with self.server("hanging", program=HANGING, environment=environment) as server:
                wait_for(lambda: sidecar.state == "Ready")
                self.hang(server)
                wait_for(lambda: server.ask("/healthz")[0] == 503)
                count = sidecar.calls.count("/health")
                time.sleep(4.5)
                self.assertEqual(sidecar.calls.count("/health"), count)
                # The network is not stuck: acknowledgements go on, and so do questions.
                before = server.metric("twinstep_ticks_closed_total")
                wait_for(lambda: server.metric("twinstep_ticks_closed_total") > before)
                self.assertEqual(server.end_at_once(), 1)

    def test_systemd_hears_ready_watchdog_and_stopping(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(str(path))
            listener.settimeout(20)
            environment = {
                "NOTIFY_SOCKET": str(path),
                "WATCHDOG_USEC": "400000",
                "TWINSTEP_TEST_HANG": "1",
            }
            with self.server("hanging", program=HANGING, environment=environment) as server:
                heard = [listener.recv(500).decode() for _ in range(4)]
                self.assertTrue(any(text.startswith("READY=1") for text in heard), heard)
                self.assertGreaterEqual(heard.count("WATCHDOG=1"), 2)
                self.hang(server)
                wait_for(lambda: server.ask("/healthz")[0] == 503)
                listener.settimeout(0.05)
                with self.assertRaises(TimeoutError):
                    while True:
                        listener.recv(500)
                listener.settimeout(1.5)
                with self.assertRaises(TimeoutError):
                    listener.recv(500)
                listener.settimeout(20)
                server.signal()
                self.assertTrue(listener.recv(500).decode().startswith("STOPPING=1"))
                server.signal()
                self.assertEqual(server.wait(10), 1)


if __name__ == "__main__":
    unittest.main()
