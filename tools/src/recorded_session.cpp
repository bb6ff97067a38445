// SPDX-License-Identifier: MIT
// A recording whose inputs are held in memory, to be played in part or elsewhere.
#include "recorded_session.hpp"

#include "edit_output.hpp"
#include "recordings.hpp"

#include <utility>

namespace twinstep::tools {

Result<RecordedSession> open_recorded_session(const Context& context, const std::string& path) {
    auto recording = open_recording(context, path);
    if (!recording) {
        return fail(recording.error());
    }
    const GameEntry* const entry = *context.find_game(recording->reader.manifest().at("sim.id"));
    auto inputs =
        replay::RecordedInputs::read(*recording->simulation, readable(path), entry->neutral);
    if (!inputs) {
        return fail(located(inputs.error(), path));
    }
    return RecordedSession{entry, std::move(recording->simulation), std::move(*inputs)};
}

} // namespace twinstep::tools
