// SPDX-License-Identifier: MIT
// Late starts, segments between keyframes, and the check that finds what serialize misses.
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "recording_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A game with a field that steers it and that serialize misses: the bug a straight run hides.
class LeakyGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "leaky";
    static constexpr TickRate tick_rate{50};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;

    void reset(const Setup&) {}

    void step(const Step<Input>& step) {
        momentum_ += step.players[0].input.dx + 1;
        position_ += static_cast<std::int64_t>(momentum_);
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("body", CEREAL_NVP(position_)));
    }

private:
    std::int64_t position_ = 0;
    std::int64_t momentum_ = 0;
};

Bytes side_of(Simulation& simulation, ByteView file, std::uint64_t every) {
    auto plan = std::make_shared<SinkPlan>();
    REQUIRE(write_side_file(simulation,
                            *Reader::from_memory(file),
                            std::make_unique<MemorySink>(plan),
                            {.every_ticks = every}));
    return plan->file;
}

KeyframedRecording recording_of(ByteView file, ByteView side) {
    KeyframedOptions options;
    options.side_bytes = side;
    auto recording = KeyframedRecording::open(*Reader::from_memory(file), options);
    REQUIRE(recording);
    return std::move(*recording);
}

/// The toy recording from a tick on, with the state that `change` makes of that tick's.
Bytes late_toy(ByteView file,
               Tick first,
               bool with_keyframe = true,
               const std::function<void(KeyframeInfo&, Bytes&)>& change = {}) {
    auto reader = Reader::from_memory(file);
    auto simulation = make_simulation<ToyGame>();
    auto player = Player::open(*simulation, *Reader::from_memory(file));
    REQUIRE(player);
    REQUIRE(player->seek(first));
    KeyframeInfo info{first, simulation->hash().state, 0, 0, KeyframeCodec::raw, std::nullopt};
    Bytes snapshot;
    simulation->save(snapshot);
    if (change) {
        change(info, snapshot);
    }
    info.raw_bytes = info.stored_bytes = snapshot.size();
    Head head = reader->head();
    head.incompatible |= feature::late_start;
    head.manifest[first_tick_key] = std::to_string(first.value);
    auto plan = std::make_shared<SinkPlan>();
    auto writer = Writer::create(std::make_unique<MemorySink>(plan), head);
    REQUIRE(writer);
    if (with_keyframe) {
        REQUIRE(write_parts(info, snapshot, [&writer](ByteView payload) {
            return writer->write_frame(static_cast<std::uint8_t>(RecordTag::keyframe), payload);
        }));
    }
    while (true) {
        const auto record = reader->next();
        REQUIRE(record);
        if (record->kind == RecordKind::end) {
            break;
        }
        if (record->kind == RecordKind::tick && record->tick.tick >= first) {
            REQUIRE(writer->write_tick(
                record->tick.hash, record->tick.section_bytes, record->tick.encoded));
        } else if (record->kind == RecordKind::chunk_end && writer->chunk_ticks() > 0) {
            REQUIRE(writer->write_chunk_end(record->chunk_end.state, record->chunk_end.sections));
        }
    }
    REQUIRE(writer->write_trailer());
    REQUIRE(writer->close());
    return plan->file;
}

/// One input of this tick is another one; all hashes are as they were.
Bytes with_other_input(ByteView file, std::uint64_t tick) {
    std::string text = *to_text(file, {.proofs = false});
    const std::size_t line = text.find("\"tick\":\"" + std::to_string(tick) + "\"");
    const std::size_t value = text.find("\"slots\":[\"", line) + 10;
    text[value + 1] = text[value + 1] == '0' ? '1' : '0';
    return *from_text(text);
}

} // namespace

TEST_CASE("a late start verifies from its keyframe on", "[replay][late][unit]") {
    Hash128 final_hash;
    const Bytes file = record_toy({.ticks = 300}, &final_hash);
    const Bytes late = late_toy(file, Tick{123});
    auto simulation = make_simulation<ToyGame>();
    const auto report = verify(*simulation, *Reader::from_memory(late));
    REQUIRE(report);
    CHECK(report->ticks == 177);
    CHECK(report->hashes_checked == 178);
    CHECK_FALSE(report->divergence);
    CHECK(report->final_hash == final_hash);
}

