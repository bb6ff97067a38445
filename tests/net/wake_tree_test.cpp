// SPDX-License-Identifier: MIT
// The tree of wake-ups against a plain list.
#include "test_random.hpp"
#include "wake_tree.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

TEST_CASE("the tree of wake-ups says what a look at all of them would", "[net][unit][random]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    WakeTree tree;
    std::vector<Micros> plain;
    std::vector<std::uint32_t> due;
    CHECK(tree.soonest() == never);
    for (int turn = 0; turn < 5000; ++turn) {
        const std::uint64_t what = random.below(20);
        if (what == 0 && plain.size() < 70) {
            tree.append();
            plain.push_back(never);
        } else if (what == 1 && !plain.empty()) {
            const std::size_t at = random.below(plain.size());
            tree.erase(at);
            plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (!plain.empty()) {
            const std::size_t at = random.below(plain.size());
            plain[at] = what == 2 ? never : Micros{static_cast<std::int64_t>(random.below(50))};
            tree.set(at, plain[at]);
        }
        const auto least = std::min_element(plain.begin(), plain.end());
        REQUIRE(tree.soonest() == (plain.empty() ? never : *least));
        const Micros now{static_cast<std::int64_t>(random.below(50))};
        std::vector<std::uint32_t> expected;
        for (std::uint32_t i = 0; i < plain.size(); ++i) {
            if (plain[i] <= now) {
                expected.push_back(i);
            }
        }
        std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
            return plain[a] < plain[b];
        });
        tree.collect(now, due);
        REQUIRE(due == expected);
    }
}
