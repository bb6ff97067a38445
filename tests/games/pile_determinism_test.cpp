// SPDX-License-Identifier: MIT
// `pile` is exact: equal runs, equal after save and load, equal to the committed hash.
#include "allocation_counter.hpp"
#include "pile_support.hpp"

#include <catch2/catch.hpp>

using namespace pile_test;
using twinstep::Random;
using twinstep::Tick;

TEST_CASE("the bot's pile gives the committed hash in every build", "[pile][golden]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(golden_seed)).has_value());
    REQUIRE(advance_bot(simulation, golden_ticks));
    CHECK(hash_of(simulation) == golden_hash);
    Bytes snapshot;
    simulation.save(snapshot);
    CHECK(snapshot.size() > 60000);
    CHECK(snapshot.size() < 150000);
}

TEST_CASE("two runs of pile are equal at every tick", "[pile][property]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    Simulation first;
    Simulation second;
    REQUIRE(first.reset(setup(seed, "150")).has_value());
    REQUIRE(second.reset(setup(seed, "150")).has_value());
    for (int i = 0; i < 300; ++i) {
        REQUIRE(advance_bot(first, 1));
        REQUIRE(advance_bot(second, 1));
        REQUIRE(hash_of(first) == hash_of(second));
    }
    Simulation other;
    REQUIRE(other.reset(setup(seed + 1, "150")).has_value());
    REQUIRE(advance_bot(other, 300));
    CHECK(hash_of(other) != hash_of(first));
}

TEST_CASE("a reset pile forgets its last session", "[pile][property]") {
    Simulation used;
    REQUIRE(used.reset(setup(1, "200")).has_value());
    REQUIRE(advance_bot(used, 100));
    REQUIRE(used.reset(setup(2, "100")).has_value());
    REQUIRE(advance_bot(used, 100));
    Simulation fresh;
    REQUIRE(fresh.reset(setup(2, "100")).has_value());
    REQUIRE(advance_bot(fresh, 100));
    CHECK(hash_of(used) == hash_of(fresh));
}

TEST_CASE("pile loaded at any tick goes on as the straight run does", "[pile][property]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    Simulation straight;
    REQUIRE(straight.reset(setup(seed, "200")).has_value());
    Simulation broken;
    REQUIRE(broken.reset(setup(seed, "200")).has_value());
    Random random(seed, Tick{0}, 78);
    Bytes snapshot;
    Bytes again;
    // 1,300 ticks reach both a throwing, a pulling and a sleeping pile.
    while (straight.tick().value < 1300) {
        const std::uint32_t ticks = 1 + random.below(60);
        CAPTURE(straight.tick().value, ticks);
        REQUIRE(advance_bot(straight, ticks));
        REQUIRE(advance_bot(broken, ticks));
        REQUIRE(hash_of(straight) == hash_of(broken));
        broken.save(snapshot);
        Simulation fresh;
        REQUIRE(fresh.reset(setup(seed, "200")).has_value());
        REQUIRE(fresh.load(snapshot).has_value());
        fresh.save(again);
        REQUIRE(again == snapshot);
        REQUIRE(broken.load(again).has_value());
    }
}

TEST_CASE("a step of pile allocates nothing", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(9)).has_value());
    REQUIRE(advance_bot(simulation, 300));
    twinstep::TickFrame frame;
    Bytes bytes;
    for (int i = 0; i < 60; ++i) {
        frame.reset(simulation.tick(), 1);
        bytes.clear();
        twinstep::encode_input(bot_input(9, simulation.tick()), bytes);
        frame.set_input(twinstep::Slot{0}, bytes);
        REQUIRE(simulation.prepare(frame).has_value());
        const AllocationCounter allocations;
        simulation.step();
        REQUIRE(allocations.count() == 0);
    }
}
