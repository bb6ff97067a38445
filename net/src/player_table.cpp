// SPDX-License-Identifier: MIT
// Names and budgets of players.
#include "player_table.hpp"

#include <algorithm>
#include <cstddef>

namespace twinstep::net {

namespace {

/// Length of the well-formed UTF-8 sequence at `at`, and its code point; 0: none.
/// Source: Unicode 15, table 3-7.
std::size_t code_point(std::string_view text, std::size_t at, std::uint32_t& value) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : std::uint8_t{0};
    };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80) {
        value = lead;
        return 1;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    value = lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) {
            return 0;
        }
        value = value << 6U | (byte(i) & 0x3FU);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    return overlong || surrogate || value > 0x10FFFF ? 0 : length;
}

bool may_be_shown(std::uint32_t value) {
    const bool control = value < 0x20 || (value >= 0x7F && value < 0xA0);
    const bool bidi = value == 0x061C || value == 0x200E || value == 0x200F ||
                      (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
    const bool separator = value == 0x2028 || value == 0x2029 || value == 0xFEFF;
    return !control && !bidi && !separator;
}

} // namespace

std::string clean_name(std::string_view name) {
    std::string clean;
    std::size_t at = 0;
    while (at < name.size()) {
        std::uint32_t value = 0;
        const std::size_t length = code_point(name, at, value);
        if (length == 0) {
            ++at;
            continue;
        }
        if (may_be_shown(value)) {
            if (clean.size() + length > wire::name_bytes_max) {
                break;
            }
            clean.append(name.substr(at, length));
        }
        at += length;
    }
    return clean;
}

bool Budget::take(Micros now) {
    // full_at_ is when the bucket is full again: the later, the emptier it is.
    const Micros from = used_ ? std::max(full_at_, now) : now;
    const Micros longest{each_.value * burst_};
    if ((from - now) + each_ > longest) {
        return false;
    }
    used_ = true;
    full_at_ = from + each_;
    return true;
}

} // namespace twinstep::net
