// SPDX-License-Identifier: MIT
// A recording whose inputs are held in memory, to be played in part or elsewhere.
#pragma once

#include "command.hpp"

#include "twinstep/replay/bisect.hpp"

#include <memory>
#include <string>

namespace twinstep::tools {

/// Everything that entered a session, and the game that it was of.
struct RecordedSession {
    const GameEntry* entry = nullptr;
    std::unique_ptr<Simulation> simulation;
    replay::RecordedInputs inputs;
};

/// Reads a recording's inputs. Errors: those of open_recording and RecordedInputs::read, with the
/// path.
Result<RecordedSession> open_recorded_session(const Context& context, const std::string& path);

} // namespace twinstep::tools
