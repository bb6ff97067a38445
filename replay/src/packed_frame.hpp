// SPDX-License-Identifier: MIT
// The payload of a packed frame, and where it stands in the numbering of records.
#pragma once

#include "columns.hpp"
#include "head.hpp"
#include "layout.hpp"

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace twinstep::replay {

/// First in every packed frame: the bytes F6 'P' 'A' 'K'.
inline constexpr std::uint32_t packed_marker = 0x4B4150F6;
inline constexpr auto packed_tag = static_cast<std::uint8_t>(RecordTag::packed);
inline constexpr auto trailer_tag = static_cast<std::uint8_t>(RecordTag::trailer);
/// Most bytes of the open form that one packed frame stands for.
inline constexpr std::uint64_t packed_open_bytes_max = std::uint64_t{4} << 20;

/// How the content of a packed frame is stored.
enum class ContentCodec : std::uint8_t { stored = 0, zstd = 1 };

/// The payload of a packed frame, taken apart. Views are into the payload.
struct PackedFrame {
    ContentCodec codec = ContentCodec::zstd;
    ContentLayout layout = ContentLayout::rows;
    bool states_left_out = false;  ///< Every state hash is made of the section hashes beside it.
    std::uint32_t chunks = 0;      ///< Chunk ends in it.
    std::uint64_t ticks = 0;       ///< Tick records in it.
    std::uint32_t tail = 0;        ///< Data records after its last chunk end.
    std::size_t content_bytes = 0; ///< Of the content when it is not compressed.
    ByteView hashes;               ///< Four bytes a tick.
    ByteView section_bytes;        ///< Of each tick.
    ByteView chunk_hashes;         ///< State, unless left out, and sections of each chunk end.
    ByteView content;
};

/// Bytes of a frame's part that is never compressed.
std::uint64_t raw_bytes(const PackedFrame& frame, const GoodHead& head);

/// Appends everything of a payload that stands before the raw part.
void encode_packed_front(const PackedFrame& frame, Bytes& target);
/// Errors: corrupt_record, limit_exceeded, at an offset in the payload.
Result<PackedFrame> decode_packed(ByteView payload, const GoodHead& head);

/// The state hash that is made of section hashes: what a frame leaves out.
Hash128 state_of_sections(Tick tick, std::span<const Hash128> sections);

/// Where packed frame after packed frame stands in the numbering of records.
struct PackedPosition {
    std::uint32_t chunk = 0;
    std::uint32_t tail = 0;   ///< Data records of the open chunk so far.
    std::uint32_t frames = 0; ///< Frames of other kinds since the last chunk end.
    std::uint64_t ticks = 0;  ///< Tick records so far.
    bool trailer_seen = false;

    /// Of the next record with this tag.
    Place place(const SessionId& session, std::uint8_t tag) const;
};

} // namespace twinstep::replay
