// SPDX-License-Identifier: MIT
// Marine played by the people who recorded Freedoom's demos.
#include "marine_support.hpp"

using namespace twinstep;
using namespace twinstep::games;
using namespace marine_test;

namespace {

/// What the demo's header and length are known to be, read once with another program.
struct KnownDemo {
    const char* wad;
    const char* lump;
    std::uint8_t skill;
    std::uint8_t episode;
    std::uint8_t map;
    std::uint64_t tics;
};

constexpr std::array<KnownDemo, 8> known_demos{{{"freedoom1.wad", "DEMO1", 3, 1, 4, 1531},
                                                {"freedoom1.wad", "DEMO2", 3, 2, 3, 2763},
                                                {"freedoom1.wad", "DEMO3", 2, 3, 3, 1241},
                                                {"freedoom1.wad", "DEMO4", 3, 4, 6, 6467},
                                                {"freedoom2.wad", "DEMO1", 2, 1, 15, 1415},
                                                {"freedoom2.wad", "DEMO2", 3, 1, 10, 4785},
                                                {"freedoom2.wad", "DEMO3", 2, 1, 2, 2593},
                                                {"freedoom2.wad", "DEMO4", 2, 1, 26, 1842}}};

} // namespace

TEST_CASE("every Freedoom demo is read whole, with its header and length",
          "[games][marine][demo]") {
    for (const KnownDemo& known : known_demos) {
        CAPTURE(known.wad, known.lump);
        const DemoLump demo = freedoom_demo(known.wad, known.lump);
        CHECK(demo.version == 109);
        CHECK(demo.skill == known.skill);
        CHECK(demo.episode == known.episode);
        CHECK(demo.map == known.map);
        CHECK(demo.players == 1);
        CHECK(demo.console_player == 0);
        CHECK(demo.tics() == known.tics);
        CHECK(demo.complete);
        CHECK(demo.note.empty());
    }
}

TEST_CASE("people's input from Freedoom's demos plays lively games", "[games][marine][demo]") {
    Deeds all;
    for (const KnownDemo& known : known_demos) {
        CAPTURE(known.wad, known.lump);
        DemoSource source(freedoom_demo(known.wad, known.lump));
        MarineSimulation simulation;
        REQUIRE(simulation.reset(setup_for(source.demo())));
        REQUIRE(run(simulation, source, 100000) == known.tics);
        const Deeds deeds = deeds_of(simulation.game());
        UNSCOPED_INFO(known.wad << " " << known.lump << ": " << known.tics << " tics, "
                                << deeds.travelled_units << " units, " << deeds.shots << " shots, "
                                << deeds.hits << " hits, " << deeds.kills << " kills, "
                                << deeds.deaths << " deaths, " << deeds.doors << " doors, "
                                << deeds.pickups << " pickups");
        CHECK(deeds.travelled_units > known.tics);
        CHECK(deeds.shots >= 5);
        CHECK(deeds.hits >= 1);
        CHECK(deeds.kills >= 1);
        all.kills += deeds.kills;
        all.deaths += deeds.deaths;
        all.doors += deeds.doors;
        all.pickups += deeds.pickups;
    }
    CHECK(all.kills >= 40);
    CHECK(all.deaths >= 8);
    CHECK(all.doors >= 1);
    CHECK(all.pickups >= 8);
}
