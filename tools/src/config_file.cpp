// SPDX-License-Identifier: MIT
// Reads a game's settings.
#include "config_file.hpp"

#include "text_file.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t config_file_bytes_max = std::uint64_t{1} << 20;

} // namespace

Result<std::map<std::string, std::string>> parse_config(std::string_view text) {
    std::map<std::string, std::string> config;
    std::string_view rest = text;
    for (std::size_t line = 1; !rest.empty(); ++line) {
        const std::size_t end = rest.find('\n');
        const std::string_view content = trimmed(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        if (content.empty() || content.front() == '#') {
            continue;
        }
        const std::size_t equals = content.find('=');
        const std::string_view key = trimmed(content.substr(0, equals));
        if (equals == std::string_view::npos || key.empty() ||
            !config.emplace(key, trimmed(content.substr(equals + 1))).second) {
            return fail(Error(SimErrc::bad_setup,
                              fmt::format("line {}", line),
                              "write key = value, each key once"));
        }
    }
    return config;
}

Result<std::map<std::string, std::string>> read_config_file(const std::string& path) {
    const auto text = read_text_file(path, config_file_bytes_max);
    if (!text) {
        return fail(text.error());
    }
    auto config = parse_config(*text);
    if (!config) {
        return fail(std::move(config.error()).in(path));
    }
    return config;
}

} // namespace twinstep::tools
