// SPDX-License-Identifier: MIT
// asin, acos, atan, atan2, each correctly rounded.
#pragma once

#include "twinstep/sim/math/exact.hpp"
#include "twinstep/sim/math/tables.hpp"

namespace twinstep::math::detail {

/// atan(b / a) for 0 <= b <= a, a > 0, off by less than 2^-44 of itself. With c the nearest 64th of
/// b / a: atan(b / a) = atan(c) + atan((b - c a) / (a + c b)).
TWINSTEP_MATH_HOT constexpr double atan_double(double b, double a) {
    const double pushed = b / a * 64.0 + push;
    const auto index = bits(pushed) & 127;
    const double c = (pushed - push) * 0x1p-6;
    const double t = (b - c * a) / (a + c * b);
    const double u = t * t;
    return atan_table[index] + (t + t * (u * (atan_poly[0] + u * atan_poly[1])));
}

/// The same, off by less than 2^-96.
constexpr Twofold exact_atan(Twofold b, Twofold a) {
    const double pushed = b.hi / a.hi * 64.0 + push;
    const auto index = bits(pushed) & 127;
    const Twofold c{(pushed - push) * 0x1p-6, 0.0};
    const Twofold t = (b - c * a) / (a + c * b);
    const Twofold t2 = t * t;
    Twofold sum{};
    for (int n = 8; n >= 1; --n) { // t < 2^-7, so the next term is less than 2^-140
        sum = (Twofold{inverse_odd[n], inverse_odd_lo[n]} - sum) * t2;
    }
    return Twofold{atan_table[index], atan_table_lo[index]} + (t - sum * t);
}

/// Where a point lies: the angle of (a, b) with a, b >= 0 follows from that of the point mirrored
/// into the first octant as base + sign * angle.
struct Octant {
    double base;
    double base_lo;
    double sign;
};

inline constexpr Octant octants[4] = {
    {0.0, 0.0, 1.0},
    {half_pi, half_pi_lo, -1.0},
    {pi, pi_lo, -1.0},
    {half_pi, half_pi_lo, 1.0},
};

/// 1 where y is the greater, 2 where x is negative.
constexpr const Octant& octant_of(bool y_is_greater, bool x_is_negative) {
    return octants[(y_is_greater ? 1U : 0U) | (x_is_negative ? 2U : 0U)];
}

/// The angle of (x, y) for y >= 0, both not 0.
constexpr Twofold exact_angle(Twofold y, Twofold x) {
    const bool negative = x.hi < 0;
    const Twofold a = negative ? -x : x;
    const bool swap = y.hi > a.hi;
    const Octant& octant = octant_of(swap, negative);
    const Twofold angle = swap ? exact_atan(a, y) : exact_atan(y, a);
    return Twofold{octant.base, octant.base_lo} + (octant.sign < 0 ? -angle : angle);
}

/// atan(b / a) for b / a < 2^-30, where quotients may be halfway between floats and results not
/// normal: the quotient, its rest, and that the arc is less than its tangent.
constexpr float round_tiny_atan(double b, double a) {
    const double quotient = b / a;
    const Twofold product = exact_product(quotient, a);
    const double rest = (b - product.hi) - product.lo;
    const double cube = quotient * quotient * quotient;
    return round(quick_sum(quotient, rest / a - cube / 3.0));
}

TWINSTEP_MATH_COLD constexpr float atan2_exact(float y, float x) {
    const double b = magnitude(wide(y));
    const double a = wide(x);
    if (a > 0 && b / a < 0x1p-30) {
        return with_sign_of(round_tiny_atan(b, a), y);
    }
    return with_sign_of(round(exact_angle({b, 0.0}, {a, 0.0})), y);
}

/// atan2 where an argument is zero, infinite or NaN, as C's Annex F has it.
TWINSTEP_MATH_COLD constexpr float atan2_special(float y, float x) {
    if (is_nan(y) || is_nan(x)) {
        return quiet_nan;
    }
    const bool negative = (bits(x) & sign_bit) != 0;
    const bool x_infinite = magnitude_bits(x) == infinity_bits;
    const bool y_infinite = magnitude_bits(y) == infinity_bits;
    double angle = 0.0;
    if (y_infinite) {
        angle = x_infinite ? (negative ? 0x1.2d97c7f3321d2p+1 : 0.5 * half_pi) : half_pi;
    } else if (y == 0.0F || x_infinite) {
        angle = negative ? pi : 0.0;
    } else {
        angle = half_pi; // x is 0
    }
    return with_sign_of(static_cast<float>(angle), y);
}

/// sqrt(1 - x^2), exactly enough; (1 - x)(1 + x) keeps its precision next to 1.
constexpr Twofold exact_cosine_of(double x) {
    return sqrt(exact_sum(1.0, -x) * exact_sum(1.0, x));
}

TWINSTEP_MATH_COLD constexpr float asin_exact(float x) {
    const double size = magnitude(wide(x));
    return with_sign_of(round(exact_angle({size, 0.0}, exact_cosine_of(size))), x);
}

TWINSTEP_MATH_COLD constexpr float acos_exact(float x) {
    return round(exact_angle(exact_cosine_of(wide(x)), {wide(x), 0.0}));
}

/// The angle of (x, y) for y >= 0 and not both 0, off by less than 2^-43.
constexpr double angle_double(double y, double x) {
    const double a = magnitude(x);
    const Octant& octant = octant_of(y > a, x < 0);
    const double lesser = a < y ? a : y; // in this form it takes no branch
    const double greater = a > y ? a : y;
    return octant.base + octant.sign * atan_double(lesser, greater);
}

} // namespace twinstep::math::detail

