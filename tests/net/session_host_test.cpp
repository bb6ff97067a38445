// SPDX-License-Identifier: MIT
// The host with a match that only listens: handshakes, data, closes, budgets, silence, settings.
#include "allocation_counter.hpp"
#include "hex.hpp"
#include "session_world.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace twinstep;
using namespace twinstep::net;

namespace {

std::vector<wire::Mode> modes() {
    return has_crypto() ? std::vector{wire::Mode::plain, wire::Mode::room_key}
                        : std::vector{wire::Mode::plain};
}

} // namespace

TEST_CASE("a peer that answers the cookie is let in, and its first packet connects it",
          "[net][session]") {
    for (const wire::Mode mode : modes()) {
        World world(mode);
        TestPeer peer = world.peer(5000);
        peer.request.name = "somebody";
        REQUIRE(peer.shake_hands(world.host, start));
        CHECK(world.host.status().pending == 1);
        CHECK(world.host.status().peers == 0);
        CHECK(fake_match().last_name == "somebody");
        CHECK(fake_match().connected.empty());
        peer.send_to(world.host, start + milliseconds(50), progress_frame());
        CHECK(world.host.status().pending == 0);
        CHECK(world.host.status().peers == 1);
        CHECK(fake_match().connected.size() == 1);
        CHECK(fake_match().frames == 1);
        CHECK(world.host.status().handshakes_accepted == 1);
    }
}

TEST_CASE("a repeated CONNECT gets the same ACCEPT and no second seat", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.shake_hands(world.host, start));
    CollectingOutbox out;
    for (int i = 0; i < 3; ++i) {
        world.host.receive(start + milliseconds(100 * i), peer.address, peer.connect_bytes, out);
    }
    REQUIRE(out.sent.size() == 3);
    for (const auto& sent : out.sent) {
        CHECK(sent.bytes == peer.accept_bytes);
        CHECK(sent.to == peer.address);
    }
    CHECK(fake_match().admissions == 1);
    // Once connected, a late copy means nothing.
    peer.send_to(world.host, start + milliseconds(400), {});
    out.sent.clear();
    world.host.receive(start + milliseconds(500), peer.address, peer.connect_bytes, out);
    CHECK(out.sent.empty());
    CHECK(fake_match().admissions == 1);
}

TEST_CASE("what a match composes is sealed and sent to its peer", "[net][session]") {
    World world;
    TestPeer first = world.peer(5000);
    TestPeer second = world.peer(5001);
    REQUIRE(first.join(world.host, start));
    REQUIRE(second.join(world.host, start));
    fake_match().to_send[0] = {bytes_of("a"), bytes_of("b")};
    fake_match().to_send[1] = {bytes_of("c")};
    // A packet asks for its own sender's answers at once; the others' go out when the match is due.
    first.out.sent.clear();
    first.send_to(world.host, start, progress_frame());
    REQUIRE(first.out.sent.size() == 2);
    CHECK(first.open(first.out.sent[0].bytes) == bytes_of("a"));
    CHECK(first.open(first.out.sent[1].bytes) == bytes_of("b"));
    fake_match().wake = start + milliseconds(10);
    CHECK(world.host.next_wake() == start + milliseconds(10));
    CollectingOutbox out;
    world.host.advance(start + milliseconds(9), out);
    CHECK(out.sent.empty());
    world.host.advance(start + milliseconds(10), out);
    REQUIRE(out.sent.size() == 1);
    CHECK(out.sent[0].to == second.address);
    CHECK(second.open(out.sent[0].bytes) == bytes_of("c"));
    CHECK_FALSE(first.open(out.sent[0].bytes));
    CHECK(fake_match().advances == 1);
}

TEST_CASE("a match that is due after a packet is advanced when the packets of its moment are read",
          "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    fake_match().wake = start; // The last missing input has come.
    peer.send_to(world.host, start, progress_frame());
    CHECK(fake_match().advances == 0);
    CHECK(world.host.next_wake() == start);
    CollectingOutbox out;
    world.host.advance(start, out);
    CHECK(fake_match().advances == 1);
    CHECK(world.host.next_wake() > start);
}

