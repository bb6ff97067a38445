# SPDX-License-Identifier: MIT
"""Turns packed .twin recordings into their open form, from docs/recording-format.md alone.

What it writes is checked by decode_twin like any open file. Content that is compressed needs
libzstd, which is looked for at run time; stored content needs nothing.
"""
import ctypes
import ctypes.util
import struct

import decode_twin
from decode_twin import Cursor, require

PACKED = 0x40
PACKED_MARKER = bytes.fromhex("f650414b")
COLUMNS, STATES_LEFT_OUT = 1, 2  # bits of the layout
CONTENT_MAX, OPEN_MAX = 1 << 20, 4 << 20


def has_zstd():
    return ctypes.util.find_library("zstd") is not None


def unzip(data, size):
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    for function in (zstd.ZSTD_decompress, zstd.ZSTD_findFrameCompressedSize):
        function.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    zstd.ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    require(zstd.ZSTD_findFrameCompressedSize(data, len(data)) == len(data), 0, "not one frame")
    target = ctypes.create_string_buffer(max(size, 1))
    require(zstd.ZSTD_decompress(target, size, data, len(data)) == size, 0, "content size")
    return target.raw[:size]


def varint(value):
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


class OpenForm:
    """Writes an open file from its records."""

    def __init__(self, data):
        reader = decode_twin.Recording(data)
        cursor = Cursor(data)
        reader.head(cursor)
        self.session, self.sections = reader.session, len(reader.names)
        self.first, self.features = reader.first, reader.features & ~decode_twin.PACKED_FEATURE
        self.section_bytes = 0 if reader.features & decode_twin.NO_SECTION_BYTES else self.sections
        head = bytearray(data[: cursor.at])
        head[24:28] = self.features.to_bytes(4, "little")
        head[56:64] = decode_twin.xxh3_64(bytes(head[:56])).to_bytes(8, "little")
        head[-8:] = decode_twin.xxh3_64(bytes(head[:-8])).to_bytes(8, "little")
        self.out = head
        self.chain = decode_twin.digest("twinstep.head", 0, bytes(head))
        self.chunk = self.record = self.frames = self.frame_bytes = 0
        self.ticks = self.chunk_ticks = self.last_chunk_end = 0
        self.chunk_start = len(head)
        self.before = None
        self.rest = cursor

    def append(self, tag, payload, number):
        record = bytes([tag]) + varint(len(payload)) + payload
        place = self.session + struct.pack("<II", self.chunk, number)
        check = decode_twin.xxh3_64(place + record) & decode_twin.MASK32
        self.out += record + check.to_bytes(4, "little")
        return len(record) + 4

    def data(self, tag, payload):
        self.append(tag, payload, self.record)
        self.record += 1

    def tick(self, front, slots, events):
        """`slots` are the inputs as they are encoded, `events` too, with their count."""
        same = self.before is not None and len(self.before) == len(slots) and not events
        if same and self.features & decode_twin.CHANGES_FEATURE:
            bits = sum(1 << i for i, slot in enumerate(slots) if slot != self.before[i])
            changed = b"".join(slot for i, slot in enumerate(slots) if bits >> i & 1)
            bitmap = bits.to_bytes((len(slots) + 7) // 8, "little") if bits else b""
            self.data(decode_twin.CHANGES, front + bitmap + changed)
        else:
            shape = varint(2 * len(slots) + bool(events))
            frame = varint(self.first + self.ticks) + shape + events + b"".join(slots)
            self.data(decode_twin.TICK, front + frame)
        self.before = slots
        self.ticks += 1
        self.chunk_ticks += 1

    def chunk_end(self, hashes):
        start, next_tick = len(self.out), self.first + self.ticks
        back = start - self.last_chunk_end - self.frame_bytes if self.last_chunk_end else 0
        payload = struct.pack(
            "<IIQQIIIHHQ",
            decode_twin.SYNC_MARKER,
            self.chunk,
            next_tick - self.chunk_ticks,
            next_tick - 1,
            self.chunk_ticks,
            self.record,
            start - self.chunk_start,
            self.sections,
            0,
            back,
        )
        payload += bytes.fromhex(self.chain)[::-1] + hashes
        covered = bytes(self.out[self.chunk_start :]) + payload
        self.chain = decode_twin.digest("twinstep.chunk", self.chunk, covered)
        self.append(decode_twin.CHUNK_END, payload + bytes.fromhex(self.chain)[::-1], self.record)
        self.last_chunk_end = start
        self.chunk += 1
        self.record = self.chunk_ticks = self.frames = self.frame_bytes = 0
        self.chunk_start = len(self.out)
        self.before = None

    def other(self, tag, payload):
        """A frame, or the trailer."""
        require(self.record == 0, len(self.out), "a frame stands inside a chunk")
        if tag == decode_twin.TRAILER:
            self.append(tag, payload, 0)
            return
        require(self.features & decode_twin.CHANGES_FEATURE, len(self.out), "a frame in 1.0")
        self.frame_bytes += self.append(tag, payload, decode_twin.FRAME_RECORDS + self.frames)
        self.frames += 1
        self.chunk_start = len(self.out)


class Content:
    """The unpacked content of a packed frame, written into an open form."""

    def __init__(self, form, payload):
        self.form = form
        cursor = Cursor(payload)
        require(cursor.take(4, "marker") == PACKED_MARKER, 0, "packed marker")
        codec, layout = cursor.number(1, "codec"), cursor.number(1, "layout")
        require(codec <= 1 and layout <= 3, 4, "codec or layout")
        self.state_bytes = 0 if layout & STATES_LEFT_OUT else 16
        self.chunks = cursor.varint("chunks", len(payload))
        self.ticks = cursor.varint("ticks", len(payload))
        self.tail = cursor.varint("tail", OPEN_MAX)
        size = cursor.varint("size", CONTENT_MAX)
        require(self.chunks or self.tail, 0, "an empty packed frame")
        self.hashes = Cursor(cursor.take(4 * self.ticks, "hashes"))
        self.section_bytes = Cursor(cursor.take(form.section_bytes * self.ticks, "sections"))
        self.end_bytes = self.state_bytes + 16 * form.sections
        self.states = Cursor(cursor.take(self.end_bytes * self.chunks, "states"))
        stored = cursor.take(len(payload) - cursor.at, "content")
        require(size <= 1000 * len(payload) + 999, 0, "content grows too much")
        content = unzip(stored, size) if codec else stored
        require(len(content) == size, 0, "content size")
        self.cursor = Cursor(content)
        start = len(form.out)
        (self.columns if layout & COLUMNS else self.rows)()
        self.cursor.finish("content")
        for part in (self.hashes, self.section_bytes, self.states):
            part.finish("raw part")
        require(len(form.out) - start <= OPEN_MAX, 0, "too much in one frame")

    def front(self):
        sections = self.section_bytes.take(self.form.section_bytes, "sections")
        return self.hashes.take(4, "hash") + sections

    def end(self):
        hashes = self.states.take(self.end_bytes, "states")
        if not self.state_bytes:
            after = self.form.first + self.form.ticks
            hashes = (
                bytes.fromhex(decode_twin.digest("twinstep.state", after, hashes))[::-1] + hashes
            )
        self.form.chunk_end(hashes)

    def rows(self):
        cursor, form = self.cursor, self.form
        while cursor.at < len(cursor.data):
            tag = cursor.number(1, "tag")
            if tag == decode_twin.CHUNK_END:
                self.end()
                continue
            payload = cursor.take(cursor.varint("length", 65536), "payload")
            inner = Cursor(payload)
            if tag == decode_twin.TICK:
                inner.varint("tick", (1 << 63) - 1)
                shape = inner.varint("shape", 8193)
                events = events_of(inner) if shape & 1 else b""
                slots = [raw_input(inner) for _ in range(shape >> 1)]
                form.tick(self.front(), slots, events)
            elif tag == decode_twin.CHANGES and form.features & decode_twin.CHANGES_FEATURE:
                slots = list(form.before)
                bitmap = inner.take((len(slots) + 7) // 8 if payload else 0, "changed")
                for i in range(len(slots)):
                    if int.from_bytes(bitmap, "little") >> i & 1:
                        slots[i] = raw_input(inner)
                form.tick(self.front(), slots, b"")
            else:
                form.data(tag, inner.take(len(payload), "payload"))
            inner.finish("row")

    def runs(self, ticks, limit):
        """A value for each tick."""
        values = []
        while len(values) < ticks:
            count = self.cursor.varint("run", ticks - len(values))
            require(count > 0, self.cursor.at, "an empty run")
            values += [self.cursor.varint("run value", limit)] * count
        return values

    def columns(self):
        cursor = self.cursor
        chunks = [cursor.varint("chunk", self.ticks) for _ in range(self.chunks)]
        slots = self.runs(self.ticks, 4096)
        events, at = {}, 0
        for _ in range(cursor.varint("events", self.ticks)):
            at += cursor.varint("event tick", self.ticks)
            events[at] = cursor.take(cursor.varint("events size", CONTENT_MAX), "events")
        records, at = {}, 0
        for _ in range(cursor.varint("records", CONTENT_MAX)):
            place = cursor.varint("record place", 2 * self.ticks + 1)
            at += place >> 1
            tag = cursor.number(1, "tag")
            payload = cursor.take(cursor.varint("record size", 65536), "record")
            records.setdefault((at, place & 1), []).append((tag, payload))
        heads = []
        for slot in range(max(slots, default=0)):
            heads.append(iter(self.runs(sum(count > slot for count in slots), 1027)))
        heads = [list(values) for values in heads]
        inputs = [iter(self.bytes_of(values)) for values in heads]
        ends = {sum(chunks[: i + 1]) for i in range(len(chunks))}
        for tick in range(self.ticks + 1):
            for is_after in (0, 1):
                for tag, payload in records.pop((tick, is_after), []):
                    self.form.data(tag, payload)
                if not is_after and tick in ends:
                    self.end()
            if tick < self.ticks:
                row = [next(inputs[slot]) for slot in range(slots[tick])]
                self.form.tick(self.front(), row, events.pop(tick, b""))
        require(not records and not events, cursor.at, "a record or an event without a place")

    def bytes_of(self, heads):
        """The encoded inputs of a slot, out of its columns."""
        rows = [bytearray() for _ in heads]
        for position in range(max((head >> 2 for head in heads), default=0)):
            longer = [i for i, head in enumerate(heads) if head >> 2 > position]
            for i, byte in zip(longer, self.cursor.take(len(longer), "column")):
                rows[i].append(byte)
        return [varint(head) + bytes(row) for head, row in zip(heads, rows)]


def raw_input(cursor):
    head = cursor.varint("input", 1027)
    return varint(head) + cursor.take(head >> 2, "input")


def events_of(cursor):
    start = cursor.at
    for _ in range(cursor.varint("events", 256)):
        cursor.number(1, "kind")
        cursor.varint("event.slot", 4096)
        cursor.take(cursor.varint("event.size", 1024), "event")
    return cursor.data[start : cursor.at]


def open_form(data):
    """The bytes of the open form. Raises decode_twin.Damaged."""
    form = OpenForm(data)
    cursor = form.rest
    while cursor.at < len(data):
        start = cursor.at
        tag = cursor.number(1, "tag")
        payload = cursor.take(cursor.varint("length", 1 << 20), "payload")
        end = cursor.at
        check = cursor.number(4, "check")
        numbers = {PACKED: decode_twin.MASK32 - form.record, decode_twin.TRAILER: form.record}
        number = numbers.get(tag, decode_twin.FRAME_RECORDS + form.frames)
        place = form.session + struct.pack("<II", form.chunk, number)
        computed = decode_twin.xxh3_64(place + data[start:end]) & decode_twin.MASK32
        require(check == computed, start, "the check is wrong")
        if tag != PACKED:
            require(tag == decode_twin.TRAILER or 0x41 <= tag <= 0x7F, start, "no frame")
            form.other(tag, payload)
            continue
        chunk, ticks, record = form.chunk, form.ticks, form.record
        content = Content(form, payload)
        require(form.chunk == chunk + content.chunks, start, "chunks in the frame")
        require(form.ticks == ticks + content.ticks, start, "ticks in the frame")
        before = 0 if content.chunks else record
        require(form.record == before + content.tail, start, "records after the last chunk end")
    return bytes(form.out)
