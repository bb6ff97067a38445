// SPDX-License-Identifier: MIT
// Makes recordings out of recordings: a part of one, several joined, a branch, new hashes.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::replay {

// Notes in the manifest of a recording that was made out of others; docs/recording-format.md.
inline constexpr const char* edit_key = "record.edit"; ///< The verb that made it.
inline constexpr const char* parent_session_key = "record.parent_session";
inline constexpr const char* parent_chain_key = "record.parent_chain";
/// The first tick that is not the parent's.
inline constexpr const char* parent_tick_key = "record.parent_tick";
/// "format": the bytes of the file are what is tested; it is never made anew.
inline constexpr const char* corpus_key = "record.corpus";
inline constexpr const char* rebaseline_reason_key = "record.rebaseline_reason";
inline constexpr const char* rebaseline_old_chain_key = "record.rebaseline_old_chain";
inline constexpr const char* rebaseline_old_hash_key = "record.rebaseline_old_hash";
inline constexpr const char* rebaseline_new_hash_key = "record.rebaseline_new_hash";

/// A recording that is read more than once: gives a reader at its beginning each time.
struct ReadableRecording {
    std::string name; ///< For errors.
    std::function<Result<Reader>()> open;
};

/// What is the same for all edits.
struct EditOptions {
    /// Of the recording that is made; drawn from the system if empty.
    std::optional<SessionId> session = std::nullopt;
    /// Keyframes beside the recording, which shorten the way to a state; UTF-8 path, may be empty.
    std::string side_file = {};
    /// Called now and then with the ticks that were simulated so far.
    std::function<void(std::uint64_t ticks)> progress = {};
};

/// What was written.
struct EditReport {
    Tick first;                        ///< First tick of the recording that was made.
    Tick end;                          ///< The tick after its last one.
    std::uint64_t copied_ticks = 0;    ///< As they were recorded.
    std::uint64_t simulated_ticks = 0; ///< Steps that were taken, to know a state.
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;
    Hash128 chain;
    std::optional<Hash128> final_hash;    ///< Of the state after the last tick.
    std::uint64_t keyframes = 0;          ///< In it.
    std::uint64_t signatures_dropped = 0; ///< They vouched for another chain.
    std::uint64_t frames_dropped = 0;     ///< Keyframes out of range, and frames of later versions.
    /// The simulation went another way than the recording says. What was written is of no use.
    std::optional<Divergence> divergence;
    FileState source_state = FileState::closed; ///< Of the recording that was read.
    std::vector<Defect> source_defects;
};

/// Writes the ticks from `from` (default: the first) up to, without, `until` (default: the end). A
/// part that does not begin where the recording does becomes a late start: it begins with the state
/// before `from`. That state, and the one at `until` if no chunk ends there, are computed by
/// playing, from the nearest keyframe on, and proved by the recorded hashes; nothing else is
/// simulated. `simulation` is not needed, and may be null, where no state is. Errors: wrong_tick
/// for an empty range or one beyond the recording; incompatible_simulation if a simulation is
/// needed and missing; those of Player, Reader and Writer.
Result<EditReport> trim(Simulation* simulation,
                        const ReadableRecording& source,
                        std::optional<Tick> from,
                        std::optional<Tick> until,
                        std::unique_ptr<FileSink> sink,
                        const EditOptions& options = {});

/// What a branch goes on with.
struct ForkInputs {
    Source* source = nullptr; ///< Borrowed; null: the branch ends where it leaves its parent.
    std::uint64_t ticks = 0;  ///< At most so many.
};

/// Writes the ticks up to, without, `at` and plays on from there with other inputs. The state at
/// `at` is proved first. Errors: as trim, and the driver's.
Result<EditReport> fork_at(Simulation& simulation,
                           const ReadableRecording& source,
                           Tick at,
                           const ForkInputs& inputs,
                           std::unique_ptr<FileSink> sink,
                           const EditOptions& options = {});

/// Joins recordings of which each begins where, and in the state in which, the one before it ends.
/// Nothing is simulated: that the states are the same, their hashes say. Errors: wrong_tick for a
/// gap or an overlap; incompatible_simulation for another game, set-up or state, each with both
/// values and the name of the file; those of Reader and Writer. Requires at least one part.
Result<EditReport> concat(std::span<const ReadableRecording> parts,
                          std::unique_ptr<FileSink> sink,
                          const EditOptions& options = {});

/// Compares the ticks of `copy` that come next, from `from` up to `until`, with those of `source`:
/// hashes, section bytes and frames. Errors: corrupt_record where they differ; the reader's.
Result<void> compare_ticks(Reader& copy, Reader& source, Tick from, Tick until);

// --- when a game changed on purpose ---

/// What this build makes of the inputs of a recording.
struct Rebaseline {
    std::uint64_t ticks = 0;
    /// Where its states first differ from the recorded ones; expected is the recording's.
    std::optional<Divergence> difference;
    /// Keys of the manifest that must be equal and are not: sim.version, state.schema, ...
    std::vector<ManifestDifference> keys;
    Hash128 old_chain;
    std::optional<Hash128> old_hash; ///< Of the last state; unknown if the recording is open.
    Hash128 new_hash;
    FileState state = FileState::closed; ///< Of the recording.

    bool changed() const { return difference || !keys.empty(); }
};

/// True if the bytes of a recording are what is tested (see corpus_key).
bool is_format_corpus(const Manifest& manifest);

/// Plays the inputs of a recording and compares the states. Errors: incompatible_simulation for
/// another game, or for one whose input or tick rate is another: its inputs would mean something
/// else; or for a late start in a state of another layout. Those of Reader and Driver.
Result<Rebaseline> plan_rebaseline(Simulation& simulation, const ReadableRecording& source);

/// Writes the recording again with the hashes of this build, the reason, and the chain and hash
/// that it had. Requires a reason. Errors: as plan_rebaseline; unsupported_version for a recording
/// of the format corpus; corrupt_record if the simulation does not do the same as for `plan`.
Result<EditReport> rebaseline(Simulation& simulation,
                              const ReadableRecording& source,
                              const Rebaseline& plan,
                              std::string_view reason,
                              std::unique_ptr<FileSink> sink,
                              const EditOptions& options = {});

} // namespace twinstep::replay
