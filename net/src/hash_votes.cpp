// SPDX-License-Identifier: MIT
// Bounded tables of hashes: the players' reports, and the server's own states.
#include "hash_votes.hpp"

#include "twinstep/net/identity.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>

namespace twinstep::net {

void VoteTable::configure(std::size_t slots, std::uint64_t interval_ticks) {
    slots_ = slots;
    interval_ = interval_ticks;
    entries_.fill({});
    values_.assign(ticks_max * slots, 0);
}

VoteTable::Entry* VoteTable::put(std::uint64_t tick, std::size_t slot, std::uint32_t value) {
    TWINSTEP_ASSERT(slot < slots_);
    const std::size_t index = index_of(tick);
    Entry& entry = entries_[index];
    if (entry.tick_and_one > tick + 1 || tick % interval_ != 0) {
        return nullptr;
    }
    if (entry.tick_and_one != tick + 1) {
        entry = {};
        entry.tick_and_one = tick + 1;
    }
    const std::uint64_t bit = std::uint64_t{1} << slot;
    if ((entry.reported & bit) == 0) {
        entry.reported |= bit;
        values_[index * slots_ + slot] = value;
    }
    return &entry;
}

const VoteTable::Entry* VoteTable::find(std::uint64_t tick) const {
    const Entry& entry = entries_[index_of(tick)];
    return entry.tick_and_one == tick + 1 ? &entry : nullptr;
}

std::span<const std::uint32_t> VoteTable::values(const Entry& entry) const {
    const std::size_t index = index_of(entry.tick_and_one - 1);
    return std::span(values_).subspan(index * slots_, slots_);
}

std::size_t VoteTable::memory_bytes() const {
    return values_.capacity() * sizeof(std::uint32_t);
}

void HashHistory::add(const StateHashes& hashes) {
    const std::uint64_t tick = hashes.tick.value;
    if (places_.empty()) {
        places_.resize(ticks_max);
        next_ = tick;
    }
    TWINSTEP_ASSERT(tick == next_);
    // The chain at state 0 is 0; one that begins later (a match that went on) is made up to there.
    const std::uint64_t before = count_ == 0 ? 0 : chain(tick - 1);
    const std::size_t sections = std::min(hashes.sections.size(), wire::section_answer_max);
    if (sections > stride_) {
        stride_ = sections;
        sections_.assign(stride_ * ticks_max, 0);
        for (Place& each : places_) {
            each.sections = 0;
        }
        names_.clear();
        for (std::size_t i = 0; i < sections; ++i) {
            names_.push_back(hashes.sections[i].name);
        }
    }
    const auto index = static_cast<std::size_t>(tick % ticks_max);
    places_[index] = {hashes.state,
                      tick == 0 ? 0 : next_chain(hasher_, before, hashes.tick, hashes.state),
                      static_cast<std::uint16_t>(sections)};
    for (std::size_t i = 0; i < sections; ++i) {
        sections_[index * stride_ + i] =
            static_cast<std::uint32_t>(hashes.sections[i].hash.low & 0xFFFFFFFFU);
    }
    ++next_;
    count_ = std::min(count_ + 1, ticks_max);
}

std::span<const std::uint32_t> HashHistory::sections(std::uint64_t tick) const {
    const auto index = static_cast<std::size_t>(tick % ticks_max);
    return std::span(sections_).subspan(index * stride_, places_[index].sections);
}

std::string HashHistory::section_name(std::size_t index) const {
    return index < names_.size() ? names_[index] : std::to_string(index);
}

std::size_t HashHistory::memory_bytes() const {
    return places_.capacity() * sizeof(Place) + sections_.capacity() * sizeof(std::uint32_t);
}

} // namespace twinstep::net
