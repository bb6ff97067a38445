// SPDX-License-Identifier: MIT
// Keyframes: what is wrong with one is said, and it is never used.
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "layout.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Writes a side file of a toy session with the states of these ticks. A fault may change what is
/// written of one: the tick that is claimed, the claimed hash, or the snapshot.
struct PlantedKeyframe {
    Tick tick;
    Hash128 state;
    Bytes snapshot;
};

using Fault = std::function<void(PlantedKeyframe& keyframe)>;

std::vector<PlantedKeyframe> toy_states(std::uint64_t ticks, std::uint64_t every) {
    auto simulation = toy_simulation();
    ToySource source(1, ticks);
    Driver driver(*simulation, source);
    std::vector<PlantedKeyframe> states;
    for (std::uint64_t tick = every; tick <= ticks; tick += every) {
        static_cast<void>(driver.advance(every));
        PlantedKeyframe& state = states.emplace_back();
        simulation->save(state.snapshot);
        state.tick = simulation->tick();
        state.state = simulation->hash().state;
    }
    return states;
}

Bytes side_file(const std::vector<PlantedKeyframe>& states,
                const KeyframeFileWriter::Options& options = {},
                SessionId session = test_session()) {
    auto plan = std::make_shared<SinkPlan>();
    auto writer = KeyframeFileWriter::create(std::make_unique<MemorySink>(plan), session, options);
    for (const PlantedKeyframe& state : states) {
        if (!writer->add(state.tick, state.state, state.snapshot)) {
            return {};
        }
    }
    static_cast<void>(writer->close());
    return plan->file;
}

KeyframedRecording open_with(ByteView file, ByteView side, std::uint64_t bytes_max = 1 << 20) {
    KeyframedOptions options;
    options.side_bytes = side;
    options.state_bytes_max = bytes_max;
    auto recording = KeyframedRecording::open(*Reader::from_memory(file), options);
    if (!recording) {
        FAIL(to_string(recording.error()));
    }
    return std::move(*recording);
}

/// Loads every keyframe; how many were good.
std::size_t good_keyframes(KeyframedRecording& recording) {
    auto simulation = make_simulation<ToyGame>();
    REQUIRE(recording.prepare(*simulation));
    std::size_t good = 0;
    for (std::size_t i = 0; i < recording.keyframes().size(); ++i) {
        good += recording.load(*simulation, i) ? 1U : 0U;
    }
    return good;
}

/// Text of the problems, one a line.
std::string problems_of(const KeyframedRecording& recording) {
    std::string text;
    for (const KeyframeProblem& problem : recording.problems()) {
        text += to_string(problem.error) + "\n";
    }
    return text;
}

/// Rewrites a part of a side file and makes its check right again. `number` counts records.
Bytes with_part(ByteView side,
                std::size_t number,
                const std::function<void(Bytes& payload)>& change,
                SessionId session = test_session()) {
    Bytes result(side.begin(), side.begin() + preamble_bytes);
    ByteReader reader(side.subspan(preamble_bytes));
    Place place{session, 0xFFFFFFFF, 0};
    Bytes scratch;
    while (reader.remaining() > 0) {
        const std::uint8_t tag = reader.u8("tag");
        const ByteView view = reader.bytes(reader.varint("length"), "payload");
        reader.u32("check");
        Bytes payload(view.begin(), view.end());
        if (place.record == number) {
            change(payload);
        }
        Bytes record;
        ByteWriter writer(record);
        writer.u8(tag);
        writer.varint(payload.size());
        writer.bytes(payload);
        writer.u32(record_check(place, record, scratch));
        result.insert(result.end(), record.begin(), record.end());
        ++place.record;
    }
    return result;
}

void put_u64(Bytes& payload, std::size_t offset, std::uint64_t value) {
    for (std::size_t i = 0; i < 8; ++i) {
        payload[offset + i] = static_cast<std::byte>(value >> (8 * i));
    }
}

} // namespace

TEST_CASE("a side file's keyframes load, whole ones and deltas", "[replay][keyframe][unit]") {
    const Bytes file = record_toy({.ticks = 200});
    const auto states = toy_states(200, 20);
    const auto codec = GENERATE(KeyframeCodec::raw, KeyframeCodec::zero_runs, KeyframeCodec::zstd);
    if (!has_codec(codec)) {
        return;
    }
    const Bytes side = side_file(states, {codec, 4});
    KeyframedRecording recording = open_with(file, side);
    CHECK(recording.keyframes().size() == 10);
    CHECK(good_keyframes(recording) == 10);
    CHECK(recording.problems().empty());
    std::size_t deltas = 0;
    for (const KeyframeInfo& info : recording.keyframes()) {
        deltas += info.base ? 1U : 0U;
        CHECK((!info.base || info.base->value % 80 == 20));
    }
    CHECK(deltas == (codec == KeyframeCodec::raw ? 0U : 7U));
}

