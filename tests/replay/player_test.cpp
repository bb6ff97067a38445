// SPDX-License-Identifier: MIT
// The player: wherever it goes, the state is that of a straight run.
#include "game_bots.hpp"
#include "recording_support.hpp"
#include "swarm/swarm.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Keeps the state hash of every tick.
class HashKeeper final : public Observer {
public:
    void before(const TickBegin& begin) override { hashes.push_back(begin.hashes.state); }

    std::vector<Hash128> hashes;
};

/// A recording and the hashes of its straight run, the last state's included.
struct StraightRun {
    Bytes file;
    std::vector<Hash128> hashes;
};

StraightRun run_straight(Simulation& simulation, Source& source) {
    auto plan = std::make_shared<SinkPlan>();
    Driver driver(simulation, source);
    auto recorder =
        Recorder::create(std::make_unique<MemorySink>(plan), simulation, {test_session(), {}});
    HashKeeper keeper;
    driver.add(*recorder);
    driver.add(keeper);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    keeper.hashes.push_back(simulation.hash().state);
    return {plan->file, keeper.hashes};
}

StraightRun toy_run(std::uint64_t ticks, std::uint16_t slots = 2) {
    auto simulation = toy_simulation(slots);
    ToySource source(slots, ticks);
    return run_straight(*simulation, source);
}

StraightRun swarm_run(std::uint64_t ticks) {
    auto simulation = make_simulation<games::Swarm>();
    REQUIRE(simulation->reset({5, 4, {{"units", "500"}}}));
    GameBots<games::Swarm> source({.seed = 3, .slots = 4, .ticks = ticks});
    return run_straight(*simulation, source);
}

Bytes side_file_of(Simulation& simulation, ByteView file, const AddKeyframesOptions& options) {
    auto plan = std::make_shared<SinkPlan>();
    const auto report = write_side_file(
        simulation, *Reader::from_memory(file), std::make_unique<MemorySink>(plan), options);
    REQUIRE(report);
    REQUIRE_FALSE(report->divergence);
    return plan->file;
}

Player player_of(Simulation& simulation, ByteView file, const PlayerOptions& options = {}) {
    auto player = Player::open(simulation, *Reader::from_memory(file), options);
    if (!player) {
        FAIL(to_string(player.error()));
    }
    return std::move(*player);
}

/// Goes to random ticks and steps back now and then; every state must be the straight run's.
void require_random_seeks(Simulation& simulation,
                          const StraightRun& run,
                          const PlayerOptions& options,
                          int count) {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Player player = player_of(simulation, run.file, options);
    REQUIRE(player.end_tick().value + 1 == run.hashes.size());
    for (int i = 0; i < count; ++i) {
        const Tick target{random.below(run.hashes.size())};
        CAPTURE(i, target.value, player.tick().value);
        const Result<void> sought = player.seek(target);
        if (!sought) {
            FAIL(to_string(sought.error()));
        }
        REQUIRE(player.tick() == target);
        REQUIRE(simulation.hash().state == run.hashes[target.value]);
        if (i % 8 == 0 && target.value > 0) {
            REQUIRE(player.step_back());
            REQUIRE(player.tick().value + 1 == target.value);
            REQUIRE(simulation.hash().state == run.hashes[target.value - 1]);
        }
        if (i % 5 == 0) {
            REQUIRE(player.play(10));
            REQUIRE(simulation.hash().state == run.hashes[player.tick().value]);
        }
    }
    CHECK_FALSE(player.verdict().divergence);
    CHECK(player.verdict().hashes_checked > 0);
    CHECK(player.recording().problems().empty());
}

} // namespace

TEST_CASE("200 random seeks in memory alone lead to the states of a straight run",
          "[replay][seek][property]") {
    const StraightRun run = toy_run(3000);
    auto simulation = make_simulation<ToyGame>();
    require_random_seeks(*simulation, run, {}, 200);
}

TEST_CASE("200 random seeks with a side file lead to the states of a straight run",
          "[replay][seek][property]") {
    const StraightRun run = toy_run(3000);
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, run.file, {.every_ticks = 100});
    PlayerOptions options;
    options.keyframes.side_bytes = side;
    options.budget_bytes = 0;
    require_random_seeks(*simulation, run, options, 200);
}

