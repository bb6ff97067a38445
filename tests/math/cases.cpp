// SPDX-License-Identifier: MIT
// The cases of the sweep: all floats in order; pairs made so that hard ones are among them.
#include "functions.hpp"
#include "test_random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace math_sweep {

namespace {

constexpr std::uint32_t floats_in_block = 1U << 20;
constexpr std::uint32_t pairs_in_block = 1U << 18;

struct Pair {
    float first;
    float second;
};

float float_of(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// In [low, high), on a grid of 2^-32 of the range.
double between(TestRandom& random, double low, double high) {
    return low + (high - low) * (static_cast<double>(random.bits() >> 32) * 0x1p-32);
}

/// A float whose exponent is uniform in [low, high).
float with_exponent(TestRandom& random, int low, int high) {
    const auto exponent =
        low + static_cast<int>(random.below(static_cast<std::size_t>(high - low)));
    const std::uint64_t mantissa = random.bits() >> 41;
    return float_of((static_cast<std::uint64_t>(exponent + 127) << 23) | mantissa);
}

/// value * 2^exponent, for results that may be subnormal or infinite.
float shifted(double value, int exponent) {
    for (; exponent > 0; --exponent) {
        value *= 2;
    }
    for (; exponent < 0; ++exponent) {
        value /= 2;
    }
    return static_cast<float>(value);
}

/// A float and, one time in two, a neighbour of it.
float or_neighbour(TestRandom& random, float x) {
    const std::uint64_t choice = random.below(4);
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return choice == 0 ? float_of(bits + 1U) : choice == 1 ? float_of(bits - 1U) : x;
}

constexpr std::array<std::uint32_t, 28> special_bits{
    0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x2f800000,
    0x33800000, 0x34000000, 0x3e800000, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001,
    0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x43150000, 0x43160000, 0x4b7fffff,
    0x4b800000, 0x4b800001, 0x4c000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000,
};

float special(TestRandom& random) {
    const std::uint32_t sign = random.below(2) == 0 ? 0 : 0x80000000;
    return float_of(special_bits[random.below(special_bits.size())] | sign);
}

Pair any_pair(TestRandom& random) {
    const std::uint64_t bits = random.bits();
    return {float_of(bits), float_of(bits >> 32)};
}

/// The kinds every function has: any bits for `any_kinds` of them, then special values.
std::optional<Pair> common_case(TestRandom& random, std::size_t kind, std::size_t any_kinds) {
    if (kind < any_kinds) {
        return any_pair(random);
    }
    if (kind < any_kinds + 2) {
        return Pair{special(random),
                    random.below(2) == 0 ? special(random) : float_of(random.bits())};
    }
    if (kind == any_kinds + 2) {
        return Pair{float_of(random.bits()), special(random)};
    }
    return std::nullopt;
}

// What follows are the kinds of hard cases of pow. No function of the library under test is used.

/// y such that x^y is about 2^`goal`, from a straight line for the logarithm.
Pair pow_towards(float x, double goal) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const double exponent = static_cast<int>(bits >> 23) - 127;
    const double mantissa = (bits & 0x7fffff) * 0x1p-23;
    const double line = exponent + mantissa;
    return {x, line == 0.0 ? 3.0F : static_cast<float>(goal / line)};
}

Pair pow_of_any_size(TestRandom& random) {
    const float x = with_exponent(random, -126, 128);
    return pow_towards(x, between(random, -152.0, 130.0));
}

/// Bases that differ from 1 by a few units of the last place, and great exponents.
Pair pow_near_one(TestRandom& random) {
    const auto steps = static_cast<std::uint32_t>(1 + random.below(4096));
    const bool below = random.below(2) == 0;
    const double distance = below ? -0x1p-24 * steps : 0x1p-23 * steps;
    const float x = float_of(below ? 0x3f800000 - steps : 0x3f800000 + steps);
    return {x, static_cast<float>(between(random, -105.0, 90.0) / distance)};
}

/// Results about 1, where the last bits of the exponent's product count.
Pair pow_to_one(TestRandom& random) {
    const float x = with_exponent(random, -126, 128);
    return pow_towards(x, between(random, -0x1p-20, 0x1p-20));
}

Pair pow_subnormal(TestRandom& random) {
    const float x = with_exponent(random, -126, 128);
    return pow_towards(x, between(random, -151.0, -125.0));
}

/// Odd numbers to powers that fit into 25 bits, scaled, also by roots; and their neighbours.
Pair pow_exact(TestRandom& random) {
    const auto power = static_cast<int>(2 + random.below(14));
    double greatest = 3;
    const auto fits = [&](double base) {
        double product = 1;
        for (int i = 0; i < power; ++i) {
            product *= base;
        }
        return product < 0x1p+25;
    };
    while (fits(greatest + 2)) {
        greatest += greatest < 100 ? 2 : 50;
    }
    const double base =
        3 + 2 * static_cast<double>(random.below(static_cast<std::size_t>(greatest / 2)));
    const auto roots = static_cast<int>(random.below(4));
    double root = base;
    for (int i = 0; i < roots; ++i) {
        root *= root; // base^(2^roots), which may not fit into a float; then it is just a case
    }
    const int scale = (static_cast<int>(random.below(21)) - 10) * (1 << roots);
    const float x = shifted(root, root < 0x1p+24 ? scale : 0);
    const double exponent = static_cast<double>(power) / (1 << roots);
    return {or_neighbour(random, x), or_neighbour(random, static_cast<float>(exponent))};
}

Pair pow_of_integers(TestRandom& random) {
    const auto base = static_cast<float>(random.below(2001)) - 1000.0F;
    const auto power = static_cast<float>(random.below(129)) - 64.0F;
    return {base, power};
}

Pair pow_case(TestRandom& random) {
    const std::size_t kind = random.below(64);
    if (const auto common = common_case(random, kind, 4)) {
        return *common;
    }
    if (kind == 7) {
        return pow_exact(random);
    }
    if (kind < 10) {
        return pow_of_integers(random);
    }
    if (kind < 20) {
        return pow_near_one(random);
    }
    if (kind < 26) {
        return pow_to_one(random);
    }
    if (kind < 32) {
        return pow_subnormal(random);
    }
    return pow_of_any_size(random);
}

float any_sign(TestRandom& random, float x) {
    const std::uint32_t sign = random.below(2) == 0 ? 0 : 0x80000000;
    return float_of(std::bit_cast<std::uint32_t>(x) ^ sign);
}

/// Quotients that are subnormal and exactly halfway between two floats, or next to it.
Pair atan2_halfway(TestRandom& random) {
    const auto bits = static_cast<int>(1 + random.below(12));
    const auto divisor = static_cast<double>((random.bits() >> (64 - bits)) | 1);
    const auto odd = static_cast<double>((random.bits() >> (40 + bits + 1)) | 1);
    const auto exponent = static_cast<int>(random.below(100));
    return {or_neighbour(random, shifted(odd * divisor, exponent - 149)),
            shifted(divisor, exponent + 1)};
}

Pair atan2_case(TestRandom& random) {
    const std::size_t kind = random.below(64);
    Pair made{};
    if (const auto common = common_case(random, kind, 8)) {
        return *common;
    }
    if (kind == 11) {
        made = atan2_halfway(random);
    } else if (kind < 16) { // next to the diagonals
        const float x = with_exponent(random, -126, 127);
        made = {or_neighbour(random, or_neighbour(random, x)), x};
    } else if (kind < 24) { // subnormal quotients
        made = {with_exponent(random, -126, -40), with_exponent(random, 20, 127)};
    } else if (kind < 32) { // integers
        made = {static_cast<float>(random.below(4096)), static_cast<float>(random.below(4096))};
    } else {
        made = {with_exponent(random, -14, 14), with_exponent(random, -14, 14)};
    }
    return {any_sign(random, made.first), any_sign(random, made.second)};
}

/// Legs of right triangles with integer sides of which the longest has 25 bits: exactly halfway.
Pair hypot_halfway(TestRandom& random) {
    const auto m = static_cast<double>(4096 + random.below(1700));
    const auto n = static_cast<double>(1 + random.below(4095));
    const int exponent = static_cast<int>(random.below(200)) - 140;
    return {shifted(m * m - n * n, exponent), or_neighbour(random, shifted(2 * m * n, exponent))};
}

/// One leg moves the other by about half a unit of its last place.
Pair hypot_flat(TestRandom& random) {
    const float x = with_exponent(random, -100, 127);
    const double share = between(random, 0x1p-14, 0x1p-11);
    return {x, static_cast<float>(static_cast<double>(x) * share)};
}

Pair hypot_case(TestRandom& random) {
    const std::size_t kind = random.below(64);
    Pair made{};
    if (const auto common = common_case(random, kind, 8)) {
        return *common;
    }
    if (kind == 11) {
        made = hypot_halfway(random);
    } else if (kind < 20) {
        made = hypot_flat(random);
    } else if (kind < 24) { // next to overflow
        made = {with_exponent(random, 126, 128), with_exponent(random, 120, 128)};
    } else if (kind < 28) { // subnormal legs
        made = {float_of(random.bits() >> 41), float_of(random.bits() >> 41)};
    } else if (kind < 36) { // integers
        made = {static_cast<float>(random.below(65536)), static_cast<float>(random.below(65536))};
    } else {
        made = {with_exponent(random, -8, 8), with_exponent(random, -8, 8)};
    }
    return {any_sign(random, made.first), any_sign(random, made.second)};
}

} // namespace

