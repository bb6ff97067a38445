// SPDX-License-Identifier: MIT
// Marine itself: the rules of movement, doors, determinism, snapshots, hostile input and state.
#include "game_bots.hpp"
#include "marine_support.hpp"

#include <cmath>
#include <optional>
#include <set>
#include <vector>

using namespace twinstep;
using namespace twinstep::games;
using namespace marine_test;

namespace {

Setup setup_of(std::uint16_t slots, std::map<std::string, std::string> config = {}) {
    Setup setup;
    setup.seed = 1993;
    setup.slots = slots;
    setup.config = std::move(config);
    return setup;
}

/// The same input in every slot at every tick.
class SteadySource final : public Source {
public:
    SteadySource(Marine::Input input, std::uint16_t slots)
        : slots_(slots) {
        encode_input(input, bytes_);
    }

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < slots_; ++slot) {
            frame.set_input(Slot{slot}, bytes_);
        }
        return Supply::ready;
    }

private:
    std::uint16_t slots_;
    Bytes bytes_;
};

/// Inputs that nobody would give: random bytes, and the ends of every range.
class WildSource final : public Source {
public:
    WildSource(std::uint64_t seed, std::uint16_t slots)
        : seed_(seed)
        , slots_(slots) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < slots_; ++slot) {
            Random random(seed_, tick, slot);
            const std::uint32_t kind = random.below(4);
            bytes_.assign(5, std::byte{0});
            for (std::byte& byte : bytes_) {
                const std::uint32_t any = random.below(256);
                byte = static_cast<std::byte>(kind == 0   ? 0x80
                                              : kind == 1 ? 0x7F
                                              : kind == 2 ? 0xFF
                                                          : any);
            }
            if (kind != 3) {
                bytes_[4] = static_cast<std::byte>(random.below(256));
            }
            frame.set_input(Slot{slot}, bytes_);
        }
        return Supply::ready;
    }

private:
    std::uint64_t seed_;
    std::uint16_t slots_;
    Bytes bytes_;
};

/// The hash of every state from 0 on.
class HashLog final : public Observer {
public:
    void after(const StateHashes& hashes) override { log.push_back(hashes.state); }

    std::vector<Hash128> log;
};

std::vector<Hash128> hashes_of(const Setup& setup, Source& source, std::uint64_t ticks) {
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup));
    HashLog hashes;
    Driver driver(simulation, source);
    driver.add(hashes);
    REQUIRE(driver.advance(ticks));
    return hashes.log;
}