TEST_CASE("a codec that is not in this build is refused by name", "[replay][keyframe][unit]") {
    auto plan = std::make_shared<SinkPlan>();
    auto writer = KeyframeFileWriter::create(
        std::make_unique<MemorySink>(plan), test_session(), {KeyframeCodec::zstd, 1});
    const auto states = toy_states(20, 20);
    const auto added = writer->add(states[0].tick, states[0].state, states[0].snapshot);
    CHECK(added.has_value() == has_codec(KeyframeCodec::zstd));
    if (!added) {
        CHECK(added.error().code == Errc::unsupported_version);
    }
}

TEST_CASE("zstd data that are cut, changed, continued or claim another size are refused",
          "[replay][keyframe][fault]") {
    Bytes raw(5000);
    for (std::size_t i = 0; i < raw.size(); ++i) {
        raw[i] = static_cast<std::byte>(i / 7);
    }
    Bytes stored;
    if (!compress_keyframe(KeyframeCodec::zstd, raw, stored)) {
        // A build without zstd refuses to read as well.
        Bytes target;
        const auto read = decompress_keyframe(KeyframeCodec::zstd, raw, raw.size(), target);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == Errc::unsupported_version);
        return;
    }
    Bytes target;
    REQUIRE(decompress_keyframe(KeyframeCodec::zstd, stored, raw.size(), target));
    CHECK(target == raw);
    const auto refused = [&](ByteView bytes, std::uint64_t size) {
        Bytes other;
        const auto done = decompress_keyframe(KeyframeCodec::zstd, bytes, size, other);
        return !done && done.error().code == Errc::corrupt_record &&
               done.error().field == "keyframe.data";
    };
    CHECK(refused(stored, raw.size() - 1));
    CHECK(refused(stored, raw.size() + 1));
    for (std::size_t size = 0; size < stored.size(); ++size) {
        CAPTURE(size);
        REQUIRE(refused(ByteView(stored).first(size), raw.size()));
    }
    Bytes twice = stored;
    twice.insert(twice.end(), stored.begin(), stored.end());
    CHECK(refused(twice, raw.size()));
    CHECK(refused(twice, raw.size() * 2));
    stored[0] ^= std::byte{1};
    CHECK(refused(stored, raw.size()));
}

TEST_CASE("a keyframe with a wrong state is refused", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 200});
    auto states = toy_states(200, 20);
    std::string expected;
    SECTION("a flipped bit of the state") {
        states[4].snapshot.back() ^= std::byte{1};
        expected = "another hash";
    }
    SECTION("a flipped bit of the hash") {
        states[4].state.high ^= 1;
        expected = "another hash";
    }
    SECTION("the state after the tick's inputs, right in itself") {
        auto off = toy_states(101, 101);
        states[4].snapshot = off[0].snapshot;
        states[4].state = off[0].state;
        expected = "the state is of tick 101";
    }
    SECTION("the state of another game, right in itself") {
        auto other = toy_simulation(1, 7);
        ToySource source(1, 100);
        Driver driver(*other, source);
        // One more input than was recorded: the hash fits the state, not the recording.
        static_cast<void>(driver.advance(99));
        TickFrame frame;
        frame.reset(Tick{99}, 1);
        REQUIRE(other->prepare(frame));
        other->step();
        other->save(states[4].snapshot);
        states[4].state = other->hash().state;
        expected = "the recording has";
    }
    SECTION("no state at all") {
        states[4].snapshot.resize(10);
        expected = "snapshot";
    }
    const Bytes side = side_file(states, {KeyframeCodec::raw, 1});
    KeyframedRecording recording = open_with(file, side);
    CHECK(good_keyframes(recording) == 9);
    REQUIRE(recording.problems().size() == 1);
    CHECK(recording.problems()[0].tick == Tick{100});
    CHECK_THAT(problems_of(recording), Catch::Contains(expected));
    // The one before it is used instead.
    CHECK(recording.find(Tick{110}) == 3U);
}

TEST_CASE("a keyframe beyond the recording is refused", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 90});
    const Bytes side = side_file(toy_states(200, 20));
    KeyframedRecording recording = open_with(file, side);
    CHECK(good_keyframes(recording) == 4);
    CHECK_THAT(problems_of(recording), Catch::Contains("no such tick"));
}

