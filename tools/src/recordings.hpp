// SPDX-License-Identifier: MIT
// What the verbs that read recordings share.
#pragma once

#include "command.hpp"

#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/driver.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

/// The side file with keyframes that lies beside a recording, or "" if there is none.
std::string found_side_file(const std::string& path);

/// A recording on its way through its game, from tick 0, with every recorded hash compared.
struct Replay {
    std::string path;
    std::unique_ptr<Simulation> simulation;
    replay::Playback playback;
    Driver driver;
    bool other_build = false; ///< Another build of the game made the recording.
};

/// Opens a recording, makes its game and sets it up. Errors: those of open_recording and
/// replay::prepare_simulation, with the path.
Result<Replay> start_replay(const Context& context, const std::string& path);

/// The error with the file in front of where it says it happened, unless it is there already.
Error located(Error error, const std::string& path);

/// Done, or loss with a note for people if a file is not whole.
Exit exit_for_state(const std::string& path,
                    replay::FileState state,
                    const std::vector<replay::Defect>& defects);

/// "120 ticks from tick 4000 on are missing: ..." for people.
std::string loss_line(const replay::Loss& loss);

/// Notes that the recording was made by another build.
void note_other_build(const std::string& path);

Json to_json(const replay::Defect& defect);

} // namespace twinstep::tools
