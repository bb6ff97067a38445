// SPDX-License-Identifier: MIT
// swarm under arbitrary inputs and damaged snapshots.
#include "swarm_support.hpp"

#include <array>
#include <cstdio>

using namespace twinstep;
using namespace twinstep::games;

namespace {

/// Extreme values more often than not.
std::uint16_t wild(Random& random) {
    constexpr std::array<std::uint16_t, 8> edges{0, 1, 127, 128, 32767, 32768, 65534, 65535};
    const std::uint32_t which = random.below(16);
    const std::uint32_t any = random.below(65536);
    return which < edges.size() ? edges[which] : static_cast<std::uint16_t>(any);
}

SwarmInput wild_input(Random& random) {
    const std::uint32_t kind = random.below(8);
    const std::uint16_t squad = wild(random);
    const std::uint16_t x = wild(random);
    const std::uint16_t y = wild(random);
    const std::uint16_t radius = wild(random);
    return {static_cast<SwarmOrder>(kind < 7 ? kind : 255),
            static_cast<std::uint8_t>(squad),
            x,
            y,
            radius};
}

} // namespace

TEST_CASE("swarm survives any inputs and stays equal to its twin", "[games][swarm][property]") {
    const std::uint64_t seed = test_seed();
    std::printf("TWINSTEP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    for (const std::uint16_t slots : std::initializer_list<std::uint16_t>{2, 5, 8}) {
        CAPTURE(seed, slots);
        SwarmRun one(seed, slots, 400);
        SwarmRun other(seed, slots, 400);
        for (std::uint64_t tick = 0; tick < 250; ++tick) {
            Random random(seed, Tick{tick}, 500U + slots);
            for (SwarmInput& input : one.inputs) {
                input = wild_input(random);
            }
            other.inputs = one.inputs;
            one.step();
            other.step();
        }
        REQUIRE(one.state() == other.state());
    }
}

TEST_CASE("swarm refuses a damaged snapshot or goes on from it safely", "[games][swarm][fault]") {
    const std::uint64_t seed = test_seed();
    std::printf("TWINSTEP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    CAPTURE(seed);
    SwarmRun run(seed, 2, 100);
    run.play(120);
    Bytes good;
    run.simulation.save(good);
    const std::string state = run.state();
    SwarmRun target(seed, 2, 100);
    Random random(seed, Tick{0}, 9);
    std::size_t refused = 0;
    for (int round = 0; round < 400; ++round) {
        Bytes bad = good;
        // The units and squads are a small part behind the map; most damage shall hit them.
        const std::uint32_t range =
            random.below(3) == 0 ? static_cast<std::uint32_t>(bad.size()) : 4096U + 6000U;
        const std::uint32_t at = random.below(range);
        const std::uint32_t value = random.below(256);
        bad[at] = static_cast<std::byte>(value);
        const std::string before = target.state();
        if (target.simulation.load(bad)) {
            target.play(3);
        } else {
            ++refused;
            REQUIRE(target.state() == before);
        }
    }
    REQUIRE(refused > 50);
    REQUIRE(target.simulation.load(good));
    REQUIRE(target.state() == state);
}

TEST_CASE("swarm refuses a snapshot of another session", "[games][swarm][fault]") {
    SwarmRun run(1, 2, 200);
    Bytes snapshot;
    SwarmRun(2, 2, 200).simulation.save(snapshot);
    REQUIRE_FALSE(run.simulation.load(snapshot));
    SwarmRun(1, 2, 201).simulation.save(snapshot);
    REQUIRE_FALSE(run.simulation.load(snapshot));
    SwarmRun(1, 3, 200).simulation.save(snapshot);
    REQUIRE_FALSE(run.simulation.load(snapshot));
    SwarmRun(1, 2, 200).simulation.save(snapshot);
    REQUIRE(run.simulation.load(snapshot));
}
