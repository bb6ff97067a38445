// SPDX-License-Identifier: MIT
// Output and errors, the same for every verb.
#include "command.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace twinstep::tools {

namespace {

void write_line(std::FILE* stream, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stream);
    std::fputc('\n', stream);
}

/// The code point that begins at `at` and the bytes it takes; 0 bytes if it is not UTF-8.
std::pair<std::uint32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(at);
    if (first < 0x80) {
        return {first, 1};
    }
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() - at < size) {
        return {0, 0};
    }
    std::uint32_t point = first & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(at + i) & 0xc0U) != 0x80) {
            return {0, 0};
        }
        point = point << 6 | (byte(at + i) & 0x3fU);
    }
    const bool overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return overlong || surrogate || point > 0x10ffff ? std::pair<std::uint32_t, std::size_t>{0, 0}
                                                     : std::pair{point, size};
}

/// Control characters, line separators, and marks that make text look other than it is.
bool is_dangerous(std::uint32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

} // namespace

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto [point, size] = code_point(text, at);
        if (size == 0 || (size == 1 && is_dangerous(point))) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        } else if (is_dangerous(point)) {
            out += fmt::format("\\u{:04x}", point);
        } else {
            out += text.substr(at, size);
        }
        at += std::max<std::size_t>(size, 1);
    }
    return out;
}

std::string json_for_terminals(std::string json) {
    // JSON's own escapes cover everything below 0x20, and outside of strings it is ASCII.
    const auto suspect = [](char c) {
        return c == '\x7f' || static_cast<unsigned char>(c) >= 0x80;
    };
    if (std::none_of(json.begin(), json.end(), suspect)) {
        return json;
    }
    std::string out;
    for (std::size_t at = 0; at < json.size();) {
        const auto [point, size] = code_point(json, at);
        const std::size_t taken = std::max<std::size_t>(size, 1);
        if (point >= 0x7f && is_dangerous(point)) {
            out += fmt::format("\\u{:04x}", point);
        } else {
            out += std::string_view(json).substr(at, taken);
        }
        at += taken;
    }
    return out;
}

std::string to_text(const Json& json, int indent) {
    return json_for_terminals(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

Json to_json(const Divergence& divergence) {
    Json object{{"tick", json_integer(divergence.tick.value)},
                {"section", divergence.section},
                {"field", divergence.field}};
    // A player knows its own state only: a verdict says where, not what would be right.
    if (!divergence.expected.empty()) {
        object["expected"] = divergence.expected;
    }
    if (!divergence.actual.empty()) {
        object["actual"] = divergence.actual;
    }
    return object;
}

std::string to_line(const Divergence& divergence) {
    std::string where = fmt::format("tick {}", divergence.tick.value);
    if (!divergence.section.empty()) {
        where += fmt::format(", section {}", divergence.section);
    }
    if (!divergence.field.empty()) {
        where += fmt::format(", field {}", divergence.field);
    }
    std::string values;
    if (!divergence.expected.empty()) {
        values = fmt::format("expected {}", divergence.expected);
    }
    if (!divergence.actual.empty()) {
        values += fmt::format("{}actual {}", values.empty() ? "" : ", ", divergence.actual);
    }
    return values.empty() ? where : fmt::format("{}: {}", where, values);
}

Result<const GameEntry*> Context::find_game(std::string_view id) const {
    std::string known;
    for (const GameEntry& entry : games_) {
        const std::string game_id = entry.make()->info().id;
        if (game_id == id) {
            return &entry;
        }
        known += (known.empty() ? "" : ", ") + game_id;
    }
    return fail(Error(SimErrc::bad_setup,
                      fmt::format("game {}", id),
                      fmt::format("this command knows {}", known)));
}

void Context::say(std::string_view line) const {
    if (!json) {
        write_line(stdout, printable(line));
    }
}

void Context::print(const Json& object) const {
    if (json) {
        write_line(stdout, to_text(object, -1));
    }
}

void Context::data(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void Context::note(std::string_view line) {
    write_line(stderr, fmt::format("twinstep: {}", printable(line)));
}

Exit Context::exit_for(const Error& error) {
    if (error.code == replay::Errc::incompatible_simulation ||
        error.code == replay::Errc::unsupported_version) {
        return Exit::incompatible;
    }
    return Exit::failed;
}

Exit Context::refuse(const Error& error) {
    note(to_string(error));
    return exit_for(error);
}

Exit Context::refuse_option(const Error& error) {
    const Exit exit = refuse(error);
    return error.where.empty() && error.code.category() == sim_category() ? Exit::usage : exit;
}

CLI::App& declare_verb(CLI::App& app,
                       Context& context,
                       std::string_view name,
                       std::string_view summary,
                       std::string_view example) {
    CLI::App& verb = *app.add_subcommand(std::string(name), std::string(summary));
    verb.add_flag("--json", context.json, "Print exactly one JSON object (one a line where noted)");
    std::string line(example);
    const auto put = [&line](std::string_view from, std::string_view to) {
        if (const std::size_t at = line.find(from); at != std::string::npos) {
            line.replace(at, from.size(), to);
        }
    };
    put("twinstep", context.program());
    if (!context.games().empty()) {
        put(" marine ", fmt::format(" {} ", context.games().front().make()->info().id));
    }
    verb.footer(fmt::format("Example:\n  {}", line));
    return verb;
}

} // namespace twinstep::tools
