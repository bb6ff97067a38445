// SPDX-License-Identifier: MIT
// swarm: set-ups, equal runs, snapshots, the golden state, and whether anything happens.
#include "swarm_support.hpp"

using namespace twinstep;
using namespace twinstep::games;

TEST_CASE("swarm takes a number of units in range and no other setting", "[games][swarm][unit]") {
    struct Case {
        const char* key;
        const char* value;
        bool good;
    };

    const std::vector<Case> cases{
        {"units", "100", true},
        {"units", "200000", true},
        {"units", "12345", true},
        {"units", "99", false},
        {"units", "200001", false},
        {"units", "", false},
        {"units", "-1000", false},
        {"units", "+1000", false},
        {"units", " 1000", false},
        {"units", "1000 ", false},
        {"units", "01000", false},
        {"units", "1e4", false},
        {"units", "0x400", false},
        {"units", "99999999999999999999", false},
        {"units", "1000.0", false},
        {"unit", "1000", false},
        {"UNITS", "1000", false},
    };
    for (const Case& c : cases) {
        CAPTURE(c.key, c.value);
        const Result<void> checked = Swarm::check({1, 2, {{c.key, c.value}}});
        REQUIRE(checked.has_value() == c.good);
        if (!c.good) {
            REQUIRE(checked.error().code == SimErrc::bad_setup);
            REQUIRE(checked.error().field == std::string("config.") + c.key);
        }
    }
    REQUIRE(Swarm::check({1, 2, {}}));
}

TEST_CASE("swarm takes two to eight slots", "[games][swarm][unit]") {
    GameSimulation<Swarm> simulation;
    for (std::uint16_t slots = 0; slots < 12; ++slots) {
        CAPTURE(slots);
        const Result<void> reset = simulation.reset({5, slots, {{"units", "100"}}});
        REQUIRE(reset.has_value() == (slots >= 2 && slots <= 8));
    }
}

TEST_CASE("swarm has 10,000 units unless told otherwise", "[games][swarm][unit]") {
    GameSimulation<Swarm> simulation;
    REQUIRE(simulation.reset({5, 3, {}}));
    REQUIRE(simulation.game().units().size() == 10000);
}

TEST_CASE("two runs of swarm with the same inputs are equal at every tick",
          "[games][swarm][property]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    SwarmRun one(seed, 5, 700);
    SwarmRun other(seed, 5, 700);
    for (int tick = 0; tick < 200; ++tick) {
        CAPTURE(tick);
        REQUIRE(one.state() == other.state());
        one.play(1);
        other.play(1);
    }
    REQUIRE(one.state() == other.state());
}

TEST_CASE("one bit of one order shows in the squads of swarm and nowhere else at first",
          "[games][swarm][unit]") {
    SwarmRun one(1, 2, 500);
    SwarmRun other(1, 2, 500);
    // A squad that holds and has no enemy in sight keeps its radius in its order only.
    one.order({SwarmOrder::hold, 3, 0, 0, 4096});
    other.order({SwarmOrder::hold, 3, 0, 0, 4096 ^ 64});
    const StateHashes& expected = one.simulation.hash();
    const StateHashes& actual = other.simulation.hash();
    REQUIRE(expected.state != actual.state);
    REQUIRE(expected.sections.size() == 7);
    for (std::size_t i = 0; i < expected.sections.size(); ++i) {
        CAPTURE(expected.sections[i].name);
        REQUIRE((expected.sections[i].hash == actual.sections[i].hash) ==
                (expected.sections[i].name != "squads"));
    }
}

TEST_CASE("swarm goes on from a snapshot as if it had never stopped", "[games][swarm][property]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    Random random(seed, Tick{0}, 77);
    SwarmRun straight(seed, 4, 800);
    SwarmRun resumed(seed, 4, 800);
    Bytes snapshot;
    for (int round = 0; round < 12; ++round) {
        const std::uint32_t ticks = random.below(40) + 1;
        CAPTURE(round, ticks, straight.simulation.tick().value);
        straight.play(ticks);
        straight.simulation.save(snapshot);
        // `resumed` comes from another state each time: nothing of it may survive.
        REQUIRE(resumed.simulation.load(snapshot));
        REQUIRE(resumed.simulation.tick() == straight.simulation.tick());
        REQUIRE(resumed.state() == straight.state());
        const std::uint32_t more = random.below(25) + 1;
        resumed.play(more);
        straight.play(more);
        REQUIRE(resumed.state() == straight.state());
        resumed.play(3);
    }
}

TEST_CASE("300 ticks of swarm lead to the golden state", "[games][swarm][golden]") {
    SwarmRun run(20261, 4, 1000);
    run.play(300);
    REQUIRE(run.state() == "4b92f336f67d112a5ff0a11423d349ed");
}

TEST_CASE("in swarm armies march, fight, die and are replaced", "[games][swarm][unit]") {
    SwarmRun run(3, 4, 1000);
    const std::vector<SwarmUnit> before(run.game().units().begin(), run.game().units().end());
    run.play(60);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const SwarmUnit& unit = run.game().units()[i];
        moved += std::abs(unit.x - before[i].x) + std::abs(unit.y - before[i].y) > 2048 ? 1U : 0U;
    }
    REQUIRE(moved > 500);
    run.play(540);
    for (const SwarmPlayer& player : run.game().players()) {
        REQUIRE(player.orders > 20);
        REQUIRE(player.shots > 100);
        REQUIRE(player.kills > 10);
        REQUIRE(player.losses > 10);
        REQUIRE(player.reinforced > 10);
        REQUIRE(player.alive > 20);
    }
}

TEST_CASE("a player without orders is never wiped out of swarm for good", "[games][swarm][unit]") {
    SwarmRun run(9, 2, 200);
    for (int tick = 0; tick < 1500; ++tick) {
        run.ask_bots();
        run.inputs[1] = {};
        run.step();
    }
    const std::uint32_t reinforced = run.game().players()[1].reinforced;
    run.wait(200);
    REQUIRE(run.game().players()[1].alive > 0);
    REQUIRE(run.game().players()[1].reinforced >= reinforced);
}

TEST_CASE("swarm runs with 100,000 units", "[games][swarm][unit]") {
    SwarmRun run(4, 2, 100000);
    run.play(3);
    REQUIRE(run.game().units().size() == 100000);
    REQUIRE(run.game().players()[0].alive == 50000);
    REQUIRE(run.game().side() == 416);
}

TEST_CASE("the bot of swarm depends on its arguments and mostly stays silent",
          "[games][swarm][unit]") {
    std::size_t orders = 0;
    for (std::uint64_t tick = 0; tick < 1200; ++tick) {
        for (std::uint16_t slot = 0; slot < 8; ++slot) {
            Random one(6, Tick{tick}, slot);
            Random other(6, Tick{tick}, slot);
            const SwarmInput first = Swarm::bot(one, Tick{tick}, Slot{slot});
            const SwarmInput second = Swarm::bot(other, Tick{tick}, Slot{slot});
            REQUIRE(first.kind == second.kind);
            REQUIRE(first.x == second.x);
            REQUIRE(first.radius == second.radius);
            orders += first.kind != SwarmOrder::none ? 1U : 0U;
        }
    }
    REQUIRE(orders > 700);
    REQUIRE(orders < 1000);
}
