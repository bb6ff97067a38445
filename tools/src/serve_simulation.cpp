// SPDX-License-Identifier: MIT
// One match's driver on the server.
#include "serve_simulation.hpp"

#include "twinstep/sim/frame.hpp"

#include <utility>

namespace twinstep::tools {

Result<Supply> MatchSimulation::OneFrame::next(Tick tick, TickFrame& frame) {
    if (encoded.empty()) {
        return Supply::not_yet;
    }
    if (Result<void> decoded = decode_frame(encoded, frame); !decoded) {
        return fail(decoded.error());
    }
    encoded = {};
    if (frame.tick() != tick) {
        return fail(Error(SimErrc::wrong_tick,
                          "tick",
                          "closed tick " + std::to_string(frame.tick().value) + " came at tick " +
                              std::to_string(tick.value)));
    }
    return Supply::ready;
}

MatchSimulation::MatchSimulation(std::unique_ptr<Simulation> simulation,
                                 std::optional<replay::Recorder> recorder)
    : simulation_(std::move(simulation))
    , driver_(*simulation_, source_)
    , recorder_(std::move(recorder)) {
    if (recorder_) {
        driver_.add(*recorder_);
    }
    driver_.add(last_);
    last_.hashes = simulation_->hash();
}

MatchSimulation::~MatchSimulation() = default;

void MatchSimulation::keep_evidence() {
    evidence_.emplace(*simulation_);
    driver_.add(*evidence_);
}

Result<void> MatchSimulation::write_evidence(const std::string& path, Tick tick) const {
    if (!evidence_) {
        return fail(Error(SimErrc::wrong_tick, "tick", "no states are kept"));
    }
    return evidence_->write(path, tick);
}

Result<void> MatchSimulation::step(ByteView encoded) {
    source_.encoded = encoded;
    const Result<Advance> done = driver_.advance(1);
    source_.encoded = {};
    if (!done) {
        return fail(done.error());
    }
    return {};
}

std::optional<replay::RecorderStatus> MatchSimulation::recording() const {
    if (!recorder_) {
        return std::nullopt;
    }
    return recorder_->status();
}

Result<void> MatchSimulation::close_recording() {
    return recorder_ ? recorder_->close() : Result<void>{};
}

} // namespace twinstep::tools
