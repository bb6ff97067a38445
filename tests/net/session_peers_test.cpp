// SPDX-License-Identifier: MIT
// What a peer with good keys, or somebody who copies its packets, can do: docs/threats.md.
#include "session_world.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// The challenge in a datagram that the host sent to an unproven address.
std::uint64_t challenge_in(TestPeer& peer, const Bytes& datagram) {
    const std::optional<Bytes> plain = peer.open(datagram);
    REQUIRE(plain);
    const auto frame = first_frame(*plain);
    REQUIRE(frame);
    REQUIRE(frame->type == wire::FrameType::path_challenge);
    return wire::decode_path(frame->body).value();
}

Bytes response_of(std::uint64_t challenge) {
    Bytes plain;
    wire::encode_path(wire::FrameType::path_response, challenge, plain);
    return plain;
}

/// Where the host sends what the match has for the peer of index 0.
Address address_used(World& world, Micros now) {
    fake_match().to_send[0].push_back(bytes_of("x"));
    fake_match().wake = now;
    CollectingOutbox out;
    world.host.advance(now, out);
    REQUIRE(out.sent.size() == 1);
    return out.sent[0].to;
}

} // namespace

TEST_CASE("old packets from another address do not move the path", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    const Bytes held_back = peer.seal(progress_frame());
    const Bytes newer = peer.seal(progress_frame());
    CollectingOutbox out;
    world.host.receive(start, peer.address, newer, out);
    const Address thief = far_address(66);
    world.host.receive(start + seconds(2), thief, newer, out);     // a copy
    world.host.receive(start + seconds(2), thief, held_back, out); // late, but authentic
    Bytes damaged = peer.seal(progress_frame());
    damaged.back() ^= std::byte{1};
    world.host.receive(start + seconds(2), thief, damaged, out);
    CHECK(out.sent.empty());
    CHECK(world.dropped(Drop::replayed) == 1);
    CHECK(world.dropped(Drop::not_authentic) == 1);
    CHECK(fake_match().frames == 2); // The late one counts as a packet, not as a move.
    CHECK(address_used(world, start + seconds(2)) == peer.address);
    CHECK(world.host.status().path_changes == 0);
}

TEST_CASE("a peer moves to a new address once it has answered there", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    const Address old_address = peer.address;
    const Address new_address = loopback(9000, 2);
    CollectingOutbox out;
    const Micros now = start + seconds(2);
    world.host.receive(now, new_address, peer.seal(progress_frame()), out);
    auto sent = out.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].to == new_address);
    const std::uint64_t challenge = challenge_in(peer, sent[0].bytes);
    CHECK(address_used(world, now) == old_address); // Until it is proven.

    // Answers that do not count: another value, or from somewhere else.
    world.host.receive(now, new_address, peer.seal(response_of(challenge ^ 1U)), out);
    world.host.receive(now, old_address, peer.seal(response_of(challenge)), out);
    CHECK(address_used(world, now) == old_address);
    world.host.receive(now, new_address, peer.seal(response_of(challenge)), out);
    CHECK(address_used(world, now) == new_address);
    CHECK(world.host.status().path_changes == 1);

    // Not again within a second.
    out.take();
    const Address third = loopback(9001, 3);
    world.host.receive(now + milliseconds(900), third, peer.seal({}), out);
    CHECK(out.take().empty());
    world.host.receive(now + milliseconds(1001), third, peer.seal({}), out);
    sent = out.take();
    REQUIRE(sent.size() == 1);
    world.host.receive(now + milliseconds(1002),
                       third,
                       peer.seal(response_of(challenge_in(peer, sent[0].bytes))),
                       out);
    CHECK(world.host.status().path_changes == 2);
}

