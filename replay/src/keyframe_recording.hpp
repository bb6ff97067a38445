// SPDX-License-Identifier: MIT
// What the parts of the keyframe code share: what is on record of a state, and the late start.
#pragma once

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace twinstep::replay {

/// Everything a recording says of one state.
struct RecordedState {
    std::optional<Hash128> whole;      ///< From the end of the chunk before it.
    std::optional<std::uint32_t> hash; ///< From the tick's record.
    Bytes section_bytes;               ///< Of the same; may have been left out.
};

/// How hashes differ from what is on record, if they do. `checked` says whether anything is.
std::optional<Divergence>
compare_recorded(const StateHashes& hashes, const RecordedState& recorded, bool& checked);

/// What is on record of the state before a tick; nothing if the recording has no such tick. The
/// playback must go() somewhere afterwards. Errors: the reader's.
Result<RecordedState> recorded_state(KeyframedRecording& recording, Tick tick);

/// The error of a file that is not what it was when it was opened first.
Error file_changed();

/// The error of a keyframe that is wrong.
Error wrong_keyframe(const char* field, std::string why);

/// True for a frame that is a part of a keyframe.
bool is_keyframe(const Record& record);

/// The hashes of a snapshot that is what its keyframe says. Errors: corrupt_record, or that of the
/// bytes.
Result<StateHashes> check_snapshot(const KeyframeInfo& info, ByteView snapshot);

/// Loads a snapshot whose bytes are known to be right and compares the hash of the loaded state.
/// `changed` becomes true if the simulation may be in another state than before. Errors:
/// corrupt_record, or the simulation's.
Result<void>
load_checked(Simulation& simulation, const KeyframeInfo& info, ByteView snapshot, bool& changed);

/// KeyframedRecording::load; `changed` as above.
Result<void> load_keyframe(KeyframedRecording& recording,
                           Simulation& simulation,
                           std::size_t index,
                           bool& changed);

/// Loads the keyframe that a late start begins with and leaves the reader as it was. Errors:
/// corrupt_record; the reader's.
Result<void> load_first_keyframe(Simulation& simulation, Reader& reader);

} // namespace twinstep::replay
