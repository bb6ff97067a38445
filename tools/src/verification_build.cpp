// SPDX-License-Identifier: MIT
// One recording in two builds of a game.
#include "verification_build.hpp"

#include "bisect_against.hpp"
#include "edit_output.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/inputs.hpp"

#include <numeric>
#include <vector>

namespace twinstep::tools {

Result<std::optional<Divergence>>
compare_builds(const Context& context, const std::string& path, const std::string& program) {
    auto recording = open_recording(context, path);
    if (!recording) {
        return fail(recording.error());
    }
    const auto game = context.find_game(recording->reader.manifest().at("sim.id"));
    if (!game) {
        return fail(game.error());
    }
    const Simulation& kind = *recording->simulation;
    const auto inputs =
        replay::RecordedInputs::read(*recording->simulation, readable(path), (*game)->neutral);
    if (!inputs) {
        return fail(located(inputs.error(), path));
    }
    if (inputs->first() != Tick{0}) {
        return fail(Error(replay::Errc::wrong_tick,
                          "tick",
                          "another program can only be given a session from tick 0 on")
                        .in(path));
    }
    std::vector<std::size_t> all(inputs->atoms().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const replay::InputChoice choice(*inputs, std::move(all), inputs->end());
    constexpr std::uint64_t limit_seconds = 3600;
    auto other = OtherBuild::create(program, kind, limit_seconds);
    if (!other) {
        return fail(other.error());
    }
    auto found = other->compare(choice);
    if (found && *found) {
        other->name_field(choice, **found);
    }
    return found;
}

} // namespace twinstep::tools