namespace {

/// One in `stride` of all floats counted from 0, as far as they are in this block.
void make_floats(std::uint32_t block, std::uint64_t stride, Block& into) {
    const std::uint64_t begin = std::uint64_t{block} * floats_in_block;
    const std::uint64_t end = begin + floats_in_block;
    const std::uint64_t first = (begin + stride - 1) / stride * stride;
    into.x.resize(static_cast<std::size_t>(first < end ? (end - first + stride - 1) / stride : 0));
    into.y.clear();
    std::uint64_t bits = first;
    for (float& x : into.x) {
        x = float_of(bits);
        bits += stride;
    }
}

} // namespace

void make_cases(const Function& function, std::uint32_t block, std::uint64_t stride, Block& into) {
    if (!function.has_two_arguments()) {
        make_floats(block, stride, into);
    } else {
        const std::size_t size = static_cast<std::size_t>(pairs_in_block / stride + 1);
        into.x.resize(std::min<std::size_t>(size, pairs_in_block));
        into.y.resize(into.x.size());
        const auto make = function.name == "pow"     ? pow_case
                          : function.name == "atan2" ? atan2_case
                                                     : hypot_case;
        TestRandom random(block); // part of the digests: the cases never depend on the run's seed
        for (std::size_t i = 0; i < into.x.size(); ++i) {
            const Pair made = make(random);
            into.x[i] = made.first;
            into.y[i] = made.second;
        }
    }
    into.result.resize(into.x.size());
}

} // namespace math_sweep