TEST_CASE("pings are answered by the host and never reach the match", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Bytes pings;
    wire::encode_stamp(wire::FrameType::ping, 77, pings);
    wire::encode_stamp(wire::FrameType::ping, 78, pings);
    wire::encode_stamp(wire::FrameType::pong, 1, pings);
    Bytes pong;
    wire::encode_stamp(wire::FrameType::pong, 78, pong);

    // The answer waits for a packet that goes out anyway, and stands in front of what is in it.
    peer.out.sent.clear();
    peer.send_to(world.host, start, pings);
    CHECK(peer.out.sent.empty());
    fake_match().to_send[0] = {bytes_of("a"), bytes_of("b")};
    peer.send_to(world.host, start + milliseconds(10), {});
    REQUIRE(peer.out.sent.size() == 2);
    Bytes expected = pong;
    expected.push_back(std::byte{'a'});
    CHECK(peer.open(peer.out.sent[0].bytes) == expected);
    CHECK(peer.open(peer.out.sent[1].bytes) == bytes_of("b"));

    // Where there is none, or no room in it, it goes alone.
    peer.out.sent.clear();
    peer.send_to(world.host, start + milliseconds(100), pings);
    const Bytes full(wire::plaintext_bytes_max - 5);
    fake_match().to_send[0] = {full};
    peer.send_to(world.host, start + milliseconds(149), {});
    REQUIRE(peer.out.sent.size() == 1);
    CHECK(peer.open(peer.out.sent[0].bytes) == full);
    peer.send_to(world.host, start + milliseconds(150), {});
    REQUIRE(peer.out.sent.size() == 2);
    CHECK(peer.open(peer.out.sent[1].bytes) == pong);
    CHECK(fake_match().frames == 0);
}

TEST_CASE("a peer is told what it lost in packets that go anyway, and nothing on a good path",
          "[net][session][redundancy]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Micros now = start;
    const auto talk = [&](int packets) {
        std::vector<std::uint8_t> told;
        for (int i = 0; i < packets; ++i) {
            now = now + milliseconds(10);
            fake_match().to_send[0] = {bytes_of("a")};
            peer.out.sent.clear();
            peer.send_to(world.host, now, progress_frame());
            REQUIRE(peer.out.sent.size() == 1);
            const auto plain = peer.open(peer.out.sent[0].bytes);
            REQUIRE(plain);
            REQUIRE(plain->back() == std::byte{'a'});
            if (plain->size() > 1) {
                const auto frame = first_frame(*plain);
                REQUIRE(frame);
                REQUIRE(frame->type == wire::FrameType::loss);
                told.push_back(*wire::decode_loss(frame->body));
            }
        }
        return told;
    };
    CHECK(talk(300).empty());
    static_cast<void>(peer.seal({}));
    static_cast<void>(peer.seal({}));
    // Four times a second, until it is out of the window.
    const std::vector<std::uint8_t> told = talk(300);
    REQUIRE(told.size() >= 5);
    CHECK(told.size() <= 7);
    CHECK(std::count(told.begin(), told.end(), 2) >= 5);
    CHECK(talk(100).empty());
    // A packet without room for it goes as it is.
    static_cast<void>(peer.seal({}));
    talk(20);
    fake_match().to_send[0] = {Bytes(wire::plaintext_bytes_max)};
    peer.out.sent.clear();
    peer.send_to(world.host, now + seconds(1), progress_frame());
    REQUIRE(peer.out.sent.size() == 1);
    CHECK(peer.open(peer.out.sent[0].bytes) == Bytes(wire::plaintext_bytes_max));
}

TEST_CASE("a path challenge is answered at once", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Bytes plain;
    wire::encode_path(wire::FrameType::path_challenge, 0xABCD, plain);
    peer.out.sent.clear();
    peer.send_to(world.host, start, plain);
    REQUIRE(peer.out.sent.size() == 1);
    Bytes expected;
    wire::encode_path(wire::FrameType::path_response, 0xABCD, expected);
    CHECK(peer.open(peer.out.sent[0].bytes) == expected);
}

