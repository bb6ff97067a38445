// SPDX-License-Identifier: MIT
// Whole players against the real host over a lossy virtual network, in all modes.
#include "client_world.hpp"

using namespace client_test;

TEST_CASE("two players play a match with equal states at every tick, in every mode",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    const auto mode = GENERATE(wire::Mode::plain, wire::Mode::room_key, wire::Mode::token);
    if (mode != wire::Mode::plain && !has_crypto()) {
        return;
    }
    MatchWorld world(mode, 3);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(20));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(second.player.client().state() == ClientState::playing);
    CHECK(first.keeper.hashes.size() > 850);
    CHECK(second.keeper.hashes.size() > 850);
    CHECK(world.equal_states() > 1700);
    CHECK_FALSE(first.player.client().verdict());
    CHECK(first.player.client().status().chain_differs == 0);
    // 3 % of loss does not make inputs late.
    CHECK(first.player.client().status().substituted < 10);
    CHECK(first.player.client().status().margin_ms >= 0);
    CHECK(first.starts == 1);
}

TEST_CASE("a player whose connection was lost comes back with its state", "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 1);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(5));
    REQUIRE(first.keeper.hashes.size() > 100);
    const auto seconds_cut = GENERATE(1, 4, 15);
    CAPTURE(seconds_cut);
    world.cut = true;
    world.run_for(seconds(seconds_cut));
    world.cut = false;
    for (auto& peer : world.peers) {
        if (peer->player.is_closed()) {
            CHECK(peer->error.find("nothing was heard") != std::string::npos);
            REQUIRE(peer->player.reconnect(world.now));
        }
    }
    world.run_for(seconds(15));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(second.player.client().state() == ClientState::playing);
    // While nobody is there the match stands: after 15 s both connections were given up.
    const int run_s = 15 + (seconds_cut < 10 ? seconds_cut : 4);
    CHECK(first.keeper.hashes.size() + 40 > 50U * static_cast<unsigned>(run_s));
    CHECK(world.equal_states() > 1000);
    CHECK(first.starts == 1);
    // Live again: its own inputs are taken.
    const std::uint64_t before = first.player.client().status().substituted;
    world.run_for(seconds(5));
    CHECK(first.player.client().status().substituted <= before + 3);
}

TEST_CASE("a player who comes later and a spectator begin from another player's snapshot",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 2, 1);
    auto& first = world.join();
    world.run_for(seconds(6));
    REQUIRE(first.keeper.hashes.size() > 200);
    const std::uint64_t substituted = first.player.client().status().substituted;
    auto& second = world.join();
    auto& spectator = world.join(Role::spectator);
    world.run_for(seconds(12));
    CAPTURE(second.error, spectator.error);
    CAPTURE(second.player.waiting_for(), spectator.player.waiting_for());
    CHECK(second.player.client().state() == ClientState::playing);
    CHECK(spectator.player.client().state() == ClientState::playing);
    CHECK(second.player.client().first_tick().value > 250);
    CHECK(second.keeper.hashes.size() > 300);
    CHECK(spectator.keeper.hashes.size() > 200);
    CHECK(world.equal_states() > 1000);
    // Nobody had to wait for them.
    CHECK(first.player.client().status().substituted <= substituted + 5);
    CHECK(first.player.client().status().stalls < 10);
    CHECK_FALSE(first.player.client().verdict());
}

TEST_CASE("a player who asks for a snapshot goes on from there with equal states",
          "[net][client][match]") {
    TWINSTEP_SHOW_SEED();
    MatchWorld world(wire::Mode::plain, 1);
    auto& first = world.join();
    auto& second = world.join();
    world.run_for(seconds(6));
    first.player.client().request(wire::RequestKind::snapshot);
    world.run_for(seconds(10));
    CAPTURE(first.error, second.error, first.player.waiting_for(), second.player.waiting_for());
    CHECK(first.starts == 2);
    CHECK(first.player.client().state() == ClientState::playing);
    CHECK(first.player.client().status().snapshots_received == 1);
    CHECK(world.equal_states() > 1000);
    const std::uint64_t before = first.player.client().status().substituted;
    world.run_for(seconds(4));
    CHECK(first.player.client().status().substituted <= before + 3);
}
