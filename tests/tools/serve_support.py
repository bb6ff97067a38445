# SPDX-License-Identifier: MIT
"""A running `twinstep serve` for tests: started on free ports, asked over HTTP, always ended."""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.request

from support import TWINSTEP, CommandTest

# Sanitizers make everything slower; nothing here measures time, but all of it waits.
PATIENCE = 60 if os.environ.get("TWINSTEP_SANITIZED") else 20


def wait_for(what, patience=PATIENCE):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + patience
    while True:
        answer = what()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s in vain for {what}")
        time.sleep(0.02)


class Server:
    """A server process. Its log is collected in a file, so that it never blocks."""

    def __init__(self, folder, *arguments, program=TWINSTEP, environment=None, admin=True):
        self.folder = pathlib.Path(folder)
        self.ready_file = self.folder / f"ready-{time.monotonic_ns()}.json"
        self.log_path = self.ready_file.with_suffix(".log")
        self.log_file = self.log_path.open("wb")
        command = [program, "serve", *map(str, arguments), "--listen", "127.0.0.1:0"]
        command += ["--admin-listen", "127.0.0.1:0"] if admin else []
        command += ["--ready-file", str(self.ready_file), "--json"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.log_file,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self):
        try:
            wait_for(lambda: self.ready_file.exists() or self.process.poll() is not None)
            if not self.ready_file.exists():
                raise AssertionError(f"the server ended: {self.log()}")
        except BaseException:
            self.__exit__()
            raise
        self.ready = json.loads(self.ready_file.read_text())
        self.address = self.ready["listen"][0]
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log_file.close()

    def log(self):
        return self.log_path.read_text()

    def events(self, name):
        """The log's lines of one event."""
        return [line for line in self.log().splitlines() if f" {name}" in line]

    def ask(self, path, method="GET", headers=None):
        """Status and body."""
        request = urllib.request.Request(
            f"http://{self.ready['admin']}{path}", method=method, headers=headers or {}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def matches(self):
        return json.loads(self.ask("/matches")[1])["matches"]

    def metric(self, name):
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name}")

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end_at_once(self):
        """Two signals; the second only when the first was seen, for the system may merge them."""
        self.signal()
        wait_for(lambda: self.events("draining") or self.process.poll() is not None)
        self.signal()
        return self.wait()

    def wait(self, patience=PATIENCE):
        return self.process.wait(timeout=patience)

    def output(self):
        """The lines of standard output, once the process has ended."""
        return [json.loads(line) for line in self.process.stdout.read().splitlines()]


class ServeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.players = []
        self.recordings = self.folder / "recordings"
        self.recordings.mkdir()

    def tearDown(self):
        for player in self.players:
            if player.poll() is None:
                player.kill()
            player.wait()
            player.stdout.close()
            player.stderr.close()
        super().tearDown()

    def server(self, *arguments, **named):
        return Server(self.folder, *arguments, **named)

    def join(self, server, *arguments, game="marine", program=TWINSTEP):
        player = subprocess.Popen(
            [program, "join", server.address, game, "--json", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.players.append(player)
        return player

    def result(self, player, code=0, patience=PATIENCE):
        out, err = player.communicate(timeout=patience)
        self.assertEqual(player.returncode, code, err.decode())
        return json.loads(out)

    def finished(self):
        return sorted(self.recordings.glob("*.twin"))
