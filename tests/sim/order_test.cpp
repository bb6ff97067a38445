// SPDX-License-Identifier: MIT
// Sorting by a total order: the result is std::stable_sort's, and ties do not pass unnoticed.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "test_random.hpp"

#include "twinstep/sim/order.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

using namespace twinstep;

namespace {

/// Something with a key that others may have too.
struct Ranked {
    std::uint32_t rank = 0;
    std::uint32_t id = 0;

    bool operator==(const Ranked&) const = default;
};

/// The same, but not to be copied as bytes: merged in place, without room beside it.
struct Heavy : Ranked {
    Heavy() = default;

    Heavy(std::uint32_t of_rank, std::uint32_t of_id)
        : Ranked{of_rank, of_id} {}

    Heavy(const Heavy& other)
        : Ranked(other) {}

    Heavy& operator=(const Heavy&) = default;
};

static_assert(detail::merge_room<Ranked> == 512);
static_assert(detail::merge_room<Heavy> == 0);

constexpr auto by_rank = [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; };
constexpr auto by_rank_and_id = [](const Ranked& a, const Ranked& b) {
    return std::tie(a.rank, a.id) < std::tie(b.rank, b.id);
};

template <class T>
std::vector<T> ranked_list(TestRandom& random, std::size_t size, std::size_t ranks) {
    std::vector<T> list(size);
    const std::size_t pattern = random.below(4);
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t rank = pattern == 0   ? i * ranks / size
                                 : pattern == 1 ? (size - i) * ranks / size
                                                : random.below(ranks);
        list[i] = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(i)};
    }
    return list;
}

template <class T>
void compare_with_stable_sort(TestRandom& random, std::size_t size, std::size_t ranks) {
    std::vector<T> list = ranked_list<T>(random, size, ranks);
    std::vector<T> expected = list;
    std::stable_sort(expected.begin(), expected.end(), by_rank);
    const AllocationCounter allocated;
    detail::stable_sort_in_place(std::span(list), by_rank);
    REQUIRE(allocated.count() == 0);
    CAPTURE(size, ranks);
    REQUIRE(list == expected);
}

} // namespace

TEST_CASE("sorting in place is stable, at every length", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (std::size_t round = 0; round < 3000; ++round) {
        const std::size_t size = round < 300 ? round : random.below(700);
        compare_with_stable_sort<Ranked>(random, size, 1 + random.below(size + 2));
        compare_with_stable_sort<Heavy>(random, size, 1 + random.below(size + 2));
    }
    for (const std::size_t ranks : {3U, 500U, 100000U}) {
        compare_with_stable_sort<Ranked>(random, 20000, ranks);
        compare_with_stable_sort<Heavy>(random, 20000, ranks);
    }
}

TEST_CASE("a total order sorts lists of any kind, also of what only moves", "[sim][unit]") {
    std::array<int, 5> numbers{3, 1, 2, 3, 1};
    total_sort(numbers);
    REQUIRE(numbers == std::array<int, 5>{1, 1, 2, 3, 3});
    std::vector<std::string> words{"b", "a", "c", "a"};
    total_sort(words, std::greater<>{});
    REQUIRE(words == std::vector<std::string>{"c", "b", "a", "a"});
    std::vector<std::unique_ptr<int>> pointers;
    for (int i = 0; i < 100; ++i) {
        pointers.push_back(std::make_unique<int>(i * 37 % 100));
    }
    total_sort(pointers, [](const auto& a, const auto& b) { return *a < *b; });
    for (int i = 0; i < 100; ++i) {
        REQUIRE(*pointers[static_cast<std::size_t>(i)] == i);
    }
    std::vector<Ranked> list{{2, 1}, {1, 9}, {2, 0}};
    total_sort(std::span(list).subspan(1), by_rank_and_id);
    REQUIRE(list == std::vector<Ranked>{{2, 1}, {1, 9}, {2, 0}});
    total_sort(list, by_rank_and_id);
    REQUIRE(list == std::vector<Ranked>{{1, 9}, {2, 0}, {2, 1}});
}

TEST_CASE("elements that an order cannot tell apart stop the program", "[sim][unit]") {
    const auto refusal = [](std::size_t first) {
        return "total_sort: elements " + std::to_string(first) + " and " +
               std::to_string(first + 1) +
               " of the result differ, but neither comes first; add what tells them apart to the "
               "order, such as an identifier";
    };
    std::vector<Ranked> list{{3, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 4}};
    const int line = __LINE__ + 1;
    const auto sort_by_rank = [&list] { total_sort(list, by_rank); };
    const std::string text = assertion_with_line_of(sort_by_rank);
    REQUIRE(text == refusal(1) + " in line " + std::to_string(line));
    // The same twice is no tie, but unless a type has == nobody knows.
    list[3] = list[1];
    REQUIRE(assertion_of([&] { total_sort(list, by_rank); }) == "no assertion");

    struct Opaque {
        int rank;
    };

    std::vector<Opaque> opaque{{1}, {1}};
    const auto by_opaque_rank = [](Opaque a, Opaque b) { return a.rank < b.rank; };
    REQUIRE(assertion_of([&] { total_sort(opaque, by_opaque_rank); }) == refusal(0));
    // Floats: 0 and -0 differ in what is hashed, and a NaN is before nothing.
    std::vector<float> zeros{1.0F, 0.0F, -0.0F};
    REQUIRE(assertion_of([&] { total_sort(zeros); }) == refusal(0));
    std::vector<double> nans{1.0, std::numeric_limits<double>::quiet_NaN()};
    REQUIRE(assertion_of([&] { total_sort(nans); }) == refusal(0));
    std::vector<float> floats{0.5F, 0.25F, 0.5F};
    REQUIRE(assertion_of([&] { total_sort(floats); }) == "no assertion");
}
