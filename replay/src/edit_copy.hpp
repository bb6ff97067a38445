// SPDX-License-Identifier: MIT
// What the edits share: looking a recording over, copying a range of it, recording what is played.
#pragma once

#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"

#include "twinstep/replay/edit.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/driver.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace twinstep::replay {

/// What one pass over a recording tells.
struct Survey {
    Head head;
    Tick first;
    Tick end;
    Hash128 chain;
    FileState state = FileState::open;
    std::vector<Defect> defects;
    std::optional<Hash128> final_hash;          ///< If a chunk ends the recording.
    std::optional<KeyframeInfo> first_keyframe; ///< Of a late start.
    std::optional<std::uint32_t> first_hash;    ///< That the first tick says of the first state.
};

/// Errors: the reader's; unsupported_version for what may only be read.
Result<Survey> survey_recording(const ReadableRecording& source);

/// The head of a recording that is made out of others by `verb`: that of the first, a session of
/// its own, and who its parents are. `ends` are the first ticks that are not theirs. Errors:
/// io_error.
Result<Head> child_head(std::span<const Survey> parents,
                        std::span<const Tick> ends,
                        std::string_view verb,
                        const EditOptions& options);

/// Makes a head that of a late start.
void start_late(Head& head, Tick first);

/// Copies ticks of one recording with all that stands between them.
class RangeCopy {
public:
    struct Range {
        Tick from;
        Tick until;
        bool from_start = true;  ///< `from` is the recording's first tick.
        bool to_end = true;      ///< `until` is its end.
        bool changes = true;     ///< The copy has this feature.
        bool keep_first = false; ///< A keyframe of `from` belongs to the copy.
        /// Of the state at `from`, to be proved; borrowed, may be null.
        const StateHashes* from_hashes = nullptr;
    };

    RangeCopy(Writer& writer, EditReport& report, const Range& range)
        : writer_(writer)
        , report_(report)
        , range_(range)
        , started_(range.from_start) {}

    /// Copies; the writer may be left within a chunk. Errors: those of reader and writer;
    /// unsupported_version for a record that the copy cannot hold.
    Result<void> run(Reader& reader);

    /// What the recording says of the state at `until`, as far as it got there.
    const RecordedState& recorded_until() const { return recorded_until_; }

private:
    Result<bool> take(const Record& record);
    Result<bool> take_tick(const Record& record);
    Result<void> take_frame(const Record& record);
    bool keeps_keyframe(const Record& record);

    Writer& writer_;
    EditReport& report_;
    Range range_;
    bool started_;
    bool keeps_parts_ = false; ///< Of the keyframe whose parts are coming.
    std::set<Tick> kept_;
    RecordedState recorded_until_;
};

/// Records what a driver plays, behind whatever its writer holds already.
class TickWriter final : public Observer {
public:
    explicit TickWriter(Writer& writer)
        : writer_(writer) {}

    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    const std::optional<Error>& error() const { return error_; }

private:
    Writer& writer_;
    std::optional<Error> error_;
    Bytes section_bytes_;
};

/// Hands one frame to a driver.
class FrameFeed final : public Source {
public:
    Result<Supply> next(Tick, TickFrame& frame) override {
        if (frame_ == nullptr) {
            return Supply::end;
        }
        frame = *frame_;
        frame_ = nullptr;
        return Supply::ready;
    }

    void set(const TickFrame* frame) { frame_ = frame; }

private:
    const TickFrame* frame_ = nullptr;
};

/// Ends the chunk that is open.
Result<void> end_chunk(Writer& writer, const StateHashes& hashes);

/// Writes the keyframe that a late start begins with.
Result<void> write_first_keyframe(Writer& writer, Simulation& simulation);

/// Trailer and report. A recording that ends with data behind its last chunk stays open.
Result<void> finish_edit(Writer& writer, EditReport& report);

} // namespace twinstep::replay
