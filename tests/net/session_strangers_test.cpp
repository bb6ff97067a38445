// SPDX-License-Identifier: MIT
// What strangers can do to a host before their address and their key are proven: docs/threats.md.
#include "allocation_counter.hpp"
#include "session_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// Resident pages of this process, where the system tells.
std::uint64_t resident_pages() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    file >> all >> resident;
    return resident;
}

/// Everything a stranger may send, from well-formed to noise.
class StrangerInput {
public:
    StrangerInput(TestRandom& random, std::vector<Bytes> seeds)
        : random_(random)
        , seeds_(std::move(seeds)) {}

    Bytes next() {
        Bytes bytes = seeds_[random_.below(seeds_.size())];
        switch (random_.below(8)) {
        case 0: // noise of any size
            bytes.resize(1 + random_.below(1400));
            for (std::byte& byte : bytes) {
                byte = static_cast<std::byte>(random_.bits());
            }
            bytes[0] = heads_[random_.below(heads_.size())];
            break;
        case 1: // cut
            bytes.resize(random_.below(bytes.size() + 1));
            break;
        case 2: // longer
            bytes.resize(bytes.size() + random_.below(300));
            break;
        case 3:
        case 4: // a few flipped bits
            for (std::size_t i = 0; i <= random_.below(4); ++i) {
                bytes[random_.below(std::min<std::size_t>(bytes.size(), 64))] ^=
                    std::byte{1} << static_cast<int>(random_.below(8));
            }
            break;
        default: // as it is
            break;
        }
        return bytes;
    }

private:
    static constexpr std::array<std::byte, 6> heads_{std::byte{0x40},
                                                     std::byte{0x81},
                                                     std::byte{0x82},
                                                     std::byte{0x83},
                                                     std::byte{0x84},
                                                     std::byte{0x85}};
    TestRandom& random_;
    std::vector<Bytes> seeds_;
};

} // namespace

TEST_CASE("a million spoofed HELLOs leave memory and tables unchanged", "[net][session]") {
    for (const wire::Mode mode : {wire::Mode::plain, sealed_mode()}) {
        World world(mode);
        TestPeer peer = world.peer(5000);
        REQUIRE(peer.join(world.host, start));
        CountingOutbox out;
        Bytes hello = peer.hello();
        const bool plain = mode == wire::Mode::plain;
        const std::uint32_t count = plain ? 100'000 : 1'000'000;
        const std::size_t memory = world.host.memory_bytes();
        const auto spoof = [&](std::uint32_t i) {
            // Plain mode hears loopback only.
            const Address from = plain ? loopback(static_cast<std::uint16_t>(i),
                                                  static_cast<std::uint8_t>(1 + i % 254))
                                       : far_address(i, static_cast<std::uint16_t>(i * 7));
            hello[10] = static_cast<std::byte>(i);
            world.host.receive(start + Micros{i}, from, hello, out);
        };
        spoof(0);
        const std::uint64_t pages = resident_pages();
        const AllocationCounter counter;
        for (std::uint32_t i = 1; i < count; ++i) {
            spoof(i);
        }
        CHECK(counter.count() == 0);
        CHECK(resident_pages() <= pages + 64);
        CHECK(world.host.memory_bytes() == memory);
        CHECK(world.host.status().peers == 1);
        CHECK(world.host.status().pending == 0);
        CHECK(fake_match().admissions == 1);
        CHECK(out.bytes <= world.host.status().bytes_received / 30);
        // And whoever is there goes on.
        peer.send_to(world.host, start + seconds(1), progress_frame());
        CHECK(fake_match().frames == 1);
    }
}

