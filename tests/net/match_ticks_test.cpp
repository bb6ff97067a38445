// SPDX-License-Identifier: MIT
// When ticks are closed, what is in them, and who gets them.
#include "match_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

TickFrame frame_at(const Bytes& encoded) {
    TickFrame frame;
    REQUIRE(decode_frame(encoded, frame).has_value());
    return frame;
}

std::uint64_t substituted(const Journal& journal, Slot slot, std::uint64_t from = 0) {
    std::uint64_t count = 0;
    for (std::size_t i = from; i < journal.frames.size(); ++i) {
        count += frame_at(journal.frames[i]).at(slot).substituted ? 1U : 0U;
    }
    return count;
}

} // namespace

TEST_CASE("two players join and every tick is closed at its time", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(3));
    REQUIRE(bed.match.status().started);
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::live);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(bed.journal.frames.size() >= 145);
    CHECK(bed.match.status().substituted_late == 0);
    CHECK(bed.match.status().overruns == 0);
    for (const auto& peer : bed.peers) {
        CHECK(peer->frames.size() + 1 >= bed.journal.frames.size());
        CHECK(std::equal(peer->frames.begin(), peer->frames.end(), bed.journal.frames.begin()));
    }
    CHECK(bed.peers[0]->events() == std::vector<std::string>{"0 1 0 p0", "0 1 1 p1"});
    const TickFrame frame = frame_at(bed.journal.frames[100]);
    CHECK(frame.at(Slot{1}).present);
    CHECK_FALSE(frame.at(Slot{1}).substituted);
    CHECK(frame.input(Slot{1})[0] == std::byte{100});
}

TEST_CASE("one datagram a tick and peer carries everything of a quiet match",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(2));
    const std::uint64_t packets = bed.peers[0]->packets;
    const std::uint64_t ticks = bed.journal.closed;
    bed.run(seconds(4));
    CHECK(bed.peers[0]->packets - packets <= bed.journal.closed - ticks + 1);
}

TEST_CASE("deadline: a silent player costs the grace and is substituted", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t from = bed.journal.closed;
    const Bytes last = bed.journal.frames.back();
    bed.peers[1]->gives_inputs = false;
    bed.run(seconds(1));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::lagging);
    const std::uint64_t missed = substituted(bed.journal, Slot{1});
    CHECK(missed >= 40);
    CHECK(bed.match.status().substituted_late == missed);
    CHECK(substituted(bed.journal, Slot{0}) == 0);
    // The filler repeats its last input; the others lose no tick.
    const TickFrame frame = frame_at(bed.journal.frames[from + 20]);
    CHECK(frame.at(Slot{1}).present);
    const TickFrame before = frame_at(bed.journal.frames[from + 19]);
    CHECK(frame.input(Slot{1})[0] == before.input(Slot{1})[0]);
    CHECK(bed.journal.closed - from >= 46);
    const Micros worst = *std::max_element(bed.journal.lates.begin(), bed.journal.lates.end());
    CHECK(worst <= milliseconds(51));
    bed.peers[1]->gives_inputs = true;
    bed.run(seconds(3));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
}

TEST_CASE("whoever has not spoken yet is filled in with the neutral input", "[net][match][unit]") {
    Bed bed;
    bed.add("p0");
    bed.add("p1").gives_inputs = false;
    REQUIRE(bed.peers[0]->connect());
    REQUIRE(bed.peers[1]->connect());
    bed.run(seconds(1));
    for (const Bytes& encoded : bed.journal.frames) {
        const TickFrame frame = frame_at(encoded);
        REQUIRE(frame.at(Slot{1}).substituted);
        REQUIRE(frame.input(Slot{1}).size() == 2);
    }
}

TEST_CASE("neutral filler fills in the neutral input", "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.filler = Filler::neutral;
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    bed.peers[1]->gives_inputs = false;
    bed.run(seconds(1));
    const TickFrame frame = frame_at(bed.journal.frames.back());
    REQUIRE(frame.at(Slot{1}).substituted);
    CHECK(frame.input(Slot{1})[1] == std::byte{0});
}

TEST_CASE("a bot that stops talking at tick 500 delays nobody", "[net][match][threat-17]") {
    MatchSettings settings = Bed::defaults(4);
    Bed bed(settings);
    bed.fill(4);
    while (bed.journal.closed < 500) {
        bed.run(milliseconds(20));
    }
    bed.peers[3]->talks = false;
    bed.run(seconds(10));
    CHECK(bed.match.player_state(Slot{3}) == PlayerState::absent);
    for (const auto& event : bed.peers[0]->events()) {
        INFO(event);
    }
    const auto events = bed.peers[0]->events();
    REQUIRE(events.size() == 5);
    CHECK(events.back().find("5 3 player.3=absent") != std::string::npos);
    CHECK(bed.journal.closed >= 1000 - 5);
    for (std::uint16_t slot = 0; slot < 3; ++slot) {
        CHECK(substituted(bed.journal, Slot{slot}) == 0);
    }
    // Absent players are not waited for: the last seconds are on time.
    const Micros worst = *std::max_element(bed.journal.lates.end() - 300, bed.journal.lates.end());
    CHECK(worst <= milliseconds(1));
    CHECK(bed.match.status().substituted_absent > 350);
}

