// SPDX-License-Identifier: MIT
// Seeking in the reference games: every keyframe, every edge of a chunk, random ticks, wrong
// states.
#include "game_bots.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "recording_support.hpp"
#include "swarm/swarm.hpp"
#include "test_random.hpp"

#include "twinstep/replay/player.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Keeps the state hash of every tick.
class EveryHash final : public Observer {
public:
    void before(const TickBegin& begin) override { hashes.push_back(begin.hashes.state); }

    std::vector<Hash128> hashes;
};

/// A recording of a game, its straight run's hashes, and keyframes in both places.
struct GameRun {
    Bytes file; ///< Without keyframes.
    Bytes with; ///< With keyframes at ends of chunks.
    Bytes side; ///< Of every 130 ticks.
    std::vector<Hash128> hashes;
};

constexpr std::uint64_t run_ticks = 1300;
constexpr std::uint64_t side_every = 130;

template <class Game>
GameRun game_run(const Setup& setup) {
    auto simulation = make_simulation<Game>();
    REQUIRE(simulation->reset(setup));
    auto plan = std::make_shared<SinkPlan>();
    GameBots<Game> bots({.seed = 5, .slots = setup.slots, .ticks = run_ticks});
    Driver driver(*simulation, bots);
    auto recorder =
        Recorder::create(std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
    EveryHash keeper;
    driver.add(*recorder);
    driver.add(keeper);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    keeper.hashes.push_back(simulation->hash().state);
    auto side = std::make_shared<SinkPlan>();
    const KeyframeCodec codec =
        has_codec(KeyframeCodec::zstd) ? KeyframeCodec::zstd : KeyframeCodec::zero_runs;
    REQUIRE(write_side_file(*simulation,
                            *Reader::from_memory(plan->file),
                            std::make_unique<MemorySink>(side),
                            {side_every, {codec, 4}}));
    auto copy = std::make_shared<SinkPlan>();
    REQUIRE(add_keyframes(*simulation,
                          *Reader::from_memory(plan->file),
                          std::make_unique<MemorySink>(copy),
                          {1, {}}));
    return {plan->file, copy->file, side->file, keeper.hashes};
}

/// The ticks that a fault of one would show at: around keyframes and ends of chunks, and random
/// ones.
std::vector<std::uint64_t> interesting_ticks(const KeyframedRecording& recording) {
    std::vector<std::uint64_t> ticks{0, 1, run_ticks - 1, run_ticks};
    for (const KeyframeInfo& info : recording.keyframes()) {
        for (const std::uint64_t tick :
             {info.tick.value, info.tick.value - 1, info.tick.value + 1}) {
            if (tick <= run_ticks) {
                ticks.push_back(tick);
            }
        }
    }
    TestRandom random;
    for (int i = 0; i < 30; ++i) {
        ticks.push_back(random.below(run_ticks + 1));
    }
    for (std::size_t i = ticks.size(); i > 1; --i) {
        std::swap(ticks[i - 1], ticks[random.below(i)]);
    }
    return ticks;
}

void require_straight(Simulation& simulation, const GameRun& run, ByteView file, ByteView side) {
    TWINSTEP_SHOW_SEED();
    PlayerOptions options;
    options.keyframes.side_bytes = side;
    options.budget_bytes = 0; // Only what is stored is looked at here.
    auto player = Player::open(simulation, *Reader::from_memory(file), options);
    REQUIRE(player);
    REQUIRE(player->recording().keyframes().size() >= 3);
    for (const std::uint64_t tick : interesting_ticks(player->recording())) {
        CAPTURE(tick);
        REQUIRE(player->seek(Tick{tick}));
        REQUIRE(simulation.hash().state == run.hashes[tick]);
    }
    CHECK(player->statistics().stored_loads > 10);
    CHECK(player->recording().problems().empty());
    CHECK_FALSE(player->verdict().divergence);
}

template <class Game>
void require_seeks(const Setup& setup) {
    const GameRun run = game_run<Game>(setup);
    auto simulation = make_simulation<Game>();
    require_straight(*simulation, run, run.file, run.side);
    require_straight(*simulation, run, run.with, {});
}

void put_tick(Bytes& snapshot, std::uint64_t tick) {
    constexpr std::size_t tick_offset = 6;
    for (std::size_t i = 0; i < 8; ++i) {
        snapshot[tick_offset + i] = static_cast<std::byte>(tick >> (8 * i));
    }
}

/// A side file of a recording whose keyframes of T hold the state of T + shift under the name of T,
/// with a hash that fits: right in themselves.
Bytes shifted_side_file(Simulation& simulation, const GameRun& run, std::int64_t shift) {
    auto plan = std::make_shared<SinkPlan>();
    auto writer = KeyframeFileWriter::create(
        std::make_unique<MemorySink>(plan), test_session(), {KeyframeCodec::raw, 1});
    auto player = Player::open(simulation, *Reader::from_memory(run.file));
    REQUIRE(player);
    Bytes snapshot;
    for (std::uint64_t tick = side_every; tick < run_ticks; tick += side_every) {
        REQUIRE(player->seek(Tick{tick + static_cast<std::uint64_t>(shift)}));
        simulation.save(snapshot);
        put_tick(snapshot, tick);
        REQUIRE(writer->add(Tick{tick}, hash_snapshot(snapshot)->state, snapshot));
    }
    REQUIRE(writer->close());
    return plan->file;
}

} // namespace