TEST_CASE("no answer before authentication is longer than its request, or goes elsewhere",
          "[net][session][random]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const wire::Mode mode : {wire::Mode::plain, sealed_mode()}) {
        HostSettings settings;
        settings.unknown_per_s = 1'000'000;
        settings.unknown_burst = 1'000'000;
        settings.pending_prefix_max = 100;
        World world(mode, settings);
        // Good packets of somebody else, a CONNECT that is let in, one with a wrong key.
        TestPeer known = world.peer(4000, 9);
        REQUIRE(known.join(world.host, start));
        TestPeer good = world.peer(5000);
        CollectingOutbox cookie;
        world.host.receive(start, good.address, good.hello(), cookie);
        const Bytes connect = good.connect(cookie.sent.at(0).bytes);
        TestPeer bad(mode, key_of(2), good.address);
        bad.random = good.random;
        const Bytes forged = bad.connect(cookie.sent.at(0).bytes);
        StrangerInput input(random,
                            {good.hello(),
                             connect,
                             forged,
                             cookie.sent.at(0).bytes,
                             known.accept_bytes,
                             Bytes(23, std::byte{0x40})});
        std::uint64_t answers = 0;
        for (int i = 0; i < 30'000; ++i) {
            const Bytes bytes = input.next();
            CollectingOutbox out;
            const Address from = random.below(2) == 0 ? good.address : loopback(6000, 7);
            world.host.receive(start + milliseconds(i / 100), from, bytes, out);
            std::size_t sent = 0;
            for (const auto& one : out.sent) {
                sent += one.bytes.size();
                REQUIRE(one.to == from);
            }
            REQUIRE(sent <= bytes.size());
            answers += out.sent.size();
        }
        CHECK(answers > 1000);
        // Nothing is repeated by a timer before a peer has spoken under its keys.
        CountingOutbox later;
        for (int i = 0; i < 30; ++i) {
            world.host.advance(start + milliseconds(300 + 100 * i), later);
        }
        CHECK(later.datagrams == 0);
    }
}

TEST_CASE("a forged handshake causes no public-key work and spends nobody's budget",
          "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    HostSettings settings;
    settings.handshakes_per_s = 10;
    settings.pending_prefix_max = 100;
    settings.unknown_per_s = 100'000;
    settings.unknown_burst = 100'000;
    World world(wire::Mode::room_key, settings);
    CollectingOutbox out;
    TestPeer forger(wire::Mode::room_key, key_of(2), loopback(5000));
    world.host.receive(start, forger.address, forger.hello(), out);
    const Bytes forged = forger.connect(out.take().at(0).bytes);
    const std::uint64_t fills = world.entropy.fills;
    for (int i = 0; i < 1000; ++i) {
        world.host.receive(start, forger.address, forged, out);
    }
    CHECK(world.entropy.fills == fills); // A key pair begins with a secret.
    CHECK(world.dropped(Drop::not_admitted) == 1000);
    // Who has the key is let in all the same, but no more than the budget allows.
    std::uint64_t accepted = 0;
    for (std::uint16_t i = 0; i < 30; ++i) {
        TestPeer peer = world.peer(static_cast<std::uint16_t>(6000 + i), 2);
        accepted += peer.shake_hands(world.host, start) ? 1U : 0U;
    }
    CHECK(accepted == 10);
    CHECK(world.dropped(Drop::handshake_budget) == 20);
    TestPeer later = world.peer(7000, 3);
    CHECK(later.shake_hands(world.host, start + seconds(1)));
}

TEST_CASE("one prefix's strangers are limited and another one's are not", "[net][session]") {
    if (!has_crypto()) {
        return; // Nobody is heard from elsewhere than loopback.
    }
    World world;
    CountingOutbox out;
    const Bytes hello = world.peer(1).hello();
    for (std::uint16_t i = 0; i < 2000; ++i) {
        world.host.receive(start, far_address(1, i), hello, out);
    }
    CHECK(out.datagrams == HostSettings{}.unknown_burst);
    CHECK(world.dropped(Drop::flood_unknown) == 2000U - HostSettings{}.unknown_burst);
    world.host.receive(start, far_address(2), hello, out);
    CHECK(out.datagrams == HostSettings{}.unknown_burst + 1);
    // A /64 is one sender, two of them are two.
    Address v6;
    v6.ip = {0x20, 0x01, 0x0D, 0xB8};
    for (std::uint16_t i = 0; i < 2000; ++i) {
        v6.ip[15] = static_cast<std::uint8_t>(i);
        v6.ip[9] = static_cast<std::uint8_t>(i >> 3U);
        world.host.receive(start, v6, hello, out);
    }
    CHECK(out.datagrams == 2 * HostSettings{}.unknown_burst + 1);
    v6.ip[7] = 1;
    world.host.receive(start, v6, hello, out);
    CHECK(out.datagrams == 2 * HostSettings{}.unknown_burst + 2);
    // The bucket fills up again.
    for (int i = 0; i < 200; ++i) {
        world.host.receive(start + seconds(1), far_address(1), hello, out);
    }
    CHECK(out.datagrams == 2 * HostSettings{}.unknown_burst + 2 + HostSettings{}.unknown_per_s);
}