TEST_CASE("wait: everybody waits up to the stall, then no longer for the silent one",
          "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.policy = Policy::wait;
    settings.absent_after = seconds(2);
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t before = bed.journal.closed;
    bed.peers[1]->gives_inputs = false;
    bed.run(milliseconds(1900));
    CHECK(bed.journal.closed - before <= 4);
    REQUIRE_FALSE(bed.peers[0]->stalls.empty());
    CHECK(bed.peers[0]->stalls.back().slots == 2);
    CHECK(bed.peers[0]->stalls.back().tick == bed.match.next_tick().value);
    CHECK(bed.peers[0]->stalls.back().for_ms > 1500);
    CHECK(bed.peers[0]->stalls.front().for_ms <= 52); // At once when it begins.
    CHECK(bed.peers[0]->stalls.size() >= 15);
    CHECK(bed.peers[0]->stalls.size() <= 21);
    bed.run(milliseconds(1200));
    CHECK(bed.journal.closed - before > 20);
    CHECK(bed.match.status().overruns == 0);
    bed.run(seconds(3));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::absent);
}

TEST_CASE("wait: a short stall is waited for and the timeline slips", "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.policy = Policy::wait;
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t before = bed.journal.closed;
    bed.peers[1]->talks = false;
    bed.run(seconds(1));
    bed.peers[1]->talks = true;
    bed.run(seconds(1));
    CHECK(substituted(bed.journal, Slot{1}) == 0);
    CHECK(bed.journal.closed - before <= 60);
    CHECK(bed.journal.closed - before >= 45);
    CHECK(bed.match.status().overruns == 0);
}

TEST_CASE("strict: the match stands until the player speaks or the policy changes",
          "[net][match][unit]") {
    MatchSettings settings = Bed::defaults();
    settings.policy = Policy::strict;
    Bed bed(settings);
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t before = bed.journal.closed;
    bed.peers[1]->talks = false;
    bed.run(seconds(20));
    CHECK(bed.journal.closed - before <= 4);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    SECTION("it speaks") {
        bed.peers[1]->talks = true;
        bed.run(seconds(1));
        CHECK(bed.journal.closed - before >= 40);
        CHECK(substituted(bed.journal, Slot{1}) == 0);
    }
    SECTION("somebody decides") {
        bed.peers[0]->request(wire::RequestKind::policy, 1);
        bed.run(seconds(1));
        CHECK(bed.journal.closed - before >= 40);
        CHECK(bed.peers[0]->events().back().find("policy=deadline") != std::string::npos);
    }
    SECTION("its transport is lost and it comes back") {
        const auto ticket = bed.peers[1]->admitted.ticket;
        bed.peers[1]->resume = bed.peers[1]->need();
        bed.peers[1]->drop();
        bed.run(seconds(1));
        CHECK(bed.journal.closed - before <= 4);
        CHECK(bed.match.player_state(Slot{1}) == PlayerState::absent);
        REQUIRE(bed.peers[1]->connect(ticket));
        bed.peers[1]->talks = true;
        bed.run(seconds(2));
        CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
        CHECK(bed.journal.closed - before >= 40);
        CHECK(substituted(bed.journal, Slot{1}) == 0);
    }
}

TEST_CASE("a server that slept closes four ticks at once and lets the time slip",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    const std::uint64_t before = bed.journal.closed;
    for (auto& peer : bed.peers) {
        peer->delay = 60; // There is enough to close.
    }
    bed.run(milliseconds(20));
    bed.now = bed.now + milliseconds(500);
    bed.match.advance(bed.now);
    CHECK(bed.journal.closed - before <= 5);
    CHECK(bed.match.status().overruns >= 19);
    const std::uint64_t after = bed.journal.closed;
    bed.match.advance(bed.now);
    CHECK(bed.journal.closed == after);
    bed.run(milliseconds(100));
    CHECK(bed.journal.closed - after <= 6);
}

TEST_CASE("pause and resume are events and no time is owed afterwards", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    bed.peers[0]->request(wire::RequestKind::pause);
    bed.run(milliseconds(100));
    CHECK(bed.match.status().paused);
    const std::uint64_t before = bed.journal.closed;
    bed.run(seconds(5));
    CHECK(bed.journal.closed == before);
    REQUIRE_FALSE(bed.peers[1]->stalls.empty());
    CHECK(bed.peers[1]->stalls.back().paused);
    CHECK(bed.peers[1]->stalls.back().for_ms > 4000);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    bed.peers[1]->request(wire::RequestKind::resume);
    bed.run(seconds(1));
    CHECK_FALSE(bed.match.status().paused);
    CHECK(bed.journal.closed - before >= 47);
    CHECK(bed.journal.closed - before <= 51);
    CHECK(bed.match.status().overruns == 0);
    CHECK(substituted(bed.journal, Slot{0}) == 0);
    const auto events = bed.peers[0]->events();
    REQUIRE(events.size() == 4);
    CHECK(events[2] == std::to_string(before - 1) + " 3 - ");
    CHECK(events[3] == std::to_string(before) + " 4 - ");
}

