// SPDX-License-Identifier: MIT
// Segments on threads give the answer of one pass, whatever is wrong with recording or keyframes.
#include "keyframe_codec.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <atomic>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

constexpr std::uint64_t session_ticks = 1000;
constexpr std::uint64_t keyframe_ticks = 100;

/// A toy with a field that steers it from some tick on and that serialize misses.
class ForgetfulGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "forgetful";
    static constexpr TickRate tick_rate{50};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;

    void reset(const Setup&) { *this = {}; }

    void step(const Step<Input>& step) {
        momentum_ += step.players[0].input.dx + 1;
        position_ += step.tick.value < 350 ? 1 : momentum_;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("body", CEREAL_NVP(position_)));
    }

private:
    std::int64_t position_ = 0;
    std::int64_t momentum_ = 0;
};

Bytes side_file_of(Simulation& simulation, ByteView file, std::uint64_t every = keyframe_ticks) {
    auto plan = std::make_shared<SinkPlan>();
    REQUIRE(write_side_file(simulation,
                            *Reader::from_memory(file),
                            std::make_unique<MemorySink>(plan),
                            {.every_ticks = every, .form = {KeyframeCodec::raw, 3}}));
    return plan->file;
}

/// One input of this tick is another one; all hashes are as they were.
Bytes with_planted_input(ByteView file, std::uint64_t tick) {
    std::string text = *to_text(file, {.proofs = false});
    const std::size_t line = text.find("\"tick\":\"" + std::to_string(tick) + "\"");
    REQUIRE(line != std::string::npos);
    const std::size_t value = text.find("\"slots\":[\"", line) + 10;
    text[value + 1] = text[value + 1] == '0' ? '1' : '0';
    return *from_text(text);
}

template <class Game = ToyGame>
SegmentFactory factory_of(const Bytes& file) {
    return {[] { return make_simulation<Game>(); }, [&file] { return Reader::from_memory(file); }};
}

template <class Game = ToyGame>
SegmentedReport in_segments(const Bytes& file, ByteView side, unsigned jobs) {
    VerifySegmentsOptions options;
    options.jobs = jobs;
    options.keyframes.side_bytes = side;
    options.ticks_min = 1;
    auto report = verify_segments(factory_of<Game>(file), options);
    if (!report) {
        FAIL(to_string(report.error()));
    }
    return std::move(*report);
}

template <class Game = ToyGame>
VerifyReport in_one_pass(const Bytes& file) {
    auto simulation = make_simulation<Game>();
    auto report = verify(*simulation, *Reader::from_memory(file));
    REQUIRE(report);
    return std::move(*report);
}

void check_equal(const SegmentedReport& segmented, const VerifyReport& serial) {
    CHECK(segmented.ticks == serial.ticks);
    CHECK(segmented.hashes_checked == serial.hashes_checked);
    CHECK(segmented.final_hash == serial.final_hash);
    CHECK(segmented.build_differs == serial.build_differs);
    REQUIRE(segmented.divergence.has_value() == serial.divergence.has_value());
    if (serial.divergence) {
        CHECK(segmented.divergence->tick == serial.divergence->tick);
        CHECK(segmented.divergence->section == serial.divergence->section);
        CHECK(segmented.divergence->expected == serial.divergence->expected);
        CHECK(segmented.divergence->actual == serial.divergence->actual);
    } else {
        CHECK(segmented.state == serial.state);
    }
}

} // namespace

TEST_CASE("segments on any number of threads prove what one pass proves",
          "[replay][segments][unit]") {
    const bool small_chunks = GENERATE(false, true);
    const unsigned jobs = GENERATE(1U, 2U, 5U);
    const Bytes file = small_chunks ? record_small_chunks(session_ticks, 70)
                                    : record_toy({.ticks = session_ticks});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    const SegmentedReport report = in_segments(file, side, jobs);
    CHECK(report.segments == 10);
    CHECK(report.problems.empty());
    check_equal(report, in_one_pass(file));
}

TEST_CASE("segments find the first divergence, wherever it is", "[replay][segments][fault]") {
    const bool small_chunks = GENERATE(false, true);
    // Early, at the end of a segment and its begin, in the middle, late, and at the very end.
    const std::uint64_t tick = GENERATE(0U, 3U, 99U, 100U, 101U, 450U, 499U, 500U, 998U, 999U);
    const unsigned jobs = GENERATE(1U, 3U);
    const Bytes file = small_chunks ? record_small_chunks(session_ticks, 100)
                                    : record_toy({.ticks = session_ticks});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    const Bytes planted = with_planted_input(file, tick);
    const VerifyReport serial = in_one_pass(planted);
    CAPTURE(tick, jobs);
    REQUIRE(serial.divergence);
    CHECK(serial.divergence->tick == Tick{tick + 1});
    const SegmentedReport report = in_segments(planted, side, jobs);
    CHECK(report.problems.empty());
    check_equal(report, serial);
}

TEST_CASE("of two divergences segments report the first", "[replay][segments][fault]") {
    const Bytes file = record_toy({.ticks = session_ticks});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    const Bytes planted = with_planted_input(with_planted_input(file, 850), 320);
    const SegmentedReport report = in_segments(planted, side, GENERATE(1U, 4U));
    REQUIRE(report.divergence);
    CHECK(report.divergence->tick == Tick{321});
    check_equal(report, in_one_pass(planted));
}

