// SPDX-License-Identifier: MIT
// Sync markers, chunk ends and the chain that they prove; docs/recording-format.md, "Chunk end".
#include "salvage_scan.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::replay {

namespace {

constexpr std::array<std::uint8_t, 4> marker_bytes{0xF6, 'C', 'H', 'E'};
/// A chunk that a writer ended at its target, with the record that crossed it.
constexpr std::size_t near_bytes = chunk_bytes_target + record_bytes_max + 2048;
/// The smallest record: tag, length, check.
constexpr std::uint64_t record_bytes_min = 6;

} // namespace

// --- EndFinder ---

EndFinder::EndFinder(const GoodHead& head)
    : session_(head.head.session)
    , section_count_(head.sections.size())
    , payload_bytes_(chunk_end_fixed_bytes + sizeof(Hash128) * section_count_) {
    ByteWriter writer(front_);
    writer.u8(static_cast<std::uint8_t>(RecordTag::chunk_end));
    writer.varint(payload_bytes_);
    Bytes encoded;
    encode_head(head.head, encoded);
    first_offset_ = encoded.size();
}

std::optional<FoundEnd> EndFinder::find(ByteView view, std::uint64_t offset, std::size_t& from) {
    while (from + front_.size() + marker_bytes.size() <= view.size()) {
        const std::byte* begin = view.data() + from + front_.size();
        const void* hit = std::memchr(
            begin, marker_bytes[0], static_cast<std::size_t>(view.data() + view.size() - begin));
        if (hit == nullptr) {
            from = view.size() - front_.size();
            return std::nullopt;
        }
        const auto* marker = static_cast<const std::byte*>(hit);
        from = static_cast<std::size_t>(marker - view.data()) - front_.size();
        const auto left = static_cast<std::size_t>(view.data() + view.size() - marker);
        if (left < marker_bytes.size()) {
            return std::nullopt;
        }
        if (std::memcmp(marker, marker_bytes.data(), marker_bytes.size()) == 0 &&
            std::memcmp(view.data() + from, front_.data(), front_.size()) == 0) {
            if (view.size() - from < end_bytes()) {
                return std::nullopt;
            }
            if (auto found = decode(view.subspan(from, end_bytes()), offset + from)) {
                ++from;
                return found;
            }
        }
        ++from;
    }
    return std::nullopt;
}

std::optional<FoundEnd> EndFinder::decode(ByteView record, std::uint64_t offset) {
    const ByteView payload = record.subspan(front_.size(), payload_bytes_);
    std::size_t covered = 0;
    const Result<ChunkEnd> end = decode_chunk_end(payload, section_count_, sections_, covered);
    if (!end) {
        return std::nullopt;
    }
    const std::uint32_t check = ByteReader(record.last(record_check_bytes)).u32("check");
    if (check != record_check({session_, end->number, end->records},
                              record.first(record.size() - record_check_bytes),
                              scratch_)) {
        return std::nullopt;
    }
    // Without the frames between them, chunk ends are one chunk and one of their records apart.
    const std::uint64_t back = end->number == 0 ? 0 : record.size() + end->chunk_bytes;
    const bool plausible = end->ticks > 0 && end->back_offset == back &&
                           end->ticks <= end->records && end->chunk_bytes <= chunk_bytes_max &&
                           end->records * record_bytes_min <= end->chunk_bytes &&
                           end->last.value <= tick_max && end->first <= end->last &&
                           end->last.value - end->first.value == end->ticks - std::uint64_t{1} &&
                           offset >= first_offset_ + end->chunk_bytes;
    if (!plausible) {
        return std::nullopt;
    }
    return FoundEnd{offset,
                    static_cast<std::uint32_t>(record.size()),
                    end->number,
                    end->ticks,
                    end->records,
                    end->chunk_bytes,
                    end->first,
                    end->last,
                    end->previous,
                    end->state,
                    end->digest};
}

bool EndFinder::proves(const FoundEnd& end, ByteView chunk_and_end) {
    if (chunk_and_end.size() != std::size_t{end.chunk_bytes} + end.size) {
        return false;
    }
    begin_chunk_digest(hasher_, end.number);
    hasher_.update(chunk_and_end.first(end.chunk_bytes));
    hasher_.update(
        chunk_and_end.subspan(end.chunk_bytes + front_.size(), payload_bytes_ - sizeof(Hash128)));
    return hasher_.finish() == end.digest;
}

// --- ChunkScanner ---

ChunkScanner::ChunkScanner(SalvageBytes& bytes, const GoodHead& head, std::uint64_t first_offset)
    : bytes_(bytes)
    , head_(head)
    , finder_(head)
    , has_changes_((head.head.incompatible & feature::changes) != 0)
    , first_(*first_tick(head.head)) {
    place_.offset = first_offset;
    place_.tick = first_;
    place_.chain = head.digest;
}

void ChunkScanner::go(const ChunkPlace& place) {
    place_ = place;
    trailer_seen_ = false;
    loss_.reset();
}

Result<ScanStep> ChunkScanner::next() {
    const Result<ByteView> near = bytes_.view(place_.offset, near_bytes);
    if (!near) {
        return fail(near.error());
    }
    if (near->empty()) {
        return ScanStep::end;
    }
    if (trailer_seen_) {
        return ScanStep::unproved;
    }
    const auto tag = static_cast<std::uint8_t>(near->front());
    if (has_changes_ && is_frame_tag(tag)) {
        return next_frame(*near);
    }
    if (tag == static_cast<std::uint8_t>(RecordTag::trailer)) {
        return next_trailer(*near);
    }
    return loss_ ? ScanStep::unproved : next_chunk();
}

