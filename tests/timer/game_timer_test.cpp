// SPDX-License-Identifier: MIT
// GameTimer: reset, tick, pause, rebase, clamp and the lines of time.
#include "seeded.hpp"
#include "throwing_contract.hpp"
#include "usual.hpp"

#include <twinstep/timer/game_timer.hpp>

#include <catch2/catch.hpp>

#include <cstdint>

using namespace twinstep::timer;
using namespace timer_test;

namespace {

constexpr std::int64_t second = 10'000'000;

struct Fixture {
    ManualCounter counter{second, 4'321};
    GameTimer timer{counter};

    void tick_after(std::int64_t counts) {
        counter.advance(counts);
        timer.tick();
    }
};

} // namespace

TEST_CASE_METHOD(Fixture, "a fresh timer and a reset timer hold the same state", "[timer][unit]") {
    for (int i = 0; i < 300; ++i) {
        tick_after(t60);
    }
    tick_after(-5);
    timer.stop();
    tick_after(second);
    timer.start();
    timer.rebase(RebaseReason::loading);
    timer.stop();
    timer.reset();
    const GameTimer fresh(counter);
    CHECK(timer.state() == fresh.state());
    CHECK_FALSE(timer.is_stopped());
    CHECK(timer.frame_number() == 0);
    CHECK(timer.recent_size() == 0);
}

TEST_CASE_METHOD(Fixture, "the first delta after a reset is the frame alone", "[timer][unit]") {
    counter.set(9'000'000'000'000'000);
    timer.reset();
    CHECK(timer.total_time_counts() == 0);
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.delta_counts() == t60);
}

TEST_CASE_METHOD(Fixture,
                 "reset may start a time line earlier than the last one",
                 "[timer][unit]") {
    tick_after(second);
    counter.set(0);
    timer.reset();
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.total_time_counts() == t60);
    CHECK(timer.regressions() == 0);
}

TEST_CASE_METHOD(Fixture,
                 "stop twice keeps the first stop and start twice adds one pause",
                 "[timer][unit]") {
    tick_after(second);
    timer.stop();
    const std::int64_t stopped_at = timer.state().stop;
    counter.advance(100);
    timer.stop();
    CHECK(timer.state().stop == stopped_at);
    counter.advance(900);
    timer.start();
    CHECK(timer.paused_counts() == 1'000);
    counter.advance(500);
    timer.start();
    CHECK(timer.paused_counts() == 1'000);
    timer.tick();
    CHECK(timer.raw_delta_counts() == 500);
}

TEST_CASE_METHOD(Fixture, "the first delta after a minute's pause is one frame", "[timer][unit]") {
    tick_after(t60);
    timer.stop();
    counter.advance(60 * second);
    timer.start();
    CHECK(timer.raw_delta_counts() == 0);
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.total_time_counts() == 2 * t60);
    CHECK(timer.elapsed_since_reset_counts() == 60 * second + 2 * t60);
}

TEST_CASE_METHOD(Fixture, "pauses add up until a reset", "[timer][unit]") {
    for (int i = 0; i < 40; ++i) {
        tick_after(t60);
        timer.stop();
        counter.advance(3 * second);
        timer.start();
    }
    CHECK(timer.paused_counts() == 120 * second);
    CHECK(timer.total_time_counts() == 40 * t60);
    timer.reset();
    CHECK(timer.paused_counts() == 0);
}

TEST_CASE_METHOD(Fixture,
                 "a stopped tick is no frame and is not made up for later",
                 "[timer][unit]") {
    tick_after(t60);
    timer.stop();
    for (int i = 0; i < 10; ++i) {
        tick_after(t60);
        CHECK(timer.raw_delta_counts() == 0);
        CHECK(timer.delta_seconds() == 0.0);
        CHECK(timer.total_time_counts() == t60);
        CHECK(timer.total_time_now_counts() == t60);
        CHECK(timer.elapsed_since_reset_counts() == t60 + (i + 1) * t60);
    }
    CHECK(timer.frame_number() == 1);
    CHECK(timer.recent_size() == 1);
    timer.start();
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.frame_number() == 2);
}

TEST_CASE_METHOD(Fixture,
                 "the clamp shortens the delta, never the raw delta or the total",
                 "[timer][unit]") {
    tick_after(27'000'000);
    CHECK(timer.raw_delta_seconds() == 2.7);
    CHECK(timer.delta_seconds() == 0.25);
    CHECK(timer.frame_time_seconds() == timer.delta_seconds());
    CHECK(timer.total_time_seconds() == 2.7);
}

