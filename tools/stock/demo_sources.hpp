// SPDX-License-Identifier: MIT
// Doom demos as sources of the stock command.
#pragma once

#include "twinstep/tools/run.hpp"

namespace twinstep::tools {

/// Adds "demo:FILE.lmp" and "wad:FILE.wad:LUMP".
void add_demo_sources(GameEntry& marine);

} // namespace twinstep::tools
