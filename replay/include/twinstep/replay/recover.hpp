// SPDX-License-Identifier: MIT
// What can still be proved of a damaged recording, kept; and the proof of a whole file at speed.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::replay {

/// Note of a part that starts behind damage: session id and last proved chain of the recording that
/// it was taken from, one space apart.
inline constexpr const char* recovered_from_key = "record.recovered_from";
/// Note with the reason, for people.
inline constexpr const char* remark_key = "record.remark";

/// What a file proved to be.
struct ProvedFile {
    FileState state = FileState::open;
    bool packed = false;
    std::uint64_t bytes = 0;      ///< Of the file and what its journal still holds of it.
    std::uint64_t good_bytes = 0; ///< Up to the end of the last proved record.
    std::uint64_t ticks = 0;
    std::uint64_t chunks = 0;
    Hash128 chain; ///< Digest of the last proved chunk; of a packed file its trailer's, if closed.
    std::vector<Defect> defects;
};

/// Proves a file as far as it goes: whole chunks by their digest, back-link and own check, without
/// parsing their records; only what no chunk end covers is parsed. That finds every accident. What
/// a writer never would have written but gave right digests, only a Reader finds. Errors: those of
/// Reader::open, io_error. Memory: 3 x chunk_bytes_max.
Result<ProvedFile> prove(const std::string& path);
Result<ProvedFile> prove(ByteView bytes, std::string name = "memory");

/// A file that recover wrote.
struct RecoveredPart {
    Tick first;              ///< Of its ticks.
    std::uint64_t ticks = 0; ///< As many follow each other.
    std::uint64_t bytes = 0; ///< Of the file that was written.
    std::uint64_t chunks = 0;
    FileState state = FileState::open; ///< closed or open.
    Hash128 chain;
    SessionId session{}; ///< The source's, or a new one if the part starts behind damage.
    std::uint64_t source_offset = 0; ///< Where it begins in the source.
    std::uint64_t source_bytes = 0;  ///< Bytes of the source that it holds.
};

struct RecoverReport {
    FileState state = FileState::open; ///< Of the source: closed if nothing had to be recovered.
    std::uint64_t bytes = 0;           ///< Of the source and its journal.
    std::uint64_t kept_ticks = 0;      ///< In all parts.
    std::uint64_t lost_bytes = 0;      ///< Of the source, in no part.
    std::vector<RecoveredPart> parts;  ///< In the order of ticks. The first one may be missing.
    std::vector<Defect> defects;       ///< Where each run of provable records ended; at most 64.
};

/// Opens the file of a part: number 0 starts where the recording does and is always asked for;
/// further ones hold the ticks from `first` on.
using PartSinks = std::function<Result<std::unique_ptr<FileSink>>(std::size_t part, Tick first)>;

struct RecoverOptions {
    /// Look behind damage for keyframes to start later parts from.
    bool later_parts = true;
    /// Path (UTF-8) of a side file whose keyframes may start later parts too; it may be missing.
    std::string side_file = {};
    ByteView side_bytes = {}; ///< Instead of a path; borrowed.
    /// Have what was written survive a loss of power before it is called recovered.
    bool sync = true;
    /// Sessions of later parts; empty: drawn from the system.
    std::function<Result<SessionId>()> sessions = {};
};

/// Copies everything that can be proved. The first part is the longest provable prefix, byte for
/// byte, what its journal holds included. Where only what lies between two chunks is damaged, it
/// goes on behind the damage, because the chunks prove that they follow each other. Later parts
/// start from a keyframe whose state has the hash that the chunk end before it recorded; they are
/// recordings of their own with a late start. No check that was wrong is ever computed anew.
/// Parts without ticks are left out, unless the recording has none. Errors: those of Reader::open;
/// io_error; those of `sinks`. Memory: as prove(), 128 bytes for each chunk behind
/// damage, and three states while a later part starts.
Result<RecoverReport>
recover(const std::string& path, const PartSinks& sinks, const RecoverOptions& options = {});
Result<RecoverReport> recover(ByteView bytes,
                              const PartSinks& sinks,
                              const RecoverOptions& options = {},
                              std::string name = "memory");

} // namespace twinstep::replay
