// SPDX-License-Identifier: MIT
// Counter sources: the machine's, the fallback, the manual one, and the contract handler.
#include "throwing_contract.hpp"

#include <twinstep/timer/counter.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <catch2/catch.hpp>

#include <cstdint>

using namespace twinstep::timer;

TEST_CASE("the machine's counters never go backwards on one thread", "[timer][unit]") {
    SystemCounter system;
    SteadyCounter steady;
    CounterSource* const sources[] = {&system, &steady};
    for (CounterSource* const source : sources) {
        REQUIRE(source->frequency_hz() > 0);
        std::int64_t before = source->counts();
        std::int64_t backwards = 0;
        bool moved = false;
        for (int i = 0; i < 1'000'000; ++i) {
            const std::int64_t now = source->counts();
            backwards += now < before ? 1 : 0;
            moved = moved || now > before;
            before = now;
        }
        CHECK(backwards == 0);
        CHECK(moved);
        CHECK(before >= 0);
        CHECK(before <= counts_max);
    }
}

TEST_CASE("a timer asks for the frequency once and for the count once a tick", "[timer][unit]") {
    ManualCounter counter(10'000'000);
    GameTimer timer(counter);
    CHECK(counter.frequency_reads() == 1);
    CHECK(counter.reads() == 1); // construction ends with a reset
    for (std::uint64_t i = 1; i <= 1'000; ++i) {
        counter.advance(1'000);
        timer.tick();
        REQUIRE(counter.reads() == 1 + i);
    }
    timer.stop();
    const std::uint64_t reads = counter.reads();
    timer.tick();
    CHECK(counter.reads() == reads + 1); // a stopped tick moves the wall line
    static_cast<void>(timer.delta_seconds());
    static_cast<void>(timer.raw_delta_seconds());
    static_cast<void>(timer.total_time_seconds());
    static_cast<void>(timer.elapsed_since_reset_seconds());
    CHECK(counter.reads() == reads + 1); // queries are latched
    CHECK(counter.frequency_reads() == 1);
    timer.start();
    timer.reset();
    CHECK(counter.frequency_reads() == 1);
}

TEST_CASE("a source without a frequency is replaced by the steady clock", "[timer][unit]") {
    for (const std::int64_t frequency : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
        CAPTURE(frequency);
        ManualCounter broken(frequency);
        GameTimer timer(broken);
        CHECK(timer.clock_kind() == ClockKind::steady_fallback);
        CHECK(timer.frequency_hz() == SteadyCounter().frequency_hz());
        timer.tick();
        CHECK(timer.delta_seconds() >= 0.0);
        CHECK(timer.delta_seconds() <= 0.25);
        CHECK(broken.reads() == 0);
        CHECK(broken.frequency_reads() == 1);
    }
}

TEST_CASE("a timer of its own reads the machine's counter", "[timer][unit]") {
    GameTimer timer;
    CHECK(timer.clock_kind() == ClockKind::system);
    CHECK(timer.frequency_hz() == SystemCounter().frequency_hz());
    SystemCounter counter;
    const std::int64_t before = counter.counts();
    timer.reset();
    timer.tick();
    CHECK(timer.state().base >= before);
    CHECK(timer.state().high_water <= counter.counts());
}

TEST_CASE("a manual counter stays within its range and says so", "[timer][unit]") {
    const timer_test::ThrowingContract guard;
    ManualCounter counter(1, counts_max);
    CHECK_THROWS_AS(counter.advance(1), timer_test::ContractBroken);
    CHECK_THROWS_AS(counter.advance(INT64_MAX), timer_test::ContractBroken);
    CHECK(counter.counts() == counts_max);
    counter.advance(-2 * counts_max);
    CHECK(counter.counts() == -counts_max);
    CHECK_THROWS_AS(counter.advance(-1), timer_test::ContractBroken);
    CHECK_THROWS_AS(counter.advance(INT64_MIN), timer_test::ContractBroken);
    CHECK_THROWS_AS(counter.set(INT64_MIN), timer_test::ContractBroken);
    CHECK_THROWS_AS(ManualCounter(1, INT64_MAX), timer_test::ContractBroken);
}

namespace {

struct WildCounter final : CounterSource {
    std::int64_t value = 0;

    std::int64_t counts() override { return value; }

    std::int64_t frequency_hz() override { return 1'000; }
};

} // namespace

TEST_CASE("a source that leaves the range is a broken contract, not an overflow", "[timer][unit]") {
    const timer_test::ThrowingContract guard;
    WildCounter wild;
    GameTimer timer(wild);
    wild.value = INT64_MAX;
    CHECK_THROWS_AS(timer.tick(), timer_test::ContractBroken);
    wild.value = INT64_MIN;
    CHECK_THROWS_AS(timer.tick(), timer_test::ContractBroken);
    wild.value = 5;
    timer.tick();
    CHECK(timer.raw_delta_counts() == 5);
}

TEST_CASE("the widest span of counts is measured without overflow", "[timer][unit]") {
    ManualCounter counter(1'000'000'000, -counts_max);
    GameTimer timer(counter);
    counter.set(counts_max);
    timer.tick();
    CHECK(timer.raw_delta_counts() == 2 * counts_max);
    CHECK(timer.total_time_counts() == 2 * counts_max);
    CHECK(timer.delta_counts() == 250'000'000);
    counter.set(-counts_max);
    timer.tick();
    CHECK(timer.raw_delta_counts() == 0);
    CHECK(timer.regressions() == 1);
}
