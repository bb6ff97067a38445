// SPDX-License-Identifier: MIT
// Recordings in memory that can be opened again and again, and their notes.
#pragma once

#include "recording_support.hpp"

#include "twinstep/replay/edit.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace twinstep::replay {

/// Bytes as a recording that can be opened again and again.
inline ReadableRecording in_memory(const Bytes& bytes, std::string name = "memory") {
    return {name, [&bytes, name] { return Reader::from_memory(bytes, ReadMode::tail, name); }};
}

/// A note of a recording's manifest, or "(none)".
inline std::string note(const Bytes& bytes, const char* key) {
    auto reader = Reader::from_memory(bytes);
    REQUIRE(reader);
    const auto found = reader->manifest().find(key);
    return found == reader->manifest().end() ? "(none)" : found->second;
}

} // namespace twinstep::replay
