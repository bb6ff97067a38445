// SPDX-License-Identifier: MIT
// FixedStep and GameTimer against independent models in 128-bit integers.
#include "seeded.hpp"

#include <twinstep/timer/fixed_step.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

using namespace twinstep::timer;
using timer_test::frequencies_hz;
using timer_test::Random;

namespace {

__extension__ using Wide = __int128;

/// Total steps due, from the definition: floor(counts * num / (freq * den) + phase).
std::uint64_t steps_due(Wide counts, std::int64_t frequency, Rational rate, Phase phase) {
    const Wide cost = Wide{frequency} * rate.den * 2;
    const Wide half = phase == Phase::half ? cost / 2 : 0;
    return static_cast<std::uint64_t>((counts * rate.num * 2 + half) / cost);
}

/// The accumulator by the book, without reduction by gcd and without 64-bit cares.
struct Oracle {
    Wide cost;
    Wide residue;
    Wide num;
    Wide clamp;
    Wide cap;
    Wide owed = 0;
    bool owes;

    explicit Oracle(const FixedStepConfig& config)
        : cost(Wide{config.frequency_hz} * config.rate_hz.den * 65536)
        , residue(config.phase == Phase::half ? cost / 2 : 0)
        , num(config.rate_hz.num)
        , clamp(Wide{config.frequency_hz} * config.max_frame_seconds.num /
                config.max_frame_seconds.den)
        , cap(config.max_steps)
        , owes(config.overload == Overload::lockstep_owes_steps) {}

    FrameSteps advance(std::int64_t raw, std::int32_t scale_q16) {
        const Wide credited = raw > clamp ? clamp : Wide{raw};
        residue += credited * num * scale_q16;
        Wide due = owed;
        while (residue >= cost) {
            residue -= cost;
            ++due;
        }
        FrameSteps frame;
        frame.dropped_counts = static_cast<std::int64_t>(raw - credited);
        const Wide run = due > cap ? cap : due;
        frame.steps = static_cast<std::int64_t>(run);
        owed = owes ? due - run : 0;
        frame.owed_steps = static_cast<std::int64_t>(owed);
        frame.dropped_steps = owes ? 0 : static_cast<std::int64_t>(due - run);
        return frame;
    }

    double alpha() const { return static_cast<double>(residue) / static_cast<double>(cost); }
};

/// Whether the longest frame at four times the speed on top of a full residue fits 63 bits.
bool fits_63_bits(const FixedStepConfig& config) {
    const std::int64_t own = std::gcd(config.rate_hz.num, config.rate_hz.den);
    const std::int64_t num = config.rate_hz.num / own;
    const std::int64_t divisor = std::gcd(config.frequency_hz, num);
    const Oracle oracle(config);
    const Wide cost = Wide{config.frequency_hz / divisor} * (config.rate_hz.den / own) * 65536;
    const Wide intake = oracle.clamp * (num / divisor) * time_scale_max_q16;
    return cost + intake <= INT64_MAX;
}

} // namespace

namespace {

void check_an_hour(std::int64_t frequency, Rational rate, Phase phase) {
    CAPTURE(frequency, rate.num, rate.den, static_cast<int>(phase));
    constexpr int frames = 216'000;
    FixedStepConfig config;
    config.frequency_hz = frequency;
    config.rate_hz = rate;
    config.phase = phase;
    auto step = FixedStep::create(config);
    REQUIRE(step);
    const std::int64_t frame_counts = frequency / 60 + 1;
    for (int i = 0; i < frames; ++i) {
        static_cast<void>(step->advance(frame_counts));
    }
    CHECK(step->ledger().dropped_steps == 0);
    CHECK(step->ledger().dropped_counts == 0);
    CHECK(step->ledger().steps == steps_due(Wide{frame_counts} * frames, frequency, rate, phase));
}

} // namespace

TEST_CASE("216,000 frames give the exact rational number of steps at every frequency",
          "[timer][property]") {
    const Rational rates[] = {{60, 1}, {35, 1}, {20, 1}, {64, 1}, {144, 1}, {60'000, 1'001}};
    for (const std::int64_t frequency : frequencies_hz) {
        for (const Rational rate : rates) {
            check_an_hour(frequency, rate, Phase::zero);
            check_an_hour(frequency, rate, Phase::half);
        }
    }
}