TEST_CASE("the last state is proved by the last chunk end, or not used",
          "[replay][keyframe][unit]") {
    const Bytes side = side_file(toy_states(100, 100));
    const Bytes closed = record_toy({.ticks = 100});
    KeyframedRecording whole = open_with(closed, side);
    CHECK(good_keyframes(whole) == 1);
    const Bytes open = record_toy({.ticks = 100, .close = false});
    KeyframedRecording cut = open_with(open, side);
    CHECK(good_keyframes(cut) == 0);
    CHECK_THAT(problems_of(cut), Catch::Contains("no hash of that state"));
}

TEST_CASE("another session's side file is ignored with both sessions named",
          "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 200});
    const Bytes side = side_file(toy_states(200, 20), {}, test_session(9));
    KeyframedRecording recording = open_with(file, side);
    CHECK(recording.keyframes().empty());
    REQUIRE(recording.problems().size() == 1);
    CHECK(recording.problems()[0].error.code == Errc::incompatible_simulation);
    CHECK_THAT(problems_of(recording), Catch::Contains(to_hex(test_session(9))));
    CHECK_THAT(problems_of(recording), Catch::Contains(to_hex(test_session())));
}

TEST_CASE("a missing side file is a problem and no error", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 20});
    KeyframedOptions options;
    options.side_file = "/nonexistent/toy.kf";
    auto recording = KeyframedRecording::open(*Reader::from_memory(file), options);
    REQUIRE(recording);
    REQUIRE(recording->problems().size() == 1);
    CHECK(recording->problems()[0].error.code == Errc::io_error);
}

TEST_CASE("a side file cut at any byte keeps the keyframes before the cut",
          "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 60});
    const Bytes side = side_file(toy_states(60, 20));
    std::size_t last = 0;
    for (std::size_t size = 0; size <= side.size(); ++size) {
        CAPTURE(size);
        KeyframedRecording recording = open_with(file, ByteView(side).first(size));
        const std::size_t count = recording.keyframes().size();
        REQUIRE(count >= last);
        REQUIRE(good_keyframes(recording) == count);
        REQUIRE(recording.problems().size() <= 1);
        if (size < preamble_bytes) {
            REQUIRE(recording.problems().size() == 1);
            REQUIRE(recording.problems()[0].error.code == Errc::truncated);
        }
        last = count;
    }
    CHECK(last == 3);
}

TEST_CASE("no flipped bit of a side file makes a wrong state usable", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 60});
    const auto states = toy_states(60, 20);
    const Bytes side = side_file(states);
    auto simulation = make_simulation<ToyGame>();
    for (std::size_t bit = 0; bit < side.size() * 8; ++bit) {
        CAPTURE(bit);
        Bytes flipped = side;
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        KeyframedRecording recording = open_with(file, flipped);
        REQUIRE_FALSE(recording.problems().empty());
        REQUIRE(recording.keyframes().size() < 3);
        REQUIRE(recording.prepare(*simulation));
        for (std::size_t i = 0; i < recording.keyframes().size(); ++i) {
            REQUIRE(recording.load(*simulation, i));
            REQUIRE(simulation->hash().state == states[i].state);
        }
    }
}