TEST_CASE("a late start plays and seeks, down to its first tick", "[replay][late][seek]") {
    const Bytes file = record_toy({.ticks = 300});
    const Bytes late = late_toy(file, Tick{123});
    auto straight = make_simulation<ToyGame>();
    auto simulation = make_simulation<ToyGame>();
    auto whole = Player::open(*straight, *Reader::from_memory(file));
    auto player = Player::open(*simulation, *Reader::from_memory(late));
    REQUIRE(player);
    CHECK(player->first_tick() == Tick{123});
    for (const std::uint64_t tick : {200U, 123U, 300U, 124U, 250U, 249U}) {
        REQUIRE(player->seek(Tick{tick}));
        REQUIRE(whole->seek(Tick{tick}));
        CHECK(simulation->hash().state == straight->hash().state);
    }
    CHECK(player->seek(Tick{122}).error().code == Errc::wrong_tick);
}

TEST_CASE("a late start without its own state is refused", "[replay][late][fault]") {
    const Bytes file = record_toy({.ticks = 300});
    auto simulation = make_simulation<ToyGame>();
    const auto error_of = [&simulation](ByteView late) {
        const auto report = verify(*simulation, *Reader::from_memory(late));
        REQUIRE_FALSE(report);
        CHECK(report.error().code == Errc::corrupt_record);
        return to_string(report.error());
    };
    CHECK_THAT(error_of(late_toy(file, Tick{123}, false)), Catch::Contains("it is not there"));
    CHECK_THAT(
        error_of(late_toy(
            file, Tick{123}, true, [](KeyframeInfo& info, Bytes&) { info.tick = Tick{124}; })),
        Catch::Contains("it is another one"));
    CHECK_THAT(
        error_of(late_toy(file,
                          Tick{123},
                          true,
                          [](KeyframeInfo&, Bytes& state) { state.back() ^= std::byte{1}; })),
        Catch::Contains("another hash"));
}

TEST_CASE("a late start from a state that was never recorded diverges at once",
          "[replay][late][fault]") {
    const Bytes file = record_toy({.ticks = 300});
    const Bytes late = late_toy(file, Tick{123}, true, [](KeyframeInfo& info, Bytes& state) {
        auto other = toy_simulation();
        ToySource source(1, 122);
        Driver driver(*other, source);
        REQUIRE(driver.advance(UINT64_MAX));
        TickFrame frame;
        frame.reset(Tick{122}, 1);
        REQUIRE(other->prepare(frame));
        other->step();
        other->save(state);
        info.state = other->hash().state;
    });
    auto simulation = make_simulation<ToyGame>();
    const auto report = verify(*simulation, *Reader::from_memory(late));
    REQUIRE(report);
    REQUIRE(report->divergence);
    CHECK(report->divergence->tick == Tick{123});
}

TEST_CASE("stripping a late start leaves the state it begins with", "[replay][late][keyframe]") {
    const Bytes late = late_toy(record_small_chunks(300, 20), Tick{123});
    auto simulation = make_simulation<ToyGame>();
    auto with = std::make_shared<SinkPlan>();
    const auto added = add_keyframes(*simulation,
                                     *Reader::from_memory(late),
                                     std::make_unique<MemorySink>(with),
                                     {.every_ticks = 50});
    REQUIRE(added);
    CHECK(added->keyframes == 3); // Of ticks 180, 240 and 300.
    auto without = std::make_shared<SinkPlan>();
    const auto stripped =
        strip_keyframes(*Reader::from_memory(with->file), std::make_unique<MemorySink>(without));
    REQUIRE(stripped);
    CHECK(stripped->keyframes == 3);
    CHECK(without->file == late);
    KeyframedRecording recording = recording_of(with->file, {});
    CHECK(recording.keyframes().size() == 4);
    const auto checked = check_keyframes(*simulation, recording);
    REQUIRE(checked);
    CHECK(checked->keyframes == 4);
    CHECK_FALSE(checked->divergence);
}

