// SPDX-License-Identifier: MIT
// Exact reading and conversion of rationals.
#include "checked_math.hpp"
#include "refusal.hpp"

#include <twinstep/timer/config.hpp>

#include <limits>
#include <numeric>

namespace twinstep::timer {
namespace {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Requires num >= 0 and den > 0.
Rational lowest_terms(Rational value) {
    const std::int64_t divisor = std::gcd(value.num, value.den);
    return {value.num / divisor, value.den / divisor};
}

/// Appends decimal digits to `value`. False: not digits alone, or no digit at all.
/// `overflow` is set when the value left 63 bits.
bool append_digits(std::string_view text, std::int64_t& value, bool& overflow) {
    if (text.empty()) {
        return false;
    }
    for (const char c : text) {
        if (!is_digit(c)) {
            return false;
        }
        const auto shifted = checked_mul(value, 10);
        const auto sum = shifted ? checked_add(*shifted, c - '0') : std::nullopt;
        overflow = overflow || !sum;
        value = sum.value_or(0);
    }
    return true;
}

} // namespace

std::string_view to_string(ConfigFault fault) noexcept {
    switch (fault) {
    case ConfigFault::frequency_not_positive:
        return "the counter frequency is not positive";
    case ConfigFault::rate_not_positive:
        return "the step rate is not positive";
    case ConfigFault::clamp_not_positive:
        return "the longest frame is not at least one count";
    case ConfigFault::clamp_below_step:
        return "the longest frame is shorter than one step";
    case ConfigFault::cap_below_one:
        return "the step cap is below one";
    case ConfigFault::scale_not_usable:
        return "the time scale is not a usable number";
    case ConfigFault::overflow:
        return "the exact arithmetic does not fit 64 bits";
    case ConfigFault::not_a_number:
        return "the text is not a decimal or a ratio";
    }
    return "unknown";
}

tl::expected<Rational, ConfigError> parse_rational(std::string_view text) noexcept {
    std::int64_t num = 0;
    std::int64_t den = 1;
    bool well_formed = false;
    bool overflow = false;
    if (const auto stroke = text.find('/'); stroke != std::string_view::npos) {
        den = 0;
        well_formed = append_digits(text.substr(0, stroke), num, overflow) &&
                      append_digits(text.substr(stroke + 1), den, overflow);
    } else if (const auto point = text.find('.'); point != std::string_view::npos) {
        const std::string_view fraction = text.substr(point + 1);
        well_formed = append_digits(text.substr(0, point), num, overflow) &&
                      append_digits(fraction, num, overflow);
        for (std::size_t i = 0; i < fraction.size() && !overflow; ++i) {
            const auto power = checked_mul(den, 10);
            overflow = !power;
            den = power.value_or(1);
        }
    } else {
        well_formed = append_digits(text, num, overflow);
    }
    if (!well_formed) {
        return refuse(ConfigFault::not_a_number, "text");
    }
    if (overflow) {
        return refuse(ConfigFault::overflow, "text");
    }
    if (den == 0) {
        return refuse(ConfigFault::not_a_number, "text");
    }
    return lowest_terms({num, den});
}

tl::expected<std::int64_t, ConfigError> counts_in(Rational seconds,
                                                  std::int64_t frequency_hz) noexcept {
    if (frequency_hz <= 0) {
        return refuse(ConfigFault::frequency_not_positive, "frequency_hz");
    }
    if (seconds.num < 0 || seconds.den <= 0) {
        return refuse(ConfigFault::clamp_not_positive, "seconds");
    }
    // Both common factors go first, so that only results that do not fit are refused, or ratios
    // that no one writes.
    const Rational reduced = lowest_terms(seconds);
    const Rational ratio = lowest_terms({frequency_hz, reduced.den});
    const auto whole = checked_mul(ratio.num / ratio.den, reduced.num);
    const auto part = checked_mul(ratio.num % ratio.den, reduced.num);
    if (!whole || !part) {
        return refuse(ConfigFault::overflow, "seconds");
    }
    const auto sum = checked_add(*whole, *part / ratio.den);
    if (!sum) {
        return refuse(ConfigFault::overflow, "seconds");
    }
    return *sum;
}

} // namespace twinstep::timer
