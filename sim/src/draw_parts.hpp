// SPDX-License-Identifier: MIT
// What all kinds of draws are made of: halves of blocks, and bounded integers from draws of 64
// bits.
#pragma once

#include "twinstep/sim/assert.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinstep {

constexpr std::uint32_t low_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

constexpr std::uint32_t high_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

/// Of the two draws that a block holds, the one with this number.
constexpr std::uint64_t half_of(const std::array<std::uint32_t, 4>& block, std::uint64_t draw) {
    const std::size_t first = draw % 2 == 0 ? 0 : 2;
    return (std::uint64_t{block[first + 1]} << 32) | block[first];
}

/// Uniform in [0, bound). `bits` draws 64 bits; the upper half of them is not used.
/// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
template <class Bits>
std::uint32_t bounded_below(const Bits& bits, std::uint32_t bound) {
    TWINSTEP_ASSERT(bound >= 1);
    // The high half of a 32 x 32 bit product is uniform once the few low halves that would be hit
    // once too often are rejected.
    const std::uint32_t reject_below = (0U - bound) % bound;
    for (;;) {
        const std::uint64_t product = (bits() & 0xFFFFFFFFU) * bound;
        if (static_cast<std::uint32_t>(product) >= reject_below) {
            return static_cast<std::uint32_t>(product >> 32);
        }
    }
}

/// Uniform in [low, high].
template <class Bits>
std::int32_t bounded_between(const Bits& bits, std::int32_t low, std::int32_t high) {
    TWINSTEP_ASSERT(low <= high);
    const std::uint32_t span = static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low);
    const std::uint32_t offset =
        span == UINT32_MAX ? static_cast<std::uint32_t>(bits()) : bounded_below(bits, span + 1);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(low) + offset);
}

} // namespace twinstep
