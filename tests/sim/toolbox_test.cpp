// SPDX-License-Identifier: MIT
// A game whose state is made of all containers: saved, loaded, gone back, at every tick.
#include "state_forms.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/shared_snapshots.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

struct ToolboxUnit {
    Q16x16 x;
    Q32x32 sum;
    Ring<std::uint16_t, 5> trail;
    FlatMap<std::uint16_t, Ring<std::string, 2>> notes;
    SlotHandle<ToolboxUnit> target;
    DrawCount draws;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(sum), CEREAL_NVP(trail), CEREAL_NVP(notes));
        archive(CEREAL_NVP(target), CEREAL_NVP(draws));
    }
};

class ToolboxGame {
public:
    using Input = ToyInput;
    using Due = FlatMapItem<std::uint64_t, SlotHandle<ToolboxUnit>>;
    static constexpr std::string_view id = "toolbox";
    static constexpr TickRate tick_rate{50};

    struct Sooner {
        bool operator()(const Due& a, const Due& b) const {
            return a.key < b.key || (a.key == b.key && a.value < b.value);
        }
    };

    void reset(const Setup&) {}

    void step(const Step<Input>& step) {
        const DrawStream stream(step.random, 3);
        for (std::uint32_t i = step.random.below(4); i > 0 && units_.size() < 60; --i) {
            const auto handle = units_.insert({});
            const std::uint32_t delay = step.random.below(30);
            due_.push({step.tick.value + delay, handle});
        }
        for (auto [handle, unit] : units_) {
            Draws draws(stream, handle.key(), unit.draws);
            unit.x = Q16x16::ratio(draws.between(-100, 100), 3);
            unit.sum += Q32x32{unit.x} * unit.x.floor();
            unit.trail.push_over(static_cast<std::uint16_t>(draws.below(1000)));
            unit.notes[static_cast<std::uint16_t>(draws.below(6))].push_over(to_string(unit.x));
            unit.target = units_.contains(unit.target) ? unit.target : handle;
        }
        while (!due_.empty() && due_.top().key <= step.tick.value) {
            units_.erase(due_.pop().value);
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("units", CEREAL_NVP(units_)), section("due", CEREAL_NVP(due_)));
    }

private:
    SlotMap<ToolboxUnit, 100> units_;
    Heap<Due, Sooner> due_;
};

void step_toolbox(Simulation& simulation) {
    ToySource source(1);
    TickFrame frame;
    REQUIRE(source.next(simulation.tick(), frame));
    REQUIRE(simulation.prepare(frame));
    simulation.step();
}

} // namespace

TEST_CASE("a state of all containers is the same when loaded at every tick", "[sim][property]") {
    GameSimulation<ToolboxGame> straight; // is never hashed on its way
    GameSimulation<ToolboxGame> hashed;
    GameSimulation<ToolboxGame> loaded;
    for (Simulation* simulation : std::initializer_list<Simulation*>{&straight, &hashed, &loaded}) {
        REQUIRE(simulation->reset({11, 1, {}}));
    }
    std::set<Hash128> seen;
    Bytes bytes;
    for (int tick = 0; tick < 300; ++tick) {
        step_toolbox(straight);
        step_toolbox(hashed);
        step_toolbox(loaded);
        const Hash128 hash = hashed.hash().state;
        seen.insert(hash);
        loaded.save(bytes);
        REQUIRE(loaded.load(bytes));
        REQUIRE(loaded.hash().state == hash);
        Bytes again;
        loaded.save(again);
        REQUIRE(again == bytes);
    }
    REQUIRE(straight.hash().state == hashed.hash().state);
    REQUIRE(seen.size() == 300);
}

TEST_CASE("a state of all containers goes back in place and comes the same way",
          "[sim][property]") {
    GameSimulation<ToolboxGame> simulation;
    REQUIRE(simulation.reset({12, 1, {}}));
    SharedSnapshots snapshots(8);
    std::vector<Hash128> hashes;
    for (int round = 0; round < 40; ++round) {
        for (int tick = 0; tick < 7; ++tick) {
            snapshots.save(simulation);
            if (simulation.tick().value == hashes.size()) {
                hashes.push_back(simulation.hash().state);
            }
            REQUIRE(simulation.hash().state ==
                    hashes[static_cast<std::size_t>(simulation.tick().value)]);
            step_toolbox(simulation);
        }
        REQUIRE(snapshots.go_back(Tick{simulation.tick().value - 5}, simulation));
    }
    REQUIRE(hashes.size() > 80);
}
