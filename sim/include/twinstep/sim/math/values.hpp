// SPDX-License-Identifier: MIT
// What every target does alike with floats, though languages and CPUs leave it open: the lesser of
// two, conversions to integers, the one NaN, sums in a stated order.
#pragma once

#include "twinstep/sim/math/exact.hpp"

#include <cstddef>
#include <limits>
#include <span>

namespace twinstep::math {

/// x, or the one NaN that is hashed and saved, 7fc00000.
constexpr float canonical(float x) {
    return x == x ? x : detail::quiet_nan;
}

/// x, or the one NaN that is hashed and saved, 7ff8000000000000.
constexpr double canonical(double x) {
    return x == x ? x : detail::from_bits(std::uint64_t{0x7ff8000000000000});
}

/// x without its sign; NaN is canonical.
constexpr float abs(float x) {
    return canonical(detail::from_bits(detail::magnitude_bits(x)));
}

/// x with the other sign, so that 0 becomes -0; NaN is canonical.
constexpr float negate(float x) {
    return canonical(detail::from_bits(detail::bits(x) ^ detail::sign_bit));
}

/// The lesser; -0 is less than 0; NaN if either is. (minimum of IEEE 754-2019)
constexpr float min(float a, float b) {
    if (a != a || b != b) {
        return detail::quiet_nan;
    }
    if (a == b) { // equal, or zeros: a sign wins
        return detail::from_bits(detail::bits(a) | detail::bits(b));
    }
    return a < b ? a : b;
}

/// The greater; 0 is greater than -0; NaN if either is. (maximum of IEEE 754-2019)
constexpr float max(float a, float b) {
    if (a != a || b != b) {
        return detail::quiet_nan;
    }
    if (a == b) {
        return detail::from_bits(detail::bits(a) & detail::bits(b));
    }
    return a > b ? a : b;
}

/// x, but at least `low` and at most `high`, in the order of min and max; NaN if any is.
/// `high` wins if it is less than `low`.
constexpr float clamp(float x, float low, float high) {
    return min(max(x, low), high);
}

namespace detail {

/// Both ends as doubles: `low` is exact; `end` is the first value beyond the greatest.
template <class Integer>
constexpr Integer saturated(double x) {
    constexpr double low = static_cast<double>(std::numeric_limits<Integer>::min());
    constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1; // a power of 2
    constexpr double end = 2.0 * static_cast<double>(half);
    if (x != x) {
        return 0;
    }
    if (x <= low) {
        return std::numeric_limits<Integer>::min();
    }
    return x >= end ? std::numeric_limits<Integer>::max() : static_cast<Integer>(x);
}

} // namespace detail

/// Towards zero; the nearest end of the range beyond it; 0 for NaN.
constexpr std::int32_t to_int32(double x) {
    return detail::saturated<std::int32_t>(x);
}

constexpr std::int32_t to_int32(float x) {
    return to_int32(detail::wide(x));
}

/// Towards zero; the nearest end of the range beyond it; 0 for NaN.
constexpr std::uint32_t to_uint32(double x) {
    return detail::saturated<std::uint32_t>(x);
}

constexpr std::uint32_t to_uint32(float x) {
    return to_uint32(detail::wide(x));
}

/// Towards zero; the nearest end of the range beyond it; 0 for NaN.
constexpr std::int64_t to_int64(double x) {
    return detail::saturated<std::int64_t>(x);
}

constexpr std::int64_t to_int64(float x) {
    return to_int64(detail::wide(x));
}

/// Towards zero; the nearest end of the range beyond it; 0 for NaN.
constexpr std::uint64_t to_uint64(double x) {
    return detail::saturated<std::uint64_t>(x);
}

constexpr std::uint64_t to_uint64(float x) {
    return to_uint64(detail::wide(x));
}

/// The sum from the first to the last, in that order, in doubles, rounded once at the end; 0 if
/// there are none. NaN is canonical.
constexpr float ordered_sum(std::span<const float> values) {
    double sum = 0.0;
    for (const float value : values) {
        sum += detail::wide(value);
    }
    return sum == sum ? detail::round(sum) : detail::quiet_nan;
}

/// The sum from the first to the last, in that order; 0 if there are none. NaN is canonical.
constexpr double ordered_sum(std::span<const double> values) {
    double sum = 0.0;
    for (const double value : values) {
        sum += value;
    }
    return canonical(sum);
}

} // namespace twinstep::math
