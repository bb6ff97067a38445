// SPDX-License-Identifier: MIT
// sin, cos, sincos, tan, each correctly rounded, for arguments of any size.
#pragma once

#include "twinstep/sim/math/exact.hpp"
#include "twinstep/sim/math/tables.hpp"

#include <cstddef>

namespace twinstep::math::detail {

/// An angle as a multiple of 1/128 turn and the rest, in the same unit, at most 0.5 either way.
struct Angle {
    std::uint32_t step;
    double rest;
};

inline constexpr std::uint32_t reduce_limit = 0x45800000; // 4096

/// For |x| < 4096: the first product is exact, so the rest is off by less than 2^-66.
TWINSTEP_MATH_HOT constexpr Angle reduce_small(double x) {
    const Split split = split_at_nearest(x * trig_steps);
    return {static_cast<std::uint32_t>(split.integer & 127), split.rest + x * trig_steps_rest};
}

/// A fraction of a turn to 32 * Words bits behind the point.
template <std::size_t Words>
struct TurnFraction {
    std::uint32_t words[Words];
};

/// What is left of |x| radians when whole turns are taken away; off by 2^(24 - 32 * Words) turns.
/// x = m * 2^e with an integer m of 24 bits: the bits of 1 / (2 pi) of weight 2^-e and above make
/// whole turns of x and are passed over; m is multiplied with those that follow.
/// Source: M. Payne, R. Hanek, "Radian reduction for trigonometric functions", 1983.
template <std::size_t Words>
constexpr TurnFraction<Words> turns_of(std::uint32_t size) {
    const std::uint32_t exponent = (size >> 23) - 118; // e + 32, as `turns` begins with 32 zeros
    const std::uint64_t mantissa = (size & 0x7fffff) | 0x800000;
    const std::uint32_t* first = turns + exponent / 32;
    const std::uint32_t shift = exponent % 32;
    TurnFraction<Words> result{};
    std::uint64_t carry = 0;
    for (std::size_t i = Words; i-- > 0;) {
        const std::uint64_t both = (std::uint64_t{first[i]} << 32) | first[i + 1];
        const std::uint64_t word = (both << shift) >> 32;
        carry += mantissa * word;
        result.words[i] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
    }
    return result;
}

/// The step nearest to a fraction of a turn; the fraction becomes what is left, a signed number.
template <std::size_t Words>
constexpr std::uint32_t take_step(TurnFraction<Words>& fraction) {
    const std::uint32_t step = (fraction.words[0] + 0x1000000) >> 25;
    fraction.words[0] -= step << 25;
    return step & 127;
}

/// For finite |x| >= 4096; the rest is off by less than 2^-56. As turns_of, but to 64 bits, and
/// with the mantissa moved in place of the bits of 1 / (2 pi), for speed.
constexpr Angle reduce_large(std::uint32_t image) {
    const std::uint32_t size = image & ~sign_bit;
    const std::uint32_t exponent = (size >> 23) - 118;
    const std::uint64_t mantissa = std::uint64_t{(size & 0x7fffff) | 0x800000} << (exponent % 8);
    const std::uint32_t* first = turns_by_byte + exponent / 8;
    std::uint64_t turns_of_x =
        ((mantissa * first[0]) << 32) + mantissa * first[4] + ((mantissa * first[8]) >> 32);
    const std::uint64_t negative = std::uint64_t{0} - (image >> 31);
    turns_of_x = (turns_of_x ^ negative) - negative;
    const std::uint64_t step = (turns_of_x + (std::uint64_t{1} << 56)) >> 57;
    const auto rest = static_cast<std::int64_t>(turns_of_x - (step << 57));
    return {static_cast<std::uint32_t>(step & 127), static_cast<double>(rest) * 0x1p-57};
}

/// What is reduced so little precisely that only the exact way will do.
constexpr bool is_vague(Angle angle) {
    return magnitude(angle.rest) < 0x1p-13;
}

struct SinCosDouble {
    double sin;
    double cos;
};

/// Both off by less than 2^-43 of themselves.
TWINSTEP_MATH_HOT constexpr SinCosDouble sincos_double(Angle angle) {
    const double s = sincos_table[2 * angle.step];
    const double c = sincos_table[2 * angle.step + 1];
    const double r = angle.rest;
    const double u = r * r;
    const double sin_r = r * (sin_poly[0] + u * (sin_poly[1] + u * sin_poly[2]));
    const double cos_r = 1.0 + u * (cos_poly[0] + u * cos_poly[1]);
    return {s * cos_r + c * sin_r, c * cos_r - s * sin_r};
}

struct ExactAngle {
    std::uint32_t step = 0;
    Twofold radians;
};

constexpr ExactAngle reduce_exactly(std::uint32_t size) {
    if (size < 0x3c800000) { // 2^-6 radians are less than half a step
        return {0, {wide(from_bits(size)), 0.0}};
    }
    TurnFraction<6> fraction = turns_of<6>(size);
    const std::uint32_t step = take_step(fraction);
    Twofold rest{};
    for (int i = 5; i >= 1; --i) {
        rest = rest + Twofold{fraction.words[i] * scale(1.0, -25 - 32 * i), 0.0};
    }
    rest = rest + Twofold{static_cast<std::int32_t>(fraction.words[0]) * 0x1p-25, 0.0};
    return {step, rest * Twofold{trig_step, trig_step_lo}};
}

/// The sum of x^n / n! with alternating signs, for n = first, first + 2, ..; |x| < 2^-5.
constexpr Twofold alternating_series(Twofold x, int first) {
    const Twofold x2 = x * x;
    Twofold sum{};
    for (int n = first + 14; n > first; n -= 2) {
        sum = (Twofold{inverse_factorial[n], inverse_factorial_lo[n]} - sum) * x2;
    }
    return Twofold{1.0, 0.0} - sum;
}

struct ExactSinCos {
    Twofold sin;
    Twofold cos;
};

/// Sine and cosine of |x|, off by less than 2^-95 of themselves.
constexpr ExactSinCos exact_sincos(float x) {
    const ExactAngle angle = reduce_exactly(magnitude_bits(x));
    const Twofold sin_r = alternating_series(angle.radians, 1) * angle.radians;
    const Twofold cos_r = alternating_series(angle.radians, 0);
    const auto index = 2 * angle.step;
    const Twofold s{sincos_table[index], sincos_table_lo[index]};
    const Twofold c{sincos_table[index + 1], sincos_table_lo[index + 1]};
    return {s * cos_r + c * sin_r, c * cos_r - s * sin_r};
}

TWINSTEP_MATH_COLD constexpr float sin_exact(float x) {
    const float result = round(exact_sincos(x).sin);
    return x < 0 ? -result : result;
}

TWINSTEP_MATH_COLD constexpr float cos_exact(float x) {
    return round(exact_sincos(x).cos);
}

TWINSTEP_MATH_COLD constexpr float tan_exact(float x) {
    const ExactSinCos both = exact_sincos(x);
    const float result = round(both.sin / both.cos);
    return x < 0 ? -result : result;
}

/// Below 2^-12 sine and tangent are less than half a unit of the last place away from x.
inline constexpr std::uint32_t sin_is_x_limit = 0x39800000;

} // namespace twinstep::math::detail

