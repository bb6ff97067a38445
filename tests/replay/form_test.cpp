// SPDX-License-Identifier: MIT
// What version 1.1 added to the format: ticks as changes, frames, late starts, no section bytes.
#include "changes.hpp"
#include "recording_support.hpp"
#include "test_random.hpp"

#include "twinstep/sim/hash.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A frame of `slots` slots, each input one of very few, so that many stay as they are.
Bytes random_frame(TestRandom& random, Tick tick, std::size_t slots, bool with_event = false) {
    TickFrame frame;
    frame.reset(tick, slots);
    for (std::size_t i = 0; i < slots; ++i) {
        if (random.below(8) != 0) {
            const Bytes input(random.below(3), static_cast<std::byte>(random.below(2)));
            frame.set_input(Slot{static_cast<std::uint16_t>(i)}, input, random.below(5) == 0);
        }
    }
    if (with_event) {
        frame.add_event(EventKind::marker, Bytes(random.below(4)));
    }
    Bytes encoded;
    encode_frame(frame, encoded);
    return encoded;
}

/// Writes frames into a file that holds them and nothing else of interest.
struct FormWriter {
    std::shared_ptr<SinkPlan> plan = std::make_shared<SinkPlan>();
    std::optional<Writer> writer;
    std::vector<Hash128> hashes;

    explicit FormWriter(std::uint32_t features = feature::changes,
                        const Manifest& further = {},
                        const std::string& sections = "a b") {
        Head head;
        head.session = test_session();
        head.incompatible = features;
        head.manifest = further;
        head.manifest[sections_key] = sections;
        auto created = Writer::create(std::make_unique<MemorySink>(plan), head);
        REQUIRE(created);
        writer.emplace(std::move(*created));
        hashes.resize(writer->section_count());
    }

    void tick(ByteView frame) {
        REQUIRE(writer->write_tick(0x12345678, Bytes(writer->tick_section_bytes()), frame));
    }

    void end_chunk() { REQUIRE(writer->write_chunk_end({1, 2}, hashes)); }

    const Bytes& close() {
        REQUIRE(writer->write_trailer());
        REQUIRE(writer->close());
        return plan->file;
    }
};

Errc code_of(const Error& error) {
    REQUIRE(error.code.category() == replay_category());
    return static_cast<Errc>(error.code.value());
}

/// The frames of a file, re-encoded by the reader.
std::vector<Bytes> frames_of(ByteView file) {
    std::vector<Bytes> frames;
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    while (true) {
        const auto record = reader->next();
        if (!record) {
            FAIL(to_string(record.error()));
        }
        if (record->kind == RecordKind::end) {
            return frames;
        }
        if (record->kind == RecordKind::tick) {
            frames.emplace_back(record->tick.encoded.begin(), record->tick.encoded.end());
        }
    }
}

/// Sets the feature word of a file and makes the checks of its head right again.
Bytes with_features(Bytes file, std::uint32_t features) {
    const auto put = [&file](std::size_t offset, std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            file[offset + i] = static_cast<std::byte>(value >> (8 * i));
        }
    };
    put(24, features, 4);
    put(56, checksum64(ByteView(file).first(56)), 8);
    const std::size_t manifest = ByteReader(ByteView(file).subspan(64)).u32("size");
    put(68 + manifest, checksum64(ByteView(file).first(68 + manifest)), 8);
    return file;
}

} // namespace

TEST_CASE("any frame comes back from its changes, whatever came before", "[replay][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const std::size_t slots : {0U, 1U, 2U, 7U, 8U, 9U, 64U, 4096U}) {
        for (std::uint64_t round = 0; round < (slots > 100 ? 5U : 200U); ++round) {
            const Bytes before = random_frame(random, Tick{round}, slots, random.below(2) == 0);
            const Bytes frame = random_frame(random, Tick{round + 1}, slots);
            Bytes changes;
            REQUIRE(encode_changes(before, frame, changes));
            REQUIRE(is_change(before, frame));
            Bytes again;
            REQUIRE(apply_changes(before, Tick{round + 1}, changes, again));
            REQUIRE(again == frame);
        }
    }
}

TEST_CASE("a frame with events or other slots is no change", "[replay][unit]") {
    TestRandom random;
    const Bytes before = random_frame(random, Tick{0}, 3);
    Bytes changes;
    CHECK_FALSE(encode_changes(before, random_frame(random, Tick{1}, 3, true), changes));
    CHECK_FALSE(encode_changes(before, random_frame(random, Tick{1}, 4), changes));
    CHECK(changes.empty());
}

