// SPDX-License-Identifier: MIT
// Built without TWINSTEP_VALIDATE: what builds with it refuse has a defined result all the same.
#include "assertion_of.hpp"
#include "state_forms.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
#error "This test is about builds without the checks."
#endif

using namespace twinstep;

namespace {

/// Known by its rank; nobody can tell two of one rank apart.
struct Guest {
    std::uint32_t rank = 0;
    std::uint32_t name = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(rank), CEREAL_NVP(name));
    }
};

struct ByRank {
    bool operator()(const Guest& a, const Guest& b) const { return a.rank < b.rank; }
};

} // namespace

TEST_CASE("without checks, ties keep the order they were in", "[sim][unit]") {
    std::vector<Guest> guests;
    Heap<Guest, ByRank> heap;
    for (std::uint32_t i = 0; i < 100; ++i) {
        guests.push_back({i * 7 % 5, i});
        heap.push(guests.back());
    }
    total_sort(guests, ByRank{});
    for (std::size_t i = 1; i < guests.size(); ++i) {
        REQUIRE((guests[i - 1].rank < guests[i].rank || guests[i - 1].name < guests[i].name));
    }
    // The heap gives them in the same order, whether or not it is hashed or loaded.
    for (std::size_t i = 0; i < guests.size(); ++i) {
        if (i % 3 == 0) {
            hash_of(heap);
        }
        if (i % 7 == 0) {
            REQUIRE(load_from(bytes_of(heap), heap));
        }
        REQUIRE(heap.pop().name == guests[i].name);
    }
}

TEST_CASE("without checks, two draws in one expression are two draws", "[sim][unit]") {
    DrawCount count;
    Draws draws(DrawStream(1, Tick{0}, 0), 0, count);
    const std::uint64_t difference = draws.bits() - draws.bits();
    REQUIRE(difference != 0);
    REQUIRE(count.count == 2);
}

TEST_CASE("without checks, what no result is defined for still stops the program", "[sim][unit]") {
    REQUIRE(assertion_of([] { static_cast<void>(Q16x16{30000} + Q16x16{30000}); }) ==
            "fixed point: the sum of 30000 and 30000 is out of range");
    REQUIRE(assertion_of([] { static_cast<void>(Ring<int, 2>().pop_front()); }) == "!empty()");
    REQUIRE(assertion_of([] {
                static_cast<void>(SlotMap<int>().at({0, 1}));
            }) == "!handle_is_stale");
}
