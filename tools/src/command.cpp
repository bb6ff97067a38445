// SPDX-License-Identifier: MIT
// Output and errors, the same for every verb.
#include "command.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace twinstep::tools {

namespace {

void write_line(std::FILE* stream, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stream);
    std::fputc('\n', stream);
}

} // namespace

Json to_json(const Divergence& divergence) {
    return {{"tick", json_integer(divergence.tick.value)},
            {"section", divergence.section},
            {"field", divergence.field},
            {"expected", divergence.expected},
            {"actual", divergence.actual}};
}

std::string to_line(const Divergence& divergence) {
    std::string where = fmt::format("tick {}", divergence.tick.value);
    if (!divergence.section.empty()) {
        where += fmt::format(", section {}", divergence.section);
    }
    if (!divergence.field.empty()) {
        where += fmt::format(", field {}", divergence.field);
    }
    return fmt::format("{}: expected {}, actual {}", where, divergence.expected, divergence.actual);
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
        write_line(stdout, line);
    }
}

void Context::print(const Json& object) const {
    if (json) {
        // Names inside a file may be any bytes; what is not UTF-8 is shown as U+FFFD.
        write_line(stdout, object.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
}

void Context::data(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void Context::note(std::string_view line) {
    write_line(stderr, fmt::format("twinstep: {}", line));
}

Exit Context::refuse(const Error& error) {
    note(to_string(error));
    if (error.code == replay::Errc::incompatible_simulation ||
        error.code == replay::Errc::unsupported_version) {
        return Exit::incompatible;
    }
    return Exit::failed;
}

CLI::App& declare_verb(CLI::App& app,
                       Context& context,
                       std::string_view name,
                       std::string_view summary,
                       std::string_view example) {
    CLI::App& verb = *app.add_subcommand(std::string(name), std::string(summary));
    verb.add_flag("--json", context.json, "Print exactly one JSON object (one a line where noted)");
    verb.footer(fmt::format("Example:\n  {}", example));
    return verb;
}

} // namespace twinstep::tools
