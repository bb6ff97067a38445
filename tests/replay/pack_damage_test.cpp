// SPDX-License-Identifier: MIT
// Packed files that are cut, damaged or hostile: the right verdict, in bounded memory.
#include "allocation_counter.hpp"
#include "compression.hpp"
#include "pack_support.hpp"
#include "unpack_input.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A head with the packed bit and two sections.
GoodHead hostile_head() {
    GoodHead good;
    good.head.incompatible = feature::changes | feature::packed;
    good.head.session = test_session();
    good.head.manifest[sections_key] = "a b";
    good.sections = {"a", "b"};
    return good;
}

void append_frame(Bytes& file, ByteView payload, const PackedPosition& position = {}) {
    const std::size_t start = file.size();
    ByteWriter writer(file);
    writer.u8(0x40);
    writer.varint(payload.size());
    writer.bytes(payload);
    Bytes scratch;
    writer.u32(
        record_check(position.place(test_session(), 0x40), ByteView(file).subspan(start), scratch));
}

/// A file with one packed frame whose checks are right, whatever else it says.
Bytes hostile_file(const PackedFrame& frame, ByteView content) {
    const GoodHead head = hostile_head();
    Bytes file;
    encode_head(head.head, file);
    Bytes payload;
    encode_packed_front(frame, payload);
    payload.resize(payload.size() + static_cast<std::size_t>(raw_bytes(frame, head)));
    ByteWriter(payload).bytes(content);
    append_frame(file, payload);
    return file;
}

/// Reads a file to its end and says what is wrong with it.
Error verdict_of(ByteView file) {
    auto reader = Reader::from_memory(file, ReadMode::prefix);
    REQUIRE(reader);
    while (reader->next()->kind != RecordKind::end) {
    }
    REQUIRE(reader->defects().size() == 1);
    return reader->defects().front().error;
}

/// Two ticks of one slot with two bytes each, in columns, and the end of their chunk.
Bytes good_columns() {
    Bytes content;
    ByteWriter writer(content);
    for (const int byte : {2, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}) {
        writer.u8(static_cast<std::uint8_t>(byte));
    }
    return content;
}

PackedFrame good_frame(std::size_t content_bytes) {
    PackedFrame frame;
    frame.codec = ContentCodec::stored;
    frame.layout = ContentLayout::columns;
    frame.chunks = 1;
    frame.ticks = 2;
    frame.content_bytes = content_bytes;
    return frame;
}

} // namespace

TEST_CASE("a packed file cut at any byte keeps the frames before the cut",
          "[replay][fault][pack]") {
    const Bytes open = many_frames();
    const Bytes packed = pack_bytes(open);
    const Outcome whole = read_all(packed, ReadMode::strict);
    const std::size_t head_bytes = static_cast<std::size_t>(whole.records.front().offset);
    std::size_t at_boundary = 0;
    std::uint64_t ticks_before = 0;
    for (std::size_t size = 0; size < packed.size(); ++size) {
        INFO("cut at " << size);
        const ByteView cut = ByteView(packed).first(size);
        const Outcome outcome = read_all(cut);
        if (size < head_bytes) {
            REQUIRE(outcome.error);
            REQUIRE(outcome.error->code ==
                    (size < 8 && size > 0 ? outcome.error->code : Errc::truncated));
            continue;
        }
        REQUIRE(outcome.opened);
        REQUIRE_FALSE(outcome.error);
        const auto summary = check_packed(cut);
        REQUIRE(summary);
        REQUIRE(summary->state == outcome.state);
        const auto read = summarise(cut);
        REQUIRE(read->bytes == size);
        REQUIRE(read->good_bytes == summary->good_bytes);
        REQUIRE(read->good_bytes <= size);
        REQUIRE((read->good_bytes == size) == (outcome.state == FileState::open));
        REQUIRE((outcome.state == FileState::open || outcome.state == FileState::truncated));
        REQUIRE(summary->ticks == outcome.ticks);
        REQUIRE(outcome.ticks >= ticks_before);
        REQUIRE(outcome.ticks % 10 == 0);
        ticks_before = outcome.ticks;
        at_boundary += outcome.state == FileState::open;
        // What is left is the beginning of the open form.
        for (std::size_t i = 0; i < outcome.records.size(); ++i) {
            REQUIRE(outcome.records[i].check == whole.records[i].check);
        }
    }
    CHECK(ticks_before == 120);
    CHECK(at_boundary == 25);
}