TEST_CASE("no changed bit of a part with a right check makes a wrong state usable",
          "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 60});
    const auto states = toy_states(60, 20);
    const Bytes side = side_file(states);
    auto simulation = make_simulation<ToyGame>();
    std::size_t bits = 0;
    static_cast<void>(with_part(side, 1, [&bits](Bytes& payload) { bits = payload.size() * 8; }));
    REQUIRE(bits > 64 * 8);
    for (std::size_t bit = 0; bit < bits; ++bit) {
        CAPTURE(bit);
        const Bytes changed = with_part(side, 1, [bit](Bytes& payload) {
            payload[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        });
        KeyframedRecording recording = open_with(file, changed);
        REQUIRE(recording.prepare(*simulation));
        std::size_t good = 0;
        for (std::size_t i = 0; i < recording.keyframes().size(); ++i) {
            if (recording.load(*simulation, i)) {
                ++good;
                const std::uint64_t tick = simulation->tick().value;
                REQUIRE(simulation->hash().state == states[tick / 20 - 1].state);
            }
        }
        // Changing what a run of zeros is made of may leave the same state.
        REQUIRE(good >= 1);
        REQUIRE((good == 3 || !recording.problems().empty()));
    }
}

TEST_CASE("sizes that lie are refused before anything is allocated", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 60});
    const Bytes side = side_file(toy_states(60, 20), {KeyframeCodec::raw, 1});
    const auto problem_after = [&](const std::function<void(Bytes&)>& change,
                                   std::uint64_t bytes_max = keyframe_bytes_max) {
        const Bytes changed = with_part(side, 1, change);
        KeyframedRecording recording = open_with(file, changed, bytes_max);
        CHECK(recording.keyframes().size() == 2);
        return problems_of(recording);
    };
    CHECK_THAT(problem_after([](Bytes& part) { put_u64(part, 16, std::uint64_t{1} << 40); }),
               Catch::Contains("keyframe.raw_bytes"));
    CHECK_THAT(problem_after([](Bytes& part) { put_u64(part, 24, UINT64_MAX); }),
               Catch::Contains("keyframe.stored_bytes"));
    CHECK_THAT(problem_after([](Bytes& part) { put_u64(part, 24, 0); }),
               Catch::Contains("keyframe.stored_bytes"));
    CHECK_THAT(problem_after([](Bytes& part) {
                   put_u64(part, 16, 5'000'000);
                   put_u64(part, 24, 5'000'000);
               }),
               Catch::Contains("keyframe.parts"));
    // Five parts are claimed and one is there.
    CHECK_THAT(problem_after([](Bytes& part) {
                   put_u64(part, 16, 5'000'000);
                   put_u64(part, 24, 5'000'000);
                   put_u64(part, 32, std::uint64_t{5} << 32);
               }),
               Catch::Contains("keyframe.data"));
    // A bomb: a gigabyte of zeros in a hundred bytes.
    CHECK_THAT(problem_after([](Bytes& part) {
                   put_u64(part, 16, std::uint64_t{1} << 30);
                   part[56] = std::byte{1};
               }),
               Catch::Contains("more than the stored bytes can hold"));
    // The configured maximum.
    const Bytes same = with_part(side, 1, [](Bytes&) {});
    CHECK(same == side);
    KeyframedRecording small = open_with(file, side, 100);
    CHECK(small.keyframes().empty());
    CHECK_THAT(problems_of(small), Catch::Contains("at most 100 are allowed"));
}

TEST_CASE("keyframes out of order are refused", "[replay][keyframe][fault]") {
    const Bytes file = record_toy({.ticks = 60});
    const Bytes side = side_file(toy_states(60, 20), {KeyframeCodec::raw, 1});
    const Bytes changed = with_part(side, 1, [](Bytes& part) { put_u64(part, 0, 20); });
    KeyframedRecording recording = open_with(file, changed);
    CHECK(recording.keyframes().size() == 2);
    CHECK_THAT(problems_of(recording), Catch::Contains("not later than the one before it"));
    CHECK(good_keyframes(recording) == 2);
}

TEST_CASE("a keyframe larger than a frame is cut into parts that must be in order",
          "[replay][keyframe][unit]") {
    Bytes data(keyframe_part_bytes * 2 + 100);
    TestRandom random;
    for (std::byte& byte : data) {
        byte = static_cast<std::byte>(random.below(256));
    }
    const KeyframeInfo info{Tick{7}, {1, 2}, data.size(), data.size(), {}, std::nullopt};
    std::vector<Bytes> parts;
    REQUIRE(write_parts(info, data, [&parts](ByteView part) -> Result<void> {
        parts.emplace_back(part.begin(), part.end());
        return {};
    }));
    REQUIRE(parts.size() == 3);
    CHECK(parts[0].size() == frame_payload_bytes_max);
    CHECK(parts[2].size() == keyframe_head_bytes + 100);
    PartAssembler assembler(true, keyframe_bytes_max);
    CHECK_FALSE(*assembler.add(parts[0]));
    CHECK_FALSE(*assembler.add(parts[1]));
    CHECK(*assembler.add(parts[2]));
    CHECK(assembler.stored() == data);
    SECTION("one is missing") {
        CHECK_FALSE(*assembler.add(parts[0]));
        CHECK(assembler.add(parts[2]).error().field == "keyframe.part");
    }
    SECTION("the first is missing") {
        CHECK(assembler.add(parts[1]).error().field == "keyframe.part");
    }
    SECTION("one is of another keyframe") {
        CHECK_FALSE(*assembler.add(parts[0]));
        put_u64(parts[1], 0, 8);
        CHECK(assembler.add(parts[1]).error().field == "keyframe");
    }
    SECTION("one is too short") {
        CHECK_FALSE(*assembler.add(parts[0]));
        parts[1].pop_back();
        CHECK(assembler.add(parts[1]).error().field == "keyframe.data");
    }
    SECTION("the last is too long") {
        CHECK_FALSE(*assembler.add(parts[0]));
        CHECK_FALSE(*assembler.add(parts[1]));
        parts[2].push_back({});
        CHECK(assembler.add(parts[2]).error().field == "keyframe.data");
    }
}

