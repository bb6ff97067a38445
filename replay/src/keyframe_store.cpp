// SPDX-License-Identifier: MIT
// States in memory: all of them while there is room, then thinned so that the gaps grow with the
// distance from the current tick.
#include "twinstep/replay/keyframes.hpp"

#include <iterator>
#include <limits>
#include <utility>

namespace twinstep::replay {

namespace {

std::uint64_t distance(Tick left, Tick right) {
    return left < right ? right.value - left.value : left.value - right.value;
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

/// Removes what is missed least, as long as there is too much: the state whose neighbours leave the
/// smallest gap for its distance.
void KeyframeStore::thin(Tick current) {
    while (bytes_ > budget_bytes_ || entries_.size() > states_max) {
        auto victim = entries_.begin();
        double least = std::numeric_limits<double>::max();
        Tick before{0};
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            const Tick tick = entry->first;
            // Without it a seek into the gap begins at the one before: what it would cost more.
            const double gap = static_cast<double>(tick.value - before.value);
            const double cost = gap / static_cast<double>(distance(tick, current) + 1);
            if (cost < least) {
                victim = entry;
                least = cost;
            }
            before = tick;
        }
        erase(victim);
    }
}

} // namespace twinstep::replay
