// SPDX-License-Identifier: MIT
// Ring of closed ticks and cache of bundle bodies.
#include "tick_ring.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace twinstep::net {

void TickRing::configure(const Options& options) {
    TWINSTEP_ASSERT(options.ticks_max >= 1);
    TWINSTEP_ASSERT(options.slots <= wire::match_slots_max);
    ticks_max_ = options.ticks_max;
    next_ = options.next;
    slots_ = options.slots;
    value_bytes_max_ = options.value_bytes_max;
    neutral_.assign(options.neutral.begin(), options.neutral.end());
    blocks_.configure(bytes_max);
    turned_over_ = false;
    raw_.assign(std::min(ticks_max_, raw_ticks_max), {});
    raw_count_ = 0;
    group_wanted_ = 1 + static_cast<std::size_t>(options.phase % group_ticks_max);
    groups_.clear();
    if (ticks_max_ > raw_ticks_max) {
        // Of most matches: groups are as large as they get but the first, and one is partly
        // expired.
        groups_.resize(ticks_max_ / group_ticks_max + 3);
    }
    groups_begin_ = 0;
    groups_count_ = 0;
    writer_.reserve(slots_, value_bytes_max_, ticks_body_bytes_max);
    packed_.reserve(ticks_body_bytes_max);
    unpacked_.reset();
}

std::uint64_t TickRing::first() const {
    const std::uint64_t held = groups_count_ != 0 ? group(0).first : first_raw();
    // A group goes as a whole, when its last tick does.
    return next_ - held > ticks_max_ ? next_ - ticks_max_ : held;
}

void TickRing::drop_raw() {
    blocks_.remove(raw(first_raw()));
    --raw_count_;
}

void TickRing::drop_group() {
    blocks_.remove(group(0).piece);
    groups_begin_ = (groups_begin_ + 1) % groups_.size();
    --groups_count_;
}

void TickRing::drop_oldest() {
    if (groups_count_ != 0) {
        drop_group();
    } else {
        drop_raw();
    }
}

/// Makes room in ticks for one more.
void TickRing::drop_expired() {
    bool dropped = false;
    while (groups_count_ != 0 && group(0).first + group(0).count + ticks_max_ <= next_ + 1) {
        drop_group();
        dropped = true;
    }
    if (raw_count_ == ticks_max_) {
        drop_raw();
        dropped = true;
    }
    if (dropped && !turned_over_) {
        turned_over_ = true;
        blocks_.take_spares();
    }
}

void TickRing::push(ByteView frame) {
    TWINSTEP_ASSERT(frame.size() <= frame_bytes_max);
    drop_expired();
    if (raw_count_ == raw_.size()) {
        pack();
    }
    while (!blocks_.has_room(TickBlocks::Stream::raw, frame.size())) {
        drop_oldest();
    }
    raw(next_) = blocks_.add(TickBlocks::Stream::raw, frame);
    ++next_;
    ++raw_count_;
}

/// True if the frame says that it is of this tick and match: what unpacking makes of it is the same
/// then.
bool TickRing::may_pack(ByteView frame, std::uint64_t tick) const {
    ByteReader reader(frame);
    const bool same_tick = reader.varint("tick", tick_max) == tick;
    const bool same_slots = reader.varint("slots", slots_max << 1U | 1U) >> 1U == slots_;
    return same_tick && same_slots && reader.ok();
}

/// Turns the oldest raw ticks into a group of as many as a TICKS body holds.
void TickRing::pack() {
    const std::uint64_t first = first_raw();
    std::array<ByteView, group_ticks_max> frames;
    const std::size_t wanted = std::exchange(group_wanted_, group_ticks_max);
    for (std::size_t i = 0; i < wanted; ++i) {
        frames[i] = blocks_.view(raw(first + i));
    }
    std::size_t count = 0;
    if (may_pack(frames[0], first)) {
        count =
            writer_.encode(std::span(frames).first(wanted), neutral_, ticks_body_bytes_max, packed_)
                .value_or(0);
    }
    Group made{first, raw(first), 1, false};
    raw_count_ -= std::max<std::size_t>(count, 1);
    if (count != 0) {
        for (std::size_t i = 0; i < count; ++i) {
            blocks_.remove(raw(first + i));
        }
        while (!blocks_.has_room(TickBlocks::Stream::packed, packed_.size()) &&
               groups_count_ != 0) {
            drop_group();
        }
        if (!blocks_.has_room(TickBlocks::Stream::packed, packed_.size())) {
            return; // These are the oldest ticks then, and go.
        }
        made.piece = blocks_.add(TickBlocks::Stream::packed, packed_);
        made.count = static_cast<std::uint8_t>(count);
        made.packed = true;
    }
    add_group(made);
    if (unpacked_ != nullptr && next_ - unpacked_->used_at > raw_ticks_max) {
        unpacked_.reset();
    }
}

void TickRing::add_group(const Group& added) {
    if (groups_count_ == groups_.size()) {
        std::rotate(groups_.begin(),
                    groups_.begin() + static_cast<std::ptrdiff_t>(groups_begin_),
                    groups_.end());
        groups_begin_ = 0;
        groups_.resize(groups_.size() * 2);
    }
    group(groups_count_) = added;
    ++groups_count_;
}

