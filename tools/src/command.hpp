// SPDX-License-Identifier: MIT
// What every verb shares: the games, the output rules, the exit codes.
#pragma once

#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"
#include "twinstep/tools/run.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep::tools {

/// The exit codes of docs/cli.md.
enum class Exit : int {
    done = 0,
    failed = 1,
    usage = 2,
    loss = 3,
    divergence = 4,
    incompatible = 5,
    nothing_checked = 6,
};

/// Keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// A 64-bit integer in JSON: a string, because many readers of JSON only have doubles.
inline std::string json_integer(std::uint64_t value) {
    return std::to_string(value);
}

/// A divergence as JSON, without the file.
Json to_json(const Divergence& divergence);
/// A divergence as one line for people.
std::string to_line(const Divergence& divergence);

/// Text as a terminal may show it, on one line: control characters, marks that reorder text, and
/// bytes that are not UTF-8 are spelt out, as in "\x1b". Names in files may be anything.
std::string printable(std::string_view text);

/// The same for JSON: what its own escapes leave is spelt as "\u009b". The value is unchanged.
std::string json_for_terminals(std::string json);

/// JSON as text, which is safe to show; indent -1: on one line. What is not UTF-8 becomes U+FFFD.
std::string to_text(const Json& json, int indent);

/// What a verb works with.
class Context {
public:
    Context(const std::vector<GameEntry>& games, std::string program)
        : games_(games)
        , program_(std::move(program)) {}

    /// The name by which the command was called.
    const std::string& program() const { return program_; }

    const std::vector<GameEntry>& games() const { return games_; }

    /// The game with this id. Errors: bad_setup, with the ids that exist.
    Result<const GameEntry*> find_game(std::string_view id) const;

    /// Writes a line for people to standard output; nothing when --json was given.
    void say(std::string_view line) const;
    /// Writes one JSON object on one line to standard output; nothing without --json.
    void print(const Json& object) const;
    /// Writes text to standard output in any case: for verbs whose output is data.
    static void data(std::string_view text);
    /// Writes a remark to standard error.
    static void note(std::string_view line);
    /// The exit code that fits an error.
    static Exit exit_for(const Error& error);
    /// Writes the one-line error to standard error and returns the exit code that fits.
    static Exit refuse(const Error& error);
    /// The same for what an option says: a matter of usage, unless it is about a file.
    static Exit refuse_option(const Error& error);

    bool json = false;

private:
    const std::vector<GameEntry>& games_;
    std::string program_;
};

/// The work of a verb, run after all options are parsed.
using Action = std::function<Exit(Context&)>;

/// Declares a verb: a sub-command with --json and a worked example, which sets `action` when
/// chosen. The example says "twinstep" and "marine"; help shows this program and its first game.
CLI::App& declare_verb(CLI::App& app,
                       Context& context,
                       std::string_view name,
                       std::string_view summary,
                       std::string_view example);

// One file a verb; each declares its sub-command.
void declare_games(CLI::App& app, Context& context, Action& action);
void declare_record(CLI::App& app, Context& context, Action& action);
void declare_play(CLI::App& app, Context& context, Action& action);
void declare_verify(CLI::App& app, Context& context, Action& action);
void declare_info(CLI::App& app, Context& context, Action& action);
void declare_check(CLI::App& app, Context& context, Action& action);
void declare_cat(CLI::App& app, Context& context, Action& action);
void declare_import(CLI::App& app, Context& context, Action& action);
void declare_pack(CLI::App& app, Context& context, Action& action);
void declare_unpack(CLI::App& app, Context& context, Action& action);
void declare_keygen(CLI::App& app, Context& context, Action& action);
void declare_recover(CLI::App& app, Context& context, Action& action);
void declare_follow(CLI::App& app, Context& context, Action& action);
void declare_diff(CLI::App& app, Context& context, Action& action);
void declare_coverage(CLI::App& app, Context& context, Action& action);
void declare_state(CLI::App& app, Context& context, Action& action);
void declare_trim(CLI::App& app, Context& context, Action& action);
void declare_concat(CLI::App& app, Context& context, Action& action);
void declare_fork(CLI::App& app, Context& context, Action& action);
void declare_bisect(CLI::App& app, Context& context, Action& action);
void declare_rebaseline(CLI::App& app, Context& context, Action& action);
void declare_sign(CLI::App& app, Context& context, Action& action);
void declare_check_signature(CLI::App& app, Context& context, Action& action);
void declare_keyframes(CLI::App& app, Context& context, Action& action);
void declare_lint(CLI::App& app, Context& context, Action& action);
void declare_merge(CLI::App& app, Context& context, Action& action);
void declare_join(CLI::App& app, Context& context, Action& action);
void declare_timing(CLI::App& app, Context& context, Action& action);
void declare_doctor(CLI::App& app, Context& context, Action& action);
void declare_netsim(CLI::App& app, Context& context, Action& action);
void declare_self_test(CLI::App& app, Context& context, Action& action);
void declare_serve(CLI::App& app, Context& context, Action& action);

} // namespace twinstep::tools
