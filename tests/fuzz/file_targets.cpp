// SPDX-License-Identifier: MIT
// Tick frames, manifests, and recordings of either form.
#include "columns.hpp"
#include "fuzz_targets.hpp"
#include "layout.hpp"
#include "recording_support.hpp"
#include "repair.hpp"

#include "twinstep/replay/pack.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <memory>
#include <optional>

using namespace twinstep;
using namespace twinstep::replay;

void fuzz_tick_frame(ByteView bytes) {
    TickFrame frame;
    if (decode_frame(bytes, frame)) {
        Bytes again;
        encode_frame(frame, again);
        require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()),
                "a tick frame with two encodings");
    } else {
        require(frame.slot_count() == 0, "a refused frame is not emptied");
    }
}

std::vector<Bytes> tick_frame_seeds() {
    std::vector<Bytes> seeds;
    for (const unsigned number : {0U, 1U, 3U, 20U}) {
        const auto slots = static_cast<std::uint16_t>(number);
        TickFrame frame;
        frame.reset(Tick{slots * std::uint64_t{1000}}, slots);
        for (std::uint16_t slot = 0; slot < slots; slot = static_cast<std::uint16_t>(slot + 2)) {
            frame.set_input(Slot{slot}, Bytes(slot, std::byte{slots == 3}), slot == 4);
        }
        if (slots != 1) {
            frame.add_event(EventKind::marker, Bytes(3, std::byte{'x'}));
            frame.add_event(EventKind::leave, Slot{2});
        }
        encode_frame(frame, seeds.emplace_back());
    }
    return seeds;
}

void fuzz_manifest(ByteView bytes) {
    if (const auto manifest = decode_manifest(bytes)) {
        Bytes again;
        encode_manifest(*manifest, again);
        require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()),
                "a manifest with two encodings");
    }
}

std::vector<Bytes> manifest_seeds() {
    std::vector<Bytes> seeds(3);
    encode_manifest({}, seeds[0]);
    encode_manifest({{"sim.name", "toy"}, {"sim.version", "1"}}, seeds[1]);
    encode_manifest({{"record.note", "größer"}, {"record.sections", "a b"}, {"x", ""}}, seeds[2]);
    return seeds;
}

namespace {

/// A reader's head is that of the open form.
bool is_packed(ByteView file) {
    constexpr std::size_t features_at = 24;
    return file.size() > features_at &&
           (std::to_integer<unsigned>(file[features_at]) & feature::packed) != 0;
}

/// Everything a reader hands out is in place and has one encoding.
std::uint64_t count_ticks(ByteView file, ReadMode mode) {
    auto reader = Reader::from_memory(file, mode);
    if (!reader) {
        return 0;
    }
    const bool packed = is_packed(file);
    const std::uint64_t first = reader->next_tick().value;
    std::uint64_t ticks = 0;
    while (true) {
        const auto record = reader->next();
        if (!record || record->kind == RecordKind::end) {
            break;
        }
        require(packed || record->offset + record->size <= file.size(), "a record beyond the file");
        if (record->kind == RecordKind::tick) {
            require(record->tick.tick == Tick{first + ticks}, "ticks out of order");
            Bytes again;
            encode_frame(*record->tick.frame, again);
            require(std::equal(again.begin(),
                               again.end(),
                               record->tick.encoded.begin(),
                               record->tick.encoded.end()),
                    "a tick frame with two encodings");
            ++ticks;
        }
    }
    require(reader->ticks() == ticks, "ticks counted wrongly");
    return ticks;
}

/// The one spelling of what a recording of the open form says.
void require_one_spelling(ByteView file) {
    const auto text = to_text(file);
    require(text.has_value(), "a recording without a defect cannot be written as text");
    const auto again = from_text(*text);
    require(again && std::ranges::equal(*again, file), "a recording with two encodings");
}

Bytes packed_again(ByteView open) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(open, ReadMode::strict);
    require(reader && pack(*reader, std::make_unique<MemorySink>(plan), {0}),
            "what was unpacked cannot be packed");
    return plan->file;
}

/// What unpacking gives, if the file has no defect.
std::optional<Bytes> unpacked(ByteView file) {
    auto plan = std::make_shared<SinkPlan>();
    auto reader = Reader::from_memory(file, ReadMode::strict);
    if (!reader || !is_packed(file) || !unpack(*reader, std::make_unique<MemorySink>(plan))) {
        return std::nullopt;
    }
    return plan->file;
}

void read_recording(ByteView file) {
    const std::uint64_t strict = count_ticks(file, ReadMode::strict);
    const std::uint64_t prefix = count_ticks(file, ReadMode::prefix);
    require(strict <= prefix, "a strict reader reads more");
    static_cast<void>(count_ticks(file, ReadMode::tail));
    const auto summary = summarise(file);
    const auto frames = check_packed(file);
    if (!summary) {
        require(!frames, "a file that cannot be opened has good frames");
        return;
    }
    require(summary->ticks == prefix, "a summary of other ticks");
    // A file without a tick still has its head; one with a defect has no one spelling.
    if (frames) {
        require(frames->ticks >= summary->ticks, "unpacking finds ticks that no frame has");
        const std::optional<Bytes> open = unpacked(file);
        require(open.has_value() == summary->defects.empty(), "unpacking has another verdict");
        if (open) {
            require(unpacked(packed_again(*open)) == open, "packing and unpacking change a file");
        }
    } else if (summary->defects.empty()) {
        require_one_spelling(file);
    }
}

} // namespace

/// As it is, and with its checks made right.
void fuzz_recording(ByteView bytes) {
    read_recording(bytes);
    Bytes file(bytes.begin(), bytes.end());
    Repair(file).run();
    read_recording(file);
}

