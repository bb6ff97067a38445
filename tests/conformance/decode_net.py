#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes captured datagrams from docs/lockstep-protocol.md alone and consumes every byte.

    decode_net.py PATH...             prints one JSON object a datagram
    decode_net.py --summary PATH...   prints one a file: how many of each packet and frame

A capture is text: `up HEX` or `down HEX` on each line, `+N` behind the digits for N more zeros,
then perhaps `bad`: such a datagram must be refused. `#` begins a comment; the last one that says
`slots N, neutral HEX`, or the last ACCEPT, gives what both sides know. Data packets are those of
plain mode. At most ten problems of a file are shown.
Exit codes: 0 everything is as it should be, 1 it is not, 2 usage, 6 there was no datagram.
"""
import collections
import json
import pathlib
import re
import sys

TICK_MAX = (1 << 63) - 1
DATAGRAM_MAX, WINDOW, SLOTS_MAX, CHUNK, MIB = 1200, 128, 64, 1100, 1 << 20
CHUNKS_MAX = (64 * MIB + CHUNK - 1) // CHUNK


class Refused(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Refused(what)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count, what):
        require(count <= self.left(), f"{what}: cut")
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self, what, limit=DATAGRAM_MAX):
        require(self.left() <= limit, f"{what}: longer than {limit}")
        return self.take(self.left(), what)

    def number(self, size, what, least=0, most=None):
        value = int.from_bytes(self.take(size, what), "little")
        require(value >= least and (most is None or value <= most), f"{what}: {value}")
        return value

    def varint(self, what, most=(1 << 64) - 1, least=0):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.number(1, what)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                require(byte != 0 or shift == 0, f"{what}: not the shortest form")
                require(value < 1 << 64 and least <= value <= most, f"{what}: {value}")
                return value
        raise Refused(f"{what}: longer than ten bytes")

    def zigzag(self, what, most=(1 << 64) - 1):
        value = self.varint(what, most)
        return -(value + 1 >> 1) if value & 1 else value >> 1

    def tick(self, what, base):
        """base + zigzag, or base - zigzag for a field that goes back."""
        value = base + self.zigzag(what)
        require(0 <= value <= TICK_MAX, f"{what}: tick {value}")
        return value

    def tick_back(self, what, base):
        value = base - self.zigzag(what)
        require(0 <= value <= TICK_MAX, f"{what}: tick {value}")
        return value

    def text(self, what, limit):
        return self.take(self.varint(what, limit), what)

    def hash(self, what):
        return self.take(16, what)[::-1].hex()

    def end(self):
        require(self.left() == 0, f"{self.left()} bytes left over")


Context = collections.namedtuple("Context", "slots neutral input_max", defaults=(2, bytes(4), 256))

# --- tables of the page: name, type, and what is allowed ---
# A type is a size of an unsigned integer, or one of the words that `read_field` knows.

PACKETS = {
    0x81: ("HELLO", "up", []),
    0x82: ("COOKIE", "down", [("secret index", 1, None), ("tag", 8, None)]),
    0x83: ("CONNECT", "up", [("secret index", 1, None), ("tag", 8, None), ("mode", 1, (0, 2))]),
    0x84: ("ACCEPT", "down", [("connection id", 2, None)]),
    0x85: ("REFUSE", "down", [("reason", 1, (0, 16))]),
}
ANY_MAJOR, PADDED = {0x81, 0x82}, {0x81, 0x83}

FRAMES = {
    1: ("INPUTS", "up", None),
    2: ("TICKS", "down", None),
    3: ("PING", "both", [("stamp", 4, None)]),
    4: ("PONG", "both", [("stamp", 4, None)]),
    5: ("CLOSE", "both", [("reason", 1, (0, 16)), ("text", "rest", 512)]),
    6: ("PATH_CHALLENGE", "both", [("value", 8, None)]),
    7: ("PATH_RESPONSE", "both", [("value", 8, None)]),
    8: ("BLOB_OFFER", "both", None),
    9: ("BLOB_CHUNK", "both", None),
    10: ("BLOB_ACK", "both", None),
    11: ("PROGRESS", "up", [("tick", "varint", (0, TICK_MAX)), ("loading", 1, (0, 1))]),
    12: ("HASH_QUERY", "down", None),
    13: ("HASH_ANSWER", "up", None),
    14: ("SECTION_QUERY", "down", [("tick", "varint", (0, TICK_MAX))]),
    15: ("SECTION_ANSWER", "up", None),
    16: (
        "VERDICT",
        "down",
        [
            ("blame", 1, (1, 2)),
            ("tick", "varint", (0, TICK_MAX)),
            ("slot + 1", "varint", (0, SLOTS_MAX)),
            ("section", "rest", 63),
        ],
    ),
    17: ("REQUEST", "up", None),
    18: (
        "STALL",
        "down",
        [
            ("tick", "varint", (0, TICK_MAX)),
            ("ms", 4, None),
            ("paused", 1, (0, 1)),
            ("slots", 8, None),
        ],
    ),
    19: ("SNAPSHOT_QUERY", "down", [("tick", "varint", (0, TICK_MAX))]),
    20: ("LOSS", "both", [("lost", 1, (1, 128))]),
}

REQUEST_VALUES = {1: (0, (1 << 32) - 1), 2: (0, (1 << 32) - 1), 4: (0, (1 << 32) - 1)}
REQUEST_VALUES.update({3: (100, 4000), 5: (1, 3)})
BLOB_MAX = {1: MIB, 2: 64 * MIB}


def read_field(cursor, what, kind, allowed):
    if kind == "rest":
        return cursor.rest(what, allowed).hex()
    least, most = allowed or (0, None)
    if kind == "varint":
        return cursor.varint(what, most, least)
    return cursor.number(kind, what, least, most)


# --- handshake ---


def connect_payload(data, _):
    cursor = Cursor(data)
    out = {"role": cursor.number(1, "role", 1, 2), "build": cursor.hash("build")}
    out["match"] = cursor.number(8, "match id")
    if cursor.number(1, "has ticket", 0, 1):
        out["ticket"] = cursor.take(16, "ticket").hex()
    out["name"] = cursor.text("name", 32).hex()
    cursor.end()
    return out


def accept_payload(data, _):
    cursor = Cursor(data)
    out = {"match": cursor.number(8, "match id"), "slot + 1": cursor.number(2, "slot + 1")}
    out["slots"] = cursor.number(2, "slots", 1, SLOTS_MAX)
    require(out["slot + 1"] <= out["slots"], "slot beyond the slots")
    out["rate"] = [cursor.number(4, "tick rate", 1), cursor.number(4, "tick rate", 1)]
    out["next tick"] = cursor.number(8, "next tick", 0, TICK_MAX)
    least = cursor.number(1, "least delay")
    out["delay"] = [least, cursor.number(1, "greatest delay", least, 127)]
    out["policy"] = cursor.number(1, "policy", 1, 3)
    out["authority"] = cursor.number(1, "authority", 1, 2)
    out["grace"] = cursor.number(2, "grace")
    out["hash interval"] = cursor.number(1, "hash interval", 1, 64)
    out["input bytes"] = cursor.number(2, "input bytes", 1, 256)
    out["manifest wanted"] = cursor.number(1, "manifest wanted", 0, 1)
    out["ticket"] = cursor.take(16, "ticket").hex()
    out["neutral"] = cursor.text("neutral", min(128, out["input bytes"])).hex()
    cursor.end()
    return out


def handshake(way, data, context):
    cursor = Cursor(data)
    kind = cursor.number(1, "type")
    name, way_of, fields = PACKETS[kind]
    require(way_of == way, f"{name} goes the other way")
    require(cursor.take(4, "magic") == b"TWNS", "magic")
    out = {"packet": name, "major": cursor.number(1, "major")}
    require(kind in ANY_MAJOR or out["major"] == 1, "major")
    out["minor"] = cursor.number(1, "minor")
    out["random"] = cursor.take(16, "client random").hex()
    for field in fields:
        out[field[0]] = read_field(cursor, *field)
    if name in ("CONNECT", "ACCEPT"):
        inner = cursor.take(cursor.number(2, "size"), "handshake")
        if name == "ACCEPT":
            out["payload"] = accept_payload(inner, context)
        elif out["mode"] == 0:
            out["payload"] = connect_payload(inner, context)
        else:
            out["sealed"] = inner.hex()
    if kind in PADDED:
        require(len(data) == DATAGRAM_MAX, f"{name} has {len(data)} bytes")
        require(not any(cursor.rest("padding")), "padding is not zero")
    require(name != "ACCEPT" or len(data) <= 700, "ACCEPT above 700 bytes")
    cursor.end()
    return out


# --- runs ---


class Runs:
    def __init__(self, cursor, context):
        self.cursor, self.value, self.most = cursor, context.neutral, context.input_max
        self.again = self.values = 0
        self.could_be_longer = False

    def next(self):
        require(self.values < WINDOW, "more than 128 values")
        self.values += 1
        if self.again == 0:
            head = self.cursor.number(1, "run")
            if head >= 0x80:
                require(not self.could_be_longer, "two repetitions for one")
                self.again = head - 0x7F
                self.could_be_longer = self.again < 128
            else:
                self.could_be_longer = False
                self.value = self.difference(head) if head else self.full()
                return self.value
        self.again -= 1
        return self.value

    def full(self):
        value = self.cursor.text("input", self.most)
        require(len(value) != len(self.value), "a full value where a difference would do")
        return value

    def difference(self, mask):
        value, size = bytearray(self.value), len(self.value)
        width = (size + 6) // 7
        for group in range(7):
            if mask >> group & 1:
                start, end = group * width, min(size, (group + 1) * width)
                require(start < end, "a group beyond the value")
                bits = self.cursor.take(end - start, "group")
                require(any(bits), "a group that does not differ")
                for i, byte in enumerate(bits):
                    value[start + i] ^= byte
        return bytes(value)


# --- frames with more than a table's worth of rules ---


def inputs(cursor, context):
    flags = cursor.number(1, "flags")
    require(flags in (0, 1, 3), "flags")
    ack = cursor.varint("ack", TICK_MAX)
    out = {"ack": ack, "first": cursor.tick("first", ack)}
    if flags & 1:
        back = cursor.varint("hash back", ack, 1) if flags & 2 else 0
        out["hash"] = [ack - back, cursor.number(4, "hash")]
    runs, out["inputs"] = Runs(cursor, context), []
    while cursor.left() or runs.again:
        out["inputs"].append(runs.next().hex())
    return out


def ticks(cursor, context):
    out = {"first": cursor.varint("first", TICK_MAX - WINDOW)}
    count = cursor.number(1, "count", 0, WINDOW)
    out["input ack"] = cursor.tick("input ack", out["first"])
    timing = cursor.varint("timing", (1 << 33) - 1)
    half = timing >> 1
    out["margin"] = -(half + 1 >> 1) if half & 1 else half >> 1
    if timing & 1:
        out["hash"] = [cursor.tick_back("hash back", out["first"]), cursor.number(4, "hash")]
    out["ticks"] = bundle(cursor, count, context) if count else []
    return out


def bitmap(cursor, what, slots):
    bits = int.from_bytes(cursor.take((slots + 7) // 8, what), "little")
    require(bits >> slots == 0, f"{what}: no such slot")
    return bits


def bundle(cursor, count, context):
    """The ticks of a body; the slot's input is None where it is not present."""
    flags, slots = cursor.number(1, "body flags", 0, 3), context.slots
    shape, shapes = ((1 << slots) - 1, 0), []
    if flags & 1:
        for _ in range(cursor.varint("shapes", count, 1)):
            offset = cursor.number(1, "shape offset", len(shapes), count - 1)
            shapes += [shape] * (offset - len(shapes))
            before = shape
            shape = (bitmap(cursor, "present", slots), bitmap(cursor, "substituted", slots))
            require(shape[1] & ~shape[0] == 0, "substituted but not present")
            require(shape != before, "a shape as before")
            shapes.append(shape)
    shapes += [shape] * (count - len(shapes))
    out = [{"events": [], "slots": [None] * slots} for _ in range(count)]
    if flags & 2:
        least = 0
        for _ in range(cursor.varint("events", 4096, 1)):
            least = cursor.number(1, "event offset", least, count - 1)
            event = [cursor.number(1, "event kind", 1), cursor.varint("event slot", 4096)]
            out[least]["events"].append(event + [cursor.text("event", 1024).hex()])
            require(len(out[least]["events"]) <= 256, "more than 256 events at a tick")
    for slot in range(slots):
        runs = Runs(cursor, context)
        for tick in range(count):
            if shapes[tick][0] >> slot & 1:
                value = runs.next().hex()
                filled = shapes[tick][1] >> slot & 1
                out[tick]["slots"][slot] = (
                    {"input": value, "substituted": True} if filled else value
                )
        require(runs.again == 0, "a repetition beyond the last tick")
    return out