TEST_CASE("a client that sends one byte a second holds its place for three seconds",
          "[net][session]") {
    World world;
    std::vector<TestPeer> slow;
    for (std::uint16_t i = 0; i < 12; ++i) {
        slow.push_back(world.peer(static_cast<std::uint16_t>(5000 + i)));
        const bool in = slow.back().shake_hands(world.host, start);
        CHECK(in == (i < HostSettings{}.pending_prefix_max));
    }
    CHECK(world.dropped(Drop::table_full) == 12U - HostSettings{}.pending_prefix_max);
    // Another prefix is not affected.
    TestPeer honest = world.peer(6000, 77);
    CHECK(honest.join(world.host, start));
    CollectingOutbox out;
    for (int s = 1; s <= 3; ++s) {
        CHECK(world.host.status().pending == HostSettings{}.pending_prefix_max);
        for (const TestPeer& peer : slow) {
            world.host.receive(
                start + seconds(s) - Micros{1}, peer.address, Bytes(1, std::byte{0x40}), out);
        }
        world.host.advance(start + seconds(s), out);
    }
    CHECK(world.host.status().pending == 0);
    CHECK(out.sent.empty());
    CHECK(fake_match().disconnected.size() == HostSettings{}.pending_prefix_max);
    CHECK(slow[9].join(world.host, start + seconds(4)));
}

TEST_CASE("handshakes under way are bounded in all, and so are peers", "[net][session]") {
    HostSettings settings;
    settings.pending_max = 20;
    settings.peers_max = 30;
    World world(sealed_mode(), settings);
    std::vector<TestPeer> waiting;
    for (std::uint8_t i = 0; i < 40; ++i) {
        waiting.push_back(world.peer(5000, static_cast<std::uint8_t>(1 + i)));
        CHECK(waiting.back().shake_hands(world.host, start) == (i < 20));
    }
    for (std::size_t i = 0; i < 20; ++i) {
        waiting[i].send_to(world.host, start, {});
    }
    for (std::uint8_t i = 0; i < 20; ++i) {
        TestPeer peer = world.peer(6000, static_cast<std::uint8_t>(1 + i));
        CHECK(peer.join(world.host, start) == (i < 10));
        CHECK(peer.refusal == (i < 10 ? CloseReason::none : CloseReason::full));
    }
    CHECK(world.host.status().peers == 30);
}

TEST_CASE("plain mode hears loopback only", "[net][session]") {
    World world(wire::Mode::plain);
    CountingOutbox out;
    const Bytes hello = world.peer(1).hello();
    world.host.receive(start, far_address(1), hello, out);
    Address v6;
    v6.ip = {0xFE, 0x80};
    v6.ip[15] = 1;
    world.host.receive(start, v6, hello, out);
    CHECK(out.datagrams == 0);
    CHECK(world.dropped(Drop::not_admitted) == 2);
    v6 = Address{};
    v6.ip[15] = 1;
    world.host.receive(start, v6, hello, out);
    CHECK(out.datagrams == 1);
}

