// SPDX-License-Identifier: MIT
// exp, exp2, exp10, expm1, sinh, cosh, tanh, each correctly rounded.
#pragma once

#include "twinstep/sim/math/exact.hpp"
#include "twinstep/sim/math/tables.hpp"

namespace twinstep::math::detail {

/// 2^(n / 128) times whatever `table` holds, for the low bits of n. Requires a normal double.
constexpr double table_power(const std::uint64_t (&table)[128], std::uint64_t n) {
    return from_bits(table[n & 127] + (n << 45));
}

/// Whether 2^(n / 128) is between 2^-125 and 2^125, for n as split_at_nearest gives it. One
/// comparison for both ends, infinities and NaN: their bits are far from those of `push`.
constexpr bool is_middling(const Split& n) {
    return n.integer - (bits(push) - 125 * 128) <= 2 * 125 * 128;
}

/// 2^(steps / 128), off by less than 2^-39. Requires is_middling.
TWINSTEP_MATH_HOT constexpr double exp_of(const Split& steps) {
    const double r = steps.rest;
    return table_power(exp_short_table, steps.integer) *
           (exp_short[0] + r * (exp_short[1] + r * (exp_short[2] + r)));
}

/// 2^(steps / 128) = power * (1 + above).
struct ExactPower {
    Twofold power;
    Twofold above;
};

/// Off by less than 2^-96 for |steps| < 2^15, apart from what `steps` is off.
constexpr ExactPower exact_power(Twofold steps) {
    const Split split = split_at_nearest(steps.hi);
    const Twofold r =
        (Twofold{split.rest, 0.0} + Twofold{steps.lo, 0.0}) * Twofold{exp_step, exp_step_lo};
    Twofold sum{};
    for (int n = 13; n >= 2; --n) { // r^14 / 14! < 2^-155
        sum = (sum + Twofold{inverse_factorial[n], inverse_factorial_lo[n]}) * r;
    }
    const std::uint64_t index = split.integer & 127;
    const std::int32_t octave = static_cast<std::int32_t>(split.integer & 0xffffffff) >> 7;
    return {scale(Twofold{table_power(exp_table, index), exp_table_lo[index]}, octave),
            r + sum * r};
}

/// 2^(steps / 128) of more than enough precision to round it.
constexpr Twofold exact_exp_of_steps(Twofold steps) {
    const ExactPower exact = exact_power(steps);
    return exact.power + exact.power * exact.above;
}

/// 2^(steps / 128) - 1, which keeps its precision next to 0.
constexpr Twofold exact_expm1_of_steps(Twofold steps) {
    const ExactPower exact = exact_power(steps);
    return (exact.power - Twofold{1.0, 0.0}) + exact.power * exact.above;
}

/// exp(x) - 1, off by less than 2^-42 of itself. Requires |x| < 700.
constexpr double expm1_double(double x) {
    const Split split = split_at_nearest(x * exp_steps);
    const double r = split.rest;
    const double r2 = r * r;
    const double above = r * ((exp_long[0] + r * exp_long[1]) +
                              r2 * ((exp_long[2] + r * exp_long[3]) + r2 * exp_long[4]));
    const double power = table_power(exp_table, split.integer);
    return (power - 1.0) + power * above;
}

constexpr Twofold exact_expm1(double x) {
    return exact_expm1_of_steps(exact_product(x, exp_steps) + Twofold{x * exp_steps_lo, 0.0});
}

/// The way for results that are not settled, not normal or not finite.
TWINSTEP_MATH_COLD constexpr float exp_exact(float x, double steps, double steps_lo) {
    const double approximate = wide(x) * steps;
    if (is_nan(x)) {
        return quiet_nan;
    }
    if (approximate >= 129 * 128) {
        return infinity;
    }
    if (approximate <= -151 * 128) {
        return 0.0F;
    }
    return round(
        exact_exp_of_steps(exact_product(wide(x), steps) + Twofold{wide(x) * steps_lo, 0.0}));
}

/// exp, exp2 and exp10: x = 1 makes `steps` + `steps_lo` steps.
TWINSTEP_MATH_HOT constexpr float exp_with_base(float x, double steps, double steps_lo) {
    const Split split = split_at_nearest(wide(x) * steps);
    if (is_middling(split)) [[likely]] {
        const double result = exp_of(split);
        if (is_settled<39>(result)) [[likely]] {
            return static_cast<float>(result);
        }
    }
    return exp_exact(x, steps, steps_lo);
}

TWINSTEP_MATH_COLD constexpr float expm1_exact(float x) {
    return round(exact_expm1(wide(x)));
}

TWINSTEP_MATH_COLD constexpr float sinh_exact(float x) {
    const Twofold e = exact_expm1(magnitude(wide(x)));
    const Twofold twice = e + e / (e + Twofold{1.0, 0.0});
    return with_sign_of(round(scale(twice, -1)), x);
}

TWINSTEP_MATH_COLD constexpr float cosh_exact(float x) {
    const Twofold e = exact_expm1(magnitude(wide(x))) + Twofold{1.0, 0.0};
    return round(scale(e + Twofold{1.0, 0.0} / e, -1));
}

TWINSTEP_MATH_COLD constexpr float tanh_exact(float x) {
    const Twofold e = exact_expm1(2.0 * wide(x));
    return round(e / (e + Twofold{2.0, 0.0}));
}

} // namespace twinstep::math::detail