TEST_CASE("a damaged keyframe is refused and named, never a divergence",
          "[replay][segments][fault]") {
    const Bytes file = record_toy({.ticks = session_ticks});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::size_t refused = 0;
    for (unsigned round = 0; round < 60; ++round) {
        Bytes damaged = side;
        for (std::size_t flips = 1 + random.below(3); flips > 0; --flips) {
            damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1U << random.below(8));
        }
        const SegmentedReport report = in_segments(file, damaged, 1 + round % 3);
        CAPTURE(round);
        CHECK_FALSE(report.divergence);
        CHECK((report.segments < 10 || report.problems.empty()));
        refused += report.problems.size();
        check_equal(report, in_one_pass(file));
    }
    CHECK(refused > 0);
}

TEST_CASE("a keyframe with right checks and a wrong state is refused",
          "[replay][segments][fault]") {
    // The side file of another session, under this session's name: every check in it is right.
    const Bytes file = record_toy({.ticks = session_ticks});
    const Bytes other = record_toy({.ticks = session_ticks, .seed = 8});
    auto simulation = make_simulation<ToyGame>();
    const Bytes forged = side_file_of(*simulation, other);
    const SegmentedReport report = in_segments(file, forged, 2);
    CHECK(report.segments == 1);
    CHECK(report.problems.size() == 9);
    check_equal(report, in_one_pass(file));
    // And where the recording diverges as well, it is the recording's divergence that is told.
    const Bytes planted = with_planted_input(file, 640);
    check_equal(in_segments(planted, forged, 2), in_one_pass(planted));
}

TEST_CASE("without keyframes segments are one pass", "[replay][segments][unit]") {
    const Bytes file = record_toy({.ticks = session_ticks});
    const SegmentedReport report = in_segments(file, {}, 4);
    CHECK(report.segments == 1);
    check_equal(report, in_one_pass(file));
    const Bytes nothing = record_toy({.ticks = 0});
    const SegmentedReport none = in_segments(nothing, {}, 4);
    CHECK(none.hashes_checked == 0);
    check_equal(none, in_one_pass(nothing));
}

TEST_CASE("segments of an open and of a cut recording say so", "[replay][segments][fault]") {
    const Bytes file = record_toy({.ticks = session_ticks, .close = false});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    const SegmentedReport open = in_segments(file, side, 2);
    CHECK(open.state == FileState::open);
    check_equal(open, in_one_pass(file));
    const Bytes cut(file.begin(), file.end() - 5);
    const SegmentedReport report = in_segments(cut, side, 2);
    CHECK(report.state == FileState::truncated);
    CHECK(report.defects.size() == 1);
    check_equal(report, in_one_pass(cut));
}

TEST_CASE("a game whose serialize misses a field gets the answer of one pass, and a hint",
          "[replay][segments][fault]") {
    auto simulation = make_simulation<ForgetfulGame>();
    REQUIRE(simulation->reset({7, 1, {}}));
    auto plan = std::make_shared<SinkPlan>();
    ToySource source(1, session_ticks);
    Driver driver(*simulation, source);
    {
        auto recorder =
            Recorder::create(std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
        driver.add(*recorder);
        REQUIRE(driver.advance(UINT64_MAX));
        REQUIRE(recorder->close());
    }
    const Bytes side = side_file_of(*simulation, plan->file);
    const SegmentedReport report = in_segments<ForgetfulGame>(plan->file, side, 2);
    REQUIRE(report.problems.size() == 1);
    CHECK_THAT(to_string(report.problems[0].error), Catch::Contains("serialize miss a field"));
    check_equal(report, in_one_pass<ForgetfulGame>(plan->file));
    const Bytes planted = with_planted_input(plan->file, 700);
    check_equal(in_segments<ForgetfulGame>(planted, side, 2), in_one_pass<ForgetfulGame>(planted));
}

TEST_CASE("segments refuse another simulation, a damaged file, and one that changes meanwhile",
          "[replay][segments][fault]") {
    const Bytes file = record_toy({.ticks = session_ticks});
    const auto other = verify_segments(factory_of<ForgetfulGame>(file));
    REQUIRE_FALSE(other);
    CHECK(other.error().code == Errc::incompatible_simulation);
    CHECK(other.error().field == "sim.id");
    Bytes damaged = file;
    damaged[file.size() / 2] ^= std::byte{4};
    REQUIRE_FALSE(verify_segments(factory_of(damaged)));
    // The second time it is opened, the file is another one.
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    const Bytes longer = record_toy({.ticks = session_ticks + 7});
    std::atomic<int> opened{0};
    VerifySegmentsOptions options;
    options.jobs = 3;
    options.ticks_min = 1;
    options.keyframes.side_bytes = side;
    const SegmentFactory changing{
        [] { return make_simulation<ToyGame>(); },
        [&] { return Reader::from_memory(opened++ == 0 ? file : longer); }};
    const auto changed = verify_segments(changing, options);
    // A thread that comes too late to get a segment never looks at the file.
    if (!changed) {
        CHECK(changed.error().code == Errc::io_error);
    } else {
        CHECK(changed->ticks == session_ticks);
    }
}

TEST_CASE("segments count their ticks, and know how many there will be",
          "[replay][segments][unit]") {
    const Bytes file = record_toy({.ticks = session_ticks});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_file_of(*simulation, file);
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> total{0};
    VerifySegmentsOptions options;
    options.jobs = 2;
    options.keyframes.side_bytes = side;
    options.ticks_done = &done;
    options.ticks_total = &total;
    const auto report = verify_segments(factory_of(file), options);
    REQUIRE(report);
    CHECK(done == session_ticks);
    CHECK(total == session_ticks);
}
