// SPDX-License-Identifier: MIT
// The client's parts by themselves: receive ring, input window, hash ring, playback pace.
#include "client_hashes.hpp"
#include "client_support.hpp"
#include "closed_ticks.hpp"
#include "input_window.hpp"
#include "test_random.hpp"

#include "twinstep/net/identity.hpp"
#include "twinstep/net/playback_pace.hpp"

#include <string>

using namespace client_test;

namespace {

TickFrame frame_of(std::uint64_t tick, std::uint32_t content, std::size_t bytes = 4) {
    TickFrame frame;
    frame.reset(Tick{tick}, 1);
    Bytes value(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        value[i] = static_cast<std::byte>(content >> (8 * (i % 4)));
    }
    frame.set_input(Slot{0}, value);
    return frame;
}

StateHashes hashes_of(std::uint64_t tick) {
    return {
        Tick{tick}, {tick * 3, tick * 5}, {{"bodies", {tick * 7, 1}}, {"world", {tick * 11, 2}}}};
}

} // namespace

TEST_CASE("closed ticks come out in order, whatever the order they came in", "[net][client]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    ClosedTicks ring;
    ring.start(100);
    std::uint64_t played = 100;
    TickFrame out;
    for (int round = 0; round < 4000; ++round) {
        const std::uint64_t tick = ring.needed() + random.below(40);
        const auto added = ring.add(frame_of(tick, static_cast<std::uint32_t>(tick)));
        REQUIRE(added);
        CHECK(*added != Arrival::no_room);
        if (random.below(3) == 0) {
            REQUIRE(ring.add(frame_of(ring.needed(), static_cast<std::uint32_t>(ring.needed()))));
        }
        while (ring.backlog() > random.below(8)) {
            REQUIRE(ring.play(out));
            CHECK(out.tick().value == played);
            CHECK(out.input(Slot{0})[0] == static_cast<std::byte>(played));
            ++played;
        }
    }
    CHECK(played > 3000);
}

TEST_CASE("a tick that comes again with other contents is found out, also after it was played",
          "[net][client]") {
    ClosedTicks ring;
    ring.start(0);
    TickFrame out;
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        REQUIRE(ring.add(frame_of(tick, 1)));
        REQUIRE(ring.play(out));
    }
    CHECK(*ring.add(frame_of(50, 1)) == Arrival::duplicate);
    const auto lie = ring.add(frame_of(50, 2));
    REQUIRE_FALSE(lie);
    CHECK(lie.error().code == NetErrc::malformed);
    CHECK(lie.error().detail == "the server told two stories about tick 50");
    CHECK(ring.needed() == 100);
}

TEST_CASE("the receive ring is bounded in ticks and bytes, and the needed tick always fits",
          "[net][client]") {
    ClosedTicks ring;
    ring.start(0);
    CHECK(*ring.add(frame_of(ClosedTicks::ticks_max, 1)) == Arrival::no_room);
    // Fill it with what is ahead; memory ends before the ticks do.
    std::size_t ahead = 0;
    for (std::uint64_t tick = 1; tick < ClosedTicks::ticks_max; ++tick) {
        ahead += *ring.add(frame_of(tick, 1, 256)) == Arrival::taken ? 1U : 0U;
    }
    CHECK(ahead < 600);
    CHECK(ahead > 480);
    CHECK(ring.needed() == 0);
    CHECK(*ring.add(frame_of(0, 1, 256)) == Arrival::taken);
    CHECK(ring.needed() == ahead + 1);
    TickFrame out;
    while (ring.backlog() > 0) {
        REQUIRE(ring.play(out));
    }
    // Nobody plays: the ring takes what fits and leaves the rest to be sent again.
    std::uint64_t tick = ring.needed();
    while (*ring.add(frame_of(tick, 1, 256)) == Arrival::taken) {
        ++tick;
    }
    CHECK(ring.backlog() < ClosedTicks::ticks_max);
    REQUIRE(ring.play(out));
    CHECK(*ring.add(frame_of(tick, 1, 256)) == Arrival::taken);
}

TEST_CASE("the input window keeps consecutive ticks and encodes them oldest first",
          "[net][client]") {
    InputWindow window;
    window.start(10, toy_neutral());
    for (std::int8_t i = 0; i < 100; ++i) {
        window.append(toy_input(i));
    }
    CHECK(window.room() == 28);
    CHECK(window.repeat(40) == 28);
    CHECK(window.room() == 0);
    Bytes runs;
    const std::size_t first = window.encode(10, toy_neutral(), 100, runs);
    CHECK(first < 128);
    CHECK(runs.size() <= 100);
    wire::RunReader reader(runs, toy_neutral(), 64);
    for (std::size_t i = 0; i < first; ++i) {
        const auto value = reader.next();
        REQUIRE(value);
        const ByteView expected = window.at(10 + i);
        CHECK(std::equal(value->begin(), value->end(), expected.begin(), expected.end()));
    }
    CHECK(reader.at_end());
    CHECK(window.acknowledge(9) == 0);
    CHECK(window.acknowledge(50) == 0);
    CHECK(window.first() == 50);
    CHECK(window.next() == 138);
    CHECK(window.acknowledge(150) == 12); // Closed without us.
    CHECK(window.count() == 0);
    CHECK(window.next() == 150);
}

