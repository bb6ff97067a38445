// SPDX-License-Identifier: MIT
// Bytes as hexadecimal text, so that golden bytes can be read in a test.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Lower-case digits, two a byte.
inline std::string to_hex_text(twinstep::ByteView bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[static_cast<std::size_t>(byte) >> 4];
        text += digits[static_cast<std::size_t>(byte) & 15U];
    }
    return text;
}

/// The bytes of hexadecimal text; spaces are skipped.
inline twinstep::Bytes from_hex_text(std::string_view text) {
    twinstep::Bytes bytes;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') {
            continue;
        }
        const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            bytes.push_back(static_cast<std::byte>(high * 16 + digit));
            high = -1;
        }
    }
    return bytes;
}

/// The error of a result as one line, or "ok".
template <class T>
std::string text_of(const twinstep::Result<T>& result) {
    return result ? "ok" : to_string(result.error());
}

/// The code of a result's error; none for a value.
template <class T>
std::error_code code_of(const twinstep::Result<T>& result) {
    return result ? std::error_code{} : result.error().code;
}
