// SPDX-License-Identifier: MIT
// The vector form of swarm's innermost loop next to its portable twin.
#include "swarm/swarm_near.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <vector>

using namespace twinstep::games::swarm_near;

namespace {

struct Case {
    std::vector<Spot> spots;
    Spot from;
    std::int32_t reach = 0;
};

/// A crowd of up to 64 around a place anywhere, some in the very place, some far away.
Case random_case(TestRandom& random) {
    Case made;
    const auto x = static_cast<std::int32_t>(random.below(1 << 20));
    const auto y = static_cast<std::int32_t>(random.below(1 << 20));
    const std::int32_t apart = random.below(4) == 0
                                   ? push_length_max
                                   : static_cast<std::int32_t>(random.below(push_length_max + 1));
    made.reach = apart * apart;
    made.from = spot_of(x, y);
    const std::size_t width = std::size_t{2} << random.below(12);
    const std::size_t count = spots_at_once * (1 + random.below(64 / spots_at_once));
    for (std::size_t i = 0; i < count; ++i) {
        const auto half = static_cast<std::int32_t>(width / 2);
        const std::int32_t dx = static_cast<std::int32_t>(random.below(width + 1)) - half;
        const std::int32_t dy = static_cast<std::int32_t>(random.below(width + 1)) - half;
        const bool far = random.below(16) == 0;
        made.spots.push_back(spot_of(x + dx + (far ? 16 * 1024 : 0), y + dy));
    }
    return made;
}

} // namespace

TEST_CASE("a crowd pushes the same on the vector unit and without one", "[swarm][near][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t pushed = 0;
    std::uint64_t here = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Case made = random_case(random);
        const auto count = static_cast<std::uint32_t>(made.spots.size());
        const Push expected = push_portable(made.spots.data(), count, made.from, made.reach);
        const Push actual = push(made.spots.data(), count, made.from, made.reach);
        CAPTURE(i, count, made.reach, made.from.x, made.from.y);
        REQUIRE(actual.x == expected.x);
        REQUIRE(actual.y == expected.y);
        // With a reach of nothing the place itself is not within it, and does not matter.
        REQUIRE((made.reach == 0 || actual.here == expected.here));
        pushed += expected.x != 0 ? 1U : 0U;
        here += expected.here;
    }
    CHECK(pushed > 1000);
    CHECK(here > 100);
}

TEST_CASE("the longest pushes of a full crowd do not overflow", "[swarm][near][unit]") {
    // The product is greatest at a distance of 1024 / sqrt(3).
    for (const std::int32_t distance : {1, 512, 591, 592, 1023, 1024}) {
        const std::vector<Spot> spots(64, spot_of(5000 + distance, 0));
        const std::int32_t reach = push_length_max * push_length_max;
        const Push actual = push(spots.data(), 64, spot_of(5000, 0), reach);
        const std::int64_t missing = std::int64_t{reach} - std::int64_t{distance} * distance;
        CHECK(actual.x == -64 * distance * missing);
        CHECK(actual.y == 0);
    }
}
