// SPDX-License-Identifier: MIT
// Checks, digests and the chain, computed anew from docs/recording-format.md.
#include "repair.hpp"

#include <algorithm>
#include <cstring>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

constexpr std::uint8_t repaired_packed_tag = 0x40;
constexpr std::uint32_t repaired_frame_first = std::uint32_t{1} << 31;
constexpr std::size_t repaired_check_at = 56;

} // namespace

void Repair::put64(std::size_t at, std::uint64_t value) {
    const std::uint64_t ordered = detail::little_endian(value);
    std::memcpy(file_.data() + at, &ordered, sizeof(ordered));
}

void Repair::run() {
    if (file_.size() < preamble_bytes + 4) {
        return;
    }
    put64(repaired_check_at, checksum64(ByteView(file_).first(repaired_check_at)));
    ByteReader preamble(ByteView(file_).subspan(24));
    const std::uint32_t features = preamble.u32("features");
    with_frames_ = (features & feature::changes) != 0;
    packed_ = (features & feature::packed) != 0;
    ByteReader reader(ByteView(file_).subspan(preamble_bytes));
    const std::size_t manifest = reader.u32("size");
    const std::size_t check = preamble_bytes + 4 + manifest;
    if (check > file_.size() || file_.size() - check < 8) {
        return;
    }
    put64(check, checksum64(ByteView(file_).first(check)));
    at_ = check + 8;
    chain_ = hash_bytes("twinstep.head", Tick{0}, {}, ByteView(file_).first(at_));
    while (record()) {
    }
}

void Repair::run_side_file() {
    if (file_.size() < preamble_bytes) {
        return;
    }
    put64(repaired_check_at, checksum64(ByteView(file_).first(repaired_check_at)));
    at_ = preamble_bytes;
    for (std::uint32_t number = 0;; ++number) {
        ByteReader reader(ByteView(file_).subspan(at_));
        reader.u8("tag");
        reader.bytes(reader.varint("length", frame_payload_bytes_max), "payload");
        const std::size_t end = at_ + reader.offset();
        if (!reader.ok() || reader.remaining() < record_check_bytes) {
            return;
        }
        seal(end, UINT32_MAX, number);
    }
}

bool Repair::record() {
    ByteReader reader(ByteView(file_).subspan(at_));
    const std::uint8_t tag = reader.u8("tag");
    const std::uint64_t size = reader.varint("length", frame_payload_bytes_max);
    const std::size_t payload = at_ + reader.offset();
    const ByteView view = reader.bytes(size, "payload");
    const std::size_t end = at_ + reader.offset();
    if (!reader.ok() || reader.remaining() < record_check_bytes) {
        return false;
    }
    if (packed_ && tag == repaired_packed_tag) {
        const std::uint32_t number = UINT32_MAX - records_;
        const std::uint32_t chunk = chunks_;
        take_place(view);
        seal(end, chunk, number);
    } else if ((with_frames_ || packed_) && is_frame_tag(tag)) {
        seal(end, chunks_, repaired_frame_first + frames_++);
    } else if (tag == static_cast<std::uint8_t>(RecordTag::chunk_end)) {
        chain_chunk(payload, end);
        seal(end, chunks_++, records_);
        records_ = frames_ = 0;
    } else {
        const std::size_t begin = at_;
        const bool trailer = tag == static_cast<std::uint8_t>(RecordTag::trailer);
        seal(end, chunks_, trailer || packed_ ? 0 : records_++);
        chunk_.insert(chunk_.end(),
                      file_.begin() + static_cast<std::ptrdiff_t>(begin),
                      file_.begin() + static_cast<std::ptrdiff_t>(at_));
    }
    return true;
}

/// A packed frame's front says how many chunks and records it stands for.
void Repair::take_place(ByteView payload) {
    ByteReader reader(payload);
    reader.u32("marker");
    reader.u8("codec");
    reader.u8("layout");
    const auto chunks = static_cast<std::uint32_t>(reader.varint("chunks"));
    reader.varint("ticks");
    const auto tail = static_cast<std::uint32_t>(reader.varint("tail"));
    if (reader.ok()) {
        chunks_ += chunks;
        records_ = (chunks > 0 ? 0 : records_) + tail;
        frames_ = chunks > 0 ? 0 : frames_;
    }
}

void Repair::chain_chunk(std::size_t payload, std::size_t end) {
    if (end - payload >= 80 + 16) {
        put64(payload + 48, chain_.low);
        put64(payload + 56, chain_.high);
        chunk_.insert(chunk_.end(),
                      file_.begin() + static_cast<std::ptrdiff_t>(payload),
                      file_.begin() + static_cast<std::ptrdiff_t>(end - 16));
        chain_ = hash_bytes("twinstep.chunk", Tick{chunks_}, {}, chunk_);
        put64(end - 16, chain_.low);
        put64(end - 8, chain_.high);
    }
    chunk_.clear();
}

void Repair::seal(std::size_t end, std::uint32_t chunk, std::uint32_t number) {
    Bytes data(file_.begin() + 32, file_.begin() + 48);
    ByteWriter writer(data);
    writer.u32(chunk);
    writer.u32(number);
    writer.bytes(ByteView(file_).subspan(at_, end - at_));
    const auto check = detail::little_endian(static_cast<std::uint32_t>(checksum64(data)));
    std::memcpy(file_.data() + end, &check, sizeof(check));
    at_ = end + record_check_bytes;
}
