// SPDX-License-Identifier: MIT
// log, log2, log10, log1p, each correctly rounded.
#pragma once

#include "twinstep/sim/math/exact.hpp"
#include "twinstep/sim/math/tables.hpp"

namespace twinstep::math::detail {

/// A positive normal double as z * 2^exponent with z in [0.6875, 1.375), and the interval of z.
struct Octave {
    double z;
    std::int32_t exponent;
    std::uint32_t index;
};

constexpr Octave octave_of(double x) {
    constexpr std::uint64_t low = 0x3fe6000000000000; // 0.6875
    constexpr std::uint64_t exponent_bits = std::uint64_t{0xfff} << 52;
    const std::uint64_t above = bits(x) - low;
    return {from_bits(bits(x) - (above & exponent_bits)),
            static_cast<std::int32_t>(static_cast<std::int64_t>(above) >> 52),
            static_cast<std::uint32_t>(above >> 44) & 255};
}

/// log(z) + exponent * log(2) for z of the interval, off by less than 2^-37 of itself.
TWINSTEP_MATH_HOT constexpr double log_double(double z, double exponent, const Interval& interval) {
    const double r = z * interval.inverse - 1.0; // exact
    const double tail = log_short[0] + r * (log_short[1] + r * log_short[2]);
    return (exponent * ln2 + interval.log) + (r + (r * r) * tail);
}

/// log(x) for a positive normal double: off by less than 2^-50 for floats, and by less than 2^-43
/// for doubles that are not within 2^-8 of 1.
constexpr double log_precise(double x) {
    const Octave octave = octave_of(x);
    const Interval& interval = log_table[octave.index];
    const double r = octave.z * interval.inverse - 1.0;
    const double r2 = r * r;
    const double tail =
        (log_long[0] + r * log_long[1]) +
        r2 * ((log_long[2] + r * log_long[3]) + r2 * (log_long[4] + r * log_long[5]));
    return (octave.exponent * ln2 + interval.log) + (r + r2 * tail);
}

/// log(x), off by less than 2^-98 of itself. Requires x.hi positive and normal.
constexpr Twofold exact_log(Twofold x) {
    const Octave octave = octave_of(x.hi);
    const double inverse = log_table[octave.index].inverse;
    const double lo = x.lo == 0.0 ? 0.0 : x.lo * scale(1.0, -octave.exponent) * inverse;
    // z * inverse - 1 + lo, all of it; the first product is exact if x is a float.
    const Twofold product = exact_product(octave.z, inverse);
    const Twofold r = Twofold{product.hi - 1.0, 0.0} + Twofold{product.lo, 0.0} + Twofold{lo, 0.0};
    const Twofold s = r / (r + Twofold{2.0, 0.0});
    const Twofold s2 = s * s;
    Twofold sum{};
    for (int n = 7; n >= 1; --n) { // s < 2^-8, so the next term is less than 2^-130
        sum = (sum + Twofold{inverse_odd[n], inverse_odd_lo[n]}) * s2;
    }
    const Twofold log_of_z = scale(s + sum * s, 1);
    const Twofold base = Twofold{ln2, ln2_lo} * Twofold{static_cast<double>(octave.exponent), 0.0};
    return (base + Twofold{log_table[octave.index].log, log_table_lo[octave.index]}) + log_of_z;
}

/// What logarithms are of numbers that have none, and of infinity.
TWINSTEP_MATH_COLD constexpr float log_of_special(float x) {
    if (x == 0.0F) {
        return -infinity;
    }
    return bits(x) == infinity_bits ? x : quiet_nan;
}

/// A second look at what the first did not settle, at subnormal x and at what has no logarithm.
TWINSTEP_MATH_COLD constexpr float log_slowly(float x, Twofold factor) {
    if (bits(x) - 1 >= infinity_bits - 1) {
        return log_of_special(x);
    }
    const double result = log_precise(wide(x)) * factor.hi;
    return is_settled<48>(result) ? static_cast<float>(result)
                                  : round(exact_log({wide(x), 0.0}) * factor);
}

/// log(x) * factor. Octaves and intervals are those of octave_of, taken from the float.
TWINSTEP_MATH_HOT constexpr float log_with_factor(float x, Twofold factor) {
    if (bits(x) - 0x800000 < infinity_bits - 0x800000) {  // positive, normal, finite
        const std::uint32_t above = bits(x) - 0x3f300000; // 0.6875
        const double z = wide(from_bits(bits(x) - (above & 0xff800000)));
        const double exponent = static_cast<std::int32_t>(above) >> 23;
        const double log = log_double(z, exponent, log_table[(above >> 15) & 255]);
        const double result = factor.hi == 1.0 ? log : log * factor.hi;
        if (is_settled<36>(result)) {
            return static_cast<float>(result);
        }
    }
    return log_slowly(x, factor);
}

TWINSTEP_MATH_COLD constexpr float log1p_exact(float x) {
    return round(exact_log(exact_sum(1.0, wide(x))));
}

/// log(1 + x) for |x| < 2^-8, off by less than 2^-42 of itself.
constexpr double log1p_double(double x) {
    const double x2 = x * x;
    const double tail =
        (log_long[0] + x * log_long[1]) +
        x2 * ((log_long[2] + x * log_long[3]) + x2 * (log_long[4] + x * log_long[5]));
    return x + x2 * tail;
}

} // namespace twinstep::math::detail

namespace twinstep::math {

/// The natural logarithm. -infinity for zeros, NaN below.
constexpr float log(float x) {
    return detail::log_with_factor(x, {1.0, 0.0});
}

/// The logarithm to base 2; exact for powers of 2. -infinity for zeros, NaN below.
constexpr float log2(float x) {
    return detail::log_with_factor(x, {detail::inverse_ln2, detail::inverse_ln2_lo});
}

/// The logarithm to base 10; exact for powers of 10. -infinity for zeros, NaN below.
constexpr float log10(float x) {
    return detail::log_with_factor(x, {detail::inverse_ln10, detail::inverse_ln10_lo});
}

/// log(1 + x), precise next to 0. -infinity for -1, NaN below.
constexpr float log1p(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x33000000) { // 2^-25: x^2 / 2 is less than half a unit of the last place
        return x;
    }
    if (x <= -1.0F || size >= detail::infinity_bits) {
        return x == -1.0F ? -detail::infinity
                          : (detail::bits(x) == detail::infinity_bits ? x : detail::quiet_nan);
    }
    const double wide = detail::wide(x);
    const double result =
        size < 0x3b800000 ? detail::log1p_double(wide) : detail::log_precise(1.0 + wide);
    return detail::is_settled<41>(result) ? static_cast<float>(result) : detail::log1p_exact(x);
}

} // namespace twinstep::math
