// SPDX-License-Identifier: MIT
// The receive ring.
#include "closed_ticks.hpp"

#include "twinstep/net/errc.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>

namespace twinstep::net {

static_assert(ClosedTicks::bytes_max >= 4 * frame_bytes_max,
              "the tick that is needed next must fit whatever else is there");

ClosedTicks::ClosedTicks()
    : entries_(ticks_max)
    , pieces_(ticks_max)
    , pool_(bytes_max) {
    scratch_.reserve(1024);
}

void ClosedTicks::start(std::uint64_t first) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    piece_first_ = 0;
    piece_count_ = 0;
    pool_head_ = 0;
    pool_used_ = 0;
    needed_ = first;
    playing_ = first;
    newest_end_ = first;
}

void ClosedTicks::reclaim() {
    while (piece_count_ > 0 && pieces_[piece_first_].free) {
        pool_used_ -= pieces_[piece_first_].size;
        piece_first_ = (piece_first_ + 1) % ticks_max;
        --piece_count_;
    }
    if (piece_count_ == 0) {
        pool_head_ = 0;
        pool_used_ = 0;
    }
}

bool ClosedTicks::reserve(std::uint64_t tick, std::size_t size, std::uint32_t& offset) {
    if (piece_count_ == ticks_max) {
        return false;
    }
    const std::size_t to_end = bytes_max - pool_head_;
    const std::size_t skipped = size <= to_end ? 0 : to_end;
    if (pool_used_ + skipped + size > bytes_max) {
        return false;
    }
    offset = static_cast<std::uint32_t>(skipped == 0 ? pool_head_ : 0);
    pieces_[(piece_first_ + piece_count_) % ticks_max] = {
        tick, offset, static_cast<std::uint32_t>(skipped + size), false};
    ++piece_count_;
    pool_head_ = (offset + size) % bytes_max;
    pool_used_ += skipped + size;
    return true;
}

void ClosedTicks::release(std::uint64_t tick) {
    // Ticks are mostly played in the order in which they came: the first piece is the one.
    for (std::size_t i = 0; i < piece_count_; ++i) {
        Piece& piece = pieces_[(piece_first_ + i) % ticks_max];
        if (piece.tick == tick && !piece.free) {
            piece.free = true;
            break;
        }
    }
    reclaim();
}

void ClosedTicks::drop_ahead() {
    for (std::uint64_t tick = needed_; tick < newest_end_; ++tick) {
        Entry& dropped = entry(tick);
        if (dropped.held && dropped.tick == tick) {
            dropped = Entry{};
            release(tick);
        }
    }
    newest_end_ = needed_;
}

Result<Arrival> ClosedTicks::add(const TickFrame& frame) {
    const std::uint64_t tick = frame.tick().value;
    scratch_.clear();
    encode_frame(frame, scratch_);
    const std::uint64_t checksum = checksum64(scratch_);
    if (const Entry& known = entry(tick); known.tick == tick) {
        if (known.checksum != checksum) {
            return fail(Error(NetErrc::malformed,
                              "tick",
                              "the server told two stories about tick " + std::to_string(tick)));
        }
        return Arrival::duplicate;
    }
    if (tick < needed_) {
        return Arrival::duplicate; // Too old to be compared.
    }
    if (tick - playing_ >= ticks_max) {
        return Arrival::no_room;
    }
    std::uint32_t offset = 0;
    const bool ahead = tick != needed_;
    if (ahead && pool_used_ > bytes_max / 2) {
        return Arrival::no_room; // The other half is for what is needed first.
    }
    if (!reserve(tick, scratch_.size(), offset)) {
        if (ahead || backlog() > 0) {
            return Arrival::no_room;
        }
        drop_ahead(); // Nothing to play but what is missing: make room for it.
        if (!reserve(tick, scratch_.size(), offset)) {
            return Arrival::no_room;
        }
    }
    std::copy(scratch_.begin(), scratch_.end(), pool_.begin() + offset);
    entry(tick) = {tick, checksum, offset, static_cast<std::uint32_t>(scratch_.size()), true};
    newest_end_ = std::max(newest_end_, tick + 1);
    while (entry(needed_).tick == needed_ && entry(needed_).held) {
        ++needed_;
    }
    newest_end_ = std::max(newest_end_, needed_);
    return Arrival::taken;
}

ByteView ClosedTicks::encoded(std::uint64_t tick) const {
    TWINSTEP_ASSERT(tick >= playing_);
    TWINSTEP_ASSERT(tick < needed_);
    const Entry& found = entry(tick);
    return ByteView(pool_).subspan(found.offset, found.size);
}

Result<void> ClosedTicks::play(TickFrame& frame) {
    TWINSTEP_ASSERT(backlog() > 0);
    const std::uint64_t tick = playing_;
    if (Result<void> decoded = decode_frame(encoded(tick), frame); !decoded) {
        return decoded;
    }
    entry(tick).held = false;
    release(tick);
    ++playing_;
    return {};
}

} // namespace twinstep::net
