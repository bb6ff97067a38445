// SPDX-License-Identifier: MIT
// As many chunks to a frame as fit, columns where they fit, and a chunk that fits none in pieces.
#include "packer.hpp"

#include "changes.hpp"
#include "compression.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/hash.hpp"

#include <utility>

namespace twinstep::replay {

namespace {

constexpr auto tick_tag = static_cast<std::uint8_t>(RecordTag::tick);
constexpr auto changes_tag = static_cast<std::uint8_t>(RecordTag::tick_changes);
constexpr auto chunk_end_tag = static_cast<std::uint8_t>(RecordTag::chunk_end);

} // namespace

Result<void> Packer::write_head() {
    Head packed = head_.head;
    packed.incompatible |= feature::packed;
    Bytes encoded;
    encode_head(packed, encoded);
    return output_.write(encoded);
}

Result<void> Packer::add(const Record& record, std::uint8_t tag, ByteView payload) {
    if (record.kind == RecordKind::chunk_end) {
        return add_chunk_end(record.chunk_end);
    }
    if (record.kind == RecordKind::frame || record.kind == RecordKind::trailer) {
        if (auto flushed = flush(); !flushed) {
            return flushed;
        }
        return write_record(tag, payload);
    }
    add_data(record, tag, payload);
    return {};
}

void Packer::add_data(const Record& record, std::uint8_t tag, ByteView payload) {
    PendingRecord pending{tag, pool_.size(), payload.size(), 0, false};
    open_size_.open_bytes += payload.size() + record_bytes_max - record_payload_bytes_max;
    if (record.kind == RecordKind::tick) {
        const std::size_t raw = sizeof(std::uint32_t) + section_bytes_;
        ByteWriter(hashes_).bytes(payload.first(sizeof(std::uint32_t)));
        ByteWriter(tick_sections_).bytes(payload.subspan(sizeof(std::uint32_t), section_bytes_));
        payload = payload.subspan(raw);
        pending.size = payload.size();
        const TickFrame& frame = *record.tick.frame;
        for (std::size_t i = 0; i < frame.slot_count(); ++i) {
            pending.input_bytes += frame.at(Slot{static_cast<std::uint16_t>(i)}).size;
        }
        open_size_.raw_bytes += raw;
    } else {
        pending.input_bytes = payload.size();
    }
    open_size_.input_bytes += pending.input_bytes;
    ByteWriter(pool_).bytes(payload);
    records_.push_back(pending);
}

Result<void> Packer::add_chunk_end(const ChunkEnd& end) {
    const std::size_t bytes = sizeof(Hash128) * (1 + end.sections.size());
    open_size_.open_bytes += chunk_end_fixed_bytes + bytes;
    open_size_.raw_bytes += bytes;
    if (whole_records_ > 0 && !(whole_size_ + open_size_).fits()) {
        if (auto written = write_up_to(whole_records_); !written) {
            return written;
        }
        whole_size_ = {};
    }
    encode_hash(end.state, chunk_hashes_);
    for (const Hash128& section : end.sections) {
        encode_hash(section, chunk_hashes_);
    }
    const bool is_made = state_of_sections(end.last + 1, end.sections) == end.state;
    records_.push_back({chunk_end_tag, pool_.size(), 0, 0, is_made});
    whole_records_ = records_.size();
    whole_size_ = whole_size_ + std::exchange(open_size_, {});
    return {};
}

Result<void> Packer::flush() {
    auto written = write_up_to(records_.size());
    whole_size_ = {};
    open_size_ = {};
    return written;
}

/// Writes the pending records up to `end`, in as few frames as it takes.
Result<void> Packer::write_up_to(std::size_t end) {
    while (written_.record < end) {
        std::size_t piece = end;
        while (true) {
            const Result<bool> fits = try_frame(piece);
            if (!fits) {
                return fail(fits.error());
            }
            if (*fits) {
                break;
            }
            if (piece - written_.record == 1) {
                return fail(Error(Errc::limit_exceeded, "pack", "a record does not fit a frame"));
            }
            piece = split(piece);
        }
    }
    forget();
    return {};
}

/// About half of what is to be written, if possible whole chunks.
std::size_t Packer::split(std::size_t end) const {
    const std::size_t half = written_.record + (end - written_.record) / 2;
    for (std::size_t i = half; i > written_.record + 1; --i) {
        if (records_[i - 1].tag == chunk_end_tag) {
            return i;
        }
    }
    return half;
}

/// Drops what was written.
void Packer::forget() {
    const std::size_t count = written_.record;
    const std::size_t pool = count < records_.size() ? records_[count].begin : pool_.size();
    const auto drop = [](Bytes& bytes, std::size_t size) {
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    };
    drop(pool_, pool);
    drop(hashes_, std::exchange(written_.hashes, 0));
    drop(tick_sections_, std::exchange(written_.section_bytes, 0));
    drop(chunk_hashes_, std::exchange(written_.chunk_hashes, 0));
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(count));
    for (PendingRecord& record : records_) {
        record.begin -= pool;
    }
    written_.record = 0;
    whole_records_ = 0;
}

