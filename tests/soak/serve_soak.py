#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server and its players over real loopback sockets, for as long as wanted.

Players come, leave, are killed and come back with their tickets; spectators watch; the admin port
is asked all the time. At the end the server drains. Fails on a desync, on a process that ends
otherwise than it should, on a report of a sanitizer, on a recording that does not verify, on
growing memory.

Usage: serve_soak.py TWINSTEP [--seconds N] [--seed N] [--game ID]
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

SANITIZER = re.compile(r"Sanitizer|runtime error:|panic|assertion", re.I)


class Soak:
    def __init__(self, options, folder):
        self.program = options.twinstep
        self.game = options.game
        self.random = random.Random(options.seed)
        self.folder = folder
        self.count = 0
        self.players = {}  # process -> (log path, killed, ticket path)
        self.tickets = []
        self.problems = []
        self.finished = 0
        self.answers = 0

    def start_server(self):
        self.recordings = self.folder / "recordings"
        self.recordings.mkdir()
        ready = self.folder / "ready.json"
        self.server_log = (self.folder / "server.log").open("wb")
        self.server = subprocess.Popen(
            [self.program, "serve", self.game, "--slots", "4", "--players", "2"]
            + ["--max-matches", "2", "--rejoin-window", "5s", "--spectator-delay", "1s"]
            + ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--workers", "2"]
            + ["--record-dir", self.recordings, "--ready-file", ready, "--drain-timeout", "3s"]
            + ["--hash-interval", "4", "--json"],
            stdout=subprocess.PIPE,
            stderr=self.server_log,
        )
        end = time.monotonic() + 60
        while not ready.exists():
            if self.server.poll() is not None or time.monotonic() > end:
                sys.exit("the server did not start: " + self.log("server.log"))
            time.sleep(0.05)
        answer = json.loads(ready.read_text())
        self.address, self.admin = answer["listen"][0], answer["admin"]

    def log(self, name):
        return (self.folder / name).read_text(errors="replace")

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=20) as answer:
            self.answers += 1
            return answer.read().decode()

    def metric(self, name):
        return float(re.search(rf"^{name} (\S+)$", self.ask("/metrics"), re.M).group(1))

    def start_player(self):
        self.count += 1
        log = self.folder / f"player-{self.count}.log"
        command = [self.program, "join", self.address, self.game, "--connect-seconds", "30"]
        ticket = None
        if self.random.random() < 0.2:
            command += ["--spectate"]
        else:
            again = self.tickets and self.random.random() < 0.7
            ticket = self.tickets.pop() if again else self.folder / f"ticket-{self.count}"
            command += ["--bot", str(self.count), "--ticket-file", str(ticket)]
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        self.players[process] = [log, False, ticket]

    def stop_player(self, process):
        state = self.players[process]
        if self.random.random() < 0.5:
            process.send_signal(signal.SIGINT)
        else:
            process.kill()
            state[1] = True

    def reap(self):
        for process in [p for p in self.players if p.poll() is not None]:
            log, killed, ticket = self.players.pop(process)
            self.finished += 1
            text = log.read_text(errors="replace")
            bad_end = not killed and process.returncode not in (0, 1, 6)
            if bad_end or SANITIZER.search(text) or "desync" in text:
                self.problems.append(f"{log.name}: exit {process.returncode}: {text[-3000:]}")
            if killed and ticket and ticket.exists():
                self.tickets.append(ticket)
            elif not killed:
                log.unlink()

    def run(self, seconds):
        self.start_server()
        end = time.monotonic() + seconds
        memory = None
        while time.monotonic() < end and not self.problems and self.server.poll() is None:
            if len(self.players) < 5:
                self.start_player()
            elif self.random.random() < 0.15:
                self.stop_player(self.random.choice(list(self.players)))
            self.ask(self.random.choice(["/metrics", "/matches", "/healthz", "/readyz"]))
            self.reap()
            time.sleep(self.random.uniform(0.05, 0.5))
            if memory is None and time.monotonic() > end - seconds * 0.75:
                memory = self.metric("process_resident_memory_bytes")
        self.finish(memory)

    def finish(self, memory):
        if self.server.poll() is None:
            ticks = int(self.metric("twinstep_ticks_closed_total"))
            grown = self.metric("process_resident_memory_bytes") / (memory or 1)
            if memory and grown > 2.0:
                self.problems.append(f"the server's memory grew to {grown:.1f} times")
            self.server.send_signal(signal.SIGTERM)
        else:
            ticks = 0
        try:
            code = self.server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.server.kill()
            code = "none: it did not drain"
        end = time.monotonic() + 60
        while self.players and time.monotonic() < end:
            self.reap()
            time.sleep(0.1)
        for process in self.players:
            process.kill()
            self.problems.append(f"{self.players[process][0].name}: did not end with the server")
        self.server.stdout.close()
        self.server_log.close()
        text = self.log("server.log")
        if code != 0 or SANITIZER.search(text) or re.search(r"Z error ", text):
            self.problems.append(f"server: exit {code}: {text[-5000:]}")
        if ticks < 20:
            self.problems.append(f"only {ticks} ticks were closed: nothing was tried")
        self.verify()
        print(
            f"soak: {ticks} ticks, {self.finished} connections, {self.answers} admin answers, "
            f"{len(list(self.recordings.glob('*.twin')))} recordings verified"
        )

    def verify(self):
        done = subprocess.run(
            [self.program, "verify", self.recordings, "--json"], capture_output=True, check=False
        )
        # 6: nothing was checked, of recordings without a tick alone.
        if done.returncode not in (0, 6) or b'"divergences":[]' not in done.stdout:
            self.problems.append("verify: " + done.stdout.decode() + done.stderr.decode())
        if list(self.recordings.glob("*.part")):
            self.problems.append("a recording was left unfinished")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("twinstep", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--seconds", type=float, default=20)
    seed = int(os.environ.get("TWINSTEP_TEST_SEED", time.time_ns() % 1_000_000))
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--game", default="marine")
    options = parser.parse_args()
    print(f"soak: --seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(options, pathlib.Path(folder))
        soak.run(options.seconds)
    for problem in soak.problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if soak.problems else 0)


if __name__ == "__main__":
    main()
