#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verifies the corpus on many kinds of machine, with a small program that is built for each.

Usage: matrix.py [--quick] [--jobs N] [--json FILE] [--write PAGE] [TARGET...]
       matrix.py --list | --check PAGE

Every hash of every tick must be the recorded one on every target, what must fail must fail at its
tick, and builds that would compute something else must be refused. --quick leaves out the longest
recordings where they are emulated or not optimised. --write puts the table between the two marks
in a page of the docs; --check tells whether the page names the same targets and as many recordings.
Exit code: 0 all as it must be, 1 not, 2 usage.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "matrix"

# What a verifier needs of replay: no files, no threads, no compression, no signatures.
REPLAY = (
    "changes columns_read compression errc head input keyframe_codec keyframe_index keyframe_part "
    "keyframe_proof keyframe_recording keyframe_side_file layout packed_frame packed_scanner "
    "playback reader unpack_input writer"
).split()
GAMES = ["marine", "pile", "swarm"]
# Threads, and games' demos: nothing that a step needs.
LEFT_OUT = ["worker_pool.cpp", "wad.cpp", "demo_lump.cpp"]
HEADERS = ["cereal", "tl", "fmt", "xxhash.h", "xxh3.h"]
LONG = [
    *(f"pile/bot-{name}" for name in ("long", "one", "two")),
    *(f"swarm/bots-{name}" for name in ("eight", "two", "two-other-seed")),
]

# name: (what it is, compiler, flags, runner)
TARGETS = {
    "gcc-O0": ("x86-64 Linux", ["g++"], ["-O0"], []),
    "gcc-O3-lto-haswell": ("x86-64 Linux, FMA", ["g++"], ["-O3", "-flto", "-march=haswell"], []),
    "clang-O0": ("x86-64 Linux", ["clang++"], ["-O0"], []),
    "clang-O3-lto-haswell": (
        "x86-64 Linux, FMA",
        ["clang++-19"],
        ["-O3", "-flto", "-march=haswell", "-fuse-ld=lld"],
        [],
    ),
    "clang-libc++": ("x86-64 Linux, libc++", ["clang++-19"], ["-O2", "-stdlib=libc++"], []),
    "i686": (
        "32-bit x86 Linux, SSE2",
        ["i686-linux-gnu-g++"],
        ["-O2", "-msse2", "-mfpmath=sse", "-static"],
        [],
    ),
    "aarch64": ("AArch64 Linux", ["aarch64-linux-gnu-g++"], ["-O3", "-static"], ["qemu-aarch64"]),
    "armhf": ("32-bit ARM Linux", ["arm-linux-gnueabihf-g++"], ["-O2", "-static"], ["qemu-arm"]),
    "riscv64": ("RISC-V Linux", ["riscv64-linux-gnu-g++"], ["-O2", "-static"], ["qemu-riscv64"]),
    "ppc64le": ("POWER Linux", ["powerpc64le-linux-gnu-g++"], ["-O2", "-static"], ["qemu-ppc64le"]),
    "s390x": (
        "s390x Linux, big-endian",
        ["s390x-linux-gnu-g++"],
        ["-O2", "-static"],
        ["qemu-s390x"],
    ),
    "windows": (
        "x86-64 Windows (Wine)",
        ["x86_64-w64-mingw32-g++-posix"],
        # Not -O0: its library's sqrt(double) rounds twice there.
        ["-O2", "-static"],
        ["/usr/lib/wine/wine64"],
    ),
    "wasm32": (
        "WebAssembly (node)",
        ["clang++-19", "--target=wasm32-wasi", "--sysroot=/usr", "-nostdinc++"],
        ["-isystem", "/usr/include/wasm32-wasi/c++/v1", "-O2", "-fignore-exceptions"],
        ["node", "--no-warnings", str(ROOT / "tests/golden/wasi.mjs")],
    ),
}

# What must not get as far as a hash: name, compiler, flags, what is said, and whether a program
# comes of it.
REFUSED = [
    ("x87", ["i686-linux-gnu-g++"], ["-O2", "-mfpmath=387"], "twinstep: x87", False),
    ("fast-math", ["g++"], ["-O2", "-ffast-math"], "twinstep: -ffast-math", False),
    (
        "contraction",
        ["aarch64-linux-gnu-g++"],
        ["-O2", "-static", "-ffp-contract=fast"],
        "contraction",
        True,
    ),
]

MARKS = ("<!-- matrix: made by `./dev matrix --write` -->", "<!-- matrix: end -->")


class Failure(Exception):
    """What a target did that it must not do."""


def determinism_flags(clang):
    """The flags of twinstep::determinism, from where they are defined."""
    text = (ROOT / "cmake/TwinstepTargets.cmake").read_text()
    both = re.search(r'"\$<\$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:([^>]*)>"', text)
    gnu = re.search(r'"\$<\$<CXX_COMPILER_ID:GNU>:([^>]*)>"', text)
    if not both or not gnu:
        raise Failure("cmake/TwinstepTargets.cmake no longer spells its flags as it did")
    return both[1].split(";") + ([] if clang else gnu[1].split(";"))


