// SPDX-License-Identifier: MIT
// Exact rationals, and the reasons for which a timing configuration is refused.
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string_view>

namespace twinstep::timer {

/// An exact ratio, such as 60/1 steps per second, 60000/1001, or 1/4 of a second.
/// Range: whoever takes one says which values it accepts; it need not be in lowest terms.
struct Rational {
    std::int64_t num = 0;
    std::int64_t den = 1;

    friend constexpr bool operator==(const Rational&, const Rational&) = default;
};

/// Why a configuration cannot work.
enum class ConfigFault : std::uint8_t {
    frequency_not_positive, ///< The counter has no usable frequency.
    rate_not_positive,      ///< Numerator or denominator of the step rate is zero or negative.
    clamp_not_positive,     ///< The longest credited frame is zero, negative or under one count.
    clamp_below_step,       ///< The longest credited frame is shorter than one step.
    cap_below_one,          ///< No step would ever run.
    scale_not_usable,       ///< The time scale is NaN, infinite, negative or out of range.
    overflow,               ///< The exact arithmetic would leave 64 bits.
    not_a_number,           ///< The text is not a decimal or a ratio.
};

/// Names the fault in a short English phrase. The text lives as long as the program.
[[nodiscard]] std::string_view to_string(ConfigFault fault) noexcept;

/// A refused configuration: what is wrong and which field it is about.
struct ConfigError {
    ConfigFault fault = ConfigFault::overflow;
    std::string_view field; ///< Name of the field, a literal.

    /// The fault as text.
    [[nodiscard]] std::string_view reason() const noexcept { return to_string(fault); }

    friend constexpr bool operator==(const ConfigError&, const ConfigError&) = default;
};

/// Reads "60", "0.25" or "60000/1001" without rounding and returns it in lowest terms.
/// Range: digits with at most one point, or two whole numbers with a stroke; no sign, no exponent.
/// Errors: not_a_number, overflow (the value needs more than 63 bits in either half, or the
/// denominator is zero: not_a_number).
/// Determinism: pure; the locale plays no part.
[[nodiscard]] tl::expected<Rational, ConfigError> parse_rational(std::string_view text) noexcept;

/// How many whole counts last `seconds` at `frequency_hz`, rounded down.
/// Requires nothing: a negative or zero denominator, a negative value or a frequency that is not
/// positive gives clamp_not_positive, frequency_not_positive or overflow.
[[nodiscard]] tl::expected<std::int64_t, ConfigError> counts_in(Rational seconds,
                                                                std::int64_t frequency_hz) noexcept;

} // namespace twinstep::timer
