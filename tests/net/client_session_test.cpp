// SPDX-License-Identifier: MIT
// The client's handshake, loading, timers and goodbyes against a scripted server.
#include "client_support.hpp"

#include <string>

using namespace client_test;

namespace {

std::vector<Bytes> values_of(const wire::Inputs& inputs) {
    std::vector<Bytes> values;
    wire::RunReader reader(inputs.runs, toy_neutral(), 64);
    while (!reader.at_end()) {
        const auto value = reader.next();
        REQUIRE(value);
        values.emplace_back(value->begin(), value->end());
    }
    return values;
}

} // namespace

TEST_CASE("client connects, loads the manifest, and plays when the first tick is closed",
          "[net][client]") {
    Pair pair;
    pair.connect_and_load();
    REQUIRE(pair.client.state() == ClientState::preparing);
    CHECK(pair.client.snapshot() == nullptr);
    CHECK(setup_of(pair.client.manifest())->config.at("map") == "one");
    CHECK(pair.client.has_slot());
    CHECK(pair.client.slots() == 2);
    pair.client.ready(pair.now);
    CHECK(pair.client.state() == ClientState::waiting);
    CHECK(pair.client.inputs_wanted(pair.now) == 0);

    // Inputs for the first ticks go out at once, with the word that it is ready.
    pair.frames.clear();
    pair.exchange();
    CHECK(pair.count(wire::FrameType::progress) == 1);
    auto inputs = pair.last_inputs();
    REQUIRE(inputs);
    CHECK(inputs->ack == 0);
    CHECK(inputs->first_tick == 0);
    CHECK(values_of(*inputs).size() == pair.client.status().delay_ticks);
    CHECK(pair.client.inputs_wanted(pair.now) == 0);
    pair.server.send_ticks(0, {}, 0, 30, pair.down);
    pair.deliver_down();
    CHECK(pair.client.state() == ClientState::waiting);

    const Bytes closed = closed_frame(0, 2, toy_neutral());
    pair.server.send_ticks(0, {closed}, 1, 30, pair.down);
    pair.deliver_down();
    CHECK(pair.client.state() == ClientState::playing);
    REQUIRE(pair.client.inputs_wanted(pair.now) == 1);
    CHECK(pair.client.input_tick().value == pair.client.status().delay_ticks);
    pair.client.give_input(toy_input(3, true));
    CHECK(pair.client.inputs_wanted(pair.now) == 0);
    pair.exchange();
    inputs = pair.last_inputs();
    REQUIRE(inputs);
    CHECK(inputs->ack == 1);
    CHECK(inputs->first_tick == 1);
    CHECK(values_of(*inputs).back() == toy_input(3, true));

    TickFrame frame;
    CHECK(pair.client.backlog() == 1);
    CHECK(*pair.client.next(Tick{0}, frame) == Supply::ready);
    CHECK(frame.input(Slot{1}).size() == toy_neutral().size());
    CHECK(*pair.client.next(Tick{1}, frame) == Supply::not_yet);
}

TEST_CASE("hello is sent at 0, 250, 500, 1000 and 2000 ms, and a dead path is explained",
          "[net][client]") {
    Pair pair;
    std::vector<std::int64_t> sent_ms;
    const Micros start = pair.now;
    while (pair.client.state() == ClientState::connecting) {
        pair.client.advance(pair.now, pair.up);
        for (const Bytes& datagram : pair.up.take()) {
            CHECK(datagram.size() == 1200);
            sent_ms.push_back((pair.now - start).value / 1000);
        }
        pair.now = pair.now + milliseconds(10);
    }
    REQUIRE(sent_ms.size() >= 5);
    CHECK(std::vector<std::int64_t>(sent_ms.begin(), sent_ms.begin() + 5) ==
          std::vector<std::int64_t>{0, 250, 500, 1000, 2000});
    CHECK((pair.now - start).value / 1'000'000 == 10);
    CHECK(pair.client.close_reason() == CloseReason::timed_out);
    CHECK(to_string(pair.client.close_error()) ==
          "nothing was heard for too long: no answer from 127.0.0.1:7777: nothing listens there, "
          "it speaks another protocol, or the path does not carry datagrams of 1200 bytes");
    CHECK(pair.client.next_wake() == never);
}

