// SPDX-License-Identifier: MIT
// What a search over inputs holds in memory.
#pragma once

#include "edit_copy.hpp"

#include "twinstep/replay/bisect.hpp"

#include <vector>

namespace twinstep::replay {

/// Where a field is in the bytes of an input.
struct FieldPlace {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

struct RecordedInputs::Impl {
    Survey survey;
    Setup setup;
    Bytes start;                    ///< Snapshot of a late start's first state; else empty.
    Bytes neutral;                  ///< Input of a player who does nothing.
    std::vector<FieldPlace> layout; ///< Of an input's fields; empty if they have no fixed places.
    bool build_differs = false;
    std::vector<std::uint64_t> offsets; ///< Of each tick's frame; one more for the end.
    Bytes frames;                       ///< Their encodings.
    std::vector<InputAtom> atoms;

    ByteView frame(Tick tick) const {
        const auto index = static_cast<std::size_t>(tick.value - survey.first.value);
        const auto begin = static_cast<std::size_t>(offsets[index]);
        return ByteView(frames).subspan(begin,
                                        static_cast<std::size_t>(offsets[index + 1]) - begin);
    }
};

} // namespace twinstep::replay
