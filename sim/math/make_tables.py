#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes sim/include/twinstep/sim/math/tables.hpp: constants, tables and polynomials of sim/math.

    make_tables.py           write the header
    make_tables.py --check   exit 1 if the header is not what this script makes

Everything is computed here from its definition with the standard library's decimal, 130 digits, so
that no number has to be believed. A value named with hi and lo is the sum of two doubles: hi is the
nearest double, lo the nearest double to the rest. Polynomials interpolate at Chebyshev nodes, which
is within a small factor of the best polynomial of that degree; the bound of each is printed next to
it, computed at 2,000 points.
"""
import argparse
import os
import struct
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 130
D = Decimal
TARGET = "../include/twinstep/sim/math/tables.hpp"
COLUMNS = 100


def atan_inverse(n):
    """atan(1/n) for an integer n, by its series."""
    total, power, k = D(0), D(1) / n, 0
    while abs(power) > D(10) ** -128:
        total += power / (2 * k + 1) * (-1) ** k
        power /= n * n
        k += 1
    return total


PI = 4 * (4 * atan_inverse(5) - atan_inverse(239))  # Machin
LN2 = D(2).ln()
LN10 = D(10).ln()


def sin(x):
    total, term, k = D(0), x, 1
    while abs(term) > D(10) ** -128:
        total += term
        term = -term * x * x / ((k + 1) * (k + 2))
        k += 2
    return total


def cos(x):
    total, term, k = D(0), D(1), 0
    while abs(term) > D(10) ** -128:
        total += term
        term = -term * x * x / ((k + 1) * (k + 2))
        k += 2
    return total


def atan(x):
    """For |x| <= 1: the argument is halved three times, then the series."""
    for _ in range(3):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, k = D(0), x, 0
    while abs(power) > D(10) ** -128:
        total += power / (2 * k + 1) * (-1) ** k
        power *= x * x
        k += 1
    return total * 8


def image(value):
    """The bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def nearest(value):
    """The double nearest to a Decimal; the division of integers in Python rounds correctly."""
    fraction = Fraction(value)
    return fraction.numerator / fraction.denominator


def pair(value):
    hi = nearest(value)
    return hi, nearest(value - D(hi))


def cut(value, bits):
    """The double nearest to a Decimal among those of so many significant bits."""
    hi = nearest(value)
    low = 53 - bits
    rounded = (image(hi) + (1 << (low - 1))) >> low << low
    return struct.unpack("<d", struct.pack("<Q", rounded))[0]


def interpolate(function, low, high, degree):
    """The coefficients, lowest first, of the polynomial that is right at the Chebyshev nodes."""
    low, high = D(low), D(high)
    nodes = [
        (low + high) / 2 + (high - low) / 2 * cos(PI * (2 * i + 1) / (2 * degree + 2))
        for i in range(degree + 1)
    ]
    values = [function(node) for node in nodes]
    for step in range(1, degree + 1):  # divided differences
        for i in range(degree, step - 1, -1):
            values[i] = (values[i] - values[i - 1]) / (nodes[i] - nodes[i - step])
    coefficients = [D(0)] * (degree + 1)
    for i in range(degree, -1, -1):  # times (x - node), plus the next value
        for j in range(degree, 0, -1):
            coefficients[j] = coefficients[j - 1] - nodes[i] * coefficients[j]
        coefficients[0] = values[i] - nodes[i] * coefficients[0]
    return coefficients


def bound(function, coefficients, low, high, weight):
    """The exponent of two of the greatest |polynomial - function| * weight on the interval."""
    worst = D(0)
    for i in range(2001):
        x = D(low) + (D(high) - D(low)) * i / 2000
        if x == 0:
            continue
        value = sum(D(c) * x**k for k, c in enumerate(coefficients))
        worst = max(worst, abs((value - function(x)) * weight(x)))
    return float(worst.ln() / LN2)


OUT = []


def note(text):
    words, line = text.split(), "///"
    for word in words:
        if len(line) + 1 + len(word) > COLUMNS:
            OUT.append(line)
            line = "///"
        line += " " + word
    OUT.append(line)


def emit(name, values, kind="double"):
    if not isinstance(values, list):
        OUT.append(f"inline constexpr {kind} {name} = {show(values)};")
        return
    OUT.append(f"inline constexpr {kind} {name}[{len(values)}] = {{")
    line = "   "
    for value in values:
        text = show(value) + ","
        if len(line) + 1 + len(text) > COLUMNS:
            OUT.append(line)
            line = "   "
        line += " " + text
    OUT.append(line)
    OUT.append("};")