TEST_CASE("what went wrong is said by nobody before the cookie and in one byte after it",
          "[net][session]") {
    struct Case {
        const char* name;
        Drop drop;
        bool answered;
    };

    const std::vector<Case> cases{{"empty", Drop::size, false},
                                  {"too long", Drop::size, false},
                                  {"other type", Drop::type, false},
                                  {"server's packet", Drop::type, false},
                                  {"short hello", Drop::malformed, false},
                                  {"other magic", Drop::malformed, false},
                                  {"short connect", Drop::malformed, false},
                                  {"connect of another major", Drop::malformed, false},
                                  {"no cookie", Drop::cookie, false},
                                  {"unknown connection", Drop::unknown_connection, false},
                                  {"stub of a packet", Drop::malformed, false},
                                  {"wrong key", Drop::not_admitted, true}};
    World world;
    TestPeer peer = world.peer(5000);
    CollectingOutbox out;
    world.host.receive(start, peer.address, peer.hello(), out);
    const Bytes cookie = out.take().at(0).bytes;
    const Bytes connect = peer.connect(cookie);
    TestPeer wrong(sealed_mode(), key_of(2), peer.address);
    wrong.random = peer.random;
    std::map<std::string, Bytes> inputs{{"empty", {}},
                                        {"too long", Bytes(1201, std::byte{0x81})},
                                        {"other type", Bytes(100, std::byte{0x12})},
                                        {"server's packet", cookie},
                                        {"short hello", peer.hello()},
                                        {"other magic", peer.hello()},
                                        {"short connect", connect},
                                        {"connect of another major", connect},
                                        {"no cookie", connect},
                                        {"unknown connection", Bytes(40, std::byte{0x40})},
                                        {"stub of a packet", Bytes(6, std::byte{0x40})},
                                        {"wrong key", wrong.connect(cookie)}};
    inputs["short hello"].pop_back();
    inputs["short connect"].pop_back();
    inputs["other magic"][2] ^= std::byte{1};
    inputs["connect of another major"][5] = std::byte{2};
    inputs["no cookie"][24] ^= std::byte{1};
    for (const Case& one : cases) {
        INFO(one.name);
        if (!has_crypto() && one.answered) {
            continue;
        }
        const std::uint64_t before = world.dropped(one.drop);
        world.host.receive(start, peer.address, inputs.at(one.name), out);
        CHECK(world.dropped(one.drop) == before + 1);
        const auto sent = out.take();
        REQUIRE(sent.size() == (one.answered ? 1U : 0U));
        if (one.answered) {
            CHECK(sent[0].bytes.size() == 24);
            const auto refuse = wire::decode_refuse(sent[0].bytes);
            REQUIRE(refuse);
            CHECK(refuse->reason == CloseReason::not_admitted);
        }
    }
    CHECK(fake_match().admissions == 0);
    // What the match says no with is one byte too.
    for (const CloseReason reason : {CloseReason::full, CloseReason::role_refused}) {
        fake_match().refusal = reason;
        TestPeer next = world.peer(static_cast<std::uint16_t>(7000 + static_cast<int>(reason)));
        CHECK_FALSE(next.join(world.host, start));
        CHECK(next.refusal == reason);
    }
}

TEST_CASE("a client of another major version is told ours, which ends it there", "[net][session]") {
    World world;
    wire::Hello hello;
    hello.major = 2;
    hello.minor = 7;
    Bytes bytes;
    wire::encode(hello, bytes);
    CollectingOutbox out;
    world.host.receive(start, loopback(5000), bytes, out);
    REQUIRE(out.sent.size() == 1);
    const auto cookie = wire::decode_cookie(out.sent[0].bytes);
    REQUIRE(cookie);
    CHECK(cookie->major == wire::version_major);
    CHECK(cookie->minor == wire::version_minor);
    CHECK(world.dropped(Drop::version) == 1);
}

TEST_CASE("a first message overheard is worth nothing at another address", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.shake_hands(world.host, start));
    // The thief gets a cookie for the same random, and sends the handshake it overheard with it.
    TestPeer thief = world.peer(6000, 66);
    thief.random = peer.random;
    CollectingOutbox out;
    world.host.receive(start, thief.address, thief.hello(), out);
    const auto cookie = wire::decode_cookie(out.take().at(0).bytes);
    REQUIRE(cookie);
    const auto overheard = wire::decode_connect(peer.connect_bytes);
    REQUIRE(overheard);
    wire::Connect connect = *overheard;
    connect.secret_index = cookie->secret_index;
    connect.tag = cookie->tag;
    Bytes bytes;
    wire::encode(connect, bytes);
    world.host.receive(start, thief.address, bytes, out);
    CHECK(world.dropped(Drop::not_admitted) == 1);
    CHECK(fake_match().admissions == 1);
}
