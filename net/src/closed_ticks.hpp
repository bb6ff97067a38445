// SPDX-License-Identifier: MIT
// Closed ticks that have arrived: in any order in, in order out, twice never, within a bound.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinstep::net {

/// What became of a tick that arrived.
enum class Arrival : std::uint8_t {
    taken,     ///< New, and kept.
    duplicate, ///< Known, and the same.
    no_room,   ///< Not kept: too far ahead, or memory is full. It comes again.
};

/// The receive ring. A tick is kept encoded until it is played, and its checksum for long after,
/// so that a server which tells two stories about one tick is found out.
class ClosedTicks {
public:
    static constexpr std::size_t ticks_max = 2048;
    static constexpr std::size_t bytes_max = std::size_t{256} * 1024;

    ClosedTicks();

    /// Empties the ring; `first` is needed and played next.
    void start(std::uint64_t first);

    /// Takes a frame. Errors: malformed, if the same tick came with other contents.
    Result<Arrival> add(const TickFrame& frame);

    /// The tick that is needed next; all before it have arrived.
    std::uint64_t needed() const { return needed_; }

    /// The tick that is played next.
    std::uint64_t playing() const { return playing_; }

    std::uint64_t backlog() const { return needed_ - playing_; }

    /// The newest tick that has arrived, plus one; at least needed().
    std::uint64_t newest_end() const { return newest_end_; }

    /// The encoding of a tick that has arrived in order and is not played yet.
    ByteView encoded(std::uint64_t tick) const;

    /// Decodes the tick `playing()` into `frame` and lets it go. Requires backlog() > 0.
    Result<void> play(TickFrame& frame);

private:
    struct Entry {
        std::uint64_t tick = UINT64_MAX;
        std::uint64_t checksum = 0;
        std::uint32_t offset = 0;
        std::uint32_t size = 0;
        bool held = false; ///< Its bytes are in the pool.
    };

    /// Room in the pool, in the order in which it was taken.
    struct Piece {
        std::uint64_t tick = 0;
        std::uint32_t offset = 0;
        std::uint32_t size = 0; ///< With what was left out at the end of the pool.
        bool free = false;
    };

    Entry& entry(std::uint64_t tick) { return entries_[tick % ticks_max]; }

    const Entry& entry(std::uint64_t tick) const { return entries_[tick % ticks_max]; }

    bool reserve(std::uint64_t tick, std::size_t size, std::uint32_t& offset);
    void release(std::uint64_t tick);
    void drop_ahead();
    void reclaim();

    std::vector<Entry> entries_;
    std::vector<Piece> pieces_; ///< A ring of as many as there are entries.
    std::size_t piece_first_ = 0;
    std::size_t piece_count_ = 0;
    Bytes pool_;
    std::size_t pool_head_ = 0; ///< Where the next frame goes.
    std::size_t pool_used_ = 0;
    std::uint64_t needed_ = 0;
    std::uint64_t playing_ = 0;
    std::uint64_t newest_end_ = 0;
    Bytes scratch_;
};

} // namespace twinstep::net
