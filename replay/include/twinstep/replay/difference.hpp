// SPDX-License-Identifier: MIT
// Finds the first difference between two simulations or two recordings, down to the field.
#pragma once

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace twinstep::replay {

/// Where two recordings part. `expected` is the left, `actual` the right side.
struct Difference {
    /// First tick whose frames differ; field such as "slots[1].turn" or "events[0].payload".
    std::optional<Divergence> input;
    /// First state that differs; section and field such as "players[2].x".
    std::optional<Divergence> state;
    std::uint64_t ticks_left = 0;  ///< Ticks of each that were looked at.
    std::uint64_t ticks_right = 0; ///< They differ if one recording is longer.

    bool same() const { return !input && !state && ticks_left == ticks_right; }
};

/// The first section and field in which two simulations of the same kind differ, or nothing if
/// their hashes are equal.
std::optional<Divergence> compare_states(Simulation& left, Simulation& right);

/// Plays two recordings side by side until their states differ or one ends. Errors: as verify_file;
/// also incompatible_simulation if the two are not of the same simulation.
Result<Difference> first_difference(Simulation& left,
                                    Simulation& right,
                                    const std::string& left_path,
                                    const std::string& right_path);
Result<Difference>
first_difference(Simulation& left, Simulation& right, Reader left_reader, Reader right_reader);

} // namespace twinstep::replay
