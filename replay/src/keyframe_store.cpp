// SPDX-License-Identifier: MIT
// States in memory, thinned so that their distances grow with the distance from the current tick.
#include "twinstep/replay/keyframes.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace twinstep::replay {

namespace {

/// How many states with a distance of the same number of bits are kept on each side. Usual: 4, so
/// that a seek starts at most a quarter of the distance too early; cost: 4 states for each
/// doubling of the recording's length.
constexpr std::size_t states_a_distance = 4;

std::uint64_t distance(Tick left, Tick right) {
    return left < right ? right.value - left.value : left.value - right.value;
}

/// Distances that are thinned together: the number of bits, and the side.
int distance_class(Tick tick, Tick current) {
    const int bits = static_cast<int>(std::bit_width(distance(tick, current)));
    return tick < current ? -bits : bits;
}

} // namespace

void KeyframeStore::add(Tick tick, const Hash128& state, ByteView snapshot, Tick current) {
    drop(tick);
    if (snapshot.size() > budget_bytes_) {
        return;
    }
    Bytes bytes = std::move(spare_);
    bytes.assign(snapshot.begin(), snapshot.end());
    entries_.emplace(tick, Entry{state, std::move(bytes)});
    bytes_ += snapshot.size();
    thin(current);
}

KeyframeStore::Entries::const_iterator KeyframeStore::find(Tick tick) const {
    auto after = entries_.upper_bound(tick);
    return after == entries_.begin() ? entries_.end() : std::prev(after);
}

void KeyframeStore::drop(Tick tick) {
    if (auto found = entries_.find(tick); found != entries_.end()) {
        erase(found);
    }
}

void KeyframeStore::erase(Entries::iterator entry) {
    bytes_ -= entry->second.snapshot.size();
    spare_ = std::move(entry->second.snapshot);
    entries_.erase(entry);
}

/// Removes what is missed least: the state whose neighbours leave the smallest gap for its
/// distance, first among those of which there are more than enough, then, for the budget, among
/// all.
void KeyframeStore::thin(Tick current) {
    while (true) {
        std::map<int, std::size_t> counts;
        for (const auto& [tick, entry] : entries_) {
            ++counts[distance_class(tick, current)];
        }
        const bool over_budget = bytes_ > budget_bytes_;
        auto victim = entries_.end();
        double least = 0;
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            const Tick tick = entry->first;
            const bool too_many = counts[distance_class(tick, current)] > states_a_distance;
            if (!over_budget && !too_many) {
                continue;
            }
            // Without it a seek into the gap begins at the one before: what it would cost more.
            const Tick before = entry == entries_.begin() ? Tick{0} : std::prev(entry)->first;
            const double gap = static_cast<double>(tick.value - before.value);
            const double cost = gap / static_cast<double>(distance(tick, current) + 1);
            if (victim == entries_.end() || cost < least) {
                victim = entry;
                least = cost;
            }
        }
        if (victim == entries_.end()) {
            return;
        }
        erase(victim);
    }
}

} // namespace twinstep::replay