bool stands_in_wall(const marine::Arena& arena, const marine::Player& player) {
    const marine::Fixed radius = 16 * marine::unit;
    for (const marine::Fixed dx : {-radius, radius - 1}) {
        for (const marine::Fixed dy : {-radius, radius - 1}) {
            const auto cell = marine::Arena::cell_of({player.x + dx, player.y + dy});
            if (arena.at(cell) == marine::Tile::wall) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

TEST_CASE("the sine table is the sine, rounded to 16 bits", "[games][marine][unit]") {
    for (std::uint32_t step = 0; step < 8192; ++step) {
        const double exact = 65536.0 * std::sin((step + 0.5) * 3.14159265358979323846 / 4096.0);
        const double table = marine::fine_sine(step << 19);
        REQUIRE(std::abs(table - exact) < 0.501);
    }
    CHECK(marine::fine_sine(0) == 25);
    CHECK(marine::fine_cosine(0) == 65536);
}

TEST_CASE("integer roots and lengths are exact at the ends of their range",
          "[games][marine][unit]") {
    CHECK(marine::integer_sqrt(0) == 0);
    CHECK(marine::integer_sqrt(24) == 4);
    CHECK(marine::integer_sqrt(25) == 5);
    CHECK(marine::integer_sqrt(UINT64_MAX) == UINT32_MAX);
    CHECK(marine::distance({0, 0}, {3 * marine::unit, 4 * marine::unit}) == 5U << 16);
    CHECK(marine::distance({INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX}) == UINT32_MAX);
    CHECK_FALSE(marine::is_within({0, 0}, {3, 4}, 5));
    CHECK(marine::is_within({0, 0}, {3, 4}, 6));
    CHECK_FALSE(marine::is_within({INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX}, INT32_MAX));
    const marine::Vector none = marine::with_length(0, 0, marine::unit);
    CHECK((none.x == 0 && none.y == 0));
    const marine::Vector far = marine::with_length(INT64_MAX / 2, 0, marine::unit);
    CHECK((far.x == marine::unit && far.y == 0));
}

TEST_CASE("walking follows Doom's thrust, friction and stop speed", "[games][marine][unit]") {
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(1, {{"monsters", "0"}})));
    const auto& players = simulation.game().players();
    SteadySource run_ahead(Marine::Input{50, 0, 0, 0}, 1);
    // In units a tic: the thrust of 50 is 50 * 2048 / 65536 = 1.5625, then 0xE800 / 0x10000 stays.
    double speed = 0.0;
    double way = 0.0;
    for (int tic = 0; tic < 12; ++tic) {
        run(simulation, run_ahead, 1);
        speed += 1.5625;
        way += speed;
        speed *= 0.90625;
        const double mom_x = players[0].mom_x / 65536.0;
        const double mom_y = players[0].mom_y / 65536.0;
        REQUIRE(std::hypot(mom_x, mom_y) == Approx(speed).epsilon(0.002));
        REQUIRE(static_cast<double>(players[0].travelled) / 65536.0 == Approx(way).epsilon(0.002));
    }
    SteadySource rest(Marine::Input{}, 1);
    run(simulation, rest, 100);
    CHECK(players[0].mom_x == 0);
    CHECK(players[0].mom_y == 0);
}

TEST_CASE("turning adds to the upper half of the angle and wraps", "[games][marine][unit]") {
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(1)));
    const std::uint32_t before = simulation.game().players()[0].angle;
    SteadySource turn(Marine::Input{0, 0, -32768, 0}, 1);
    run(simulation, turn, 1);
    CHECK(simulation.game().players()[0].angle == before + 0x80000000U);
    run(simulation, turn, 1);
    CHECK(simulation.game().players()[0].angle == before);
}

TEST_CASE("with the special bit the other buttons are no play", "[games][marine][unit]") {
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(1, {{"monsters", "0"}})));
    SteadySource special(Marine::Input{0, 0, 0, 0x81}, 1);
    run(simulation, special, 50);
    CHECK(simulation.game().players()[0].shots == 0);
    SteadySource attack(Marine::Input{0, 0, 0, 0x01}, 1);
    run(simulation, attack, 50);
    CHECK(simulation.game().players()[0].shots == 4);
}

TEST_CASE("nobody walks into a wall or out of the arena", "[games][marine][property]") {
    const std::uint64_t seed = test_seed(35);
    CAPTURE(seed);
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(4, {{"map", "9"}, {"skill", "4"}})));
    WildSource source(seed, 4);
    for (int tic = 0; tic < 3000; ++tic) {
        run(simulation, source, 1);
        for (const auto& player : simulation.game().players()) {
            REQUIRE_FALSE(stands_in_wall(simulation.game().arena(), player));
        }
    }
}