def blob_offer(cursor, _):
    out = {"id": cursor.number(4, "id"), "kind": cursor.number(1, "kind", 1, 2)}
    out["tick"] = cursor.varint("tick", 0 if out["kind"] == 1 else TICK_MAX)
    out["size"] = cursor.number(4, "size", 1, BLOB_MAX[out["kind"]])
    out["digest"], out["chain"] = cursor.hash("digest"), cursor.number(8, "chain")
    return out


def blob_chunk(cursor, _):
    out = {"id": cursor.number(4, "id"), "index": cursor.varint("index", CHUNKS_MAX - 1)}
    out["bytes"] = cursor.rest("bytes", CHUNK).hex()
    require(out["bytes"], "an empty chunk")
    return out


def blob_ack(cursor, _):
    out = {"id": cursor.number(4, "id"), "next": cursor.varint("next", CHUNKS_MAX)}
    bits = cursor.rest("bitmap", 32)
    require(not bits or bits[-1], "the bitmap ends in a zero")
    out["bitmap"] = bits.hex()
    return out


def hash_query(cursor, _):
    out = {"first": cursor.varint("first", TICK_MAX)}
    out["last"] = out["first"] + cursor.varint("count", min(63, TICK_MAX - out["first"]))
    return out


def hash_answer(cursor, _):
    out = {"first": cursor.varint("first", TICK_MAX)}
    count = cursor.number(1, "count", 0, min(64, TICK_MAX - out["first"] + 1))
    out["hashes"] = [cursor.hash("hash") for _ in range(count)]
    return out