def includes():
    folder = BUILD / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    for header in HEADERS:
        found = [p / header for p in map(pathlib.Path, ["/usr/include", "/usr/local/include"])]
        found = [path for path in found if path.exists()]
        if not found:
            raise Failure(f"{header} is not installed: ./dev setup base")
        link = folder / header
        if not link.is_symlink():
            link.symlink_to(found[0])
    ours = ["sim/include", "sim/src", "replay/include", "replay/src", "examples/games"]
    return [f"-I{ROOT / path}" for path in ours] + ["-isystem", str(folder)]


def units():
    """Source files, each of which includes many: quicker than as many runs of a compiler."""
    def sources(folder):
        return [path for path in sorted((ROOT / folder).glob("*.cpp")) if path.name not in LEFT_OUT]

    wanted = {
        "sim": sources("sim/src"),
        "replay": [ROOT / "replay/src" / f"{name}.cpp" for name in REPLAY],
        **{game: sources(f"examples/games/{game}") for game in GAMES},
        "main": [ROOT / "tests/golden/matrix_verify.cpp"],
    }
    for name, paths in wanted.items():
        text = "".join(f'#include "{path}"\n' for path in paths)
        path = BUILD / f"{name}.cpp"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return [BUILD / f"{name}.cpp" for name in wanted]


def run(command, **options):
    try:
        return subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False, **options
        )
    except FileNotFoundError as missing:
        raise Failure(f"{missing.filename} is not installed: ./dev setup matrix") from missing


