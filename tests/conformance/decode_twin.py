#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decodes .twin recordings from docs/recording-format.md alone and consumes every byte.

    decode_twin.py PATH...   PATH is a file or a directory that is searched for *.twin
    decode_twin.py --summary PATH...   one line a file instead of all records

Prints one JSON object a file: its lines are those of the page's text form. Every check and digest
is computed again. Exit codes: 0 all files are whole, 1 one is not, 2 usage, 6 there was no file.
"""
import importlib
import json
import pathlib
import re
import struct
import sys

import decode_signature

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1

# --- XXH3, transcribed from the specification, for more than 16 bytes and seed 0 ---

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
STRIPE, BLOCK_STRIPES = 64, (len(SECRET) - 64) // 8


def fold(left, right):
    product = left * right
    return (product & MASK64) ^ (product >> 64)


def avalanche(value):
    value ^= value >> 37
    value = value * 0x165667919E3779F9 & MASK64
    return value ^ (value >> 32)


def mix16(data, at, secret_at):
    low, high = struct.unpack_from("<2Q", data, at)
    secret_low, secret_high = struct.unpack_from("<2Q", SECRET, secret_at)
    return fold(low ^ secret_low, high ^ secret_high)


def middle64(data):
    """17 to 240 bytes."""
    size = len(data)
    total = size * P64_1
    if size <= 128:
        for i in reversed(range((size - 1) // 32 + 1)):
            total += mix16(data, 16 * i, 32 * i) + mix16(data, size - 16 * (i + 1), 32 * i + 16)
        return avalanche(total & MASK64)
    for i in range(8):
        total += mix16(data, 16 * i, 16 * i)
    total = avalanche(total & MASK64)
    for i in range(8, size // 16):
        total += mix16(data, 16 * i, 16 * (i - 8) + 3)
    total += mix16(data, size - 16, 136 - 17)
    return avalanche(total & MASK64)


def accumulate(lanes, data, at, secret_at):
    words = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", SECRET, secret_at)
    for i in range(8):
        key = words[i] ^ keys[i]
        lanes[i ^ 1] = lanes[i ^ 1] + words[i] & MASK64
        lanes[i] = lanes[i] + (key & MASK32) * (key >> 32) & MASK64


def long_lanes(data):
    """More than 240 bytes: the eight lanes after the last stripe."""
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    scramble_keys = struct.unpack_from("<8Q", SECRET, len(SECRET) - STRIPE)
    for stripe in range((len(data) - 1) // STRIPE):
        accumulate(lanes, data, stripe * STRIPE, stripe % BLOCK_STRIPES * 8)
        if stripe % BLOCK_STRIPES == BLOCK_STRIPES - 1:
            for i in range(8):
                lane = lanes[i] ^ (lanes[i] >> 47) ^ scramble_keys[i]
                lanes[i] = lane * P32_1 & MASK64
    accumulate(lanes, data, len(data) - STRIPE, len(SECRET) - STRIPE - 7)
    return lanes


def merge(lanes, secret_at, start):
    keys = struct.unpack_from("<8Q", SECRET, secret_at)
    total = start
    for i in range(0, 8, 2):
        total += fold(lanes[i] ^ keys[i], lanes[i + 1] ^ keys[i + 1])
    return avalanche(total & MASK64)


def xxh3_64(data):
    assert len(data) > 16
    if len(data) <= 240:
        return middle64(data)
    return merge(long_lanes(data), 11, len(data) * P64_1 & MASK64)


def xxh3_128(data):
    """(low, high); only ever used behind a prefix of 256 bytes."""
    assert len(data) > 240
    lanes = long_lanes(data)
    low = merge(lanes, 11, len(data) * P64_1 & MASK64)
    high = merge(lanes, len(SECRET) - STRIPE - 11, ~(len(data) * P64_2) & MASK64)
    return low, high


def digest(domain, tick, data):
    prefix = domain.encode().ljust(32, b"\0") + struct.pack("<Q", tick)
    low, high = xxh3_128(prefix.ljust(256, b"\0") + data)
    return f"{high:016x}{low:016x}"


# --- the format ---


class Damaged(Exception):
    pass


def require(condition, offset, what):
    if not condition:
        raise Damaged(f"byte {offset}: {what}")


class Cursor:
    def __init__(self, data, base=0):
        self.data, self.base, self.at = data, base, 0

    def take(self, count, what):
        require(self.at + count <= len(self.data), self.base + self.at, f"{what}: cut")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def number(self, count, what):
        return int.from_bytes(self.take(count, what), "little")

    def varint(self, what, limit):
        start, value, shift = self.at, 0, 0
        while True:
            byte = self.number(1, what)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            require(shift < 70, self.base + start, f"{what}: too long")
        require(byte != 0 or shift == 7, self.base + start, f"{what}: not the shortest form")
        require(value <= limit, self.base + start, f"{what}: more than {limit}")
        return value

    def hash(self, what):
        low, high = self.number(8, what), self.number(8, what)
        return f"{high:016x}{low:016x}"

    def finish(self, what):
        require(self.at == len(self.data), self.base + self.at, f"{what}: bytes are left over")


MAGIC = bytes.fromhex("8954574e0d0a1a0a")
END_MAGIC = bytes.fromhex("89454e440d0a1a0a")
SYNC_MARKER = 0x454843F6
TICK, CHUNK_END, TRAILER, CHANGES, LOSS = 1, 2, 3, 4, 0x43
CHANGES_FEATURE, LATE_START, NO_SECTION_BYTES, PACKED_FEATURE = 1, 2, 4, 8
KNOWN_FEATURES = CHANGES_FEATURE | LATE_START | NO_SECTION_BYTES | PACKED_FEATURE
FRAME_RECORDS = 1 << 31
LOSS = 0x43


class Recording:
    def __init__(self, data):
        self.data = data
        self.lines = []
        self.ticks = self.chunk = self.record = 0
        self.chunk_ticks = 0
        self.chunk_start = 0
        self.last_chunk_end = 0
        self.frames = self.frame_bytes = self.lost = 0
        self.before = None
        self.closed = False

    def decode(self):
        cursor = Cursor(self.data)
        self.head(cursor)
        self.chunk_start = cursor.at
        while cursor.at < len(self.data):
            require(not self.closed, cursor.at, "bytes follow the trailer")
            self.next_record(cursor)
        return {
            "state": "closed" if self.closed else "open",
            "ticks": str(self.ticks),
            "chunks": self.chunk,
            "chain": self.chain,
            "bytes": len(self.data),
            "signatures": self.signatures.found,
            "lines": self.lines,
        }

    def head(self, cursor):
        require(cursor.take(8, "magic") == MAGIC, 0, "magic")
        major, minor = cursor.number(2, "major"), cursor.number(2, "minor")
        size = cursor.number(4, "preamble.size")
        compatible, read_only = cursor.number(4, "compatible"), cursor.number(4, "read_only")
        incompatible = cursor.number(4, "incompatible")
        reserved = cursor.number(4, "reserved")
        self.session = cursor.take(16, "session")
        reserved_tail = cursor.number(8, "reserved")
        check = cursor.number(8, "preamble.check")
        require(check == xxh3_64(self.data[:56]), 56, "preamble.check")
        require(major == 1, 8, f"major version {major}")
        require(incompatible & ~KNOWN_FEATURES == 0, 24, "incompatible features")
        require(size == 64, 12, "preamble.size")
        require(reserved == 0 and reserved_tail == 0, 28, "reserved bytes must be zero")
        manifest = self.manifest(cursor)
        self.features = incompatible
        self.first = self.first_tick(manifest)
        self.names = manifest["record.sections"].split(" ")
        require(1 <= len(self.names) <= 64, 64, "record.sections")
        require(len(set(self.names)) == len(self.names), 64, "record.sections")
        for name in self.names:
            printable = all("!" <= letter <= "~" for letter in name)
            require(1 <= len(name) <= 63 and printable, 64, "record.sections")
        self.chain = digest("twinstep.head", 0, self.data[: cursor.at])
        late_tick = self.first if self.features & LATE_START else None
        self.signatures = decode_signature.Signatures(self.data[: cursor.at], late_tick)
        self.lines.append(
            {
                "type": "head",
                "major": major,
                "minor": minor,
                "compatible": compatible,
                "read_only": read_only,
                "incompatible": incompatible,
                "session": self.session.hex(),
                "manifest": manifest,
            }
        )

    def first_tick(self, manifest):
        late = bool(self.features & LATE_START)
        text = manifest.get("record.first_tick")
        require(late == (text is not None), 64, "record.first_tick")
        if not late:
            return 0
        require(re.fullmatch("[1-9][0-9]{0,18}", text, re.ASCII), 64, "record.first_tick")
        require(int(text) < 1 << 63, 64, "record.first_tick")
        return int(text)

    def manifest(self, cursor):
        size = cursor.number(4, "manifest.size")
        require(size <= 1 << 20, 64, "manifest.size")
        inner = Cursor(cursor.take(size, "manifest"), cursor.at)
        covered = cursor.at
        check = cursor.number(8, "manifest.check")
        require(check == xxh3_64(self.data[:covered]), covered, "manifest.check")
        manifest, last = {}, b""
        for _ in range(inner.varint("manifest.count", 4096)):
            key = inner.take(inner.varint("key", 1 << 20), "key")
            value = inner.take(inner.varint("value", 1 << 20), "value")
            require(key > last, inner.base + inner.at, "keys must be sorted and unique")
            manifest[key.decode("utf-8")], last = value.decode("utf-8"), key
        inner.finish("manifest")
        return manifest

    def next_record(self, cursor):
        start = cursor.at
        tag = cursor.number(1, "tag")
        require(tag != 0, start, "0 is no tag")
        frame = bool(self.features & CHANGES_FEATURE) and 0x40 <= tag <= 0x7F
        payload = cursor.take(cursor.varint("length", 1 << 20 if frame else 65536), "payload")
        payload_at = cursor.at - len(payload)
        end = cursor.at
        check = cursor.number(4, "check")
        record = FRAME_RECORDS + self.frames if frame else self.record
        place = self.session + struct.pack("<II", self.chunk, record)
        computed = xxh3_64(place + self.data[start:end]) & MASK32
        require(check == computed, start, "the check is wrong")
        inner = Cursor(payload, payload_at)
        if tag == CHUNK_END:
            line = self.chunk_end(inner, start)
        elif tag == TRAILER:
            line = self.trailer(inner)
        elif frame:
            require(self.record == 0, start, "a frame stands inside a chunk")
            if tag == LOSS:
                self.loss(Cursor(payload, payload_at))
            line = self.unknown(inner, tag)
            self.frames += 1
            self.frame_bytes += cursor.at - start
        else:
            line = self.chunk_record(inner, tag)
            self.record += 1
            require(cursor.at - self.chunk_start <= 2 << 20, start, "the chunk is too long")
        inner.finish("record")
        if frame:
            place = (self.chunk, self.first, self.ticks, self.lost, self.chain)
            self.signatures.frame(tag, payload, self.data[start : cursor.at], place)
        elif tag != TRAILER:
            self.signatures.data(self.data[start : cursor.at])
        line["check"] = f"{check:08x}"
        self.lines.append(line)
        if tag == CHUNK_END or frame:
            self.chunk_start = cursor.at

    def chunk_record(self, cursor, tag):
        if tag == TICK or (tag == CHANGES and self.features & CHANGES_FEATURE):
            return self.tick(cursor, tag)
        return self.unknown(cursor, tag)

    def unknown(self, cursor, tag):
        payload = cursor.take(len(cursor.data), "payload")
        return {"type": "record", "tag": tag, "payload": payload.hex()}

    def loss(self, cursor):
        first = cursor.varint("loss.first", (1 << 63) - 1)
        require(first == self.first + self.ticks, cursor.base, "the loss does not follow")
        require(not self.lost, cursor.base, "a second loss")
        self.lost = cursor.varint("loss.ticks", (1 << 63) - 1)
        require(self.lost >= 1, cursor.base, "a loss of nothing")
        cursor.number(1, "loss.reason")
        cursor.finish("loss")

    def tick(self, cursor, tag):
        require(not self.lost, cursor.base, "a tick follows a loss")
        hash32 = cursor.number(4, "hash")
        no_bytes = self.features & NO_SECTION_BYTES
        sections = cursor.take(0 if no_bytes else len(self.names), "sections")
        expected = str(self.first + self.ticks)
        if tag == CHANGES:
            require(self.before is not None, cursor.base, "a chunk begins with changes")
            slots = changed_slots(cursor, self.before)
            frame = {"tick": expected, "events": [], "slots": slots}
        else:
            frame = frame_of(cursor)
            same_shape = self.before is not None and len(self.before) == len(frame["slots"])
            changes = same_shape and not frame["events"] and self.features & CHANGES_FEATURE
            require(not changes, cursor.base, "the tick must be written as changes")
        require(frame["tick"] == expected, cursor.base, "ticks must follow each other")
        self.before = frame["slots"]
        self.ticks += 1
        self.chunk_ticks += 1
        line = {
            "type": "tick",
            "tick": frame["tick"],
            "hash": f"{hash32:08x}",
            "sections": sections.hex(),
            "slots": frame["slots"],
        }
        if frame["events"]:
            line["events"] = frame["events"]
        return line

    def chunk_end(self, cursor, start):
        at = cursor.base
        require(cursor.number(4, "marker") == SYNC_MARKER, at, "sync marker")
        require(cursor.number(4, "number") == self.chunk, at, "chunk number")
        first, last = cursor.number(8, "first"), cursor.number(8, "last")
        require(self.chunk_ticks > 0, at, "a chunk needs a tick")
        require(first == self.first + self.ticks - self.chunk_ticks, at, "first tick")
        require(last == self.first + self.ticks - 1, at, "last tick")
        require(cursor.number(4, "ticks") == self.chunk_ticks, at, "tick count")
        require(cursor.number(4, "records") == self.record, at, "record count")
        require(cursor.number(4, "bytes") == start - self.chunk_start, at, "chunk bytes")
        require(cursor.number(2, "sections") == len(self.names), at, "section count")
        require(cursor.number(2, "reserved") == 0, at, "reserved bytes must be zero")
        back = start - self.last_chunk_end - self.frame_bytes if self.last_chunk_end else 0
        require(cursor.number(8, "back") == back, at, "back offset")
        previous = cursor.hash("previous")
        require(previous == self.chain, at, "previous digest")
        state = cursor.hash("state")
        sections = {name: cursor.hash("section") for name in self.names}
        covered = self.data[self.chunk_start : start] + cursor.data[: cursor.at]
        stored = cursor.hash("digest")
        require(stored == digest("twinstep.chunk", self.chunk, covered), at, "chunk digest")
        line = {
            "type": "chunk_end",
            "chunk": self.chunk,
            "first": str(first),
            "last": str(last),
            "state": state,
            "sections": sections,
            "previous": previous,
            "digest": stored,
        }
        self.chain, self.last_chunk_end = stored, start
        self.chunk += 1
        self.record = self.chunk_ticks = self.frames = self.frame_bytes = 0
        self.before = None
        return line

    def trailer(self, cursor):
        at = cursor.base
        require(self.record == 0, at, "the last chunk has no end")
        require(cursor.number(8, "last_chunk_end") == self.last_chunk_end, at, "last chunk end")
        require(cursor.number(8, "ticks") == self.ticks, at, "tick count")
        require(cursor.number(4, "chunks") == self.chunk, at, "chunk count")
        require(cursor.number(4, "reserved") == 0, at, "reserved bytes must be zero")
        require(cursor.hash("chain") == self.chain, at, "chain")
        require(cursor.take(8, "magic") == END_MAGIC, at, "end magic")
        self.closed = True
        return {"type": "trailer", "ticks": str(self.ticks), "chain": self.chain}


def frame_of(cursor):
    require(len(cursor.data) - cursor.at <= 60 * 1024, cursor.base, "the frame is too long")
    tick = cursor.varint("tick", (1 << 63) - 1)
    shape = cursor.varint("slots", 2 * 4096 + 1)
    events, slots = [], []
    if shape & 1:
        count = cursor.varint("events", 256)
        require(count > 0, cursor.base, "no events although there should be some")
        for _ in range(count):
            event = {"kind": cursor.number(1, "kind")}
            require(event["kind"] != 0, cursor.base, "event kind 0")
            slot = cursor.varint("event.slot", 4096)
            if slot:
                event["slot"] = slot - 1
            event["payload"] = cursor.take(cursor.varint("event.size", 1024), "event").hex()
            events.append(event)
    for _ in range(shape >> 1):
        slots.append(input_of(cursor))
    return {"tick": str(tick), "events": events, "slots": slots}


def input_of(cursor):
    head = cursor.varint("input", 256 * 4 + 3)
    data = cursor.take(head >> 2, "input").hex()
    if not head & 1:
        require(head == 0, cursor.base, "an absent input has bytes or flags")
        return None
    return {"input": data, "substituted": True} if head & 2 else data


def changed_slots(cursor, before):
    """The slots of a tick that is written as what differs from the slots before it."""
    if cursor.at == len(cursor.data):
        return before
    bits = int.from_bytes(cursor.take((len(before) + 7) // 8, "changed"), "little")
    require(0 < bits < 1 << len(before), cursor.base, "bits of changed slots")
    slots = []
    for i, old in enumerate(before):
        new = input_of(cursor) if bits >> i & 1 else old
        require((new != old) == bool(bits >> i & 1), cursor.base, "an input that has not changed")
        slots.append(new)
    return slots


def decode_bytes(data):
    """The decoded recording, of a packed one its open form.

    Raises Damaged at the first byte that is not as the page says.
    """
    try:
        if len(data) >= 64 and data[24] & PACKED_FEATURE:
            data = importlib.import_module("decode_packed").open_form(data)
        return Recording(data).decode()
    except (UnicodeDecodeError, KeyError) as error:
        raise Damaged(f"manifest: {error}") from error


def files_of(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.rglob("*.twin")) if path.is_dir() else [path]


def main(arguments):
    summary = "--summary" in arguments
    paths = [argument for argument in arguments if argument != "--summary"]
    if not paths or paths[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    count, failed = 0, False
    for path in files_of(paths):
        count += 1
        try:
            result = {"file": str(path), **decode_bytes(path.read_bytes())}
            if summary:
                del result["lines"]
            print(json.dumps(result, ensure_ascii=False))
        except (Damaged, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
    if count == 0:
        print("no recording was found", file=sys.stderr)
        return 6
    return 1 if failed else 0


if __name__ == "__main__":
    # As a module, so that decode_packed raises the same Damaged.
    sys.exit(importlib.import_module("decode_twin").main(sys.argv[1:]))
