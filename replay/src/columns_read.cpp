// SPDX-License-Identifier: MIT
// Rows and columns into records; docs/recording-format.md, "Packed chunks".
#include "changes.hpp"
#include "column_offsets.hpp"
#include "columns.hpp"
#include "layout.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::uint64_t input_head_max = 4 * std::uint64_t{input_bytes_max} + 3;

Error bad_content(const char* field, const char* why) {
    return Error(Errc::corrupt_record, field, why);
}

} // namespace

Result<void> ContentReader::open(ByteView content, const ContentFacts& facts) {
    content_ = content;
    facts_ = facts;
    ticks_ = 0;
    chunks_ = 0;
    after_end_ = false;
    rows_reader_ = ByteReader(content);
    inputs_.clear();
    return facts.layout == ContentLayout::rows ? Result<void>() : open_columns();
}

Result<ContentItem> ContentReader::next(ByteView before) {
    return facts_.layout == ContentLayout::rows ? next_row(before) : next_of_columns();
}

Result<ContentItem> ContentReader::next_row(ByteView before) {
    if (rows_reader_.remaining() == 0) {
        return ContentItem{};
    }
    ContentItem item{ContentKind::record, rows_reader_.u8("packed.tag"), {}};
    if (item.tag == static_cast<std::uint8_t>(RecordTag::chunk_end)) {
        item.kind = ContentKind::chunk_end;
        return item;
    }
    item.bytes = rows_reader_.bytes(rows_reader_.varint("packed.length", record_payload_bytes_max),
                                    "packed.payload");
    if (!rows_reader_.ok()) {
        return fail(as(Errc::corrupt_record, rows_reader_.error()));
    }
    const bool is_changes =
        facts_.with_changes && item.tag == static_cast<std::uint8_t>(RecordTag::tick_changes);
    if (item.tag != static_cast<std::uint8_t>(RecordTag::tick) && !is_changes) {
        return item;
    }
    item.kind = ContentKind::tick;
    if (is_changes) {
        if (before.empty()) {
            return fail(bad_content("packed.tag", "a chunk cannot begin with changes"));
        }
        if (auto applied = apply_changes(before, facts_.first + ticks_, item.bytes, frame_);
            !applied) {
            return fail(applied.error());
        }
        item.bytes = frame_;
    }
    if (auto decoded = decode_frame(item.bytes, decoded_); !decoded) {
        return fail(as(Errc::corrupt_record, decoded.error()));
    }
    if (decoded_.tick() != facts_.first + ticks_) {
        return fail(bad_content("packed.tick", "not the tick that belongs here"));
    }
    ++ticks_;
    return item;
}

/// Reads how many slots each tick has; `slot_ticks` receives how many ticks each slot has.
bool ContentReader::open_runs(std::size_t slots, std::vector<std::uint64_t>& slot_ticks) {
    slot_ticks.assign(slots + 1, 0);
    std::size_t most = 0;
    for (std::uint64_t left = facts_.ticks; left > 0;) {
        const std::uint64_t run = rows_reader_.varint("packed.slots", left);
        const auto count = static_cast<std::size_t>(rows_reader_.varint("packed.slots", slots));
        if (!rows_reader_.ok() || run == 0) {
            return false;
        }
        slot_ticks[count] += run;
        most = std::max(most, count);
        left -= run;
    }
    // From "ticks with so many slots" to "ticks that have this slot".
    std::uint64_t more = 0;
    for (std::size_t i = most + 1; i-- > 0;) {
        more += std::exchange(slot_ticks[i], more);
    }
    slot_ticks.resize(most);
    return true;
}

/// Reads how long a slot's inputs are and goes over them.
bool ContentReader::open_slot(SlotCursor& cursor, std::uint64_t ticks) {
    cursor = {rows_reader_.offset(), 0, 0, inputs_.size()};
    std::uint64_t bytes = 0;
    for (std::uint64_t left = ticks; left > 0;) {
        const std::uint64_t run = rows_reader_.varint("packed.input", left);
        const std::uint64_t head = rows_reader_.varint("packed.input", input_head_max);
        if (!rows_reader_.ok() || run == 0 || (head != 0 && head % 2 == 0)) {
            return false;
        }
        bytes += run * input_size(head);
        left -= run;
    }
    // Their bytes are in the content, so they are no more than it has.
    if (bytes > content_.size() - inputs_.size()) {
        return false;
    }
    inputs_.resize(inputs_.size() + static_cast<std::size_t>(bytes));
    return true;
}

void ContentReader::read_record_place() {
    if (records_left_ > 0) {
        const std::uint64_t place = record_reader_.varint("packed.record");
        record_tick_ += place / 2;
        record_after_end_ = place % 2 != 0;
    }
}

void ContentReader::read_event_place() {
    if (events_left_ > 0) {
        event_tick_ += event_reader_.varint("packed.event");
    }
}

