// SPDX-License-Identifier: MIT
// FixedStep: limits, overload modes, phase, scale, alpha, refusals and the ledger's identity.
#include "throwing_contract.hpp"
#include "usual.hpp"

#include <twinstep/timer/fixed_step.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace twinstep::timer;
using namespace timer_test;

namespace {

FixedStep make(const FixedStepConfig& config) {
    auto step = FixedStep::create(config);
    REQUIRE(step);
    return *step;
}

ConfigFault fault_of(const FixedStepConfig& config) {
    const auto step = FixedStep::create(config);
    REQUIRE_FALSE(step);
    CHECK_FALSE(step.error().field.empty());
    CHECK_FALSE(step.error().reason().empty());
    return step.error().fault;
}

} // namespace

TEST_CASE("the price of a step is reduced by the common divisor", "[timer][unit]") {
    const FixedStep step = make(usual());
    CHECK(step.terms().weight == 3);
    CHECK(step.terms().cost == 500'000LL * 65'536);
    CHECK(step.step_seconds() == 1.0 / 60.0);
    CHECK(step.lowest_frame_rate_hz() == 7.5);

    auto config = usual();
    config.rate_hz = {120, 2};
    CHECK(make(config).rate_hz() == Rational{60, 1});
    CHECK(make(config).terms().cost == step.terms().cost);
}

TEST_CASE("running exactly the cap with nothing owed is no overload", "[timer][unit]") {
    FixedStep step = make(usual());
    CHECK(step.advance(1'333'334) == FrameSteps{8, 0, 0, 0});
    CHECK(step.ledger().overload_frames == 0);
    CHECK(step.advance(1'500'000) == FrameSteps{8, 1, 0, 0});
    CHECK(step.ledger().overload_frames == 1);
}

TEST_CASE("clamp and cap are reported apart and runs of overload are counted", "[timer][unit]") {
    FixedStep step = make(usual());
    CHECK(step.advance(27'000'000) == FrameSteps{8, 7, 24'500'000, 0});
    CHECK(step.ledger().clamped_frames == 1);
    CHECK(step.ledger().overload_frames == 1);
    CHECK(step.advance(2'500'000) == FrameSteps{8, 7, 0, 0});
    CHECK(step.ledger().clamped_frames == 1);
    CHECK(step.ledger().overload_run_frames == 2);
    CHECK(step.advance(0) == FrameSteps{});
    CHECK(step.ledger().overload_run_frames == 0);
    CHECK(step.ledger().overload_frames == 2);
    CHECK(step.ledger().frames == 3);
    CHECK(step.ledger().dropped_counts == 24'500'000);
    CHECK(step.ledger().dropped_steps == 14);
}

TEST_CASE("lockstep owes what real time drops, and runs it later", "[timer][unit]") {
    auto config = usual();
    config.overload = Overload::lockstep_owes_steps;
    FixedStep step = make(config);
    CHECK(step.advance(2'500'000) == FrameSteps{8, 0, 0, 7});
    CHECK(step.advance(t60) == FrameSteps{8, 0, 0, 0});
    CHECK(step.ledger().steps == 16);
    CHECK(step.ledger().dropped_steps == 0);
    CHECK(step.ledger().overload_frames == 1);
    CHECK(step.alpha() < 1e-5);
    CHECK(step.advance(2'500'000) == FrameSteps{8, 0, 0, 7});
    CHECK(step.advance(0) == FrameSteps{7, 0, 0, 0});
}