TEST_CASE("there is one way to write changes, and any bytes are judged", "[replay][fault]") {
    TickFrame frame;
    frame.reset(Tick{0}, 3);
    frame.set_input(Slot{0}, Bytes{std::byte{7}});
    Bytes before;
    encode_frame(frame, before);
    const auto wrong = [&before](std::initializer_list<int> bytes) {
        Bytes changes;
        for (const int byte : bytes) {
            changes.push_back(static_cast<std::byte>(byte));
        }
        Bytes target;
        const auto applied = apply_changes(before, Tick{1}, changes, target);
        REQUIRE_FALSE(applied);
        CHECK(code_of(applied.error()) == Errc::corrupt_record);
        return applied.error().field;
    };
    CHECK(wrong({0}) == "tick.changed");           // A bitmap without a bit.
    CHECK(wrong({8}) == "tick.changed");           // A bit for slot 3 of three.
    CHECK(wrong({1}) == "tick.input");             // No input for the bit.
    CHECK(wrong({1, 5}) == "tick.input");          // An input that is not all there.
    CHECK(wrong({1, 5, 7}) == "tick.input");       // The input that slot 0 has already.
    CHECK(wrong({2, 0}) == "tick.input");          // Slot 1 is absent already.
    CHECK(wrong({1, 0, 0}) == "tick.changed");     // One byte too many.
    CHECK(wrong({1, 0x85, 0, 7}) == "tick.input"); // A long way to write 5.
    Bytes target;
    CHECK(apply_changes(before, Tick{1}, Bytes{std::byte{1}, std::byte{0}}, target));
}

TEST_CASE("a tick that repeats its inputs takes ten bytes and one a section", "[replay][unit]") {
    TestRandom random;
    FormWriter form;
    const Bytes first = random_frame(random, Tick{0}, 4);
    form.tick(first);
    const std::uint64_t before = form.writer->bytes();
    Bytes second = first;
    second[0] = std::byte{1};
    form.tick(second);
    CHECK(form.writer->bytes() - before == 12);
    form.end_chunk();
    const auto frames = frames_of(form.close());
    REQUIRE(frames.size() == 2);
    CHECK(frames[0] == first);
    CHECK(frames[1] == second);
}

TEST_CASE("sessions come back through files of either version", "[replay][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t bytes_of_1_0 = 0;
    for (const std::uint32_t features : {0U, feature::changes, feature::no_section_bytes | 1U}) {
        TestRandom same(random);
        FormWriter form(features);
        std::vector<Bytes> frames;
        for (std::uint64_t tick = 0; tick < 500; ++tick) {
            frames.push_back(
                random_frame(same, Tick{tick}, 1 + same.below(2), same.below(10) == 0));
            form.tick(frames.back());
            if (tick % 37 == 36) {
                form.end_chunk();
            }
        }
        form.end_chunk();
        const Bytes& file = form.close();
        CHECK(frames_of(file) == frames);
        CHECK(*from_text(*to_text(file)) == file);
        bytes_of_1_0 = features == 0 ? file.size() : bytes_of_1_0;
        CHECK((features == 0 || file.size() < bytes_of_1_0));
    }
}

TEST_CASE("a whole frame where changes would do is damage", "[replay][fault]") {
    TestRandom random;
    FormWriter form(0);
    form.tick(random_frame(random, Tick{0}, 2));
    form.tick(random_frame(random, Tick{1}, 2));
    form.end_chunk();
    const Bytes file = with_features(form.close(), feature::changes);
    const Outcome outcome = read_all(file, ReadMode::strict);
    REQUIRE(outcome.error);
    CHECK(code_of(*outcome.error) == Errc::corrupt_record);
    CHECK(outcome.error->field == "tag");
    CHECK(outcome.ticks == 1);
}

