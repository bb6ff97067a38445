// SPDX-License-Identifier: MIT
// Looks through the flags of many chunks, few of which are set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace twinstep::detail {

/// Clears this bit in all flags and calls `work` with each index that had it.
template <class Work>
void take_flagged(std::span<std::uint8_t> flags, std::uint8_t bit, const Work& work) {
    std::uint64_t bits = 0;
    std::memset(&bits, bit, sizeof(bits));
    for (std::size_t first = 0; first < flags.size(); first += sizeof(bits)) {
        const std::size_t count = std::min(sizeof(bits), flags.size() - first);
        std::uint64_t word = 0;
        std::memcpy(&word, flags.data() + first, count);
        if ((word & bits) == 0) {
            continue;
        }
        for (std::size_t i = first; i < first + count; ++i) {
            if ((flags[i] & bit) != 0) {
                flags[i] = static_cast<std::uint8_t>(flags[i] & ~unsigned{bit});
                work(i);
            }
        }
    }
}

} // namespace twinstep::detail
