// SPDX-License-Identifier: MIT
// One delay for everybody and the pace of the median, as real players on real ways see them.
#include "client_world.hpp"

#include <algorithm>
#include <set>

using namespace client_test;

namespace {

constexpr std::int64_t period_ms = 20; // Of the match in MatchWorld.

void equal_delay(MatchSettings& settings) {
    settings.slots = 3;
    settings.equal_delay = true;
    settings.manifest = make_manifest(toy_info(), toy_setup(3));
}

void run_to_start(MatchWorld& world) {
    while (!world.match().status().started && world.now < seconds(20)) {
        world.run_for(milliseconds(20));
    }
    REQUIRE(world.match().status().started);
}

} // namespace

TEST_CASE("equal delay: everybody begins with what the farthest player needs, and keeps it",
          "[net][client][match][pace]") {
    TWINSTEP_SHOW_SEED();
    const int far_ms = GENERATE(60, 130, 200);
    CAPTURE(far_ms);
    MatchWorld world(wire::Mode::plain, 0, 3, equal_delay);
    world.join().one_way = milliseconds(5);
    world.join().one_way = milliseconds(30);
    auto& far = world.join();
    far.one_way = milliseconds(far_ms);
    run_to_start(world);
    // A round trip has up to 14 ms of jitter, and an answer waits for the next millisecond twice.
    const std::int64_t least = (2 * far_ms + period_ms - 1) / period_ms + 2;
    const std::int64_t most = (2 * far_ms + 16 + period_ms - 1) / period_ms + 2;
    std::set<std::uint16_t> begun_with;
    world.run_for(milliseconds(far_ms + 100));
    for (const auto& peer : world.peers) {
        CAPTURE(peer->error, peer->player.waiting_for());
        const std::uint16_t delay = peer->player.client().status().delay_ticks;
        CHECK(delay >= least);
        CHECK(delay <= most);
        begun_with.insert(delay);
    }
    CHECK(begun_with.size() == 1);
    for (int second = 0; second < 20; ++second) {
        world.run_for(seconds(1));
        std::set<std::uint16_t> delays;
        for (const auto& peer : world.peers) {
            delays.insert(peer->player.client().status().delay_ticks);
        }
        CAPTURE(second);
        // Each one hears of a change with its own ticks: two of them for a moment.
        CHECK(delays.size() <= 2);
        CHECK(*delays.rbegin() >= 2 * far_ms / period_ms);
        CHECK(*delays.rbegin() <= most);
    }
    // What is closed first was not waited for in vain: nobody's inputs were replaced.
    CHECK(far.player.client().status().substituted == 0);
    CHECK(world.equal_states() > 2'500);
}

TEST_CASE("equal delay: a lost ACCEPT makes nobody's delay longer", "[net][client][match][pace]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 0, 2, equal_delay);
    world.join();
    world.join().lost_down = 2;
    run_to_start(world);
    world.run_for(milliseconds(200));
    for (const auto& peer : world.peers) {
        CHECK(peer->sent_down > 2);
        CHECK(peer->player.client().status().delay_ticks >= 5);
        CHECK(peer->player.client().status().delay_ticks <= 6);
    }
}

TEST_CASE(
    "equal delay: who would be late for ever, because its way grew before the start, is heard",
    "[net][client][match][pace]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 0, 2, equal_delay);
    auto& far = world.join();
    far.one_way = milliseconds(5);
    world.run_for(seconds(1));
    far.one_way = milliseconds(150);
    auto& near = world.join();
    run_to_start(world);
    world.run_for(seconds(30));
    CAPTURE(far.error, far.player.waiting_for());
    CHECK(world.match().player_state(far.player.client().accepted().slot) == PlayerState::live);
    CHECK(near.player.client().status().delay_ticks == far.player.client().status().delay_ticks);
    const std::uint64_t before = far.player.client().status().substituted;
    world.run_for(seconds(5));
    CHECK(far.player.client().status().substituted == before);
}

TEST_CASE("pace of the median: machines that are too slow stretch the tick by a tenth at most",
          "[net][client][match][pace]") {
    TWINSTEP_SHOW_SEED();
    // Of three machines so many need so long for a tick of 20 ms.
    const auto [slow, cost_us, least, most] =
        GENERATE(table<std::size_t, int, std::uint64_t, std::uint64_t>({
            {2, 21'500, 450, 485}, // A tenth is enough: the pace goes back and forth.
            {2, 30'000, 452, 458}, // It is not: 500 / 1.1 in 10 s and no slower.
            {1, 30'000, 498, 502}, // One slow machine slows nobody down.
        }));
    CAPTURE(slow, cost_us);
    MatchWorld world(wire::Mode::plain, 0, 3, [](MatchSettings& settings) {
        settings.slots = 3;
        settings.pace_median = true;
        settings.manifest = make_manifest(toy_info(), toy_setup(3));
    });
    for (std::size_t i = 0; i < 3; ++i) {
        world.join();
    }
    world.run_for(seconds(3));
    REQUIRE(world.match().status().started);
    for (std::size_t i = 0; i < slow; ++i) {
        world.peers[i]->step_cost = Micros{cost_us};
    }
    world.run_for(seconds(12));
    const std::uint64_t before = world.match().next_tick().value;
    world.run_for(seconds(10));
    const std::uint64_t closed = world.match().next_tick().value - before;
    for (const auto& peer : world.peers) {
        CAPTURE(peer->error, peer->player.waiting_for());
        CHECK(peer->error.empty());
    }
    CHECK(closed >= least);
    CHECK(closed <= most);
}
