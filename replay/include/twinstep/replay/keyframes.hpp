// SPDX-License-Identifier: MIT
// Keyframes: states of a recording, kept in it, beside it or in memory, and never trusted unproved.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::replay {

/// Largest state, in bytes, that a keyframe may claim unless something smaller is configured.
inline constexpr std::uint64_t keyframe_bytes_max = std::uint64_t{1} << 30;

/// How the data of a keyframe are stored.
enum class KeyframeCodec : std::uint8_t {
    raw = 0,       ///< As they are.
    zero_runs = 1, ///< Runs of zeros as their length; what deltas mostly are.
    zstd = 2,      ///< One zstd frame. Only in builds that have it.
};

/// "raw", "zero_runs" or "zstd".
const char* to_string(KeyframeCodec codec);

/// True if this build has the codec. All have raw and zero_runs.
bool has_codec(KeyframeCodec codec);

/// Name of the side file of a recording: NAME.kf for NAME.twin, and for any other name that name
/// with .kf behind it.
std::string side_file_of(const std::string& recording);

/// What a keyframe says of itself. All of it is a claim until its state was loaded and compared.
struct KeyframeInfo {
    Tick tick;                      ///< The state before the inputs of this tick.
    Hash128 state;                  ///< Its hash.
    std::uint64_t raw_bytes = 0;    ///< Of the snapshot.
    std::uint64_t stored_bytes = 0; ///< Of its stored form, at most as many.
    KeyframeCodec codec = KeyframeCodec::raw;
    std::optional<Tick> base; ///< Tick of the whole keyframe that this one differs from.
};

/// A keyframe, or the rest of a side file, that is not used.
struct KeyframeProblem {
    std::optional<Tick> tick; ///< Of the keyframe, if it got as far as having one.
    Error error;              ///< Why.
};

/// Keyframes of one session by themselves, beside the recording. Every prefix of the file is valid.
/// Thread: one owner at a time.
class KeyframeFileWriter {
public:
    struct Options {
        KeyframeCodec codec = KeyframeCodec::zero_runs;
        std::uint64_t whole_every = 8; ///< The others are differences from these; 1: all are whole.
    };

    /// Writes the head of a side file of the recording with this session. Errors: io_error.
    static Result<KeyframeFileWriter>
    create(std::unique_ptr<FileSink> sink, const SessionId& session, const Options& options);

    KeyframeFileWriter(KeyframeFileWriter&&) noexcept;
    KeyframeFileWriter& operator=(KeyframeFileWriter&&) noexcept;
    ~KeyframeFileWriter();

    /// Adds the state before a tick. Requires a tick greater than the last. Errors: io_error;
    /// limit_exceeded; unsupported_version if the codec is not in this build.
    Result<void> add(Tick tick, const Hash128& state, ByteView snapshot);

    /// Closes the file. Errors: io_error.
    Result<void> close();

    std::uint64_t bytes() const; ///< Of the file.

private:
    struct Impl;
    explicit KeyframeFileWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

struct KeyframedOptions {
    std::string side_file;                              ///< UTF-8 path; empty: none.
    ByteView side_bytes;                                ///< Instead of a path; borrowed.
    std::uint64_t state_bytes_max = keyframe_bytes_max; ///< Larger keyframes are ignored.
};

struct RecordedState; // Inner part of the module.

/// A recording with everything that is needed to go to any tick of it. Memory: at most 300 bytes
/// for each chunk and keyframe of the file, and while loading at most three states.
/// Thread: one owner at a time.
class KeyframedRecording {
public:
    /// Reads the whole recording once. The reader has not read a record yet. A side file that is
    /// missing, damaged or of another session is a problem, not an error. Errors: the reader's.
    static Result<KeyframedRecording> open(Reader reader, const KeyframedOptions& options = {});

    /// The same recording through a reader of its own, for another thread. Where everything is and
    /// what is wrong with it are taken over, not sought again; nothing is used unproved. The reader
    /// has not read a record yet. Errors: io_error, also if the files are not those of this one.
    Result<KeyframedRecording> open_again(Reader reader, const KeyframedOptions& options) const;

