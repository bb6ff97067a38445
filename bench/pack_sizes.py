#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a tick of people's play takes: recordings of Freedoom's demos beside the demos' own bytes.

Usage: pack_sizes.py TWINSTEP [--wads DIR] [--json]

Sizes are exact and the same on every machine, but for the version of zstd. Each file is compressed
on its own, the demos' lumps as they stand in the WADs.
"""

import argparse
import ctypes
import ctypes.util
import gzip
import json
import lzma
import pathlib
import struct
import subprocess
import tempfile

WADS = pathlib.Path("/usr/share/games/doom")
DEMOS = [(wad, f"DEMO{n}") for wad in ("freedoom1.wad", "freedoom2.wad") for n in range(1, 5)]

# What a size is of, and the most bytes a tick that it may be over all demos.
GOALS = {"open": 20.0, "inputs": 0.55, "packed": 5.0}
COLUMNS = {
    "open": "open form, as `record` writes it",
    "with_sections": "packed, with section bytes",
    "packed": "packed without section bytes: hashes of 32 bits, inputs, header, manifest",
    "inputs": "of that, inputs",
    "zstd": "the demo's bytes by zstd -19",
    "xz": "the demo's bytes by xz -9",
    "gzip": "the demo's bytes by gzip -9",
}


def lump(wad, name):
    """The bytes of a lump, of the first with that name."""
    data = wad.read_bytes()
    _, count, directory = struct.unpack_from("<4sII", data)
    for i in range(count):
        offset, size, raw = struct.unpack_from("<II8s", data, directory + 16 * i)
        if raw.rstrip(b"\0").decode() == name:
            return data[offset : offset + size]
    raise SystemExit(f"{wad}: no lump {name}")


def zstd_size(data):
    """None where there is no libzstd."""
    path = ctypes.util.find_library("zstd")
    if path is None:
        return None
    library = ctypes.CDLL(path)
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2 + [ctypes.c_int]
    target = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
    return library.ZSTD_compress(target, len(target), data, len(data), 19)


def run(twinstep, *arguments):
    done = subprocess.run(
        [str(twinstep), *map(str, arguments), "--json"], capture_output=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"twinstep {' '.join(map(str, arguments))}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def measure_demo(twinstep, wad, name, folder):
    """Bytes of one demo in every form."""
    recorded, packed = folder / f"{wad.stem}-{name}.twin", folder / f"{wad.stem}-{name}.packed.twin"
    small = folder / f"{wad.stem}-{name}.small.twin"
    made = run(twinstep, "record", "marine", "-o", recorded, "--from", f"wad:{wad}:{name}")
    run(twinstep, "pack", recorded, "-o", packed)
    answer = run(twinstep, "pack", recorded, "-o", small, "--no-section-bytes")
    data = lump(wad, name)
    return {
        "demo": f"{wad.stem} {name}",
        "ticks": int(made["ticks"]),
        "open": recorded.stat().st_size,
        "with_sections": packed.stat().st_size,
        "packed": small.stat().st_size,
        "inputs": int(answer["input_bytes"]),
        "zstd": zstd_size(data),
        "xz": len(lzma.compress(data, preset=9)),
        "gzip": len(gzip.compress(data, 9)),
    }


def measure(twinstep, wads=WADS):
    """A row for each demo, and one of their sums."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure_demo(twinstep, wads / wad, n, pathlib.Path(folder)) for wad, n in DEMOS]
    total = {"demo": f"all {len(rows)}"}
    for key in ("ticks", *COLUMNS):
        values = [row[key] for row in rows]
        total[key] = None if None in values else sum(values)
    return [*rows, total]


def target(key):
    return f"<= {GOALS[key]}" if key in GOALS else "-"


def met(total, key):
    if key not in GOALS:
        return "-"
    return "yes" if total[key] <= GOALS[key] * total["ticks"] else "no"


def print_table(rows):
    print(f"{'bytes a tick':<18}{'ticks':>7}" + "".join(f"{key:>15}" for key in COLUMNS))
    for row in rows:
        cells = "".join(
            f"{'not measured' if row[key] is None else format(row[key] / row['ticks'], '.3f'):>15}"
            for key in COLUMNS
        )
        print(f"{row['demo']:<18}{row['ticks']:>7}{cells}")
    print(f"{'target':<25}" + "".join(f"{target(key):>15}" for key in COLUMNS))
    print(f"{'met':<25}" + "".join(f"{met(rows[-1], key):>15}" for key in COLUMNS))
    for key, text in COLUMNS.items():
        print(f"  {key}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("twinstep", type=pathlib.Path)
    parser.add_argument("--wads", type=pathlib.Path, default=WADS)
    parser.add_argument("--json", action="store_true")
    options, _ = parser.parse_known_args()
    rows = measure(options.twinstep.resolve(), options.wads)
    if options.json:
        for row in rows:
            print(json.dumps(row))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