namespace twinstep::math {

/// e^x. Infinite above 0x1.62e42ep+6, 0 below -0x1.9fe368p+6.
constexpr float exp(float x) {
    return detail::exp_with_base(x, detail::exp_steps, detail::exp_steps_lo);
}

/// 2^x. Infinite from 128 on, 0 up to -150; exact for integers between.
constexpr float exp2(float x) {
    return detail::exp_with_base(x, 128.0, 0.0);
}

/// 10^x. Infinite above 0x1.344134p+5, 0 below -0x1.693478p+5; exact for 0, 1, .. 10.
constexpr float exp10(float x) {
    return detail::exp_with_base(x, detail::exp10_steps, detail::exp10_steps_lo);
}

/// e^x - 1, precise next to 0. -1 for -infinity.
constexpr float expm1(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x33000000) { // 2^-25: less than half a unit of the last place from x
        return x;
    }
    if (size >= 0x42b20000) { // 89
        if (detail::is_nan(x)) {
            return detail::quiet_nan;
        }
        return x > 0 ? detail::infinity : -1.0F;
    }
    const double result = detail::expm1_double(detail::wide(x));
    if (detail::magnitude(result) < 0x1p+127 && detail::is_settled<41>(result)) {
        return static_cast<float>(result);
    }
    return detail::expm1_exact(x);
}

/// The hyperbolic sine.
constexpr float sinh(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x39800000) { // 2^-12: x^3 / 6 is less than half a unit of the last place
        return x;
    }
    if (size >= 0x42b40000) { // 90
        return detail::is_nan(x) ? detail::quiet_nan : detail::with_sign_of(detail::infinity, x);
    }
    const double e = detail::expm1_double(detail::wide(detail::from_bits(size)));
    const double result = 0.5 * (e + e / (e + 1.0));
    if (result < 0x1p+127 && detail::is_settled<40>(result)) {
        return detail::with_sign_of(static_cast<float>(result), x);
    }
    return detail::sinh_exact(x);
}

/// The hyperbolic cosine.
constexpr float cosh(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (detail::is_nan(x)) {
        return detail::quiet_nan;
    }
    if (size >= 0x42b40000) { // 90
        return detail::infinity;
    }
    const double e = detail::expm1_double(detail::wide(detail::from_bits(size))) + 1.0;
    const double result = 0.5 * (e + 1.0 / e);
    if (result < 0x1p+127 && detail::is_settled<40>(result)) {
        return static_cast<float>(result);
    }
    return detail::cosh_exact(x);
}

/// The hyperbolic tangent.
constexpr float tanh(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size < 0x39800000) { // 2^-12: x^3 / 3 is less than half a unit of the last place
        return x;
    }
    if (size >= 0x41200000) { // 10: 1 - tanh(x) is less than 2^-25
        return detail::is_nan(x) ? detail::quiet_nan : detail::with_sign_of(1.0F, x);
    }
    const double e = detail::expm1_double(2.0 * detail::wide(x));
    const double result = e / (e + 2.0);
    if (detail::is_settled<40>(result)) {
        return static_cast<float>(result);
    }
    return detail::tanh_exact(x);
}

} // namespace twinstep::math
