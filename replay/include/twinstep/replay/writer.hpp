// SPDX-License-Identifier: MIT
// Writes a .twin file record by record; every prefix of what it writes is a valid recording.
#pragma once

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace twinstep::replay {

struct ChunkPlace;

/// Writes records in the order they are given. One record is one write of the sink. After a failed
/// write the file is cut back to its last whole record and nothing more is written.
/// Thread: one owner at a time. Nothing is allocated per record in the steady state.
class Writer {
public:
    /// Writes preamble and manifest. Errors: corrupt_head (a manifest that no reader would take),
    /// limit_exceeded, io_error.
    static Result<Writer> create(std::unique_ptr<FileSink> sink, const Head& head);

    /// Goes on behind what was written up to a place that chunk_place() of a reader or a writer
    /// gave. The head is not written. Requires the head of that recording, which a reader found
    /// right.
    static Writer resume(std::unique_ptr<FileSink> sink, const Head& head, const ChunkPlace& place);

    Writer(Writer&&) noexcept;
    Writer& operator=(Writer&&) noexcept;
    /// Closes the file as it is, without a trailer.
    ~Writer();

    /// The record of the next tick: hashes of the state before it and the frame's one encoding.
    /// With feature::changes it holds no more than what differs from the tick before. Requires
    /// tick_section_bytes() bytes and an encoding of the tick next_tick(). Errors: io_error,
    /// recorder_stopped, limit_exceeded.
    Result<void> write_tick(std::uint32_t hash, ByteView section_bytes, ByteView frame);

    /// A record of another kind. Requires a tag that is no RecordTag and no frame's. Errors: as
    /// write_tick.
    Result<void> write_record(std::uint8_t tag, ByteView payload);

    /// A frame. Requires feature::changes, a frame's tag and chunk_records() == 0. Errors: as
    /// write_tick.
    Result<void> write_frame(std::uint8_t tag, ByteView payload);

    /// Hands the bytes of each record of a chunk, its end included, to `tap` once it is written,
    /// from now on. Frames and the trailer are not handed over.
    void set_tap(std::function<void(ByteView record)> tap);

    /// True if the chunk has reached a target of format.hpp.
    bool chunk_due() const;

    /// Ticks written since the last chunk end.
    std::uint64_t chunk_ticks() const;

    /// Records of any kind written since the last chunk end.
    std::uint64_t chunk_records() const;

    /// Ends the chunk with the hashes of the state after its last tick. Requires chunk_ticks() > 0
    /// and one hash a section. Errors: as write_tick.
    Result<void> write_chunk_end(const Hash128& state, std::span<const Hash128> sections);

    /// Writes the trailer. Requires chunk_records() == 0; nothing may be written afterwards.
    /// Errors: as write_tick.
    Result<void> write_trailer();

    /// True if the sink takes `bytes` more now.
    bool has_room(std::size_t bytes) const;

    /// Has what was written made durable, now or, with a sink that queues, soon. Errors: io_error.
    Result<void> sync();

    /// Closes the file. Errors: io_error.
    Result<void> close();

    /// The first failure; nothing is written after it.
    const std::optional<Error>& error() const;

    /// Where the writer stands. Requires chunk_records() == 0.
    ChunkPlace chunk_place() const;

    std::uint64_t ticks() const;            ///< Tick records written.
    Tick next_tick() const;                 ///< Tick of the next tick record.
    std::uint64_t bytes() const;            ///< Bytes of whole records, head included.
    std::uint64_t chunks() const;           ///< Chunk ends written.
    std::size_t section_count() const;      ///< Sections that the manifest names.
    std::size_t tick_section_bytes() const; ///< As many, or none with feature::no_section_bytes.
    const Hash128& chain() const;           ///< Digest of the last chunk, or of the head.
    std::uint32_t last_check() const;       ///< Check of the last record.

private:
    struct Impl;
    explicit Writer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::replay
