// SPDX-License-Identifier: MIT
// How inputs and events are named and shown.
#pragma once

#include "twinstep/replay/inputs.hpp"
#include "twinstep/sim/frame.hpp"

#include <string>

namespace twinstep::replay {

/// "slots[1]" and "turn" make "slots[1].turn"; an input that is one value has an empty path.
std::string joined_path(const std::string& slot, const std::string& path);

/// "kind 6 slot 1 payload 6e6f7465".
std::string shown_event(const TickFrame& frame, const Event& event);

} // namespace twinstep::replay
