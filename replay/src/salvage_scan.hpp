// SPDX-License-Identifier: MIT
// Chunks proved by their ends, without looking into their records.
#pragma once

#include "head.hpp"
#include "layout.hpp"
#include "salvage_bytes.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace twinstep::replay {

/// Bytes of a trailer's record.
inline constexpr std::size_t trailer_record_bytes = 2 + trailer_payload_bytes + record_check_bytes;

/// A chunk end whose own check is right: it was written like this, in this session and with this
/// number. What it says of its chunk is a claim.
struct FoundEnd {
    std::uint64_t offset = 0;
    std::uint32_t size = 0; ///< Of the chunk end's record.
    std::uint32_t number = 0;
    std::uint32_t ticks = 0;
    std::uint32_t records = 0;
    std::uint32_t chunk_bytes = 0;
    Tick first;
    Tick last;
    Hash128 previous;
    Hash128 state;
    Hash128 digest;

    std::uint64_t start() const { return offset - chunk_bytes; }

    std::uint64_t end() const { return offset + size; }
};

/// Finds chunk ends of one recording by their sync marker.
class EndFinder {
public:
    explicit EndFinder(const GoodHead& head);

    /// Bytes of a chunk end's record; the same for all of a recording.
    std::size_t end_bytes() const { return front_.size() + payload_bytes_ + record_check_bytes; }

    /// The first chunk end in `view`, which lies at `offset` in the file, from index `from` on.
    /// `from` is then where to go on; without a find, what lies before it need not be looked at
    /// again.
    std::optional<FoundEnd> find(ByteView view, std::uint64_t offset, std::size_t& from);

    /// True if these are the records of the chunk and its end, as they were written.
    bool proves(const FoundEnd& end, ByteView chunk_and_end);

private:
    std::optional<FoundEnd> decode(ByteView record, std::uint64_t offset);

    SessionId session_;
    std::uint64_t first_offset_; ///< Of the first record in the file.
    std::size_t section_count_;
    std::size_t payload_bytes_;
    Bytes front_; ///< Tag and length, which stand before the marker.
    std::vector<Hash128> sections_;
    Bytes scratch_;
    Hasher hasher_;
};

/// What stood at a scanner's place.
enum class ScanStep : std::uint8_t {
    chunk,   ///< A whole chunk, proved.
    frame,   ///< A frame, whose check is right.
    trailer, ///< A trailer that is right.
    end,     ///< The file ends here.
    unproved ///< Something else; the scanner has not moved.
};

/// Goes from chunk to chunk as long as each is proved to follow the one before.
class ChunkScanner {
public:
    /// Begins behind the head. Borrows both.
    ChunkScanner(SalvageBytes& bytes, const GoodHead& head, std::uint64_t first_offset);

    /// Errors: io_error.
    Result<ScanStep> next();

    /// Where the scanner stands, between chunks.
    const ChunkPlace& place() const { return place_; }

    /// Goes on elsewhere, where a chunk or a frame of this place begins.
    void go(const ChunkPlace& place);

    /// True if a chunk's end claims to continue the chain from here, wherever it lies.
    bool continues(const FoundEnd& end) const;
    /// Goes on behind a chunk whose end continues the chain, if it is proved. Errors: io_error.
    Result<bool> take(const FoundEnd& end);

    /// True if the trailer of this recording is at an offset; the scanner then stands behind it.
    /// Errors: io_error.
    Result<bool> take_trailer(std::uint64_t offset);

    /// The trailer that was met.
    const Trailer& trailer() const { return trailer_; }

    /// True if something lay between two chunks, so that offsets are no longer the original's.
    bool has_moved() const { return moved_; }

    /// Of the last frame: its record and its payload, valid until the next call.
    std::uint8_t frame_tag() const { return frame_tag_; }

    ByteView frame_payload() const { return frame_payload_; }

    const std::optional<Loss>& loss() const { return loss_; }

    bool trailer_seen() const { return trailer_seen_; }

    EndFinder& finder() { return finder_; }

    const EndFinder& finder() const { return finder_; }

private:
    Result<ScanStep> next_chunk();
    Result<ScanStep> next_frame(ByteView near);
    ScanStep next_trailer(ByteView near);

    SalvageBytes& bytes_;
    const GoodHead& head_;
    EndFinder finder_;
    bool has_changes_;
    Tick first_;
    ChunkPlace place_;
    std::uint8_t frame_tag_ = 0;
    ByteView frame_payload_;
    std::optional<Loss> loss_;
    bool trailer_seen_ = false;
    bool moved_ = false;
    Trailer trailer_;
    Bytes scratch_;
};

} // namespace twinstep::replay