TEST_CASE("segments together make up the recording and prove it", "[replay][segment][unit]") {
    const Bytes file = record_toy({.ticks = 1000});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_of(*simulation, file, 64);
    KeyframedRecording recording = recording_of(file, side);
    const std::uint64_t least = GENERATE(1U, 100U, 5000U);
    const std::vector<Segment> segments = make_segments(recording, least);
    CHECK(segments.size() == (least == 1 ? 16U : least == 100 ? 8U : 1U));
    Tick at{0};
    std::uint64_t checked = 0;
    auto other = make_simulation<ToyGame>();
    REQUIRE(recording.prepare(*other));
    // Backwards, so that none profits from the one before.
    for (std::size_t i = segments.size(); i-- > 0;) {
        const auto report = verify_segment(*other, recording, segments[i]);
        REQUIRE(report);
        CHECK_FALSE(report->divergence);
        CHECK_FALSE(report->problem);
        CHECK(report->ticks == segments[i].end.value - segments[i].begin.value);
        checked += report->hashes_checked;
    }
    for (const Segment& segment : segments) {
        CHECK(segment.begin == at);
        at = segment.end;
    }
    CHECK(at == Tick{1000});
    CHECK(checked >= 1000);
}

TEST_CASE("one other input is found in its segment, and in no other", "[replay][segment][fault]") {
    const Bytes file = record_toy({.ticks = 1000});
    auto simulation = make_simulation<ToyGame>();
    const Bytes side = side_of(*simulation, file, 100);
    // 499: it is the keyframe behind that must notice.
    const std::uint64_t tick = GENERATE(450U, 499U);
    const Bytes planted = with_other_input(file, tick);
    KeyframedRecording recording = recording_of(planted, side);
    REQUIRE(recording.prepare(*simulation));
    std::size_t diverged = 0;
    for (const Segment& segment : make_segments(recording)) {
        const auto report = verify_segment(*simulation, recording, segment);
        if (!report) {
            FAIL(to_string(report.error()));
        }
        CHECK_FALSE(report->problem);
        if (report->divergence) {
            ++diverged;
            CHECK(segment.begin == Tick{400});
            CHECK(report->divergence->tick == Tick{tick + 1});
        }
    }
    CHECK(diverged == 1);
    const auto checked = check_keyframes(*simulation, recording);
    REQUIRE(checked);
    REQUIRE(checked->divergence);
    CHECK(checked->divergence->tick == Tick{tick + 1});
    CHECK(checked->problems.empty());
}

TEST_CASE("the check finds a state from which the game goes another way",
          "[replay][segment][fault]") {
    auto simulation = make_simulation<LeakyGame>();
    REQUIRE(simulation->reset({7, 1, {}}));
    auto plan = std::make_shared<SinkPlan>();
    ToySource source(1, 500);
    Driver driver(*simulation, source);
    auto recorder =
        Recorder::create(std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
    driver.add(*recorder);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    // A straight run holds and so do the keyframes by themselves.
    CHECK_FALSE(verify(*simulation, *Reader::from_memory(plan->file))->divergence);
    const Bytes side = side_of(*simulation, plan->file, 100);
    KeyframedRecording recording = recording_of(plan->file, side);
    REQUIRE(recording.keyframes().size() == 4);
    const auto checked = check_keyframes(*simulation, recording);
    REQUIRE(checked);
    CHECK_FALSE(checked->divergence);
    CHECK(checked->keyframes == 0);
    REQUIRE(checked->problems.size() == 4);
    CHECK_THAT(to_string(checked->problems[0].error), Catch::Contains("serialize miss a field"));
    CHECK_THAT(to_string(checked->problems[0].error), Catch::Contains("tick 101, section body"));
    // A player that goes back says so too.
    KeyframedOptions options;
    options.side_bytes = side;
    auto player = Player::open(*simulation, *Reader::from_memory(plan->file), {options});
    REQUIRE(player);
    REQUIRE(player->seek(Tick{350}));
    CHECK(player->verdict().divergence);
}