def section_answer(cursor, _):
    out = {"tick": cursor.varint("tick", TICK_MAX)}
    count = cursor.number(2, "count", 0, 256)
    out["sections"] = [cursor.number(4, "section") for _ in range(count)]
    return out


def request(cursor, _):
    kind = cursor.number(1, "kind", 1, 5)
    least, most = REQUEST_VALUES[kind]
    return {"kind": kind, "value": cursor.varint("value", most, least)}


BODIES = {1: inputs, 2: ticks, 8: blob_offer, 9: blob_chunk, 10: blob_ack, 12: hash_query}
BODIES.update({13: hash_answer, 15: section_answer, 17: request})


def frame_body(number, body, context):
    cursor = Cursor(body)
    fields = FRAMES[number][2]
    if fields is None:
        out = BODIES[number](cursor, context)
    else:
        out = {field[0]: read_field(cursor, *field) for field in fields}
    cursor.end()
    return out


def data_packet(way, data, context):
    cursor = Cursor(data)
    require(cursor.number(1, "flags") == 0x40, "flags")
    out = {"packet": "DATA", "connection": cursor.number(2, "connection id")}
    out["sequence"], out["frames"] = cursor.number(4, "sequence"), []
    while cursor.left():
        head = cursor.number(1, "frame type")
        number = head & 0x3F
        size = cursor.left() if head & 0x40 else cursor.varint("length")
        body = cursor.take(size, "frame")
        if number not in FRAMES:
            require(head & 0x80, f"frame of unknown type {number}")
            continue
        require(not head & 0x80, "bit 7 of a known type")
        name, way_of, _ = FRAMES[number]
        require(way_of in (way, "both"), f"{name} goes the other way")
        out["frames"].append({"frame": name, **frame_body(number, body, context)})
    return out


