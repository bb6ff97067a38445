// SPDX-License-Identifier: MIT
// swarm: maps, flow fields and what each order does.
#include "swarm_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::games;

namespace {

constexpr std::int32_t cell = Swarm::cell_size;

std::int64_t distance_squared(const SwarmUnit& unit, std::int32_t x, std::int32_t y) {
    const std::int64_t dx = unit.x - x;
    const std::int64_t dy = unit.y - y;
    return dx * dx + dy * dy;
}

/// Living units of slot 0's squad within `reach` of a place.
std::size_t count_near(
    const Swarm& game, std::uint8_t squad, std::int32_t x, std::int32_t y, std::int64_t reach) {
    std::size_t count = 0;
    for (const SwarmUnit& unit : game.units()) {
        const bool ours = unit.owner == 0 && unit.squad == squad && unit.health > 0;
        count += ours && distance_squared(unit, x, y) <= reach * reach ? 1U : 0U;
    }
    return count;
}

/// Pairs of slot 0's squad that stand nearer than `reach` to each other.
std::size_t crowded_pairs(const Swarm& game, std::uint8_t squad, std::int64_t reach) {
    std::vector<SwarmUnit> units;
    for (const SwarmUnit& unit : game.units()) {
        if (unit.owner == 0 && unit.squad == squad && unit.health > 0) {
            units.push_back(unit);
        }
    }
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            pairs += distance_squared(units[i], units[j].x, units[j].y) < reach * reach ? 1U : 0U;
        }
    }
    return pairs;
}

} // namespace

TEST_CASE("every map of swarm is closed, mostly open, and connected", "[games][swarm][property]") {
    const std::uint64_t first = test_seed();
    for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t seed = first + i;
        for (const std::uint16_t slots : std::initializer_list<std::uint16_t>{2, 3, 8}) {
            CAPTURE(seed, slots);
            SwarmRun run(seed, slots, 300);
            const Swarm& game = run.game();
            const std::uint32_t side = game.side();
            const auto rocks =
                std::count(game.terrain().begin(), game.terrain().end(), std::uint8_t{Swarm::rock});
            REQUIRE(rocks < side * side / 2);
            for (std::uint32_t k = 0; k < side; ++k) {
                REQUIRE(game.terrain()[k] == Swarm::rock);
                REQUIRE(game.terrain()[k * side] == Swarm::rock);
                REQUIRE(game.terrain()[k * side + side - 1] == Swarm::rock);
                REQUIRE(game.terrain()[(side - 1) * side + k] == Swarm::rock);
            }
            run.order({SwarmOrder::move, 0, 32768, 32768, 0});
            REQUIRE(game.squads()[0].field == SwarmField::ready);
            for (std::size_t at = 0; at < game.terrain().size(); ++at) {
                const bool reached = game.field(0)[at] != 0xFFFF;
                REQUIRE(reached == (game.terrain()[at] != Swarm::rock));
            }
        }
    }
}

TEST_CASE("a flow field of swarm leads downhill from every cell to the goal",
          "[games][swarm][unit]") {
    SwarmRun run(8, 2, 300);
    run.order({SwarmOrder::move, 5, 50000, 9000, 0});
    const Swarm& game = run.game();
    const auto field = game.field(5);
    const std::uint32_t side = game.side();
    REQUIRE(game.squads()[5].field == SwarmField::ready);
    REQUIRE(field[game.squads()[5].goal] == 0);
    for (std::uint32_t i = 0; i < field.size(); ++i) {
        if (field[i] == 0xFFFF || field[i] == 0) {
            continue;
        }
        CAPTURE(i);
        // A diagonal needs both of its sides.
        std::uint16_t lowest = 0xFFFF;
        for (const std::uint32_t row : {i - side, i + side}) {
            lowest = std::min(lowest, field[row]);
            for (const std::uint32_t column : {i - 1, i + 1}) {
                lowest = std::min(lowest, field[column]);
                if (field[row] != 0xFFFF && field[column] != 0xFFFF) {
                    lowest = std::min(lowest, field[row + column - i]);
                }
            }
        }
        REQUIRE(lowest < field[i]);
        REQUIRE(field[i] - lowest <= 6);
    }
}