TEST_CASE("every room of every map can be reached", "[games][marine][property]") {
    for (std::uint32_t map = 1; map <= 99; ++map) {
        CAPTURE(map);
        marine::Arena arena;
        arena.build(1 + map % 9, map);
        std::set<std::pair<std::int32_t, std::int32_t>> seen;
        const marine::Cell start = marine::Arena::cell_of(arena.rooms()[0]);
        std::vector<marine::Cell> open{start};
        while (!open.empty()) {
            const marine::Cell cell = open.back();
            open.pop_back();
            if (arena.at(cell) != marine::Tile::wall && seen.insert({cell.x, cell.y}).second) {
                for (const marine::Cell step : {marine::Cell{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
                    open.push_back({cell.x + step.x, cell.y + step.y});
                }
            }
        }
        for (const marine::Vector room : arena.rooms()) {
            const marine::Cell cell = marine::Arena::cell_of(room);
            REQUIRE(seen.count({cell.x, cell.y}) == 1);
        }
        REQUIRE(arena.doors() >= 8);
    }
}

TEST_CASE("doors open, wait and close, and nothing else", "[games][marine][property]") {
    using marine::DoorPhase;
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(4)));
    GameBots<Marine> source({.seed = 5, .slots = 4, .first_stream = 0});
    std::vector<marine::Door> before(simulation.game().doors().begin(),
                                     simulation.game().doors().end());
    std::set<std::pair<DoorPhase, DoorPhase>> changes;
    for (int tic = 0; tic < 4000; ++tic) {
        run(simulation, source, 1);
        const auto doors = simulation.game().doors();
        for (std::size_t i = 0; i < doors.size(); ++i) {
            const int moved = int{doors[i].height} - int{before[i].height};
            REQUIRE(std::abs(moved) <= 2);
            REQUIRE((doors[i].phase != DoorPhase::closed || doors[i].height == 0));
            REQUIRE((doors[i].phase != DoorPhase::open || doors[i].height == 128));
            if (doors[i].phase != before[i].phase) {
                changes.insert({before[i].phase, doors[i].phase});
            }
            before[i] = doors[i];
        }
    }
    using Change = std::pair<DoorPhase, DoorPhase>;
    CHECK(changes.count(Change{DoorPhase::closed, DoorPhase::opening}) == 1);
    CHECK(changes.count(Change{DoorPhase::opening, DoorPhase::open}) == 1);
    CHECK(changes.count(Change{DoorPhase::open, DoorPhase::closing}) == 1);
    CHECK(changes.count(Change{DoorPhase::closing, DoorPhase::closed}) == 1);
    CHECK(changes.count(Change{DoorPhase::closing, DoorPhase::opening}) == 1);
    CHECK(changes.count(Change{DoorPhase::closed, DoorPhase::open}) == 0);
    CHECK(changes.count(Change{DoorPhase::open, DoorPhase::closed}) == 0);
}

TEST_CASE("a slot that leaves is away until it joins", "[games][marine][unit]") {
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(2)));
    TickFrame frame;
    const auto step_with = [&](std::optional<EventKind> kind) {
        frame.reset(simulation.tick(), 2);
        if (kind) {
            frame.add_event(*kind, Slot{1});
        }
        REQUIRE(simulation.prepare(frame));
        simulation.step();
    };
    step_with(EventKind::leave);
    CHECK(simulation.game().players()[1].state == marine::PlayerState::away);
    step_with(std::nullopt);
    CHECK(simulation.game().players()[1].state == marine::PlayerState::away);
    step_with(EventKind::join);
    CHECK(simulation.game().players()[1].state == marine::PlayerState::alive);
    CHECK(simulation.game().players()[0].state == marine::PlayerState::alive);
}

TEST_CASE("a config that marine does not know is refused with its key", "[games][marine][fault]") {
    struct Row {
        const char* key;
        const char* value;
        bool good;
    };

    for (const Row& row : {Row{"skill", "0", true},
                           {"skill", "4", true},
                           {"skill", "5", false},
                           {"skill", "-1", false},
                           {"skill", "", false},
                           {"skill", "2 ", false},
                           {"episode", "0", false},
                           {"map", "99", true},
                           {"map", "100", false},
                           {"map", "99999999999999999999", false},
                           {"deathmatch", "2", true},
                           {"deathmatch", "3", false},
                           {"respawn", "yes", false},
                           {"fast", "2", false},
                           {"monsters", "0", true},
                           {"console_player", "1", true},
                           {"console_player", "2", false},
                           {"skil", "2", false}}) {
        CAPTURE(row.key, row.value);
        MarineSimulation simulation;
        const auto reset = simulation.reset(setup_of(2, {{row.key, row.value}}));
        CHECK(reset.has_value() == row.good);
        if (!reset) {
            CHECK(reset.error().code == make_error_code(SimErrc::bad_setup));
            CHECK(reset.error().field == std::string("config.") + row.key);
        }
    }
}

