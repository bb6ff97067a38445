#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Matches between machines, most of them emulated: equal at every tick, or the wrong bit is named.

Usage: cross_match.py TWINSTEP NAME=COMMAND... [--judge NAME=COMMAND]... [--plant TICK]

TWINSTEP serves and plays as "native"; the other machines play too, the judges only verify.

1. All machines play one match. At every tick all recordings have the inputs and the hash of the
   server's, and every machine verifies all of them.
2. Two people's demos play against each other to their ends, as the README shows it. Every machine
   verifies the server's recording.
3. On each emulated machine in turn one bit of the state is flipped at tick TICK. The player and the
   server's log name tick and section, the bundles of evidence name the field on every machine, and
   the server's recording is still proven.
"""

import argparse
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

WADS = os.environ.get("TWINSTEP_WADS", "/usr/share/games/doom")
DEMOS = (f"wad:{WADS}/freedoom1.wad:DEMO2", f"wad:{WADS}/freedoom2.wad:DEMO1")
GAME = "marine"
TICKS = 350
# An emulated machine may be slow, and shares this one with whatever else runs.
PATIENCE_S = 300
# Windows sets up its folders with the first program, which takes longer than a handshake.
CONNECT_S = 60
BEGIN = time.monotonic()


def step(text):
    print(f"cross_match: {text} ({time.monotonic() - BEGIN:.0f} s)", flush=True)


def check(truth, text):
    if not truth:
        sys.exit(f"cross_match: {text}")


class Machine:
    """One twinstep command and what runs it."""

    def __init__(self, name, command):
        self.name = name
        self.command = shlex.split(command)

    def json(self, *arguments, code=0):
        done = subprocess.run(
            [*self.command, *map(str, arguments), "--json"],
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        check(
            done.returncode == code,
            f"{self.name}: {arguments} ended with {done.returncode}: {done.stderr.decode()}",
        )
        return json.loads(done.stdout)


class Match:
    """A server and its players, all of which are ended with the block."""

    def __init__(self, native, folder, *options):
        self.native = native
        self.folder = folder
        self.records = folder / "server"
        self.records.mkdir(parents=True)
        self.log_path = folder / "server.log"
        self.players = {}
        ready = folder / "ready.json"
        command = [*native.command, "serve", GAME, *map(str, options)]
        command += ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--json"]
        command += ["--record-dir", str(self.records), "--ready-file", str(ready)]
        with self.log_path.open("wb") as log:
            self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + 30
        while not ready.exists() and self.server.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if not ready.exists():
            self.__exit__()
            sys.exit(f"cross_match: the server did not start: {self.log_path.read_text()}")
        self.port = json.loads(ready.read_text())["listen"][0].rpartition(":")[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [self.server, *self.players.values()]:
            if process.poll() is None:
                process.kill()
            process.wait()

    def join(self, name, machine, *options):
        command = [*machine.command, "join", f"localhost:{self.port}", GAME, "--json"]
        command += ["--name", name, "--connect-seconds", str(CONNECT_S), *map(str, options)]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.players[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)

    def end_of(self, name, code=0):
        """What the player says at its end."""
        out, _ = self.players[name].communicate(timeout=PATIENCE_S)
        returned = self.players[name].returncode
        log = (self.folder / f"{name}.log").read_text()
        check(returned == code, f"{name} ended with {returned}, not {code}: {log}")
        answer = json.loads(out)
        print(f"cross_match:   {name}: {json.dumps(answer)}", flush=True)
        check(bool(answer["divergences"]) == (code == 4), f"{name}: {answer['divergences']}")
        return answer

    def end(self):
        """The server's recording. Without --exit-when-empty the server has to be told to end."""
        if self.server.poll() is None and "--exit-when-empty" not in self.server.args:
            self.server.send_signal(signal.SIGTERM)
        code = self.server.wait(PATIENCE_S)
        check(code == 0, f"the server ended with {code}: {self.log_path.read_text()}")
        played = [
            path
            for path in self.records.glob("*.twin")
            if self.native.json("info", path)["ticks"] != "0"
        ]
        check(len(played) == 1, f"the server recorded {len(played)} matches")
        return played[0]

    def desyncs(self):
        """The server's verdicts, as key and value."""
        lines = [line for line in self.log_path.read_text().splitlines() if " desync " in line]
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]


