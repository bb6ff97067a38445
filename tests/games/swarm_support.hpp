// SPDX-License-Identifier: MIT
// A session of swarm that tests can drive tick by tick.
#pragma once

#include "swarm/swarm.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// A session whose inputs come from the bots or from the test.
class SwarmRun {
public:
    using Swarm = twinstep::games::Swarm;

    SwarmRun(std::uint64_t seed, std::uint16_t slots, std::uint32_t units)
        : inputs(slots) {
        REQUIRE(simulation.reset({seed, slots, {{"units", std::to_string(units)}}}));
    }

    /// Takes one step with `inputs`.
    void step() {
        const auto slots = static_cast<std::uint16_t>(inputs.size());
        frame_.reset(simulation.tick(), slots);
        for (std::uint16_t slot = 0; slot < slots; ++slot) {
            bytes_.clear();
            twinstep::encode_input(inputs[slot], bytes_);
            frame_.set_input(twinstep::Slot{slot}, bytes_);
        }
        if (!simulation.prepare(frame_)) {
            FAIL("an input was refused");
        }
        simulation.step();
    }

    void ask_bots() {
        for (std::uint16_t slot = 0; slot < inputs.size(); ++slot) {
            twinstep::Random random(simulation.setup().seed, simulation.tick(), 1000U + slot);
            inputs[slot] = Swarm::bot(random, simulation.tick(), twinstep::Slot{slot});
        }
    }

    void play(std::uint64_t ticks) {
        for (std::uint64_t i = 0; i < ticks; ++i) {
            ask_bots();
            step();
        }
    }

    /// Steps without orders.
    void wait(std::uint64_t ticks) {
        inputs.assign(inputs.size(), {});
        for (std::uint64_t i = 0; i < ticks; ++i) {
            step();
        }
    }

    /// One order of slot 0, then a step.
    void order(const twinstep::games::SwarmInput& input) {
        inputs.assign(inputs.size(), {});
        inputs[0] = input;
        step();
    }

    std::string state() { return twinstep::to_hex(simulation.hash().state); }

    const Swarm& game() const { return simulation.game(); }

    twinstep::GameSimulation<Swarm> simulation;
    std::vector<twinstep::games::SwarmInput> inputs;

private:
    twinstep::TickFrame frame_;
    twinstep::Bytes bytes_;
};
