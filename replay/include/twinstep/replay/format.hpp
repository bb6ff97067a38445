// SPDX-License-Identifier: MIT
// The constants and limits of the .twin format. Authority: docs/recording-format.md.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::replay {

/// Version that is written. A reader accepts any minor version of its major version.
inline constexpr std::uint16_t format_major = 1;
inline constexpr std::uint16_t format_minor = 1;

/// Incompatible features: a reader that does not know a bit refuses the file.
namespace feature {
inline constexpr std::uint32_t changes = 1; ///< Ticks may be written as changes; frames may occur.
inline constexpr std::uint32_t late_start = 2;       ///< The first tick is `first_tick_key`'s.
inline constexpr std::uint32_t no_section_bytes = 4; ///< Tick records have no section bytes.
inline constexpr std::uint32_t packed = 8;           ///< Chunks are in packed frames.
inline constexpr std::uint32_t known = changes | late_start | no_section_bytes | packed;
} // namespace feature

/// Sizes in bytes of the parts whose size never changes.
inline constexpr std::size_t preamble_bytes = 64;
inline constexpr std::size_t record_check_bytes = 4;

/// Limits, checked before anything is allocated.
inline constexpr std::size_t record_payload_bytes_max = std::size_t{64} * 1024;
/// A tag, the longest length, a payload and a check.
inline constexpr std::size_t record_bytes_max = 1 + 3 + record_payload_bytes_max + 4;
/// The same for frames, which stand between chunks.
inline constexpr std::size_t frame_payload_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t frame_record_bytes_max = 1 + 3 + frame_payload_bytes_max + 4;
/// Most bytes of one chunk's records; a reader holds at most twice as much of any file.
inline constexpr std::uint64_t chunk_bytes_max = std::uint64_t{2} << 20;
/// A writer ends a chunk at the first of these.
inline constexpr std::uint64_t chunk_bytes_target = std::uint64_t{64} * 1024;
inline constexpr std::uint64_t chunk_ticks_target = 600;

/// Record tags. Tags below 0x80 that a reader does not know are skipped by length, tags from 0x80
/// on belong to applications.
enum class RecordTag : std::uint8_t {
    tick = 0x01,
    chunk_end = 0x02,
    trailer = 0x03,
    tick_changes = 0x04, ///< A tick as what differs from the one before.
    packed = 0x40,       ///< Chunks, compressed.
    keyframe = 0x41,     ///< A part of a state.
    signature = 0x42,    ///< Somebody vouches for all chunks before it.
    loss = 0x43,         ///< Ticks that could not be recorded.
};

/// True for tags of frames: records of up to frame_payload_bytes_max between chunks, which no
/// digest covers.
inline constexpr bool is_frame_tag(std::uint8_t tag) {
    return tag >= 0x40 && tag < 0x80;
}

/// Key of the manifest entry that names the state's sections in order, separated by one space.
inline constexpr const char* sections_key = "record.sections";
/// Key of the manifest entry with the first tick, in decimal, where feature::late_start is set.
inline constexpr const char* first_tick_key = "record.first_tick";

/// 128 random bits that every record of a recording is bound to.
using SessionId = std::array<std::byte, 16>;

/// A fresh session id from the system. Thread: any. Errors: io_error if the system has no random
/// numbers to give.
Result<SessionId> make_session_id();
/// 32 lower-case hexadecimal digits, first byte first.
std::string to_hex(const SessionId& id);
/// Lower-case hexadecimal digits, first byte first.
std::string to_hex(ByteView bytes);

/// Everything in front of the first record.
struct Head {
    std::uint16_t minor = format_minor;
    std::uint32_t compatible = 0; ///< Features an old reader may ignore.
    std::uint32_t read_only = 0;  ///< Features an old reader may ignore while it only reads.
    std::uint32_t incompatible = feature::changes; ///< Features without which nothing is read.
    SessionId session{};
    Manifest manifest;
};

/// The tick of the first tick record; 0 without feature::late_start. Errors: corrupt_head if the
/// key is missing, not a shortest decimal number from 1 to tick_max, or there without the feature.
Result<Tick> first_tick(const Head& head);

/// The section names a manifest lists. Errors: corrupt_head if the key is missing or not a list of
/// 1 to sections_max different names.
Result<std::vector<std::string>> section_names(const Manifest& manifest);

/// What a tick record says of the state before the tick: the low 32 bits of the state hash.
inline std::uint32_t short_hash(const Hash128& hash) {
    return static_cast<std::uint32_t>(hash.low);
}

/// ... and the low 8 bits of each section's hash.
inline std::byte section_byte(const Hash128& hash) {
    return static_cast<std::byte>(hash.low & 0xFFU);
}

} // namespace twinstep::replay