TEST_CASE("connect is sent again until accept comes, and a refusal is explained", "[net][client]") {
    Pair pair;
    pair.client.advance(pair.now, pair.up);
    pair.server.take(pair.up.take().at(0), pair.down);
    pair.client.receive(pair.now, server_address, pair.down.take().at(0), pair.up);
    for (const std::int64_t after_ms : {250, 500, 1000}) {
        CHECK(pair.up.take().size() == 1);
        pair.now = seconds(100) + milliseconds(after_ms - 1);
        pair.client.advance(pair.now, pair.up);
        CHECK(pair.up.sent.empty());
        pair.now = pair.now + milliseconds(1);
        pair.client.advance(pair.now, pair.up);
    }
    SECTION("accept") {
        pair.deliver();
        CHECK(pair.client.state() == ClientState::loading);
    }
    SECTION("refuse") {
        pair.server.refuse = CloseReason::full;
        pair.deliver();
        CHECK(pair.client.state() == ClientState::closed);
        CHECK(pair.client.close_reason() == CloseReason::full);
        CHECK(to_string(pair.client.close_error()) == "refused: the match or the server is full");
    }
}

TEST_CASE("a server of another major version is named with both versions", "[net][client]") {
    Pair pair;
    pair.server.major = 2;
    pair.exchange();
    CHECK(pair.client.close_reason() == CloseReason::unsupported_version);
    CHECK(pair.client.close_error().detail ==
          "the server speaks version 2 of the protocol, this build version 1");
}

TEST_CASE("another simulation is refused with the key and both values", "[net][client]") {
    Pair pair;
    pair.server.manifest["sim.version"] = "9";
    pair.connect_and_load();
    CHECK(pair.client.state() == ClientState::closed);
    CHECK(pair.client.close_reason() == CloseReason::different_simulation);
    CHECK(to_string(pair.client.close_error()) ==
          "sim.version: another simulation: the match has '9', this build '1'");
    // The server is told as well.
    CHECK(pair.count(wire::FrameType::close) == 1);
}

TEST_CASE("seed and config of the session are taken from the match", "[net][client]") {
    Pair pair;
    pair.server.manifest = make_manifest(toy_info(), Setup{99, 2, {{"map", "other"}}});
    pair.connect_and_load();
    REQUIRE(pair.client.state() == ClientState::preparing);
    CHECK(setup_of(pair.client.manifest())->seed == 99);
}

TEST_CASE("a relay without a session gets the client's proposal", "[net][client]") {
    Pair pair;
    pair.server.accept.manifest_wanted = true;
    pair.server.accept.slots = 4; // A placeholder: the manifest says 2.
    pair.exchange();
    pair.now = pair.now + milliseconds(100);
    pair.exchange();
    BlobReceiver receiver;
    receiver.expect(wire::BlobKind::manifest, 1U << 20U, 1024);
    bool whole = false;
    for (int i = 0; i < 20 && !whole; ++i) {
        for (const auto& [type, body] : std::exchange(pair.frames, {})) {
            if (type == wire::FrameType::blob_offer) {
                REQUIRE(receiver.on_offer(pair.now, *wire::decode_blob_offer(body)));
                Bytes ack;
                receiver.compose_ack(pair.now, ack);
                pair.server.send(ack, pair.down);
            } else if (type == wire::FrameType::blob_chunk) {
                whole = *receiver.on_chunk(pair.now, *wire::decode_blob_chunk(body));
            }
        }
        pair.deliver_down();
        pair.now = pair.now + milliseconds(50);
        pair.exchange();
    }
    REQUIRE(whole);
    CHECK(Bytes(receiver.bytes().begin(), receiver.bytes().end()) == pair.server.manifest_blob());
    pair.server.send_blob(
        wire::BlobKind::manifest, Tick{0}, pair.server.manifest_blob(), 0, pair.down);
    pair.deliver_down();
    CHECK(pair.client.state() == ClientState::preparing);
    CHECK(pair.client.slots() == 2);
}

