// SPDX-License-Identifier: MIT
// The server's own simulation of a match: closed ticks in, hashes and snapshots out.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"
#include "twinstep/sim/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace twinstep::net {

/// Steps a simulation along a match. No thread inside: a server gives it to a worker and carries
/// frames and results over its own queues, a test runs it in place. Its queues are bounded.
/// Thread: one owner at a time. Nothing is allocated per tick in the steady state.
class ServerSimulation {
public:
    /// How much may wait.
    struct Limits {
        std::size_t frames_max = 8192;                       ///< 136 s at 60 Hz: a long catch-up.
        std::size_t frame_bytes_max = std::size_t{8} << 20U; ///< Of all frames that wait.
        std::size_t hashes_max = 256;                        ///< Results that wait; then it stands.
    };

    /// The simulation stands at the match's next tick: it was reset, or loaded from a snapshot.
    explicit ServerSimulation(std::unique_ptr<Simulation> simulation);
    ServerSimulation(std::unique_ptr<Simulation> simulation, Limits limits);
    /// Borrows the simulation, which must outlive this.
    explicit ServerSimulation(Simulation& simulation);
    ServerSimulation(Simulation& simulation, Limits limits);
    ServerSimulation(ServerSimulation&&) noexcept;
    ServerSimulation& operator=(ServerSimulation&&) noexcept;
    ~ServerSimulation();

    /// Adds a borrowed observer, such as a recorder.
    void add(Observer& observer);

    /// Queues a closed tick; a copy is kept. False: the queue is full, or it is not the tick after
    /// the last one. The frame is then lost for this simulation, which cannot go on: see broken().
    [[nodiscard]] bool offer(Tick tick, ByteView frame);

    /// A snapshot of any state from `tick` on is wanted; an earlier wish is replaced.
    void want_snapshot(Tick tick);

    /// Takes up to `ticks_max` steps, fewer if frames are out or results are not taken. Errors: the
    /// driver's; it is then broken.
    Result<Advance> advance(std::uint64_t ticks_max);

    /// The oldest result that was not taken, beginning with the first state; null: none. Valid
    /// until the next call of advance() or take_hashes().
    const StateHashes* hashes() const;
    /// The oldest result was taken. Requires hashes() != null.
    void take_hashes();

    /// The snapshot that was wanted, once it is there: its state, and the bytes, valid until the
    /// next want_snapshot().
    std::optional<Tick> snapshot_tick() const;
    /// Requires snapshot_tick().
    ByteView snapshot() const;
    /// Moves it out, for whoever keeps it.
    Bytes take_snapshot();

    /// A frame was lost or an error occurred: no more steps. The match goes on without.
    bool broken() const;
    /// Frames that wait.
    std::size_t backlog() const;
    Tick tick() const;
    Simulation& simulation();
    std::size_t memory_bytes() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::net
