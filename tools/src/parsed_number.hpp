// SPDX-License-Identifier: MIT
// A text that is a number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace twinstep::tools {

/// The number that the whole text is, in decimal; nothing if it is not one or does not fit T.
template <class T>
std::optional<T> parsed_number(std::string_view text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

} // namespace twinstep::tools
