// SPDX-License-Identifier: MIT
// Fixed-point numbers: integers that count fractions of one, with rounding and overflow defined.
#pragma once

#include "twinstep/sim/archive.hpp"
#include "twinstep/sim/impl/wide.hpp"
#include "twinstep/sim/math/exact.hpp"

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace twinstep {

/// What becomes of a result that its type cannot hold.
enum class Overflow : std::uint8_t {
    checked,  ///< The program stops (TWINSTEP_ASSERT's handler, with operation and operands).
    saturate, ///< The nearest end of the range.
    wrap,     ///< The exact result, rounded, modulo the size of the range.
};

namespace detail {

/// An integer of any size by its sign and the low 64 bits of its absolute value.
struct SignedMagnitude {
    bool negative = false;
    std::uint64_t magnitude = 0;
    bool fits = true; ///< False: there are more bits above.
};

constexpr SignedMagnitude signed_magnitude(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return {value < 0, value < 0 ? 0 - bits : bits};
}

/// The shortest decimal number that names this and no other multiple of 2^-fraction_bits.
std::string fixed_to_string(SignedMagnitude raw, int fraction_bits);

/// What was computed, in case it has no value. Operands count 2^-bits; `b_bits` is negative if
/// there is no second one.
struct FixedOperation {
    const char* name = "";
    std::int64_t a = 0;
    int a_bits = 0;
    std::int64_t b = 0;
    int b_bits = -1;
};

/// End the program by way of the assertion handler, naming operation and operands. They take single
/// values: a compiler that has to pass an operation in memory writes it there before it knows that
/// it failed.
[[noreturn]] void
fixed_failed(const char* name, std::int64_t a, int a_bits, std::int64_t b, int b_bits);
[[noreturn]] void fixed_conversion_failed(SignedMagnitude raw, int fraction_bits);
[[noreturn]] void fixed_conversion_failed(double value);

/// Integers whose every value the other type has.
template <class From, class To>
concept IntegerWithin =
    std::integral<From> && !std::same_as<From, bool> &&
    (std::is_signed_v<From> ? sizeof(From) <= sizeof(To) : sizeof(From) < sizeof(To));

/// magnitude / 2^count to the nearest, ties to even. Requires 0 <= count, and a magnitude below
/// 2^63 if all bits go.
constexpr std::uint64_t round_shift(std::uint64_t magnitude, int count) {
    if (count == 0) {
        return magnitude;
    }
    if (count > 63) {
        return 0;
    }
    const std::uint64_t quotient = magnitude >> count;
    const std::uint64_t rest = magnitude - (quotient << count);
    const std::uint64_t half = std::uint64_t{1} << (count - 1);
    return quotient + (rest > half || (rest == half && quotient % 2 != 0) ? 1 : 0);
}

/// The nearest multiple of 2^-fraction_bits to a double, ties to even. Requires no NaN.
constexpr SignedMagnitude nearest_multiple(double value, int fraction_bits) {
    const std::uint64_t bits = math::detail::bits(value);
    const auto exponent = static_cast<int>((bits >> 52) & 0x7FF);
    SignedMagnitude result{bits >> 63 != 0, 0, exponent != 0x7FF};
    if (exponent == 0x7FF) {
        return result; // infinity, and 0 modulo any size
    }
    // Subnormal numbers, which have no such bit, are 0 with it as without.
    const std::uint64_t mantissa = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000;
    const int shift = exponent - 1075 + fraction_bits;
    if (shift <= 0) {
        result.magnitude = round_shift(mantissa, -shift);
    } else {
        result.magnitude = shift < 64 ? mantissa << shift : 0;
        result.fits = shift <= std::countl_zero(mantissa);
    }
    return result;
}

/// The nearest Float to raw / 2^fraction_bits, ties to even, in integers: the thread's rounding
/// mode does not matter.
template <class Float>
constexpr Float nearest_float(std::int64_t raw, int fraction_bits) {
    const std::uint64_t magnitude = signed_magnitude(raw).magnitude;
    const int excess = 64 - std::countl_zero(magnitude) - std::numeric_limits<Float>::digits;
    const int shift = excess > 0 ? excess : 0;
    // Both factors are exact, and so is their product.
    const auto mantissa =
        static_cast<double>(static_cast<std::int64_t>(round_shift(magnitude, shift)));
    const double scale =
        math::detail::from_bits(static_cast<std::uint64_t>(1023 + shift - fraction_bits) << 52);
    return static_cast<Float>(raw < 0 ? -(mantissa * scale) : mantissa * scale);
}

/// The square root of radicand * 2^shift, to the nearest. Requires shift <= 32 and radicand < 2^63.
/// The double is a guess, off by less than one; integers decide, whatever mode the thread is in.
constexpr std::uint64_t nearest_root(std::uint64_t radicand, int shift) {
    if (radicand == 0) {
        return 0;
    }
    const auto power = math::detail::from_bits(static_cast<std::uint64_t>(1023 + shift) << 52);
    const double guess =
        math::detail::sqrt(static_cast<double>(static_cast<std::int64_t>(radicand)) * power);
    auto root = static_cast<std::uint64_t>(static_cast<std::int64_t>(guess));
    const Wide square = shift_left(radicand, shift);
    while (multiply(root, root) > square) {
        --root;
    }
    while (multiply(root + 1, root + 1) <= square) {
        ++root;
    }
    // (root + 1/2)^2 = root^2 + root + 1/4, so the middle itself is never met.
    return root + (square.low - multiply(root, root).low > root ? 1 : 0);
}

} // namespace detail

/// A number of the form raw / 2^fraction_bits. What does not come out even is rounded to the
/// nearest, ties to even, so that negated operands give negated results; what does not fit is
/// treated as `policy` says. There is no NaN, no infinity and one zero.
///     const Q16x16 speed{3};
///     const Q16x16 step = speed * Q16x16::ratio(1, 35);
/// In a state it is saved and hashed as its integer; lists of it are copied whole.
/// Range: from -2^n to 2^n - 2^-f, with f fraction bits and n = width - 1 - f.
/// Requires a divisor that is not 0 and a radicand that is not negative, unless `policy` is
/// saturate: x / 0 is then the end of the range on x's side, and 0 / 0 and roots below 0 are 0.
/// What would stop the program does not compile in a constant expression.
/// Determinism: pure; usable in constant expressions.
template <class Integer, int bits_behind, Overflow overflow = Overflow::checked>
class Fixed {
    static_assert(std::same_as<Integer, std::int32_t> || std::same_as<Integer, std::int64_t>);
    static_assert(bits_behind >= 1 && bits_behind <= (sizeof(Integer) == 4 ? 30 : 32));

public:
    using Raw = Integer;
    static constexpr int fraction_bits = bits_behind;
    static constexpr Overflow policy = overflow;
    /// The same numbers with another policy.
    template <Overflow other>
    using With = Fixed<Integer, bits_behind, other>;

    constexpr Fixed() = default;

    /// The integer, if it fits.
    template <std::integral From>

    requires(!std::same_as<From, bool>)

        constexpr explicit Fixed(From integer)
        : raw_(of_multiple({integer < 0,
                            integer < 0 ? 0 - static_cast<std::uint64_t>(integer)
                                        : static_cast<std::uint64_t>(integer)},
                           0)
                   .raw_) {}

    /// The nearest to a number of another form or policy.
    template <class OtherInteger, int other_bits, Overflow other_policy>
    constexpr explicit Fixed(Fixed<OtherInteger, other_bits, other_policy> other)
        : raw_(of_multiple(detail::signed_magnitude(other.raw()), other_bits).raw_) {}

    static constexpr Fixed from_raw(Integer raw) {
        Fixed result;
        result.raw_ = raw;
        return result;
    }

    /// The nearest to a float. NaN stops the program where overflow does, else it is 0; infinities
    /// are out of range, and 0 for `wrap`.
    static constexpr Fixed nearest(double value) {
        const bool is_nan = value != value;
        const detail::SignedMagnitude exact =
            is_nan ? detail::SignedMagnitude{} : detail::nearest_multiple(value, fraction_bits);
        if constexpr (policy == Overflow::checked) {
            if (is_nan || !in_range(exact)) [[unlikely]] {
                detail::fixed_conversion_failed(value);
            }
        }
        return settled({}, in_range(exact), exact.negative, low_bits(exact));
    }

    static constexpr Fixed nearest(float value) { return nearest(math::detail::wide(value)); }

    /// The nearest to numerator / denominator.
    static constexpr Fixed ratio(Integer numerator, Integer denominator) {
        return quotient({"ratio", numerator, 0, denominator, 0}, fraction_bits);
    }

    static constexpr Fixed lowest() { return from_raw(std::numeric_limits<Integer>::min()); }

    static constexpr Fixed highest() { return from_raw(std::numeric_limits<Integer>::max()); }

    /// What the number is counted in: 2^-fraction_bits.
    static constexpr Fixed smallest() { return from_raw(1); }

    constexpr Integer raw() const { return raw_; }

    /// The greatest integer that is not above.
    constexpr Integer floor() const { return raw_ >> fraction_bits; }

    /// The least integer that is not below.
    constexpr Integer ceil() const { return floor() + (rest() != 0 ? 1 : 0); }

    /// The integer next to it on the side of 0.
    constexpr Integer truncate() const { return raw_ < 0 ? ceil() : floor(); }

    /// The nearest integer, ties to even.
    constexpr Integer round() const {
        constexpr Integer half = Integer{1} << (fraction_bits - 1);
        const Integer below = floor();
        return below + (rest() > half || (rest() == half && below % 2 != 0) ? 1 : 0);
    }

    /// The nearest float, ties to even.
    constexpr float to_float() const { return detail::nearest_float<float>(raw_, fraction_bits); }

    /// The nearest double, ties to even; exact if Raw has 32 bits.
    constexpr double to_double() const {
        return detail::nearest_float<double>(raw_, fraction_bits);
    }

    constexpr auto operator<=>(const Fixed&) const = default;

    friend constexpr Fixed operator+(Fixed a, Fixed b) {
        const auto sum = static_cast<Integer>(bits(a.raw_) + bits(b.raw_));
        const bool fits = ((a.raw_ ^ sum) & (b.raw_ ^ sum)) >= 0;
        return settled(operation("sum", a, b), fits, a.raw_ < 0, sum);
    }

    friend constexpr Fixed operator-(Fixed a, Fixed b) {
        const auto difference = static_cast<Integer>(bits(a.raw_) - bits(b.raw_));
        const bool fits = ((a.raw_ ^ b.raw_) & (a.raw_ ^ difference)) >= 0;
        return settled(operation("difference", a, b), fits, a.raw_ < 0, difference);
    }

    friend constexpr Fixed operator-(Fixed a) {
        const auto negated = static_cast<Integer>(0 - bits(a.raw_));
        return settled({"negation", a.raw_, fraction_bits}, a != lowest(), false, negated);
    }

    friend constexpr Fixed operator+(Fixed a) { return a; }

    friend constexpr Fixed operator*(Fixed a, Fixed b) {
        return product<fraction_bits>(a.raw_, b.raw_);
    }

    friend constexpr Fixed operator/(Fixed a, Fixed b) {
        return quotient(operation("quotient", a, b), fraction_bits);
    }

    /// Times an integer: nothing is rounded.
    template <detail::IntegerWithin<Integer> Other>
    friend constexpr Fixed operator*(Fixed a, Other b) {
        return product<0>(a.raw_, b);
    }

    template <detail::IntegerWithin<Integer> Other>
    friend constexpr Fixed operator*(Other a, Fixed b) {
        return product<0>(b.raw_, a);
    }

    template <detail::IntegerWithin<Integer> Other>
    friend constexpr Fixed operator/(Fixed a, Other b) {
        return quotient({"quotient", a.raw_, fraction_bits, b, 0}, 0);
    }

    constexpr Fixed& operator+=(Fixed other) { return *this = *this + other; }

    constexpr Fixed& operator-=(Fixed other) { return *this = *this - other; }

    constexpr Fixed& operator*=(Fixed other) { return *this = *this * other; }

    constexpr Fixed& operator/=(Fixed other) { return *this = *this / other; }

    friend constexpr Fixed abs(Fixed a) { return a.raw_ < 0 ? -a : a; }

    friend constexpr Fixed min(Fixed a, Fixed b) { return b < a ? b : a; }

    friend constexpr Fixed max(Fixed a, Fixed b) { return a < b ? b : a; }

    /// x, but at least `low` and at most `high`, which wins if it is less than `low`.
    friend constexpr Fixed clamp(Fixed x, Fixed low, Fixed high) { return min(max(x, low), high); }

    /// The nearest to the square root.
    friend constexpr Fixed sqrt(Fixed a) {
        if (a.raw_ < 0) [[unlikely]] {
            if constexpr (policy != Overflow::saturate) {
                detail::fixed_failed("square root", a.raw_, fraction_bits, 0, -1);
            }
            return Fixed{};
        }
        return from_raw(static_cast<Integer>(
            detail::nearest_root(static_cast<std::uint64_t>(a.raw_), fraction_bits)));
    }

    /// The shortest decimal number that names this and no other, such as "-0.1".
    friend std::string to_string(Fixed a) {
        return detail::fixed_to_string(detail::signed_magnitude(a.raw_), fraction_bits);
    }

private:
    using Unsigned = std::make_unsigned_t<Integer>;
    static constexpr bool narrow = sizeof(Integer) == 4;

    static constexpr Unsigned bits(Integer value) { return static_cast<Unsigned>(value); }

    /// What lies above floor(), in raw.
    constexpr Integer rest() const { return raw_ & ((Integer{1} << fraction_bits) - 1); }

    static constexpr bool in_range(const detail::SignedMagnitude& raw) {
        const std::uint64_t end = std::uint64_t{1} << (8 * sizeof(Integer) - 1);
        return raw.fits && raw.magnitude < end + (raw.negative ? 1 : 0);
    }

    static constexpr Integer low_bits(const detail::SignedMagnitude& raw) {
        return static_cast<Integer>(raw.negative ? 0 - raw.magnitude : raw.magnitude);
    }

    static constexpr detail::FixedOperation operation(const char* name, Fixed a, Fixed b) {
        return {name, a.raw_, fraction_bits, b.raw_, fraction_bits};
    }

    /// `wrapped` if the result fits, else what the policy says. `negative` is the result's side.
    static constexpr Fixed
    settled(const detail::FixedOperation& operation, bool fits, bool negative, Integer wrapped) {
        if constexpr (policy != Overflow::wrap) {
            if (!fits) [[unlikely]] {
                if constexpr (policy == Overflow::checked) {
                    detail::fixed_failed(operation.name,
                                         operation.a,
                                         operation.a_bits,
                                         operation.b,
                                         operation.b_bits);
                }
                return negative ? lowest() : highest();
            }
        }
        return from_raw(wrapped);
    }

    /// The nearest to value / 2^value_bits.
    static constexpr Fixed of_multiple(detail::SignedMagnitude value, int value_bits) {
        detail::SignedMagnitude raw = value;
        if (fraction_bits >= value_bits) {
            const detail::Wide wide =
                detail::shift_left(value.magnitude, fraction_bits - value_bits);
            raw.magnitude = wide.low;
            raw.fits = wide.high == 0;
        } else {
            raw.magnitude = detail::round_shift(value.magnitude, value_bits - fraction_bits);
        }
        if constexpr (policy == Overflow::checked) {
            if (!in_range(raw)) [[unlikely]] {
                detail::fixed_conversion_failed(value, value_bits);
            }
        }
        return settled({}, in_range(raw), raw.negative, low_bits(raw));
    }

    /// a * b / 2^shift, to the nearest: half a unit is added, less the last bit of it where the
    /// result would be even, and all behind the point is dropped.
    template <int shift>
    static constexpr Fixed product(Integer a, Integer b) {
        const detail::FixedOperation operation{"product", a, fraction_bits, b, shift};
        constexpr std::uint64_t below_half =
            shift == 0 ? 0 : (std::uint64_t{1} << (shift > 0 ? shift - 1 : 0)) - 1;
        if constexpr (narrow) {
            std::int64_t exact = std::int64_t{a} * b;
            const std::int64_t odd = shift == 0 ? 0 : (exact >> shift) & 1;
            exact = (exact + static_cast<std::int64_t>(below_half) + odd) >> shift;
            const auto low = static_cast<Integer>(exact);
            return settled(operation, low == exact, exact < 0, low);
        } else {
            detail::Wide exact = detail::multiply(a, b);
            const bool negative = exact.high >> 63 != 0;
            std::uint64_t low = exact.low;
            if constexpr (shift > 0) {
                exact = detail::add(exact, below_half + ((low >> shift) & 1));
                low = (exact.high << (64 - shift)) | (exact.low >> shift);
            }
            // All bits above the result's sign are equal to it.
            const auto above = static_cast<std::int64_t>(exact.high) >> (shift > 0 ? shift - 1 : 0);
            const auto sign = static_cast<std::int64_t>(low) >> 63;
            const bool fits =
                shift > 0 ? above == sign : static_cast<std::int64_t>(exact.high) == sign;
            return settled(operation, fits, negative, static_cast<Integer>(low));
        }
    }

    /// operation.a * 2^shift / operation.b, to the nearest.
    static constexpr Fixed quotient(const detail::FixedOperation& operation, int shift) {
        const std::int64_t a = operation.a;
        const std::int64_t b = operation.b;
        if (b == 0) [[unlikely]] {
            if constexpr (policy != Overflow::saturate) {
                detail::fixed_failed(
                    operation.name, operation.a, operation.a_bits, operation.b, operation.b_bits);
            }
            return a == 0 ? Fixed{} : a < 0 ? lowest() : highest();
        }
        const std::uint64_t divisor = detail::signed_magnitude(b).magnitude;
        detail::Wide dividend = detail::shift_left(detail::signed_magnitude(a).magnitude, shift);
        detail::SignedMagnitude result{(a < 0) != (b < 0), 0, dividend.high < divisor};
        dividend.high %= divisor;
        const auto [whole, rest] = detail::divide(dividend, divisor);
        const std::uint64_t missing = divisor - rest;
        const bool up = rest > missing || (rest == missing && whole % 2 != 0);
        // One more than 2^64 - 1 there cannot be: that would need a of more than 64 bits.
        result.magnitude = whole + (up ? 1 : 0);
        return settled(operation, in_range(result), result.negative, low_bits(result));
    }

    Integer raw_ = 0;
};

/// 16 bits before the point, 16 behind: to 32,767, in steps of 0.000015.
using Q16x16 = Fixed<std::int32_t, 16>;
/// 32 bits before the point, 32 behind: to 2,147,483,647, in steps of 2.3e-10.
using Q32x32 = Fixed<std::int64_t, 32>;

template <class Integer, int bits, Overflow policy>
inline constexpr bool contiguous<Fixed<Integer, bits, policy>> = true;

// --- the archives: a number is its integer, as one field ---

namespace detail {

template <class Integer, int bits, Overflow policy>
inline constexpr bool is_wrapper<Fixed<Integer, bits, policy>> = true;

} // namespace detail

template <class Integer, int bits, Overflow policy>
void CEREAL_SAVE_FUNCTION_NAME(OutArchive& archive, const Fixed<Integer, bits, policy>& value) {
    archive.write(value.raw());
}

template <class Integer, int bits, Overflow policy>
void CEREAL_LOAD_FUNCTION_NAME(InArchive& archive, Fixed<Integer, bits, policy>& value) {
    Integer raw = 0;
    archive.read(raw);
    value = Fixed<Integer, bits, policy>::from_raw(raw);
}

template <class Integer, int bits, Overflow policy>
void CEREAL_SAVE_FUNCTION_NAME(VisitArchive& archive, const Fixed<Integer, bits, policy>& value) {
    archive.write(value.raw(), bits);
}

/// "q16.16"; what becomes of overflow is the step's matter and not the layout's.
template <class Integer, int bits, Overflow policy>
void CEREAL_SAVE_FUNCTION_NAME(SchemaArchive& archive, const Fixed<Integer, bits, policy>&) {
    archive.word("q" + std::to_string(8 * sizeof(Integer) - bits) + "." + std::to_string(bits));
}

} // namespace twinstep