TEST_CASE("the input is Doom's ticcmd and the state has four sections of its own",
          "[games][marine][unit]") {
    MarineSimulation simulation;
    CHECK(simulation.info().input_schema == "{forward:i8,side:i8,turn:i16,buttons:u8}");
    REQUIRE(simulation.reset(setup_of(1)));
    std::vector<std::string> names;
    for (const SectionHash& section : simulation.hash().sections) {
        names.push_back(section.name);
    }
    CHECK(names ==
          std::vector<std::string>{"random", "world", "players", "monsters", "projectiles"});
}

TEST_CASE("two runs of the same session have the same hash at every tick",
          "[games][marine][property]") {
    GameBots<Marine> first({.seed = 11, .slots = 4, .first_stream = 0});
    GameBots<Marine> second({.seed = 11, .slots = 4, .first_stream = 0});
    const auto expected = hashes_of(setup_of(4), first, 2000);
    REQUIRE(expected.size() >= 2000);
    CHECK(hashes_of(setup_of(4), second, 2000) == expected);
    GameBots<Marine> other_bots({.seed = 12, .slots = 4, .first_stream = 0});
    CHECK(hashes_of(setup_of(4), other_bots, 2000).back() != expected.back());
    GameBots<Marine> same_bots({.seed = 11, .slots = 4, .first_stream = 0});
    CHECK(hashes_of(setup_of(4, {{"map", "2"}}), same_bots, 2000).back() != expected.back());
}

TEST_CASE("a bot's input depends on seed, tick and slot only", "[games][marine][property]") {
    std::set<int> turns;
    for (std::uint64_t tick = 0; tick < 500; ++tick) {
        Bytes once;
        Bytes again;
        Random first(4, Tick{tick}, 2);
        encode_input(Marine::bot(first, Tick{tick}, Slot{2}), once);
        Random second(4, Tick{tick}, 2);
        const Marine::Input input = Marine::bot(second, Tick{tick}, Slot{2});
        encode_input(input, again);
        REQUIRE(once == again);
        turns.insert(input.turn);
    }
    CHECK(turns.size() > 100);
}

TEST_CASE("one flipped bit of one input is a divergence of the players at the next tick",
          "[games][marine][property]") {
    MarineSimulation left;
    MarineSimulation right;
    REQUIRE(left.reset(setup_of(2)));
    REQUIRE(right.reset(setup_of(2)));
    GameBots<Marine> left_source({.seed = 3, .slots = 2, .first_stream = 0});
    GameBots<Marine> right_source({.seed = 3, .slots = 2, .first_stream = 0});
    run(left, left_source, 100);
    run(right, right_source, 100);
    REQUIRE(left.hash().state == right.hash().state);
    TickFrame frame;
    frame.reset(Tick{100}, 2);
    Bytes bytes(5, std::byte{0});
    frame.set_input(Slot{0}, bytes);
    REQUIRE(left.prepare(frame));
    left.step();
    frame.reset(Tick{100}, 2);
    bytes[2] = std::byte{1};
    frame.set_input(Slot{0}, bytes);
    REQUIRE(right.prepare(frame));
    right.step();
    REQUIRE(left.hash().sections[2].name == "players");
    CHECK(left.hash().sections[2].hash != right.hash().sections[2].hash);
    CHECK(left.hash().state != right.hash().state);
}

TEST_CASE("going on from a snapshot is the same as going straight on",
          "[games][marine][property]") {
    const std::uint64_t seed = test_seed(77);
    CAPTURE(seed);
    constexpr std::uint64_t ticks = 2000;
    GameBots<Marine> straight({.seed = 21, .slots = 3, .first_stream = 0});
    const auto expected = hashes_of(setup_of(3, {{"fast", "1"}}), straight, ticks);

    std::unique_ptr<Simulation> simulation = std::make_unique<MarineSimulation>();
    REQUIRE(simulation->reset(setup_of(3, {{"fast", "1"}})));
    GameBots<Marine> source({.seed = 21, .slots = 3, .first_stream = 0});
    Bytes snapshot;
    Bytes again;
    int restarts = 0;
    std::vector<Hash128> actual;
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        Random random(seed, Tick{tick});
        if (random.below(20) == 0) {
            simulation->save(snapshot);
            std::unique_ptr<Simulation> other = simulation->make_another();
            REQUIRE(other->reset(setup_of(3, {{"fast", "1"}})));
            REQUIRE(other->load(snapshot));
            other->save(again);
            REQUIRE(again == snapshot);
            simulation = std::move(other);
            ++restarts;
        }
        run(*simulation, source, 1);
        actual.push_back(simulation->hash().state);
    }
    CHECK(restarts > 50);
    REQUIRE(expected.size() >= actual.size());
    CHECK(std::equal(actual.rbegin(), actual.rend(), expected.rbegin()));
}

