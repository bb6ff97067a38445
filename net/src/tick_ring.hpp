// SPDX-License-Identifier: MIT
// The closed ticks a match still holds, and the TICKS bodies made of them.
#pragma once

#include "tick_blocks.hpp"

#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace twinstep::net {

/// Room for a body in a packet that holds TICKS and nothing else: type, flags, first (10), count,
/// input ack (10), margin (5), hash back (10), hash (4); and for a STALL before it.
inline constexpr std::size_t ticks_head_bytes_max = 42;
inline constexpr std::size_t stall_bytes_max = 32;
inline constexpr std::size_t ticks_body_bytes_max =
    wire::plaintext_bytes_max - ticks_head_bytes_max - stall_bytes_max;

/// Encoded frames of consecutive ticks, bounded in ticks and bytes: the oldest go first. The newest
/// ones lie as they are; older ones are packed in groups the way a TICKS body is, which takes a
/// quarter of it or less for inputs that people give. A full ring allocates nothing.
class TickRing {
public:
    /// Most bytes of frames; a busy match then covers less time than its setting says.
    static constexpr std::size_t bytes_max = std::size_t{16} << 20U;
    /// At least so many of the newest ticks are not packed: those that peers in play are sent.
    static constexpr std::size_t raw_ticks_min = 256;
    /// Most ticks of a group: what is unpacked together, and what one push may have to pack.
    static constexpr std::size_t group_ticks_max = 64;

    struct Options {
        std::size_t ticks_max = 1; ///< Most ticks that are kept.
        std::uint64_t next = 0;    ///< The tick that is pushed first.
        std::size_t slots = 0;     ///< Of each frame.
        std::size_t value_bytes_max = input_bytes_max;
        ByteView neutral; ///< Copied.
        /// Rings that begin together pack at different ticks if this differs, modulo
        /// group_ticks_max.
        std::uint64_t phase = 0;
    };

    /// Empties the ring and takes what packing needs.
    void configure(const Options& options);
    /// Appends the frame of next(). Requires its one encoding.
    void push(ByteView frame);

    /// First tick that is held; next() if none is.
    std::uint64_t first() const;

    std::uint64_t next() const { return next_; }

    /// True if all ticks from `tick` on are held; also for next().
    bool covers(std::uint64_t tick) const { return tick >= first() && tick <= next_; }

    /// A frame that is not packed. Requires a tick that is held, of the newest raw_ticks_min.
    /// Valid until the next push.
    ByteView at(std::uint64_t tick) const;

    /// The frames of consecutive ticks from `first` on, as many as `frames` has room for, and says
    /// how many: at least one, and fewer where packed ones are more than a TICKS body holds.
    /// Requires room for one, and ticks that are held. Valid until the next push or read.
    std::size_t read(std::uint64_t first, std::span<ByteView> frames);

    /// Packs groups here and bodies elsewhere: one is enough for a match.
    wire::BundleWriter& writer() { return writer_; }

    std::size_t memory_bytes() const;

private:
    static constexpr std::size_t raw_ticks_max = raw_ticks_min + group_ticks_max;

    /// Ticks from `first` on, packed; or one frame that no TICKS body holds, as it is.
    struct Group {
        std::uint64_t first = 0;
        TickBlocks::Piece piece;
        std::uint8_t count = 0;
        bool packed = false;
    };

    /// Groups that somebody read: a peer that reads on finds the next ticks unpacked.
    struct Unpacked {
        explicit Unpacked(std::uint16_t slots)
            : reader(slots) {}

        wire::BundleReader reader;
        std::uint64_t first = 0;
        Bytes bytes;
        std::vector<std::size_t> ends; ///< In `bytes`, of each tick.
        std::uint64_t used_at = 0;     ///< next() then.
    };

    std::uint64_t first_raw() const { return next_ - raw_count_; }

    TickBlocks::Piece& raw(std::uint64_t tick) { return raw_[tick % raw_.size()]; }

    const TickBlocks::Piece& raw(std::uint64_t tick) const { return raw_[tick % raw_.size()]; }

    Group& group(std::size_t index) { return groups_[(groups_begin_ + index) % groups_.size()]; }

    const Group& group(std::size_t index) const {
        return groups_[(groups_begin_ + index) % groups_.size()];
    }

    void drop_raw();
    void drop_group();
    void drop_oldest();
    void drop_expired();
    void pack();
    void add_group(const Group& added);
    bool may_pack(ByteView frame, std::uint64_t tick) const;
    std::size_t group_of(std::uint64_t tick) const;
    void unpack(std::uint64_t first, std::size_t count);
    void append_unpacked(const Group& group);
    std::size_t read_packed(std::uint64_t first, std::span<ByteView> frames);

    std::uint64_t next_ = 0;
    std::size_t ticks_max_ = 1;
    std::size_t slots_ = 0;
    std::size_t value_bytes_max_ = 0;
    Bytes neutral_;
    TickBlocks blocks_;
    bool turned_over_ = false;
    std::vector<TickBlocks::Piece> raw_; ///< A ring of the newest ticks.
    std::size_t raw_count_ = 0;
    std::size_t group_wanted_ = group_ticks_max; ///< Ticks of the next group, if they fit.
    std::vector<Group> groups_;                  ///< A ring, doubled when it is full.
    std::size_t groups_begin_ = 0;
    std::size_t groups_count_ = 0;
    wire::BundleWriter writer_;
    Bytes packed_;
    std::unique_ptr<Unpacked> unpacked_; ///< Only while somebody reads what is packed.
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

    /// The body of `wanted` ticks from `first` on. Requires ticks that the ring holds.
    Body get(TickRing& ring, ByteView neutral, std::uint64_t first, std::size_t wanted);
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
};

} // namespace twinstep::net
