// SPDX-License-Identifier: MIT
// Ring of closed ticks and cache of bundle bodies.
#include "tick_ring.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <span>

namespace twinstep::net {

void TickRing::configure(std::size_t ticks_max, std::uint64_t next) {
    TWINSTEP_ASSERT(ticks_max >= 1);
    ticks_max_ = ticks_max;
    next_ = next;
    count_ = 0;
    places_.assign(std::min<std::size_t>(ticks_max, 1024), Place{});
    blocks_.clear();
    free_.clear();
    block_ = take_block();
    has_block_ = true;
}

std::size_t TickRing::index_of(std::uint64_t tick) const {
    return static_cast<std::size_t>(tick % places_.size());
}

void TickRing::drop_oldest() {
    const std::uint64_t oldest = first();
    const std::uint16_t block = places_[index_of(oldest)].block;
    --count_;
    const bool last_of_block = count_ == 0 || places_[index_of(oldest + 1)].block != block;
    if (last_of_block && !(has_block_ && block == block_)) {
        blocks_[block].clear();
        free_.push_back(block);
    }
}

void TickRing::grow() {
    const std::size_t size = std::min(ticks_max_, places_.size() * 2);
    std::vector<Place> larger(size);
    for (std::uint64_t tick = first(); tick != next_; ++tick) {
        larger[static_cast<std::size_t>(tick % size)] = places_[index_of(tick)];
    }
    places_ = std::move(larger);
}

std::uint16_t TickRing::take_block() {
    constexpr std::size_t blocks_max = bytes_max / block_bytes;
    while (free_.empty() && blocks_.size() >= blocks_max) {
        drop_oldest();
    }
    if (free_.empty()) {
        blocks_.emplace_back().reserve(block_bytes);
        free_.reserve(blocks_.capacity());
        return static_cast<std::uint16_t>(blocks_.size() - 1);
    }
    const std::uint16_t block = free_.back();
    free_.pop_back();
    return block;
}

void TickRing::push(ByteView frame) {
    TWINSTEP_ASSERT(frame.size() <= block_bytes);
    if (count_ == places_.size()) {
        if (places_.size() < ticks_max_) {
            grow();
        } else {
            drop_oldest();
        }
    }
    if (!has_block_ || blocks_[block_].size() + frame.size() > block_bytes) {
        // The full block is let go first: it may be the only one that still holds ticks, or none.
        if (has_block_ && (count_ == 0 || places_[index_of(next_ - 1)].block != block_)) {
            blocks_[block_].clear();
            free_.push_back(block_);
        }
        has_block_ = false;
        block_ = take_block();
        has_block_ = true;
    }
    Bytes& block = blocks_[block_];
    places_[index_of(next_)] = {
        block_, static_cast<std::uint16_t>(block.size()), static_cast<std::uint16_t>(frame.size())};
    block.insert(block.end(), frame.begin(), frame.end());
    ++next_;
    ++count_;
}

ByteView TickRing::at(std::uint64_t tick) const {
    TWINSTEP_ASSERT(tick >= first());
    TWINSTEP_ASSERT(tick < next_);
    const Place& place = places_[index_of(tick)];
    return ByteView(blocks_[place.block]).subspan(place.offset, place.size);
}

std::size_t TickRing::memory_bytes() const {
    return places_.capacity() * sizeof(Place) + blocks_.size() * (block_bytes + sizeof(Bytes)) +
           free_.capacity() * sizeof(std::uint16_t);
}

BundleCache::BundleCache() {
    for (Entry& entry : entries_) {
        entry.bytes.reserve(ticks_body_bytes_max);
    }
}

void BundleCache::configure(std::size_t slots, std::size_t value_bytes_max) {
    writer_.reserve(slots, value_bytes_max, ticks_body_bytes_max);
}

BundleCache::Body
BundleCache::get(const TickRing& ring, ByteView neutral, std::uint64_t first, std::size_t wanted) {
    TWINSTEP_ASSERT(wanted >= 1);
    TWINSTEP_ASSERT(wanted <= wire::window_ticks_max);
    ++clock_;
    Entry* oldest = &entries_.front();
    for (Entry& entry : entries_) {
        if (entry.first == first && entry.wanted == wanted) {
            entry.used = clock_;
            return {entry.count, entry.bytes};
        }
        if (entry.used < oldest->used) {
            oldest = &entry;
        }
    }
    std::array<ByteView, wire::window_ticks_max> frames;
    for (std::size_t i = 0; i < wanted; ++i) {
        frames[i] = ring.at(first + i);
    }
    oldest->first = first;
    oldest->wanted = wanted;
    oldest->used = clock_;
    const auto count = writer_.encode(
        std::span(frames).first(wanted), neutral, ticks_body_bytes_max, oldest->bytes);
    // The frames are the match's own and each one fits: see Match::create.
    TWINSTEP_ASSERT(count.has_value());
    TWINSTEP_ASSERT(*count >= 1);
    oldest->count = *count;
    return {oldest->count, oldest->bytes};
}

void BundleCache::clear() {
    for (Entry& entry : entries_) {
        entry.wanted = 0;
        entry.used = 0;
    }
}

std::size_t BundleCache::memory_bytes() const {
    std::size_t bytes = writer_.memory_bytes();
    for (const Entry& entry : entries_) {
        bytes += entry.bytes.capacity();
    }
    return bytes;
}

} // namespace twinstep::net
