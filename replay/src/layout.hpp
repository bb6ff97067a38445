// SPDX-License-Identifier: MIT
// Layout of preamble, chunk end and trailer: encoded and decoded side by side.
#pragma once

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::replay {

inline constexpr std::array<std::uint8_t, 8> magic{0x89, 'T', 'W', 'N', 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::array<std::uint8_t, 8> end_magic{0x89, 'E', 'N', 'D', 0x0D, 0x0A, 0x1A, 0x0A};
/// The bytes F6 'C' 'H' 'E', first in every chunk end.
inline constexpr std::uint32_t sync_marker = 0x454843F6;

inline constexpr std::size_t chunk_end_fixed_bytes = 96;
inline constexpr std::size_t trailer_payload_bytes = 48;
inline constexpr std::size_t manifest_check_bytes = 8;

/// Where the record numbers of frames begin.
inline constexpr std::uint32_t frame_record_first = std::uint32_t{1} << 31;

/// The place of a record, which its check covers.
struct Place {
    SessionId session{};
    std::uint32_t chunk = 0;
    std::uint32_t record = 0; ///< In the chunk, or frame_record_first and more for frames.
};

/// Computes the 32-bit check of a record: over its place, then its bytes up to the check. `scratch`
/// keeps its memory from call to call.
std::uint32_t record_check(const Place& place, ByteView record, Bytes& scratch);

/// Appends preamble and manifest frame.
void encode_head(const Head& head, Bytes& target);
/// Decodes the 64 bytes. The manifest stays empty. Errors: corrupt_head, unsupported_version.
Result<Head> decode_preamble(ByteView bytes);
/// Refuses what is not UTF-8, what names no sections and a first tick that is none. Errors:
/// corrupt_head.
Result<void> check_manifest(const Head& head);
Hash128 head_digest(ByteView head);

/// True for 0 and the tags of records with a meaning of their own, with feature::changes or not;
/// all others are data or frames.
bool is_known_tag(std::uint8_t tag, bool with_changes);

void begin_chunk_digest(Hasher& hasher, std::uint64_t chunk);

/// Appends a chunk end's payload up to its digest.
void encode_chunk_end(const ChunkEnd& end, Bytes& target);
void encode_hash(const Hash128& hash, Bytes& target);
/// Decodes a chunk end. `sections` receives its section hashes. `digest_offset` receives how many
/// bytes of the payload the digest covers. Errors: corrupt_chunk, at an offset in the payload.
Result<ChunkEnd> decode_chunk_end(ByteView payload,
                                  std::size_t section_count,
                                  std::vector<Hash128>& sections,
                                  std::size_t& digest_offset);

struct Trailer {
    std::uint64_t last_chunk_end = 0; ///< Offset in the file; 0 without chunks.
    std::uint64_t ticks = 0;
    std::uint32_t chunks = 0;
    Hash128 chain;

    bool operator==(const Trailer&) const = default;
};

void encode_trailer(const Trailer& trailer, Bytes& target);
/// Errors: corrupt_chunk, at an offset in the payload.
Result<Trailer> decode_trailer(ByteView payload);

void encode_loss(const Loss& loss, Bytes& target);
/// Errors: corrupt_record, at an offset in the payload.
Result<Loss> decode_loss(ByteView payload);

/// True if the bytes that a cut file ends with hold something that only a whole file ends with, so
/// that a length is wrong and the file is not cut.
bool has_later_structure(ByteView rest);

/// The same error with a verdict of this module.
Error as(Errc code, const Error& error);

bool is_utf8(std::string_view text);

/// Text of a file as it may stand in an error: on one line and not too long.
std::string shown(std::string_view text);

} // namespace twinstep::replay
