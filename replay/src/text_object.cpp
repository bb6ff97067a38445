// SPDX-License-Identifier: MIT
// Values of a JSON object, each taken by its key and judged.
#include "text_object.hpp"

#include "layout.hpp"

#include <charconv>
#include <utility>

namespace twinstep::replay {

namespace {

/// Every digit's value, or 16 for what is no lower-case digit.
unsigned digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    return c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10 : 16;
}

std::optional<Bytes> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    Bytes bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const unsigned high = digit(text[i]);
        const unsigned low = digit(text[i + 1]);
        if (high > 15 || low > 15) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<std::byte>(high * 16 + low));
    }
    return bytes;
}

} // namespace

void TextObject::refuse(std::string_view key, std::string_view reason) {
    if (!error_) {
        error_ = Error(Errc::bad_text,
                       shown(key),
                       "line " + std::to_string(line_) + ": " + std::string(reason));
    }
}

const Json* TextObject::find(const char* key) {
    seen_.insert(key);
    if (!ok()) {
        return nullptr;
    }
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
}

const Json* TextObject::need(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) {
        refuse(key, "the key is missing");
    }
    return value;
}

std::string TextObject::text(const char* key) {
    const Json* value = need(key);
    if (value == nullptr || !value->is_string()) {
        refuse(key, "must be a string");
        return {};
    }
    return value->get<std::string>();
}

std::uint64_t TextObject::number(const char* key, std::uint64_t limit) {
    const Json* value = need(key);
    if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > limit) {
        refuse(key, "must be a whole number of at most " + std::to_string(limit));
        return 0;
    }
    return value->get<std::uint64_t>();
}

std::uint64_t TextObject::long_number(const char* key) {
    const std::string digits = text(key);
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value);
    if (digits.empty() || parsed.ec != std::errc{} || parsed.ptr != end) {
        refuse(key, "must be a whole number in quotes");
    }
    return value;
}

Bytes TextObject::hex(std::string_view key, const std::string& digits, std::size_t bytes_max) {
    std::optional<Bytes> bytes = from_hex(digits);
    if (!bytes || bytes->size() > bytes_max) {
        refuse(key, "must be lower-case hex of at most " + std::to_string(bytes_max) + " bytes");
        return {};
    }
    return std::move(*bytes);
}

std::uint64_t
TextObject::hex_number(std::string_view key, std::string_view text, std::size_t digits) {
    std::uint64_t value = 0;
    bool valid = text.size() == digits;
    for (const char c : text) {
        valid = valid && digit(c) < 16;
        value = value << 4 | (digit(c) & 15U);
    }
    if (!valid) {
        refuse(key, "must have " + std::to_string(digits) + " lower-case hex digits");
    }
    return value;
}

Hash128 TextObject::hash(std::string_view key, const std::string& text) {
    constexpr std::size_t digits = 16;
    if (text.size() != 2 * digits) {
        refuse(key, "must have 32 lower-case hex digits");
        return {};
    }
    const std::string_view view = text;
    return {hex_number(key, view.substr(digits), digits),
            hex_number(key, view.substr(0, digits), digits)};
}

void TextObject::finish() {
    if (!ok()) {
        return;
    }
    for (const auto& [key, value] : json_.items()) {
        if (!seen_.contains(key)) {
            refuse(key, "the key is not known");
            return;
        }
    }
}

} // namespace twinstep::replay
