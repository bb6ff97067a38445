// SPDX-License-Identifier: MIT
// The input side on a virtual clock against a modelled server: delay, margins, numbers, merging.
#include "input_feed.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

namespace {

Bytes value_of(std::uint32_t number) {
    Bytes bytes;
    ByteWriter(bytes).u32(number);
    return bytes;
}

std::uint32_t number_of(ByteView bytes) {
    ByteReader reader(bytes);
    return reader.u32("number");
}

/// One way of a link: delay with jitter, and loss.
struct Way {
    std::function<Micros(Micros)> delay;
    Micros jitter;
    std::uint32_t lost_percent = 0;
};

/// A client's input side, two ways, and a server that closes a tick each period.
class DelayWorld {
public:
    DelayWorld(Way up, Way down, std::uint64_t seed = test_seed())
        : up_(std::move(up))
        , down_(std::move(down))
        , random_(seed) {
        FeedSettings settings;
        settings.round_trip = up_.delay(Micros{0}) + down_.delay(Micros{0});
        settings.grace = milliseconds(50);
        feed.configure(Micros{0}, settings, value_of(0));
        feed.set_merge([](ByteView earlier, ByteView later, Bytes& merged) {
            merged = value_of(number_of(earlier) | number_of(later));
        });
        period = feed.period();
    }

    /// Runs to `end` in steps of half a millisecond.
    void run_until(Micros end) {
        while (now < end) {
            now = now + Micros{500};
            server();
            deliver();
            if (!frozen) {
                client();
            }
        }
    }

    /// The least margin of the inputs of the last `count` closed ticks.
    std::int64_t least_margin_us(std::uint64_t count) const {
        std::int64_t least = INT64_MAX;
        for (auto at = margins.lower_bound(next > count ? next - count : 0); at != margins.end();
             ++at) {
            least = std::min(least, at->second);
        }
        return least;
    }

    InputFeed feed;

    /// What the client's clock says.
    Micros local() const { return Micros{now.value + now.value * clock_ppm / 1'000'000}; }

    Micros now;
    std::int64_t clock_ppm = 0; ///< By how much the client's clock is faster than the server's.
    Micros period;
    bool frozen = false;
    bool standing = false;
    std::uint64_t next = 0; ///< Tick that the server closes next.
    std::uint64_t substituted = 0;
    std::map<std::uint64_t, std::uint32_t> heard; ///< Input values by tick.
    std::map<std::uint64_t, std::int64_t> margins;
    std::vector<std::uint16_t> delays; ///< Each value the delay has had, in order.
    std::function<std::uint32_t()> sample = [] { return 1U; };
    std::uint64_t samples = 0;
    bool skipped = false; ///< An input tick was left out or came twice with two values.

private:
    struct Up {
        Micros at;
        std::uint64_t first = 0;
        std::uint64_t received = 0;
        std::vector<std::uint32_t> values;
    };

    struct Down {
        Micros at;
        ServerWord word;
    };

    bool arrives(const Way& way, Micros& at) {
        const std::int64_t jitter =
            way.jitter.value == 0 ? 0
                                  : static_cast<std::int64_t>(
                                        random_.below(static_cast<std::size_t>(way.jitter.value)));
        at = now + way.delay(now) + Micros{jitter};
        return random_.below(100) >= way.lost_percent;
    }

    Micros due(std::uint64_t tick) const {
        return start_ + Micros{static_cast<std::int64_t>(tick) * 1'000'000 / 60};
    }

    void server() {
        if (!started_ && ready_) {
            started_ = true;
            start_ = now;
        }
        const bool lobby = !started_ && now.value % 100'000 == 0;
        bool closed = false;
        while (started_ && !standing) {
            const bool there = heard.contains(next);
            if (now < due(next) || (!there && now < due(next) + milliseconds(50))) {
                break;
            }
            substituted += there ? 0 : 1;
            ++next;
            closed = true;
        }
        if (!closed && !lobby) {
            return;
        }
        std::uint64_t ack = std::max(next, ack_);
        while (heard.contains(ack)) {
            ++ack;
        }
        ack_ = ack;
        std::int64_t least = INT64_MAX;
        for (auto at = margins.lower_bound(next > 128 ? next - 128 : 0); at != margins.end();
             ++at) {
            least = std::min(least, at->second);
        }
        const std::int64_t margin = least == INT64_MAX ? period.value * 3 / 2 : least;
        const auto margin_ms =
            static_cast<std::int32_t>(margin >= 0 ? margin / 1000 : -((999 - margin) / 1000));
        Down down{{}, {next, ack, margin_ms}};
        if (arrives(down_, down.at)) {
            down_queue_.push_back(down);
        }
    }

