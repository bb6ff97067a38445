// SPDX-License-Identifier: MIT
// A line of the text form as an object whose keys are taken one by one.
#pragma once

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

// tidy: allow third-party: the text form is JSON, and only its own files see the library
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace twinstep::replay {

using Json = nlohmann::json;

/// One JSON object whose keys are taken one by one; the first thing that is wrong stays.
class TextObject {
public:
    TextObject(const Json& json, std::uint64_t line)
        : json_(json)
        , line_(line) {
        if (!json.is_object()) {
            refuse({}, "not a JSON object");
        }
    }

    bool ok() const { return !error_; }

    const Error& error() const { return *error_; }

    /// Keeps the first refusal, with the number of the line.
    void refuse(std::string_view key, std::string_view reason);

    /// The value of a key, or nothing.
    const Json* find(const char* key);

    /// ... or a refusal.
    const Json* need(const char* key);

    /// Each of these takes a key's value, or refuses and yields nothing.
    std::string text(const char* key);

    std::uint64_t number(const char* key, std::uint64_t limit);

    /// A 64-bit number as a string.
    std::uint64_t long_number(const char* key);

    Bytes hex(const char* key, std::size_t bytes_max) { return hex(key, text(key), bytes_max); }

    Bytes hex(std::string_view key, const std::string& digits, std::size_t bytes_max);

    /// A number of `digits` hexadecimal digits, most significant first.
    std::uint64_t hex_number(std::string_view key, std::string_view text, std::size_t digits);

    Hash128 hash(std::string_view key, const std::string& text);

    /// Refuses keys that nobody asked for: a misspelt key must not be ignored.
    void finish();

private:
    const Json& json_;
    std::uint64_t line_;
    std::set<std::string, std::less<>> seen_;
    std::optional<Error> error_;
};

} // namespace twinstep::replay
