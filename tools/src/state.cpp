// SPDX-License-Identifier: MIT
// twinstep state: the named state tree at a tick.
#include "command.hpp"
#include "options.hpp"
#include "player_session.hpp"
#include "state_tree.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace twinstep::tools {

namespace {

struct StateOptions {
    std::string path;
    std::uint64_t at = 0;
    std::optional<std::uint32_t> workers;
};

Exit show(Context& context, const StateOptions& options) {
    auto session = open_player(context, options.path, options.workers);
    if (!session) {
        return Context::refuse(session.error());
    }
    if (const Result<void> reached = seek(*session, options.at, "--at"); !reached) {
        return Context::refuse_option(reached.error());
    }
    Simulation& simulation = *session->simulation;
    const std::string hash = to_hex(simulation.hash().state);
    Json state = state_tree(simulation);
    context.print({{"file", options.path},
                   {"tick", json_integer(options.at)},
                   {"hash", hash},
                   {"state", state}});
    context.say(fmt::format("tick {}, hash {}", options.at, hash));
    if (!context.json) {
        Context::data(to_text(state, 2) + "\n");
    }
    note_problems(session->player.recording());
    if (const auto& divergence = session->player.verdict().divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*divergence)));
        return Exit::divergence;
    }
    return Exit::done;
}

} // namespace

void declare_state(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "state",
                                  "The named state tree at a tick",
                                  "twinstep state bot.twin --at 100");
    auto options = std::make_shared<StateOptions>();
    verb.add_option("file", options->path, "Recording")->required()->check(not_empty());
    verb.add_option("--at", options->at, "Tick: the state before its inputs")
        ->required()
        ->transform(whole_number(0, UINT64_MAX));
    add_workers_option(verb, options->workers);
    verb.callback(
        [&action, options] { action = [options](Context& c) { return show(c, *options); }; });
}

} // namespace twinstep::tools
