// SPDX-License-Identifier: MIT
// What marine's tests share: sources of input, runs, sums over players, and Freedoom's demos.
#pragma once

#include "marine/demo_lump.hpp"
#include "marine/marine.hpp"
#include "marine/wad.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace marine_test {

using MarineSimulation = twinstep::GameSimulation<twinstep::games::Marine>;

/// The seed of a randomised test: TWINSTEP_TEST_SEED, or the one given. Shown when a test fails.
inline std::uint64_t test_seed(std::uint64_t otherwise) {
    const char* text = std::getenv("TWINSTEP_TEST_SEED");
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Takes `ticks` steps, or as many as the source has. Returns how many.
inline std::uint64_t
run(twinstep::Simulation& simulation, twinstep::Source& source, std::uint64_t ticks) {
    twinstep::Driver driver(simulation, source);
    const auto done = driver.advance(ticks);
    if (!done) {
        FAIL(twinstep::to_string(done.error()));
    }
    return done->ticks;
}

/// Sums over all players.
struct Deeds {
    std::uint64_t travelled_units = 0;
    std::uint64_t shots = 0;
    std::uint64_t hits = 0;
    std::uint64_t kills = 0;
    std::uint64_t frags = 0;
    std::uint64_t deaths = 0;
    std::uint64_t doors = 0;
    std::uint64_t pickups = 0;
};

inline Deeds deeds_of(const twinstep::games::Marine& game) {
    Deeds deeds;
    for (const auto& player : game.players()) {
        deeds.travelled_units += player.travelled >> 16;
        deeds.shots += player.shots;
        deeds.hits += player.hits;
        deeds.kills += player.kills;
        deeds.frags += player.frags;
        deeds.deaths += player.deaths;
        deeds.doors += player.doors;
        deeds.pickups += player.pickups;
    }
    return deeds;
}

/// A demo of Debian's package `freedoom`. Fails the test, and says what to install, if the file is
/// not there: a missing file must not look like a passed test.
inline twinstep::games::DemoLump freedoom_demo(const std::string& wad, const std::string& lump) {
    const std::string path = "/usr/share/games/doom/" + wad;
    const auto bytes = twinstep::games::read_wad_lump(path, lump);
    if (!bytes) {
        FAIL(twinstep::to_string(bytes.error()) << " (install the package freedoom)");
    }
    auto demo = twinstep::games::parse_demo(*bytes);
    if (!demo) {
        FAIL(path << " " << lump << ": " << twinstep::to_string(demo.error()));
    }
    return std::move(*demo);
}

} // namespace marine_test