std::vector<Bytes> recording_seeds() {
    return {record_toy({.ticks = 0}),
            record_toy({.ticks = 3}),
            record_toy({.ticks = 12, .slots = 3, .close = false}),
            record_small_chunks(6, 2, 2)};
}

void fuzz_packed(ByteView bytes) {
    fuzz_recording(bytes);
}

/// Without compression first: a fuzzer cannot do much to what is behind one.
std::vector<Bytes> packed_seeds() {
    std::vector<Bytes> seeds;
    for (const Bytes& open : {record_toy({.ticks = 12, .slots = 3, .close = false}),
                              record_small_chunks(6, 2, 2),
                              record_toy({.ticks = 0})}) {
        seeds.push_back(packed_again(open));
    }
    auto plan = std::make_shared<SinkPlan>();
    const Bytes open = record_small_chunks(9, 3, 2);
    auto reader = Reader::from_memory(open);
    if (pack(*reader, std::make_unique<MemorySink>(plan), {3})) {
        seeds.push_back(plan->file);
    }
    return seeds;
}

namespace {

/// The items of a packed frame's content, put into a layout again.
struct Laid {
    bool good = false;
    Bytes columns;
    Bytes rows;
};

Laid read_content(ByteView content, const ContentFacts& facts) {
    Laid laid;
    ContentReader reader;
    if (!reader.open(content, facts)) {
        return laid;
    }
    ColumnWriter columns;
    RowWriter rows;
    TickFrame frame;
    Bytes before;
    std::uint64_t ticks = 0;
    std::uint64_t chunks = 0;
    std::uint64_t ticks_at_chunk_end = 0;
    while (true) {
        const auto item = reader.next(before);
        if (!item) {
            return laid;
        }
        if (item->kind == ContentKind::end) {
            break;
        }
        if (item->kind == ContentKind::tick) {
            // What it means is a Reader's business; here it has to be well-formed.
            if (!decode_frame(item->bytes, frame)) {
                return laid;
            }
            columns.tick(frame, item->bytes);
            rows.record(static_cast<std::uint8_t>(RecordTag::tick), item->bytes);
            before.assign(item->bytes.begin(), item->bytes.end());
            ++ticks;
        } else if (item->kind == ContentKind::record) {
            if (is_known_tag(item->tag, facts.with_changes)) {
                return laid; // The owner of the content refuses it: it would be a tick in rows.
            }
            columns.record(item->tag, item->bytes);
            rows.record(item->tag, item->bytes);
        } else {
            if (chunks > 0 && ticks == ticks_at_chunk_end) {
                return laid; // Only the first chunk may have all its ticks in a frame before.
            }
            columns.chunk_end();
            rows.chunk_end();
            before.clear();
            ++chunks;
            ticks_at_chunk_end = ticks;
        }
        require(ticks + chunks <= content.size() + facts.ticks + facts.chunks, "out of nothing");
    }
    // Of rows it is for the owner of the content to count them.
    laid.good = ticks == facts.ticks && chunks == facts.chunks;
    require(laid.good || facts.layout == ContentLayout::rows, "not what was declared");
    laid.columns = columns.finish();
    laid.rows = rows.finish();
    return laid;
}

} // namespace

/// Layout, changes, chunks and ticks, a byte each; then the content of a packed frame.
void fuzz_packed_content(ByteView bytes) {
    if (bytes.size() < 4) {
        return;
    }
    const auto setting = [&bytes](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
    ContentFacts facts;
    facts.layout = (setting(0) & 1U) != 0 ? ContentLayout::columns : ContentLayout::rows;
    facts.with_changes = (setting(0) & 2U) != 0;
    facts.chunks = setting(1);
    facts.ticks = setting(2) * (setting(3) + 1);
    facts.first = Tick{setting(3)};
    const Laid laid = read_content(bytes.subspan(4), facts);
    if (!laid.good) {
        return;
    }
    for (const ContentLayout layout : {ContentLayout::columns, ContentLayout::rows}) {
        ContentFacts again = facts;
        again.layout = layout;
        const Laid twice =
            read_content(layout == ContentLayout::columns ? laid.columns : laid.rows, again);
        require(twice.good, "content that was laid out again is refused");
        require(twice.columns == laid.columns && twice.rows == laid.rows,
                "content that was laid out again is another one");
    }
}

std::vector<Bytes> packed_content_seeds() {
    std::vector<Bytes> seeds;
    for (const unsigned slots : {0U, 1U, 3U}) {
        ColumnWriter columns;
        RowWriter rows;
        for (std::uint64_t tick = 0; tick < 6; ++tick) {
            TickFrame frame;
            frame.reset(Tick{tick}, slots);
            for (std::uint16_t slot = 0; slot < slots; ++slot) {
                frame.set_input(
                    Slot{slot}, Bytes(slot + tick / 3, static_cast<std::byte>(tick)), slot == 2);
            }
            if (tick == 4) {
                frame.add_event(EventKind::marker, Bytes(3, std::byte{'x'}));
            }
            Bytes encoded;
            encode_frame(frame, encoded);
            columns.tick(frame, encoded);
            rows.record(static_cast<std::uint8_t>(RecordTag::tick), encoded);
            if (tick == 3) {
                columns.record(0x90, Bytes(2));
                rows.record(0x90, Bytes(2));
                columns.chunk_end();
                rows.chunk_end();
            }
        }
        for (const unsigned layout : {0U, 1U}) {
            Bytes& seed = seeds.emplace_back();
            for (const unsigned setting : {layout, 1U, 6U, 0U}) {
                seed.push_back(static_cast<std::byte>(setting));
            }
            const Bytes& content = layout == 0 ? rows.finish() : columns.finish();
            seed.insert(seed.end(), content.begin(), content.end());
        }
    }
    return seeds;
}