TEST_CASE("a peer that says goodbye is gone at once", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    Bytes plain;
    wire::encode_close(CloseReason::leaving, "bye", plain);
    peer.out.sent.clear();
    for (int i = 0; i < 5; ++i) {
        peer.send_to(world.host, start + milliseconds(100 * i), plain);
    }
    CHECK(peer.out.sent.empty());
    CHECK(world.host.status().peers == 0);
    REQUIRE(fake_match().disconnected.size() == 1);
    CHECK(fake_match().disconnected[0].reason == CloseReason::leaving);
    CHECK(world.dropped(Drop::unknown_connection) == 4);
    // Its timers are nobody's; its place is used again, once.
    CountingOutbox out;
    world.host.advance(start + seconds(20), out);
    CHECK(fake_match().disconnected.size() == 1);
    TestPeer next = world.peer(5001);
    TestPeer another = world.peer(5002);
    REQUIRE(next.join(world.host, start + seconds(21)));
    REQUIRE(another.join(world.host, start + seconds(21)));
    CHECK(world.host.status().peers == 2);
    next.send_to(world.host, start + seconds(21), progress_frame());
    another.send_to(world.host, start + seconds(21), progress_frame());
    CHECK(fake_match().frames == 2);
}

TEST_CASE("whom a match wants closed is told five times in half a second", "[net][session]") {
    World world;
    TestPeer peer = world.peer(5000);
    REQUIRE(peer.join(world.host, start));
    fake_match().to_close.push_back({0, CloseReason::diverged, "tick 9, section \"world\""});
    fake_match().wake = start;
    CollectingOutbox out;
    std::vector<Micros> times;
    for (Micros now = start; now < start + seconds(4); now = now + milliseconds(10)) {
        world.host.advance(now, out);
        while (times.size() < out.sent.size()) {
            times.push_back(now - start);
        }
    }
    REQUIRE(out.sent.size() == 5);
    CHECK(times.front() == milliseconds(0));
    CHECK(times.back() <= milliseconds(500));
    const std::optional<Bytes> plain = peer.open(out.sent[4].bytes);
    REQUIRE(plain);
    const auto close = wire::decode_close(first_frame(*plain)->body);
    REQUIRE(close);
    CHECK(close->first == CloseReason::diverged);
    CHECK(close->second == "tick 9, section \"world\"");
    CHECK(world.host.status().peers == 0);
    CHECK(fake_match().disconnected.size() == 1);
    CHECK(world.host.next_wake() == never);
}

TEST_CASE("bytes that mean nothing inside a packet end the connection with a reason",
          "[net][session]") {
    struct Case {
        Bytes plain;
        Result<void> of_match;
        CloseReason reason;
    };

    const std::vector<Case> cases{
        {bytes_of("\x3F\x01x"), {}, CloseReason::protocol_error}, // unknown, must be understood
        {bytes_of("\x03\x7F"), {}, CloseReason::protocol_error},  // longer than the packet
        {bytes_of("\x03\x01x"), {}, CloseReason::protocol_error}, // a stamp of one byte
        {progress_frame(), fail(Error(NetErrc::malformed)), CloseReason::protocol_error},
        {progress_frame(), fail(Error(NetErrc::limit_exceeded)), CloseReason::flooding},
        {progress_frame(),
         fail(Error(NetErrc::different_simulation, "input.schema", "1 and 2")),
         CloseReason::different_simulation},
    };
    for (const Case& one : cases) {
        World world;
        TestPeer peer = world.peer(5000);
        REQUIRE(peer.join(world.host, start));
        fake_match().receive_result = one.of_match;
        peer.out.sent.clear();
        peer.send_to(world.host, start, one.plain);
        REQUIRE(peer.out.sent.size() == 1);
        const std::optional<Bytes> plain = peer.open(peer.out.sent[0].bytes);
        REQUIRE(plain);
        const auto close = wire::decode_close(first_frame(*plain)->body);
        REQUIRE(close);
        CHECK(close->first == one.reason);
        CHECK(!close->second.empty());
        CHECK(world.dropped(Drop::frame) == 1);
        CHECK(fake_match().disconnected.size() == 1);
    }
}

TEST_CASE("silence ends a connection, later while it loads", "[net][session]") {
    for (const bool loading : {false, true}) {
        World world;
        TestPeer peer = world.peer(5000);
        REQUIRE(peer.join(world.host, start));
        fake_match().loading = loading;
        peer.send_to(world.host, start + seconds(5), {});
        CollectingOutbox out;
        const Micros limit = start + seconds(5) + (loading ? seconds(60) : seconds(10));
        std::uint64_t wakes = 0;
        for (Micros wake = world.host.next_wake(); wake < limit; wake = world.host.next_wake()) {
            world.host.advance(wake, out);
            REQUIRE(++wakes < 20);
        }
        CHECK(out.sent.empty());
        CHECK(world.host.status().peers == 1);
        world.host.advance(limit, out);
        CHECK(out.sent.size() == 1);
        CHECK(world.host.status().peers == 0);
        REQUIRE(fake_match().disconnected.size() == 1);
        CHECK(fake_match().disconnected[0].reason == CloseReason::timed_out);
    }
}

