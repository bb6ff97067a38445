// SPDX-License-Identifier: MIT
// When each of many things wants to be called: the soonest at once, a change in a few steps.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinstep::net {

/// Times by number, under a tree of minima. Asking for the soonest costs nothing and moving one
/// costs the depth of the tree, so that work follows what has happened and not how many there are.
class WakeTree {
public:
    /// One more, at the end; it never wants to be called.
    void append() {
        if (count_ == leaves_) {
            grow();
        }
        ++count_;
    }

    /// The numbers behind `index` move down by one.
    void erase(std::size_t index) {
        TWINSTEP_ASSERT(index < count_);
        for (std::size_t i = index; i + 1 < count_; ++i) {
            set(i, at(i + 1));
        }
        set(count_ - 1, never);
        --count_;
    }

    Micros at(std::size_t index) const { return nodes_[leaves_ + index]; }

    void set(std::size_t index, Micros time) {
        TWINSTEP_ASSERT(index < count_);
        std::size_t node = leaves_ + index;
        nodes_[node] = time;
        while (node > 1) {
            node /= 2;
            const Micros least = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
            if (nodes_[node] == least) {
                return;
            }
            nodes_[node] = least;
        }
    }

    Micros soonest() const { return nodes_[1]; }

    /// Replaces `due` by those whose time has come: the longest due first, then by number.
    void collect(Micros now, std::vector<std::uint32_t>& due) const {
        due.clear();
        collect_below(1, now, due);
        // Numbers are unique, so the order is total.
        std::sort(due.begin(), due.end(), [this](std::uint32_t a, std::uint32_t b) {
            return at(a) != at(b) ? at(a) < at(b) : a < b;
        });
    }

    std::size_t memory_bytes() const { return nodes_.capacity() * sizeof(Micros); }

private:
    void collect_below(std::size_t node, Micros now, std::vector<std::uint32_t>& due) const {
        if (nodes_[node] > now || nodes_[node] == never) {
            return;
        }
        if (node >= leaves_) {
            due.push_back(static_cast<std::uint32_t>(node - leaves_));
            return;
        }
        collect_below(2 * node, now, due);
        collect_below(2 * node + 1, now, due);
    }

    void grow() {
        const std::vector<Micros> before(nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_),
                                         nodes_.end());
        leaves_ *= 2;
        nodes_.assign(2 * leaves_, never);
        std::copy(
            before.begin(), before.end(), nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_));
        for (std::size_t node = leaves_ - 1; node >= 1; --node) {
            nodes_[node] = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
        }
    }

    std::size_t leaves_ = 1; // A power of two.
    std::size_t count_ = 0;
    // The root is node 1; the children of n are 2n and 2n + 1; the leaves are the last half.
    std::vector<Micros> nodes_ = std::vector<Micros>(2, never);
};

} // namespace twinstep::net
