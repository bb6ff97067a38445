// SPDX-License-Identifier: MIT
// What all functions of sim/math are made of: bits, the square root, sums of two doubles, rounding.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__SSE2__) || defined(_M_X64) || (defined(_M_IX86_FP) && _M_IX86_FP >= 2)
#define TWINSTEP_MATH_SSE2 1
#include <emmintrin.h>
#elif defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>
#endif

// The exact ways are taken about once in ten thousand calls; they must not be in the way of the
// short ones, which lose a tenth where a compiler calls them.
#if defined(__GNUC__)
#define TWINSTEP_MATH_COLD [[gnu::cold, gnu::noinline]]
#define TWINSTEP_MATH_HOT [[gnu::always_inline]]
#elif defined(_MSC_VER)
#define TWINSTEP_MATH_COLD __declspec(noinline)
#define TWINSTEP_MATH_HOT __forceinline
#else
#define TWINSTEP_MATH_COLD
#define TWINSTEP_MATH_HOT
#endif

/// Not for users: how the functions of twinstep::math are made.
namespace twinstep::math::detail {

constexpr std::uint32_t bits(float x) {
    return std::bit_cast<std::uint32_t>(x);
}

constexpr std::uint64_t bits(double x) {
    return std::bit_cast<std::uint64_t>(x);
}

/// Exact. Compilers that warn of implicit widening do so even for braces.
constexpr double wide(float x) {
    return static_cast<double>(x);
}

constexpr float from_bits(std::uint32_t x) {
    return std::bit_cast<float>(x);
}

constexpr double from_bits(std::uint64_t x) {
    return std::bit_cast<double>(x);
}

inline constexpr std::uint32_t sign_bit = 0x80000000;
inline constexpr std::uint32_t infinity_bits = 0x7f800000;
inline constexpr std::uint64_t double_sign_bit = std::uint64_t{1} << 63;
inline constexpr float quiet_nan = from_bits(std::uint32_t{0x7fc00000});
inline constexpr float infinity = from_bits(infinity_bits);

/// The bits of |x|, which are ordered as |x| is. NaN is above infinity.
constexpr std::uint32_t magnitude_bits(float x) {
    return bits(x) & ~sign_bit;
}

constexpr bool is_nan(float x) {
    return magnitude_bits(x) > infinity_bits;
}

constexpr float with_sign_of(float magnitude, float sign) {
    return from_bits(bits(magnitude) | (bits(sign) & sign_bit));
}

constexpr double magnitude(double x) {
    return from_bits(bits(x) & ~double_sign_bit);
}

/// The square root in integers, for constant expressions. Requires x positive and normal.
constexpr double sqrt_in_integers(double x) {
    std::uint64_t mantissa = (bits(x) & 0xfffffffffffff) | 0x10000000000000;
    auto exponent = static_cast<std::int32_t>(bits(x) >> 52) - 1023;
    if (exponent % 2 != 0) {
        mantissa *= 2;
        --exponent;
    }
    // One bit of the root at a time: 53 bits and one that rounds; what is left is the remainder.
    std::uint64_t root = 0;
    std::uint64_t rest = 0;
    for (int step = 53; step >= 0; --step) {
        const int shift = 2 * step - 54;
        rest = rest * 4 + (shift >= 0 ? (mantissa >> shift) & 3 : (mantissa << -shift) & 3);
        const std::uint64_t trial = root * 4 + 1;
        root *= 2;
        if (rest >= trial) {
            rest -= trial;
            root += 1;
        }
    }
    // The root of a double is never halfway between two doubles: the bit below decides.
    const std::uint64_t rounded = (root >> 1) + (root & 1);
    return from_bits(rounded - 0x10000000000000 +
                     (static_cast<std::uint64_t>(exponent / 2 + 1023) << 52));
}

/// The square root, correctly rounded. Requires x zero, or positive and normal.
/// The compiler's own would call the C library for the sake of errno.
constexpr double sqrt(double x) {
    if (std::is_constant_evaluated()) {
        return x == 0.0 ? x : sqrt_in_integers(x);
    }
#if defined(TWINSTEP_MATH_SSE2)
    const __m128d value = _mm_set_sd(x);
    return _mm_cvtsd_f64(_mm_sqrt_sd(value, value));
#elif defined(__aarch64__) || defined(_M_ARM64)
    return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0);
#elif defined(__GNUC__)
    return __builtin_sqrt(x);
#else
    return x == 0.0 ? x : sqrt_in_integers(x);
#endif
}