TEST_CASE("200 random seeks in a reference game lead to the states of a straight run",
          "[replay][seek][property]") {
    const StraightRun run = swarm_run(700);
    auto simulation = make_simulation<games::Swarm>();
    AddKeyframesOptions add{.every_ticks = 50};
    add.form.codec = KeyframeCodec::raw;
    const bool raw = GENERATE(true, false);
    if (!raw) {
        add.form.codec = KeyframeCodec::zero_runs;
    }
    const Bytes side = side_file_of(*simulation, run.file, add);
    PlayerOptions options;
    options.keyframes.side_bytes = side;
    require_random_seeks(*simulation, run, options, 200);
}

TEST_CASE("200 random seeks with keyframes in the file lead to the states of a straight run",
          "[replay][seek][property]") {
    StraightRun run = toy_run(6000);
    auto simulation = make_simulation<ToyGame>();
    auto plan = std::make_shared<SinkPlan>();
    const auto added = add_keyframes(*simulation,
                                     *Reader::from_memory(run.file),
                                     std::make_unique<MemorySink>(plan),
                                     {.every_ticks = 600});
    REQUIRE(added);
    CHECK(added->keyframes == 10);
    CHECK(added->hashes_checked == 6010);
    run.file = plan->file;
    PlayerOptions options;
    options.budget_bytes = 0;
    require_random_seeks(*simulation, run, options, 200);
}

TEST_CASE("a seek uses the nearest keyframe and simulates the rest", "[replay][seek][unit]") {
    const StraightRun run = toy_run(3000);
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, run.file, {.every_ticks = 100});
    PlayerOptions options;
    options.keyframes.side_bytes = side;
    options.budget_bytes = 0;
    Player player = player_of(*simulation, run.file, options);
    CHECK(player.recording().keyframes().size() == 29);
    REQUIRE(player.seek(Tick{2950}));
    CHECK(player.statistics().steps == 50);
    CHECK(player.statistics().stored_loads == 1);
    REQUIRE(player.seek(Tick{2930}));
    CHECK(player.statistics().steps == 80);
    REQUIRE(player.seek(Tick{2999}));
    CHECK(player.statistics().steps == 149);
    CHECK(player.statistics().stored_loads == 2);
    REQUIRE(player.seek(Tick{50}));
    CHECK(player.statistics().resets == 1);
    CHECK(player.statistics().steps == 199);
    // The state of tick 100 itself takes no step.
    REQUIRE(player.seek(Tick{100}));
    CHECK(player.statistics().steps == 199);
    CHECK(simulation->hash().state == run.hashes[100]);
}

TEST_CASE("stepping back through a recording costs a few steps a tick", "[replay][seek][unit]") {
    const StraightRun run = toy_run(2000);
    auto simulation = make_simulation<ToyGame>();
    Player player = player_of(*simulation, run.file);
    CHECK(*player.play(UINT64_MAX) == 2000);
    const std::uint64_t before = player.statistics().steps;
    while (player.tick() > Tick{0}) {
        REQUIRE(player.step_back());
        REQUIRE(simulation->hash().state == run.hashes[player.tick().value]);
    }
    const std::uint64_t steps = player.statistics().steps - before;
    CAPTURE(steps, player.statistics().memory_loads, player.statistics().resets);
    CHECK(steps < 2000 * 8);
    CHECK(player.step_back().error().code == Errc::wrong_tick);
    CHECK(player.tick() == Tick{0});
}

TEST_CASE("a seek beyond the recording changes nothing", "[replay][seek][unit]") {
    const StraightRun run = toy_run(100);
    auto simulation = make_simulation<ToyGame>();
    Player player = player_of(*simulation, run.file);
    REQUIRE(player.seek(Tick{40}));
    CHECK(player.seek(Tick{101}).error().code == Errc::wrong_tick);
    CHECK(player.tick() == Tick{40});
    REQUIRE(player.seek(Tick{100}));
    CHECK(simulation->hash().state == run.hashes[100]);
    CHECK(*player.play(5) == 0);
}

