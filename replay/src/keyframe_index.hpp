// SPDX-License-Identifier: MIT
// Where the chunks and keyframes of a recording and its side file are.
#pragma once

#include "keyframe_side_file.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/reader.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace twinstep::replay {

/// A chunk of the recording.
struct IndexedChunk {
    ChunkPlace place;
    Tick end;                     ///< After its last tick.
    std::optional<Hash128> state; ///< From its end, if it has one.
};

/// A keyframe and where it is.
struct IndexedKeyframe {
    KeyframeInfo info;
    bool in_side_file = false;
    ChunkPlace place;      ///< In the recording ...
    SideFileReader::At at; ///< ... or in the side file.
    bool refused = false;
};

/// What is known after one pass over each file.
struct KeyframePlaces {
    ChunkPlace start;
    Tick end;
    FileState state = FileState::open;
    std::vector<Defect> defects;
    std::vector<IndexedChunk> chunks;
    std::vector<IndexedKeyframe> keyframes;
    std::vector<KeyframeInfo> infos; ///< Of the keyframes, once they are arranged.
    std::vector<KeyframeProblem> problems;
    std::uint64_t problems_left_out = 0;
};

/// Makes that pass. What is wrong with a keyframe is noted, never an error.
struct KeyframeIndex : KeyframePlaces {
    std::optional<SideFileReader> side;

    void note(std::optional<Tick> tick, Error error);

    /// Requires a reader that has not read a record. Errors: the reader's.
    Result<void> index(Reader& reader, std::uint64_t state_bytes_max);
    /// Opens the side file, if there is one that can be opened; else its reader stays empty.
    void open_side_file(const KeyframedOptions& options, const SessionId& session);
    void index_side_file(const KeyframedOptions& options);
    /// Puts the keyframes of both files in the order of ticks. Called last.
    void arrange();

    /// The keyframe that a delta differs from, if there is one.
    const IndexedKeyframe* base_of(const IndexedKeyframe& keyframe) const;
    /// Index of the chunk that holds a tick, or of the last one. Requires that there is one.
    std::size_t chunk_of(Tick tick) const;

private:
    void add(IndexedKeyframe keyframe);
};

} // namespace twinstep::replay
