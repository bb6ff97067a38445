// SPDX-License-Identifier: MIT
// Reads a .twin file that may be damaged or hostile, in bounded memory and linear time.
#pragma once

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace twinstep::replay {

/// What a defect does. A missing trailer is no defect: such a file is open, not wrong.
enum class ReadMode : std::uint8_t {
    strict, ///< Any defect is an error.
    tail,   ///< A cut last record ends the recording; any other defect is an error.
    prefix, ///< The first defect ends the recording.
};

/// What a file turned out to be, known once next() has answered `end` or failed.
enum class FileState : std::uint8_t {
    closed,    ///< Whole, with its trailer.
    open,      ///< Whole records without a trailer: still being written, or its writer was killed.
    truncated, ///< Cut inside a record.
    damaged,   ///< A check failed, or something is not as the format says.
};

/// "closed", "open", "truncated" or "damaged".
const char* to_string(FileState state);

/// Something that is wrong with a file.
struct Defect {
    Error error;                                       ///< With file, byte offset and field.
    std::optional<Tick> tick;                          ///< First tick that is lost to it, if known.
    std::optional<std::uint32_t> chunk = std::nullopt; ///< Number of the chunk that it is in.
};

/// One line: "truncated at tick T" or "corrupt chunk N", and what exactly is wrong.
std::string to_string(const Defect& defect);
/// The first words of that.
std::string verdict(const Defect& defect);

class Input;

enum class RecordKind : std::uint8_t {
    tick, ///< Of either form; its tag tells which.
    chunk_end,
    trailer,
    frame,   ///< Between chunks; its tag tells what it is.
    unknown, ///< Data of a later version or of an application.
    end,
};

/// The record of a tick. Views are valid until the next call.
struct TickRecord {
    Tick tick;
    std::uint32_t hash = 0;           ///< short_hash of the state before the tick.
    ByteView section_bytes;           ///< section_byte of each section of that state, or none.
    ByteView encoded;                 ///< The frame's one encoding.
    const TickFrame* frame = nullptr; ///< The same, decoded.
};

/// The end of a chunk. Views are valid until the next call.
struct ChunkEnd {
    std::uint32_t number = 0;
    Tick first;
    Tick last;
    std::uint32_t ticks = 0;           ///< Tick records in the chunk.
    std::uint32_t records = 0;         ///< All records in the chunk, without this one.
    std::uint32_t chunk_bytes = 0;     ///< Their bytes.
    std::uint64_t back_offset = 0;     ///< Bytes from the previous chunk end to this; 0: none.
    Hash128 previous;                  ///< Digest of the previous chunk, or of the head.
    Hash128 state;                     ///< Hash of the state after `last`.
    std::span<const Hash128> sections; ///< Hashes of its sections.
    Hash128 digest;                    ///< Of the chunk and this record up to here.
};

/// One record; the member that belongs to `kind` is filled in.
struct Record {
    RecordKind kind = RecordKind::end;
    std::uint8_t tag = 0;
    std::uint64_t offset = 0; ///< Of the record in the file.
    std::uint64_t size = 0;   ///< Its bytes, check included.
    std::uint32_t check = 0;  ///< The stored check, which was right.
    ByteView payload;         ///< Raw; valid until the next call.
    TickRecord tick;
    ChunkEnd chunk_end;
};

/// Why ticks are missing after the last one.
enum class LossReason : std::uint8_t {
    slow_disk = 1, ///< The disk stood still for longer than the recorder's queue could hold.
};

/// Ticks that were played and could not be recorded.
struct Loss {
    Tick first;
    std::uint64_t ticks = 0; ///< At least 1.
    LossReason reason = LossReason::slow_disk;
};

/// Where a packed frame that begins a chunk stands, and what was read before it.
struct PackedOrigin {
    std::uint64_t file_offset = 0; ///< Of the frame in the packed file.
    std::uint64_t offset = 0;      ///< Of its first record in the open form.
    std::uint32_t chunk = 0;
    Tick tick;
    std::uint64_t last_chunk_end = 0;
    std::uint64_t frame_bytes = 0;
    std::uint32_t frames = 0;
    Hash128 chain;
};

/// A chunk's first record, as a place to read on from. Taken from chunk_place, never made up: what
/// it says is trusted.
struct ChunkPlace {
    std::uint64_t offset = 0; ///< In the file, of a packed one in its open form.
    std::uint32_t chunk = 0;
    Tick tick;                 ///< Of its first tick record.
    std::uint64_t records = 0; ///< Before it, of any kind.
    std::uint64_t last_chunk_end = 0;
    std::uint64_t frame_bytes = 0; ///< Of the frames since the last chunk end.
    std::uint32_t frames = 0;
    Hash128 chain;
    PackedOrigin packed; ///< In packed files: the frame to read on from.
};

/// Reads forward, record by record. A record is handed out only after its check, its place and its
/// content were found right, a chunk end only if it agrees with its whole chunk.
/// A packed file is read as its open form: head(), records, offsets and sizes are those of the file
/// that unpack() makes of it; only offsets in errors of packed frames are the packed file's.
/// Thread: one owner at a time. Memory: at most 2 x chunk_bytes_max, of packed files 2 x
/// frame_record_bytes_max more, whatever the file says.
class Reader {
public:
    /// Opens a file (UTF-8 path) and reads its head. Errors: io_error, not_a_recording, truncated,
    /// corrupt_head, unsupported_version, limit_exceeded.
    static Result<Reader> open(const std::string& path, ReadMode mode = ReadMode::tail);
    /// Reads bytes that stay owned by the caller; `name` is used in errors.
    static Result<Reader>
    from_memory(ByteView bytes, ReadMode mode = ReadMode::tail, std::string name = "memory");

    /// Inner part of the module: the same from any input.
    static Result<Reader> from_input(std::unique_ptr<Input> input, ReadMode mode, std::string name);

    Reader(Reader&&) noexcept;
    Reader& operator=(Reader&&) noexcept;
    ~Reader();

    const Head& head() const;
    /// True if the file is packed; head() is that of its open form.
    bool is_packed() const;

    const Manifest& manifest() const { return head().manifest; }

    /// Names of the state's sections, in order.
    const std::vector<std::string>& sections() const;

    /// The next record; RecordKind::end once and for ever after the last good one. Errors: by mode;
    /// an error stays. A packed file needs zstd: unsupported_version in builds without it.
    Result<Record> next();

    /// Where the reader stands, if it stands between chunks: after the head, a chunk end or a
    /// frame.
    std::optional<ChunkPlace> chunk_place() const;

    /// Goes to a place that chunk_place() of a reader of the same file gave. The reader is then as
    /// if it had read up to there. Errors: io_error; an earlier error stays.
    Result<void> seek(const ChunkPlace& place);

    /// Lets next() see what the file has now, also after it has answered `end`. What was handed out
    /// stays; a record that was cut is looked at again. Does nothing after the trailer or an error.
    /// Errors: io_error.
    Result<void> refresh();

    /// Before next() has answered `end` or failed: open.
    FileState state() const;
    /// What was found wrong so far; at most one, because nothing after it can be trusted.
    const std::vector<Defect>& defects() const;

    std::uint64_t ticks() const; ///< Good tick records so far.
    Tick next_tick() const;      ///< Tick of the next tick record, if there is one.
    /// What the file says is missing after its last tick, once it was read.
    const std::optional<Loss>& loss() const;
    std::uint64_t records() const; ///< Good records so far, of any kind.
    std::uint64_t chunks() const;  ///< Good chunk ends so far.
    std::uint64_t bytes() const;   ///< Good bytes so far, head included.
    /// Good bytes of the file as it lies there: bytes(), but of a packed file up to its last frame
    /// of which everything was read.
    std::uint64_t good_file_bytes() const;
    const Hash128& chain() const;     ///< Digest of the last good chunk, or of the head.
    std::uint64_t file_bytes() const; ///< Size of the file when it was opened; 0 if unknown.

private:
    struct Impl;
    explicit Reader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// What a file holds, without simulating anything.
struct Summary {
    Head head;
    std::vector<std::string> sections;
    bool is_packed = false; ///< Then `head` and `records` are those of the open form.
    FileState state = FileState::closed;
    std::uint64_t ticks = 0;   ///< Good ticks.
    std::optional<Loss> loss;  ///< Of the ticks after them.
    std::uint64_t records = 0; ///< Good records, of any kind.
    std::uint64_t chunks = 0;
    std::uint64_t good_bytes = 0;      ///< Up to the end of the last good record or packed frame.
    std::uint64_t bytes = 0;           ///< Size of the file.
    Hash128 chain;                     ///< Digest of the last good chunk, or of the head.
    std::optional<Hash128> final_hash; ///< State hash of the last chunk end, if it ends the file.
    std::vector<Defect> defects;
};

/// Reads a whole file and checks every check in it. Errors: those of Reader::open, and io_error;
/// everything else is a defect in the summary.
Result<Summary> summarise(const std::string& path);
Result<Summary> summarise(ByteView bytes, std::string name = "memory");

} // namespace twinstep::replay
