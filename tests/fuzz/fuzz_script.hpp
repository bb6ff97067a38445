// SPDX-License-Identifier: MIT
// The fuzzer's bytes as a script: what the targets that play a whole connection share.
#pragma once

#include "fuzz_targets.hpp"

#include "twinstep/sim/bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace twinstep {

/// Bytes taken off the front; zeros once there are none.
class Tape {
public:
    explicit Tape(ByteView bytes)
        : rest_(bytes) {}

    bool more() const { return !rest_.empty(); }

    unsigned byte() {
        const ByteView one = bytes(1);
        return one.empty() ? 0 : std::to_integer<unsigned>(one.front());
    }

    ByteView bytes(std::size_t count) {
        const ByteView taken = rest_.first(std::min(count, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

private:
    ByteView rest_;
};

inline Bytes tape_of(std::initializer_list<unsigned> numbers) {
    Bytes bytes;
    for (const unsigned number : numbers) {
        bytes.push_back(static_cast<std::byte>(number));
    }
    return bytes;
}

} // namespace twinstep
