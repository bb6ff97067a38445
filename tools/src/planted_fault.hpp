// SPDX-License-Identifier: MIT
// A simulation with one wrong bit, to see a search for it succeed.
#pragma once

#include "twinstep/sim/simulation.hpp"

#include <memory>
#include <utility>

namespace twinstep::tools {

/// Passes everything on, but for one step: the state it leads to has one bit flipped.
class PlantedFault final : public Simulation {
public:
    /// The first wrong state is that of `tick`.
    PlantedFault(std::unique_ptr<Simulation> inner, Tick tick)
        : inner_(std::move(inner))
        , tick_(tick) {}

    const SimulationInfo& info() const override { return inner_->info(); }

    Result<void> reset(const Setup& setup) override { return inner_->reset(setup); }

    const Setup& setup() const override { return inner_->setup(); }

    Tick tick() const override { return inner_->tick(); }

    Result<void> prepare(const TickFrame& frame) override { return inner_->prepare(frame); }

    void step() override;

    const StateHashes& hash() override { return inner_->hash(); }

    void save(Bytes& target) override { inner_->save(target); }

    Result<void> load(ByteView snapshot) override { return inner_->load(snapshot); }

    void visit(FieldVisitor& visitor) const override { inner_->visit(visitor); }

    Result<void> visit_input(ByteView input, FieldVisitor& visitor) const override {
        return inner_->visit_input(input, visitor);
    }

    std::unique_ptr<Simulation> make_another() const override { return inner_->make_another(); }

private:
    std::unique_ptr<Simulation> inner_;
    Tick tick_;
};

} // namespace twinstep::tools
