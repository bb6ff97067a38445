// SPDX-License-Identifier: MIT
// Verifies one recording on several threads, cut at its keyframes, with the answer of one pass.
#pragma once

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace twinstep::replay {

struct VerifySegmentsOptions {
    unsigned jobs = 1; ///< Threads, each with its own simulation and reader. At least 1.
    KeyframedOptions keyframes;
    /// Shortest segment, in ticks; 0: what gives each thread some 32 of them.
    std::uint64_t ticks_min = 0;
    std::atomic<std::uint64_t>* ticks_done = nullptr;  ///< Counts steps meanwhile; borrowed.
    std::atomic<std::uint64_t>* ticks_total = nullptr; ///< Set once it is known; borrowed.
};

/// What verify_segments found. Ticks, hashes and divergence are those of one pass.
struct SegmentedReport {
    std::uint64_t segments = 0; ///< That prove the whole together; 1: it was one pass.
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    std::optional<Divergence> divergence; ///< The first one.
    bool build_differs = false;           ///< As in VerifyReport.
    FileState state = FileState::closed;  ///< Only meaningful without a divergence.
    std::optional<Loss> loss;
    std::vector<Defect> defects;
    std::vector<KeyframeProblem> problems; ///< Keyframes that were not used, and why.
    std::uint64_t problems_left_out = 0;
    Hash128 final_hash;
};

/// Makes a simulation of the recording's game, and opens the recording anew. Both are called on
/// several threads at once.
struct SegmentFactory {
    std::function<std::unique_ptr<Simulation>()> make_simulation;
    std::function<Result<Reader>()> open_reader;
};

/// Plays the segments of a recording on `jobs` threads and compares every hash; each must end in
/// the state that the next one starts from. A keyframe that turns out to be wrong is a problem and
/// no divergence: the segments it parts become one. A divergence that was found from a keyframe is
/// reported only after one pass from the start came to it too; so the answer is that of one pass
/// even if a game's serialize misses a field. Without usable keyframes it is one pass.
/// Memory: `jobs` simulations and KeyframedRecordings. Errors: those of Reader, prepare_simulation
/// and Driver; io_error if the file changes meanwhile.
Result<SegmentedReport> verify_segments(const SegmentFactory& factory,
                                        const VerifySegmentsOptions& options = {});

} // namespace twinstep::replay