Result<ScanStep> ChunkScanner::next_frame(ByteView near) {
    ByteReader reader(near);
    const std::uint8_t tag = reader.u8("tag");
    const std::uint64_t length = reader.varint("length", frame_payload_bytes_max);
    if (!reader.ok() || tag == static_cast<std::uint8_t>(RecordTag::packed)) {
        return ScanStep::unproved;
    }
    const std::size_t front = reader.offset();
    const std::size_t size = front + static_cast<std::size_t>(length) + record_check_bytes;
    const Result<ByteView> record = bytes_.view(place_.offset, size);
    if (!record) {
        return fail(record.error());
    }
    if (record->size() < size || place_.frames == frame_record_first - 1) {
        return ScanStep::unproved;
    }
    const Place place{head_.head.session, place_.chunk, frame_record_first + place_.frames};
    const std::uint32_t check = ByteReader(record->last(record_check_bytes)).u32("check");
    if (check != record_check(place, record->first(size - record_check_bytes), scratch_)) {
        return ScanStep::unproved;
    }
    frame_tag_ = tag;
    frame_payload_ = record->subspan(front, static_cast<std::size_t>(length));
    if (static_cast<RecordTag>(tag) == RecordTag::loss) {
        const Result<Loss> loss = decode_loss(frame_payload_);
        if (!loss || loss->first != place_.tick || loss_) {
            return ScanStep::unproved;
        }
        loss_ = *loss;
    }
    place_.offset += size;
    place_.frame_bytes += size;
    ++place_.frames;
    ++place_.records;
    return ScanStep::frame;
}

ScanStep ChunkScanner::next_trailer(ByteView near) {
    constexpr std::size_t size = trailer_record_bytes;
    if (near.size() < size) {
        return ScanStep::unproved;
    }
    const ByteView record = near.first(size);
    const std::uint32_t check = ByteReader(record.last(record_check_bytes)).u32("check");
    const Result<Trailer> trailer = decode_trailer(record.subspan(2, trailer_payload_bytes));
    if (!trailer) {
        return ScanStep::unproved;
    }
    const Trailer expected{moved_ ? trailer->last_chunk_end : place_.last_chunk_end,
                           place_.tick.value - first_.value,
                           place_.chunk,
                           place_.chain};
    const Place place{head_.head.session, place_.chunk, 0};
    if (static_cast<std::size_t>(record[1]) != trailer_payload_bytes || *trailer != expected ||
        check != record_check(place, record.first(size - record_check_bytes), scratch_)) {
        return ScanStep::unproved;
    }
    place_.offset += size;
    ++place_.records;
    trailer_seen_ = true;
    trailer_ = *trailer;
    return ScanStep::trailer;
}

Result<bool> ChunkScanner::take_trailer(std::uint64_t offset) {
    const ChunkPlace before = place_;
    const bool moved = moved_;
    place_.offset = offset;
    moved_ = true;
    const Result<ByteView> near = bytes_.view(offset, trailer_record_bytes);
    if (!near) {
        return fail(near.error());
    }
    const bool right = !near->empty() &&
                       near->front() == static_cast<std::byte>(RecordTag::trailer) &&
                       next_trailer(*near) == ScanStep::trailer;
    if (!right) {
        place_ = before;
        moved_ = moved;
    }
    return right;
}

Result<ScanStep> ChunkScanner::next_chunk() {
    // Most chunks end near; only others are looked for as far as a chunk may reach.
    const std::size_t far_bytes = static_cast<std::size_t>(chunk_bytes_max) + finder_.end_bytes();
    std::size_t from = 0;
    for (const std::size_t reach : {near_bytes, far_bytes}) {
        const Result<ByteView> view = bytes_.view(place_.offset, reach);
        if (!view) {
            return fail(view.error());
        }
        const std::optional<FoundEnd> end = finder_.find(*view, place_.offset, from);
        if (!end) {
            continue;
        }
        if (end->start() != place_.offset || !continues(*end)) {
            return ScanStep::unproved;
        }
        const Result<bool> taken = take(*end);
        if (!taken) {
            return fail(taken.error());
        }
        return *taken ? ScanStep::chunk : ScanStep::unproved;
    }
    return ScanStep::unproved;
}

bool ChunkScanner::continues(const FoundEnd& end) const {
    return end.number == place_.chunk && end.previous == place_.chain && end.first == place_.tick;
}

Result<bool> ChunkScanner::take(const FoundEnd& end) {
    const Result<ByteView> whole =
        bytes_.view(end.start(), std::size_t{end.chunk_bytes} + end.size);
    if (!whole) {
        return fail(whole.error());
    }
    if (!finder_.proves(end, *whole)) {
        return false;
    }
    moved_ = moved_ || end.start() != place_.offset;
    place_.offset = end.end();
    place_.last_chunk_end = end.offset;
    place_.frame_bytes = 0;
    place_.frames = 0;
    ++place_.chunk;
    place_.tick = end.last + 1;
    place_.records += end.records + std::uint64_t{1};
    place_.chain = end.digest;
    return true;
}

} // namespace twinstep::replay
