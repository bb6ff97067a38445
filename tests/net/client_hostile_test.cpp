// SPDX-License-Identifier: MIT
// What a hostile or broken server can do to a client: end the connection, never the process; and
// what a healthy one costs: no allocation.
#include "allocation_counter.hpp"
#include "client_support.hpp"
#include "test_random.hpp"

using namespace client_test;

namespace {

/// A client that plays, with `ticks` closed ticks behind it.
void play(Pair& pair, std::uint64_t ticks) {
    pair.connect_and_load();
    pair.client.ready(pair.now);
    pair.server.send_ticks(0, {}, 0, 30, pair.down);
    pair.deliver_down();
    TickFrame frame;
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        pair.now = pair.now + milliseconds(20);
        pair.server.send_ticks(
            tick, {closed_frame(tick, 2, toy_neutral())}, tick + 1, 30, pair.down);
        pair.deliver_down();
        while (pair.client.inputs_wanted(pair.now) > 0) {
            pair.client.give_input(toy_input(1));
        }
        REQUIRE(*pair.client.next(Tick{tick}, frame) == Supply::ready);
        pair.exchange();
    }
    REQUIRE(pair.client.state() == ClientState::playing);
}

/// A frame of any type that goes down, sensible or not.
void random_frame(TestRandom& random, Bytes& target) {
    const auto number = [&random] {
        return random.below(3) == 0 ? random.bits() >> 1U : random.below(300);
    };
    switch (random.below(13)) {
    case 0:
        wire::encode_stamp(wire::FrameType::ping, static_cast<std::uint32_t>(number()), target);
        break;
    case 1:
        wire::encode_stamp(wire::FrameType::pong, static_cast<std::uint32_t>(number()), target);
        break;
    case 2:
        wire::encode_path(wire::FrameType::path_challenge, number(), target);
        break;
    case 3: {
        const std::uint64_t first = number() / 2;
        wire::encode(wire::HashQuery{first, first + random.below(64)}, target);
        break;
    }
    case 4:
        wire::encode_tick_query(wire::FrameType::section_query, number(), target);
        break;
    case 5:
        wire::encode_tick_query(wire::FrameType::snapshot_query, number(), target);
        break;
    case 6: {
        wire::Verdict verdict;
        verdict.blame = random.below(2) == 0 ? wire::Blame::peer : wire::Blame::disputed;
        verdict.tick = number();
        verdict.has_slot = random.below(2) == 0;
        verdict.slot = Slot{static_cast<std::uint16_t>(random.below(64))};
        verdict.section = "bod\x1b[31mies";
        wire::encode(verdict, target);
        break;
    }
    case 7: {
        wire::Stall stall;
        stall.tick = number();
        stall.slots = random.bits();
        stall.paused = random.below(2) == 0;
        wire::encode(stall, target);
        break;
    }
    case 8: {
        wire::BlobOffer offer;
        offer.id = static_cast<std::uint32_t>(random.below(50));
        offer.kind = random.below(2) == 0 ? wire::BlobKind::manifest : wire::BlobKind::snapshot;
        offer.tick = number();
        offer.size = static_cast<std::uint32_t>(1 + random.below(100'000));
        offer.chain = number();
        wire::encode(offer, target);
        break;
    }
    case 9: {
        Bytes bytes(1 + random.below(300));
        wire::BlobChunk chunk;
        chunk.id = static_cast<std::uint32_t>(random.below(50));
        chunk.index = static_cast<std::uint32_t>(random.below(50));
        chunk.bytes = bytes;
        wire::encode(chunk, target);
        break;
    }
    case 10: {
        wire::BlobAck ack;
        ack.id = static_cast<std::uint32_t>(random.below(50));
        ack.next = static_cast<std::uint32_t>(random.below(50));
        wire::encode(ack, target);
        break;
    }
    case 11:
        wire::encode_loss(static_cast<std::uint8_t>(1 + random.below(wire::loss_window)), target);
        break;
    default: {
        wire::Ticks ticks;
        ticks.first_tick = number();
        ticks.input_ack = number();
        ticks.margin_ms = static_cast<std::int32_t>(random.bits());
        wire::encode_ticks(ticks, true, target);
        break;
    }
    }
}

} // namespace

TEST_CASE("a server that sends any frames at any time ends the connection at worst",
          "[net][client][hostile]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t ended = 0;
    for (int run = 0; run < 300; ++run) {
        Pair pair;
        if (random.below(2) == 0) {
            play(pair, 5);
        } else {
            pair.exchange();
        }
        for (int i = 0; i < 60 && pair.client.state() != ClientState::closed; ++i) {
            Bytes frames;
            random_frame(random, frames);
            if (random.below(4) == 0) {
                frames[random.below(frames.size())] = static_cast<std::byte>(random.below(256));
            }
            Bytes packet;
            REQUIRE(pair.server.sealer.seal(frames, packet));
            pair.client.receive(pair.now, server_address, packet, pair.up);
            pair.now = pair.now + milliseconds(static_cast<std::int64_t>(random.below(30)));
            pair.client.advance(pair.now, pair.up);
            while (pair.client.inputs_wanted(pair.now) > 0) {
                pair.client.give_input(toy_input(1));
            }
            static_cast<void>(pair.client.waiting_for());
            static_cast<void>(pair.client.next_wake());
            if (pair.client.state() == ClientState::preparing) {
                pair.client.ready(pair.now);
            }
            pair.up.take();
        }
        ended += pair.client.state() == ClientState::closed ? 1U : 0U;
    }
    CHECK(ended > 100);
}

TEST_CASE("handshake packets of strangers change nothing", "[net][client][hostile]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Pair pair;
    pair.client.advance(pair.now, pair.up);
    const Bytes hello = pair.up.take().at(0);
    for (int i = 0; i < 5000; ++i) {
        // Anything, or a good cookie with one byte changed.
        Bytes packet;
        wire::Cookie cookie;
        cookie.client_random = wire::decode_hello(hello)->client_random;
        wire::encode(cookie, packet);
        if (random.below(2) == 0) {
            packet.resize(1 + random.below(1300));
            for (std::byte& byte : packet) {
                byte = static_cast<std::byte>(random.below(256));
            }
            packet.front() = static_cast<std::byte>(0x81 + random.below(5));
        } else {
            packet[7 + random.below(16)] ^= std::byte{1};
        }
        pair.client.receive(pair.now, server_address, packet, pair.up);
    }
    CHECK(pair.client.state() == ClientState::connecting);
    CHECK(pair.up.sent.empty());
}

TEST_CASE("a server with two stories about one tick is a protocol error", "[net][client]") {
    Pair pair;
    play(pair, 10);
    pair.server.send_ticks(4, {closed_frame(4, 2, toy_input(9))}, 11, 30, pair.down);
    pair.deliver_down();
    CHECK(pair.client.state() == ClientState::closed);
    CHECK(pair.client.close_reason() == CloseReason::protocol_error);
    CHECK(to_string(pair.client.close_error()).find("two stories about tick 4") !=
          std::string::npos);
}

TEST_CASE("in the steady state a client allocates nothing for a tick or a datagram",
          "[net][client][allocation]") {
    const bool twice = GENERATE(false, true);
    Pair pair;
    play(pair, 300);
    // The server's packets are made beforehand; only the client's work is counted.
    constexpr std::uint64_t ticks = 500;
    std::vector<Bytes> packets;
    for (std::uint64_t tick = 300; tick < 300 + ticks; ++tick) {
        std::vector<Bytes> closed;
        for (std::uint64_t back = std::min<std::uint64_t>(tick, 5); back > 0; --back) {
            closed.push_back(closed_frame(tick - back + 1, 2, toy_neutral()));
        }
        pair.server.send_ticks(tick - closed.size() + 1, closed, tick + 1, 30, pair.down);
        packets.push_back(pair.down.take().at(0));
    }
    Bytes loss;
    wire::encode_loss(wire::loss_window, loss);
    pair.server.send(loss, pair.down);
    const Bytes loss_report = pair.down.take().at(0);

    class Nowhere final : public Outbox {
    public:
        void send(const Address&, ByteView datagram) override {
            ++datagrams;
            bytes += datagram.size();
        }

        std::uint64_t datagrams = 0;
        std::uint64_t bytes = 0;
    } nowhere;

    const Bytes input = toy_input(1);
    StateHashes hashes{Tick{0}, {1, 2}, {{"bodies", {1, 1}}, {"world", {2, 2}}}};
    for (std::uint64_t tick = 1; tick <= 300; ++tick) {
        hashes.tick = Tick{tick};
        pair.client.report(hashes);
    }
    TickFrame frame;
    std::uint64_t tick = 300;
    const auto turn = [&](const Bytes& packet) {
        pair.now = pair.now + milliseconds(20);
        pair.client.receive(pair.now, server_address, packet, nowhere);
        while (pair.client.inputs_wanted(pair.now) > 0) {
            pair.client.give_input(input);
        }
        static_cast<void>(pair.client.next(Tick{tick}, frame));
        hashes.tick = Tick{tick + 1};
        pair.client.report(hashes);
        pair.client.advance(pair.now, nowhere);
        ++tick;
    };
    for (std::size_t i = 0; i < 50; ++i) {
        turn(packets[i]);
    }
    if (twice) {
        pair.client.receive(pair.now, server_address, loss_report, nowhere);
    }
    const std::uint64_t sent = nowhere.datagrams;
    const std::uint64_t bytes = nowhere.bytes;
    const AllocationCounter counter;
    for (std::size_t i = 50; i < packets.size(); ++i) {
        turn(packets[i]);
    }
    CHECK(counter.count() == 0);
    CHECK(pair.client.state() == ClientState::playing);
    CHECK(pair.client.backlog() == 0);
    // One datagram a tick, or two; with a hash in each, an input and a ping a second.
    const std::uint64_t first = packets.size() - 50;
    CHECK(nowhere.datagrams - sent == (twice ? 2 * first - 1 : first));
    CHECK((nowhere.bytes - bytes) / (nowhere.datagrams - sent) <= 40);
}
