// SPDX-License-Identifier: MIT
// Who plays: lobby, seats, absence and return, tickets, spectators, strangers, inputs at the edges.
#include "match_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

bool has_event(const TestPeer& peer, std::string_view part) {
    const auto events = peer.events();
    return std::any_of(events.begin(), events.end(), [&](const std::string& event) {
        return event.find(part) != std::string::npos;
    });
}

void send_input(TestPeer& peer, std::uint64_t first, const std::vector<Bytes>& values) {
    Bytes runs;
    wire::RunWriter writer(runs, peer.bed_.match.settings().neutral);
    for (const Bytes& value : values) {
        writer.add(value);
    }
    writer.finish();
    wire::Inputs inputs;
    inputs.ack = peer.need();
    inputs.first_tick = first;
    inputs.runs = runs;
    Bytes out;
    wire::encode_inputs(inputs, true, out);
    peer.send_bytes(out);
}

/// A frame of a tick in which both slots gave neutral inputs; tick `joined` has their JOIN events.
Bytes past_frame(std::uint64_t tick, bool joins) {
    TickFrame frame;
    frame.reset(Tick{tick}, 2);
    if (joins) {
        frame.add_event(EventKind::join, Slot{0}, std::as_bytes(std::span("p0", 2)));
        frame.add_event(EventKind::join, Slot{1}, std::as_bytes(std::span("p1", 2)));
    }
    frame.set_input(Slot{0}, Bytes(2));
    frame.set_input(Slot{1}, Bytes(2));
    Bytes bytes;
    encode_frame(frame, bytes);
    return bytes;
}

MatchSettings after_restart(std::uint64_t first, std::uint64_t ticks) {
    MatchSettings settings = Bed::defaults();
    for (std::uint64_t i = 0; i < ticks; ++i) {
        settings.history.push_back(past_frame(first + i, i == 0));
    }
    return settings;
}

} // namespace

TEST_CASE("nothing begins before enough players stand at tick 0", "[net][match][unit]") {
    Bed bed;
    bed.fill(1);
    bed.run(seconds(1));
    CHECK_FALSE(bed.match.status().started);
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::joining);
    CHECK(bed.peers[0]->packets >= 10);
    CHECK(bed.peers[0]->packets <= 30);
    TestPeer& second = bed.add("p1");
    second.loads = false;
    REQUIRE(second.connect());
    bed.run(seconds(1));
    CHECK_FALSE(bed.match.status().started);
    second.loads = true;
    bed.run(seconds(1));
    CHECK(bed.match.status().started);
}

TEST_CASE("a lobby player who goes leaves a free seat and no event", "[net][match][unit]") {
    Bed bed;
    bed.fill(1);
    bed.run(milliseconds(100));
    bed.peers[0]->drop();
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::empty);
    bed.fill(2);
    bed.run(seconds(1));
    CHECK(bed.match.status().started);
    CHECK(bed.peers[1]->events() == std::vector<std::string>{"0 1 0 p0", "0 1 1 p1"});
}

TEST_CASE("a seat is kept three seconds for a peer that was let in and is not heard",
          "[net][match][threat-6]") {
    Bed bed;
    REQUIRE(bed.add("quiet").connect({}, false));
    bed.peers[0]->connected = false;
    bed.run(milliseconds(2900));
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::joining);
    bed.run(milliseconds(200));
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::empty);
}

TEST_CASE("a player who leaves is gone at one tick for everybody", "[net][match][threat-18]") {
    Bed bed(Bed::defaults(4));
    bed.fill(4);
    bed.run(seconds(1));
    bed.peers[2]->drop(CloseReason::leaving);
    bed.run(seconds(1));
    CHECK(bed.match.player_state(Slot{2}) == PlayerState::empty);
    const auto expected = bed.peers[0]->events();
    CHECK(expected.back().find(" 2 2 ") != std::string::npos);
    CHECK(bed.peers[1]->events() == expected);
    CHECK(bed.peers[3]->events() == expected);
    TickFrame frame;
    const std::uint64_t tick = std::stoull(expected.back());
    REQUIRE(decode_frame(bed.journal.frames[tick], frame).has_value());
    CHECK_FALSE(frame.at(Slot{2}).present);
    REQUIRE(decode_frame(bed.journal.frames[tick - 1], frame).has_value());
    CHECK(frame.at(Slot{2}).present);
    CHECK(bed.match.status().substituted_late == 0);
}