TEST_CASE("an address that is not proven gets at most three bytes for each of its own",
          "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    CollectingOutbox out;
    std::size_t received = 0;
    std::size_t answered = 0;
    const Address far = loopback(9000, 2);
    for (int i = 0; i < 400; ++i) {
        const Bytes datagram = peer.seal({}); // The shortest there is.
        received += datagram.size();
        world.host.receive(start + milliseconds(1000 + 25 * i), far, datagram, out);
        for (const auto& one : out.take()) {
            CHECK(one.to == far);
            answered += one.bytes.size();
        }
        REQUIRE(answered <= 3 * received);
    }
    CHECK(answered > 0);
    // Many addresses in turn: a challenge a second, not one for each.
    std::size_t challenges = 0;
    for (int i = 0; i < 100; ++i) {
        world.host.receive(start + seconds(20) + milliseconds(10 * i),
                           loopback(static_cast<std::uint16_t>(10'000 + i), 3),
                           peer.seal({}),
                           out);
        challenges += out.take().size();
    }
    CHECK(challenges <= 2);
}

TEST_CASE("a peer that floods is cut to its budget and then closed, and the others notice nothing",
          "[net][session]") {
    World world;
    std::vector<TestPeer> peers;
    for (std::uint16_t i = 0; i < 8; ++i) {
        peers.push_back(world.peer(static_cast<std::uint16_t>(5000 + i)));
        REQUIRE(peers.back().join(world.host, start));
    }
    const std::uint64_t rate = 4 * 60; // Honest clients may send each tick twice.
    int closed_at = -1;
    for (int tick = 0; tick < 60 * 5; ++tick) {
        const Micros now = start + Micros{std::int64_t{tick} * 1'000'000 / 60};
        for (int i = 0; i < 100; ++i) { // 6,000 packets a second
            peers[0].send_to(world.host, now, progress_frame());
        }
        for (std::size_t i = 1; i < peers.size(); ++i) {
            peers[i].send_to(world.host, now, progress_frame());
        }
        world.host.advance(now, peers[0].out);
        if (closed_at < 0 && world.host.status().peers == 7) {
            closed_at = tick;
        }
    }
    CHECK(fake_match().frames_of[0] <= HostSettings{}.packets_burst + rate * 3);
    for (std::size_t i = 1; i < peers.size(); ++i) {
        CHECK(fake_match().frames_of[i] == 300); // Every single one.
    }
    CHECK(closed_at >= 110);
    CHECK(closed_at <= 150);
    REQUIRE(fake_match().disconnected.size() == 1);
    CHECK(fake_match().disconnected[0].reason == CloseReason::flooding);
}

TEST_CASE("bytes are counted too, and a burst after a pause is no flood", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Bytes long_frame;
    wire::BlobChunk chunk;
    const Bytes payload(1020); // 64 packets of more than 1 KiB, with a tag or without.
    chunk.bytes = payload;
    wire::encode(chunk, long_frame);
    // 64 KiB at once are allowed, more is not.
    const std::size_t fit = HostSettings{}.bytes_burst / peer.seal(long_frame).size();
    REQUIRE(fit < 64);
    for (int i = 0; i < 64; ++i) {
        peer.send_to(world.host, start + seconds(1), long_frame);
    }
    CHECK(fake_match().frames == fit);
    CHECK(world.dropped(Drop::flood_peer) == 64 - fit);
    // What piled up while a link stood for a second: 60 packets, and all are heard.
    const std::uint64_t before = fake_match().frames;
    for (int i = 0; i < 60; ++i) {
        peer.send_to(world.host, start + seconds(5), progress_frame());
    }
    CHECK(fake_match().frames == before + 60);
    CHECK(world.host.status().peers == 1);
}

TEST_CASE("what the match asked a peer to send, and a faster match, have their own allowance",
          "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Bytes long_frame;
    wire::BlobChunk chunk;
    const Bytes payload(1100);
    chunk.bytes = payload;
    wire::encode(chunk, long_frame);
    const auto heard_of = [&](Micros from, std::int64_t per_s) {
        const std::uint64_t before = fake_match().frames;
        for (std::int64_t i = 0; i < per_s * 4; ++i) {
            peer.send_to(world.host, from + Micros{i * 1'000'000 / per_s}, long_frame);
        }
        return fake_match().frames - before;
    };
    fake_match().uploading = true;
    CHECK(heard_of(start, 230) == 920); // 256 KiB/s
    fake_match().uploading = false;
    CHECK(world.host.status().peers == 1);
    CHECK(heard_of(start + seconds(60), 230) < 400);

    // Four times as fast: an input and an acknowledgement a tick are 480 packets a second.
    TestPeer fast = world.peer(5001);
    REQUIRE(fast.join(world.host, start + seconds(100)));
    fake_match().speed_per_mille = 4000;
    fake_match().wake = start + seconds(100);
    CountingOutbox out;
    world.host.advance(start + seconds(100), out);
    const std::uint64_t before = fake_match().frames;
    for (int i = 0; i < 480 * 4; ++i) {
        fast.send_to(world.host,
                     start + seconds(100) + Micros{std::int64_t{i} * 1'000'000 / 480},
                     progress_frame());
    }
    CHECK(fake_match().frames == before + 480 * 4);
}

TEST_CASE("copies and reordered packets reach the match once", "[net][session][random]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    HostSettings settings;
    settings.packets_burst = 100'000;
    settings.bytes_burst = 100'000'000;
    World world(sealed_mode(), settings);
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    std::vector<Bytes> packets;
    for (int i = 0; i < 500; ++i) {
        const Bytes datagram = peer.seal(progress_frame(static_cast<std::uint64_t>(i)));
        packets.insert(packets.end(), 1 + random.below(4), datagram);
    }
    for (std::size_t i = packets.size(); i > 1; --i) {
        std::swap(packets[i - 1], packets[random.below(i)]);
    }
    CountingOutbox out;
    for (const Bytes& packet : packets) {
        world.host.receive(start, peer.address, packet, out);
    }
    CHECK(fake_match().frames == 500);
    CHECK(world.dropped(Drop::replayed) == packets.size() - 500);
}

TEST_CASE("a wall clock that jumps ends no connection and stops no timer", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    constexpr std::uint64_t noon = 1'800'000'000;
    CountingOutbox out;
    for (int i = 0; i < 100; ++i) {
        world.host.set_wall_clock(i % 2 == 0 ? noon + 86'400 : noon - 86'400);
        const Micros now = start + milliseconds(100 * i);
        peer.send_to(world.host, now, progress_frame());
        world.host.advance(now, out);
    }
    CHECK(world.host.status().peers == 1);
    CHECK(fake_match().frames == 100);
    CHECK(out.datagrams == 0);
}