TEST_CASE("total time after 216,000 frames is the exact rational to one ulp", "[timer][property]") {
    for (const std::int64_t frequency : frequencies_hz) {
        CAPTURE(frequency);
        ManualCounter counter(frequency, 1LL << 53);
        GameTimer timer(counter);
        const std::int64_t frame_counts = frequency / 60 + 1;
        for (int i = 0; i < 216'000; ++i) {
            counter.advance(frame_counts);
            timer.tick();
            REQUIRE(timer.raw_delta_counts() == frame_counts);
        }
        CHECK(timer.total_time_counts() == frame_counts * 216'000);
        const auto exact = static_cast<long double>(frame_counts) * 216'000.0L /
                           static_cast<long double>(frequency);
        const auto error = static_cast<long double>(timer.total_time_seconds()) - exact;
        const double ulp = 4.6e-13; // of a double between 2048 and 4096
        CHECK(static_cast<double>(error) == Approx(0).margin(ulp));
    }
}

TEST_CASE("random frames, scales and limits agree with the 128-bit oracle", "[timer][property]") {
    const std::uint64_t seed = timer_test::test_seed("timer ledger oracle");
    CAPTURE(seed);
    Random random(seed);
    int played = 0;
    for (int round = 0; round < 300; ++round) {
        FixedStepConfig config;
        config.frequency_hz = frequencies_hz[random.below(6)];
        config.rate_hz.num = 1 + random.below(70'000);
        config.rate_hz.den = 1 + random.below(1'100);
        // Between 2 and 20 steps of credit.
        config.max_frame_seconds.num = config.rate_hz.den * (2 + random.below(19));
        config.max_frame_seconds.den = config.rate_hz.num;
        config.max_steps = 1 + random.below(12);
        config.phase = random.below(2) == 0 ? Phase::zero : Phase::half;
        config.overload =
            random.below(2) == 0 ? Overload::realtime_drops_steps : Overload::lockstep_owes_steps;
        CAPTURE(round, config.frequency_hz, config.rate_hz.num, config.rate_hz.den);
        auto step = FixedStep::create(config);
        REQUIRE(step.has_value() == fits_63_bits(config));
        if (!step) {
            CHECK(step.error().fault == ConfigFault::overflow);
            continue;
        }
        ++played;
        Oracle oracle(config);
        for (int i = 0; i < 300; ++i) {
            if (random.below(16) == 0) {
                const std::int64_t span = time_scale_max_q16 - time_scale_min_q16 + 1;
                const auto scale =
                    static_cast<std::int32_t>(time_scale_min_q16 + random.below(span));
                REQUIRE(step->set_time_scale_q16(scale));
            }
            const std::int64_t raw = random.below(2 * step->max_frame_counts());
            const FrameSteps expected = oracle.advance(raw, step->time_scale_q16());
            const FrameSteps actual = step->advance(raw);
            REQUIRE(actual == expected);
            REQUIRE(step->alpha() == Approx(oracle.alpha()).epsilon(1e-15));
        }
    }
    CHECK(played > 200);
}

TEST_CASE("any order of the same frame times gives the same totals", "[timer][property]") {
    const std::uint64_t seed = timer_test::test_seed("timer permutation");
    CAPTURE(seed);
    Random random(seed);
    for (const std::int64_t frequency : frequencies_hz) {
        FixedStepConfig config;
        config.frequency_hz = frequency;
        std::vector<std::int64_t> frames(2'000);
        for (std::int64_t& frame : frames) {
            frame = random.below(frequency / 10); // below six steps: neither limit takes part
        }
        auto first = FixedStep::create(config);
        REQUIRE(first);
        for (const std::int64_t frame : frames) {
            static_cast<void>(first->advance(frame));
        }
        for (int round = 0; round < 5; ++round) {
            for (std::size_t i = frames.size() - 1; i > 0; --i) {
                std::swap(frames[i],
                          frames[static_cast<std::size_t>(
                              random.below(static_cast<std::int64_t>(i) + 1))]);
            }
            auto shuffled = FixedStep::create(config);
            REQUIRE(shuffled);
            for (const std::int64_t frame : frames) {
                static_cast<void>(shuffled->advance(frame));
            }
            CHECK(shuffled->ledger() == first->ledger());
        }
    }
}

TEST_CASE("one second is the same number of steps at 30, 60, 144 and 240 frames a second",
          "[timer][property]") {
    for (const std::int64_t frame_rate : {30, 60, 144, 240}) {
        CAPTURE(frame_rate);
        FixedStepConfig config;
        config.frequency_hz = 720'000'000;
        auto step = FixedStep::create(config);
        REQUIRE(step);
        for (std::int64_t i = 0; i < frame_rate; ++i) {
            static_cast<void>(step->advance(config.frequency_hz / frame_rate));
        }
        CHECK(step->ledger().steps == 60);
        CHECK(step->alpha() == 0.0);
    }
}

namespace {

/// A second way to write the timer: the base moves by each pause instead of a sum being kept.
struct ShiftedBaseModel {
    Wide base = 0;
    Wide high = 0;
    Wide previous = 0;
    Wide stop_at = 0;
    Wide raw = 0;
    Wide pauses = 0;
    std::uint64_t regressions = 0;
    std::uint64_t frame = 0;
    bool stopped = false;

    void see(Wide now) {
        if (now < high) {
            ++regressions;
        }
        high = std::max(high, now);
    }

    void reset(Wide now) {
        *this = ShiftedBaseModel{};
        base = high = previous = now;
    }

    void tick(Wide now) {
        see(now);
        raw = stopped ? 0 : high - previous;
        if (!stopped) {
            previous = high;
            ++frame;
        }
    }

    void stop(Wide now) {
        if (!stopped) {
            see(now);
            stop_at = high;
            stopped = true;
        }
    }

    void start(Wide now) {
        if (stopped) {
            see(now);
            base += high - stop_at;
            pauses += high - stop_at;
            previous = high;
            raw = 0;
            stopped = false;
        }
    }

    void rebase(Wide now, GapBooking booking) {
        see(now);
        if (!stopped) {
            const Wide gap = high - previous;
            base += booking == GapBooking::paused ? gap : 0;
            pauses += booking == GapBooking::paused ? gap : 0;
            previous = high;
            raw = 0;
        }
    }

    Wide total() const { return (stopped ? stop_at : high) - base; }

    Wide open_pause() const { return stopped ? high - stop_at : 0; }
};

void apply_random_call(Random& random,
                       std::int64_t now,
                       GameTimer& timer,
                       ShiftedBaseModel& model) {
    switch (random.below(12)) {
    case 0:
        timer.stop();
        model.stop(now);
        break;
    case 1:
    case 2:
        timer.start();
        model.start(now);
        break;
    case 3:
        if (random.below(40) == 0) {
            timer.reset();
            model.reset(now);
        }
        break;
    case 4: {
        const auto booking = random.below(2) == 0 ? GapBooking::dropped : GapBooking::paused;
        timer.rebase(RebaseReason::loading, booking);
        model.rebase(now, booking);
        break;
    }
    default:
        timer.tick();
        model.tick(now);
    }
}

} // namespace

TEST_CASE("random calls agree with a second way to write the timer", "[timer][property]") {
    const std::uint64_t seed = timer_test::test_seed("timer shifted base");
    CAPTURE(seed);
    Random random(seed);
    ManualCounter counter(10'000'000, 9'000'000'000'000'000);
    GameTimer timer(counter);
    ShiftedBaseModel model;
    Wide now = 9'000'000'000'000'000;
    model.reset(now);
    for (int i = 0; i < 40'000; ++i) {
        CAPTURE(i);
        const std::int64_t delta =
            random.below(8) == 0 ? -random.below(300'000) : random.below(400'000);
        counter.advance(delta);
        now += delta;
        const Wide total_before = timer.total_time_counts();
        const std::uint64_t frame_before = timer.frame_number();
        apply_random_call(random, static_cast<std::int64_t>(now), timer, model);
        REQUIRE(timer.total_time_counts() == model.total());
        REQUIRE(timer.raw_delta_counts() == model.raw);
        REQUIRE(timer.is_stopped() == model.stopped);
        REQUIRE(timer.regressions() == model.regressions);
        REQUIRE(timer.frame_number() == model.frame);
        REQUIRE(timer.paused_counts() == model.pauses + model.open_pause());
        REQUIRE(timer.elapsed_since_reset_counts() - timer.total_time_counts() ==
                timer.paused_counts());
        REQUIRE(timer.total_time_counts() >= 0);
        if (timer.frame_number() >= frame_before && timer.frame_number() > 0) {
            REQUIRE(timer.total_time_counts() >= total_before);
        }
    }
}

TEST_CASE("active time is the raw deltas, the forgone time and what has passed since",
          "[timer][property]") {
    const std::uint64_t seed = timer_test::test_seed("timer active time");
    CAPTURE(seed);
    Random random(seed);
    ManualCounter counter(24'000'000);
    GameTimer timer(counter);
    std::int64_t raw_sum = 0;
    for (int i = 0; i < 20'000; ++i) {
        counter.advance(random.below(800'000) - 40'000);
        switch (random.below(8)) {
        case 0:
            timer.stop();
            break;
        case 1:
            timer.start();
            break;
        case 2:
            timer.rebase(RebaseReason::debugger,
                         random.below(2) == 0 ? GapBooking::dropped : GapBooking::paused);
            break;
        default:
            timer.tick();
            raw_sum += timer.raw_delta_counts();
        }
        REQUIRE(timer.total_time_counts() == raw_sum + timer.forgone_counts());
    }
}