namespace twinstep::math {

/// The angle of the point (x, y), in (-pi, pi]; for zeros and infinities as in C's Annex F.
constexpr float atan2(float y, float x) {
    const std::uint32_t x_size = detail::magnitude_bits(x);
    const std::uint32_t y_size = detail::magnitude_bits(y);
    if (x_size - 1 >= detail::infinity_bits - 1 || y_size - 1 >= detail::infinity_bits - 1) {
        return detail::atan2_special(y, x);
    }
    const bool swap = y_size > x_size;
    const detail::Octant& octant = detail::octant_of(swap, detail::bits(x) >= detail::sign_bit);
    const double b = detail::wide(detail::from_bits(swap ? x_size : y_size));
    const double a = detail::wide(detail::from_bits(swap ? y_size : x_size));
    const double result = octant.base + octant.sign * detail::atan_double(b, a);
    if (result >= 0x1p-126 && detail::is_settled<42>(result)) {
        return detail::with_sign_of(static_cast<float>(result), y);
    }
    return detail::atan2_exact(y, x);
}

/// The arc tangent, in [-pi/2, pi/2].
constexpr float atan(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x39800000) { // 2^-12: x^3 / 3 is less than half a unit of the last place
        return x;
    }
    if (size > detail::infinity_bits) {
        return detail::quiet_nan;
    }
    if (size >= 0x4c800000) { // 2^26: 1 / x is less than half a unit of the last place
        return detail::with_sign_of(static_cast<float>(detail::half_pi), x);
    }
    const double a = detail::wide(detail::from_bits(size));
    const double result = size > 0x3f800000 ? detail::half_pi - detail::atan_double(1.0, a)
                                            : detail::atan_double(a, 1.0);
    return detail::is_settled<42>(result) ? detail::with_sign_of(static_cast<float>(result), x)
                                          : detail::atan2_exact(x, 1.0F);
}

/// The arc sine, in [-pi/2, pi/2]. NaN beyond [-1, 1].
constexpr float asin(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x39800000) { // 2^-12: x^3 / 6 is less than half a unit of the last place
        return x;
    }
    if (size >= 0x3f800000) {
        return size == 0x3f800000 ? detail::with_sign_of(static_cast<float>(detail::half_pi), x)
                                  : detail::quiet_nan;
    }
    const double a = detail::wide(detail::from_bits(size));
    const double result = detail::angle_double(a, detail::sqrt((1.0 - a) * (1.0 + a)));
    return detail::is_settled<42>(result) ? detail::with_sign_of(static_cast<float>(result), x)
                                          : detail::asin_exact(x);
}

/// The arc cosine, in [0, pi]. NaN beyond [-1, 1].
constexpr float acos(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size >= 0x3f800000) {
        return size > 0x3f800000 ? detail::quiet_nan
                                 : (x > 0 ? 0.0F : static_cast<float>(detail::pi));
    }
    const double a = detail::wide(x);
    const double result = detail::angle_double(detail::sqrt((1.0 - a) * (1.0 + a)), a);
    return detail::is_settled<42>(result) ? static_cast<float>(result) : detail::acos_exact(x);
}

} // namespace twinstep::math