namespace twinstep::math {

/// The sine of x radians. NaN for infinities.
constexpr float sin(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size - detail::sin_is_x_limit < detail::reduce_limit - detail::sin_is_x_limit) {
        const double result = detail::sincos_double(detail::reduce_small(detail::wide(x))).sin;
        return detail::is_settled<42>(result) ? static_cast<float>(result) : detail::sin_exact(x);
    }
    if (size < detail::sin_is_x_limit || size >= detail::infinity_bits) {
        return size < detail::sin_is_x_limit ? x : detail::quiet_nan;
    }
    const detail::Angle angle = detail::reduce_large(detail::bits(x));
    const double result = detail::sincos_double(angle).sin;
    const bool settled = !detail::is_vague(angle) && detail::is_settled<42>(result);
    return settled ? static_cast<float>(result) : detail::sin_exact(x);
}

/// The cosine of x radians. NaN for infinities.
constexpr float cos(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < detail::reduce_limit) {
        const double result = detail::sincos_double(detail::reduce_small(detail::wide(x))).cos;
        return detail::is_settled<42>(result) ? static_cast<float>(result) : detail::cos_exact(x);
    }
    if (size >= detail::infinity_bits) {
        return detail::quiet_nan;
    }
    const detail::Angle angle = detail::reduce_large(detail::bits(x));
    const double result = detail::sincos_double(angle).cos;
    const bool settled = !detail::is_vague(angle) && detail::is_settled<42>(result);
    return settled ? static_cast<float>(result) : detail::cos_exact(x);
}

/// Sine and cosine of one angle.
struct SinCos {
    float sin;
    float cos;
};

/// Both at once, equal to sin(x) and cos(x), at less than the cost of the two.
constexpr SinCos sincos(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size - detail::sin_is_x_limit >= detail::reduce_limit - detail::sin_is_x_limit) {
        return {sin(x), cos(x)};
    }
    const detail::SinCosDouble both = detail::sincos_double(detail::reduce_small(detail::wide(x)));
    return {detail::is_settled<42>(both.sin) ? static_cast<float>(both.sin) : detail::sin_exact(x),
            detail::is_settled<42>(both.cos) ? static_cast<float>(both.cos) : detail::cos_exact(x)};
}

/// The tangent of x radians. NaN for infinities.
constexpr float tan(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size - detail::sin_is_x_limit >= detail::infinity_bits - detail::sin_is_x_limit) {
        return size < detail::sin_is_x_limit ? x : detail::quiet_nan;
    }
    const bool large = size >= detail::reduce_limit;
    const detail::Angle angle =
        large ? detail::reduce_large(detail::bits(x)) : detail::reduce_small(detail::wide(x));
    const detail::SinCosDouble both = detail::sincos_double(angle);
    const double result = both.sin / both.cos;
    const bool settled = !(large && detail::is_vague(angle)) && detail::is_settled<41>(result);
    return settled ? static_cast<float>(result) : detail::tan_exact(x);
}

} // namespace twinstep::math
