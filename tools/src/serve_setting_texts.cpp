// SPDX-License-Identifier: MIT
// Texts of settings: what each must look like, and the file and the environment they come from.
#include "serve_setting_texts.hpp"

#include "parsed_number.hpp"
#include "text_file.hpp"

#include "twinstep/net/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#if defined(_WIN32)
#define environ _environ
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

using Kind = SettingKind;

std::string spelled(Kind kind, std::uint64_t value) {
    if (kind == Kind::duration) {
        return value % 1000 == 0 ? fmt::format("{}s", value / 1000) : fmt::format("{}ms", value);
    }
    return std::to_string(value);
}

bool whole(std::string_view text, std::uint64_t& value) {
    const auto number = parsed_number<std::uint64_t>(text);
    value = number.value_or(value);
    return number.has_value();
}

struct Unit {
    std::string_view suffix;
    std::uint64_t factor;
};

/// A whole number and one of the units; false also if the product does not fit.
bool with_unit(std::string_view text, std::span<const Unit> units, std::uint64_t& value) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view suffix = text.substr(digits);
    const auto* unit = std::find_if(units.data(), units.data() + units.size(), [&](const Unit& u) {
        return u.suffix == suffix;
    });
    std::uint64_t number = 0;
    if (unit == units.data() + units.size() || !whole(text.substr(0, digits), number) ||
        number > UINT64_MAX / unit->factor) {
        return false;
    }
    value = number * unit->factor;
    return true;
}

constexpr Unit byte_units[] = {{"", 1}, {"K", 1U << 10U}, {"M", 1U << 20U}, {"G", 1U << 30U}};
constexpr Unit time_units[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"", 1'000}};

} // namespace

bool parse_setting_rate(std::string_view text, TickRate& rate) {
    const std::size_t slash = text.find('/');
    std::uint64_t num = 0;
    std::uint64_t den = 1;
    if (!whole(text.substr(0, slash), num) ||
        (slash != std::string_view::npos && !whole(text.substr(slash + 1), den))) {
        return false;
    }
    if (num == 0 || den == 0 || num > 1'000'000 || den > 1'000'000 || num > 1000 * den) {
        return false;
    }
    rate = TickRate(static_cast<std::uint32_t>(num), static_cast<std::uint32_t>(den));
    return true;
}

std::string setting_complaint(const SettingSpec& spec, const std::string& text) {
    std::uint64_t value = 0;
    const auto in_range = [&] { return value >= spec.low && value <= spec.high; };
    const auto range = [&](std::string_view form) {
        return fmt::format("\"{}\": use {} of {} to {}",
                           text,
                           form,
                           spelled(spec.kind, spec.low),
                           spelled(spec.kind, spec.high));
    };
    switch (spec.kind) {
    case Kind::text:
        return text.empty() ? "\"\": the value is empty" : "";
    case Kind::choice: {
        const std::string all = fmt::format("|{}|", spec.choices);
        const bool known = !text.empty() && text.find('|') == std::string::npos &&
                           all.find(fmt::format("|{}|", text)) != std::string::npos;
        return known ? "" : fmt::format("\"{}\": use {}", text, spec.choices);
    }
    case Kind::number:
        return whole(text, value) && in_range() ? "" : range("a whole number");
    case Kind::bytes:
        return with_unit(text, byte_units, value) && in_range()
                   ? ""
                   : range("a number of bytes, such as 512M,");
    case Kind::duration:
        return with_unit(text, time_units, value) && in_range()
                   ? ""
                   : range("a duration, such as 500ms or 30s,");
    case Kind::rate: {
        TickRate rate;
        return parse_setting_rate(text, rate)
                   ? ""
                   : fmt::format("\"{}\": use N or N/D, 1 to 1000 a second", text);
    }
    case Kind::yes:
        return text == "on" || text == "off" || text == "true" || text == "false"
                   ? ""
                   : fmt::format("\"{}\": use on or off", text);
    }
    return {};
}

const SettingSpec* find_setting(std::string_view key) {
    for (const SettingSpec& spec : serve_setting_specs()) {
        if (key == spec.key) {
            return &spec;
        }
    }
    return nullptr;
}

std::uint64_t setting_number(const SettingSpec& spec, std::string_view text) {
    std::uint64_t value = 0;
    if (spec.kind == Kind::bytes) {
        static_cast<void>(with_unit(text, byte_units, value));
    } else if (spec.kind == Kind::duration) {
        static_cast<void>(with_unit(text, time_units, value));
    } else {
        static_cast<void>(whole(text, value));
    }
    return value;
}