TEST_CASE("half a phase starts at alpha one half and is part of the identity", "[timer][unit]") {
    auto config = usual();
    config.phase = Phase::half;
    FixedStep step = make(config);
    CHECK(step.alpha() == 0.5);
    CHECK(step.advance(83'333).steps == 0);
    CHECK(step.advance(1).steps == 1);
    step.reset();
    CHECK(step.alpha() == 0.5);
    CHECK(is_balanced(step.ledger(), step.terms()));
}

TEST_CASE("alpha as float stays below one where rounding would reach it", "[timer][unit]") {
    FixedStepConfig config;
    config.frequency_hz = 2'200'000'000;
    config.rate_hz = {1, 1};
    config.max_frame_seconds = {2, 1};
    FixedStep step = make(config);
    CHECK(step.advance(2'199'999'999).steps == 0);
    const auto naive = static_cast<float>(static_cast<double>(step.ledger().residue) /
                                          static_cast<double>(step.terms().cost));
    CHECK(naive == 1.0F);
    CHECK(step.alpha() < 1.0);
    CHECK(step.alpha_float() < 1.0F);
    CHECK(step.alpha_float() == std::nextafter(1.0F, 0.0F));
    CHECK(step.advance(1).steps == 1);
    CHECK(step.alpha() == 0.0);
    CHECK(step.alpha_float() == 0.0F);
}

TEST_CASE("alpha as double stays below one where rounding would reach it", "[timer][unit]") {
    FixedStepConfig config;
    config.frequency_hz = 4'000'000'000'001;
    config.rate_hz = {1, 1};
    config.max_frame_seconds = {1, 1};
    FixedStep step = make(config);
    REQUIRE(step.set_time_scale_q16(65'535));
    CHECK(step.advance(4'000'000'000'001).steps == 0);
    REQUIRE(step.set_time_scale_q16(time_scale_min_q16));
    const std::int64_t left = step.terms().cost - step.ledger().residue;
    CHECK(step.advance((left - 1) / time_scale_min_q16).steps == 0);
    CHECK(step.alpha() < 1.0);
    CHECK(step.alpha_float() < 1.0F);
}

TEST_CASE("the scale multiplies the intake and a change of it loses nothing", "[timer][unit]") {
    FixedStep step = make(usual());
    REQUIRE(step.set_time_scale(2.0));
    CHECK(step.advance(t60).steps == 2);
    REQUIRE(step.set_time_scale(0.5));
    CHECK(step.advance(t60).steps == 0);
    CHECK(step.advance(t60).steps == 1);

    // A scale of 7/65536 over a half, changed in each frame, against the sum done by hand.
    FixedStep wobbling = make(usual());
    std::int64_t intake = 0;
    for (std::int32_t i = 0; i < 10'000; ++i) {
        const std::int32_t scale = 32'768 + i * 7;
        REQUIRE(wobbling.set_time_scale_q16(scale));
        intake += t60 * 3 * scale;
        static_cast<void>(wobbling.advance(t60));
    }
    const std::int64_t cost = wobbling.terms().cost;
    CHECK(wobbling.ledger().steps == static_cast<std::uint64_t>(intake / cost));
    CHECK(wobbling.ledger().residue == intake % cost);
}

TEST_CASE("the scale is clamped to 0.1..4 and nonsense is refused", "[timer][unit]") {
    CHECK(time_scale_to_q16(0.0) == time_scale_min_q16);
    CHECK(time_scale_to_q16(0.1) == time_scale_min_q16);
    CHECK(time_scale_to_q16(1.0) == time_scale_one_q16);
    CHECK(time_scale_to_q16(1.5) == 98'304);
    CHECK(time_scale_to_q16(4.0) == time_scale_max_q16);
    CHECK(time_scale_to_q16(100.0) == time_scale_max_q16);
    CHECK(time_scale_to_q16(1e300) == time_scale_max_q16);
    CHECK(time_scale_to_q16(-0.0) == time_scale_min_q16);
    FixedStep step = make(usual());
    for (const double factor : {std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                -1.0}) {
        const auto refused = step.set_time_scale(factor);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().fault == ConfigFault::scale_not_usable);
        CHECK(step.time_scale_q16() == time_scale_one_q16);
    }
    CHECK_FALSE(step.set_time_scale_q16(time_scale_min_q16 - 1));
    CHECK_FALSE(step.set_time_scale_q16(time_scale_max_q16 + 1));
}

TEST_CASE("configurations that cannot work are refused with a reason", "[timer][unit]") {
    const auto with = [](auto change) {
        auto config = usual();
        change(config);
        return fault_of(config);
    };
    using C = FixedStepConfig;
    CHECK(fault_of({}) == ConfigFault::frequency_not_positive);
    CHECK(with([](C& c) { c.frequency_hz = -5; }) == ConfigFault::frequency_not_positive);
    CHECK(with([](C& c) { c.rate_hz = {0, 1}; }) == ConfigFault::rate_not_positive);
    CHECK(with([](C& c) { c.rate_hz = {-60, 1}; }) == ConfigFault::rate_not_positive);
    CHECK(with([](C& c) { c.rate_hz = {60, 0}; }) == ConfigFault::rate_not_positive);
    CHECK(with([](C& c) { c.rate_hz = {-60, -1}; }) == ConfigFault::rate_not_positive);
    CHECK(with([](C& c) { c.max_steps = 0; }) == ConfigFault::cap_below_one);
    CHECK(with([](C& c) { c.max_steps = -1; }) == ConfigFault::cap_below_one);
    CHECK(with([](C& c) { c.max_frame_seconds = {0, 1}; }) == ConfigFault::clamp_not_positive);
    CHECK(with([](C& c) { c.max_frame_seconds = {1, -4}; }) == ConfigFault::clamp_not_positive);
    CHECK(with([](C& c) { c.max_frame_seconds = {1, 61}; }) == ConfigFault::clamp_below_step);
    CHECK(with([](C& c) { c.rate_hz = {3, 1}; }) == ConfigFault::clamp_below_step);
    CHECK(with([](C& c) { c.time_scale_q16 = 0; }) == ConfigFault::scale_not_usable);
    CHECK(with([](C& c) { c.frequency_hz = INT64_MAX; }) == ConfigFault::overflow);
    CHECK(with([](C& c) { c.rate_hz = {1, INT64_MAX}; }) == ConfigFault::overflow);
    CHECK(with([](C& c) { c.rate_hz = {INT64_MAX, 1}; }) == ConfigFault::overflow);
    CHECK(with([](C& c) { c.max_frame_seconds = {INT64_MAX, 1}; }) == ConfigFault::overflow);
    // Fits at normal speed, not at four times the speed.
    CHECK(with([](C& c) { c.max_frame_seconds = {1'500'000, 1}; }) == ConfigFault::overflow);
}

TEST_CASE("a clamp of exactly one step is accepted", "[timer][unit]") {
    FixedStepConfig config;
    config.frequency_hz = 60'000;
    config.max_frame_seconds = {1, 60};
    FixedStep step = make(config);
    CHECK(step.advance(5'000) == FrameSteps{1, 0, 4'000, 0});
}

TEST_CASE("a negative frame is a broken contract", "[timer][unit]") {
    const timer_test::ThrowingContract guard;
    FixedStep step = make(usual());
    CHECK_THROWS_AS(step.advance(-1), timer_test::ContractBroken);
    CHECK(step.ledger().frames == 0);
}

TEST_CASE("frames of the greatest size keep the ledger balanced", "[timer][unit]") {
    FixedStep step = make(usual());
    for (int i = 0; i < 1'000; ++i) {
        const FrameSteps frame = step.advance(INT64_MAX);
        REQUIRE(frame.steps == 8);
        REQUIRE(frame.dropped_counts == INT64_MAX - 2'500'000);
    }
    CHECK(is_balanced(step.ledger(), step.terms()));
}

TEST_CASE("the identity notices one unit of damage in any account", "[timer][fault]") {
    auto config = usual();
    config.overload = Overload::lockstep_owes_steps;
    FixedStep step = make(config);
    static_cast<void>(step.advance(t60));
    static_cast<void>(step.advance(27'000'000));
    const LedgerTerms terms = step.terms();
    const Ledger sound = step.ledger();
    REQUIRE(is_balanced(sound, terms));
    const auto damaged = [&](auto change) {
        Ledger ledger = sound;
        change(ledger);
        return !is_balanced(ledger, terms);
    };
    CHECK(damaged([](Ledger& l) { ++l.scaled_raw; }));
    CHECK(damaged([](Ledger& l) { ++l.scaled_dropped; }));
    CHECK(damaged([](Ledger& l) { ++l.steps; }));
    CHECK(damaged([](Ledger& l) { --l.steps; }));
    CHECK(damaged([](Ledger& l) { ++l.dropped_steps; }));
    CHECK(damaged([](Ledger& l) { ++l.owed_steps; }));
    CHECK(damaged([](Ledger& l) { ++l.residue; }));
    // A step hidden in the residue balances the sum, not the range.
    CHECK(damaged([&](Ledger& l) {
        --l.steps;
        l.residue += terms.cost;
    }));
    CHECK(damaged([&](Ledger& l) {
        ++l.steps;
        l.residue -= terms.cost;
    }));
}
