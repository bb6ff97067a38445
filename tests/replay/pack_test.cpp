// SPDX-License-Identifier: MIT
// Packing and unpacking: nothing is lost, and a packed file is read like its open form.
#include "pack_support.hpp"
#include "packed_frame.hpp"

#include "twinstep/sim/hash.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace twinstep;
using namespace twinstep::replay;

TEST_CASE("a packed session is smaller and unpacks to the same bytes", "[replay][unit][pack]") {
    const Bytes open = record_toy({1500, 3});
    PackReport report;
    const Bytes packed = pack_bytes(open, {}, &report);
    CHECK((packed.size() < open.size() / 2 || !has_compression()));
    CHECK(report.ticks == 1500);
    CHECK(report.chunks == 3);
    CHECK(report.packed_frames == 1);
    CHECK(report.bytes == packed.size());
    CHECK(report.source_bytes == open.size());
    CHECK(report.chain == chain_of(open));
    CHECK(unpack_bytes(packed) == open);
}

TEST_CASE("whatever can be recorded can be packed and unpacked", "[replay][property][pack]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int round = 0; round < 300; ++round) {
        INFO("round " << round);
        const Bytes open = random_recording(random);
        PackReport report;
        const Bytes packed = pack_bytes(open, {static_cast<int>(random.below(20))}, &report);
        REQUIRE(unpack_bytes(packed) == open);
        REQUIRE(report.chain == chain_of(open));
        REQUIRE(chain_of(packed) == report.chain);
        const auto summary = check_packed(packed);
        REQUIRE(summary);
        INFO((summary->defect ? to_string(*summary->defect) : std::string()));
        const Outcome whole = read_all(open);
        REQUIRE_FALSE(summary->defect);
        REQUIRE(summary->state == whole.state);
        REQUIRE(summary->ticks == whole.ticks);
        REQUIRE(summary->chunks == report.chunks);
        REQUIRE(summary->good_bytes == packed.size());
        const auto read = summarise(packed);
        REQUIRE(read);
        REQUIRE(read->is_packed);
        REQUIRE(read->bytes == packed.size());
        REQUIRE(read->good_bytes == packed.size());
        REQUIRE(read->records == whole.records.size());
        // To pack what is packed changes nothing.
        REQUIRE(unpack_bytes(pack_bytes(packed)) == open);
    }
}

TEST_CASE("state hashes that follow from section hashes are not stored", "[replay][unit][pack]") {
    for (const int others : {0, 1, 3}) {
        TestRandom random(8);
        TestRecording recording;
        for (int chunk = 0; chunk < 10; ++chunk) {
            recording.tick(random_tick(random, recording.writer->next_tick(), 1));
            recording.end_chunk(chunk >= others);
        }
        const Bytes open = recording.close();
        const Bytes packed = pack_bytes(open);
        CHECK(unpack_bytes(packed) == open);
        const auto reader = Reader::from_memory(packed);
        const std::size_t start = static_cast<std::size_t>(reader->bytes());
        ByteReader frame(ByteView(packed).subspan(start));
        frame.u8("tag");
        const ByteView payload = frame.bytes(frame.varint("length"), "payload");
        GoodHead head{reader->head(), reader->sections(), {}};
        const auto decoded = decode_packed(payload, head);
        REQUIRE(decoded);
        // One that says something of its own keeps all in its frame.
        CHECK(decoded->states_left_out == (others == 0));
        CHECK(decoded->chunk_hashes.size() == 10 * 16 * (others == 0 ? 3 : 4));
    }
}

TEST_CASE("a recording without ticks can be packed", "[replay][unit][pack]") {
    TestRecording recording;
    const Bytes open = recording.file();
    CHECK(unpack_bytes(pack_bytes(open)) == open);
    const Bytes closed = recording.close();
    CHECK(unpack_bytes(pack_bytes(closed)) == closed);
}

TEST_CASE("a chunk that fits no frame is split over several", "[replay][unit][pack]") {
    TestRandom random(3);
    TestRecording recording;
    recording.tick(random_tick(random, recording.writer->next_tick(), 2));
    for (int i = 0; i < 30; ++i) {
        Bytes noise(60000);
        for (std::byte& byte : noise) {
            byte = static_cast<std::byte>(random.bits());
        }
        REQUIRE(recording.writer->write_record(0x80, noise));
        recording.tick(random_tick(random, recording.writer->next_tick(), 2));
    }
    recording.end_chunk();
    recording.tick(random_tick(random, recording.writer->next_tick(), 2));
    recording.end_chunk();
    const Bytes open = recording.close();
    PackReport report;
    const Bytes packed = pack_bytes(open, {1}, &report);
    CHECK(report.packed_frames > 2);
    CHECK(unpack_bytes(packed) == open);
    CHECK_FALSE(check_packed(packed)->defect);
}

TEST_CASE("thousands of idle slots and much of the same can be packed", "[replay][unit][pack]") {
    TestRecording recording;
    Bytes input(8, std::byte{7});
    for (std::uint64_t i = 0; i < 700; ++i) {
        TickFrame frame;
        frame.reset(Tick{i}, 4096);
        for (std::uint16_t k = 0; k < 4096; ++k) {
            frame.set_input(Slot{k}, input);
        }
        recording.tick(frame);
        if (i % 100 == 99) {
            REQUIRE(recording.writer->write_record(0x90, Bytes(65000)));
            recording.end_chunk();
        }
    }
    const Bytes open = recording.close();
    const Bytes packed = pack_bytes(open, {3});
    CHECK((packed.size() < open.size() / 2 || !has_compression()));
    CHECK(unpack_bytes(packed) == open);
}