    void deliver() {
        for (auto at = up_queue_.begin(); at != up_queue_.end();) {
            if (at->at > now) {
                ++at;
                continue;
            }
            for (std::size_t i = 0; i < at->values.size(); ++i) {
                const std::uint64_t tick = at->first + i;
                const auto [found, fresh] = heard.emplace(tick, at->values[i]);
                skipped = skipped || found->second != at->values[i];
                if (fresh && started_) {
                    margins[tick] = (due(tick) - now).value;
                }
                if (tick < next) {
                    continue;
                }
            }
            ready_ = true;
            at = up_queue_.erase(at);
        }
        for (auto at = down_queue_.begin(); at != down_queue_.end();) {
            if (at->at > now || frozen) {
                ++at;
                continue;
            }
            if (at->word.received >= received_) { // An older packet's word is not taken.
                received_ = at->word.received;
                feed.on_ticks(local(), at->word);
            }
            at = down_queue_.erase(at);
        }
    }

    void client() {
        feed.advance(local());
        bool send = now - sent_ >= milliseconds(100);
        for (std::uint64_t wanted = feed.wanted(local()); wanted > 0; --wanted) {
            feed.give(value_of(sample()));
            ++samples;
            send = true;
        }
        if (delays.empty() || delays.back() != feed.delay()) {
            delays.push_back(feed.delay());
        }
        if (!send || !feed.started()) {
            return;
        }
        sent_ = now;
        Up up;
        up.first = feed.window().first();
        for (std::uint64_t tick = up.first; tick < feed.window().next(); ++tick) {
            up.values.push_back(number_of(feed.window().at(tick)));
        }
        if (arrives(up_, up.at)) {
            up_queue_.push_back(up);
        }
    }

    Way up_;
    Way down_;
    TestRandom random_;
    std::vector<Up> up_queue_;
    std::vector<Down> down_queue_;
    bool ready_ = false;
    bool started_ = false;
    Micros start_;
    Micros sent_{-1'000'000};
    std::uint64_t ack_ = 0;
    std::uint64_t received_ = 0;
};

std::function<Micros(Micros)> constant(std::int64_t ms) {
    return [ms](Micros) { return milliseconds(ms); };
}

std::function<Micros(Micros)> step(std::int64_t before_ms, std::int64_t after_ms, Micros at) {
    return [=](Micros now) { return milliseconds(now < at ? before_ms : after_ms); };
}

} // namespace

TEST_CASE("delay starts with round trip and two ticks, and nothing is ever late on a steady link",
          "[net][client][delay]") {
    DelayWorld world({constant(45), {}, 0}, {constant(45), {}, 0});
    CHECK(world.feed.delay() == 6 + 2);
    world.run_until(seconds(20));
    CHECK(world.substituted == 0);
    CHECK(world.delays.size() <= 2); // It may give back one tick.
    CHECK(world.least_margin_us(600) >= world.period.value / 2);
    CHECK(world.least_margin_us(600) <= 3 * world.period.value);
}

TEST_CASE("delay settles within two seconds after each step of latency and does not oscillate",
          "[net][client][delay]") {
    TWINSTEP_SHOW_SEED();
    const auto after_ms = GENERATE(60, 80, 120, 160, 220);
    const auto downwards = GENERATE(false, true);
    CAPTURE(after_ms, downwards);
    Way up{constant(30), {}, 0};
    Way down{constant(30), {}, 0};
    (downwards ? down : up).delay = step(30, after_ms, seconds(10));
    DelayWorld world(up, down);
    world.run_until(seconds(10));
    const std::uint16_t before = world.feed.delay();
    const std::uint64_t late_before = world.substituted;
    world.run_until(seconds(12));
    const std::uint64_t late_settling = world.substituted - late_before;
    const std::size_t changes = world.delays.size();
    const std::uint16_t settled = world.feed.delay();
    world.run_until(seconds(16));
    // Nothing was late any more, and the delay stood still.
    CHECK(world.substituted == late_before + late_settling);
    CHECK(world.delays.size() == changes);
    world.run_until(seconds(60));
    CHECK(world.substituted == late_before + late_settling);
    CHECK(world.delays.size() <= changes + 2); // It may give back what it raised too far.
    CHECK(world.least_margin_us(600) >= world.period.value / 2);
    CHECK(world.least_margin_us(600) <= 3 * world.period.value);
    if (!downwards) {
        const auto missing = static_cast<int>((after_ms - 30) * 1000 / world.period.value);
        CHECK(settled - before >= missing - 2);
        CHECK(settled - before <= missing + 1);
    }
    CHECK_FALSE(world.skipped);
}