TEST_CASE("a lost player is absent at once, keeps its slot and comes back with its ticket",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    TestPeer& lost = *bed.peers[1];
    const auto ticket = lost.admitted.ticket;
    lost.resume = lost.need();
    lost.drop();
    bed.run(seconds(5));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::absent);
    CHECK(has_event(*bed.peers[0], "5 1 player.1=absent"));
    CHECK(bed.match.status().substituted_absent >= 240);

    REQUIRE(lost.connect(ticket));
    CHECK(lost.admitted.slot == Slot{1});
    CHECK(lost.admitted.ticket != ticket);
    bed.run(seconds(3));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(has_event(*bed.peers[0], "5 1 player.1=present"));
    CHECK(bed.match.status().snapshots_sent == 0);
    CHECK(lost.frames.size() + 1 >= bed.journal.frames.size());
    CHECK(std::equal(lost.frames.begin(), lost.frames.end(), bed.journal.frames.begin()));
    // The old ticket is used up: it opens no seat, and there is no free one.
    TestPeer& thief = bed.add("thief");
    CHECK_FALSE(thief.connect(ticket));
    CHECK(thief.reason == CloseReason::full);
}

TEST_CASE("inputs count from the tick of the return and never before", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    TestPeer& lost = *bed.peers[1];
    const auto ticket = lost.admitted.ticket;
    lost.resume = lost.need();
    lost.drop();
    bed.run(seconds(1));
    const std::uint64_t back = bed.match.next_tick().value;
    REQUIRE(lost.connect(ticket));
    bed.run(seconds(3));
    const auto events = bed.peers[0]->events();
    const std::uint64_t tick = std::stoull(events.back());
    REQUIRE(events.back().find("present") != std::string::npos);
    const std::uint64_t lead = bed.match.settings().delay_ticks_max + 8U;
    CHECK(tick >= back + lead);
    TickFrame frame;
    for (std::uint64_t at = back; at < bed.journal.frames.size(); ++at) {
        REQUIRE(decode_frame(bed.journal.frames[at], frame).has_value());
        REQUIRE(frame.at(Slot{1}).present);
        REQUIRE(frame.at(Slot{1}).substituted == (at < tick));
        if (at < tick) {
            REQUIRE(frame.input(Slot{1})[1] == std::byte{0}); // Neutral, not its last.
        }
    }
}

TEST_CASE("a second connection takes the seat over when it stands, not before",
          "[net][match][threat-12]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    TestPeer& old = *bed.peers[1];
    TestPeer& fresh = bed.add("p1");
    REQUIRE(fresh.connect(old.admitted.ticket, false));
    bed.run(seconds(1));
    CHECK(old.connected);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    bed.match.disconnected(bed.now, fresh.index, CloseReason::timed_out);
    // Neither attempt spoilt the ticket that the player has.
    REQUIRE(fresh.connect(old.admitted.ticket, false));
    bed.match.disconnected(bed.now, fresh.index, CloseReason::timed_out);
    fresh.resume = 0;
    REQUIRE(fresh.connect(old.admitted.ticket));
    bed.run(seconds(3));
    CHECK(old.reason == CloseReason::replaced);
    CHECK(fresh.connected);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
}

TEST_CASE("a token's player finds its seat without a ticket", "[net][match][unit]") {
    Bed bed;
    bed.add("a").player_id = 77;
    bed.add("b").player_id = 78;
    REQUIRE(bed.peers[0]->connect());
    REQUIRE(bed.peers[1]->connect());
    bed.run(seconds(1));
    bed.peers[1]->drop();
    bed.run(seconds(1));
    REQUIRE(bed.peers[1]->connect());
    CHECK(bed.peers[1]->admitted.slot == Slot{1});
    bed.run(seconds(4));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
}

TEST_CASE("after the rejoin window an absent player leaves, and the last one ends the match",
          "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.rejoin_window = seconds(5);
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    bed.peers[1]->drop();
    bed.run(seconds(4));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::absent);
    bed.run(seconds(2));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::empty);
    CHECK(bed.peers[0]->events().back().find(" 2 1 ") != std::string::npos);
    bed.peers[0]->drop();
    bed.run(seconds(2));
    CHECK_FALSE(bed.match.status().ended);
    bed.run(seconds(5));
    CHECK(bed.match.status().ended);
}

TEST_CASE("a match without anybody stands and goes on when somebody is back",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    for (auto& peer : bed.peers) {
        peer->resume = peer->need();
        peer->drop();
    }
    bed.run(seconds(1));
    const std::uint64_t before = bed.journal.closed;
    bed.run(seconds(20));
    CHECK(bed.journal.closed == before);
    REQUIRE(bed.peers[0]->connect(bed.peers[0]->admitted.ticket));
    bed.run(seconds(2));
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::live);
    CHECK(bed.journal.closed - before > 50);
    CHECK(bed.journal.closed - before < 110);
    CHECK(bed.match.status().overruns == 0);
}