TEST_CASE("runs of zeros come back as they were, and lies about them are refused",
          "[replay][keyframe][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    Bytes stored;
    Bytes back;
    for (int i = 0; i < 300; ++i) {
        Bytes raw(random.below(2000));
        const std::size_t density = 1 + random.below(12);
        for (std::byte& byte : raw) {
            byte = static_cast<std::byte>(random.below(density) == 0 ? random.below(256) : 0);
        }
        REQUIRE(compress_keyframe(KeyframeCodec::zero_runs, raw, stored));
        REQUIRE(decompress_keyframe(KeyframeCodec::zero_runs, stored, raw.size(), back));
        REQUIRE(back == raw);
        REQUIRE_FALSE(decompress_keyframe(KeyframeCodec::zero_runs, stored, raw.size() + 1, back));
        if (!raw.empty()) {
            REQUIRE_FALSE(
                decompress_keyframe(KeyframeCodec::zero_runs, stored, raw.size() - 1, back));
            REQUIRE(back.size() <= raw.size() - 1);
        }
    }
}

TEST_CASE("adding keyframes and stripping them gives the same file, byte for byte",
          "[replay][keyframe][golden]") {
    const Bytes file = record_small_chunks(200, 20);
    auto simulation = make_simulation<ToyGame>();
    auto with = std::make_shared<SinkPlan>();
    const auto added = add_keyframes(*simulation,
                                     *Reader::from_memory(file),
                                     std::make_unique<MemorySink>(with),
                                     {.every_ticks = 30});
    REQUIRE(added);
    CHECK(added->keyframes == 5);
    CHECK(added->ticks == 200);
    CHECK(with->file.size() > file.size());
    CHECK(read_all(with->file, ReadMode::strict).state == FileState::closed);
    const auto verified = verify(*simulation, *Reader::from_memory(with->file));
    REQUIRE(verified);
    CHECK_FALSE(verified->divergence);
    SECTION("strip") {
        auto without = std::make_shared<SinkPlan>();
        const auto stripped = strip_keyframes(*Reader::from_memory(with->file),
                                              std::make_unique<MemorySink>(without));
        REQUIRE(stripped);
        CHECK(stripped->keyframes == 5);
        CHECK(without->file == file);
    }
    SECTION("adding again replaces them") {
        auto again = std::make_shared<SinkPlan>();
        REQUIRE(add_keyframes(*simulation,
                              *Reader::from_memory(with->file),
                              std::make_unique<MemorySink>(again),
                              {.every_ticks = 30}));
        CHECK(again->file == with->file);
    }
    SECTION("all of them are good") {
        KeyframedRecording recording = open_with(with->file, {});
        const auto checked = check_keyframes(*simulation, recording);
        REQUIRE(checked);
        CHECK(checked->keyframes == 5);
        CHECK(checked->ticks == 200);
        CHECK(checked->problems.empty());
        CHECK_FALSE(checked->divergence);
    }
}

TEST_CASE("a recording that diverges gives keyframes only up to there",
          "[replay][keyframe][fault]") {
    const Bytes file = record_small_chunks(200, 20);
    // The same inputs under another seed: the first draw differs.
    std::string text = *to_text(file, {.proofs = false});
    const std::size_t line = text.find("\"tick\":\"90\"");
    const std::size_t value = text.find("\"slots\":[\"", line) + 10;
    text[value + 1] = text[value + 1] == '0' ? '1' : '0';
    const Bytes planted = *from_text(text);
    auto simulation = make_simulation<ToyGame>();
    auto side = std::make_shared<SinkPlan>();
    const auto written = write_side_file(*simulation,
                                         *Reader::from_memory(planted),
                                         std::make_unique<MemorySink>(side),
                                         {.every_ticks = 20});
    REQUIRE(written);
    REQUIRE(written->divergence);
    CHECK(written->divergence->tick == Tick{91});
    CHECK(written->keyframes == 4);
    KeyframedRecording recording = open_with(planted, side->file);
    CHECK(good_keyframes(recording) == 4);
}
