// SPDX-License-Identifier: MIT
// Integers of 128 bits, as much of them as fixed point and bounded draws need, made of 64-bit ones:
// not every compiler has them, and none has them on 32-bit targets.
#pragma once

#include "twinstep/sim/assert.hpp"

#include <bit>
#include <cstdint>

namespace twinstep::detail {

/// high * 2^64 + low; as a signed number in two's complement.
struct Wide {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    constexpr auto operator<=>(const Wide&) const = default;
};

/// a * b, exactly.
constexpr Wide multiply(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t half = 0xFFFFFFFF;
    const std::uint64_t low = (a & half) * (b & half);
    const std::uint64_t middle = (a >> 32) * (b & half) + (low >> 32); // < 2^64
    const std::uint64_t other = (a & half) * (b >> 32) + (middle & half);
    return {(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32), (other << 32) | (low & half)};
}

/// a * b, exactly, in two's complement: as unsigned numbers, negative ones are 2^64 too great.
constexpr Wide multiply(std::int64_t a, std::int64_t b) {
    Wide product = multiply(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    product.high -= a < 0 ? static_cast<std::uint64_t>(b) : 0;
    product.high -= b < 0 ? static_cast<std::uint64_t>(a) : 0;
    return product;
}

/// a + b, modulo 2^128.
constexpr Wide add(Wide a, std::uint64_t b) {
    const std::uint64_t low = a.low + b;
    return {a.high + (low < b ? 1 : 0), low};
}

/// value * 2^count. Requires count < 64.
constexpr Wide shift_left(std::uint64_t value, int count) {
    return {count == 0 ? 0 : value >> (64 - count), value << count};
}

struct Quotient {
    std::uint64_t quotient = 0;
    std::uint64_t remainder = 0;
};

/// The next 32 bits of a quotient: (rest * 2^32 + digit) / divisor. Requires rest < divisor, the
/// divisor's top bit set, and digit < 2^32.
/// Source: D. E. Knuth, The Art of Computer Programming, volume 2, section 4.3.1, algorithm D.
constexpr Quotient divide_digit(std::uint64_t rest, std::uint64_t digit, std::uint64_t divisor) {
    constexpr std::uint64_t base = std::uint64_t{1} << 32;
    const std::uint64_t upper = divisor >> 32;
    const std::uint64_t lower = divisor & (base - 1);
    // From the upper halves alone: never too small, at most 2 too great, and too great exactly if
    // it takes away more than there is.
    std::uint64_t guess = rest / upper;
    std::uint64_t left = rest % upper;
    while (guess * lower > left * base + digit) {
        --guess;
        left += upper;
        if (left >= base) {
            break;
        }
    }
    return {guess, rest * base + digit - guess * divisor};
}

/// Requires dividend.high < divisor, so that the quotient has 64 bits.
constexpr Quotient divide(Wide dividend, std::uint64_t divisor) {
    TWINSTEP_ASSERT(dividend.high < divisor);
    if (dividend.high == 0) {
        return {dividend.low / divisor, dividend.low % divisor};
    }
    const int shift = std::countl_zero(divisor);
    const std::uint64_t scaled = divisor << shift;
    const std::uint64_t rest =
        (dividend.high << shift) | (shift == 0 ? 0 : dividend.low >> (64 - shift));
    const std::uint64_t low = dividend.low << shift;
    const Quotient first = divide_digit(rest, low >> 32, scaled);
    const Quotient second = divide_digit(first.remainder, low & 0xFFFFFFFF, scaled);
    return {(first.quotient << 32) | second.quotient, second.remainder >> shift};
}

} // namespace twinstep::detail
