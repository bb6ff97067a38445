// SPDX-License-Identifier: MIT
// Parts of a damaged recording: the prefix as it is, and later parts that start from a keyframe.
#pragma once

#include "recover_run.hpp"
#include "recover_side.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/recover.hpp"
#include "twinstep/replay/writer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace twinstep::replay {

/// Copies runs of a source into a sink, byte for byte.
class RecoverCopy {
public:
    RecoverCopy(SalvageBytes& source, std::unique_ptr<FileSink> sink);

    /// Begins a run.
    void start(std::uint64_t offset) { next_ = offset; }

    /// The run is good up to an offset; what has come together is written. Errors: io_error.
    Result<void> good(std::uint64_t offset);
    /// Writes all of it. Errors: io_error.
    Result<void> flush(std::uint64_t offset);
    /// Writes bytes that are not the source's. Errors: io_error.
    Result<void> add(ByteView bytes);
    /// Errors: io_error.
    Result<void> close(bool sync);

    std::uint64_t bytes() const { return bytes_; }

    std::uint64_t source_bytes() const { return source_bytes_; }

private:
    SalvageBytes& source_;
    std::unique_ptr<FileSink> sink_;
    std::uint64_t next_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t source_bytes_ = 0;
};

/// All chunk ends in a part of a file, whatever lies between them.
class FoundEnds {
public:
    /// Looks through the source from an offset on. Errors: io_error.
    Result<void> collect(SalvageBytes& source, EndFinder& finder, std::uint64_t from);

    /// In the order of their numbers, those with the same number in the order of their offsets.
    const std::vector<FoundEnd>& all() const { return ends_; }

    /// The first with a number, or the end of all().
    std::vector<FoundEnd>::const_iterator with(std::uint32_t number) const;

private:
    std::vector<FoundEnd> ends_;
};

/// The state that a later part starts from, proved against a chunk end.
struct StartState {
    KeyframeInfo info;
    Bytes snapshot;
    ChunkPlace place; ///< Behind the chunk end that recorded it.
};

/// Keyframes of a source, where it is damaged and where it is not.
class SourceKeyframes {
public:
    /// Borrows everything.
    SourceKeyframes(RecoverSource& source,
                    const RecoverOptions& options,
                    const std::vector<ChunkPlace>& before,
                    const FoundEnds& behind)
        : source_(source)
        , options_(options)
        , scanner_(source.bytes, source.head, source.first_offset)
        , before_(before)
        , behind_(behind) {}

    /// The state behind a chunk end, if a keyframe that follows it holds it. Errors: io_error.
    Result<std::optional<StartState>> behind(const FoundEnd& end);

    /// The same from the side file, of any place. Errors: none.
    std::optional<StartState> beside(const ChunkPlace& place, Tick tick, const Hash128& state);

    /// The keyframe of a tick, or the first one, in the run of frames at a place, with its state
    /// found to have the hash that it says. Errors: io_error.
    Result<std::optional<StartState>> at(const ChunkPlace& place, std::optional<Tick> tick);

private:
    Result<std::optional<Bytes>> base(Tick tick);

    RecoverSource& source_;
    const RecoverOptions& options_;
    std::optional<SideKeyframes> side_;
    bool side_opened_ = false;
    ChunkScanner scanner_;
    const std::vector<ChunkPlace>& before_;
    const FoundEnds& behind_;
    std::uint64_t wasted_ = 0; ///< Bytes of states that were unpacked and led to nothing.
    bool is_base_ = false;     ///< One hop: the base of a delta is no delta.
};

/// Where a later part ended in the source.
struct LatePart {
    RecoveredPart part;
    std::uint32_t chunk = 0; ///< The first one that it does not hold whole.
    Tick tick;               ///< After its last one.
    std::optional<Defect> defect;
};

/// Place behind a chunk end.
ChunkPlace place_behind(const FoundEnd& end);

/// What is written of a later part.
struct LatePartOptions {
    SessionId session{};
    Hash128 source_chain; ///< Of the last chunk that was proved from the recording's start on.
    /// Of a packed source: the tick before which its trailer was found, whose chain cannot be
    /// compared here.
    std::optional<Tick> packed_end = std::nullopt;
    bool sync = true;
};

/// Writes a recording that starts from a state and holds what follows it. Errors: those of
/// Reader and Writer.
Result<LatePart> write_late_part(RecoverSource& source,
                                 const StartState& start,
                                 const FoundEnds& ends,
                                 std::unique_ptr<FileSink> sink,
                                 const LatePartOptions& options);

} // namespace twinstep::replay