    KeyframedRecording(KeyframedRecording&&) noexcept;
    KeyframedRecording& operator=(KeyframedRecording&&) noexcept;
    ~KeyframedRecording();

    Tick first_tick() const;
    Tick end_tick() const;   ///< The tick after the last one.
    FileState state() const; ///< Of the whole file.
    const std::vector<Defect>& defects() const;

    /// Of the file and the side file, in the order of ticks, each a claim.
    const std::vector<KeyframeInfo>& keyframes() const;

    /// What was found wrong, at open and at each load; at most 64, and how many more there were.
    const std::vector<KeyframeProblem>& problems() const;
    std::uint64_t problems_left_out() const;

    /// Loads a keyframe. It is used only if the loaded state's hash is the stored one and agrees
    /// with what the recording says of that tick. Otherwise that is a problem as well, and the
    /// keyframe is refused from then on. Requires a simulation that was prepared for this recording
    /// and index < keyframes().size(). Errors: corrupt_record, limit_exceeded,
    /// unsupported_version, io_error; the simulation may then be in the state of the keyframe.
    Result<void> load(Simulation& simulation, std::size_t index);

    /// Index of the last keyframe that is at most `tick`, later than `after` if given, and was not
    /// refused.
    std::optional<std::size_t> find(Tick tick, std::optional<Tick> after = std::nullopt) const;

    bool is_refused(std::size_t index) const;
    /// Refuses a keyframe for a reason that was found by playing on from it or up to it.
    void refuse(std::size_t index, Error error);

    /// Makes the playback go on at a tick: from first_tick() to end_tick(). Errors: the reader's.
    Result<void> go(Tick tick);

    /// Source and verifier, at the tick of the last go().
    Playback& playback();

