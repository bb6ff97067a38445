// SPDX-License-Identifier: MIT
// twinstep games: the games this command knows.
#include "command.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

Json describe(const GameEntry& entry, const SimulationInfo& info) {
    std::vector<std::string> sources{"bot:SEED", "ndjson:FILE"};
    sources.insert(sources.end(), entry.source_forms.begin(), entry.source_forms.end());
    return {{"id", info.id},
            {"version", info.version},
            {"tick_rate", to_string(info.tick_rate)},
            {"slots_min", info.slots_min},
            {"slots_max", info.slots_max},
            {"input", info.input_schema},
            {"state", info.state_schema},
            {"sources", sources}};
}

Exit list_games(Context& context) {
    Json list = Json::array();
    for (const GameEntry& entry : context.games()) {
        const SimulationInfo info = entry.make()->info();
        list.push_back(describe(entry, info));
        context.say(fmt::format("{}  {} ticks/s, {} to {} slots",
                                info.id,
                                to_string(info.tick_rate),
                                info.slots_min,
                                info.slots_max));
        context.say(fmt::format("  input {}", info.input_schema));
        context.say(fmt::format("  state {}", info.state_schema));
    }
    context.print({{"games", list}});
    return Exit::done;
}

} // namespace

void declare_games(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "games",
                                  "List the games: tick rate, slots, input and state fields",
                                  "twinstep games --json");
    verb.callback([&action] { action = list_games; });
}

} // namespace twinstep::tools
