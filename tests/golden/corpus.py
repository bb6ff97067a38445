#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verifies the golden corpus, or makes it anew.

corpus.py check TWINSTEP RECORDINGS   every recording must verify and end as its .json says;
                                      every one under must-fail/ must fail as its .json says
corpus.py make TWINSTEP RECORDINGS    records everything again and prints what changed

A check that checked nothing fails: the corpus must have at least four recordings a game, and one
that is required to fail.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

WADS = os.environ.get("TWINSTEP_WADS", "/usr/share/games/doom")

# name: (game, options of record)
CORPUS = {
    "marine/person-freedoom1-demo2": [
        "--from",
        f"wad:{WADS}/freedoom1.wad:DEMO2",
        "--ticks",
        "2000",
    ],
    "marine/person-freedoom1-demo4": [
        "--from",
        f"wad:{WADS}/freedoom1.wad:DEMO4",
        "--ticks",
        "2000",
    ],
    "marine/person-freedoom2-demo1": [
        "--from",
        f"wad:{WADS}/freedoom2.wad:DEMO1",
        "--ticks",
        "2000",
    ],
    "marine/person-freedoom2-demo3": [
        "--from",
        f"wad:{WADS}/freedoom2.wad:DEMO3",
        "--ticks",
        "2000",
    ],
    "marine/bots-one": ["--from", "bot:1", "--seed", "11", "--ticks", "1400"],
    "marine/bots-four": ["--from", "bot:4", "--seed", "44", "--slots", "4", "--ticks", "900"],
    "swarm/bots-two": ["--from", "bot:2", "--seed", "2", "--slots", "2", "--ticks", "400"],
    "swarm/bots-two-other-seed": [
        "--from",
        "bot:9",
        "--seed",
        "77",
        "--slots",
        "2",
        "--ticks",
        "400",
    ],
    "swarm/bots-four": ["--from", "bot:5", "--seed", "5", "--slots", "4", "--ticks", "300"],
    "swarm/bots-eight": ["--from", "bot:8", "--seed", "8", "--slots", "8", "--ticks", "300"],
    "pile/bot-one": ["--from", "bot:1", "--seed", "1", "--ticks", "900"],
    "pile/bot-two": ["--from", "bot:2", "--seed", "2", "--ticks", "900"],
    "pile/bot-long": ["--from", "bot:3", "--seed", "3", "--ticks", "2000"],
    "pile/bot-calm": ["--from", "bot:4", "--seed", "4", "--ticks", "600"],
}
# Made from a recording by flipping one input bit, so that its own hashes convict it.
MUST_FAIL = {"must-fail/marine-flipped-input": ("marine/bots-one", 100)}
BYTES_MAX = 64 * 1024


def run(twinstep, *arguments):
    """Runs a verb with --json: (exit code, object, standard error)."""
    done = subprocess.run(
        [twinstep, *arguments, "--json"], capture_output=True, text=True, check=False
    )
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = {}
    return done.returncode, answer, done.stderr.strip()


def require(condition, text):
    if not condition:
        sys.exit(f"corpus: {text}")


def check_good(twinstep, file):
    expected = json.loads(file.with_suffix(".json").read_text())
    code, played, errors = run(twinstep, "play", str(file))
    require(code == 0, f"{file}: play ended with {code}: {errors}")
    for key in ("ticks", "final_hash"):
        require(
            played[key] == expected[key], f"{file}: {key} is {played[key]}, not {expected[key]}"
        )
    code, verified, errors = run(twinstep, "verify", str(file))
    require(code == 0, f"{file}: verify ended with {code}: {errors}")
    require(
        int(verified["hashes_checked"]) >= int(expected["ticks"]), f"{file}: too few hashes checked"
    )
    return int(verified["hashes_checked"])


def check_bad(twinstep, file):
    expected = json.loads(file.with_suffix(".json").read_text())
    code, verified, _ = run(twinstep, "verify", str(file))
    require(code == expected["exit"], f"{file}: verify ended with {code}, not {expected['exit']}")
    found = verified["divergences"][0]
    for key in ("tick", "section"):
        require(found[key] == expected[key], f"{file}: {key} is {found[key]}, not {expected[key]}")


def check(twinstep, root):
    hashes = 0
    games = {}
    for file in sorted(root.glob("*/*.twin")):
        if file.parent.name == "must-fail":
            check_bad(twinstep, file)
        else:
            hashes += check_good(twinstep, file)
        games[file.parent.name] = games.get(file.parent.name, 0) + 1
    for game in ("marine", "swarm", "pile"):
        require(
            games.get(game, 0) >= 4, f"{game} has {games.get(game, 0)} recordings, not four or more"
        )
    require(games.get("must-fail", 0) >= 1, "no recording is required to fail")
    require(hashes > 0, "no hash was checked")
    print(
        f"corpus: {sum(games.values())} recordings, {hashes} hashes checked, "
        f"{games['must-fail']} failed as it must"
    )


def replace(twinstep, made, file, expected):
    """Moves a new recording into place and prints what changed."""
    note = file.with_suffix(".json")
    before = json.loads(note.read_text()) if note.exists() else {}
    changes = [
        f"{key} {before.get(key, '-')} -> {expected[key]}"
        for key in expected
        if before.get(key) != expected[key]
    ]
    print(f"{file.relative_to(file.parents[1])}: {'; '.join(changes) if changes else 'unchanged'}")
    if changes or not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.read_bytes())
        note.write_text(json.dumps(expected, indent=2) + "\n")
    require(
        file.stat().st_size <= BYTES_MAX,
        f"{file}: {file.stat().st_size} bytes, more than {BYTES_MAX}",
    )


def make_bad(twinstep, source, tick, target):
    lines = subprocess.run(
        [twinstep, "cat", str(source), "--editable"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    text = target.with_suffix(".ndjson")
    with text.open("w") as out:
        for line in lines:
            record = json.loads(line)
            if record.get("tick") == str(tick):
                first = record["slots"][0]
                # The lowest bit of marine's turn: the angle moves whatever stands in the way.
                record["slots"][0] = first[:4] + f"{int(first[4:6], 16) ^ 1:02x}" + first[6:]
                line = json.dumps(record)
            out.write(line + "\n")
    code, _, errors = run(twinstep, "import", str(text), "-o", str(target))
    require(code == 0, f"import ended with {code}: {errors}")


def make(twinstep, root):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name, options in CORPUS.items():
            made = work / (name.replace("/", "-") + ".twin")
            code, recorded, errors = run(
                twinstep, "record", name.split("/")[0], "-o", str(made), *options
            )
            require(code == 0, f"{name}: record ended with {code}: {errors}")
            expected = {key: recorded[key] for key in ("ticks", "final_hash")}
            replace(twinstep, made, root / f"{name}.twin", expected)
        for name, (source, tick) in MUST_FAIL.items():
            made = work / (name.replace("/", "-") + ".twin")
            make_bad(twinstep, root / f"{source}.twin", tick, made)
            code, verified, _ = run(twinstep, "verify", str(made))
            found = verified["divergences"][0]
            expected = {"exit": code, "tick": found["tick"], "section": found["section"]}
            replace(twinstep, made, root / f"{name}.twin", expected)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("check", "make"):
        sys.exit(__doc__)
    {"check": check, "make": make}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))


if __name__ == "__main__":
    main()