TEST_CASE("a restarted server goes on after its last tick and players find their seats by name",
          "[net][match][unit]") {
    Bed bed(after_restart(0, 300));
    bed.journal.first_tick = 300;
    CHECK(bed.match.next_tick().value == 300);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::absent);
    bed.run(seconds(1));
    CHECK(bed.match.next_tick().value == 300);
    TestPeer& one = bed.add("p1");
    one.states = {};
    for (std::uint64_t tick = 0; tick < 290; ++tick) {
        one.frames.push_back(past_frame(tick, tick == 0));
        one.states.step(one.frames.back());
    }
    one.resume = 290;
    REQUIRE(one.connect());
    CHECK(one.admitted.slot == Slot{1});
    bed.run(seconds(2));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::absent);
    CHECK(has_event(one, "300 5 0 player.0=absent"));
    TestPeer& zero = bed.add("p0");
    REQUIRE(zero.connect());
    CHECK(zero.admitted.slot == Slot{0});
    bed.run(seconds(3));
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::live);
    REQUIRE(zero.need() > 400);
    CHECK(std::equal(zero.frames.begin(), zero.frames.begin() + 400, one.frames.begin()));
    // Nobody takes a seat with a name that was claimed.
    CHECK_FALSE(bed.add("p0").connect());
}

TEST_CASE("inputs are taken from the last closed tick to 128 and the greatest delay beyond",
          "[net][match][threat-8]") {
    const std::uint64_t before =
        GENERATE(std::uint64_t{0}, (std::uint64_t{1} << 31) - 40, tick_max - 9000);
    MatchSettings settings = after_restart(before, 60);
    settings.delay_ticks_max = 30;
    Bed bed(settings);
    bed.journal.first_tick = before + 60;
    // Both are back at once: they have everything.
    for (const std::string name : {"p0", "p1"}) {
        TestPeer& peer = bed.add(name);
        peer.base = before;
        for (std::uint64_t i = 0; i < 60; ++i) {
            peer.frames.push_back(past_frame(before + i, i == 0));
        }
        peer.resume = before + 60;
        peer.reports = false;
        REQUIRE(peer.connect());
    }
    bed.run(seconds(2));
    REQUIRE(bed.match.player_state(Slot{0}) == PlayerState::live);
    TestPeer& peer = *bed.peers[0];
    const std::uint64_t next = bed.match.next_tick().value;
    const Bytes mine(3, std::byte{9});
    const auto out_of_range = [&] { return bed.match.status().out_of_range; };
    const std::uint64_t none = out_of_range();
    send_input(peer, next - 1, {mine});
    CHECK(out_of_range() == none); // Too old: ignored.
    send_input(peer, next + 157, {mine});
    CHECK(out_of_range() == none); // The last that is taken.
    send_input(peer, next + 158, {mine});
    CHECK(out_of_range() == none + 1);
    if (before == 0) {
        send_input(peer, next + 100'000, {mine});
        CHECK(out_of_range() == none + 2);
        send_input(peer, (std::uint64_t{1} << 31) + next, {mine});
        CHECK(out_of_range() == none + 3);
    }
    CHECK(peer.connected);
    // The one that was taken is the one that is played.
    for (int i = 0; i < 20 && bed.match.next_tick().value <= next + 157; ++i) {
        bed.run(milliseconds(500));
    }
    TickFrame frame;
    REQUIRE(decode_frame(bed.journal.frames[next + 157 - (before + 60)], frame).has_value());
    CHECK(frame.input(Slot{0}).size() == 3);
}

TEST_CASE("the first input for a tick counts and another one is an equivocation",
          "[net][match][threat-9]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    TestPeer& liar = *bed.peers[0];
    const std::uint64_t tick = bed.match.next_tick().value + 20;
    const Bytes first(2, std::byte{1});
    const Bytes second(2, std::byte{2});
    send_input(liar, tick, {first});
    send_input(liar, tick, {first});
    CHECK(bed.match.status().equivocations == 0);
    send_input(liar, tick, {second});
    CHECK(bed.match.status().equivocations == 1);
    bed.run(seconds(1));
    TickFrame frame;
    REQUIRE(decode_frame(bed.journal.frames[tick], frame).has_value());
    CHECK(frame.input(Slot{0})[0] == std::byte{1});
    for (const auto& peer : bed.peers) {
        CHECK(peer->frames[tick] == bed.journal.frames[tick]);
    }
}

TEST_CASE("an input that is too long or that the game cannot decode ends the connection",
          "[net][match][threat-4]") {
    MatchSettings settings = Bed::defaults();
    settings.accepts_input = [](ByteView value) {
        return value.empty() || value[0] != std::byte{0xEE};
    };
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t tick = bed.match.next_tick().value + 50;
    SECTION("too long") {
        send_input(*bed.peers[0], tick, {Bytes(9)});
    }
    SECTION("not decodable") {
        send_input(*bed.peers[0], tick, {Bytes(2, std::byte{0xEE})});
        CHECK(bed.match.status().inputs_refused == 1);
    }
    SECTION("malformed runs") {
        Bytes out;
        wire::Inputs inputs;
        inputs.ack = bed.peers[0]->need();
        inputs.first_tick = tick;
        const Bytes runs{std::byte{0}, std::byte{200}};
        inputs.runs = runs;
        wire::encode_inputs(inputs, true, out);
        bed.peers[0]->send_bytes(out);
    }
    CHECK(bed.peers[0]->reason == CloseReason::protocol_error);
    bed.run(seconds(1));
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::absent);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
}

