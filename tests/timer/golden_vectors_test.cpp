// SPDX-License-Identifier: MIT
// Golden vectors: known count streams and the exact steps they must give.
#include "usual.hpp"

#include <twinstep/timer/count_stream.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace twinstep::timer;
using namespace timer_test;

namespace {

using Counts = std::vector<std::int64_t>;

std::vector<FrameRow> play_deltas(const Counts& deltas, const FixedStepConfig& config = usual()) {
    std::string text;
    for (const std::int64_t delta : deltas) {
        text += std::to_string(delta) + "\n";
    }
    const auto tokens = parse_count_stream(text);
    REQUIRE(tokens);
    const auto rows = play_count_stream(*tokens, config);
    REQUIRE(rows);
    REQUIRE(rows->size() == deltas.size());
    return *rows;
}

Counts steps_of(const std::vector<FrameRow>& rows) {
    Counts steps;
    for (const FrameRow& row : rows) {
        steps.push_back(row.steps);
    }
    return steps;
}

Counts repeat(const Counts& part, int times) {
    Counts all;
    for (int i = 0; i < times; ++i) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

struct Vector {
    const char* name;
    Counts deltas;
    Counts steps;
    std::vector<double> alpha; // empty: not part of the vector
    std::int64_t dropped_counts;
    std::int64_t dropped_steps;
    std::uint64_t regressions;
};

const std::vector<Vector>& short_vectors() {
    static const std::vector<Vector> vectors{
        {"V1 exact thirds",
         {t60, t60, 166'666, t60, t60, 166'666},
         {1, 1, 1, 1, 1, 1},
         {},
         0,
         0,
         0},
        {"V2 stall of 2.7 s",
         {t60, 27'000'000, t60, t60},
         {1, 8, 1, 1},
         {0, 0, 0, 0},
         24'500'000,
         7,
         0},
        {"V3 stall of 10 s", {t60, 100'000'000, t60}, {1, 8, 1}, {0, 0, 0}, 97'500'000, 7, 0},
        {"V4 twelve steps due", {t60, 2'000'000, t60, t60}, {1, 8, 1, 1}, {0, 0, 0, 0}, 0, 4, 0},
        {"V5 eight and a half", {t60, 1'416'669, t60, t60}, {1, 8, 1, 1}, {0, .5, .5, .5}, 0, 0, 0},
        {"V6 backwards by 50", {t60, -50, t60 + 60}, {1, 0, 1}, {}, 0, 0, 1},
        {"V7 vsync miss",
         {t60, t60, t60, 333'333, 2'000, t60, t60},
         {1, 1, 1, 2, 0, 1, 1},
         {0, 0, 0, 0, .012, .012, .012},
         0,
         0,
         0},
        {"V8 zero deltas", {0, 0, t60, 0, 0, t60}, {0, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, 0, 0, 0},
        {"V10 120 Hz frames",
         repeat({83'333, 83'334}, 6),
         repeat({0, 1}, 6),
         {.5, 0, .5, 0, .5, 0, .5, 0, .5, 0, .5, 0},
         0,
         0,
         0},
        {"V11 jitter around the step",
         {t60, 165'667, 167'667, 165'667, 167'667, 165'667, 167'667, t60},
         {1, 0, 2, 0, 2, 0, 2, 1},
         {},
         0,
         0,
         0},
        {"V17 backwards by one", {t60, -1, t60 + 1}, {1, 0, 1}, {}, 0, 0, 1},
        {"V19 15.6 ms clock",
         {0, 0, 156'250, 0, 156'250, 0, 0, 156'250, 0, 156'250},
         {0, 0, 0, 0, 1, 0, 0, 1, 0, 1},
         {},
         0,
         0,
         0},
    };
    return vectors;
}

} // namespace

TEST_CASE("short golden vectors give their steps, alphas and drops", "[timer][golden]") {
    for (const Vector& vector : short_vectors()) {
        CAPTURE(vector.name);
        const auto rows = play_deltas(vector.deltas);
        CHECK(steps_of(rows) == vector.steps);
        std::int64_t dropped_counts = 0;
        std::int64_t dropped_steps = 0;
        std::uint64_t regressions = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            CAPTURE(i);
            dropped_counts += rows[i].dropped_counts;
            dropped_steps += rows[i].dropped_steps;
            regressions += rows[i].regressions;
            CHECK(rows[i].alpha >= 0.0);
            CHECK(rows[i].alpha < 1.0);
            if (!vector.alpha.empty()) {
                CHECK(rows[i].alpha == Approx(vector.alpha[i]).margin(2e-5));
            }
        }
        CHECK(dropped_counts == vector.dropped_counts);
        CHECK(dropped_steps == vector.dropped_steps);
        CHECK(regressions == vector.regressions);
        CHECK(rows.back().regressions_total == vector.regressions);
    }
}

TEST_CASE("V1: thirds of a count come out at zero exactly", "[timer][golden]") {
    CHECK(play_deltas({t60, t60, 166'666, t60, t60, 166'666}).back().alpha == 0.0);
}

TEST_CASE("V6: the span that went backwards is credited once", "[timer][golden]") {
    const auto rows = play_deltas({t60, -50, t60 + 60});
    CHECK(rows[1].raw_counts == 0);
    CHECK(rows[2].raw_counts == t60 + 10);
    CHECK(rows.back().total_counts == 2 * t60 + 10);
}

TEST_CASE("V9: fifteen steps of intake are fifteen steps at every rate", "[timer][golden]") {
    for (const std::int64_t rate : {30, 50, 60, 64, 100, 120, 144, 240}) {
        CAPTURE(rate);
        FixedStepConfig config;
        config.frequency_hz = 72'000'000; // a whole number of counts a step for each rate but 64
        config.rate_hz = {rate, 1};
        config.max_frame_seconds = {1, 1};
        config.max_steps = 15;
        const std::int64_t step_counts = config.frequency_hz / rate;
        const auto rows = play_deltas({15 * step_counts, 8 * step_counts}, config);
        CHECK(rows[0].steps == 15);
        CHECK(rows[0].alpha == 0.0);
        CHECK(rows[1].steps == 8);
        CHECK(rows[1].alpha == 0.0);
    }
}

TEST_CASE("V11: half a step of phase removes boundary jitter", "[timer][golden]") {
    auto config = usual();
    config.phase = Phase::half;
    const auto rows =
        play_deltas({t60, 165'667, 167'667, 165'667, 167'667, 165'667, 167'667, t60}, config);
    CHECK(steps_of(rows) == Counts(8, 1));
}

TEST_CASE("V12: steps that cost more than they simulate settle at the cap", "[timer][golden]") {
    struct Case {
        std::int64_t max_steps;
        Counts steps;
        std::int64_t last_frame_ms;
    };

    const std::vector<Case> cases{{8, {1, 1, 2, 4, 7, 8, 8, 8}, 242},
                                  {5, {1, 1, 2, 4, 5, 5, 5, 5}, 152}};
    for (const Case& one : cases) {
        auto config = usual();
        config.max_steps = one.max_steps;
        auto step = FixedStep::create(config);
        REQUIRE(step);
        std::int64_t frame_counts = t60;
        std::uint64_t dropped = 0;
        Counts steps;
        for (std::size_t i = 0; i < one.steps.size(); ++i) {
            steps.push_back(step->advance(frame_counts).steps);
            frame_counts = steps.back() * 300'000 + 20'000;
            CHECK(step->ledger().dropped_steps >= dropped);
            dropped = step->ledger().dropped_steps;
        }
        CHECK(steps == one.steps);
        CHECK(frame_counts == one.last_frame_ms * 10'000);
        CHECK(dropped > 0);
    }
}

TEST_CASE("V13 to V16: an hour of frames gives the exact number of steps", "[timer][golden]") {
    struct Case {
        const char* name;
        std::int64_t frames;
        std::int64_t delta;
        std::uint64_t steps;
        std::int64_t doubles;
        double alpha;
    };

    const Case cases[] = {{"V13", 216'000, 166'667, 216'000, 0, .432},
                          {"V14", 216'000, 166'666, 215'999, 0, .136},
                          {"V15", 216'000, 166'833, 216'215, 215, .568},
                          {"V16", 518'400, 69'444, 215'998, 0, .6176}};
    for (const Case& one : cases) {
        CAPTURE(one.name);
        auto step = FixedStep::create(usual());
        REQUIRE(step);
        std::int64_t doubles = 0;
        for (std::int64_t i = 0; i < one.frames; ++i) {
            const FrameSteps frame = step->advance(one.delta);
            doubles += frame.steps == 2 ? 1 : 0;
            if (i == 0 && one.delta < t60) {
                CHECK(frame.steps == 0);
            }
        }
        CHECK(step->ledger().steps == one.steps);
        CHECK(doubles == one.doubles);
        CHECK(step->alpha() == Approx(one.alpha).margin(1e-9));
    }
}

TEST_CASE("V18: no query is stale or negative around reset and pause", "[timer][golden]") {
    ManualCounter counter(10'000'000, 123);
    GameTimer timer(counter);
    counter.advance(1'000'000'000);
    timer.reset();
    CHECK(timer.total_time_counts() == 0);
    counter.advance(100'000'000);
    timer.tick();
    CHECK(timer.total_time_seconds() == 10.0);
    timer.stop();
    counter.advance(600'000'000);
    timer.start();
    CHECK(timer.total_time_seconds() == 10.0);
    counter.advance(t60);
    timer.tick();
    CHECK(timer.total_time_counts() == 100'000'000 + t60);
    CHECK(timer.raw_delta_counts() == t60);
    timer.reset();
    CHECK(timer.total_time_counts() == 0);
    counter.advance(t60);
    timer.tick();
    CHECK(timer.total_time_counts() == t60);
}

TEST_CASE("V20: 64 Hz under jitter runs one step, and two every 15 or 16 frames",
          "[timer][golden]") {
    auto config = usual();
    config.rate_hz = {64, 1};
    const Counts jitter{t60, 165'667, 167'667, 165'667, 167'667, 165'667, 167'667, t60};
    const Counts steps = steps_of(play_deltas(repeat(jitter, 4), config));
    Counts twos;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CHECK((steps[i] == 1 || steps[i] == 2));
        if (steps[i] == 2) {
            twos.push_back(static_cast<std::int64_t>(i));
        }
    }
    REQUIRE(twos.size() == 2);
    CHECK(twos[1] - twos[0] >= 15);
    CHECK(twos[1] - twos[0] <= 16);
}

TEST_CASE("clumped millisecond clocks keep alpha still between their steps", "[timer][golden]") {
    Counts deltas(7, 0);
    deltas.push_back(150'000);
    const auto rows = play_deltas(repeat(deltas, 2));
    Counts expected(16, 0);
    expected[15] = 1;
    CHECK(steps_of(rows) == expected);
    for (std::size_t i = 8; i < 15; ++i) {
        CHECK(rows[i].alpha == rows[7].alpha);
    }
}
