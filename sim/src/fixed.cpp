// SPDX-License-Identifier: MIT
// Fixed-point numbers as text, and the last words where one has no value.
#include "twinstep/sim/fixed.hpp"

#include "twinstep/sim/assert.hpp"

#include <array>
#include <charconv>

namespace twinstep::detail {

namespace {

[[noreturn]] void stop(const std::string& text) {
    assertion_failed({text, __FILE__, __LINE__, __func__});
}

} // namespace

std::string fixed_to_string(SignedMagnitude raw, int fraction_bits) {
    std::string text = raw.negative ? "-" : "";
    const std::uint64_t whole = raw.magnitude >> fraction_bits;
    text += std::to_string(whole);
    // A digit more until what is left to say is less than half a step, or that much from the next
    // digit. Source: G. L. Steele, J. L. White, "How to print floating-point numbers accurately",
    // 1990. Counted in halves of a step, so that all is below 10 * 2^33.
    const std::uint64_t one = std::uint64_t{2} << fraction_bits;
    std::uint64_t rest = 2 * (raw.magnitude - (whole << fraction_bits));
    std::uint64_t half_step = 1;
    if (rest != 0) {
        text += '.';
    }
    while (rest != 0) {
        rest *= 10;
        half_step *= 10;
        std::uint64_t digit = rest / one;
        rest %= one;
        if (rest < half_step || rest + half_step > one) {
            digit += 2 * rest > one ? 1 : 0; // never 10: the digit before would have been the last
            rest = 0;
        }
        text += static_cast<char>('0' + digit);
    }
    return text;
}

void fixed_failed(const char* name, std::int64_t a, int a_bits, std::int64_t b, int b_bits) {
    std::string text = std::string("fixed point: the ") + name + " of " +
                       fixed_to_string(signed_magnitude(a), a_bits);
    if (b_bits >= 0) {
        text += " and " + fixed_to_string(signed_magnitude(b), b_bits);
    }
    stop(text + " is out of range");
}

void fixed_conversion_failed(SignedMagnitude raw, int fraction_bits) {
    stop("fixed point: " + fixed_to_string(raw, fraction_bits) + " is out of range");
}

void fixed_conversion_failed(double value) {
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    static_cast<void>(error);
    stop("fixed point: " + std::string(text.data(), end) + " is out of range");
}

} // namespace twinstep::detail