TEST_CASE("every seek in marine leads to the state of the straight run",
          "[replay][seek][property]") {
    require_seeks<games::Marine>({3, 2, {}});
}

TEST_CASE("every seek in swarm leads to the state of the straight run",
          "[replay][seek][property]") {
    require_seeks<games::Swarm>({3, 3, {{"units", "400"}}});
}

TEST_CASE("every seek in pile leads to the state of the straight run", "[replay][seek][property]") {
    require_seeks<games::Pile>({3, 1, {}});
}

TEST_CASE("states of the tick before or after are never taken for that of the tick",
          "[replay][seek][fault]") {
    const GameRun run = game_run<games::Marine>({3, 2, {}});
    auto simulation = make_simulation<games::Marine>();
    const std::int64_t shift = GENERATE(-1, 0, 1);
    const Bytes side = shifted_side_file(*simulation, run, shift);
    PlayerOptions options;
    options.keyframes.side_bytes = side;
    options.budget_bytes = 0;
    auto player = Player::open(*simulation, *Reader::from_memory(run.file), options);
    REQUIRE(player);
    for (std::uint64_t tick = run_ticks; tick + 60 > 60;
         tick -= std::min<std::uint64_t>(tick, 65)) {
        CAPTURE(shift, tick);
        REQUIRE(player->seek(Tick{tick}));
        REQUIRE(simulation->hash().state == run.hashes[tick]);
    }
    const std::size_t keyframes = (run_ticks - 1) / side_every;
    CHECK(player->recording().problems().size() == (shift == 0 ? 0 : keyframes));
    CHECK((player->statistics().stored_loads > 0) == (shift == 0));
    CHECK_FALSE(player->verdict().divergence);
}

TEST_CASE("a seek into a recording that diverges names the first tick that does",
          "[replay][seek][fault]") {
    // Of the same session, with one hash that no state has from tick 700 on.
    const GameRun run = game_run<games::Marine>({3, 2, {}});
    auto simulation = make_simulation<games::Marine>();
    auto text = to_text(run.file, {.proofs = false});
    REQUIRE(text);
    const std::string wanted = "\"tick\":\"700\"";
    const std::size_t line = text->find(wanted);
    REQUIRE(line != std::string::npos);
    // The third byte of the first slot turns the player.
    const std::size_t slot = text->find("\"slots\":[\"", line) + 10 + 5;
    (*text)[slot] = (*text)[slot] == '1' ? '2' : '1';
    const auto changed = from_text(*text);
    REQUIRE(changed);
    const bool remembers = GENERATE(true, false);
    PlayerOptions options;
    options.budget_bytes = remembers ? options.budget_bytes : 0;
    auto player = Player::open(*simulation, *Reader::from_memory(*changed), options);
    REQUIRE(player);
    REQUIRE(player->seek(Tick{700}));
    CHECK_FALSE(player->verdict().divergence);
    REQUIRE(player->seek(Tick{1111}));
    REQUIRE(player->verdict().divergence);
    CHECK(player->verdict().divergence->tick == Tick{701});
    CHECK(simulation->tick() == Tick{1111});
}