def compile_target(name, compiler, flags, extra=()):
    """The program of a target. Raises what the compiler said if there is none."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    common = ["-std=c++20", "-w", "-DFMT_HEADER_ONLY=1", *includes()]
    common.append('-DTWINSTEP_GAME_SOURCE_DIGEST="matrix"')
    clang = "clang" in compiler[0]
    # Behind our flags comes only what must be refused.
    flags = [*flags, *determinism_flags(clang), *extra]
    objects = []
    for unit in units():
        target = folder / f"{unit.stem}.o"
        done = run([*compiler, *common, *flags, "-c", unit, "-o", target])
        if done.returncode != 0:
            raise Failure(first_error(done.stderr))
        objects.append(target)
    program = folder / "matrix_verify"
    libraries = [] if "wasm32" in name else ["-pthread"]
    done = run([*compiler, *flags, *objects, *libraries, "-o", program])
    if done.returncode != 0:
        raise Failure(first_error(done.stderr))
    made = program if program.exists() else program.with_suffix(".exe")
    return made


def first_error(text):
    lines = [line for line in text.splitlines() if "error" in line or "undefined" in line]
    return (lines or text.splitlines() or ["no message"])[0]


def recordings(quick):
    """Path and what is expected of each file of the corpus, and of the one that must fail.

    Raises if a game has none, or nothing must fail: a row would say "same" all the same.
    """
    found = []
    for path in sorted(ROOT.glob("recordings/*/*.twin")):
        expected = path.with_suffix(".json")
        name = f"{path.parent.name}/{path.stem}"
        if not expected.exists() or (quick and name in LONG):
            continue
        found.append((path, json.loads(expected.read_text())))
    for kind in (*GAMES, "must-fail"):
        if all(path.parent.name != kind for path, _ in found):
            raise Failure(f"no recording in recordings/{kind}")
    return found


def check_output(path, expected, done):
    """Ticks and hashes of one file. Raises if it is not what was recorded."""
    fields = done.stdout.removeprefix(str(path)).split()
    if len(fields) < 4:
        raise Failure(f"{path.stem}: {first_error(done.stderr)}")
    ticks, hashes, final, where = int(fields[0]), int(fields[1]), fields[2], fields[3:]
    if "exit" in expected:
        if done.returncode != expected["exit"] or where != [expected["tick"], expected["section"]]:
            raise Failure(f"{path.stem} must fail at tick {expected['tick']}, and did {where}")
    elif done.returncode != 0 or where != ["-"]:
        raise Failure(f"{path.stem}: diverges at tick {' in '.join(where)}")
    elif (str(ticks), final) != (expected["ticks"], expected["final_hash"]) or hashes <= ticks:
        raise Failure(f"{path.stem}: {ticks} ticks, {hashes} hashes, final {final}")
    return ticks, hashes


def environment():
    # Wine keeps its folders here instead of in the home of whoever runs this.
    return dict(os.environ, WINEDEBUG="-all", WINEPREFIX=str(ROOT / "build" / "wine"))


def is_slow(name):
    """Whether --quick leaves out long recordings there: emulated, or not optimised."""
    _, _, flags, runner = TARGETS[name]
    return bool(runner) or "-O0" in flags


def verify_target(name, quick):
    """One row of the table."""
    what, compiler, flags, runner = TARGETS[name]
    row = {"target": name, "machine": what, "compiler": version(compiler[0]), "flags": shown(flags)}
    start = time.monotonic()
    try:
        program = compile_target(name, compiler, flags)
        row["build_s"] = round(time.monotonic() - start)
        start = time.monotonic()
        ticks = hashes = files = 0
        for path, expected in recordings(quick and is_slow(name)):
            done = run([*runner, program, path], env=environment(), timeout=1800)
            one = check_output(path, expected, done)
            ticks, hashes, files = ticks + one[0], hashes + one[1], files + 1
        row.update(run_s=round(time.monotonic() - start), files=files, ticks=ticks, hashes=hashes)
        row["verdict"] = "same"
    except (Failure, subprocess.TimeoutExpired) as failure:
        row["verdict"] = f"FAILED: {failure}"
    return row


def refused_target(name, compiler, flags, said, program):
    row = {"target": name, "machine": "must be refused"}
    row.update(compiler=version(compiler[0]), flags=shown(flags))
    try:
        made = compile_target(f"refused-{name}", compiler, [], extra=flags)
        runner = ["qemu-aarch64"] if "aarch64" in compiler[0] else []
        done = run([*runner, made, recordings(True)[0][0]])
        refused = program and done.returncode == 1 and said in done.stderr
        row["verdict"] = "refused at start" if refused else "FAILED: it ran"
    except Failure as failure:
        refused = not program and said in str(failure)
        row["verdict"] = "does not compile" if refused else f"FAILED: {failure}"
    return row


def version(compiler):
    try:
        done = run([compiler, "-dumpfullversion", "-dumpversion"])
    except Failure:
        return "not installed"
    kind = "clang++" if "clang" in compiler else "g++"
    return f"{kind} {done.stdout.split()[0].split('-')[0]}"


def shown(flags):
    left_out = ("-fuse-ld=lld", "-fignore-exceptions")
    return " ".join(f for f in flags if f[:2] in ("-O", "-m", "-f") and f not in left_out)


def line_of(row):
    """A row for people who wait."""
    hashes = f"{row['hashes']} hashes" if "hashes" in row else ""
    times = f"{row['build_s']} + {row['run_s']} s" if "run_s" in row else ""
    return f"{row['target']:22} {row['compiler']:16} {hashes:>14} {times:>10}  {row['verdict']}"


def table(rows):
    lines = [
        "| Target | Machine | Compiler | Flags | Recordings | Ticks, each with its hash | Result |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["target"], row["machine"], row["compiler"], f"`{row['flags']}`"]
        cells += [str(row.get("files", "")), str(row.get("ticks", "")), row["verdict"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page_parts(path):
    text = path.read_text()
    if any(text.count(mark) != 1 for mark in MARKS):
        raise SystemExit(f"matrix.py: {path}: the marks of the table are missing")
    before, rest = text.split(MARKS[0])
    inside, after = rest.split(MARKS[1])
    return before, inside, after


def check_page(path):
    _, inside, _ = page_parts(path)
    good = "same|does not compile|refused at start"
    rows = re.findall(rf"^\| ([\w+-]+) \| .*\| (\d*) \| \d* \| ({good}) \|$", inside, re.M)
    named = [name for name, _, _ in rows]
    wanted = [*TARGETS, *(row[0] for row in REFUSED)]
    wrong = f"names {named}, not {wanted}" if named != wanted else ""
    whole, quick = len(recordings(False)), len(recordings(True))
    for name, count, _ in rows if not wrong else []:
        possible = [""] if name not in TARGETS else [whole, quick] if is_slow(name) else [whole]
        if count not in map(str, possible):
            wrong = f"says that {name} verified {count} recordings; there are {possible}"
    if wrong:
        print(f"{path} {wrong}: run ./dev matrix --write", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(TARGETS))
        return 0
    if arguments.check:
        try:
            return check_page(arguments.check)
        except Failure as failure:
            parser.exit(1, f"matrix.py: {failure}\n")
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]}: there are {', '.join(TARGETS)}")
    if arguments.write and arguments.targets:
        parser.error("--write takes the table of all targets")
    start = time.monotonic()
    BUILD.mkdir(parents=True, exist_ok=True)
    (ROOT / "build" / "wine").mkdir(parents=True, exist_ok=True)
    try:
        units(), includes(), recordings(arguments.quick)
    except Failure as failure:
        print(f"matrix.py: {failure}", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        names = arguments.targets or TARGETS
        waiting = [pool.submit(verify_target, name, arguments.quick) for name in names]
        if not arguments.targets:
            waiting += [pool.submit(refused_target, *row) for row in REFUSED]
        rows = []
        for future in waiting:
            row = future.result()
            rows.append(row)
            print(line_of(row), flush=True)
    print(f"{len(rows)} rows in {round(time.monotonic() - start)} s")
    failed = [row for row in rows if row["verdict"].startswith("FAILED")]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.write and not failed:
        before, _, after = page_parts(arguments.write)
        arguments.write.write_text(f"{before}{MARKS[0]}\n{table(rows)}\n{MARKS[1]}{after}")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