namespace {

/// Damerau-Levenshtein would be better at transpositions; for a handful of keys this is enough.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
            corner = above;
        }
    }
    return row[b.size()];
}

Error unknown_key(std::string_view key, std::string origin) {
    const SettingSpec* nearest = nullptr;
    std::size_t least = key.size() / 2 + 1;
    for (const SettingSpec& spec : serve_setting_specs()) {
        if (const std::size_t far = distance(key, spec.key); far < least) {
            least = far;
            nearest = &spec;
        }
    }
    const std::string hint = nearest != nullptr
                                 ? fmt::format("no such setting; did you mean {}?", nearest->key)
                                 : std::string("no such setting; see serve --print-config");
    return Error(net::NetErrc::bad_setting, std::string(key), hint).in(origin);
}

/// One value at the front of `rest`: quoted or bare. False: it cannot be read.
bool take_value(std::string_view& rest, std::string& value) {
    rest = trimmed(rest);
    value.clear();
    if (!rest.starts_with('"')) {
        const std::size_t end = std::min(rest.find_first_of(",]#"), rest.size());
        value = trimmed(rest.substr(0, end));
        rest = trimmed(rest.substr(end));
        return !value.empty() && value.find('"') == std::string::npos;
    }
    for (std::size_t at = 1; at < rest.size(); ++at) {
        if (rest[at] == '"') {
            rest = trimmed(rest.substr(at + 1));
            return true;
        }
        if (rest[at] == '\\') {
            ++at;
            if (at == rest.size() || (rest[at] != '"' && rest[at] != '\\')) {
                return false;
            }
        }
        value += rest[at];
    }
    return false;
}

/// The right-hand side of a line: a value, or several in brackets.
bool take_values(std::string_view rest, std::vector<std::string>& values) {
    std::string value;
    if (!rest.starts_with('[')) {
        if (!take_value(rest, value)) {
            return false;
        }
        values.push_back(value);
        return rest.empty() || rest.front() == '#';
    }
    rest = trimmed(rest.substr(1));
    while (!rest.starts_with(']')) {
        if (!take_value(rest, value)) {
            return false;
        }
        values.push_back(value);
        if (rest.starts_with(',')) {
            rest = trimmed(rest.substr(1));
        } else if (!rest.starts_with(']')) {
            return false;
        }
    }
    rest = trimmed(rest.substr(1));
    return !values.empty() && (rest.empty() || rest.front() == '#');
}

} // namespace

Result<SettingTexts> parse_setting_file(std::string_view text, const std::string& path) {
    SettingTexts texts;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const std::string origin = fmt::format("{}, line {}", path, number);
        const std::size_t equals = line.find('=');
        const std::string key(trimmed(line.substr(0, equals)));
        SettingText found{{}, origin};
        if (equals == std::string_view::npos || key.empty() ||
            !take_values(trimmed(line.substr(equals + 1)), found.values)) {
            return fail(Error(net::NetErrc::bad_setting, {}, "write key = value").in(origin));
        }
        if (find_setting(key) == nullptr) {
            return fail(unknown_key(key, origin));
        }
        if (!texts.emplace(key, std::move(found)).second) {
            return fail(Error(net::NetErrc::bad_setting, key, "is set twice").in(origin));
        }
    }
    return texts;
}

Result<SettingTexts> settings_of_environment() {
    constexpr std::string_view prefix = "TWINSTEP_SERVE_";
    SettingTexts texts;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        const std::size_t equals = line.find('=');
        if (!line.starts_with(prefix) || equals == std::string_view::npos) {
            continue;
        }
        const std::string name(line.substr(0, equals));
        std::string key;
        for (const char letter : name.substr(prefix.size())) {
            const bool upper = letter >= 'A' && letter <= 'Z';
            key += letter == '_' ? '-' : upper ? static_cast<char>(letter - 'A' + 'a') : letter;
        }
        const SettingSpec* spec = find_setting(key);
        if (spec == nullptr) {
            return fail(unknown_key(key, name));
        }
        SettingText found{{}, name};
        std::string_view rest = line.substr(equals + 1);
        while (spec->repeatable && rest.find(',') != std::string_view::npos) {
            found.values.emplace_back(trimmed(rest.substr(0, rest.find(','))));
            rest = rest.substr(rest.find(',') + 1);
        }
        found.values.emplace_back(trimmed(rest));
        texts.emplace(key, std::move(found));
    }
    return texts;
}

} // namespace twinstep::tools
