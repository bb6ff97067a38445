// SPDX-License-Identifier: MIT
// `pile` refuses snapshots that a step could not work on, and survives those it takes.
#include "pile_support.hpp"

#include <catch2/catch.hpp>

using namespace pile_test;
using twinstep::Random;
using twinstep::Tick;

TEST_CASE("a snapshot of another number of bodies is refused", "[pile][fault]") {
    Simulation small;
    REQUIRE(small.reset(setup(1, "20")).has_value());
    Simulation large;
    REQUIRE(large.reset(setup(1, "30")).has_value());
    Bytes snapshot;
    small.save(snapshot);
    const std::string before = hash_of(large);
    CHECK_FALSE(large.load(snapshot).has_value());
    CHECK(hash_of(large) == before);
}

TEST_CASE("a damaged snapshot of pile is refused or stays finite", "[pile][fault]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    Simulation simulation;
    REQUIRE(simulation.reset(setup(seed, "30")).has_value());
    REQUIRE(advance_bot(simulation, 200));
    Bytes good;
    simulation.save(good);
    std::size_t refused = 0;
    Random random(seed, Tick{0}, 79);
    for (int i = 0; i < 2000; ++i) {
        Bytes bad = good;
        const std::uint32_t place = random.below(static_cast<std::uint32_t>(bad.size()));
        const std::uint32_t flips = 1 + random.below(255);
        bad[place] ^= static_cast<std::byte>(flips);
        CAPTURE(place, flips);
        Simulation other;
        REQUIRE(other.reset(setup(seed, "30")).has_value());
        if (!other.load(bad)) {
            refused += 1;
            continue;
        }
        for (int tick = 0; tick < 3; ++tick) {
            REQUIRE(advance(other, bot_input(seed, other.tick())));
        }
        REQUIRE(all_finite(other.game()));
        REQUIRE(all_inside(other.game()));
    }
    CHECK(refused > 200);
    for (std::size_t size = 0; size < good.size(); size += 7) {
        Simulation other;
        REQUIRE(other.reset(setup(seed, "30")).has_value());
        REQUIRE_FALSE(other.load(twinstep::ByteView(good).first(size)).has_value());
    }
}
