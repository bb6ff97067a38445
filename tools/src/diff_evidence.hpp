// SPDX-License-Identifier: MIT
// The comparison of two evidence bundles.
#pragma once

#include "command.hpp"
#include "evidence.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::tools {

/// What two bundles say.
struct EvidenceDifference {
    std::uint64_t ticks = 0; ///< States that both know.
    /// First state that differs, with its section; field and values where a snapshot of both shows
    /// them, otherwise the section's hashes.
    std::optional<Divergence> state;
    std::optional<Tick> shown;      ///< The tick of those snapshots.
    std::optional<Tick> input_tick; ///< First tick of which they had different frames.
};

/// Compares two bundles of one match. Errors: incompatible_simulation, naming the key; what their
/// snapshots are wrong in.
Result<EvidenceDifference>
compare_evidence(const Context& context, const Evidence& left, const Evidence& right);

} // namespace twinstep::tools
