// SPDX-License-Identifier: MIT
// Plays a recording back into a simulation and compares every recorded hash.
#pragma once

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

/// What a verifier has found so far.
struct Verdict {
    std::uint64_t hashes_checked = 0;     ///< Zero means that nothing was proved.
    std::optional<Divergence> divergence; ///< The first one.
};

/// A recording as a source and a verifier that share one pass over the file:
///     Playback playback(std::move(*reader));
///     Driver driver(*simulation, playback.source());
///     driver.add(playback.verifier());
/// Thread: the driver's.
class Playback {
public:
    explicit Playback(Reader reader);
    Playback(Playback&&) noexcept;
    Playback& operator=(Playback&&) noexcept;
    ~Playback();

    /// Emits the recorded frames again. Ticks may be skipped forward (after a load), never back.
    /// Errors: the reader's, wrong_tick. Stays valid while the playback lives, moved or not.
    Source& source();

    /// Compares the hashes of each state with what was recorded: before a tick its short hash and
    /// one byte a section, at a chunk end everything.
    Observer& verifier();

    /// If set, the source ends at the first divergence. Default: it goes on.
    void stop_at_divergence(bool stop);

    const Verdict& verdict() const;
    /// Forgets what was found, so that the next divergence is the first.
    void clear_verdict();

    /// Compares the hashes of a state that was reached without the verifier with what is on record
    /// of it. False if nothing is. Requires that the source was last asked for an earlier tick, or
    /// seek() for its chunk. Errors: the reader's.
    Result<bool> compare(const StateHashes& hashes);

    Reader& reader();

    /// Goes to a place of the recording; what was read ahead is forgotten. Errors: Reader::seek's.
    Result<void> seek(const ChunkPlace& place);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct VerifyOptions {
    ReadMode mode = ReadMode::tail;
    bool stop_at_divergence = true;
};

/// What verify_file found.
struct VerifyReport {
    std::uint64_t ticks = 0; ///< Steps that were simulated again.
    std::uint64_t hashes_checked = 0;
    std::optional<Divergence> divergence;
    bool build_differs = false; ///< sim.source_digest differs; nothing else that matters does.
    FileState state = FileState::closed; ///< Only meaningful without a divergence.
    std::vector<Defect> defects;
    Hash128 chain;      ///< Digest of the last chunk that was read.
    Hash128 final_hash; ///< Of the state the simulation ended in.
};

/// Resets the simulation to a recording's set-up and, if the recording starts late, loads the
/// keyframe that it begins with. Requires a reader that has not read a record; it is left so.
/// Errors: incompatible_simulation, with the first key that differs as field and both values as
/// detail; what reset refuses; corrupt_record if a late start has no keyframe whose state has the
/// hash it says. Yields true if the recording was made by another build (sim.source_digest) of the
/// same simulation.
Result<bool> prepare_simulation(Simulation& simulation, Reader& reader);

/// Resets the simulation to the recording's set-up, plays it all and compares every hash. The
/// caller looks at the report: a divergence, a file that is not whole and zero checked hashes are
/// values, not errors. Errors: those of Reader, prepare_simulation and Driver.
Result<VerifyReport>
verify_file(Simulation& simulation, const std::string& path, const VerifyOptions& options = {});
Result<VerifyReport>
verify(Simulation& simulation, Reader reader, const VerifyOptions& options = {});

} // namespace twinstep::replay
