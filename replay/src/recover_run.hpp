// SPDX-License-Identifier: MIT
// What proving and recovering share: a run of records that are proved to follow each other.
#pragma once

#include "salvage_bytes.hpp"
#include "salvage_scan.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/recover.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace twinstep::replay {

/// What follows the last place that is proved: whole records up to a defect or the end.
struct RecoverTail {
    std::uint64_t end = 0; ///< Offset behind the last whole record.
    std::uint64_t ticks = 0;
    FileState state = FileState::open;
    std::optional<Defect> defect;

    /// True if a whole chunk end says that these records are not its chunk's: of another history,
    /// or changed behind the back of their checks.
    bool is_contradicted() const { return contradicts(defect); }

    static bool contradicts(const std::optional<Defect>& defect) {
        return defect && defect->error.code == Errc::corrupt_chunk;
    }
};

/// An open file and its head. Thread: one owner at a time.
struct RecoverSource {
    SalvageBytes bytes;
    GoodHead head;
    std::uint64_t first_offset = 0; ///< Of the first record.

    /// Errors: those of Reader::open.
    static Result<std::unique_ptr<RecoverSource>> open(std::unique_ptr<Input> input,
                                                       const std::string& name);
    /// A reader of the same bytes. Errors: those of Reader::open.
    Result<Reader> reader();
};

/// Goes through an open file chunk by chunk, and record by record where a chunk's end does not
/// prove it.
class RecoverRun {
public:
    /// Called after each step with the offset up to which everything is proved.
    using Moved = std::function<Result<void>(std::uint64_t offset)>;

    explicit RecoverRun(RecoverSource& source);

    /// Goes on until something cannot be proved. Errors: io_error; those of `moved`.
    Result<void> go_on(const Moved& moved);

    /// What stands where it stopped.
    const RecoverTail& tail() const { return tail_; }

    ChunkScanner& scanner() { return scanner_; }

    std::uint64_t ticks() const { return scanner_.place().tick.value - first_.value; }

    /// Places of runs of frames that begin with a keyframe.
    const std::vector<ChunkPlace>& keyframes() const { return keyframes_; }

private:
    Result<bool> read_chunk();

    RecoverSource& source_;
    ChunkScanner scanner_;
    Tick first_;
    std::optional<Reader> reader_;
    RecoverTail tail_;
    std::vector<ChunkPlace> keyframes_;
};

/// Appends to a sink. Errors: io_error.
Result<void> write_all(FileSink& sink, ByteView bytes);

// The same for packed files; recover_packed.cpp.

Result<ProvedFile> prove_packed(RecoverSource& source);
Result<RecoverReport>
recover_packed(RecoverSource& source, const PartSinks& sinks, const RecoverOptions& options);

} // namespace twinstep::replay