TEST_CASE("nobody in swarm stands on rock, and the living keep apart", "[games][swarm][unit]") {
    SwarmRun run(11, 4, 1000);
    for (int round = 0; round < 30; ++round) {
        run.play(10);
        for (const SwarmUnit& unit : run.game().units()) {
            const auto at = static_cast<std::size_t>(unit.y / cell) * run.game().side() +
                            static_cast<std::size_t>(unit.x / cell);
            REQUIRE(run.game().terrain()[at] != Swarm::rock);
        }
    }
    run.inputs.assign(4, {SwarmOrder::hold, 0, 0, 0, 0});
    for (std::uint8_t squad = 0; squad < 16; ++squad) {
        for (SwarmInput& input : run.inputs) {
            input.squad = squad;
        }
        run.step();
    }
    run.wait(20);
    REQUIRE(crowded_pairs(run.game(), 0, 200) == 0);
}

TEST_CASE("move brings a squad of swarm to its goal, and only that squad", "[games][swarm][unit]") {
    SwarmRun run(2, 2, 400);
    const auto x = static_cast<std::int32_t>(run.game().side()) * cell / 2;
    REQUIRE(count_near(run.game(), 7, x, x, 6 * cell) == 0);
    run.order({SwarmOrder::move, 7, 32768, 32768, 0});
    run.wait(600);
    const SwarmSquad& squad = run.game().squads()[7];
    REQUIRE(squad.members > 5);
    REQUIRE(squad.reached == squad.members);
    REQUIRE(count_near(run.game(), 7, x, x, 6 * cell) == squad.members);
    REQUIRE(count_near(run.game(), 6, x, x, 6 * cell) == 0);
}

TEST_CASE("hold stops a squad of swarm on its way", "[games][swarm][unit]") {
    SwarmRun run(2, 2, 400);
    run.order({SwarmOrder::move, 7, 32768, 32768, 0});
    run.wait(30);
    run.order({SwarmOrder::hold, 7, 0, 0, 0});
    run.wait(40);
    const std::vector<SwarmUnit> before(run.game().units().begin(), run.game().units().end());
    run.wait(40);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].owner == 0 && before[i].squad == 7) {
            const SwarmUnit& unit = run.game().units()[i];
            REQUIRE(distance_squared(unit, before[i].x, before[i].y) < cell * cell);
        }
    }
}

TEST_CASE("spread makes a squad of swarm take more room", "[games][swarm][unit]") {
    SwarmRun run(2, 2, 1000);
    run.order({SwarmOrder::move, 2, 32768, 32768, 0});
    run.wait(300);
    const std::size_t before = crowded_pairs(run.game(), 2, 800);
    run.order({SwarmOrder::spread, 2, 0, 0, 2000});
    run.wait(100);
    const std::size_t after = crowded_pairs(run.game(), 2, 800);
    REQUIRE(before > 10);
    REQUIRE(after * 2 < before);
}

TEST_CASE("muster gathers the player's own units around a place into a squad",
          "[games][swarm][unit]") {
    SwarmRun run(2, 2, 400);
    run.order({SwarmOrder::muster, 9, 32768, 32768, 65535});
    REQUIRE(run.game().squads()[9].members == 200);
    REQUIRE(run.game().squads()[16 + 9].members < 20);
    run.order({SwarmOrder::muster, 4, 0, 0, 0});
    REQUIRE(run.game().squads()[9].members == 200);
}

TEST_CASE("an order of swarm with an unknown kind is no order", "[games][swarm][unit]") {
    SwarmRun one(2, 2, 400);
    SwarmRun other(2, 2, 400);
    for (int kind = 6; kind < 256; ++kind) {
        one.order({static_cast<SwarmOrder>(kind), 1, 65535, 65535, 65535});
        other.order({});
        REQUIRE(one.state() == other.state());
    }
}

TEST_CASE("fields of a large map of swarm are built over several ticks", "[games][swarm][unit]") {
    SwarmRun run(2, 2, 100000);
    run.order({SwarmOrder::move, 0, 60000, 60000, 0});
    REQUIRE(run.game().squads()[0].field == SwarmField::building);
    run.order({SwarmOrder::move, 1, 6000, 6000, 0});
    REQUIRE(run.game().squads()[1].field == SwarmField::waiting);
    run.wait(8);
    REQUIRE(run.game().squads()[0].field == SwarmField::ready);
    REQUIRE(run.game().squads()[1].field == SwarmField::ready);
}