TEST_CASE("connection ids are random and unique", "[net][session][random]") {
    TWINSTEP_SHOW_SEED();
    HostSettings settings;
    settings.pending_max = 1000;
    settings.pending_prefix_max = 1000;
    settings.handshakes_per_s = 10'000;
    settings.unknown_per_s = 100'000;
    settings.unknown_burst = 100'000;
    World world(wire::Mode::plain, settings);
    fake_match().seats_max = 1000;
    std::set<std::uint16_t> ids;
    std::uint64_t neighbours = 0;
    std::uint16_t last = 0;
    for (std::uint16_t i = 0; i < 1000; ++i) {
        TestPeer peer = world.peer(static_cast<std::uint16_t>(1000 + i));
        REQUIRE(peer.join(world.host, start));
        ids.insert(peer.connection_id);
        neighbours += peer.connection_id - last < 16 && peer.connection_id > last ? 1U : 0U;
        last = peer.connection_id;
    }
    CHECK(ids.size() == 1000);
    CHECK(neighbours < 10);
}

TEST_CASE("shutting down tells every peer", "[net][session]") {
    World world;
    std::vector<TestPeer> peers;
    for (std::uint16_t i = 0; i < 4; ++i) {
        peers.push_back(world.peer(static_cast<std::uint16_t>(5000 + i)));
        REQUIRE(peers.back().join(world.host, start));
    }
    CollectingOutbox out;
    world.host.shut_down(start, out);
    CHECK(out.sent.size() == 4);
    CHECK(world.host.status().peers == 0);
    CHECK(fake_match().disconnected.size() == 4);
    for (int i = 1; i < 10; ++i) {
        world.host.advance(start + milliseconds(100 * i), out);
    }
    CHECK(out.sent.size() == 20);
    world.host.close_match(1);
    CHECK(world.host.find_match(1) == nullptr);
    TestPeer late = world.peer(6000);
    CHECK_FALSE(late.join(world.host, start + seconds(1)));
    CHECK(late.refusal == CloseReason::draining);
}

TEST_CASE("a draining host lets nobody new in and tickets back in", "[net][session]") {
    World world;
    world.host.drain();
    TestPeer newcomer = world.peer(5000);
    CHECK_FALSE(newcomer.join(world.host, start));
    CHECK(newcomer.refusal == CloseReason::draining);
    TestPeer returning = world.peer(5001);
    returning.request.has_ticket = true;
    returning.request.ticket.fill(std::byte{4});
    CHECK(returning.join(world.host, start));
    CHECK(fake_match().last_admission.has_ticket);
    CHECK(fake_match().last_admission.ticket == returning.request.ticket);
}

TEST_CASE("a setting that cannot work is named with its range", "[net][session]") {
    MatchEvents events; // Nobody listens.
    TestEntropy entropy;
    const auto field_of = [&](const HostSettings& settings) {
        const Result<Host> made = Host::create(settings, events, entropy);
        REQUIRE(!made);
        CHECK(made.error().code == NetErrc::bad_setting);
        CHECK(made.error().detail.find(" is not in ") != std::string::npos);
        return made.error().field;
    };
    HostSettings settings;
    settings.mode = wire::Mode::plain;
    CHECK(Host::create(settings, events, entropy));
    settings.peers_max = 65'001;
    CHECK(field_of(settings) == "peers_max");
    settings.peers_max = 0;
    CHECK(field_of(settings) == "peers_max");
    settings = {};
    settings.mode = wire::Mode::plain;
    settings.silence_live = seconds(-1);
    CHECK(field_of(settings) == "silence_live");
    settings.silence_live = seconds(1);
    settings.bytes_per_s = 0;
    CHECK(field_of(settings) == "bytes_per_s");
    if (!has_crypto()) {
        CHECK(code_of(Host::create(HostSettings{}, events, entropy)) == NetErrc::not_built);
    }
}

TEST_CASE("a match id is taken once", "[net][session]") {
    World world;
    CHECK(code_of(world.host.open_match(MatchSettings{})) == NetErrc::bad_setting);
    MatchSettings settings;
    settings.id = 0;
    CHECK(code_of(world.host.open_match(settings)) == NetErrc::bad_setting);
    settings.id = 2;
    CHECK(world.host.open_match(settings));
    CHECK(world.host.find_match(2) != nullptr);
    world.host.close_match(2);
    CHECK(world.host.find_match(2) == nullptr);
}