TEST_CASE("speed scales the period from its event on", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    for (auto& peer : bed.peers) {
        peer->delay = 8;
    }
    bed.run(milliseconds(100));
    bed.peers[0]->request(wire::RequestKind::speed, 2000);
    const std::uint64_t before = bed.journal.closed;
    bed.run(seconds(1));
    CHECK(bed.journal.closed - before >= 97);
    CHECK(bed.journal.closed - before <= 101);
    CHECK(bed.match.status().speed_per_mille == 2000);
    CHECK(bed.peers[1]->events().back().find("5 - speed=2000") != std::string::npos);
}

TEST_CASE("requests beyond a player's budget are counted and have no effect",
          "[net][match][threat-7]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    for (int i = 0; i < 1000; ++i) {
        bed.peers[0]->request(wire::RequestKind::speed, 500 + static_cast<std::uint32_t>(i));
    }
    bed.run(seconds(1));
    CHECK(bed.match.status().requests_refused == 996);
    CHECK(bed.peers[1]->events().size() == 2 + 4);
}

TEST_CASE("a player may end a stand-still and not begin one, and pause three times",
          "[net][match][threat-17]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    bed.peers[0]->request(wire::RequestKind::policy, 3);
    bed.peers[1]->talks = false;
    const std::uint64_t before = bed.journal.closed;
    bed.run(seconds(1));
    CHECK(bed.journal.closed - before >= 46);
    bed.peers[1]->talks = true;
    int pauses = 0;
    for (int i = 0; i < 6; ++i) {
        bed.run(seconds(6));
        bed.peers[0]->request(wire::RequestKind::pause);
        bed.run(milliseconds(100));
        pauses += bed.match.status().paused ? 1 : 0;
        bed.peers[1]->request(wire::RequestKind::resume);
    }
    CHECK(pauses == 3);
}

TEST_CASE("margin says how early the inputs were", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.peers[0]->delay = 6;
    bed.peers[1]->delay = 2;
    bed.run(seconds(6));
    // Inputs of the tick `need + delay - 1` are sent once a tick, right after a tick was closed.
    CHECK(bed.peers[0]->margin >= 80);
    CHECK(bed.peers[0]->margin <= 120);
    CHECK(bed.peers[1]->margin >= 0);
    CHECK(bed.peers[1]->margin <= 40);
}

TEST_CASE("an owner can ask how long acknowledgements take and how early inputs are",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    CHECK_FALSE(bed.match.round_trip(Slot{0}).has_value());
    CHECK_FALSE(bed.match.input_margin(Slot{0}).has_value());
    bed.peers[0]->delay = 6;
    bed.peers[1]->delay = 6;
    bed.peers[1]->up_delay = milliseconds(60);
    bed.run(seconds(6));
    const auto near = bed.match.round_trip(Slot{0});
    const auto far = bed.match.round_trip(Slot{1});
    REQUIRE(near.has_value());
    REQUIRE(far.has_value());
    CHECK(*near <= milliseconds(20));
    CHECK(*far - *near >= milliseconds(59));
    CHECK(*far - *near <= milliseconds(80));
    CHECK(bed.match.input_margin(Slot{0}) == milliseconds(bed.peers[0]->margin));
    CHECK(bed.match.input_margin(Slot{1}) == milliseconds(bed.peers[1]->margin));
    // Who has not acknowledged anything in a new connection has no old number.
    bed.peers[1]->drop();
    CHECK_FALSE(bed.match.round_trip(Slot{1}).has_value());
    CHECK(bed.match.round_trip(Slot{0}).has_value());
}

TEST_CASE("the same calls give the same bytes", "[net][match][determinism]") {
    const auto play = [] {
        Bed bed(Bed::defaults(3));
        bed.fill(3);
        bed.run(seconds(1));
        bed.peers[2]->talks = false;
        bed.run(seconds(4));
        bed.peers[2]->talks = true;
        bed.peers[1]->request(wire::RequestKind::speed, 1500);
        bed.run(seconds(3));
        bed.peers[0]->drop(CloseReason::leaving);
        bed.run(seconds(1));
        std::vector<Bytes> frames = bed.journal.frames;
        return std::pair{frames, bed.peers[1]->bytes};
    };
    const auto first = play();
    const auto second = play();
    CHECK(first.first == second.first);
    CHECK(first.second == second.second);
}

TEST_CASE("the end is a last tick that everybody gets", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(1));
    bed.match.end(bed.now, CloseReason::going_down);
    CHECK(bed.match.status().ended);
    bed.run(seconds(1));
    for (const auto& peer : bed.peers) {
        CHECK(peer->reason == CloseReason::going_down);
        CHECK(peer->events().back().find("5 - match=ended") != std::string::npos);
        CHECK(peer->frames.size() == bed.journal.frames.size());
    }
    CHECK_FALSE(bed.add("late").connect());
}
