// SPDX-License-Identifier: MIT
// The whole spine under each reference game: driver, recorder, playback and verifier, what they
// hash and what they allocate.
#include "allocation_counter.hpp"
#include "game_bots.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "roomy_sink.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace twinstep;

namespace {

/// Compares what observers are told with the hash of a snapshot's bytes, at every tick.
class SnapshotHashes final : public Observer {
public:
    explicit SnapshotHashes(Simulation& simulation)
        : simulation_(simulation) {}

    void before(const TickBegin& begin) override { compare(begin.hashes); }

    void after(const StateHashes& hashes) override { compare(hashes); }

    std::uint64_t equal = 0;
    std::uint64_t unequal = 0;

private:
    void compare(const StateHashes& told) {
        simulation_.save(snapshot_);
        const Result<StateHashes> actual = hash_snapshot(snapshot_);
        const bool same = actual && actual->tick == told.tick && actual->state == told.state &&
                          std::equal(actual->sections.begin(),
                                     actual->sections.end(),
                                     told.sections.begin(),
                                     told.sections.end(),
                                     [](const SectionHash& left, const SectionHash& right) {
                                         return left.name == right.name && left.hash == right.hash;
                                     });
        ++(same ? equal : unequal);
    }

    Simulation& simulation_;
    Bytes snapshot_;
};

template <class G>
std::unique_ptr<Simulation> start(const Setup& setup) {
    auto simulation = make_simulation<G>();
    REQUIRE(simulation->reset(setup));
    return simulation;
}

template <class G>
void require_snapshot_hashes(const Setup& setup, std::uint64_t ticks) {
    const auto simulation = start<G>(setup);
    GameBots<G> bots({.seed = setup.seed, .slots = setup.slots});
    Driver driver(*simulation, bots);
    SnapshotHashes hashes(*simulation);
    driver.add(hashes);
    REQUIRE(driver.advance(ticks));
    CHECK(hashes.equal == 2 * ticks);
    CHECK(hashes.unequal == 0);
}

/// Records and verifies; both without an allocation after the first ticks.
template <class G>
void require_quiet_spine(const Setup& setup, std::uint64_t warm_ticks, std::uint64_t ticks) {
    Bytes file;
    {
        const auto simulation = start<G>(setup);
        auto recorder = replay::Recorder::create(std::make_unique<RoomySink>(file), *simulation);
        REQUIRE(recorder);
        GameBots<G> bots({.seed = setup.seed, .slots = setup.slots});
        Driver driver(*simulation, bots);
        driver.add(*recorder);
        REQUIRE(driver.advance(warm_ticks));
        const AllocationCounter allocations;
        const auto advance = driver.advance(ticks);
        const std::uint64_t count = allocations.count();
        REQUIRE(advance);
        CHECK(count == 0);
        REQUIRE(recorder->close());
    }
    const auto simulation = start<G>(setup);
    replay::Playback playback(*replay::Reader::from_memory(file));
    Driver driver(*simulation, playback.source());
    driver.add(playback.verifier());
    REQUIRE(driver.advance(warm_ticks));
    const AllocationCounter allocations;
    const auto advance = driver.advance(ticks);
    const std::uint64_t count = allocations.count();
    REQUIRE(advance);
    CHECK(advance->ticks == ticks);
    CHECK(count == 0);
    CHECK_FALSE(playback.verdict().divergence);
    CHECK(playback.verdict().hashes_checked >= warm_ticks + ticks);
}

const Setup marine_setup{11, 4, {}};
const Setup swarm_setup{5, 4, {{"units", "1000"}}};
const Setup pile_setup{7, 1, {{"bodies", "200"}}};

} // namespace

TEST_CASE("the hash that observers get is the hash of the snapshot's bytes, section by section, at "
          "every tick of every reference game",
          "[games][property]") {
    require_snapshot_hashes<games::Marine>(marine_setup, 400);
    require_snapshot_hashes<games::Swarm>(swarm_setup, 120);
    require_snapshot_hashes<games::Pile>(pile_setup, 400);
}

TEST_CASE("recording and verifying a reference game allocate nothing once it is under way",
          "[games][unit]") {
    SECTION("marine") {
        require_quiet_spine<games::Marine>(marine_setup, 650, 600);
    }
    SECTION("swarm") {
        require_quiet_spine<games::Swarm>(swarm_setup, 650, 100);
    }
    SECTION("pile") {
        require_quiet_spine<games::Pile>(pile_setup, 650, 600);
    }
}