/// Puts the records up to `end` into a layout, and `place` behind them.
Result<void>
Packer::fill(std::size_t end, PendingPlace& place, ColumnWriter* columns, RowWriter* rows) {
    TickFrame frame;
    Bytes whole;
    for (; place.record < end; ++place.record) {
        const PendingRecord& record = records_[place.record];
        const ByteView payload = ByteView(pool_).subspan(record.begin, record.size);
        if (record.tag == chunk_end_tag) {
            columns != nullptr ? columns->chunk_end() : rows->chunk_end();
            place.chunk_hashes += sizeof(Hash128) * (1 + head_.sections.size());
            place.before.clear();
            continue;
        }
        if (rows != nullptr) {
            rows->record(record.tag, payload);
        }
        const bool is_changes = with_changes_ && record.tag == changes_tag;
        if (record.tag != tick_tag && !is_changes) {
            if (columns != nullptr) {
                columns->record(record.tag, payload);
            }
            continue;
        }
        if (!is_changes) {
            whole.assign(payload.begin(), payload.end());
        } else if (auto made = apply_changes(place.before, place.tick, payload, whole); !made) {
            return made;
        }
        if (columns != nullptr) {
            if (auto decoded = decode_frame(whole, frame); !decoded) {
                return decoded;
            }
            columns->tick(frame, whole);
        }
        std::swap(place.before, whole);
        place.hashes += sizeof(std::uint32_t);
        place.section_bytes += section_bytes_;
        ++place.tick.value;
    }
    return {};
}

/// Compresses content, if that is worth it and allowed.
Result<void> Packer::store(ByteView content, PackedFrame& frame, Bytes& stored) {
    stored.clear();
    if (level_ != 0) {
        if (auto done = compress(content, level_, stored); !done) {
            return done;
        }
    }
    const std::size_t raw =
        frame.hashes.size() + frame.section_bytes.size() + frame.chunk_hashes.size();
    frame.codec = ContentCodec::zstd;
    frame.content_bytes = content.size();
    if (level_ == 0 || stored.size() >= content.size() ||
        content.size() / expansion_max > stored.size() + raw) {
        frame.codec = ContentCodec::stored;
        stored.assign(content.begin(), content.end());
    }
    return {};
}

/// What is to be said of the records up to `end`; `input_bytes` receives what they are as columns.
PackedFrame Packer::measure(std::size_t end, std::uint64_t& input_bytes) const {
    PackedFrame frame;
    frame.states_left_out = true;
    input_bytes = 0;
    for (std::size_t i = written_.record; i < end; ++i) {
        const bool is_end = records_[i].tag == chunk_end_tag;
        input_bytes += records_[i].input_bytes;
        frame.chunks += is_end ? 1 : 0;
        frame.tail = is_end ? 0 : frame.tail + 1;
        frame.states_left_out = frame.states_left_out && (!is_end || records_[i].state_is_made);
    }
    frame.states_left_out = frame.states_left_out && frame.chunks > 0;
    return frame;
}

/// Takes the state hashes out of a frame's chunk hashes.
void Packer::leave_states_out(PackedFrame& frame) {
    const std::size_t sections = sizeof(Hash128) * head_.sections.size();
    section_hashes_.clear();
    for (ByteView rest = frame.chunk_hashes; !rest.empty();
         rest = rest.subspan(sizeof(Hash128) + sections)) {
        ByteWriter(section_hashes_).bytes(rest.subspan(sizeof(Hash128), sections));
    }
    frame.chunk_hashes = section_hashes_;
}

/// Writes the records up to `end` as one frame; false, and nothing written, if they do not fit.
Result<bool> Packer::try_frame(std::size_t end) {
    std::uint64_t input_bytes = 0;
    PackedFrame frame = measure(end, input_bytes);
    ColumnWriter columns;
    RowWriter rows;
    const bool in_columns = input_bytes <= content_bytes_max;
    PendingPlace place = written_;
    const Result<void> filled =
        fill(end, place, in_columns ? &columns : nullptr, in_columns ? nullptr : &rows);
    if (!filled) {
        return fail(filled.error());
    }
    frame.ticks = place.tick.value - written_.tick.value;
    frame.layout = in_columns ? ContentLayout::columns : ContentLayout::rows;
    const auto between = [](const Bytes& bytes, std::size_t from, std::size_t to) {
        return ByteView(bytes).subspan(from, to - from);
    };
    frame.hashes = between(hashes_, written_.hashes, place.hashes);
    frame.section_bytes = between(tick_sections_, written_.section_bytes, place.section_bytes);
    frame.chunk_hashes = between(chunk_hashes_, written_.chunk_hashes, place.chunk_hashes);
    if (frame.states_left_out) {
        leave_states_out(frame);
    }
    const Bytes& content = in_columns ? columns.finish() : rows.finish();
    Bytes stored;
    if (content.size() > content_bytes_max) {
        return false;
    }
    if (auto done = store(content, frame, stored); !done) {
        return fail(done.error());
    }
    Bytes payload;
    encode_packed_front(frame, payload);
    for (const ByteView part :
         {frame.hashes, frame.section_bytes, frame.chunk_hashes, ByteView(stored)}) {
        ByteWriter(payload).bytes(part);
    }
    if (payload.size() > frame_payload_bytes_max) {
        return false;
    }
    if (auto done = write_record(static_cast<std::uint8_t>(RecordTag::packed), payload); !done) {
        return fail(done.error());
    }
    position_.chunk += frame.chunks;
    position_.tail = (frame.chunks > 0 ? 0 : position_.tail) + frame.tail;
    position_.frames = frame.chunks > 0 ? 0 : position_.frames;
    ++packed_frames_;
    stored_content_bytes_ += stored.size();
    written_ = std::move(place);
    return true;
}

Result<void> Packer::write_record(std::uint8_t tag, ByteView payload) {
    record_.clear();
    ByteWriter writer(record_);
    writer.u8(tag);
    writer.varint(payload.size());
    writer.bytes(payload);
    writer.u32(record_check(position_.place(head_.head.session, tag), record_, scratch_));
    if (is_frame_tag(tag) && tag != static_cast<std::uint8_t>(RecordTag::packed)) {
        ++position_.frames;
    }
    return output_.write(record_);
}

} // namespace twinstep::replay