TEST_CASE("an empty recording has one state", "[replay][seek][unit]") {
    const StraightRun run = toy_run(0);
    auto simulation = make_simulation<ToyGame>();
    Player player = player_of(*simulation, run.file);
    CHECK(player.end_tick() == Tick{0});
    CHECK(player.seek(Tick{0}));
    CHECK(*player.play(1) == 0);
    CHECK(player.seek(Tick{1}).error().code == Errc::wrong_tick);
}

TEST_CASE("a damaged side file is used up to the damage, and the state is right all the same",
          "[replay][seek][fault]") {
    const StraightRun run = toy_run(1000);
    auto simulation = make_simulation<ToyGame>();
    Bytes side =
        side_file_of(*simulation, run.file, {.every_ticks = 100, .form = {KeyframeCodec::raw, 1}});
    PlayerOptions options;
    options.budget_bytes = 0;
    side[side.size() / 2] ^= std::byte{1};
    options.keyframes.side_bytes = side;
    Player player = player_of(*simulation, run.file, options);
    // What follows the damage is not read.
    const std::size_t good = player.recording().keyframes().size();
    CHECK(good > 2);
    CHECK(good < 7);
    REQUIRE(player.recording().problems().size() == 1);
    REQUIRE(player.seek(Tick{950}));
    CHECK(simulation->hash().state == run.hashes[950]);
    CHECK(player.statistics().steps == 950 - good * 100);
}

TEST_CASE("states that were passed on the way to one place serve the next, while there is memory",
          "[replay][seek][unit]") {
    const StraightRun run = toy_run(2000);
    auto simulation = make_simulation<ToyGame>();
    PlayerOptions options;
    options.every_ticks = 50;
    Player player = player_of(*simulation, run.file, options);
    REQUIRE(player.seek(Tick{1990}));
    CHECK(player.statistics().steps == 1990);
    CHECK(player.store().entries().size() == 39);
    // Far from where one was and is: that no state was dropped is what makes these short.
    std::uint64_t steps = 1990;
    for (const std::uint64_t target : {170U, 1230U, 99U, 650U, 1849U}) {
        CAPTURE(target);
        REQUIRE(player.seek(Tick{target}));
        CHECK(simulation->hash().state == run.hashes[target]);
        steps += target % 50;
        CHECK(player.statistics().steps == steps);
    }
    CHECK(player.statistics().memory_loads == 5);
}

TEST_CASE("states in memory are few, dense near the current tick, and within the budget",
          "[replay][seek][unit]") {
    KeyframeStore store(1000 * 10);
    const Bytes state(10, std::byte{1});
    for (std::uint64_t tick = 0; tick < 100'000; tick += 10) {
        store.add(Tick{tick}, {}, state, Tick{tick});
    }
    CHECK(store.entries().size() == KeyframeStore::states_max);
    CHECK(store.bytes() == store.entries().size() * 10);
    std::uint64_t gap_max = 0;
    for (std::uint64_t target = 99'990; target > 1000; target -= 500) {
        const auto found = store.find(Tick{target});
        // Before the first one there is the set-up.
        const std::uint64_t from = found == store.entries().end() ? 0 : found->first.value;
        const std::uint64_t distance = 99'990 - target;
        const std::uint64_t gap = target - from;
        CAPTURE(target, gap, distance);
        CHECK(gap <= distance / 2 + 20);
        gap_max = std::max(gap_max, gap);
    }
    CHECK(gap_max > 0);
    KeyframeStore small(100);
    for (std::uint64_t tick = 0; tick < 1000; ++tick) {
        CHECK(small.entries().size() == std::min<std::uint64_t>(tick, 10));
        small.add(Tick{tick}, {}, state, Tick{tick});
        REQUIRE(small.bytes() <= 100);
    }
    CHECK(small.entries().size() == 10);
    CHECK(small.contains(Tick{999}));
    small.add(Tick{1000}, {}, Bytes(101), Tick{1000});
    CHECK_FALSE(small.contains(Tick{1000}));
}
