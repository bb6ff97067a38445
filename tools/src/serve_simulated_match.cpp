// SPDX-License-Identifier: MIT
// One match's simulation on the server: who watches it, and one step.
#include "serve_simulated_match.hpp"

#include <utility>

namespace twinstep::tools {

SimulatedMatch::SimulatedMatch(std::unique_ptr<Simulation> simulation)
    : SimulatedMatch(std::move(simulation), Options{}) {}

SimulatedMatch::SimulatedMatch(std::unique_ptr<Simulation> simulation, Options options)
    : options_(std::move(options))
    // One frame waits, and the result of the last step beside that of the one before.
    , server_(std::move(simulation), {1, net::ServerSimulation::Limits{}.frame_bytes_max, 2}) {
    if (options_.recorder) {
        server_.add(*options_.recorder);
    }
    if (options_.keep_evidence) {
        server_.add(evidence_.emplace(server_.simulation()));
    }
}

Result<void> SimulatedMatch::step(ByteView encoded) {
    if (!server_.offer(server_.tick(), encoded)) {
        return fail(Error(SimErrc::limit_exceeded, "tick", "the simulation takes no more"));
    }
    if (Result<Advance> advanced = server_.advance(1); !advanced) {
        return fail(std::move(advanced.error()));
    }
    server_.take_hashes();
    return {};
}

} // namespace twinstep::tools
