# SPDX-License-Identifier: MIT
"""Signatures, from docs/recording-format.md and RFC 8032 alone. Slow, and for public data only."""
import hashlib
import struct

# --- Ed25519, RFC 8032 section 5.1 ---

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # a square root of -1


def recover_x(y, sign):
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    return x if x & 1 == sign else P - x


def point_of(data):
    y = int.from_bytes(data, "little")
    x = recover_x(y & (1 << 255) - 1, y >> 255)
    return None if x is None else (x, y & (1 << 255) - 1, 1, x * (y & (1 << 255) - 1) % P)


def add(left, right):
    a = (left[1] - left[0]) * (right[1] - right[0]) % P
    b = (left[1] + left[0]) * (right[1] + right[0]) % P
    c = 2 * left[3] * right[3] * D % P
    d = 2 * left[2] * right[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(factor, point):
    total = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            total = add(total, point)
        point, factor = add(point, point), factor >> 1
    return total


BASE_Y = 4 * pow(5, -1, P) % P
BASE = (recover_x(BASE_Y, 0), BASE_Y, 1, recover_x(BASE_Y, 0) * BASE_Y % P)


def is_signed(key, message, signature):
    key_point, nonce_point = point_of(key), point_of(signature[:32])
    factor = int.from_bytes(signature[32:], "little")
    if key_point is None or nonce_point is None or factor >= ORDER:
        return False
    challenge = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(challenge, "little") % ORDER
    left, right = times(factor, BASE), add(nonce_point, times(challenge, key_point))
    return all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))


# --- the page ---

SIGNATURE, KEYFRAME = 0x42, 0x41


def blake2b(domain):
    """BLAKE2b-256 behind a domain; give it the data."""
    return hashlib.blake2b(domain.encode().ljust(32, b"\0"), digest_size=32)


class Signatures:
    """The running digest of a recording's open form, and what each signature frame comes to."""

    def __init__(self, head, late_tick):
        self.content = blake2b("twinstep.content")
        self.content.update(head)
        self.late_tick = late_tick  # None without a late start
        self.found = []

    def data(self, record):
        """A data record or a chunk end, whole."""
        self.late_tick = None
        self.content.update(record)

    def frame(self, tag, payload, record, place):
        """`place`: chunks, first tick, ticks, lost ticks and chain of where the frame stands."""
        begins = tag == KEYFRAME and len(payload) >= 8 and self.late_tick is not None
        if begins and int.from_bytes(payload[:8], "little") == self.late_tick:
            self.content.update(record)
        else:
            self.late_tick = None
        if tag == SIGNATURE:
            self.found.append(self.judge(payload, place))

    def judge(self, payload, place):
        if len(payload) != 144 or payload[:2] != b"\1\1":
            return {"verdict": "unknown"}
        ends, reserved, chunks, first, ticks, lost, low, high = struct.unpack_from(
            "<BBI5Q", payload, 2
        )
        if ends > 1 or reserved or (lost and not ends) or not chunks or not ticks:
            return {"verdict": "unknown"}
        key, signature = payload[48:80], payload[80:]
        claimed = (chunks, first, ticks, lost, f"{high:016x}{low:016x}")
        actual = (*place[:3], place[3] if ends else 0, place[4])
        message = blake2b("twinstep.signature")
        message.update(payload[:80] + self.content.digest())
        holds = claimed == actual and is_signed(key, message.digest(), signature)
        return {
            "verdict": "valid" if holds else "invalid",
            "key": key.hex(),
            "ticks": str(ticks),
            "ends": bool(ends),
        }