TEST_CASE("frames between chunks change neither chain nor ticks", "[replay][unit]") {
    TestRandom random;
    std::vector<Bytes> frames;
    for (std::uint64_t tick = 0; tick < 6; ++tick) {
        frames.push_back(random_frame(random, Tick{tick}, 2));
    }
    FormWriter plain;
    FormWriter framed;
    REQUIRE(framed.writer->write_frame(0x41, Bytes(frame_payload_bytes_max)));
    for (std::size_t tick = 0; tick < frames.size(); ++tick) {
        plain.tick(frames[tick]);
        framed.tick(frames[tick]);
        if (tick % 2 == 1) {
            plain.end_chunk();
            framed.end_chunk();
            REQUIRE(framed.writer->write_frame(0x7F, {}));
            REQUIRE(framed.writer->write_frame(0x50, Bytes(70'000)));
        }
    }
    CHECK_FALSE(framed.writer->write_frame(0x41, Bytes(frame_payload_bytes_max + 1)));
    const Bytes& file = framed.close();
    CHECK(frames_of(file) == frames);
    CHECK(frames_of(plain.close()) == frames);
    CHECK(framed.writer->chain() == plain.writer->chain());
    const Outcome outcome = read_all(file, ReadMode::strict);
    CHECK(outcome.state == FileState::closed);
    CHECK(std::count_if(outcome.records.begin(), outcome.records.end(), [](const Record& record) {
              return record.kind == RecordKind::frame;
          }) == 7);
    CHECK(*from_text(*to_text(file)) == file);
}

TEST_CASE("a frame that is cut, moved or flipped is never taken", "[replay][fault]") {
    TestRandom random;
    FormWriter form;
    form.tick(random_frame(random, Tick{0}, 1));
    form.end_chunk();
    const std::uint64_t start = form.writer->bytes();
    REQUIRE(form.writer->write_frame(0x50, Bytes(100, std::byte{1})));
    const std::uint64_t middle = form.writer->bytes();
    REQUIRE(form.writer->write_frame(0x50, Bytes(100, std::byte{2})));
    const std::uint64_t end = form.writer->bytes();
    const Bytes file = form.close();
    for (std::uint64_t size = start + 1; size < middle; ++size) {
        const Outcome outcome = read_all(ByteView(file).first(static_cast<std::size_t>(size)));
        REQUIRE(outcome.state == FileState::truncated);
        REQUIRE(outcome.records.size() == 2);
    }
    for (std::uint64_t bit = start * 8; bit < end * 8; ++bit) {
        Bytes damaged = file;
        damaged[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1U << (bit % 8));
        const Outcome outcome = read_all(damaged);
        REQUIRE(outcome.state == FileState::damaged);
        REQUIRE(outcome.ticks == 1);
    }
    Bytes swapped(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(start));
    swapped.insert(swapped.end(),
                   file.begin() + static_cast<std::ptrdiff_t>(middle),
                   file.begin() + static_cast<std::ptrdiff_t>(end));
    CHECK(read_all(swapped).state == FileState::damaged);
}

TEST_CASE("a recording may begin later and lack section bytes", "[replay][unit]") {
    TestRandom random;
    FormWriter form(feature::changes | feature::late_start | feature::no_section_bytes,
                    {{first_tick_key, "1000"}});
    form.tick(random_frame(random, Tick{1000}, 1));
    form.tick(random_frame(random, Tick{1001}, 1));
    form.end_chunk();
    form.tick(random_frame(random, Tick{1002}, 1));
    form.end_chunk();
    const Bytes& file = form.close();
    CHECK(*from_text(*to_text(file)) == file);
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    CHECK(reader->next_tick() == Tick{1000});
    const auto record = reader->next();
    REQUIRE(record);
    CHECK(record->tick.tick == Tick{1000});
    CHECK(record->tick.section_bytes.empty());
    CHECK(read_all(file, ReadMode::strict).ticks == 3);
}

TEST_CASE("the first tick and its feature belong together", "[replay][fault]") {
    const auto opens = [](std::uint32_t features, const Manifest& manifest) {
        Head head;
        head.incompatible = features;
        head.manifest = manifest;
        head.manifest[sections_key] = "a";
        return Writer::create(std::make_unique<MemorySink>(std::make_shared<SinkPlan>()), head)
            .has_value();
    };
    const std::uint32_t late = feature::changes | feature::late_start;
    CHECK(opens(late, {{first_tick_key, "1"}}));
    CHECK(opens(late, {{first_tick_key, "9223372036854775807"}}));
    CHECK_FALSE(opens(late, {}));
    CHECK_FALSE(opens(feature::changes, {{first_tick_key, "1"}}));
    for (const char* text : {"", "0", "01", "+1", "-1", "1 ", "0x1", "9223372036854775808", "x"}) {
        CHECK_FALSE(opens(late, {{first_tick_key, text}}));
    }
}

TEST_CASE("a reader that goes to a chunk reads on as if it had come there", "[replay][unit]") {
    const Bytes file = record_small_chunks(40, 7, 2);
    auto reader = Reader::from_memory(file, ReadMode::strict);
    REQUIRE(reader);
    std::vector<ChunkPlace> places;
    std::vector<std::uint64_t> offsets;
    while (true) {
        if (const auto place = reader->chunk_place()) {
            places.push_back(*place);
        }
        const auto record = reader->next();
        REQUIRE(record);
        if (record->kind == RecordKind::end) {
            break;
        }
        offsets.push_back(record->offset);
    }
    REQUIRE(places.size() == 7);
    CHECK_FALSE(reader->chunk_place());
    for (std::size_t i = places.size(); i-- > 0;) {
        REQUIRE(reader->seek(places[i]));
        CHECK(reader->next_tick() == Tick{std::min<std::uint64_t>(7 * i, 40)});
        std::size_t at = static_cast<std::size_t>(places[i].records);
        for (auto record = reader->next(); record->kind != RecordKind::end;
             record = reader->next()) {
            REQUIRE(record);
            REQUIRE(record->offset == offsets[at++]);
        }
        CHECK(at == offsets.size());
        CHECK(reader->state() == FileState::closed);
        CHECK(reader->ticks() == 40);
    }
}