ByteView TickRing::at(std::uint64_t tick) const {
    TWINSTEP_ASSERT(tick >= first_raw());
    TWINSTEP_ASSERT(tick < next_);
    return blocks_.view(raw(tick));
}

std::size_t TickRing::read(std::uint64_t first, std::span<ByteView> frames) {
    TWINSTEP_ASSERT(!frames.empty());
    TWINSTEP_ASSERT(first >= this->first());
    TWINSTEP_ASSERT(first < next_);
    TWINSTEP_ASSERT(frames.size() <= next_ - first);
    std::size_t count = 0;
    if (first < first_raw()) {
        const std::uint64_t older = first_raw() - first;
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(frames.size(), older));
        count = read_packed(first, frames.first(wanted));
        if (count < wanted) {
            return count;
        }
    }
    for (; count < frames.size(); ++count) {
        frames[count] = blocks_.view(raw(first + count));
    }
    return count;
}

/// The group that holds a tick.
std::size_t TickRing::group_of(std::uint64_t tick) const {
    std::size_t low = 0;
    std::size_t high = groups_count_;
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        if (group(middle).first <= tick) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void TickRing::append_unpacked(const Group& group) {
    Unpacked& to = *unpacked_;
    const ByteView bytes = blocks_.view(group.piece);
    if (!group.packed) {
        to.bytes.insert(to.bytes.end(), bytes.begin(), bytes.end());
        to.ends.push_back(to.bytes.size());
        return;
    }
    wire::Ticks ticks;
    ticks.first_tick = group.first;
    ticks.count = group.count;
    ticks.body = bytes;
    const auto decoded = to.reader.decode(ticks, neutral_);
    TWINSTEP_ASSERT(decoded.has_value()); // These bytes are the ring's own.
    for (std::size_t i = 0; i < group.count; ++i) {
        encode_frame(to.reader.frame(i), to.bytes);
        to.ends.push_back(to.bytes.size());
    }
}

/// Unpacks groups of so many ticks from `first` on, but no more than about a TICKS body.
void TickRing::unpack(std::uint64_t first, std::size_t count) {
    if (unpacked_ == nullptr) {
        unpacked_ = std::make_unique<Unpacked>(static_cast<std::uint16_t>(slots_));
    }
    std::size_t index = group_of(first);
    unpacked_->first = group(index).first;
    unpacked_->bytes.clear();
    unpacked_->ends.clear();
    std::size_t size = 0;
    for (; index < groups_count_ && group(index).first < first + count; ++index) {
        // What a body holds of the group that it begins in may be next to nothing.
        if (size > ticks_body_bytes_max) {
            return;
        }
        append_unpacked(group(index));
        size += group(index).first >= first ? group(index).piece.size : 0U;
    }
}

std::size_t TickRing::read_packed(std::uint64_t first, std::span<ByteView> frames) {
    const bool is_there = unpacked_ != nullptr && first >= unpacked_->first &&
                          first + frames.size() <= unpacked_->first + unpacked_->ends.size();
    if (!is_there) {
        unpack(first, frames.size());
    }
    unpacked_->used_at = next_;
    const auto begin = static_cast<std::size_t>(first - unpacked_->first);
    const std::size_t count = std::min(frames.size(), unpacked_->ends.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = begin + i;
        const std::size_t start = at == 0 ? 0 : unpacked_->ends[at - 1];
        frames[i] = ByteView(unpacked_->bytes).subspan(start, unpacked_->ends[at] - start);
    }
    return count;
}

std::size_t TickRing::memory_bytes() const {
    std::size_t bytes =
        neutral_.capacity() + blocks_.memory_bytes() + raw_.capacity() * sizeof(TickBlocks::Piece) +
        groups_.capacity() * sizeof(Group) + writer_.memory_bytes() + packed_.capacity();
    if (unpacked_ != nullptr) {
        const std::size_t frame =
            sizeof(TickFrame) + slots_ * (sizeof(SlotInput) + value_bytes_max_);
        bytes += sizeof(Unpacked) + unpacked_->bytes.capacity() +
                 unpacked_->ends.capacity() * sizeof(std::size_t) + group_ticks_max * frame;
    }
    return bytes;
}

BundleCache::BundleCache() {
    for (Entry& entry : entries_) {
        entry.bytes.reserve(ticks_body_bytes_max);
    }
}

BundleCache::Body
BundleCache::get(TickRing& ring, ByteView neutral, std::uint64_t first, std::size_t wanted) {
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
    const std::size_t read = ring.read(first, std::span(frames).first(wanted));
    oldest->first = first;
    oldest->wanted = wanted;
    oldest->used = clock_;
    const auto count = ring.writer().encode(
        std::span(frames).first(read), neutral, ticks_body_bytes_max, oldest->bytes);
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
    std::size_t bytes = 0;
    for (const Entry& entry : entries_) {
        bytes += entry.bytes.capacity();
    }
    return bytes;
}

} // namespace twinstep::net
