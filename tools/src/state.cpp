// SPDX-License-Identifier: MIT
// twinstep state: the named state tree at a tick.
#include "command.hpp"
#include "options.hpp"
#include "recordings.hpp"
#include "state_tree.hpp"

#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <bit>
#include <memory>
#include <vector>

namespace twinstep::tools {

namespace {

struct StateOptions {
    std::string path;
    std::uint64_t at = 0;
};

Exit show(Context& context, const StateOptions& options) {
    auto recording = open_recording(context, options.path);
    if (!recording) {
        return Context::refuse(recording.error());
    }
    Simulation& simulation = *recording->simulation;
    const auto other_build = prepare(*recording, options.path);
    if (!other_build) {
        return Context::refuse(other_build.error());
    }
    replay::Playback playback(std::move(recording->reader));
    Driver driver(simulation, playback.source());
    driver.add(playback.verifier());
    if (const auto advance = driver.advance(options.at); !advance) {
        return Context::refuse(advance.error());
    }
    if (simulation.tick().value < options.at) {
        Context::note(fmt::format("{}: --at {}: the recording has {} ticks",
                                  options.path,
                                  options.at,
                                  simulation.tick().value));
        return Exit::usage;
    }
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
    if (playback.verdict().divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*playback.verdict().divergence)));
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
    verb.callback(
        [&action, options] { action = [options](Context& c) { return show(c, *options); }; });
}

} // namespace twinstep::tools
