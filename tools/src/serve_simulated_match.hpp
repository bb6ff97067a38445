// SPDX-License-Identifier: MIT
// The simulation of one match on the server, with its recorder and the evidence it keeps.
#pragma once

#include "evidence.hpp"

#include "twinstep/net/server_simulation.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <memory>
#include <optional>

namespace twinstep::tools {

/// What is simulated of one match, and who watches it. Stays where it was made: the simulation
/// borrows its watchers. Thread: one owner at a time.
class SimulatedMatch {
public:
    struct Options {
        std::optional<replay::Recorder> recorder;
        bool keep_evidence = false; ///< The newest states, for a verdict to be looked into.
        bool wants_hashes = true;   ///< Somebody reads the hashes of each step.
    };

    /// The simulation has been reset.
    explicit SimulatedMatch(std::unique_ptr<Simulation> simulation);
    SimulatedMatch(std::unique_ptr<Simulation> simulation, Options options);
    SimulatedMatch(const SimulatedMatch&) = delete;
    SimulatedMatch& operator=(const SimulatedMatch&) = delete;
    ~SimulatedMatch() = default;

    /// Takes the step of one closed tick. Errors: those of decode_frame and of the driver; no
    /// further step makes sense.
    Result<void> step(ByteView encoded);

    /// Hashes of the state it stands at: the one before the step that failed, if one did.
    const StateHashes& hashes() const { return *server_.hashes(); }

    bool wants_hashes() const { return options_.wants_hashes; }

    net::ServerSimulation& server() { return server_; }

    /// Null: nothing is recorded.
    replay::Recorder* recorder() { return options_.recorder ? &*options_.recorder : nullptr; }

    /// Null: no states are kept.
    const EvidenceRing* evidence() const { return evidence_ ? &*evidence_ : nullptr; }

private:
    Options options_;
    net::ServerSimulation server_;
    std::optional<EvidenceRing> evidence_;
};

} // namespace twinstep::tools