Result<void> ContentReader::open_columns() {
    ByteReader& reader = rows_reader_;
    chunk_reader_ = reader;
    for (std::uint32_t i = 0; i < facts_.chunks && reader.ok(); ++i) {
        reader.varint("packed.chunk", facts_.ticks);
    }
    count_reader_ = reader;
    slot_count_ticks_ = 0;
    std::vector<std::uint64_t> slot_ticks;
    if (!reader.ok() || !open_runs(slots_max, slot_ticks)) {
        return fail(bad_content("packed.slots", "chunks or slots do not add up"));
    }
    events_left_ = reader.varint("packed.events", facts_.ticks);
    event_reader_ = reader;
    for (std::uint64_t i = 0; i < events_left_ && reader.ok(); ++i) {
        reader.varint("packed.event", facts_.ticks);
        reader.bytes(reader.varint("packed.event"), "packed.event");
    }
    records_left_ = reader.varint("packed.records");
    record_reader_ = reader;
    for (std::uint64_t i = 0; i < records_left_ && reader.ok(); ++i) {
        reader.varint("packed.record", 2 * facts_.ticks + 1);
        reader.u8("packed.tag");
        reader.bytes(reader.varint("packed.record", record_payload_bytes_max), "packed.record");
    }
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    cursors_.resize(slot_ticks.size());
    // No more than this passes open_slot().
    inputs_.reserve(reader.remaining());
    for (std::size_t i = 0; i < slot_ticks.size(); ++i) {
        if (!open_slot(cursors_[i], slot_ticks[i])) {
            return fail(bad_content("packed.input", "the inputs of a slot do not add up"));
        }
    }
    if (reader.remaining() != inputs_.size()) {
        return fail(bad_content("packed.input", "not the bytes that the inputs need"));
    }
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
        gather(cursors_[i], slot_ticks[i], content_.subspan(reader.offset() + cursors_[i].row));
    }
    event_tick_ = 0;
    record_tick_ = 0;
    read_event_place();
    read_record_place();
    chunk_ticks_left_ = facts_.chunks > 0 ? chunk_reader_.varint("packed.chunk") : 0;
    return {};
}

/// Puts the inputs of a slot one after the other.
void ContentReader::gather(const SlotCursor& cursor, std::uint64_t ticks, ByteView columns) {
    ColumnOffsets offsets;
    ByteReader counted(content_.subspan(cursor.runs));
    for (std::uint64_t left = ticks; left > 0;) {
        const std::uint64_t run = counted.varint("packed.input");
        offsets.count(run, input_size(counted.varint("packed.input")));
        left -= run;
    }
    offsets.begin();
    ByteReader runs(content_.subspan(cursor.runs));
    std::size_t row = cursor.row;
    for (std::uint64_t left = ticks; left > 0;) {
        const std::uint64_t run = runs.varint("packed.input");
        const std::size_t size = input_size(runs.varint("packed.input"));
        for (std::uint64_t i = 0; i < (size == 0 ? 0 : run); ++i) {
            for (std::size_t k = 0; k < size; ++k) {
                inputs_[row++] = columns[offsets.next(k)];
            }
        }
        left -= run;
    }
}

Result<ContentItem> ContentReader::next_of_columns() {
    if (records_left_ > 0 && record_tick_ == ticks_ && record_after_end_ == after_end_) {
        ContentItem item{ContentKind::record, record_reader_.u8("packed.tag"), {}};
        item.bytes = record_reader_.bytes(record_reader_.varint("packed.record"), "packed.record");
        --records_left_;
        read_record_place();
        return item;
    }
    if (chunks_ < facts_.chunks && chunk_ticks_left_ == 0) {
        ++chunks_;
        chunk_ticks_left_ = chunks_ < facts_.chunks ? chunk_reader_.varint("packed.chunk") : 0;
        after_end_ = true;
        return ContentItem{ContentKind::chunk_end, 0, {}};
    }
    if (ticks_ < facts_.ticks) {
        return next_tick();
    }
    if (records_left_ > 0 || events_left_ > 0 || chunks_ < facts_.chunks) {
        return fail(bad_content("packed.record", "a record, event or chunk has no place"));
    }
    return ContentItem{};
}

Result<ContentItem> ContentReader::next_tick() {
    if (slot_count_ticks_ == 0) {
        slot_count_ticks_ = count_reader_.varint("packed.slots");
        slot_count_ = count_reader_.varint("packed.slots");
    }
    --slot_count_ticks_;
    const bool has_events = events_left_ > 0 && event_tick_ == ticks_;
    frame_.clear();
    ByteWriter writer(frame_);
    writer.varint((facts_.first + ticks_).value);
    writer.varint(2 * slot_count_ + (has_events ? 1 : 0));
    if (has_events) {
        writer.bytes(event_reader_.bytes(event_reader_.varint("packed.event"), "packed.event"));
        --events_left_;
        read_event_place();
    }
    for (std::size_t i = 0; i < slot_count_; ++i) {
        SlotCursor& cursor = cursors_[i];
        if (cursor.ticks_left == 0) {
            ByteReader runs(content_.subspan(cursor.runs));
            cursor.ticks_left = runs.varint("packed.input");
            cursor.head = runs.varint("packed.input");
            cursor.runs += runs.offset();
        }
        --cursor.ticks_left;
        writer.varint(cursor.head);
        writer.bytes(ByteView(inputs_).subspan(cursor.row, input_size(cursor.head)));
        cursor.row += input_size(cursor.head);
    }
    // Events are the one part that could still be anything.
    if (has_events && !decode_frame(frame_, decoded_)) {
        return fail(bad_content("packed.event", "events that mean nothing"));
    }
    if (frame_.size() > frame_bytes_max) {
        return fail(Error(Errc::limit_exceeded, "packed.tick"));
    }
    ++ticks_;
    chunk_ticks_left_ -= chunk_ticks_left_ > 0 ? 1 : 0;
    after_end_ = false;
    return ContentItem{ContentKind::tick, 0, frame_};
}

} // namespace twinstep::replay
