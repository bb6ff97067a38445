// SPDX-License-Identifier: MIT
// The simulation of one match on the server: closed ticks in, hashes, snapshots and a recording
// out.
#pragma once

#include "evidence.hpp"

#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::tools {

/// A driver that is fed one closed tick at a time. Stays where it was made.
/// Thread: one owner at a time.
class MatchSimulation {
public:
    /// The simulation has been reset. Without a recorder nothing is written.
    MatchSimulation(std::unique_ptr<Simulation> simulation,
                    std::optional<replay::Recorder> recorder);
    MatchSimulation(const MatchSimulation&) = delete;
    MatchSimulation& operator=(const MatchSimulation&) = delete;
    ~MatchSimulation();

    /// From now on the newest states are kept, for a verdict to be looked into.
    void keep_evidence();
    /// Writes the state of a tick to a file that must not exist yet. Errors: wrong_tick if it is
    /// no longer kept; io_error.
    Result<void> write_evidence(const std::string& path, Tick tick) const;

    /// Takes the step of one closed tick. Errors: those of decode_frame and of the driver; the
    /// state is then unchanged, and no further step makes sense.
    Result<void> step(ByteView encoded);

    Simulation& simulation() { return *simulation_; }

    /// Hashes of the state the last step led to.
    const StateHashes& hashes() const { return last_.hashes; }

    /// How the recording is doing; nothing if there is none.
    std::optional<replay::RecorderStatus> recording() const;
    /// Ends the recording. Errors: what stopped it.
    Result<void> close_recording();

private:
    struct OneFrame final : Source {
        Result<Supply> next(Tick tick, TickFrame& frame) override;
        ByteView encoded;
    };

    struct LastHashes final : Observer {
        void after(const StateHashes& hashes_after) override { hashes = hashes_after; }

        StateHashes hashes;
    };

    std::unique_ptr<Simulation> simulation_;
    OneFrame source_;
    LastHashes last_;
    Driver driver_;
    std::optional<replay::Recorder> recorder_;
    std::optional<EvidenceRing> evidence_;
};

} // namespace twinstep::tools
