// SPDX-License-Identifier: MIT
// The closed ticks a match still holds, and the TICKS bodies made of them.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace twinstep::net {

/// Encoded frames of consecutive ticks, bounded in ticks and bytes: the oldest go first. Frames lie
/// in blocks that are used again, so that a full ring allocates nothing.
class TickRing {
public:
    /// Most bytes of frames; a busy match then covers less time than its setting says.
    static constexpr std::size_t bytes_max = std::size_t{16} << 20U;

    /// Keeps at most `ticks_max` ticks; the next one pushed is `next`.
    void configure(std::size_t ticks_max, std::uint64_t next);
    /// Appends the frame of next().
    void push(ByteView frame);

    /// First tick that is held; next() if none is.
    std::uint64_t first() const { return next_ - count_; }

    std::uint64_t next() const { return next_; }

    /// True if all ticks from `tick` on are held; also for next().
    bool covers(std::uint64_t tick) const { return tick >= first() && tick <= next_; }

    /// Requires first() <= tick < next(). Valid until the tick leaves the ring.
    ByteView at(std::uint64_t tick) const;

    std::size_t memory_bytes() const;

private:
    static constexpr std::size_t block_bytes = std::size_t{64} << 10U;

    struct Place {
        std::uint16_t block = 0;
        std::uint16_t offset = 0;
        std::uint16_t size = 0;
    };

    void drop_oldest();
    std::size_t index_of(std::uint64_t tick) const;
    void grow();
    std::uint16_t take_block();

    std::uint64_t next_ = 0;
    std::size_t count_ = 0;
    std::size_t ticks_max_ = 1;
    std::vector<Place> places_; // A ring; doubled up to ticks_max_.
    std::vector<Bytes> blocks_;
    std::vector<std::uint16_t> free_;
    std::uint16_t block_ = 0;
    bool has_block_ = false;
};

/// Bodies of TICKS frames, so that peers with the same window share one encoding.
class BundleCache {
public:
    struct Body {
        std::size_t count = 0; ///< Ticks in it; fewer than wanted if no more fit.
        ByteView bytes;        ///< Valid until the next call.
    };

    /// Takes all memory that the bodies will ever need.
    BundleCache();

    /// Takes what making them needs, for so many slots with values of at most `value_bytes_max`.
    void configure(std::size_t slots, std::size_t value_bytes_max);
    /// The body of `wanted` ticks from `first` on. Requires ticks that the ring holds.
    Body get(const TickRing& ring, ByteView neutral, std::uint64_t first, std::size_t wanted);
    void clear();
    std::size_t memory_bytes() const;

private:
    static constexpr std::size_t entries = 8;

    struct Entry {
        std::uint64_t first = 0;
        std::size_t wanted = 0; ///< 0: empty.
        std::size_t count = 0;
        std::uint64_t used = 0;
        Bytes bytes;
    };

    std::array<Entry, entries> entries_;
    std::uint64_t clock_ = 0;
    wire::BundleWriter writer_;
};

/// Room for a body in a packet that holds TICKS and nothing else: type, flags, first (10), count,
/// input ack (10), margin (5), hash back (10), hash (4); and for a STALL before it.
inline constexpr std::size_t ticks_head_bytes_max = 42;
inline constexpr std::size_t stall_bytes_max = 32;
inline constexpr std::size_t ticks_body_bytes_max =
    wire::plaintext_bytes_max - ticks_head_bytes_max - stall_bytes_max;

} // namespace twinstep::net