def show(value):
    if isinstance(value, int):
        return f"0x{value:016x}" if value >> 32 else f"0x{value:08x}"
    text = float(value).hex()
    mantissa, exponent = text.split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return "0.0" if value == 0 else f"{mantissa}p{exponent}"


def emit_pairs(name, values):
    pairs = [pair(value) for value in values]
    emit(name, [hi for hi, _ in pairs])
    emit(name + "_lo", [lo for _, lo in pairs])


def emit_pair(name, value):
    hi, lo = pair(value)
    emit(name, hi)
    emit(name + "_lo", lo)


def polynomial(name, what, function, low, high, degree, weight):
    coefficients = [nearest(c) for c in interpolate(function, low, high, degree)]
    worst = bound(function, coefficients, low, high, weight)
    note(f"{what} Off by at most 2^{worst:.1f} of the result.")
    emit(name, coefficients)


def constants():
    note("Table steps an e-fold, an octave and a decade have, and back: a step is 1/128 octave.")
    emit_pair("exp_steps", 128 / LN2)
    emit_pair("exp10_steps", 128 * LN10 / LN2)
    emit_pair("exp_step", LN2 / 128)
    note("Logarithms of 2, and what makes natural logarithms those to base 2 and 10.")
    emit_pair("ln2", LN2)
    emit_pair("inverse_ln2", 1 / LN2)
    emit_pair("inverse_ln10", 1 / LN10)
    note(
        "Trigonometric table steps a radian: a step is 1/128 turn. 29 bits, so that a product with "
        "a float is exact; the rest; and the way back."
    )
    head = cut(64 / PI, 29)
    emit("trig_steps", head)
    emit("trig_steps_rest", nearest(64 / PI - D(head)))
    emit_pair("trig_step", PI / 64)
    emit_pair("pi", PI)
    emit_pair("half_pi", PI / 2)
    note("The bits of 1 / (2 pi) behind the binary point, 32 a word; one word of zeros in front.")
    scaled = int(1 / (2 * PI) * D(2) ** 384)
    emit(
        "turns", [0] + [scaled >> (32 * i) & 0xFFFFFFFF for i in range(11, -1, -1)], "std::uint32_t"
    )

    note("The same, 32 bits from every eighth bit on.")
    scaled = int(1 / (2 * PI) * D(2) ** 384)
    emit(
        "turns_by_byte",
        [(scaled >> (384 + 32 - 32 - 8 * i)) & 0xFFFFFFFF for i in range(27)],
        "std::uint32_t",
    )


def series():
    factorial = [D(1)]
    for i in range(1, 17):
        factorial.append(factorial[-1] * i)
    note("1 / n! for n = 0..16.")
    emit_pairs("inverse_factorial", [1 / f for f in factorial])
    note("1 / (2 n + 1) for n = 0..8.")
    emit_pairs("inverse_odd", [D(1) / (2 * n + 1) for n in range(9)])


def tables():
    note(
        "The bits of 2^(i / 128) less i * 2^45: adding n * 2^45, where i is n mod 128, gives the "
        "bits of 2^(n / 128)."
    )
    powers = [pair((LN2 * i / 128).exp()) for i in range(128)]
    emit("exp_table", [image(hi) - (i << 45) for i, (hi, _) in enumerate(powers)], "std::uint64_t")
    note("The rest of 2^(i / 128).")
    emit("exp_table_lo", [lo for _, lo in powers])
    note(
        "Reciprocals of the middles of the 256 intervals that [0.6875, 1.375) is divided in, of 20 "
        "bits, so that a product with a float is exact, but 1 on either side of 1; and minus their "
        "natural logarithms."
    )
    inverses = []
    for i in range(256):
        low = D("0.6875") + D(i) / 512 if i < 160 else 1 + D(i - 160) / 256
        width = D(1) / 512 if i < 160 else D(1) / 256
        inverses.append(1.0 if i in (159, 160) else cut(1 / (low + width / 2), 20))
    logs = [pair(-D(c).ln()) for c in inverses]
    OUT.append("struct Interval {")
    OUT.append("    double inverse;")
    OUT.append("    double log;")
    OUT.append("};")
    OUT.append("inline constexpr Interval log_table[256] = {")
    for inverse, (hi, _) in zip(inverses, logs):
        OUT.append(f"    {{{show(inverse)}, {show(hi)}}},")
    OUT.append("};")
    note("The rests of the logarithms.")
    emit("log_table_lo", [lo for _, lo in logs])
    note("sin(2 pi i / 128) and cos(2 pi i / 128), in turn.")
    both = []
    for i in range(128):
        both += [exact_sin(i), exact_sin(i + 32)]
    emit_pairs("sincos_table", both)
    note("atan(i / 64).")
    emit_pairs("atan_table", [atan(D(i) / 64) for i in range(65)])


