#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes keyframes from docs/recording-format.md alone, to the last byte of every state.

    decode_keyframes.py FILE.twin [FILE.kf]

Prints one JSON object a keyframe: tick, codec, base, sizes, names and sizes of its sections.
Every state is hashed, section by section, and compared with its keyframe and with the recording.
Exit codes: 0 every keyframe is good, 1 one is not, 2 usage, 6 there is none.
"""
import json
import pathlib
import struct
import sys

import decode_packed
import decode_twin
from decode_twin import MASK32, Cursor, digest, require, xxh3_64

KEYFRAME = 0x41
SIDE_MAGIC = bytes.fromhex("8954574b0d0a1a0a")
SIDE_CHUNK = MASK32
HEAD_BYTES, PART_BYTES = 64, 1_048_512
RAW, ZERO_RUNS, ZSTD = 0, 1, 2
CODECS = {RAW: "raw", ZERO_RUNS: "zero_runs", ZSTD: "zstd"}
SNAPSHOT_MAGIC = bytes.fromhex("5457534e")
CHUNKED, CHUNK_BYTES = 0x80, 4096


def side_parts(data, session):
    """The payloads of a side file; it must be whole."""
    cursor = Cursor(data)
    require(cursor.take(8, "magic") == SIDE_MAGIC, 0, "magic")
    require(cursor.number(2, "major") == 1, 8, "major version")
    require(cursor.number(2, "minor") == 0, 10, "minor version")
    require(cursor.number(4, "size") == 64, 12, "preamble.size")
    require(cursor.take(16, "features") == bytes(16), 16, "a side file has no features")
    require(cursor.take(16, "session") == session, 32, "another session")
    require(cursor.number(8, "reserved") == 0, 48, "reserved bytes must be zero")
    require(cursor.number(8, "check") == xxh3_64(data[:56]), 56, "preamble.check")
    parts = []
    while cursor.at < len(data):
        start = cursor.at
        require(cursor.number(1, "tag") == KEYFRAME, start, "no keyframe")
        payload = cursor.take(cursor.varint("length", 1 << 20), "payload")
        end = cursor.at
        place = session + struct.pack("<II", SIDE_CHUNK, len(parts))
        computed = xxh3_64(place + data[start:end]) & MASK32
        require(cursor.number(4, "check") == computed, start, "the check is wrong")
        parts.append(payload)
    return parts


def head_of(payload):
    """The fields of a part, but for its number, and its number and data."""
    cursor = Cursor(payload)
    head = {
        "tick": cursor.number(8, "tick"),
        "base": cursor.number(8, "base"),
        "raw_bytes": cursor.number(8, "raw bytes"),
        "stored_bytes": cursor.number(8, "stored bytes"),
    }
    part = cursor.number(4, "part")
    head["parts"] = cursor.number(4, "parts")
    head["state"] = cursor.hash("state")
    head["codec"] = cursor.number(1, "codec")
    head["delta"] = cursor.number(1, "delta")
    require(cursor.take(6, "reserved") == bytes(6), 58, "reserved bytes must be zero")
    require(head["codec"] in CODECS and head["delta"] in (0, 1), 56, "codec or delta")
    require(1 <= head["stored_bytes"] <= head["raw_bytes"] <= 1 << 30, 16, "sizes")
    require(head["parts"] == -(-head["stored_bytes"] // PART_BYTES), 36, "parts")
    require(part < head["parts"], 32, "part")
    require(head["delta"] == 1 or head["base"] == 0, 8, "base")
    require(head["delta"] == 0 or head["base"] < head["tick"], 8, "base")
    if head["codec"] == RAW and head["delta"] == 0:
        require(head["stored_bytes"] == head["raw_bytes"], 24, "stored bytes of raw data")
    return head, part, payload[HEAD_BYTES:]


def assembled(parts):
    """(head, stored data) of every keyframe of one file."""
    keyframes, open_head, data = [], None, b""
    for payload in parts:
        head, part, piece = head_of(payload)
        if open_head is None:
            require(part == 0, 32, "a keyframe begins with part 0")
            open_head, data = head, b""
        require(head == open_head and part == len(data) // PART_BYTES, 32, "parts do not fit")
        last = part == head["parts"] - 1
        expected = head["stored_bytes"] - part * PART_BYTES if last else PART_BYTES
        require(len(piece) == expected, 64, "size of a part")
        data += piece
        if last:
            require(not keyframes or keyframes[-1][0]["tick"] < head["tick"], 0, "ticks rise")
            keyframes.append((head, data))
            open_head = None
    require(open_head is None, 0, "parts are missing")
    return keyframes


def zero_runs(data, raw_bytes):
    cursor, result = Cursor(data), bytearray()
    while cursor.at < len(data):
        zeros = cursor.varint("zeros", raw_bytes - len(result))
        result += bytes(zeros)
        count = cursor.varint("bytes", raw_bytes - len(result))
        require(zeros or count, cursor.at, "an empty run")
        result += cursor.take(count, "bytes")
    return bytes(result)


def snapshots(keyframes):
    """(head, snapshot) of every keyframe."""
    whole, result = {}, []
    for head, data in keyframes:
        raw_bytes = head["raw_bytes"]
        base = whole.get(head["base"]) if head["delta"] else b""
        require(base is not None, 8, "the base is no whole keyframe before")
        limit = 1024 * len(data) + 65536 + len(base)
        require(raw_bytes <= limit, 16, "more than the stored bytes can hold")
        if head["codec"] == ZERO_RUNS:
            data = zero_runs(data, raw_bytes)
        elif head["codec"] == ZSTD:
            data = decode_packed.unzip(data, raw_bytes)
        require(len(data) == raw_bytes, 16, "raw bytes")
        if head["delta"]:
            count = min(len(base), raw_bytes)
            mixed = int.from_bytes(data[:count], "little") ^ int.from_bytes(base[:count], "little")
            data = mixed.to_bytes(count, "little") + data[count:]
        else:
            whole[head["tick"]] = data
        result.append((head, data))
    return result


def words(hash_):
    """A hash as its 16 bytes, from its text."""
    return struct.pack("<2Q", int(hash_[16:], 16), int(hash_[:16], 16))


def hashes_of(snapshot):
    """Tick, state hash, and (name, size, hash) of each section."""
    cursor = Cursor(snapshot)
    require(cursor.take(4, "magic") == SNAPSHOT_MAGIC, 0, "magic of a snapshot")
    require(cursor.number(2, "version") == 1, 4, "version of a snapshot")
    tick = cursor.number(8, "tick")
    sections = []
    while cursor.at < len(snapshot):
        length = cursor.number(1, "name")
        name = cursor.take(length & ~CHUNKED, "name").decode("ascii")
        data = cursor.take(cursor.number(8, "size"), "section")
        of_section = chunked_hash if length & CHUNKED else section_hash
        sections.append((name, len(data), of_section(name, tick, data)))
    state = digest("twinstep.state", tick, b"".join(words(hash_) for _, _, hash_ in sections))
    return tick, state, sections


def chunked_hash(name, tick, data):
    require(len(data) >= 8, 0, f"{name}: no room for the count")
    elements = data[8:]
    message = data[:8] + struct.pack("<Q", len(elements))
    for at in range(0, len(elements), CHUNK_BYTES):
        chunk = elements[at : at + CHUNK_BYTES].ljust(CHUNK_BYTES, b"\0")
        message += struct.pack("<2Q", *decode_twin.xxh3_128(chunk))
    return section_hash(name, tick, message, b"twinstep.chunked")


def section_hash(name, tick, data, domain=b"twinstep.section"):
    prefix = domain.ljust(32, b"\0") + struct.pack("<Q", tick) + name.encode("ascii")
    low, high = decode_twin.xxh3_128(prefix.ljust(256, b"\0") + data)
    return f"{high:016x}{low:016x}"


class Recorded:
    """What a recording says of its states."""

    def __init__(self, lines):
        head = lines[0]
        self.session = bytes.fromhex(head["session"])
        self.names = head["manifest"]["record.sections"].split(" ")
        self.ticks = {int(l["tick"]): l for l in lines if l["type"] == "tick"}
        self.ends = {int(l["last"]) + 1: l for l in lines if l["type"] == "chunk_end"}
        self.parts = [
            bytes.fromhex(line["payload"])
            for line in lines
            if line["type"] == "record" and line["tag"] == KEYFRAME
        ]

    def compare(self, tick, state, sections):
        require([name for name, _, _ in sections] == self.names, 0, "sections")
        said = False
        if tick in self.ticks:
            line, said = self.ticks[tick], True
            require(line["hash"] == state[-8:], 0, f"tick {tick}: the recording has another hash")
            short = "".join(hash_[-2:] for _, _, hash_ in sections)
            require(line["sections"] in ("", short), 0, f"tick {tick}: another section")
        if tick in self.ends:
            line, said = self.ends[tick], True
            require(line["state"] == state, 0, f"tick {tick}: the chunk ends in another state")
            for name, _, hash_ in sections:
                require(line["sections"][name] == hash_, 0, f"tick {tick}: section {name}")
        require(said, 0, f"tick {tick}: the recording says nothing of it")


def decode(recording, side=None):
    """One dictionary a keyframe, of the file and then of the side file; all of them proved."""
    recorded = Recorded(decode_twin.decode_bytes(recording)["lines"])
    files = [recorded.parts]
    if side is not None:
        files.append(side_parts(side, recorded.session))
    result = []
    for parts in files:
        for head, snapshot in snapshots(assembled(parts)):
            tick, state, sections = hashes_of(snapshot)
            require(tick == head["tick"], 0, f"keyframe {head['tick']}: the state of tick {tick}")
            require(state == head["state"], 0, f"keyframe {tick}: the state has another hash")
            recorded.compare(tick, state, sections)
            result.append(
                {
                    "tick": str(tick),
                    "codec": CODECS[head["codec"]],
                    "base": str(head["base"]) if head["delta"] else None,
                    "raw_bytes": str(head["raw_bytes"]),
                    "stored_bytes": str(head["stored_bytes"]),
                    "state": state,
                    "sections": {name: str(size) for name, size, _ in sections},
                }
            )
    return result


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        keyframes = decode(*(pathlib.Path(path).read_bytes() for path in arguments))
    except (decode_twin.Damaged, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for keyframe in keyframes:
        print(json.dumps(keyframe))
    return 0 if keyframes else 6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