/// Whether every number within 2^-Bits of `value`, relative to it, rounds to the same float as
/// `value` does: only then may an approximation be rounded. Requires that the result is a normal
/// float. A double has 29 bits more than a float; rounding changes over where they are 1000...0.
template <int Bits>
constexpr bool is_settled(double value) {
    constexpr std::uint32_t reach = std::uint32_t{1} << (53 - Bits);
    constexpr std::uint32_t halfway = 0x10000000;
    // Three bits up, the 29 bits fill a word and wrap around by themselves.
    return static_cast<std::uint32_t>(bits(value)) * 8 + (reach - halfway) * 8 > reach * 16;
}

/// The nearest integer, in the lowest bits, and what is left of a number, |value| < 2^31.
struct Split {
    std::uint64_t integer;
    double rest;
};

/// Adding 1.5 * 2^52 pushes out the bits behind the point, with rounding.
inline constexpr double push = 0x1.8p+52;

constexpr Split split_at_nearest(double value) {
    const double pushed = value + push;
    return {bits(pushed), value - (pushed - push)};
}

/// value * 2^exponent where both are normal doubles.
constexpr double scale(double value, std::int32_t exponent) {
    return from_bits(bits(value) + (static_cast<std::uint64_t>(std::int64_t{exponent}) << 52));
}

/// A number as the sum of two doubles, the second at most half a unit of the last place of the
/// first. The operations below are off by less than 2^-100 of their result.
/// Source: T. J. Dekker, "A floating-point technique for extending the available precision", 1971;
/// D. E. Knuth, The Art of Computer Programming, volume 2, section 4.2.2.
struct Twofold {
    double hi = 0.0;
    double lo = 0.0;
};

/// a + b, exactly. Requires |a| >= |b| or a == 0.
constexpr Twofold quick_sum(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

/// a + b, exactly.
constexpr Twofold exact_sum(double a, double b) {
    const double sum = a + b;
    const double b_part = sum - a;
    return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// The upper 26 bits of a number.
constexpr double upper_half(double x) {
    return from_bits(bits(x) & ~std::uint64_t{0x7ffffff});
}

/// a * b, exactly, without fused operations. The order of the sum keeps each step of it exact.
constexpr Twofold exact_product(double a, double b) {
    const double product = a * b;
    const double a_hi = upper_half(a);
    const double a_lo = a - a_hi;
    const double b_hi = upper_half(b);
    const double b_lo = b - b_hi;
    return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

constexpr Twofold operator-(Twofold a) {
    return {-a.hi, -a.lo};
}

constexpr Twofold operator+(Twofold a, Twofold b) {
    const Twofold high = exact_sum(a.hi, b.hi);
    const Twofold low = exact_sum(a.lo, b.lo);
    const Twofold sum = quick_sum(high.hi, high.lo + low.hi);
    return quick_sum(sum.hi, sum.lo + low.lo);
}

constexpr Twofold operator-(Twofold a, Twofold b) {
    return a + -b;
}

constexpr Twofold operator*(Twofold a, Twofold b) {
    const Twofold product = exact_product(a.hi, b.hi);
    return quick_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

constexpr Twofold operator/(Twofold a, Twofold b) {
    const double quotient = a.hi / b.hi;
    const Twofold rest = a - b * Twofold{quotient, 0.0};
    const double correction = rest.hi / b.hi;
    const Twofold rest_of_rest = rest - b * Twofold{correction, 0.0};
    return quick_sum(quotient, correction) + Twofold{rest_of_rest.hi / b.hi, 0.0};
}

/// Requires a > 0.
constexpr Twofold sqrt(Twofold a) {
    const double root = sqrt(a.hi);
    const Twofold rest = a - exact_product(root, root);
    return quick_sum(root, rest.hi / (2 * root));
}

/// a * 2^exponent where all parts that are not 0 are normal doubles.
constexpr Twofold scale(Twofold a, std::int32_t exponent) {
    const double factor = scale(1.0, exponent);
    return {a.hi * factor, a.lo * factor};
}

/// The float nearest to a double; infinite from halfway between the greatest float and 2^128 on.
constexpr float round(double value) {
    if (magnitude(value) >= 0x1.ffffffp+127) {
        return value > 0 ? infinity : -infinity;
    }
    return static_cast<float>(value);
}

/// The float nearest to a sum, subnormal or not. The sum is first rounded to odd, to 53 bits: then
/// the second rounding decides as if it had seen all of it.
/// Source: S. Boldo, G. Melquiond, "When double rounding is odd", 2005.
constexpr float round(Twofold value) {
    const Twofold sum = quick_sum(value.hi, value.lo);
    std::uint64_t odd = bits(sum.hi);
    if (sum.lo != 0.0 && odd % 2 == 0) {
        odd = (sum.lo > 0) == (sum.hi > 0) ? odd + 1 : odd - 1;
    }
    return round(from_bits(odd));
}

} // namespace twinstep::math::detail