TEST_CASE("clocks that run apart change neither margin nor delay in the long run",
          "[net][client][delay]") {
    // 20 minutes at 1,000 ppm are 72 ticks: an hour and a half of what cheap crystals do, tenfold.
    DelayWorld world({constant(30), {}, 0}, {constant(30), {}, 0});
    world.clock_ppm = GENERATE(-1'000, 1'000);
    CAPTURE(world.clock_ppm);
    world.run_until(seconds(60));
    const int before = world.feed.delay();
    const std::uint64_t late = world.substituted;
    world.run_until(seconds(20 * 60));
    CHECK(world.substituted <= late + 2);
    CHECK(world.least_margin_us(600) >= 0);
    CHECK(world.least_margin_us(600) <= 3 * world.period.value);
    CHECK(std::abs(world.feed.delay() - before) <= 2);
    const auto lead = static_cast<std::int64_t>(world.feed.window().next() - world.next);
    CHECK(lead <= before + 2);
}

TEST_CASE("delay comes down after the latency did", "[net][client][delay]") {
    DelayWorld world({step(120, 30, seconds(10)), {}, 0}, {constant(30), {}, 0});
    world.run_until(seconds(10));
    const std::uint16_t before = world.feed.delay();
    world.run_until(seconds(40));
    CHECK(world.substituted == 0);
    CHECK(before - world.feed.delay() >= 4);
    CHECK(world.least_margin_us(300) >= world.period.value / 2);
    CHECK(world.least_margin_us(300) <= 3 * world.period.value);
    CHECK_FALSE(world.skipped);
}

TEST_CASE("delay stands still under jitter and loss once it has found the worst of it",
          "[net][client][delay]") {
    TWINSTEP_SHOW_SEED();
    for (std::uint64_t run = 0; run < 8; ++run) {
        CAPTURE(run);
        DelayWorld world({constant(40), milliseconds(20), 5},
                         {constant(40), milliseconds(20), 5},
                         test_seed() + run);
        world.run_until(seconds(30));
        const std::size_t changes = world.delays.size();
        world.run_until(seconds(90));
        // At most one change in ten seconds, and hardly anything is late.
        CHECK(world.delays.size() - changes <= 6);
        CHECK(world.substituted * 200 <= world.next);
        CHECK_FALSE(world.skipped);
    }
}

TEST_CASE("every press is in at least one tick, whatever the delay does", "[net][client][delay]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::vector<Micros> levels;
    for (int i = 0; i < 40; ++i) {
        levels.push_back(milliseconds(static_cast<std::int64_t>(20 + random.below(120))));
    }
    const auto wandering = [levels](Micros now) {
        return levels[static_cast<std::size_t>(now.value / 3'000'000) % levels.size()];
    };
    DelayWorld world({wandering, milliseconds(5), 2}, {constant(30), milliseconds(5), 2});
    // Each sample is a press with its own number. Two that are merged get a new number, which
    // stands for both.
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> merged_from;
    std::uint32_t presses = 0;
    constexpr std::uint32_t first_merged = 1'000'000;
    world.feed.set_merge([&](ByteView earlier, ByteView later, Bytes& merged) {
        const auto number = static_cast<std::uint32_t>(first_merged + merged_from.size());
        merged_from[number] = {number_of(earlier), number_of(later)};
        merged = value_of(number);
    });
    world.sample = [&] { return ++presses; };
    world.run_until(seconds(110));
    const std::uint32_t pressed = presses;
    world.run_until(seconds(111)); // What is on its way arrives.
    std::set<std::uint32_t> seen;
    const std::function<void(std::uint32_t)> see = [&](std::uint32_t number) {
        if (number >= first_merged) {
            see(merged_from.at(number).first);
            see(merged_from.at(number).second);
        } else {
            seen.insert(number);
        }
    };
    for (const auto& [tick, number] : world.heard) {
        see(number);
    }
    CHECK(world.delays.size() > 5);
    CHECK_FALSE(merged_from.empty()); // Otherwise nothing was checked.
    std::uint32_t lost = 0;
    for (std::uint32_t press = 1; press <= pressed; ++press) {
        lost += seen.contains(press) ? 0U : 1U;
    }
    CHECK(lost == 0);
    CHECK_FALSE(world.skipped);
    // Ticks are consecutive from the first to the last one.
    const std::uint64_t first = world.heard.begin()->first;
    CHECK(world.heard.rbegin()->first - first + 1 == world.heard.size());
}