TEST_CASE("the hash ring answers for 512 states and reports the chain at check ticks",
          "[net][client]") {
    ClientHashes ring;
    ring.start(0, 0);
    std::uint64_t state = 0;
    std::uint32_t chain = 0;
    CHECK_FALSE(ring.chain_to_report(16, 100, state, chain));
    std::uint64_t expected = 0;
    std::uint64_t at_992 = 0;
    for (std::uint64_t tick = 1; tick <= 1000; ++tick) {
        ring.report(hashes_of(tick));
        expected = next_chain(expected, Tick{tick}, hashes_of(tick).state);
        at_992 = tick == 992 ? expected : at_992;
    }
    CHECK(ring.chain() == expected);
    REQUIRE(ring.chain_to_report(16, 1000, state, chain));
    CHECK(state == 992);
    CHECK(chain == static_cast<std::uint32_t>(at_992));
    REQUIRE(ring.chain_to_report(16, 991, state, chain));
    CHECK(state == 976);

    wire::HashAnswer answer;
    CHECK(ring.answer({900, 963}, answer));
    CHECK(answer.first == 900);
    CHECK(answer.count == 64);
    CHECK(answer.hashes[5].low == 905 * 3);
    CHECK(ring.answer({470, 500}, answer)); // Older ones are forgotten.
    CHECK(answer.first == 489);
    CHECK(answer.count == 12);
    CHECK_FALSE(ring.answer({100, 150}, answer));
    CHECK_FALSE(ring.answer({990, 1001}, answer));
    wire::SectionAnswer sections;
    REQUIRE(ring.answer_sections(1000, sections));
    CHECK(sections.count == 2);
    CHECK(sections.sections[1] == 11000);
    CHECK_FALSE(ring.answer_sections(100, sections));
    CHECK(ring.section_text(1000, "world") == "00002af8");
}

TEST_CASE("playing follows the server's pace, holds one or two ticks and never passes the newest",
          "[net][client]") {
    TWINSTEP_SHOW_SEED();
    // The server runs 0.3 % fast or slow; ticks come with up to 12 ms of jitter.
    const auto period_us = GENERATE(16'617, 16'667, 16'717);
    TestRandom random;
    PlaybackPace pace(TickRate(60));
    std::vector<Micros> arrivals;
    for (std::int64_t tick = 0; tick < 60 * 60; ++tick) {
        const Micros at{tick * period_us + static_cast<std::int64_t>(random.below(12'000))};
        arrivals.push_back(arrivals.empty() ? at : std::max(at, arrivals.back()));
    }
    std::uint64_t played = 0;
    std::uint64_t starved = 0;
    std::uint64_t deep = 0;
    std::uint64_t calls = 0;
    Micros last_step;
    std::int64_t gap_max = 0;
    for (Micros now; now < seconds(59); now = now + milliseconds(1)) {
        const auto arrived = static_cast<std::uint64_t>(
            std::upper_bound(arrivals.begin(), arrivals.end(), now) - arrivals.begin());
        REQUIRE(played <= arrived);
        const std::uint32_t steps = pace.due(now, arrived - played);
        played += steps;
        REQUIRE(played <= arrived);
        if (now > seconds(5)) {
            ++calls;
            deep += arrived - played > 3 ? 1U : 0U;
            starved += steps > 1 ? 1U : 0U;
            if (steps > 0) {
                gap_max = std::max(gap_max, (now - last_step).value);
            }
        }
        last_step = steps > 0 ? now : last_step;
    }
    CHECK(deep * 50 < calls);
    CHECK(starved < 20);
    CHECK(gap_max <= 30'000); // Smoother than the arrivals, which are up to 28 ms apart.
    CHECK(played > 3500);
}

TEST_CASE("far behind, playing catches up with eight steps a call", "[net][client]") {
    PlaybackPace pace(TickRate(60));
    Micros now;
    std::uint64_t backlog = 1000;
    std::uint64_t calls = 0;
    while (backlog > 10) {
        const std::uint32_t steps = pace.due(now, backlog);
        REQUIRE(steps <= 8);
        backlog -= steps;
        ++calls;
        now = now + milliseconds(1);
        REQUIRE(calls < 200);
    }
    CHECK(calls == 124);
    CHECK(pace.due(now, 0) == 0);
    CHECK(pace.next_wake(0) == never);
    CHECK(pace.next_wake(2) > now);
    CHECK(pace.next_wake(2) <= now + milliseconds(17));
}

TEST_CASE("playing runs at the match's speed", "[net][client]") {
    PlaybackPace pace(TickRate(50));
    pace.set_speed(2000);
    std::uint64_t played = 0;
    for (Micros now; now < seconds(10); now = now + milliseconds(1)) {
        played += pace.due(now, 2);
    }
    CHECK(played >= 999);
    CHECK(played <= 1001);
}