TEST_CASE("a spectator sees everything later and delays nobody", "[net][match][threat-16]") {
    MatchSettings settings = Bed::defaults();
    settings.spectator_delay = seconds(2);
    Bed bed(settings);
    TestPeer& watcher = bed.add("watcher", Role::spectator);
    REQUIRE(watcher.connect());
    bed.fill(2);
    bed.run(seconds(6));
    CHECK(bed.match.status().spectators == 1);
    CHECK(bed.match.status().players == 2);
    CHECK(watcher.edge_seen <= bed.match.next_tick().value - 98);
    CHECK(watcher.frames.size() >= 190);
    CHECK(std::equal(watcher.frames.begin(), watcher.frames.end(), bed.journal.frames.begin()));
    // It asks for things that are not its to ask, then it hears nothing and says nothing.
    watcher.request(wire::RequestKind::pause);
    send_input(watcher, bed.match.next_tick().value + 5, {Bytes(2)});
    watcher.hears = false;
    watcher.talks = false;
    bed.run(seconds(5));
    CHECK_FALSE(bed.match.status().paused);
    const Micros worst = *std::max_element(bed.journal.lates.begin(), bed.journal.lates.end());
    CHECK(worst <= milliseconds(1));
    CHECK(bed.match.status().substituted_late == 0);
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::live);
}

TEST_CASE("spectators have a limit of their own", "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.spectators_max = 2;
    Bed bed(settings);
    CHECK(bed.add("a", Role::spectator).connect());
    CHECK(bed.add("b", Role::spectator).connect());
    CHECK_FALSE(bed.add("c", Role::spectator).connect());
    bed.fill(2);
    bed.run(seconds(1));
    CHECK(bed.match.status().started);
}

TEST_CASE("another build gets the manifest, never a slot, and is closed after five seconds",
          "[net][match][threat-28]") {
    Bed bed;
    TestPeer& other = bed.add("other");
    other.has_build = true;
    other.build = {1, 2};
    REQUIRE(other.connect());
    CHECK_FALSE(other.admitted.has_slot);
    bed.fill(2);
    bed.run(seconds(4));
    CHECK(other.has_manifest);
    CHECK(other.connected);
    CHECK(other.frames.empty());
    bed.run(seconds(2));
    CHECK(other.reason == CloseReason::different_simulation);
    CHECK(bed.match.status().started);
}

TEST_CASE("a relay takes its session from the first player", "[net][match][unit]") {
    MatchSettings settings = Bed::defaults(4);
    settings.start_players = 2;
    settings.authority = Authority::relay;
    settings.manifest.clear();
    settings.neutral.clear();
    settings.tick_rate = TickRate{60};
    Bed bed(settings);
    const Manifest manifest = test_manifest(2, TickRate{50});
    for (const std::string name : {"p0", "p1"}) {
        TestPeer& peer = bed.add(name);
        peer.has_build = true;
        peer.build = digest_of_build(manifest);
        REQUIRE(peer.connect());
        CHECK(peer.admitted.manifest_wanted);
    }
    TestPeer& other = bed.add("other");
    other.has_build = true;
    other.build = {1, 2};
    REQUIRE(other.connect());
    bed.run(milliseconds(100));
    auto blob = std::make_shared<Bytes>();
    ByteWriter writer(*blob);
    writer.text(std::string_view("\0\0", 2));
    encode_manifest(manifest, *blob);
    TestPeer& bringer = *bed.peers[0];
    bringer.sender.start(
        bed.now, make_blob_offer(1, wire::BlobKind::manifest, Tick{0}, *blob, 0), blob, 1U << 20U);
    CHECK(bed.match.expects_upload(bringer.index));
    bed.run(seconds(2));
    REQUIRE(bed.journal.manifests.size() == 1);
    CHECK(bed.journal.manifests[0] == manifest);
    CHECK(bed.match.settings().slots == 2);
    CHECK(bed.match.settings().tick_rate == TickRate{50});
    CHECK(bed.match.settings().neutral == Bytes(2));
    CHECK(bed.match.status().started);
    CHECK_FALSE(bed.match.expects_upload(bringer.index));
    CHECK(bed.peers[1]->frames.size() > 50);
    bed.run(seconds(6));
    CHECK(other.reason == CloseReason::different_simulation);
}
