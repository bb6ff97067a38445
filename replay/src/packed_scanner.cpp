// SPDX-License-Identifier: MIT
// Checks, places and order of the frames of a packed file.
#include "packed_scanner.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

Error bad_order(const char* field, const char* why) {
    return Error(Errc::corrupt_record, field, why);
}

/// True if the rest of a file holds what shows that a length is wrong and the file is not cut.
bool has_later_frame(ByteView rest) {
    constexpr std::size_t front_bytes_max = 12; // of the record that is cut
    constexpr std::size_t end_bytes = end_magic.size() + record_check_bytes;
    const ByteView tail = rest.last(std::min(rest.size(), end_bytes));
    const bool ends =
        tail.size() == end_bytes &&
        std::equal(end_magic.begin(), end_magic.end(), tail.begin(), [](auto a, auto b) {
            return a == static_cast<std::uint8_t>(b);
        });
    Bytes marker;
    ByteWriter(marker).u32(packed_marker);
    const ByteView after = rest.subspan(std::min(rest.size(), front_bytes_max));
    return ends ||
           std::search(after.begin(), after.end(), marker.begin(), marker.end()) != after.end();
}

} // namespace

PackedScanner::PackedScanner(Window window, const GoodHead& head)
    : window_(std::move(window))
    , head_(head) {}

std::error_code PackedScanner::seek(std::uint64_t file_offset, const PackedPosition& position) {
    pending_ = 0;
    position_ = position;
    return window_.seek(file_offset);
}

Result<ByteView> PackedScanner::view_record() {
    constexpr std::size_t front_bytes_max = 4; // a tag and a length of up to 1 MiB
    Result<ByteView> front = peek(window_, front_bytes_max);
    if (!front || front->empty()) {
        return front;
    }
    const auto cut = [this](ByteView rest) {
        const std::uint64_t offset = window_.position();
        if (has_later_frame(rest)) {
            return fail(bad_order("length", "the length is wrong").at(offset));
        }
        return fail(Error(Errc::truncated, "record", "the last record is not whole").at(offset));
    };
    ByteReader reader(*front, window_.position());
    const bool is_frame = is_frame_tag(reader.u8("tag"));
    const std::uint64_t length =
        reader.varint("length", is_frame ? frame_payload_bytes_max : record_payload_bytes_max);
    if (!reader.ok()) {
        const Error error = reader.error();
        if (error.code == SimErrc::truncated && front->size() < front_bytes_max) {
            return cut(*front);
        }
        const bool too_long = error.code == SimErrc::limit_exceeded;
        return fail(as(too_long ? Errc::limit_exceeded : Errc::corrupt_record, error));
    }
    const std::size_t size =
        reader.offset() + static_cast<std::size_t>(length) + record_check_bytes;
    Result<ByteView> whole = peek(window_, size);
    if (whole && whole->size() < size) {
        return cut(*whole);
    }
    return whole;
}

Result<PackedRecord> PackedScanner::next() {
    window_.skip(std::exchange(pending_, 0));
    PackedRecord record;
    record.offset = window_.position();
    const Result<ByteView> view = view_record();
    if (!view) {
        return fail(view.error());
    }
    record.is_end = view->empty();
    if (record.is_end) {
        return record;
    }
    const ByteView checked = view->first(view->size() - record_check_bytes);
    record.tag = static_cast<std::uint8_t>(checked[0]);
    const std::uint32_t check = ByteReader(view->last(record_check_bytes)).u32("check");
    const Place place = position_.place(head_.head.session, record.tag);
    if (position_.trailer_seen) {
        return fail(bad_order("trailer", "bytes follow the trailer").at(record.offset));
    }
    if (check != record_check(place, checked, scratch_)) {
        return fail(bad_order("check", "the check is wrong").at(record.offset));
    }
    ByteReader reader(checked);
    reader.u8("tag");
    record.payload = reader.bytes(reader.varint("length"), "payload");
    if (auto advanced = advance(record); !advanced) {
        Error error = advanced.error();
        const std::uint64_t offset =
            record.offset + checked.size() - record.payload.size() + error.offset.value_or(0);
        return fail(std::move(error).at(offset));
    }
    pending_ = view->size();
    return record;
}

/// Finds a record's place right and goes on to the next one's.
Result<void> PackedScanner::advance(PackedRecord& record) {
    PackedPosition& now = position_;
    if (record.tag == packed_tag) {
        Result<PackedFrame> decoded = decode_packed(record.payload, head_);
        if (!decoded) {
            return fail(decoded.error());
        }
        record.frame = *decoded;
        if (record.frame.chunks > UINT32_MAX - now.chunk ||
            record.frame.tail > frame_record_first / 2 - now.tail) {
            return fail(Error(Errc::limit_exceeded, "packed.chunks"));
        }
        const bool ends_chunk = record.frame.chunks > 0;
        now.chunk += record.frame.chunks;
        now.tail = (ends_chunk ? 0 : now.tail) + record.frame.tail;
        now.frames = ends_chunk ? 0 : now.frames;
        now.ticks += record.frame.ticks;
        return {};
    }
    const bool with_changes = (head_.head.incompatible & feature::changes) != 0;
    const bool is_frame = with_changes && is_frame_tag(record.tag);
    if ((!is_frame && record.tag != trailer_tag) || now.tail != 0) {
        return fail(bad_order("tag", "this record cannot stand here"));
    }
    if (is_frame) {
        // As many as fit between the numbers of frames and those of packed frames.
        if (now.frames == frame_record_first / 2) {
            return fail(Error(Errc::limit_exceeded, "frames"));
        }
        ++now.frames;
        return {};
    }
    const Result<Trailer> trailer = decode_trailer(record.payload);
    if (!trailer) {
        return fail(trailer.error());
    }
    if (trailer->ticks != now.ticks || trailer->chunks != now.chunk) {
        return fail(Error(Errc::corrupt_chunk, "trailer", "the file is not what its trailer says"));
    }
    now.trailer_seen = true;
    return {};
}

} // namespace twinstep::replay
