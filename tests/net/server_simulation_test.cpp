// SPDX-License-Identifier: MIT
// The server's simulation, and a relay's snapshots, with a real game.
#include "allocation_counter.hpp"
#include "match_support.hpp"
#include "toy_game.hpp"

#include "twinstep/net/server_simulation.hpp"

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

/// Encoded frames of the toy game.
std::vector<Bytes> toy_frames(std::size_t count) {
    ToySource source(2);
    std::vector<Bytes> frames;
    TickFrame frame;
    for (std::uint64_t tick = 0; tick < count; ++tick) {
        REQUIRE(source.next(Tick{tick}, frame).has_value());
        encode_frame(frame, frames.emplace_back());
    }
    return frames;
}

std::unique_ptr<Simulation> toy() {
    auto simulation = make_simulation<ToyGame>();
    Setup setup;
    setup.slots = 2;
    setup.seed = 5;
    REQUIRE(simulation->reset(setup).has_value());
    return simulation;
}

} // namespace

TEST_CASE("server simulation gives the hashes of every state from the first on",
          "[net][match][simulation]") {
    const auto frames = toy_frames(100);
    ServerSimulation server(toy());
    const auto other = toy();
    std::vector<Hash128> expected{other->hash().state};
    for (const Bytes& bytes : frames) {
        TickFrame frame;
        REQUIRE(decode_frame(bytes, frame).has_value());
        REQUIRE(other->prepare(frame).has_value());
        other->step();
        expected.push_back(other->hash().state);
    }
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        REQUIRE(server.offer(Tick{tick}, frames[tick]));
    }
    CHECK(server.backlog() == 100);
    const auto advanced = server.advance(1000);
    REQUIRE(advanced.has_value());
    CHECK(advanced->ticks == 100);
    CHECK(advanced->state == DriverState::waiting);
    for (std::uint64_t tick = 0; tick <= 100; ++tick) {
        REQUIRE(server.hashes() != nullptr);
        CHECK(server.hashes()->tick == Tick{tick});
        CHECK(server.hashes()->state == expected[tick]);
        server.take_hashes();
    }
    CHECK(server.hashes() == nullptr);
}

TEST_CASE("server simulation stands when its results are not taken, and loses none",
          "[net][match][simulation]") {
    const auto frames = toy_frames(50);
    ServerSimulation server(toy(), {1000, 1U << 20U, 8});
    for (std::uint64_t tick = 0; tick < 50; ++tick) {
        REQUIRE(server.offer(Tick{tick}, frames[tick]));
    }
    CHECK(server.advance(1000)->ticks == 7);
    CHECK(server.advance(1000)->ticks == 0);
    std::uint64_t seen = 0;
    while (server.hashes() != nullptr) {
        CHECK(server.hashes()->tick == Tick{seen++});
        server.take_hashes();
        REQUIRE(server.advance(1).has_value());
    }
    CHECK(seen == 51);
}

TEST_CASE("server simulation says when a frame is lost", "[net][match][simulation]") {
    const auto frames = toy_frames(20);
    ServerSimulation server(toy(), {10, 1U << 20U, 64});
    for (std::uint64_t tick = 0; tick < 10; ++tick) {
        REQUIRE(server.offer(Tick{tick}, frames[tick]));
    }
    CHECK_FALSE(server.broken());
    CHECK_FALSE(server.offer(Tick{10}, frames[10]));
    CHECK(server.broken());
    ServerSimulation gap(toy());
    CHECK_FALSE(gap.offer(Tick{1}, frames[1]));
    CHECK(gap.broken());
    ServerSimulation damaged(toy());
    REQUIRE(damaged.offer(Tick{0}, Bytes(3)));
    CHECK_FALSE(damaged.advance(1).has_value());
    CHECK(damaged.broken());
}

TEST_CASE("server simulation saves the state that was wanted", "[net][match][simulation]") {
    const auto frames = toy_frames(30);
    ServerSimulation server(toy());
    server.want_snapshot(Tick{12});
    CHECK_FALSE(server.snapshot_tick().has_value());
    for (std::uint64_t tick = 0; tick < 30; ++tick) {
        REQUIRE(server.offer(Tick{tick}, frames[tick]));
    }
    REQUIRE(server.advance(100).has_value());
    REQUIRE(server.snapshot_tick() == Tick{12});
    const auto hashes = hash_snapshot(server.snapshot());
    REQUIRE(hashes.has_value());
    CHECK(hashes->tick == Tick{12});
    // One of a state that is reached already is there without a further tick.
    server.want_snapshot(Tick{20});
    REQUIRE(server.advance(0).has_value());
    CHECK(server.snapshot_tick() == Tick{30});
    server.take_snapshot();
    CHECK_FALSE(server.snapshot_tick().has_value());
}

TEST_CASE("server simulation allocates nothing in the steady state", "[net][match][allocation]") {
    const auto frames = toy_frames(400);
    ServerSimulation server(toy());
    std::uint64_t during = 0;
    for (std::uint64_t tick = 0; tick < 400; ++tick) {
        const AllocationCounter counter;
        REQUIRE(server.offer(Tick{tick}, frames[tick]));
        REQUIRE(server.advance(1).has_value());
        while (server.hashes() != nullptr) {
            server.take_hashes();
        }
        // The toy game writes a log entry into a map now and then; that is its own.
        during += tick >= 300 && tick % 40 != 13 ? counter.count() : 0;
    }
    CHECK(during == 0);
}
