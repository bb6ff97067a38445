// SPDX-License-Identifier: MIT
// Opens what --from names.
#pragma once

#include "twinstep/sim/result.hpp"
#include "twinstep/tools/run.hpp"

#include <string>

namespace twinstep::tools {

/// Opens "bot:SEED", "ndjson:FILE" or one of the game's own kinds. `slots` is the session's number
/// of slots, for sources that do not bring one. Errors: bad_setup for an unknown kind; the kind's
/// own.
Result<OpenedSource>
open_source(const GameEntry& entry, const std::string& text, std::uint16_t slots);

} // namespace twinstep::tools