TEST_CASE("a joiner waits for the snapshot and begins there with its chain", "[net][client]") {
    Pair pair;
    pair.server.accept.next_tick = 500;
    pair.connect_and_load();
    CHECK(pair.client.state() == ClientState::loading);
    const Bytes snapshot(3000, std::byte{7});
    pair.server.send_blob(wire::BlobKind::snapshot, Tick{490}, snapshot, 77, pair.down);
    pair.deliver_down();
    REQUIRE(pair.client.state() == ClientState::preparing);
    REQUIRE(pair.client.snapshot() != nullptr);
    CHECK(pair.client.snapshot()->tick.value == 490);
    CHECK(pair.client.snapshot()->bytes == snapshot);
    CHECK(pair.client.first_tick().value == 490);
    CHECK(pair.client.chain() == 77);
    pair.client.ready(pair.now);
    pair.server.send_ticks(490, {closed_frame(490, 2, toy_neutral())}, 600, 30, pair.down);
    pair.deliver_down();
    // Its inputs count from tick 600 on: nothing is sampled before.
    CHECK(pair.client.state() == ClientState::waiting);
    CHECK(pair.client.inputs_wanted(pair.now) == 0);
    TickFrame frame;
    CHECK(*pair.client.next(Tick{490}, frame) == Supply::ready);

    SECTION("a snapshot that comes later sends it back to preparing") {
        pair.server.send_blob(wire::BlobKind::snapshot, Tick{550}, snapshot, 78, pair.down);
        pair.deliver_down();
        CHECK(pair.client.state() == ClientState::preparing);
        CHECK(pair.client.first_tick().value == 550);
        CHECK(*pair.client.next(Tick{491}, frame) == Supply::not_yet);
        pair.client.ready(pair.now);
        pair.server.send_ticks(550, {closed_frame(550, 2, toy_neutral())}, 600, 30, pair.down);
        pair.deliver_down();
        CHECK(*pair.client.next(Tick{550}, frame) == Supply::ready);
    }
    SECTION("all chunks were acknowledged, and again when the acknowledgement was lost") {
        pair.now = pair.now + milliseconds(100);
        pair.exchange();
        pair.frames.clear();
        pair.server.send(pair.server.last_offer, pair.down);
        pair.deliver_down();
        pair.now = pair.now + milliseconds(100);
        pair.exchange();
        CHECK(pair.client.state() == ClientState::waiting);
        bool done = false;
        for (const auto& [type, body] : pair.frames) {
            if (type == wire::FrameType::blob_ack) {
                const auto ack = wire::decode_blob_ack(body);
                done = done || (ack->id == 2 && ack->next == 3);
            }
        }
        CHECK(done);
    }
}

TEST_CASE("a client that comes back with its state needs no snapshot", "[net][client]") {
    ClientSettings settings = toy_client();
    settings.resume_from = Tick{480};
    settings.resume_chain = 55;
    settings.ticket = wire::Random16{};
    Pair pair(std::move(settings));
    pair.server.accept.next_tick = 500;
    pair.connect_and_load();
    REQUIRE(pair.client.state() == ClientState::preparing);
    CHECK(pair.client.snapshot() == nullptr);
    CHECK(pair.client.first_tick().value == 480);
    CHECK(pair.client.chain() == 55);
    const auto progress = std::find_if(pair.frames.begin(), pair.frames.end(), [](const auto& f) {
        return f.first == wire::FrameType::progress;
    });
    REQUIRE(progress != pair.frames.end());
    CHECK(wire::decode_progress(progress->second)->tick == 480);
    CHECK(wire::decode_progress(progress->second)->loading);
}

TEST_CASE("a relay that plays from its recording lets everybody begin at state 0",
          "[net][client]") {
    Pair pair;
    pair.server.accept.next_tick = 500;
    pair.connect_and_load();
    pair.server.send_blob(wire::BlobKind::snapshot, Tick{0}, Bytes(1), 0, pair.down);
    pair.deliver_down();
    REQUIRE(pair.client.state() == ClientState::preparing);
    CHECK(pair.client.snapshot() == nullptr);
    CHECK(pair.client.first_tick().value == 0);
}

TEST_CASE("hash and section queries are answered, and a verdict names place and culprit",
          "[net][client]") {
    Pair pair;
    pair.connect_and_load();
    pair.client.ready(pair.now);
    pair.server.send_ticks(0, {closed_frame(0, 2, toy_neutral())}, 1, 30, pair.down);
    pair.deliver_down();
    pair.client.report({Tick{1}, {5, 6}, {{"bodies", {0xabcdef, 1}}, {"world", {2, 2}}}});
    Bytes frames;
    wire::encode(wire::HashQuery{1, 1}, frames);
    wire::encode_tick_query(wire::FrameType::section_query, 1, frames);
    pair.server.send(frames, pair.down);
    pair.deliver_down();
    pair.exchange();
    REQUIRE(pair.count(wire::FrameType::hash_answer) == 1);
    REQUIRE(pair.count(wire::FrameType::section_answer) == 1);
    for (const auto& [type, body] : pair.frames) {
        if (type == wire::FrameType::hash_answer) {
            const auto answer = wire::decode_hash_answer(body);
            CHECK(answer->first == 1);
            CHECK(answer->hashes[0] == Hash128{5, 6});
        } else if (type == wire::FrameType::section_answer) {
            CHECK(wire::decode_section_answer(body)->sections[0] == 0xabcdef);
        }
    }
    frames.clear();
    wire::Verdict verdict;
    verdict.blame = wire::Blame::peer;
    verdict.tick = 1;
    verdict.has_slot = true;
    verdict.slot = Slot{0};
    verdict.section = "bodies";
    wire::encode(verdict, frames);
    pair.server.send(frames, pair.down);
    pair.deliver_down();
    REQUIRE(pair.client.divergence());
    CHECK(pair.client.divergence()->tick.value == 1);
    CHECK(pair.client.divergence()->section == "bodies");
    CHECK(pair.client.divergence()->actual == "00abcdef");
    CHECK(pair.client.verdict()->own);
}

