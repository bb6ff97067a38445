// SPDX-License-Identifier: MIT
// One recording in two builds of a game.
#pragma once

#include "command.hpp"

#include <optional>
#include <string>

namespace twinstep::tools {

/// The first state in which another build of this command comes to something else with a
/// recording's inputs, down to the field: `expected` is this build's. Nothing if there is none.
/// What the recording has of hashes does not matter here. Errors: those of open_recording;
/// wrong_tick if the recording starts late; io_error if the other program does not do what it
/// should, or takes longer than an hour.
Result<std::optional<Divergence>>
compare_builds(const Context& context, const std::string& path, const std::string& program);

} // namespace twinstep::tools
