// SPDX-License-Identifier: MIT
// Records into rows and columns; docs/recording-format.md, "Packed chunks".
#include "column_offsets.hpp"
#include "columns.hpp"

#include "twinstep/replay/format.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

void extend(std::vector<ContentRun>& runs, std::uint64_t value) {
    if (runs.empty() || runs.back().value != value) {
        runs.push_back({0, value});
    }
    ++runs.back().ticks;
}

/// The events of an encoded frame, with their count.
ByteView encoded_events(ByteView encoded) {
    ByteReader reader(encoded);
    reader.varint("tick");
    reader.varint("shape");
    const std::size_t start = reader.offset();
    for (std::uint64_t left = reader.varint("events"); left > 0 && reader.ok(); --left) {
        reader.u8("event.kind");
        reader.varint("event.slot");
        reader.bytes(reader.varint("event.size"), "event.payload");
    }
    return encoded.subspan(start, reader.offset() - start);
}

} // namespace

void RowWriter::record(std::uint8_t tag, ByteView payload) {
    ByteWriter writer(content_);
    writer.u8(tag);
    writer.varint(payload.size());
    writer.bytes(payload);
}

void RowWriter::chunk_end() {
    ByteWriter(content_).u8(static_cast<std::uint8_t>(RecordTag::chunk_end));
}

void ColumnWriter::tick(const TickFrame& frame, ByteView encoded) {
    const std::size_t count = frame.slot_count();
    extend(slot_counts_, count);
    slots_.resize(std::max(slots_.size(), count));
    for (std::size_t i = 0; i < count; ++i) {
        const Slot slot{static_cast<std::uint16_t>(i)};
        const SlotInput& input = frame.at(slot);
        const std::uint64_t head = 4 * std::uint64_t{input.size} + (input.substituted ? 2U : 0U) +
                                   (input.present ? 1U : 0U);
        extend(slots_[i].runs, input.present ? head : 0);
        ByteWriter(slots_[i].rows).bytes(frame.input(slot));
    }
    if (!frame.events().empty()) {
        const ByteView events = encoded_events(encoded);
        ByteWriter writer(events_);
        writer.varint(ticks_ - std::exchange(last_event_tick_, ticks_));
        writer.varint(events.size());
        writer.bytes(events);
        ++event_ticks_;
    }
    ++ticks_;
    ++open_ticks_;
}

void ColumnWriter::record(std::uint8_t tag, ByteView payload) {
    const bool after_end = open_ticks_ == 0 && !chunk_ticks_.empty();
    ByteWriter writer(records_);
    writer.varint(2 * (ticks_ - std::exchange(last_record_tick_, ticks_)) + (after_end ? 1 : 0));
    writer.u8(tag);
    writer.varint(payload.size());
    writer.bytes(payload);
    ++record_count_;
}

void ColumnWriter::chunk_end() {
    chunk_ticks_.push_back(std::exchange(open_ticks_, 0));
}

const Bytes& ColumnWriter::finish() {
    ByteWriter writer(content_);
    const auto put_runs = [&writer](const std::vector<ContentRun>& runs) {
        for (const ContentRun& run : runs) {
            writer.varint(run.ticks);
            writer.varint(run.value);
        }
    };
    for (const std::uint64_t ticks : chunk_ticks_) {
        writer.varint(ticks);
    }
    put_runs(slot_counts_);
    writer.varint(event_ticks_);
    writer.bytes(events_);
    writer.varint(record_count_);
    writer.bytes(records_);
    for (const SlotColumns& slot : slots_) {
        put_runs(slot.runs);
    }
    for (const SlotColumns& slot : slots_) {
        ColumnOffsets offsets;
        for (const ContentRun& run : slot.runs) {
            offsets.count(run.ticks, input_size(run.value));
        }
        offsets.begin();
        const std::size_t start = content_.size();
        content_.resize(start + slot.rows.size());
        std::size_t row = 0;
        for (const ContentRun& run : slot.runs) {
            const std::size_t size = input_size(run.value);
            for (std::uint64_t i = 0; i < (size == 0 ? 0 : run.ticks); ++i) {
                for (std::size_t k = 0; k < size; ++k) {
                    content_[start + offsets.next(k)] = slot.rows[row++];
                }
            }
        }
    }
    return content_;
}

} // namespace twinstep::replay