def decode(way, data, context=Context()):
    """One datagram as a dictionary. Raises Refused where a receiver refuses."""
    require(1 <= len(data) <= DATAGRAM_MAX, f"{len(data)} bytes")
    if data[0] in PACKETS:
        return handshake(way, data, context)
    return data_packet(way, data, context)


# --- captures ---


def read_capture(lines):
    """Yields (line number, way, bytes, must be refused, context of the comments so far or None)."""
    context = None
    for number, line in enumerate(lines, 1):
        words, _, comment = line.partition("#")
        said = re.search(r"slots (\d+), neutral ([0-9a-f]*)", comment)
        if said:
            context = Context(int(said[1]), bytes.fromhex(said[2]))
        words = words.split()
        if words:
            digits, _, zeros = words[1].partition("+")
            data = bytes.fromhex(digits) + bytes(int(zeros or 0))
            yield number, words[0], data, words[2:] == ["bad"], context


def context_of(accept):
    return Context(accept["slots"], bytes.fromhex(accept["neutral"]), accept["input bytes"])


def check_capture(path, summary):
    """Prints what is in a capture; how many datagrams there were, and how many were wrong."""
    seen, wrong, count, accepted = collections.Counter(), 0, 0, Context()
    with open(path, encoding="ascii") as lines:
        for number, way, data, bad, context in read_capture(lines):
            count += 1
            try:
                out = decode(way, data, context or accepted)
                problem = "must be refused and is not" if bad else None
            except Refused as error:
                out = {"refused": str(error)}
                problem = None if bad else str(error)
            if out.get("packet") == "ACCEPT":
                accepted = context_of(out["payload"])
            if problem:
                wrong += 1
                if wrong <= 10:
                    print(f"{path}:{number}: {problem}", file=sys.stderr)
            seen[f"{way} {out.get('packet', 'refused')}"] += 1
            seen.update(f"{way} {frame['frame']}" for frame in out.get("frames", []))
            if not summary:
                print(json.dumps({"way": way, **out}))
    if summary:
        print(json.dumps({"file": str(path), "datagrams": count, **dict(sorted(seen.items()))}))
    return count, wrong


def main(arguments):
    summary = "--summary" in arguments
    paths = [pathlib.Path(argument) for argument in arguments if argument != "--summary"]
    if not paths or str(paths[0]).startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    results = [check_capture(path, summary) for path in paths]
    if sum(count for count, _ in results) == 0:
        print("no datagram was found", file=sys.stderr)
        return 6
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
