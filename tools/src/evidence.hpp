// SPDX-License-Identifier: MIT
// Evidence bundles: what one machine saw and computed around a tick, for `diff` to compare with
// another machine's.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// Remembers the newest ticks: each tick's frame and the hashes of the state it led to, and
/// snapshots of states at ticks that two machines choose alike. A wrong state cannot be computed
/// again from the inputs, so it has to be kept. Nothing is allocated once the ring is full, as long
/// as states do not grow.
/// Thread: the driver's.
class EvidenceRing final : public Observer {
public:
    /// At 60 Hz 8 s: a verdict takes a hash interval and two round trips, about a second.
    static constexpr std::size_t ticks_kept = 512;
    static constexpr std::size_t budget_bytes_usual = std::size_t{128} << 20U;

    /// The simulation is borrowed and has been reset or loaded. Its size decides at which ticks
    /// snapshots are kept: at multiples of the least power of two that fits the budget. For a small
    /// state that is every tick.
    explicit EvidenceRing(Simulation& simulation, std::size_t budget_bytes = budget_bytes_usual);

    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    std::string_view name() const override { return "the evidence ring"; }

    /// True if the hashes of this state are kept.
    bool has(Tick tick) const;
    /// Writes what is kept, with the first snapshot at or after `tick`, to a file that must not
    /// exist yet. Errors: wrong_tick if the state's hashes are no longer kept; already_exists,
    /// io_error.
    Result<void> write(const std::string& path, Tick tick) const;

private:
    struct Row {
        Bytes frame; ///< That led to the state.
        StateHashes hashes;
        Bytes snapshot; ///< Empty at most ticks, if states are large.
    };

    const Row& row(std::uint64_t tick) const { return rows_[tick % ticks_kept]; }

    Simulation& simulation_;
    std::uint64_t stride_ = 1;
    std::uint64_t newest_ = 0;
    std::uint64_t count_ = 0;
    Bytes frame_;
    std::array<Row, ticks_kept> rows_;
};

/// One state in a bundle.
struct EvidenceRow {
    Bytes frame;
    StateHashes hashes;
};

/// A bundle that was read.
struct Evidence {
    Manifest manifest;
    std::vector<EvidenceRow> rows; ///< Consecutive ticks.
    std::optional<Tick> snapshot_tick;
    Bytes snapshot;
};

/// True if the file begins as a bundle does.
bool is_evidence(const std::string& path);
/// Reads a bundle. Errors: truncated, malformed, limit_exceeded, trailing_bytes with the offset.
Result<Evidence> decode_evidence(ByteView bytes);
/// The same of a file. Errors: io_error; truncated, malformed, limit_exceeded, trailing_bytes with
/// the path and the offset.
Result<Evidence> read_evidence(const std::string& path);

} // namespace twinstep::tools
