// SPDX-License-Identifier: MIT
// sqrt, rsqrt, cbrt, hypot, each correctly rounded.
#pragma once

#include "twinstep/sim/math/exact.hpp"

namespace twinstep::math::detail {

/// The cube root of a positive normal double, off by less than 2^-45 of itself. A third of the bits
/// is a third of the logarithm, here off by less than 3.2 %; each step of Halley's iteration cubes
/// that.
constexpr double cbrt_double(double x) {
    constexpr std::uint64_t two_thirds_of_bias = 0x2a9f760000000000;
    double root = from_bits(bits(x) / 3 + two_thirds_of_bias);
    for (int i = 0; i < 2; ++i) {
        const double cube = root * root * root;
        root = root * ((cube + 2.0 * x) / (2.0 * cube + x));
    }
    return root;
}

TWINSTEP_MATH_COLD constexpr float cbrt_exact(double x) {
    const double root = cbrt_double(x);
    const Twofold cube = exact_product(root, root) * Twofold{root, 0.0};
    const Twofold rest = Twofold{x, 0.0} - cube;
    return round(quick_sum(root, rest.hi / (3.0 * root * root)));
}

TWINSTEP_MATH_COLD constexpr float rsqrt_exact(double x) {
    const double root = 1.0 / sqrt(x);
    const Twofold rest = Twofold{1.0, 0.0} - exact_product(root, root) * Twofold{x, 0.0};
    return round(quick_sum(root, 0.5 * root * rest.hi));
}

TWINSTEP_MATH_COLD constexpr float rsqrt_special(float x) {
    if (x == 0.0F) {
        return with_sign_of(infinity, x);
    }
    return bits(x) == infinity_bits ? 0.0F : quiet_nan;
}

/// For legs that are not both 0. Squares of floats are exact, so nothing is lost but in the root.
TWINSTEP_MATH_COLD constexpr float hypot_exact(double x, double y) {
    return round(sqrt(exact_sum(x * x, y * y)));
}

} // namespace twinstep::math::detail

namespace twinstep::math {

/// The square root. NaN below zero, -0 for -0.
constexpr float sqrt(float x) {
    if (detail::bits(x) > detail::infinity_bits) {
        return x == 0.0F ? x : detail::quiet_nan;
    }
    // Rounding a root twice, to 53 bits and to 24, gives what rounding it once does.
    return detail::bits(x) == detail::infinity_bits
               ? x
               : static_cast<float>(detail::sqrt(detail::wide(x)));
}

/// 1 / sqrt(x), rounded once. Infinite, with the sign of x, for zeros; NaN below.
constexpr float rsqrt(float x) {
    if (detail::bits(x) - 1 >= detail::infinity_bits - 1) {
        return detail::rsqrt_special(x);
    }
    const double result = 1.0 / detail::sqrt(detail::wide(x));
    return detail::is_settled<49>(result) ? static_cast<float>(result)
                                          : detail::rsqrt_exact(detail::wide(x));
}

/// The cube root.
constexpr float cbrt(float x) {
    const std::uint32_t size = detail::magnitude_bits(x);
    if (size - 1 >= detail::infinity_bits - 1) {
        return size > detail::infinity_bits ? detail::quiet_nan : x;
    }
    const double a = detail::wide(detail::from_bits(size));
    const double result = detail::cbrt_double(a);
    return detail::with_sign_of(
        detail::is_settled<43>(result) ? static_cast<float>(result) : detail::cbrt_exact(a), x);
}

/// sqrt(x^2 + y^2) without overflow between. Infinite if either is, even if the other is NaN.
constexpr float hypot(float x, float y) {
    const std::uint32_t x_size = detail::magnitude_bits(x);
    const std::uint32_t y_size = detail::magnitude_bits(y);
    if (x_size == detail::infinity_bits || y_size == detail::infinity_bits) {
        return detail::infinity;
    }
    if (x_size > detail::infinity_bits || y_size > detail::infinity_bits) {
        return detail::quiet_nan;
    }
    const double a = detail::wide(x);
    const double b = detail::wide(y);
    const double square = a * a + b * b;
    if (square == 0.0) {
        return 0.0F;
    }
    const double result = detail::sqrt(square);
    if (result >= 0x1p-126 && result < 0x1p+127 && detail::is_settled<50>(result)) {
        return static_cast<float>(result);
    }
    return detail::hypot_exact(a, b);
}

} // namespace twinstep::math