def rows_of(native, path):
    """Inputs and hashes of all ticks, without the checks, which hang on the session's id."""
    done = subprocess.run(
        [*native.command, "cat", str(path)], capture_output=True, check=True, timeout=PATIENCE_S
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    ticks = [row for row in rows if row["type"] == "tick"]
    for tick in ticks:
        del tick["check"]
        check(tick.get("hash"), f"{path}: tick {tick['tick']} has no hash")
    return ticks


def first_difference(expected, actual, count):
    """The first of `count` rows that is another one, or None."""
    check(min(len(expected), len(actual)) >= count, f"fewer than {count} ticks were recorded")
    for i in range(count):
        if expected[i] != actual[i]:
            return i
    return None


def check_played(rows, slots):
    for slot in range(slots):
        inputs = {row["slots"][slot] for row in rows}
        check(len(inputs) > 5, f"slot {slot} did next to nothing: {inputs}")


def verify_on(machines, paths, ticks):
    """Every machine finds the same: every recording proven, and no tick of them left out."""
    found = {}
    for machine in machines:
        answer = machine.json("verify", *paths)
        answer.pop("failures", None)
        found[machine.name] = answer
        check(answer["files"] == len(paths), f"{machine.name} verified other files: {answer}")
        check(answer["divergences"] == [], f"{machine.name}: {answer}")
        check(int(answer["ticks"]) >= ticks, f"{machine.name} stepped too little: {answer}")
        check(int(answer["hashes_checked"]) >= ticks, f"{machine.name} checked: {answer}")
        step(f"{machine.name} verified {len(paths)} recordings: {answer['hashes_checked']} hashes")
    check(len({json.dumps(answer) for answer in found.values()}) == 1, f"they differ: {found}")


def one_match(players, judges, folder):
    native = players[0]
    names = ", ".join(machine.name for machine in players)
    step(f"one match of {names}: {TICKS} ticks")
    options = ["--slots", len(players), "--players", len(players), "--seed", 7, "--policy", "wait"]
    sources = [["--bot", 5], ["--from", DEMOS[0]], ["--from", DEMOS[1]]]
    with Match(native, folder, *options, "--hash-interval", 1, "--exit-when-empty") as match:
        paths = {machine.name: folder / f"{machine.name}.twin" for machine in players}
        for i, machine in enumerate(players):
            source = sources[i % len(sources)]
            match.join(machine.name, machine, *source, "--ticks", TICKS, "-o", paths[machine.name])
        answers = [match.end_of(machine.name) for machine in players]
        recording = match.end()
        check(match.desyncs() == [], f"the server found a desync: {match.desyncs()}")
    check({a["ticks"] for a in answers} == {str(TICKS)}, "not all played all ticks")
    check(sorted(a["slot"] for a in answers) == list(range(len(players))), "not one slot each")
    check(len({a["final_hash"] for a in answers}) == 1, "the final hashes differ")
    check(all(a["recorded"] for a in answers), "not everybody recorded")
    expected = rows_of(native, recording)
    check_played(expected[:TICKS], len(players))
    for name, path in paths.items():
        at = first_difference(expected, rows_of(native, path), TICKS)
        check(at is None, f"{name} saw another match from tick {at} on")
    step(f"inputs and hashes of {TICKS} ticks equal in {1 + len(paths)} recordings")
    verify_on([*players, *judges], [recording, *paths.values()], TICKS * (1 + len(paths)))


def two_demos(players, judges, folder):
    native = players[0]
    step("two people's demos against each other, as in the README")
    with Match(native, folder) as match:
        for name, demo in zip(("left", "right"), DEMOS):
            match.join(name, native, "--from", demo)
        answers = [match.end_of(name) for name in ("left", "right")]
        recording = match.end()
        check(match.desyncs() == [], f"the server found a desync: {match.desyncs()}")
    ticks = [int(answer["ticks"]) for answer in answers]
    rows = rows_of(native, recording)
    check(min(ticks) > 1000 and len(rows) >= max(ticks), f"cut short: {ticks}, {len(rows)} ticks")
    check_played(rows[: min(ticks)], 2)
    for answer in answers:
        state = native.json("state", recording, "--at", answer["ticks"])
        check(state["hash"] == answer["final_hash"], f"not what the recording has: {answer}")
    step(f"{ticks[0]} and {ticks[1]} ticks played, {len(rows)} recorded")
    verify_on([*players, *judges], [recording], len(rows))


def planted_fault(players, judges, folder, wrong, tick):
    native = players[0]
    step(f"{wrong.name} with one bit flipped at tick {tick}")
    ticks = tick + 100
    evidence = folder / "evidence"
    evidence.mkdir(parents=True)
    options = ["--slots", len(players), "--players", len(players), "--policy", "wait"]
    options += ["--evidence-dir", evidence, "--exit-when-empty"]
    with Match(native, folder, *options) as match:
        for i, machine in enumerate(players):
            fault = ["--plant-fault", tick] if machine is wrong else []
            match.join(
                *(machine.name, machine, "--bot", 5 + i, "--ticks", ticks, *fault),
                *("--evidence-dir", evidence, "-o", folder / f"{machine.name}.twin"),
            )
        answers = {m.name: match.end_of(m.name, 4 if m is wrong else 0) for m in players}
        recording = match.end()
        verdicts = match.desyncs()
    found = answers[wrong.name]["divergences"]
    check(len(found) == 1 and found[0]["tick"] == str(tick), f"named was {found}")
    section = found[0]["section"]
    slot = str(answers[wrong.name]["slot"])
    check(len(verdicts) == 1, f"the server gave {len(verdicts)} verdicts")
    for key, value in {"tick": str(tick), "section": section, "slot": slot}.items():
        check(verdicts[0].get(key) == value, f"{key} is {value}; the server said {verdicts[0]}")
    step(f"the server: slot {slot}, tick {tick}, section {section}")

    bundles = sorted(evidence.iterdir())
    check(len(bundles) == 2, f"two sides have evidence, not {bundles}")
    said = [machine.json("diff", *bundles, code=4) for machine in [*players, *judges]]
    first = said[0]
    check(all(answer == first for answer in said), f"the machines read different bundles: {said}")
    check((first["tick"], first["section"]) == (str(tick), section), f"diff: {first}")
    flipped = int(first["left"]) ^ int(first["right"])
    check(first["field"] and flipped.bit_count() == 1, f"not one bit of one field: {first}")
    step(f"diff on {len(said)} machines: field {first['field']}, {first['left']}, {first['right']}")

    # The comparison of the first match can fail: here it finds the wrong state, and only that one.
    expected = rows_of(native, recording)
    for machine in players:
        rows = rows_of(native, folder / f"{machine.name}.twin")
        at = first_difference(expected, rows, ticks)
        # The row of a tick has the hash of the state before its step.
        wanted = tick if machine is wrong else None
        check(at == wanted, f"{machine.name}: first difference at {at}, not {wanted}")
    verify_on([*players, *judges], [recording], ticks)


def machine_of(text):
    name, equals, command = text.partition("=")
    if not equals or not name or not command:
        raise argparse.ArgumentTypeError("write NAME=COMMAND")
    return Machine(name, command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("twinstep")
    parser.add_argument("players", nargs="+", type=machine_of, metavar="NAME=COMMAND")
    parser.add_argument("--judge", action="append", default=[], type=machine_of)
    parser.add_argument("--plant", type=int, default=100, metavar="TICK")
    options = parser.parse_args()
    players = [Machine("native", shlex.quote(options.twinstep)), *options.players]
    judges = options.judge
    for machine in [*players, *judges]:
        check(machine.json("games")["games"], f"{machine.name} does not run")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_match(players, judges, folder / "match")
        two_demos(players, judges, folder / "demos")
        for wrong in options.players:
            planted_fault(players, judges, folder / wrong.name, wrong, options.plant)
    names = ", ".join(machine.name for machine in [*players, *judges])
    step(f"passed: {names}; {len(options.players)} planted faults named")


if __name__ == "__main__":
    main()