TEST_CASE("a machine that stood still comes back with hardly more delay", "[net][client][delay]") {
    DelayWorld world({constant(40), {}, 0}, {constant(40), {}, 0});
    world.run_until(seconds(10));
    const std::uint16_t before = world.feed.delay();
    world.frozen = true;
    world.run_until(seconds(13));
    world.frozen = false;
    world.run_until(seconds(14));
    const std::uint64_t late = world.substituted;
    CHECK(late > 100);
    world.run_until(seconds(30));
    CHECK(world.substituted == late);
    CHECK(world.feed.delay() <= before + 3); // The grace of the server, given back slowly.
    CHECK(world.least_margin_us(600) >= world.period.value / 2);
    CHECK_FALSE(world.skipped);
}

TEST_CASE("an outage of both ways leaves no lasting delay behind", "[net][client][delay]") {
    bool dead = false;
    const auto with_outage = [&dead](Micros) { return dead ? seconds(1000) : milliseconds(40); };
    DelayWorld world({with_outage, {}, 0}, {with_outage, {}, 0});
    const auto outage = GENERATE(400, 1000, 5000);
    CAPTURE(outage);
    world.run_until(seconds(10));
    const std::uint16_t before = world.feed.delay();
    dead = true;
    world.run_until(seconds(10) + milliseconds(outage));
    dead = false;
    world.run_until(seconds(16));
    const std::uint64_t late = world.substituted;
    world.run_until(seconds(40));
    CHECK(world.substituted == late);
    CHECK(*std::max_element(world.delays.begin(), world.delays.end()) <= before + 3);
    CHECK(world.least_margin_us(600) >= world.period.value / 2);
    CHECK_FALSE(world.skipped);
}

TEST_CASE("while the match stands, no input is given beyond the delay", "[net][client][delay]") {
    DelayWorld world({constant(40), {}, 0}, {constant(40), {}, 0});
    world.run_until(seconds(5));
    world.standing = true;
    world.feed.set_standing(true);
    const std::uint64_t samples = world.samples;
    world.run_until(seconds(8));
    CHECK(world.samples - samples <= 8);
    CHECK(world.feed.window().next() <= world.next + world.feed.delay() + 1);
    CHECK(world.feed.next_wake() == never);
}

TEST_CASE("with 128 inputs unacknowledged nothing more is sampled and nothing is lost",
          "[net][client][delay]") {
    InputFeed feed;
    FeedSettings settings;
    settings.rate = TickRate(50);
    settings.round_trip = milliseconds(10);
    feed.configure(Micros{0}, settings, value_of(0));
    feed.on_ticks(Micros{0}, {1, 1, 30});
    std::uint32_t number = 0;
    Micros now;
    for (int i = 0; i < 400; ++i) {
        now = now + milliseconds(20);
        feed.advance(now);
        for (std::uint64_t wanted = feed.wanted(now); wanted > 0; --wanted) {
            feed.give(value_of(++number));
        }
    }
    // Nobody acknowledges and no tick comes: the lead of 64 ticks stops it first.
    CHECK(feed.window().count() <= 128);
    CHECK(feed.wanted(now) == 0);
    CHECK(number <= 128);
    // Ticks come, the acknowledgement does not.
    for (std::uint64_t received = 2; received < 400; ++received) {
        now = now + milliseconds(20);
        feed.on_ticks(now, {received, 1, 30});
        for (std::uint64_t wanted = feed.wanted(now); wanted > 0; --wanted) {
            feed.give(value_of(++number));
        }
    }
    CHECK(feed.is_full());
    CHECK(feed.window().count() == 128);
    CHECK(feed.window().first() == 1);
    CHECK(feed.wanted(now) == 0);
    CHECK(feed.next_wake() == never);
    for (std::uint64_t tick = 4; tick < feed.window().next(); ++tick) {
        CHECK(number_of(feed.window().at(tick)) == number_of(feed.window().at(tick - 1)) + 1);
    }
}
