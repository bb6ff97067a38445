// SPDX-License-Identifier: MIT
// pow, correctly rounded.
#pragma once

#include "twinstep/sim/math/exact.hpp"
#include "twinstep/sim/math/exponential.hpp"
#include "twinstep/sim/math/logarithm.hpp"
#include "twinstep/sim/math/tables.hpp"

namespace twinstep::math::detail {

/// A positive number as odd * 2^exponent.
struct OddPart {
    std::uint64_t odd;
    std::int32_t exponent;
};

constexpr OddPart odd_part(double x) {
    const std::uint64_t mantissa = (bits(x) & 0xfffffffffffff) | 0x10000000000000;
    const int zeros = std::countr_zero(mantissa);
    return {mantissa >> zeros, static_cast<std::int32_t>(bits(x) >> 52) - 1075 + zeros};
}

/// Replaces a number by its square root if that is an integer.
constexpr bool take_root(std::uint64_t& square) {
    const auto root = static_cast<std::uint64_t>(sqrt(static_cast<double>(square)));
    const bool is_square = root * root == square;
    square = root;
    return is_square;
}

/// Whether x^y is exactly `power`, for positive x and a `power` of at most 25 bits. With y = p /
/// 2^k that is power^(2^k) = x^p, for the odd parts and for the exponents of 2.
constexpr bool is_exact_power(double x, double y, double power) {
    const OddPart base = odd_part(x);
    const OddPart result = odd_part(power);
    if (result.exponent != base.exponent * y) { // exact: 9 bits times 24
        return false;
    }
    if (base.odd == 1 || result.odd == 1) {
        return base.odd == result.odd;
    }
    const OddPart exponent = odd_part(magnitude(y));
    if (y < 0 || exponent.exponent < -3 || y > 15) { // 3^16 has more than 25 bits
        return false;
    }
    std::uint64_t root = base.odd;
    for (int k = exponent.exponent; k < 0; ++k) {
        if (!take_root(root)) {
            return false;
        }
    }
    std::uint64_t left = exponent.odd << (exponent.exponent > 0 ? exponent.exponent : 0);
    std::uint64_t product = 1;
    for (; left != 0 && product < 0x4000000; --left) {
        product *= root;
    }
    return left == 0 && product == result.odd;
}

/// x^y for positive finite x and finite y that is not 0. The logarithm is off by less than 2^-98 of
/// itself and the result is below 2^7.3 e-folds, so it is off by less than 2^-90 of itself.
TWINSTEP_MATH_COLD constexpr float pow_exact(double x, double y) {
    const Twofold steps = exact_log({x, 0.0}) * Twofold{y, 0.0} * Twofold{exp_steps, exp_steps_lo};
    if (steps.hi >= 129 * 128) {
        return infinity;
    }
    if (steps.hi <= -151 * 128) {
        return 0.0F;
    }
    const Twofold result = exact_exp_of_steps(steps);
    // Only a result that is exactly halfway between floats has to be known to be exact.
    const bool is_short = (bits(result.hi) & 0xfffffff) == 0;
    if (is_short && magnitude(result.lo) <= result.hi * 0x1p-80 &&
        is_exact_power(x, y, result.hi)) {
        return round(result.hi);
    }
    return round(result);
}

enum class Parity : std::uint8_t { fraction, even, odd };

/// What kind of number a finite y other than 0 is.
constexpr Parity parity_of(float y) {
    const std::uint32_t size = magnitude_bits(y);
    const auto exponent = static_cast<std::int32_t>(size >> 23) - 127;
    if (exponent < 0) {
        return Parity::fraction;
    }
    if (exponent > 23) {
        return Parity::even;
    }
    const std::uint32_t mantissa = (size & 0x7fffff) | 0x800000;
    const std::uint32_t unit = std::uint32_t{1} << (23 - exponent);
    if ((mantissa & (unit - 1)) != 0) {
        return Parity::fraction;
    }
    return (mantissa & unit) != 0 ? Parity::odd : Parity::even;
}

constexpr float pow_of_positive(double x, double y) {
    const Split split = split_at_nearest((log_precise(x) * y) * exp_steps);
    if (is_middling(split)) [[likely]] {
        const double result = exp_of(split);
        if (is_settled<39>(result)) [[likely]] {
            return static_cast<float>(result);
        }
    }
    return pow_exact(x, y);
}

/// x^y where |x| is 0 or infinite, for finite y.
constexpr float pow_of_end(float x, float y) {
    const bool large = (magnitude_bits(x) != 0) == (y > 0);
    const float size = large ? infinity : 0.0F;
    return parity_of(y) == Parity::odd ? with_sign_of(size, x) : size;
}

/// x^y for all that is not a positive finite x and a finite y that is not 0; C's Annex F.
TWINSTEP_MATH_COLD constexpr float pow_special(float x, float y) {
    if (y == 0.0F || x == 1.0F) {
        return 1.0F;
    }
    if (is_nan(x) || is_nan(y)) {
        return quiet_nan;
    }
    const std::uint32_t x_size = magnitude_bits(x);
    if (magnitude_bits(y) == infinity_bits) {
        if (x == -1.0F) {
            return 1.0F;
        }
        return (x_size > 0x3f800000) == (y > 0) ? infinity : 0.0F;
    }
    if (x_size == 0 || x_size == infinity_bits) {
        return pow_of_end(x, y);
    }
    const Parity parity = parity_of(y); // x is negative and finite
    if (parity == Parity::fraction) {
        return quiet_nan;
    }
    const float size = pow_of_positive(wide(from_bits(x_size)), wide(y));
    return parity == Parity::odd ? -size : size;
}

} // namespace twinstep::math::detail

namespace twinstep::math {

/// x^y, with the special cases of C's Annex F: 1 if y is 0 or x is 1, whatever the other is; NaN
/// for negative x and y that is no integer.
constexpr float pow(float x, float y) {
    // A y of 0 and x of 1 would come out right by themselves; NaN and infinity would not.
    const bool x_is_plain = detail::bits(x) - 1 < detail::infinity_bits - 1;
    const bool y_is_plain = detail::magnitude_bits(y) - 1 < detail::infinity_bits - 1;
    if (!x_is_plain || !y_is_plain) {
        return detail::pow_special(x, y);
    }
    return detail::pow_of_positive(detail::wide(x), detail::wide(y));
}

} // namespace twinstep::math