TEST_CASE("a reader goes to any chunk of a packed file", "[replay][unit][pack]") {
    const Bytes open = many_frames();
    const Bytes packed = pack_bytes(open);
    auto reader = Reader::from_memory(packed, ReadMode::strict);
    REQUIRE(reader);
    CHECK(reader->is_packed());
    std::vector<ChunkPlace> places;
    std::vector<std::uint32_t> checks; // of the record at each place
    while (true) {
        const auto place = reader->chunk_place();
        const auto record = reader->next();
        REQUIRE(record);
        if (record->kind == RecordKind::end) {
            break;
        }
        if (place) {
            places.push_back(*place);
            checks.push_back(record->check);
        }
    }
    REQUIRE(places.size() > 20);
    const auto opened = Reader::from_memory(open, ReadMode::strict);
    REQUIRE(opened->chunk_place()->offset == places.front().offset);
    TestRandom random(1);
    for (int i = 0; i < 100; ++i) {
        const std::size_t k = random.below(places.size());
        REQUIRE(reader->seek(places[k]));
        REQUIRE(reader->chain() == places[k].chain);
        const auto record = reader->next();
        REQUIRE(record);
        REQUIRE(record->check == checks[k]);
        REQUIRE(record->offset == places[k].offset);
        if (i % 10 == 0) {
            auto rest = reader->next();
            while (rest && rest->kind != RecordKind::end) {
                rest = reader->next();
            }
            REQUIRE(rest);
            REQUIRE(reader->defects().empty());
            REQUIRE(reader->chain() == chain_of(open));
        }
    }
}

TEST_CASE("section bytes are left out when asked, and the report says so", "[replay][unit][pack]") {
    TestRandom random(5);
    TestRecording recording;
    for (int i = 0; i < 200; ++i) {
        recording.tick(random_tick(random, recording.writer->next_tick(), 2));
        if (i % 50 == 49) {
            recording.end_chunk();
            REQUIRE(recording.writer->write_frame(0x42, Bytes(20)));
            REQUIRE(recording.writer->write_frame(0x41, Bytes(30)));
        }
    }
    const Bytes open = recording.close();
    PackReport report;
    const Bytes packed = pack_bytes(open, {19, false}, &report);
    CHECK(report.section_bytes_dropped);
    CHECK(report.signatures_dropped == 4);
    CHECK(report.chain != chain_of(open));
    CHECK(report.chain == chain_of(packed));
    CHECK(packed.size() + 300 < pack_bytes(open).size());
    const Bytes without = unpack_bytes(packed);
    CHECK(chain_of(without) == report.chain);
    const Outcome outcome = read_all(without, ReadMode::strict);
    CHECK(outcome.ticks == 200);
    CHECK(outcome.state == FileState::closed);
    // There is nothing to leave out any more.
    PackReport again;
    CHECK(pack_bytes(without, {19, false}, &again) == packed);
    CHECK_FALSE(again.section_bytes_dropped);
    CHECK(again.chain == report.chain);
}

TEST_CASE("what is damaged or cut is not packed", "[replay][unit][pack]") {
    Bytes open = record_toy({100, 2});
    for (const bool cut : {false, true}) {
        Bytes bad = open;
        if (cut) {
            bad.resize(bad.size() / 2);
        } else {
            bad[bad.size() / 2] ^= std::byte{1};
        }
        for (const ReadMode mode : {ReadMode::strict, ReadMode::tail, ReadMode::prefix}) {
            auto reader = Reader::from_memory(bad, mode);
            REQUIRE(reader);
            const auto packed =
                pack(*reader, std::make_unique<MemorySink>(std::make_shared<SinkPlan>()));
            REQUIRE_FALSE(packed);
            CHECK(packed.error().code == (cut ? Errc::truncated : Errc::corrupt_record));
        }
    }
}

TEST_CASE("a failing disk ends packing and unpacking", "[replay][fault][pack]") {
    const Bytes open = record_toy({100, 2});
    const Bytes packed = pack_bytes(open);
    const PackOptions options{has_compression() ? 19 : 0};
    for (std::uint64_t write = 0; write < 2; ++write) {
        auto plan = std::make_shared<SinkPlan>();
        plan->fail_write = write;
        auto reader = Reader::from_memory(open);
        const auto failed = pack(*reader, std::make_unique<MemorySink>(plan), options);
        REQUIRE_FALSE(failed);
        CHECK(failed.error().code == Errc::io_error);
        auto again = std::make_shared<SinkPlan>();
        again->fail_write = write;
        auto second = Reader::from_memory(packed);
        CHECK_FALSE(unpack(*second, std::make_unique<MemorySink>(again)));
    }
    auto plan = std::make_shared<SinkPlan>();
    plan->write_bytes_max = 7;
    plan->interrupt_every = 3;
    auto reader = Reader::from_memory(open);
    REQUIRE(pack(*reader, std::make_unique<MemorySink>(plan), options));
    CHECK(plan->file == packed);
    CHECK(plan->closed);
}

TEST_CASE("a build without zstd says so and still stores", "[replay][unit][pack]") {
    const Bytes open = record_toy({100, 2});
    auto reader = Reader::from_memory(open);
    const auto packed = pack(*reader, std::make_unique<MemorySink>(std::make_shared<SinkPlan>()));
    CHECK(packed.has_value() == has_compression());
    if (!packed) {
        CHECK(packed.error().code == Errc::unsupported_version);
    }
    CHECK(unpack_bytes(pack_bytes(open, {0})) == open);
}
