// SPDX-License-Identifier: MIT
// What of a state matters: changes one bit at a time and looks who notices.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace twinstep {

struct CoverageOptions {
    std::uint64_t ticks = 64;         ///< Played after each change.
    std::uint64_t samples_max = 1000; ///< Changes; fewer if the state has fewer bytes. At least 1.
    std::uint64_t seed = 1;           ///< Which bits are changed.
    /// Called after each change with how many were made and will be; may be empty.
    std::function<void(std::uint64_t made, std::uint64_t all)> progress;
};

/// What became of the changes of a field, or of all elements of a list together.
struct FieldCoverage {
    std::string section;
    std::string field;          ///< Such as "bodies[].x".
    std::uint64_t changed = 0;  ///< How often one bit of it was changed.
    std::uint64_t noticed = 0;  ///< Some other field was different at the end.
    std::uint64_t unhashed = 0; ///< The state's hash stayed as it was: nothing would ever tell.
};

struct CoverageReport {
    Tick tick;               ///< Of the state that was changed.
    std::uint64_t ticks = 0; ///< That were played after each change.
    std::uint64_t bytes = 0; ///< Of the state.
    std::uint64_t samples = 0;
    /// Changes that could not be loaded: the game's `serialize` knows better.
    std::uint64_t refused = 0;
    /// Changes that made a list longer or shorter, or a field appear; they belong to no field.
    std::uint64_t reshaped = 0;
    std::vector<FieldCoverage> fields; ///< All there are, in the order of `serialize`.
};

/// Changes single bits of the state that the simulation is in, plays `ticks` ticks from the source
/// with each change and without, and compares. Afterwards the simulation is in the state in which
/// it was. Bytes are taken from all sections alike, however large they are. A field that nothing
/// notices is one that no step reads, or that every step writes before it reads it.
/// Errors: the source's, Driver's and Simulation's; wrong_tick if the source has no further tick.
/// Determinism: the same options give the same report.
Result<CoverageReport>
measure_coverage(Simulation& simulation, Source& source, const CoverageOptions& options = {});

} // namespace twinstep
