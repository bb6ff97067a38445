#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps one recording of each shape of each released format version, for ever.

format_corpus.py check TWINSTEP FORMAT   every file is there, unchanged, and reads as ever
format_corpus.py add TWINSTEP FORMAT VERSION FILES...   into FORMAT/VERSION; writes over none
format_corpus.py plant TWINSTEP FORMAT   check must fail for each of a list of planted faults

SHA256SUMS pins every byte, expected.json what reading each file must come to. What the games
do does not matter here: a recording is verified only while its game has the version that made it.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

MARKER, SUMS, EXPECTED, KEY = "FORMAT-CORPUS", "SHA256SUMS", "expected.json", "signed.key.pub"
NOT_PINNED = {MARKER, SUMS, "README.md"}
BYTES_MAX = 300 * 1024


class Wrong(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Wrong(text)


def run(twinstep, *arguments):
    done = subprocess.run([twinstep, *map(str, arguments)], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode().strip()


def answer(twinstep, *arguments):
    code, out, errors = run(twinstep, *arguments, "--json")
    try:
        return code, json.loads(out)
    except json.JSONDecodeError:
        return code, {"error": errors}


def game_versions(twinstep):
    return {game["id"]: str(game["version"]) for game in answer(twinstep, "games")[1]["games"]}


def what_it_is(twinstep, root, file, games):
    """What reading a recording comes to: all of it is pinned."""
    code, info = answer(twinstep, "info", file)
    require("manifest" in info, f"{file}: info says {info}")
    keys = ("session", "ticks", "chunks", "chain", "final_hash", "lost_ticks", "state")
    exits = {"info": code}
    result = {"exits": exits, **{key: info[key] for key in keys}}
    exits["check"], checked = answer(twinstep, "check", file)
    result["records"], result["defects"] = checked["records"], len(checked["defects"])
    exits["cat"], text, _ = run(twinstep, "cat", file)
    result["cat_sha256"] = hashlib.sha256(text).hexdigest()
    manifest = info["manifest"]
    game = manifest.get("sim.id")
    if game is None or games.get(game) == manifest.get("sim.version") or game not in games:
        exits["verify"] = answer(twinstep, "verify", file)[0]
    key = root / file.parent.name / KEY
    if file.name.startswith("signed") and key.exists():
        command = ("check-signature", file, "--key-file", key)
        exits["check-signature"], signed = answer(twinstep, *command)
        keys = ("covers_all", "covered_ticks", "ends", "valid", "invalid", "others")
        result["signature"] = {key: signed.get(key) for key in keys}
    return result


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def pinned(root):
    sums = {}
    for line in (root / SUMS).read_text().splitlines():
        digits, name = line.split("  ", 1)
        sums[name] = digits
    return sums


def present(root):
    names = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted(name for name in names if name not in NOT_PINNED)


def write_sums(root):
    lines = [f"{digest(root / name)}  {name}\n" for name in present(root)]
    (root / SUMS).write_text("".join(lines))


def check(twinstep, root):
    require((root / MARKER).is_file(), f"{root}: {MARKER} is missing")
    sums, names = pinned(root), present(root)
    require(list(sums) == names, f"{root}: {sorted(set(sums) ^ set(names))} missing or not pinned")
    for name, digits in sums.items():
        require(digest(root / name) == digits, f"{name}: its bytes have changed")
    total = sum((root / name).stat().st_size for name in names)
    require(total <= BYTES_MAX, f"{total} bytes are more than {BYTES_MAX}")
    expected, games = json.loads((root / EXPECTED).read_text()), game_versions(twinstep)
    recordings = [name for name in names if name.endswith(".twin")]
    require(list(expected) == recordings, f"{EXPECTED} and the recordings differ in their names")
    for version in ("1.0", "1.1"):
        count = sum(name.startswith(f"{version}/") for name in recordings)
        require(count >= 3, f"only {count} recordings of version {version}")
    verified = 0
    for name in recordings:
        found = what_it_is(twinstep, root, root / name, games)
        wanted = expected[name]
        if "verify" not in found["exits"]:
            wanted["exits"].pop("verify")  # the game has moved on
        verified += wanted["exits"].get("verify") == 0
        require(found == wanted, f"{name}: {found}\nbut it must be {wanted}")
    print(f"format corpus: {len(recordings)} recordings, {total} bytes, {verified} verified")


def add(twinstep, root, version, files):
    """Files that are there stay as they are; a name that is taken by other bytes is refused."""
    folder = root / version
    folder.mkdir(parents=True, exist_ok=True)
    path = root / EXPECTED
    expected = json.loads(path.read_text()) if path.exists() else {}
    games = game_versions(twinstep)
    for file in map(pathlib.Path, files):
        target = folder / file.name
        if target.exists():
            same = target.read_bytes() == file.read_bytes()
            require(same, f"{target}: exists with other bytes, and stays; choose another name")
            continue
        shutil.copyfile(file, target)
        print(f"added {target}")
    for target in sorted(folder.glob("*.twin")):
        name = target.relative_to(root).as_posix()
        if name not in expected:
            expected[name] = what_it_is(twinstep, root, target, games)
    path.write_text(json.dumps(dict(sorted(expected.items())), indent=1) + "\n")
    write_sums(root)


def flip(path, at=200):
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1
    path.write_bytes(data)


def change_expectation(root):
    path = root / EXPECTED
    expected = json.loads(path.read_text())
    next(iter(expected.values()))["chain"] = "0" * 32
    path.write_text(json.dumps(expected, indent=1) + "\n")
    write_sums(root)


def change_all(root):
    """Another recording, pinned anew: only what is expected of it tells."""
    shutil.copyfile(root / "1.1" / "closed.twin", root / "1.1" / "open.twin")
    write_sums(root)


def forget(root):
    lines = (root / SUMS).read_text().splitlines(keepends=True)
    (root / SUMS).write_text("".join(line for line in lines if "closed" not in line))


BYTES, NAMES, COMES_TO = "its bytes have changed", "missing or not pinned", "but it must be"
FAULTS = {
    "a flipped bit in a recording": (BYTES, lambda root: flip(root / "1.0" / "marine.twin")),
    "a flipped bit in a side file": (BYTES, lambda root: flip(root / "1.1" / "side.kf")),
    "a missing recording": (NAMES, lambda root: (root / "1.1" / "late.twin").unlink()),
    "a missing side file": (NAMES, lambda root: (root / "1.1" / "side.kf").unlink()),
    "one file more": (NAMES, lambda root: shutil.copy(root / SUMS, root / "1.1" / "more.twin")),
    "one file more outside": (NAMES, lambda root: shutil.copy(root / SUMS, root / "more")),
    "a file that is pinned no longer": (NAMES, forget),
    "another expectation": (COMES_TO, change_expectation),
    "another recording, pinned anew": (COMES_TO, change_all),
    "no marker": ("is missing", lambda root: (root / MARKER).unlink()),
    "no file at all": (NAMES, lambda root: shutil.rmtree(root / "1.1")),
}


def outcome(action, *arguments):
    """What the action says is wrong; empty: nothing."""
    try:
        action(*arguments)
        return ""
    except Wrong as error:
        return str(error)


def plant(twinstep, root):
    check(twinstep, root)  # else every fault would be noticed, whatever it is
    missed = []
    for fault, (why, do) in FAULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "format"
            shutil.copytree(root, copy)
            do(copy)
            said = outcome(check, twinstep, copy)
            if why not in said:
                missed.append(f"{fault}: {said}")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "format"
        shutil.copytree(root, copy)
        other = pathlib.Path(folder) / "late.twin"
        shutil.copyfile(copy / "1.1" / "closed.twin", other)
        if "exists with other bytes" not in outcome(add, twinstep, copy, "1.1", [other]):
            missed.append("add writes over a file")
        check(twinstep, copy)
    require(not missed, "nobody noticed: " + "; ".join(missed))
    print(f"format corpus: {len(FAULTS) + 1} planted faults were noticed")


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("check", "add", "plant"):
        sys.exit(__doc__)
    twinstep, root = sys.argv[2], pathlib.Path(sys.argv[3])
    try:
        if sys.argv[1] == "add":
            add(twinstep, root, sys.argv[4], sys.argv[5:])
        else:
            {"check": check, "plant": plant}[sys.argv[1]](twinstep, root)
    except Wrong as error:
        sys.exit(f"format corpus: {error}")


if __name__ == "__main__":
    main()
