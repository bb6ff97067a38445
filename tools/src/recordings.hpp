// SPDX-License-Identifier: MIT
// What the verbs that read recordings share.
#pragma once

#include "command.hpp"

#include "twinstep/replay/reader.hpp"

#include <memory>
#include <string>

namespace twinstep::tools {

/// A recording and a fresh simulation of the game that made it.
struct OpenedRecording {
    replay::Reader reader;
    std::unique_ptr<Simulation> simulation;
};

/// Refuses what exists but is no regular file: a directory, a pipe, a device. Errors: io_error.
Result<void> check_regular(const std::string& path);

/// Opens a recording. Errors: the reader's, and those of check_regular.
Result<replay::Reader> open_reader(const std::string& path);

/// Opens a recording and makes its game. Errors: those of open_reader; incompatible_simulation if
/// this command does not know the game.
Result<OpenedRecording> open_recording(const Context& context, const std::string& path);

/// Sets the simulation up as the recording says. True if another build made it. Errors: those of
/// replay::prepare_simulation, with the path.
Result<bool> prepare(OpenedRecording& recording, const std::string& path);

/// Done, or loss with a note for people if a file is not whole.
Exit exit_for_state(const std::string& path,
                    replay::FileState state,
                    const std::vector<replay::Defect>& defects);

/// Notes that the recording was made by another build.
void note_other_build(const std::string& path);

Json to_json(const replay::Defect& defect);

} // namespace twinstep::tools
