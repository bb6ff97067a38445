// SPDX-License-Identifier: MIT
// The pieces a match is made of, each alone.
#include "input_ring.hpp"
#include "player_table.hpp"
#include "test_random.hpp"
#include "tick_ring.hpp"
#include "tick_timeline.hpp"

#include "twinstep/sim/frame.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <string>

using namespace twinstep;
using namespace twinstep::net;

TEST_CASE("timeline of 60000/1001 Hz is exact after a day", "[net][match][unit]") {
    TickTimeline timeline;
    const Micros start = seconds(5);
    timeline.begin(start, Tick{0}, TickRate(60000, 1001));
    for (std::uint64_t tick = 0; tick < 5'178'821; ++tick) {
        if (tick % 4099 == 0) {
            // floor(tick * 1001 * 10^6 / 60000) without a sum.
            const auto expected = static_cast<std::int64_t>(tick * 1001 * 1'000'000 / 60000);
            REQUIRE((timeline.due() - start).value == expected);
            REQUIRE(timeline.due(Tick{tick + 100}).value - start.value ==
                    static_cast<std::int64_t>((tick + 100) * 1001 * 1'000'000 / 60000));
        }
        timeline.step();
    }
}

TEST_CASE("timeline looks back as exactly as it looks ahead", "[net][match][unit]") {
    TickTimeline timeline;
    timeline.begin(Micros{0}, Tick{0}, TickRate(144));
    std::deque<Micros> due;
    for (int i = 0; i < 1000; ++i) {
        due.push_back(timeline.due());
        timeline.step();
    }
    for (std::uint64_t tick = 0; tick < 1000; ++tick) {
        REQUIRE(timeline.due(Tick{tick}) == due[tick]);
    }
}

TEST_CASE("timeline follows speed, stretch and slips", "[net][match][unit]") {
    TickTimeline timeline;
    timeline.begin(Micros{0}, Tick{7}, TickRate(50));
    CHECK(timeline.next() == Tick{7});
    CHECK(timeline.period() == milliseconds(20));
    timeline.set_speed(2000);
    CHECK(timeline.period() == milliseconds(10));
    timeline.step();
    CHECK(timeline.due() == milliseconds(10));
    timeline.set_speed(1000);
    timeline.set_stretch(1100);
    CHECK(timeline.period() == milliseconds(22));
    timeline.slip(seconds(1));
    CHECK(timeline.due(Tick{9}) == seconds(1) + milliseconds(22));
    CHECK(timeline.due(Tick{7}) == seconds(1) - milliseconds(22));
}

TEST_CASE("input ring keeps the first value and never takes one tick for another",
          "[net][match][unit]") {
    InputRing ring;
    ring.configure(158, 8);
    const Bytes one(3, std::byte{1});
    const Bytes two(3, std::byte{2});
    for (const std::uint64_t base :
         {std::uint64_t{0}, (std::uint64_t{1} << 31) - 80, tick_max - 157}) {
        for (std::uint64_t tick = base; tick < base + 158; ++tick) {
            REQUIRE_FALSE(ring.has(tick));
            REQUIRE(ring.put(tick, one) == InputRing::Put::accepted);
        }
        for (std::uint64_t tick = base; tick < base + 158; ++tick) {
            REQUIRE(ring.put(tick, one) == InputRing::Put::same);
            REQUIRE(ring.put(tick, two) == InputRing::Put::different);
            REQUIRE(ring.at(tick)[0] == std::byte{1});
            REQUIRE_FALSE(ring.has(tick + 158));
        }
    }
    CHECK(ring.put(7, {}) == InputRing::Put::accepted);
    CHECK(ring.at(7).empty());
    CHECK(ring.memory_bytes() < 16 * 1024);
}

TEST_CASE("margin is the least of the last 128 ticks and forgets older ones",
          "[net][match][unit]") {
    MarginWindow window;
    std::int32_t margin = 0;
    CHECK_FALSE(window.least(0, margin));
    for (std::uint64_t tick = 0; tick < 1000; ++tick) {
        window.add(tick, tick == 500 ? milliseconds(-30) : milliseconds(25));
        REQUIRE(window.least(tick, margin));
        if (tick >= 500 && tick < 628) {
            REQUIRE(margin == -30);
        }
        if (tick < 500 || tick > 500 + 144) {
            REQUIRE(margin == 25);
        }
    }
    window.add(1000, Micros{-1});
    REQUIRE(window.least(1000, margin));
    CHECK(margin == -1); // A microsecond late is late.
}

TEST_CASE("names are cut to what may be shown", "[net][match][unit]") {
    CHECK(clean_name("Ada") == "Ada");
    CHECK(clean_name("a\nb\x1b[31mc") == "ab[31mc");
    CHECK(clean_name("\xE2\x80\xAE"
                     "abc") == "abc"); // Right-to-left override.
    CHECK(clean_name("\xC3\xA9t\xC3\xA9") == "\xC3\xA9t\xC3\xA9");
    CHECK(clean_name("\xFF\xC0\x80"
                     "x\xED\xA0\x80") == "x");
    CHECK(clean_name(std::string(31, 'a') + "\xC3\xA9") == std::string(31, 'a'));
    CHECK(clean_name(std::string(100, 'a')).size() == 32);
}

TEST_CASE("budget allows a burst and then one at a time", "[net][match][unit]") {
    Budget budget(3, seconds(10));
    CHECK(budget.take(seconds(0)));
    CHECK(budget.take(seconds(0)));
    CHECK(budget.take(seconds(0)));
    CHECK_FALSE(budget.take(seconds(0)));
    CHECK_FALSE(budget.take(seconds(9)));
    CHECK(budget.take(seconds(10)));
    CHECK_FALSE(budget.take(seconds(19)));
    CHECK(budget.take(seconds(1000)));
    CHECK(budget.take(seconds(1000)));
    CHECK(budget.take(seconds(1000)));
    CHECK_FALSE(budget.take(seconds(1000)));
}
