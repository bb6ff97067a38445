// SPDX-License-Identifier: MIT
// Where each byte of an input stands among the columns of its slot.
#pragma once

#include "twinstep/sim/frame.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace twinstep::replay {

/// Bytes of an input, from its head in a tick frame.
inline std::size_t input_size(std::uint64_t head) {
    return static_cast<std::size_t>(head >> 2);
}

/// Where each byte position's column goes on, in the data of one slot.
class ColumnOffsets {
public:
    /// Requires runs to be given to count() first, then a call of begin().
    void count(std::uint64_t ticks, std::size_t size) {
        next_[size] += static_cast<std::uint32_t>(ticks);
        size_max_ = std::max(size_max_, size);
    }

    void begin() {
        // From "inputs of exactly this size" to "inputs that have this byte" to the column's start.
        std::uint32_t longer = 0;
        for (std::size_t i = size_max_ + 1; i-- > 0;) {
            longer += std::exchange(next_[i], longer);
        }
        std::uint32_t start = 0;
        for (std::size_t i = 0; i <= size_max_; ++i) {
            start += std::exchange(next_[i], start);
        }
    }

    std::size_t next(std::size_t position) { return next_[position]++; }

private:
    std::array<std::uint32_t, input_bytes_max + 1> next_{};
    std::size_t size_max_ = 0;
};

} // namespace twinstep::replay