TEST_CASE("silence and goodbyes end a client as they should", "[net][client]") {
    Pair pair;
    pair.connect_and_load();
    SECTION("silence") {
        const Micros heard = pair.now;
        while (pair.client.state() != ClientState::closed) {
            pair.now = std::max(pair.client.next_wake(), pair.now + Micros{1});
            pair.client.advance(pair.now, pair.up);
        }
        CHECK(pair.now - heard == seconds(10));
        CHECK(pair.client.close_reason() == CloseReason::timed_out);
    }
    SECTION("leave: five times in half a second") {
        pair.frames.clear();
        const Micros left = pair.now;
        pair.client.leave(pair.now);
        CHECK(pair.client.close_reason() == CloseReason::leaving);
        while (pair.client.next_wake() != never) {
            pair.now = std::max(pair.now, pair.client.next_wake());
            pair.exchange();
        }
        CHECK(pair.count(wire::FrameType::close) == 5);
        CHECK(pair.now - left == milliseconds(500));
    }
    SECTION("a goodbye to an earlier connection is nobody's") {
        Bytes frames;
        Bytes packet;
        wire::encode_close(CloseReason::replaced, "", frames);
        Sealer earlier(wire::Mode::plain, Key{}, Direction::down, 8);
        for (int i = 0; i < 100; ++i) { // Its sequence is far ahead of the new one's.
            REQUIRE(earlier.seal(frames, packet));
        }
        pair.down.send(client_address, packet);
        pair.deliver_down();
        CHECK(pair.client.state() != ClientState::closed);
        CHECK(pair.client.status().datagrams_refused == 1);
    }
    SECTION("the server's words are shown in one safe line") {
        Bytes frames;
        wire::encode_close(CloseReason::going_down, "bye\n\x1b[2J", frames);
        pair.server.send(frames, pair.down);
        pair.deliver_down();
        CHECK(to_string(pair.client.close_error()) ==
              "the connection was ended: going_down: bye??[2J");
    }
}

TEST_CASE("path challenges and pings are answered, requests repeated until they take effect",
          "[net][client]") {
    Pair pair;
    pair.connect_and_load();
    pair.client.ready(pair.now);
    pair.server.send_ticks(0, {closed_frame(0, 2, toy_neutral())}, 1, 30, pair.down);
    Bytes frames;
    wire::encode_path(wire::FrameType::path_challenge, 4711, frames);
    wire::encode_stamp(wire::FrameType::ping, 42, frames);
    pair.server.send(frames, pair.down);
    pair.deliver_down();
    pair.client.request(wire::RequestKind::pause);
    pair.exchange();
    CHECK(pair.count(wire::FrameType::path_response) == 1);
    CHECK(pair.count(wire::FrameType::pong) == 1);
    CHECK(pair.count(wire::FrameType::request) == 1);
    pair.now = pair.now + milliseconds(150);
    pair.exchange();
    CHECK(pair.count(wire::FrameType::request) == 2);
    TickFrame frame;
    frame.reset(Tick{1}, 2);
    frame.add_event(EventKind::pause);
    Bytes encoded;
    encode_frame(frame, encoded);
    pair.server.send_ticks(1, {encoded}, 2, 30, pair.down);
    pair.deliver_down();
    CHECK(pair.client.waiting_for() == "the match is paused");
    for (int i = 0; i < 10; ++i) {
        pair.now = pair.now + milliseconds(150);
        pair.exchange();
    }
    CHECK(pair.count(wire::FrameType::request) == 2);
}

TEST_CASE("settings that cannot work are refused by name", "[net][client]") {
    SeededEntropy entropy;
    ClientSettings settings = toy_client();
    const auto refused = [&entropy](const ClientSettings& wrong) {
        const auto made = Client::create(wrong, entropy);
        return made ? std::string() : made.error().field;
    };
    CHECK(refused(settings).empty());
    ClientSettings wrong = settings;
    wrong.server.ip[12] = 10;
    CHECK(refused(wrong) == "mode");
    wrong = settings;
    wrong.server.port = 0;
    CHECK(refused(wrong) == "server");
    wrong = settings;
    wrong.name = std::string(33, 'x');
    CHECK(refused(wrong) == "name");
    if (has_crypto()) {
        wrong = settings;
        wrong.mode = wire::Mode::token;
        CHECK(refused(wrong) == "token");
    }
}
