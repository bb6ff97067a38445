// SPDX-License-Identifier: MIT
// The packed form of a recording: the same records and the same chain in a fraction of the bytes.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

struct PackOptions {
    /// Of zstd, 1 to 22: 19 is for archives, 3 for a hurry. 0 compresses nothing and needs no zstd.
    int level = 19;
    /// False leaves the section bytes out: a byte a section and tick less, but a divergence is no
    /// longer named by its section, and the chain is another one: signatures go.
    bool section_bytes = true;
};

/// What was written.
struct PackReport {
    std::uint64_t ticks = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;         ///< Of the file that was written.
    std::uint64_t source_bytes = 0;  ///< Of the file that was read; 0 if unknown.
    std::uint64_t packed_frames = 0; ///< Of these the file consists, beside what is not packed.
    std::uint64_t content_bytes = 0; ///< Of inputs, events and data records in them.
    std::uint64_t signatures_dropped = 0; ///< They vouched for another chain.
    bool section_bytes_dropped = false;
    Hash128 chain; ///< Of the recording that was written.
};

/// Writes the packed form of what `reader`, which stands at its beginning, reads. Unpacking gives
/// the same bytes again, of a closed file and of an open one. Whatever the reader meets is an error
/// here; then, and if writing fails, the sink holds a prefix that is of no use. Errors: the
/// reader's; unsupported_version without zstd, but for level 0; io_error. Memory: about 100 MiB at
/// level 19, whatever the size of the recording.
Result<PackReport>
pack(Reader& reader, std::unique_ptr<FileSink> sink, const PackOptions& options = {});

/// Writes the open form. Errors: as pack().
Result<PackReport> unpack(Reader& reader, std::unique_ptr<FileSink> sink);

/// What a packed file holds, by its frames alone.
struct PackedSummary {
    FileState state = FileState::open;
    std::uint64_t ticks = 0;
    std::uint64_t chunks = 0;
    std::uint64_t packed_frames = 0;
    std::uint64_t good_bytes = 0; ///< Up to the end of the last good frame.
    std::optional<Error> defect;
};

/// Checks head, every frame, their order and the trailer of a packed file without unpacking
/// anything, at the speed of memory. It finds any accident to the bytes; that the chunks are what
/// they were before packing, only reading finds. Errors: those of Reader::open; not_a_recording if
/// the file is not packed. Memory: 2 x frame_record_bytes_max.
Result<PackedSummary> check_packed(const std::string& path);
Result<PackedSummary> check_packed(ByteView bytes, std::string name = "memory");

} // namespace twinstep::replay