TEST_CASE("a peer gets the match it names, or the first that takes it", "[net][session]") {
    World world;
    for (const MatchId id : {MatchId{7}, MatchId{9}}) {
        MatchSettings settings;
        settings.id = id;
        REQUIRE(world.host.open_match(settings));
    }
    TestPeer named = world.peer(5000);
    named.request.match_id = 9;
    CHECK(named.join(world.host, start));
    CHECK(fake_match(9).connected.size() == 1);
    TestPeer any = world.peer(5001);
    fake_match(1).refusal = CloseReason::full;
    CHECK(any.join(world.host, start));
    CHECK(fake_match(7).connected.size() == 1);
    TestPeer lost = world.peer(5002);
    lost.request.match_id = 12;
    CHECK_FALSE(lost.join(world.host, start));
    CHECK(lost.refusal == CloseReason::no_such_match);
}

TEST_CASE("packets allocate nothing in the steady state", "[net][session]") {
    for (const wire::Mode mode : modes()) {
        World world(mode);
        std::vector<TestPeer> peers;
        for (std::uint16_t i = 0; i < 8; ++i) {
            peers.push_back(world.peer(static_cast<std::uint16_t>(5000 + i)));
            REQUIRE(peers.back().join(world.host, start));
        }
        // Sealed beforehand: what the clients allocate is not the host's.
        constexpr int ticks = 300;
        std::vector<std::vector<Bytes>> packets(peers.size());
        Bytes plain = progress_frame();
        wire::encode_stamp(wire::FrameType::ping, 5, plain);
        for (std::size_t p = 0; p < peers.size(); ++p) {
            for (int tick = 0; tick < ticks; ++tick) {
                packets[p].push_back(peers[p].seal(plain));
            }
        }
        for (auto& [peer, queue] : fake_match().to_send) {
            queue.clear();
        }
        CountingOutbox out;
        const AllocationCounter counter;
        for (int tick = 0; tick < ticks; ++tick) {
            const Micros now = start + milliseconds(16 * tick);
            for (std::size_t p = 0; p < peers.size(); ++p) {
                world.host.receive(
                    now, peers[p].address, packets[p][static_cast<std::size_t>(tick)], out);
                world.host.receive(now, peers[p].address, packets[p][0], out); // a replay
            }
            world.host.advance(now, out);
        }
        CHECK(counter.count() == 0);
        CHECK(out.datagrams >= 8 * ticks / 5);
        CHECK(out.datagrams <= 8 * ticks);
        CHECK(fake_match().frames == 8 * ticks);
    }
}

TEST_CASE("coming and going for an hour costs no memory", "[net][session]") {
    World world;
    std::size_t memory = 0;
    CountingOutbox out;
    for (int i = 0; i < 2000; ++i) {
        const Micros now = start + milliseconds(1800 * i);
        world.host.advance(now, out);
        TestPeer peer = world.peer(static_cast<std::uint16_t>(1000 + i));
        REQUIRE(peer.join(world.host, now));
        if (i % 2 == 0) {
            Bytes plain;
            wire::encode_close(CloseReason::leaving, {}, plain);
            peer.send_to(world.host, now, plain);
        }
        if (i == 500) {
            memory = world.host.memory_bytes();
        }
    }
    CHECK(world.host.memory_bytes() == memory);
    CHECK(world.host.status().peers < 10);
}

TEST_CASE("the host's own memory is at most 4 KiB a peer", "[net][session]") {
    HostSettings settings;
    settings.pending_max = 1000;
    settings.pending_prefix_max = 1000;
    settings.unknown_burst = 10'000;
    World world(wire::Mode::plain, settings);
    fake_match().seats_max = 1000;
    const std::size_t empty = world.host.memory_bytes();
    for (std::uint16_t i = 0; i < 1000; ++i) {
        TestPeer peer = world.peer(static_cast<std::uint16_t>(1000 + i));
        REQUIRE(peer.join(world.host, start));
    }
    const std::size_t each = (world.host.memory_bytes() - empty) / 1000;
    INFO("bytes for a peer: " << each);
    CHECK(each <= 4096);
    CHECK(empty < 512 * 1024);
}