TEST_CASE_METHOD(Fixture, "a clock that jumps back an hour moves nothing", "[timer][unit]") {
    tick_after(t60);
    tick_after(-3'600 * second);
    CHECK(timer.raw_delta_counts() == 0);
    CHECK(timer.total_time_counts() == t60);
    CHECK(timer.regressions() == 1);
    tick_after(3'600 * second + t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.total_time_counts() == 2 * t60);
    CHECK(timer.regressions() == 1);
}

TEST_CASE_METHOD(Fixture,
                 "latched values hold still until the tick and live ones do not",
                 "[timer][unit]") {
    tick_after(t60);
    counter.advance(500);
    CHECK(timer.total_time_counts() == t60);
    CHECK(timer.total_time_now_counts() == t60 + 500);
    CHECK(timer.total_time_now_seconds() == timer.seconds(t60 + 500));
    CHECK(timer.elapsed_since_reset_counts() == t60);
    CHECK(timer.elapsed_since_reset_now_counts() == t60 + 500);
    counter.advance(-5'000);
    CHECK(timer.total_time_now_counts() == t60); // never below the latched value
    CHECK(timer.regressions() == 0);             // a query changes nothing
}

TEST_CASE_METHOD(Fixture,
                 "total time is frozen in a pause and continuous around it",
                 "[timer][unit]") {
    tick_after(t60);
    counter.advance(700);
    timer.stop();
    CHECK(timer.total_time_counts() == t60 + 700);
    CHECK(timer.forgone_counts() == 700);
    counter.advance(second);
    CHECK(timer.total_time_now_counts() == t60 + 700);
    timer.start();
    CHECK(timer.total_time_counts() == t60 + 700);
    CHECK(timer.total_time_now_counts() == t60 + 700);
    timer.stop();
    timer.start();
    CHECK(timer.total_time_counts() == t60 + 700);
}

TEST_CASE_METHOD(Fixture, "rebase forgives a gap without breaking the time line", "[timer][unit]") {
    tick_after(t60);
    counter.advance(5 * second);
    timer.rebase(RebaseReason::monitor_change);
    CHECK(timer.total_time_counts() == t60 + 5 * second);
    CHECK(timer.forgone_counts() == 5 * second);
    CHECK(timer.raw_delta_counts() == 0);
    CHECK(timer.state().last_rebase == RebaseReason::monitor_change);
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    counter.advance(7 * second);
    timer.rebase(RebaseReason::debugger, GapBooking::paused);
    CHECK(timer.total_time_counts() == 2 * t60 + 5 * second);
    CHECK(timer.paused_counts() == 7 * second);
    CHECK(timer.state().rebases == 2);
    tick_after(t60);
    CHECK(timer.raw_delta_counts() == t60);
    CHECK(timer.total_time_counts() == 3 * t60 + 5 * second);
}

TEST_CASE_METHOD(Fixture, "rebase in a pause leaves the pause whole", "[timer][unit]") {
    tick_after(t60);
    timer.stop();
    counter.advance(second);
    timer.rebase(RebaseReason::suspend, GapBooking::paused);
    counter.advance(second);
    timer.start();
    CHECK(timer.paused_counts() == 2 * second);
    CHECK(timer.total_time_counts() == t60);
}

TEST_CASE_METHOD(Fixture, "the ring gives the last raw deltas, newest first", "[timer][unit]") {
    const timer_test::ThrowingContract guard;
    CHECK_THROWS_AS(timer.recent_raw_counts(0), timer_test::ContractBroken);
    for (std::int64_t i = 1; i <= 1'000; ++i) {
        tick_after(i);
    }
    REQUIRE(timer.recent_size() == GameTimerState::ring_size);
    for (std::size_t age = 0; age < timer.recent_size(); ++age) {
        REQUIRE(timer.recent_raw_counts(age) == 1'000 - static_cast<std::int64_t>(age));
    }
    CHECK_THROWS_AS(timer.recent_raw_counts(timer.recent_size()), timer_test::ContractBroken);
    CHECK(timer.frame_number() == 1'000);
}

TEST_CASE_METHOD(Fixture, "two ticks with one frame number are caught", "[timer][unit]") {
    const timer_test::ThrowingContract guard;
    timer.tick_frame(0);
    timer.tick_frame(1);
    CHECK_THROWS_AS(timer.tick_frame(1), timer_test::ContractBroken);
    CHECK(timer.frame_number() == 2);
    timer.tick_frame(2);
    timer.reset();
    timer.tick_frame(2);
    CHECK(timer.frame_number() == 1);
}

TEST_CASE("counts become seconds with an error below one count after thirty days",
          "[timer][unit]") {
    for (const std::int64_t frequency : timer_test::frequencies_hz) {
        CAPTURE(frequency);
        ManualCounter counter(frequency);
        GameTimer timer(counter);
        const std::int64_t month = 30LL * 86'400 * frequency;
        counter.advance(month + 1);
        timer.tick();
        const double whole = timer.total_time_seconds() - 30.0 * 86'400.0;
        CHECK(whole * static_cast<double>(frequency) == Approx(1.0).margin(0.999));
    }
}

TEST_CASE("a clamp that cannot work is refused by name", "[timer][unit]") {
    ManualCounter counter(1'000);
    const auto refused = [&counter](Rational clamp) {
        const auto timer = GameTimer::create(counter, {.max_delta_seconds = clamp});
        REQUIRE_FALSE(timer);
        CHECK(timer.error().field == "max_delta_seconds");
        return timer.error().fault;
    };
    CHECK(refused({0, 1}) == ConfigFault::clamp_not_positive);
    CHECK(refused({-1, 4}) == ConfigFault::clamp_not_positive);
    CHECK(refused({1, 0}) == ConfigFault::clamp_not_positive);
    CHECK(refused({1, 1'001}) == ConfigFault::clamp_not_positive);
    CHECK(refused({INT64_MAX, 1}) == ConfigFault::overflow);
    const auto timer = GameTimer::create(counter, {.max_delta_seconds = {1, 10}});
    REQUIRE(timer);
    CHECK(timer->max_delta_counts() == 100);
}
