// SPDX-License-Identifier: MIT
// The inputs of one player that wait for their ticks to be closed, and how early they came.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace twinstep::net {

/// A fixed number of inputs, found by tick modulo a power of two; each place holds its full tick,
/// so that a tick of another turn is never taken for it.
class InputRing {
public:
    enum class Put : std::uint8_t {
        accepted,  ///< The first bytes for this tick.
        same,      ///< Heard before.
        different, ///< Another value than the first: the first counts.
    };

    /// Allocates room for `ticks` inputs of at most `bytes_max` bytes; empties the ring.
    void configure(std::size_t ticks, std::size_t bytes_max);
    void clear();

    /// Requires value.size() <= bytes_max, and ticks that lie less than `ticks` apart.
    Put put(std::uint64_t tick, ByteView value);

    bool has(std::uint64_t tick) const { return ticks_and_one_[index_of(tick)] == tick + 1; }

    /// Requires has(tick). Valid until the place is put again.
    ByteView at(std::uint64_t tick) const;

    std::size_t memory_bytes() const;

private:
    std::size_t index_of(std::uint64_t tick) const {
        return static_cast<std::size_t>(tick & (ticks_and_one_.size() - 1));
    }

    // Ticks apart from values: every packet of every player looks for ticks, and eight of them lie
    // in one cache line.
    std::vector<std::uint64_t> ticks_and_one_; // A power of two of them; 0: empty.
    std::vector<std::uint16_t> sizes_;
    std::size_t bytes_max_ = 0;
    Bytes pool_;
};

/// Least earliness over the last 128 ticks, in blocks of 16 ticks.
class MarginWindow {
public:
    void clear();
    /// The input of `tick` came this long before it was due; negative: late.
    void add(std::uint64_t tick, Micros early);
    /// Least of the blocks that reach into the last 128 ticks before `tick`. False: none.
    bool least(std::uint64_t tick, std::int32_t& margin_ms) const;

private:
    static constexpr std::uint64_t block_ticks = 16;
    static constexpr std::size_t blocks = 9; // 8 whole ones and the one that is being filled.

    struct Block {
        std::uint64_t number_and_one = 0;
        std::int32_t least_us = 0;
    };

    std::array<Block, blocks> blocks_{};
};

} // namespace twinstep::net