def exact_sin(i):
    return D(0) if i % 64 == 0 else sin(2 * PI * (i % 128) / 128)


def polynomials():
    half = D("0.5001")
    step = LN2 / 128

    def expm1_over(r):  # by its series, as r may be next to 0
        total, term, k = D(0), step, 1
        while abs(term) > D(10) ** -128:
            total += term
            k += 1
            term *= r * step / k
        return total

    parts = interpolate(expm1_over, -half, half, 2)
    last = parts[2]
    short = [nearest(c / last) for c in [D(1)] + parts[:2]]
    worst = bound(lambda r: (r * step).exp() / last, short + [1.0], -half, half, lambda r: last)
    note(
        "2^(r / 128) for r in [-0.5, 0.5], divided by the coefficient of r^3, which is 1 then. "
        f"Off by at most 2^{worst:.1f} of the result."
    )
    emit("exp_short", short)
    note(
        "The bits of 2^(i / 128) times that coefficient, less i * 2^45: adding n * 2^45, where i "
        "is n mod 128, makes it 2^(n / 128) times the coefficient."
    )
    emit(
        "exp_short_table",
        [image(nearest((LN2 * i / 128).exp() * last)) - (i << 45) for i in range(128)],
        "std::uint64_t",
    )
    polynomial(
        "exp_long",
        "(2^(r / 128) - 1) / r for r in [-0.5, 0.5].",
        expm1_over,
        -half,
        half,
        4,
        lambda r: 1 / step,
    )

    def log_tail(r):
        return ((1 + r).ln() - r) / (r * r)

    low, high = D(-1) / 350, D(1) / 256
    polynomial(
        "log_short",
        "(log(1 + r) - r) / r^2 for r in [-1/350, 1/256].",
        log_tail,
        low,
        high,
        2,
        lambda r: r,
    )
    polynomial(
        "log_long",
        "The same for |r| <= 1/256, for pow and for a second look.",
        log_tail,
        -high,
        high,
        5,
        lambda r: r,
    )

    def sin_over(u):
        r = u.sqrt()
        return sin(r * PI / 64) / r

    def cosm1_over(u):
        return (cos(u.sqrt() * PI / 64) - 1) / u

    quarter = half * half
    polynomial(
        "sin_poly",
        "sin(r pi / 64) / r in u = r^2, for |r| <= 0.5.",
        sin_over,
        D("1e-12"),
        quarter,
        2,
        lambda u: 64 / PI,
    )
    polynomial(
        "cos_poly",
        "(cos(r pi / 64) - 1) / u in u = r^2, for |r| <= 0.5.",
        cosm1_over,
        D("1e-12"),
        quarter,
        1,
        lambda u: u,
    )

    def atan_tail(u):
        t = u.sqrt()
        return (atan(t) / t - 1) / u

    polynomial(
        "atan_poly",
        "(atan(t) / t - 1) / u in u = t^2, for |t| <= 1/128.",
        atan_tail,
        D("1e-12"),
        D("1.001") / 16384,
        1,
        lambda u: u,
    )


def header():
    OUT.extend(
        [
            "// SPDX-License-Identifier: MIT",
            "// Constants, tables and polynomials of sim/math; made by sim/math/make_tables.py.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            "// clang-format off",
            "namespace twinstep::math::detail {",
            "",
        ]
    )
    for part in (constants, series, polynomials, tables):
        part()
        OUT.append("")
    OUT.extend(["} // namespace twinstep::math::detail", "", "// clang-format on", ""])
    return "\n".join(OUT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), TARGET)
    text = header()
    if not arguments.check:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return 0
    with open(path, encoding="utf-8", newline="") as file:
        if file.read() == text:
            return 0
    print(f"{path} is not what make_tables.py makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