TEST_CASE("the hash after 2000 ticks of four bots is the committed one",
          "[games][marine][golden]") {
    // The same for every compiler, optimisation level and CPU. It changes with the rules only, and
    // then Marine::version is raised.
    GameBots<Marine> source({.seed = 1, .slots = 4, .first_stream = 0});
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(4)));
    REQUIRE(run(simulation, source, 2000) == 2000);
    CHECK(to_hex(simulation.hash().state) == "705c14e2e754151028951dbda036a821");
}

TEST_CASE("bots play lively games with any number of players", "[games][marine][property]") {
    for (std::uint16_t slots = 1; slots <= 4; ++slots) {
        CAPTURE(slots);
        GameBots<Marine> source({.seed = 7, .slots = slots, .first_stream = 0});
        MarineSimulation simulation;
        REQUIRE(simulation.reset(setup_of(slots)));
        run(simulation, source, 5000);
        const Deeds deeds = deeds_of(simulation.game());
        CHECK(deeds.travelled_units > 10000U * slots);
        CHECK(deeds.shots > 100U * slots);
        CHECK(deeds.kills >= 3U * slots);
        CHECK(deeds.deaths >= 1U * slots);
        CHECK(deeds.doors >= 1U * slots);
        CHECK(deeds.pickups >= 1U * slots);
    }
}

TEST_CASE("any input can be played, extreme ones included", "[games][marine][fault]") {
    const std::uint64_t seed = test_seed(404);
    CAPTURE(seed);
    for (std::uint64_t round = 0; round < 4; ++round) {
        MarineSimulation simulation;
        REQUIRE(simulation.reset(setup_of(4,
                                          {{"skill", std::to_string(round)},
                                           {"fast", "1"},
                                           {"respawn", "1"},
                                           {"deathmatch", round % 2 == 0 ? "0" : "2"}})));
        WildSource source(seed + round, 4);
        REQUIRE(run(simulation, source, 2500) == 2500);
    }
}

TEST_CASE("a damaged snapshot is refused or is a state that can be played",
          "[games][marine][fault]") {
    const std::uint64_t seed = test_seed(8086);
    CAPTURE(seed);
    MarineSimulation origin;
    REQUIRE(origin.reset(setup_of(4)));
    GameBots<Marine> bots({.seed = 2, .slots = 4, .first_stream = 0});
    run(origin, bots, 700);
    Bytes good;
    origin.save(good);
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    Bytes again;
    MarineSimulation simulation;
    REQUIRE(simulation.reset(setup_of(4)));
    for (std::uint64_t round = 0; round < 1500; ++round) {
        Random random(seed, Tick{round});
        Bytes bad = good;
        for (std::uint32_t i = 1 + random.below(4); i > 0; --i) {
            const std::uint32_t place = random.below(static_cast<std::uint32_t>(bad.size()));
            bad[place] = static_cast<std::byte>(random.below(256));
        }
        if (!simulation.load(bad)) {
            ++refused;
            continue;
        }
        ++accepted;
        simulation.save(again);
        REQUIRE(again == bad);
        WildSource source(seed, 4);
        for (int tic = 0; tic < 20 && simulation.tick().value < (UINT64_MAX >> 1); ++tic) {
            run(simulation, source, 1);
        }
    }
    CHECK(accepted > 100);
    CHECK(refused > 100);
}
