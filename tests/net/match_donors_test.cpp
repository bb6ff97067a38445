// SPDX-License-Identifier: MIT
// A relay's snapshots: asked of one player, parsed as hostile data, believed only on the word of
// the majority.
#include "match_support.hpp"
#include "toy_game.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

/// A real snapshot of state `tick`, since a relay looks into it.
Bytes toy_snapshot(std::uint64_t tick, std::uint64_t seed = 5) {
    auto simulation = make_simulation<ToyGame>();
    Setup setup;
    setup.slots = 2;
    setup.seed = seed;
    REQUIRE(simulation->reset(setup).has_value());
    ToySource source(2);
    Driver driver(*simulation, source);
    REQUIRE(driver.advance(tick).has_value());
    Bytes bytes;
    simulation->save(bytes);
    return bytes;
}

/// A relay of three players, too long under way to begin at state 0.
struct Relay {
    explicit Relay(std::size_t players = 3)
        : bed(make()) {
        bed.fill(players);
        bed.run(seconds(20));
        REQUIRE(bed.match.status().players == players);
    }

    static MatchSettings make() {
        MatchSettings settings = Bed::defaults(4);
        settings.start_players = 1;
        settings.authority = Authority::relay;
        settings.ring = seconds(8);
        settings.spectator_delay = seconds(1);
        return settings;
    }

    /// Players who are asked give a snapshot; who is in `liars` gives another state's.
    void run(Micros span, const std::vector<std::size_t>& liars = {}) {
        const Micros end = bed.now + span;
        while (bed.now < end) {
            bed.run(milliseconds(20));
            for (std::size_t i = 0; i < bed.peers.size(); ++i) {
                TestPeer& peer = *bed.peers[i];
                if (!peer.snapshot_query || peer.need() < *peer.snapshot_query) {
                    continue;
                }
                const std::uint64_t tick = *peer.snapshot_query;
                peer.snapshot_query.reset();
                if (std::find(asked.begin(), asked.end(), i) == asked.end() || tick != last) {
                    asked.push_back(i);
                    give(peer, tick, std::find(liars.begin(), liars.end(), i) != liars.end());
                }
                last = tick;
            }
        }
    }

    void give(TestPeer& donor, std::uint64_t tick, bool lies) {
        const Hash128 state = hash_snapshot(toy_snapshot(tick))->state;
        for (auto& peer : bed.peers) {
            peer->spoken[tick] = state;
        }
        const auto bytes = std::make_shared<const Bytes>(toy_snapshot(tick, lies ? 6 : 5));
        donor.sender.start(bed.now,
                           make_blob_offer(++blob_id,
                                           wire::BlobKind::snapshot,
                                           Tick{tick},
                                           *bytes,
                                           donor.states.chain(tick) ^ (wrong_chain ? 1 : 0)),
                           bytes,
                           1U << 20U);
    }

    Bed bed;
    std::vector<std::size_t> asked;
    std::uint64_t last = 0;
    std::uint32_t blob_id = 0;
    bool wrong_chain = false;
};

} // namespace

TEST_CASE("a relay's joiner begins at a snapshot that a player gave", "[net][match][join]") {
    Relay relay;
    TestPeer& late = relay.bed.add("late");
    late.reports = false; // The pretended game cannot load a toy's snapshot.
    const std::uint64_t before = relay.bed.match.next_tick().value;
    REQUIRE(late.connect());
    relay.run(seconds(5));
    CHECK(relay.asked.size() == 1);
    REQUIRE(late.snapshot_tick.has_value());
    CHECK(*late.snapshot_tick > before);
    CHECK(*late.snapshot_tick % 4 == 0);
    CHECK(relay.bed.match.player_state(Slot{3}) == PlayerState::live);
    CHECK(relay.bed.match.status().snapshots_refused == 0);
    CHECK(relay.bed.match.status().substituted_late == 0);
}

TEST_CASE("a lying donor is refused and another one is asked", "[net][match][threat-20]") {
    Relay relay;
    TestPeer& late = relay.bed.add("late");
    late.reports = false;
    REQUIRE(late.connect());
    relay.run(seconds(12), {0});
    CHECK(relay.bed.match.status().snapshots_refused <= 1);
    REQUIRE(late.snapshot_tick.has_value());
    CHECK(relay.bed.match.player_state(Slot{3}) == PlayerState::live);
    // Whoever was asked first, the snapshot that was taken is nobody's lie.
    const auto giver = relay.asked.back();
    CHECK(giver != 0);
}

TEST_CASE("if all donors lie nobody joins, and nobody is harmed", "[net][match][threat-20]") {
    Relay relay;
    TestPeer& late = relay.bed.add("late");
    late.reports = false;
    REQUIRE(late.connect());
    SECTION("about the state") {
        relay.run(seconds(10), {0, 1, 2});
    }
    SECTION("about the chain") {
        relay.wrong_chain = true;
        relay.run(seconds(10));
    }
    CHECK(relay.bed.match.status().snapshots_refused >= 3);
    CHECK_FALSE(late.snapshot_tick.has_value());
    CHECK(relay.bed.match.player_state(Slot{3}) == PlayerState::joining);
    CHECK(relay.bed.match.status().players == 3);
    CHECK(relay.bed.match.status().substituted_late == 0);
    CHECK(late.connected);
}

TEST_CASE("a donor that does not answer costs ten seconds and another one is asked",
          "[net][match][join]") {
    Relay relay;
    TestPeer& late = relay.bed.add("late");
    late.reports = false;
    REQUIRE(late.connect());
    relay.bed.run(seconds(1));
    std::size_t mute = relay.bed.peers.size();
    for (std::size_t i = 0; i < 3; ++i) {
        if (relay.bed.peers[i]->snapshot_query) {
            mute = i;
        }
    }
    REQUIRE(mute < 3);
    relay.bed.run(seconds(10));
    relay.bed.peers[mute]->snapshot_query.reset();
    relay.run(seconds(5));
    CHECK(relay.asked.size() == 1);
    CHECK(relay.asked[0] != mute);
    CHECK(relay.bed.match.player_state(Slot{3}) == PlayerState::live);
}

TEST_CASE("with one player left its word is used", "[net][match][join]") {
    Relay relay(1);
    TestPeer& late = relay.bed.add("late");
    late.reports = false;
    REQUIRE(late.connect());
    relay.run(seconds(5));
    CHECK(relay.bed.match.player_state(Slot{1}) == PlayerState::live);
}