TEST_CASE("every flipped bit of a packed file is found by both readers", "[replay][fault][pack]") {
    const Bytes packed = pack_bytes(many_frames());
    const Outcome whole = read_all(packed, ReadMode::strict);
    const auto head_bytes = static_cast<std::size_t>(whole.records.front().offset);
    Bytes bad = packed;
    for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
        INFO("bit " << bit);
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const Outcome outcome = read_all(bad);
        if (bit / 8 < head_bytes) {
            REQUIRE(outcome.error);
        } else {
            REQUIRE_FALSE(outcome.error);
            REQUIRE(outcome.defects == 1);
            REQUIRE(outcome.state == FileState::damaged);
            REQUIRE(outcome.records.size() < whole.records.size());
            const auto summary = check_packed(bad);
            REQUIRE(summary);
            REQUIRE(summary->state == FileState::damaged);
            REQUIRE(summary->ticks == outcome.ticks);
            const auto read = summarise(bad);
            REQUIRE(read->good_bytes == summary->good_bytes);
            REQUIRE(read->good_bytes <= bit / 8);
        }
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

TEST_CASE("frames of a packed file cannot change places", "[replay][fault][pack]") {
    const GoodHead head = hostile_head();
    const Bytes content = good_columns();
    PackedFrame frame = good_frame(content.size());
    Bytes payload;
    encode_packed_front(frame, payload);
    payload.resize(payload.size() + static_cast<std::size_t>(raw_bytes(frame, head)));
    ByteWriter(payload).bytes(content);
    Bytes file;
    encode_head(head.head, file);
    append_frame(file, payload);
    PackedPosition second;
    second.chunk = 1;
    append_frame(file, payload, second);
    CHECK(read_all(file).state == FileState::open);
    CHECK(read_all(file).ticks == 4);
    // The second frame once more.
    append_frame(file, payload, second);
    CHECK(verdict_of(file).field == "check");
}

TEST_CASE("sizes and columns that lie are refused", "[replay][fault][pack]") {
    const Bytes good = good_columns();
    REQUIRE(read_all(hostile_file(good_frame(good.size()), good)).ticks == 2);

    struct Lie {
        const char* what;
        std::vector<int> content;
    };

    const std::vector<Lie> lies{
        {"a chunk of more ticks", {3, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"a chunk of no tick", {0, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"a chunk of one tick", {1, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"a run of no ticks", {2, 0, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"slots for three ticks", {2, 3, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"two slots", {2, 2, 2, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"5,000 slots", {2, 2, 0x88, 0x27, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"a tick with events that are none", {2, 2, 1, 1, 0, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"an event behind the end", {2, 2, 1, 1, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"more events than ticks", {2, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 2, 9, 1, 2, 3, 4}},
        {"a record behind the end", {2, 2, 1, 0, 1, 5, 0x80, 0, 2, 9, 1, 2, 3, 4}},
        {"a record that is a tick", {2, 2, 1, 0, 1, 0, 0x01, 0, 2, 9, 1, 2, 3, 4}},
        {"a record that is a frame", {2, 2, 1, 0, 1, 0, 0x41, 0, 2, 9, 1, 2, 3, 4}},
        {"an input head without presence", {2, 2, 1, 0, 0, 2, 8, 1, 2, 3, 4}},
        {"an input of 300 bytes", {2, 2, 1, 0, 0, 2, 0xB1, 0x09, 1, 2, 3, 4}},
        {"an input run too long", {2, 2, 1, 0, 0, 3, 9, 1, 2, 3, 4}},
        {"a byte too many", {2, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4, 5}},
        {"a byte too few", {2, 2, 1, 0, 0, 2, 9, 1, 2, 3}},
        {"nothing", {}},
    };
    for (const Lie& lie : lies) {
        INFO(lie.what);
        Bytes content;
        for (const int byte : lie.content) {
            content.push_back(static_cast<std::byte>(byte));
        }
        const Bytes file = hostile_file(good_frame(content.size()), content);
        const Error error = verdict_of(file);
        CHECK((error.code == Errc::corrupt_record || error.code == Errc::limit_exceeded));
        CHECK(error.offset);
        // The frame itself is whole: only unpacking finds such a lie.
        CHECK_FALSE(check_packed(file)->defect);
        CHECK(summarise(file)->good_bytes == Reader::from_memory(file)->bytes());
    }
    PackedFrame frame = good_frame(good.size() + 1);
    CHECK(verdict_of(hostile_file(frame, good)).field == "packed.size");
    frame = good_frame(good.size());
    frame.chunks = 0;
    frame.tail = 2;
    CHECK(verdict_of(hostile_file(frame, good)).code == Errc::corrupt_record);
    frame.tail = 0;
    CHECK(verdict_of(hostile_file(frame, good)).field == "packed.tail");
    frame = good_frame(good.size());
    frame.tail = 1;
    CHECK(verdict_of(hostile_file(frame, good)).field == "packed.ticks");
    frame = good_frame(good.size());
    frame.states_left_out = true;
    CHECK(read_all(hostile_file(frame, good)).ticks == 2);
    // Not room for the hashes that are said to be there; a layout that means nothing.
    frame.states_left_out = false;
    frame.chunks = 2;
    CHECK(verdict_of(hostile_file(frame, good)).code == Errc::corrupt_record);
    frame = good_frame(good.size());
    frame.layout = static_cast<ContentLayout>(4);
    CHECK(verdict_of(hostile_file(frame, good)).field == "packed.marker");
}

TEST_CASE("compressed content cannot grow beyond what is declared", "[replay][fault][pack]") {
    if (!has_compression()) {
        return;
    }
    const auto zipped = [](std::size_t size) {
        Bytes packed;
        REQUIRE(compress(Bytes(size), 19, packed));
        return packed;
    };
    PackedFrame frame = good_frame(0);
    frame.codec = ContentCodec::zstd;
    // Declared small, large inside; declared large; grown more than a thousandfold.
    frame.content_bytes = 11;
    CHECK(verdict_of(hostile_file(frame, zipped(std::size_t{16} << 20))).field == "packed.content");
    frame.content_bytes = content_bytes_max + 1;
    CHECK(verdict_of(hostile_file(frame, zipped(100))).code == Errc::limit_exceeded);
    frame.content_bytes = content_bytes_max;
    CHECK(verdict_of(hostile_file(frame, zipped(content_bytes_max))).code == Errc::limit_exceeded);
    // Trailing bytes, a second frame, no frame, a cut one.
    const Bytes good = good_columns();
    frame.content_bytes = good.size();
    Bytes packed;
    REQUIRE(compress(good, 19, packed));
    CHECK(read_all(hostile_file(frame, packed)).ticks == 2);
    // Less inside than is declared.
    frame.content_bytes = good.size() + 1;
    CHECK(verdict_of(hostile_file(frame, packed)).field == "packed.content");
    frame.content_bytes = good.size();
    Bytes longer = packed;
    longer.push_back(std::byte{0});
    CHECK(verdict_of(hostile_file(frame, longer)).field == "packed.content");
    longer = packed;
    longer.insert(longer.end(), packed.begin(), packed.end());
    CHECK(verdict_of(hostile_file(frame, longer)).field == "packed.content");
    longer = packed;
    REQUIRE(compress({}, 19, longer)); // a frame of nothing
    CHECK(verdict_of(hostile_file(frame, longer)).field == "packed.content");
    CHECK(verdict_of(hostile_file(frame, {})).field == "packed.content");
    CHECK(verdict_of(hostile_file(frame, ByteView(packed).first(packed.size() - 1))).field ==
          "packed.content");
}

TEST_CASE("content of any bytes ends in a verdict, in bounded memory", "[replay][property][pack]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int round = 0; round < 400; ++round) {
        INFO("round " << round);
        // Content of a real recording, with some bytes changed, behind checks that are right.
        const Bytes open = random_recording(random);
        ColumnWriter columns;
        RowWriter rows;
        PackedFrame frame;
        frame.codec = ContentCodec::stored;
        frame.layout = random.below(2) == 0 ? ContentLayout::columns : ContentLayout::rows;
        auto reader = Reader::from_memory(open);
        while (true) {
            const auto record = reader->next();
            REQUIRE(record);
            if (record->kind == RecordKind::end) {
                break;
            }
            if (record->kind == RecordKind::tick) {
                columns.tick(*record->tick.frame, record->tick.encoded);
                rows.record(0x01, record->tick.encoded);
                ++frame.ticks;
                ++frame.tail;
            } else if (record->kind == RecordKind::chunk_end) {
                columns.chunk_end();
                rows.chunk_end();
                ++frame.chunks;
                frame.tail = 0;
            } else if (record->kind == RecordKind::unknown) {
                columns.record(record->tag, record->payload);
                rows.record(record->tag, record->payload);
                ++frame.tail;
            }
        }
        Bytes content = frame.layout == ContentLayout::columns ? columns.finish() : rows.finish();
        for (std::size_t left = content.empty() ? 0 : random.below(6); left > 0; --left) {
            content[random.below(random.below(2) == 0
                                     ? content.size()
                                     : std::min<std::size_t>(content.size(), 40))] =
                static_cast<std::byte>(random.bits());
        }
        frame.content_bytes = content.size();
        const Bytes file = hostile_file(frame, content);
        const AllocationCounter counter;
        const Outcome outcome = read_all(file);
        REQUIRE(outcome.opened);
        REQUIRE_FALSE(outcome.error);
        REQUIRE(counter.bytes() < 2 * chunk_bytes_max + 2 * frame_record_bytes_max +
                                      2 * file.size() +
                                      (outcome.records.size() * sizeof(Record) * 4));
    }
}

TEST_CASE("rows cannot hold more than the frame declares", "[replay][fault][pack]") {
    // Two ticks without slots, and the end of their chunk.
    const auto rows = [](const std::vector<int>& values, std::uint32_t chunks = 1) {
        Bytes content;
        for (const int value : values) {
            content.push_back(static_cast<std::byte>(value));
        }
        PackedFrame frame = good_frame(content.size());
        frame.layout = ContentLayout::rows;
        frame.chunks = chunks;
        return hostile_file(frame, content);
    };
    CHECK(read_all(rows({1, 2, 0, 0, 1, 2, 1, 0, 2})).ticks == 2);
    CHECK(read_all(rows({1, 2, 0, 0, 4, 0, 2})).ticks == 2);
    // A chunk begins with a whole tick, also behind another chunk.
    CHECK(read_all(rows({1, 2, 0, 0, 2, 1, 2, 1, 0, 2}, 2)).ticks == 2);
    CHECK(verdict_of(rows({1, 2, 0, 0, 2, 4, 0, 2}, 2)).field == "packed.tag");
    for (const std::vector<int>& lie : std::vector<std::vector<int>>{
             {1, 2, 0, 0, 1, 2, 1, 0, 1, 2, 2, 0, 2}, // three ticks
             {1, 2, 0, 0, 2},                         // one
             {1, 2, 0, 0, 4, 0, 2, 1, 2, 2, 0, 2},    // two chunks
             {1, 2, 0, 0, 2, 2},                      // an empty chunk
             {1, 2, 0, 0, 2, 1, 2, 1, 0, 2},          // two chunks of one tick
             {1, 2, 0, 0, 4, 0},                      // no end
             {4, 0, 1, 2, 0, 0, 2},                   // changes of nothing
             {1, 2, 1, 0, 1, 2, 2, 0, 2},             // not these ticks
             {1, 2, 0, 0, 4, 1, 0, 2},                // changes that are none
             {1, 200, 1, 0, 0},                       // a length that lies
             {3, 0, 1, 2, 0, 0, 4, 0, 2},             // a trailer
         }) {
        CAPTURE(lie);
        const Error error = verdict_of(rows(lie));
        CHECK((error.code == Errc::corrupt_record || error.code == Errc::limit_exceeded));
        // Not one more than is declared comes out before the lie is found.
        const Outcome outcome = read_all(rows(lie));
        CHECK(outcome.ticks <= 2);
        CHECK(std::count_if(outcome.records.begin(), outcome.records.end(), [](const auto& record) {
                  return record.kind == RecordKind::chunk_end;
              }) <= 1);
    }
}

TEST_CASE("a packed frame opens into no more than its limit", "[replay][fault][pack]") {
    // Chunks of one tick with every slot and no input: some 50 bytes each, which open into 4 KiB.
    const auto idle = [](std::uint32_t chunks) {
        Bytes content;
        ByteWriter writer(content);
        for (std::uint32_t i = 0; i < chunks; ++i) {
            writer.varint(1);
        }
        writer.varint(chunks); // so many ticks with so many slots
        writer.varint(slots_max);
        writer.varint(0); // events
        writer.varint(0); // records
        for (std::size_t slot = 0; slot < slots_max; ++slot) {
            writer.varint(chunks);
            writer.varint(0);
        }
        PackedFrame frame = good_frame(content.size());
        frame.chunks = chunks;
        frame.ticks = chunks;
        return hostile_file(frame, content);
    };
    CHECK(read_all(idle(980)).ticks == 980);
    CHECK(read_all(idle(980)).state == FileState::open);
    const Bytes file = idle(15'000);
    const AllocationCounter counter;
    auto reader = Reader::from_memory(file, ReadMode::prefix);
    REQUIRE(reader);
    while (reader->next()->kind != RecordKind::end) {
    }
    CHECK(reader->ticks() * slots_max <= packed_open_bytes_max);
    CHECK(counter.bytes() < 2 * chunk_bytes_max + 2 * frame_record_bytes_max + 2 * file.size());
    REQUIRE(reader->defects().size() == 1);
    const Error error = reader->defects().front().error;
    CHECK(error.code == Errc::limit_exceeded);
    CHECK(error.field == "packed.content");
}

TEST_CASE("a packed frame declares no more than a frame can hold", "[replay][fault][pack]") {
    const auto verdict = [](const PackedFrame& frame, ByteView rest) {
        Bytes file;
        encode_head(hostile_head().head, file);
        Bytes payload;
        encode_packed_front(frame, payload);
        ByteWriter(payload).bytes(rest);
        append_frame(file, payload);
        const Error error = verdict_of(file);
        CHECK(error.code == Errc::limit_exceeded);
        return error.field;
    };
    const Bytes rest(100);
    PackedFrame frame = good_frame(rest.size());
    frame.chunks = UINT32_MAX;
    CHECK(verdict(frame, rest) == "packed.chunks");
    frame = good_frame(rest.size());
    frame.ticks = UINT64_MAX;
    CHECK(verdict(frame, rest) == "packed.ticks");
    frame = good_frame(rest.size());
    frame.tail = packed_open_bytes_max + 1;
    CHECK(verdict(frame, rest) == "packed.tail");
    if (has_compression()) {
        // Enough noise that it does not grow more than a thousandfold.
        TestRandom random(3);
        Bytes content = random_bytes(random, 4000);
        content.resize(content_bytes_max + 1);
        frame = good_frame(content.size());
        frame.codec = ContentCodec::zstd;
        Bytes packed(static_cast<std::size_t>(raw_bytes(frame, hostile_head())));
        REQUIRE(compress(content, 1, packed));
        CHECK(verdict(frame, packed) == "packed.size");
    }
}

TEST_CASE("no record of a packed file is longer than its kind may be", "[replay][fault][pack]") {
    Bytes head;
    encode_head(hostile_head().head, head);
    for (const auto& [tag, bytes] :
         {std::pair<std::uint8_t, std::size_t>(0x40, frame_payload_bytes_max),
          std::pair<std::uint8_t, std::size_t>(0x03, record_payload_bytes_max)}) {
        Bytes file = head;
        ByteWriter writer(file);
        writer.u8(tag);
        writer.varint(bytes + 1);
        writer.bytes(Bytes(bytes + 1 + 4));
        const Error error = verdict_of(file);
        CHECK(error.code == Errc::limit_exceeded);
        CHECK(error.field == "length");
    }
}

TEST_CASE("the counters of a packed file end before they begin anew", "[replay][fault][pack]") {
    const GoodHead head = hostile_head();
    PackedFrame frame = good_frame(0);
    frame.ticks = 0;
    const auto next_at = [&head](std::uint8_t tag, ByteView payload, PackedPosition position) {
        Bytes file;
        ByteWriter writer(file);
        writer.u8(tag);
        writer.varint(payload.size());
        writer.bytes(payload);
        Bytes scratch;
        writer.u32(record_check(position.place(test_session(), tag), Bytes(file), scratch));
        PackedScanner scanner(Window(memory_input(file)), head);
        REQUIRE_FALSE(scanner.seek(0, position));
        const Result<PackedRecord> record = scanner.next();
        return record ? Error() : record.error();
    };
    const auto payload_of = [&head](const PackedFrame& made) {
        Bytes payload;
        encode_packed_front(made, payload);
        payload.resize(payload.size() + static_cast<std::size_t>(raw_bytes(made, head)));
        return payload;
    };
    PackedPosition position;
    position.chunk = UINT32_MAX - 1;
    CHECK(next_at(0x40, payload_of(frame), position).code != Errc::limit_exceeded);
    position.chunk = UINT32_MAX;
    CHECK(next_at(0x40, payload_of(frame), position).code == Errc::limit_exceeded);
    frame.chunks = 0;
    frame.tail = 1;
    position = {};
    position.tail = frame_record_first / 2 - 1;
    CHECK(next_at(0x40, payload_of(frame), position).code != Errc::limit_exceeded);
    ++position.tail;
    CHECK(next_at(0x40, payload_of(frame), position).code == Errc::limit_exceeded);
    position = {};
    position.frames = frame_record_first / 2 - 1;
    CHECK(next_at(0x42, Bytes(3), position).code != Errc::limit_exceeded);
    ++position.frames;
    CHECK(next_at(0x42, Bytes(3), position).code == Errc::limit_exceeded);
}

TEST_CASE("columns and rows that lie are found by the column, whatever follows them",
          "[replay][fault][pack]") {
    const auto field_of = [](const PackedFrame& shape,
                             const std::vector<int>& front,
                             std::size_t zeros,
                             const std::vector<int>& back = {}) {
        Bytes content;
        for (const int byte : front) {
            content.push_back(static_cast<std::byte>(byte));
        }
        content.resize(content.size() + zeros);
        for (const int byte : back) {
            content.push_back(static_cast<std::byte>(byte));
        }
        PackedFrame frame = shape;
        frame.content_bytes = content.size();
        const Error error = verdict_of(hostile_file(frame, content));
        CHECK(error.code == Errc::corrupt_record);
        return error.field;
    };
    const PackedFrame columns = good_frame(0);
    PackedFrame rows = good_frame(0);
    rows.layout = ContentLayout::rows;
    rows.chunks = 0;
    rows.ticks = 0;
    rows.tail = 1;
    constexpr std::size_t too_long = record_payload_bytes_max + 1; // as a varint 0x81 0x80 0x04
    CHECK(field_of(rows, {0x80, 0x81, 0x80, 0x04}, too_long) == "packed.length");
    CHECK(field_of(
              columns, {2, 2, 1, 0, 1, 0, 0x80, 0x81, 0x80, 0x04}, too_long, {2, 9, 1, 2, 3, 4}) ==
          "packed.record");
    // Inputs of 257 bytes.
    CHECK(field_of(columns, {2, 2, 1, 0, 0, 2, 0x85, 0x08}, 514) == "packed.input");
    // Runs of nothing before those that are needed.
    CHECK(field_of(columns, {2, 0, 1, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}, 0) == "packed.slots");
    CHECK(field_of(columns, {2, 2, 1, 0, 0, 0, 9, 2, 9, 1, 2, 3, 4}, 0) == "packed.input");
    // Runs that are right only modulo 2^64: three, and as many as take one off again.
    const std::vector<int> most{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01};
    std::vector<int> wrapped{2, 2, 1, 0, 0, 3, 9};
    wrapped.insert(wrapped.end(), most.begin(), most.end());
    CHECK(field_of(columns, wrapped, 0, {9, 1, 2, 3, 4}) == "packed.input");
    wrapped = {2, 3, 1};
    wrapped.insert(wrapped.end(), most.begin(), most.end());
    CHECK(field_of(columns, wrapped, 0, {1, 0, 0, 2, 9, 1, 2, 3, 4}) == "packed.slots");
    // More ticks or events than there are, and an event behind them.
    CHECK(field_of(columns, {3, 2, 1, 0, 0, 2, 9, 1, 2, 3, 4}, 0) == "packed.slots");
    CHECK(field_of(columns, {2, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 2, 9, 1, 2, 3, 4}, 0) ==
          "packed.events");
    CHECK(field_of(columns, {2, 2, 1, 1, 3, 1, 0, 0, 2, 9, 1, 2, 3, 4}, 0) == "packed.event");
    // One slot more than there can be, each with a run of two ticks without input.
    std::vector<int> slots{2, 2, 0x81, 0x20, 0, 0};
    for (std::size_t slot = 0; slot <= slots_max; ++slot) {
        slots.insert(slots.end(), {2, 0});
    }
    CHECK(field_of(columns, slots, 0) == "packed.slots");
}

TEST_CASE("columns make no tick that is longer than a tick may be", "[replay][fault][pack]") {
    // One tick of 300 slots with 256 bytes each.
    Bytes content;
    ByteWriter writer(content);
    for (const std::uint64_t value : {1U, 1U, 300U, 0U, 0U}) {
        writer.varint(value);
    }
    for (int slot = 0; slot < 300; ++slot) {
        writer.varint(1);
        writer.varint(4 * input_bytes_max + 1);
    }
    content.resize(content.size() + 300 * input_bytes_max);
    PackedFrame frame = good_frame(content.size());
    frame.ticks = 1;
    const Error error = verdict_of(hostile_file(frame, content));
    CHECK(error.code == Errc::limit_exceeded);
    CHECK(error.field == "packed.tick");
}

TEST_CASE("inputs that are declared and not there take no memory", "[replay][fault][pack]") {
    // A hundred slots with 60,000 inputs of 256 bytes each: 1.5 GB.
    constexpr std::uint32_t ticks = 60'000;
    constexpr std::uint32_t slots = 100;
    Bytes content;
    ByteWriter writer(content);
    writer.varint(ticks); // in the one chunk
    writer.varint(ticks);
    writer.varint(slots);
    writer.varint(0); // events
    writer.varint(0); // records
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        writer.varint(ticks);
        writer.varint(4 * input_bytes_max + 1);
    }
    PackedFrame frame = good_frame(content.size());
    frame.ticks = ticks;
    const Bytes file = hostile_file(frame, content);
    const AllocationCounter counter;
    CHECK(verdict_of(file).field == "packed.input");
    CHECK(counter.bytes() < 2 * chunk_bytes_max + 2 * frame_record_bytes_max + 2 * file.size());
}

TEST_CASE("the parts of a split chunk cannot change places", "[replay][fault][pack]") {
    const GoodHead head = hostile_head();
    Bytes file;
    encode_head(head.head, file);
    // Each part is an application's record of its own.
    Bytes content;
    RowWriter rows;
    rows.record(0x80, Bytes(3));
    PackedFrame frame = good_frame(rows.finish().size());
    frame.layout = ContentLayout::rows;
    frame.chunks = 0;
    frame.ticks = 0;
    frame.tail = 1;
    Bytes payload;
    encode_packed_front(frame, payload);
    ByteWriter(payload).bytes(rows.finish());
    append_frame(file, payload);
    CHECK(read_all(file).state == FileState::open);
    Bytes again = file;
    append_frame(again, payload); // the same part, with the check of the same place
    CHECK(verdict_of(again).field == "check");
    PackedPosition second;
    second.tail = 1;
    append_frame(file, payload, second);
    CHECK(read_all(file).state == FileState::open);
    CHECK(read_all(file).records.size() == 2);
}

TEST_CASE("a trailer that fits the counts and nothing else is found", "[replay][fault][pack]") {
    const Bytes content = good_columns();
    Bytes file = hostile_file(good_frame(content.size()), content);
    const std::size_t start = file.size();
    ByteWriter writer(file);
    writer.u8(3);
    writer.varint(trailer_payload_bytes);
    encode_trailer({77, 2, 1, {1, 2}}, file);
    Bytes scratch;
    writer.u32(record_check({test_session(), 1, 0}, ByteView(file).subspan(start), scratch));
    const Error error = verdict_of(file);
    CHECK(error.code == Errc::corrupt_chunk);
    CHECK(error.field == "trailer");
    CHECK(error.offset == start);
    // By its frames alone it is whole.
    CHECK(check_packed(file)->state == FileState::closed);
    // Not with another number of ticks.
    file.resize(start);
    writer.u8(3);
    writer.varint(trailer_payload_bytes);
    encode_trailer({77, 3, 1, {1, 2}}, file);
    writer.u32(record_check({test_session(), 1, 0}, ByteView(file).subspan(start), scratch));
    CHECK(check_packed(file)->state == FileState::damaged);
    CHECK(verdict_of(file).field == "trailer");
}

TEST_CASE("a long packed file is read in bounded memory", "[replay][fault][pack]") {
    TestRandom random(2);
    TestRecording recording;
    for (int i = 0; i < 100000; ++i) {
        recording.tick(random_tick(random, recording.writer->next_tick(), 4));
        if (recording.writer->chunk_due()) {
            recording.end_chunk();
        }
    }
    recording.end_chunk();
    const Bytes open = recording.close();
    PackReport report;
    const Bytes packed = pack_bytes(open, {1}, &report);
    REQUIRE(report.packed_frames > 3);
    auto reader = Reader::from_memory(packed, ReadMode::strict);
    REQUIRE(reader);
    // All that is ever allocated, not only what is held at a time.
    const AllocationCounter counter;
    auto record = reader->next();
    while (record && record->kind != RecordKind::end) {
        record = reader->next();
    }
    REQUIRE(record);
    CHECK(reader->ticks() == 100000);
    CHECK(counter.bytes() < 2 * chunk_bytes_max + 2 * frame_record_bytes_max);
}

TEST_CASE("packed frames and others stand only where they may", "[replay][fault][pack]") {
    const Bytes content = good_columns();
    const Bytes file = hostile_file(good_frame(content.size()), content);
    // The same frame in a file that says nothing of packing.
    Head head = hostile_head().head;
    Bytes packed_head;
    encode_head(head, packed_head);
    head.incompatible = feature::changes;
    Bytes bad;
    encode_head(head, bad);
    bad.insert(
        bad.end(), file.begin() + static_cast<std::ptrdiff_t>(packed_head.size()), file.end());
    CHECK(verdict_of(bad).code == Errc::corrupt_record);
    CHECK(check_packed(bad).error().code == Errc::not_a_recording);
    // A tick record in a packed file.
    Bytes tick = packed_head;
    const std::size_t start = tick.size();
    ByteWriter writer(tick);
    writer.u8(1);
    writer.varint(0);
    Bytes scratch;
    writer.u32(record_check({test_session(), 0, 0}, ByteView(tick).subspan(start), scratch));
    CHECK(verdict_of(tick).field == "tag");
    CHECK(check_packed(tick)->state == FileState::damaged);
}
