// SPDX-License-Identifier: MIT
// A state as JSON.
#pragma once

#include "command.hpp"

#include "twinstep/sim/simulation.hpp"

namespace twinstep::tools {

/// Sections as keys; integers of 64 bits as strings; floats as {"value", "bits"}.
Json state_tree(const Simulation& simulation);

} // namespace twinstep::tools