    /// prepare_simulation for this recording: to its first tick. Errors: as there.
    Result<bool> prepare(Simulation& simulation);

private:
    friend Result<RecordedState> recorded_state(KeyframedRecording& recording, Tick tick);
    friend Result<void> load_keyframe(KeyframedRecording& recording,
                                      Simulation& simulation,
                                      std::size_t index,
                                      bool& changed);
    struct Impl;
    explicit KeyframedRecording(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// States in memory while a recording is played: many near the current tick, fewer further away.
/// Determinism: what is kept depends on the calls only.
class KeyframeStore {
public:
    explicit KeyframeStore(std::uint64_t budget_bytes)
        : budget_bytes_(budget_bytes) {}

    struct Entry {
        Hash128 state;
        Bytes snapshot;
    };

    using Entries = std::map<Tick, Entry>;

    /// More are not kept, so that finding the one to drop stays a matter of microseconds.
    static constexpr std::size_t states_max = 256;

    /// Keeps a state. If that is one too many for the budget or states_max, those are dropped that
    /// are missed least: whose loss makes later seeks start the least earlier, for their distance
    /// from `current`. So the gaps grow with that distance.
    void add(Tick tick, const Hash128& state, ByteView snapshot, Tick current);

    bool contains(Tick tick) const { return entries_.contains(tick); }

    /// The last one that is at most `tick`, or end().
    Entries::const_iterator find(Tick tick) const;
    void drop(Tick tick);

    void clear() {
        entries_.clear();
        spare_ = {};
        bytes_ = 0;
    }

    const Entries& entries() const { return entries_; }

    std::uint64_t bytes() const { return bytes_; }

private:
    void thin(Tick current);
    void erase(Entries::iterator entry);

    std::uint64_t budget_bytes_;
    std::uint64_t bytes_ = 0;
    Entries entries_;
    Bytes spare_; ///< Memory of the last one that was dropped.
};

struct AddKeyframesOptions {
    std::uint64_t every_ticks = 600; ///< At least 1.
    KeyframeFileWriter::Options form = {};
    bool strict = false; ///< A defect of the file is an error as well.
};

/// What a pass over a recording came to.
struct KeyframesReport {
    std::uint64_t ticks = 0; ///< That were played, or copied.
    std::uint64_t hashes_checked = 0;
    std::uint64_t keyframes = 0; ///< Added, taken away or found good.
    std::uint64_t bytes = 0;     ///< Of the file that was written.
    std::optional<Divergence> divergence;
    std::vector<Defect> defects; ///< Of the recording.
    std::vector<KeyframeProblem> problems;
};

/// Plays a recording, compares every hash, and writes the states of every so many ticks to a side
/// file. At a divergence it ends: the states before it are in the file, and good. Requires
/// options.every_ticks > 0. Errors: those of verify, KeyframeFileWriter.
Result<KeyframesReport> write_side_file(Simulation& simulation,
                                        Reader reader,
                                        std::unique_ptr<FileSink> sink,
                                        const AddKeyframesOptions& options = {});

/// The same into a copy of the recording, whose keyframes it replaces. States are taken at the ends
/// of chunks, which hold their whole hash, once every_ticks have passed. A copy that ends at a
/// divergence or a defect is a valid prefix without a trailer. Errors: as above;
/// unsupported_version if the recording has no frames (version 1.0) or is packed.
Result<KeyframesReport> add_keyframes(Simulation& simulation,
                                      Reader reader,
                                      std::unique_ptr<FileSink> sink,
                                      const AddKeyframesOptions& options = {});

/// A copy without keyframes, but for the first of a late start. Nothing is simulated; the chain is
/// the same. Errors: those of Reader and Writer; unsupported_version if it is packed.
Result<KeyframesReport> strip_keyframes(Reader reader, std::unique_ptr<FileSink> sink);

/// A run of ticks between two states that are on record.
struct Segment {
    Tick begin;
    Tick end;                                ///< After its last tick.
    std::optional<std::size_t> keyframe;     ///< That it begins with; none: the set-up.
    std::optional<std::size_t> end_keyframe; ///< That it must end in; none: the recording's end.
};

/// The recording cut at its keyframes, so that segments are at least `ticks_min` long and together
/// make up the whole. Keyframes that were refused are left out.
std::vector<Segment> make_segments(const KeyframedRecording& recording,
                                   std::uint64_t ticks_min = 1);

/// What a segment came to. It holds if there is neither divergence nor problem; if all hold, the
/// whole recording does: each proves the state that the next one starts from. After a problem the
/// segments are made anew, without the keyframe that was refused.
struct SegmentReport {
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    /// How many of them are of the state it ends in, which the next segment checks as its first.
    std::uint64_t ends_checked = 0;
    bool stopped = false;                   ///< By its watch; the rest is not known.
    std::optional<Divergence> divergence;   ///< From the recording.
    std::optional<KeyframeProblem> problem; ///< Its first or last keyframe is wrong, and refused.
    Hash128 final_hash;
};

/// Who watches a segment while it is played. Both are borrowed, and may be null.
struct SegmentWatch {
    std::atomic<std::uint64_t>* ticks_done = nullptr; ///< Counts steps.
    /// A segment that begins at this tick or later need not go on.
    const std::atomic<std::uint64_t>* stop_from = nullptr;
};

/// Plays one segment and compares every hash, that of the state it ends in included. Requires a
/// simulation that was prepared for this recording. Errors: those of Reader and Driver.
Result<SegmentReport> verify_segment(Simulation& simulation,
                                     KeyframedRecording& recording,
                                     const Segment& segment,
                                     const SegmentWatch& watch = {});

/// Loads each keyframe, and then plays on from each good one to the next. One from which the game
/// goes another way than the recording, while a straight run does not, is wrong too: its
/// simulation's `serialize` misses a field. Errors: as KeyframedRecording::prepare and
/// verify_segment.
Result<KeyframesReport> check_keyframes(Simulation& simulation, KeyframedRecording& recording);

} // namespace twinstep::replay
