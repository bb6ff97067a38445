// SPDX-License-Identifier: MIT
// The vector forms of swarm's innermost loops next to the plain ones.
#include "swarm/swarm_near.hpp"
#include "test_random.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <vector>

using namespace twinstep::games::swarm_near;

namespace {

/// Units around a place anywhere, some in the very place, some far away.
struct Crowd {
    std::vector<std::int16_t> x;
    std::vector<std::int16_t> y;
    std::vector<std::int16_t> owners;
    std::vector<std::uint32_t> indices;
    Spot middle;
    std::uint32_t count = 0;

    Spots spots() const { return {x.data(), y.data(), owners.data(), indices.data()}; }

    void add(Spot spot, std::int16_t owner, std::uint32_t index) {
        x.push_back(spot.x);
        y.push_back(spot.y);
        owners.push_back(owner);
        indices.push_back(index);
        ++count;
    }

    /// What is read behind the last: in the very place, and an enemy.
    void close() {
        const std::uint32_t kept = count;
        for (std::uint32_t i = 0; i < spots_at_once; ++i) {
            add(middle, 99, 0);
        }
        count = kept;
    }
};

Crowd random_crowd(TestRandom& random) {
    Crowd crowd;
    const auto x = static_cast<std::int32_t>(random.below(1 << 20));
    const auto y = static_cast<std::int32_t>(random.below(1 << 20));
    crowd.middle = spot_of(x, y);
    const std::size_t width = std::size_t{2} << random.below(12);
    const std::size_t count = random.below(64);
    for (std::size_t i = 0; i < count; ++i) {
        const auto half = static_cast<std::int32_t>(width / 2);
        const std::int32_t dx = static_cast<std::int32_t>(random.below(width + 1)) - half;
        const std::int32_t dy = static_cast<std::int32_t>(random.below(width + 1)) - half;
        const bool far = random.below(16) == 0;
        crowd.add(spot_of(x + dx + (far ? 16 * 1024 : 0), y + dy),
                  static_cast<std::int16_t>(random.below(3)),
                  static_cast<std::uint32_t>(random.below(200'000)));
    }
    crowd.close();
    return crowd;
}

Range random_range(TestRandom& random, std::uint32_t count) {
    const auto begin = static_cast<std::uint32_t>(random.below(count + 1));
    const auto end = static_cast<std::uint32_t>(random.below(count + 1));
    return {begin, end}; // Half of them have nobody.
}

Ask random_ask(TestRandom& random, const Crowd& crowd) {
    const std::int32_t apart = random.below(4) == 0
                                   ? push_length_max
                                   : 1 + static_cast<std::int32_t>(random.below(push_length_max));
    Ask ask{{}, crowd.middle, apart * apart};
    for (Range& range : ask.ranges) {
        range = random_range(random, crowd.count);
    }
    return ask;
}

bool same(const Push& left, const Push& right) {
    return left.x == right.x && left.y == right.y && left.here == right.here;
}

using PushLoop = void (*)(const Spots&, const Ask*, std::uint32_t, Push*);

/// Every form that this machine can run.
std::vector<PushLoop> push_loops() {
    std::vector<PushLoop> loops{push_portable, push};
#if defined(__SSE2__) || defined(_M_X64)
    loops.push_back(push_sse2);
#endif
#if defined(TWINSTEP_SWARM_AVX2)
    if (has_avx2) {
        loops.push_back(push_avx2);
    }
#endif
    return loops;
}

template <class AnyHunt>
std::uint32_t hunted(AnyHunt hunt, const std::vector<Range>& ranges, std::int32_t enough) {
    for (const Range& range : ranges) {
        hunt.look_at(range);
        if (hunt.found_within(enough)) {
            break;
        }
    }
    return hunt.found();
}

} // namespace

TEST_CASE("a crowd pushes the same on every vector unit and without one",
          "[swarm][near][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t pushed = 0;
    std::uint64_t here = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Crowd crowd = random_crowd(random);
        const std::array<Ask, 2> asks{random_ask(random, crowd), random_ask(random, crowd)};
        std::array<Push, 2> expected;
        push_portable(crowd.spots(), asks.data(), 2, expected.data());
        for (const PushLoop loop : push_loops()) {
            std::array<Push, 2> actual;
            loop(crowd.spots(), asks.data(), 2, actual.data());
            CAPTURE(i, crowd.count, asks[0].reach, asks[1].reach);
            REQUIRE(same(actual[0], expected[0]));
            REQUIRE(same(actual[1], expected[1]));
        }
        pushed += expected[0].x != 0 ? 1U : 0U;
        here += expected[0].here;
    }
    CHECK(pushed > 1000);
    CHECK(here > 100);
}

TEST_CASE("the longest pushes of a full crowd do not overflow", "[swarm][near][unit]") {
    // The product is greatest at a distance of 1024 / sqrt(3).
    for (const std::int32_t distance : {1, 512, 591, 592, 1023, 1024}) {
        Crowd crowd;
        crowd.middle = spot_of(5000, 0);
        for (std::uint32_t i = 0; i < 64; ++i) {
            crowd.add(spot_of(5000 + distance, 0), 0, i);
        }
        crowd.close();
        constexpr std::int32_t reach = push_length_max * push_length_max;
        const Ask ask{{Range{0, 64}, Range{}, Range{}}, crowd.middle, reach};
        const std::int64_t missing = std::int64_t{reach} - std::int64_t{distance} * distance;
        for (const PushLoop loop : push_loops()) {
            Push actual;
            loop(crowd.spots(), &ask, 1, &actual);
            CHECK(actual.x == -64 * distance * missing);
            CHECK(actual.y == 0);
        }
    }
}

TEST_CASE("a hunt counts enemies up to its limit and takes the lowest index",
          "[swarm][near][unit]") {
    Crowd crowd;
    crowd.middle = spot_of(1000, 1000);
    crowd.add(spot_of(1000, 1010), 1, 70); // As near as the next one.
    crowd.add(spot_of(1010, 1000), 1, 40);
    crowd.add(spot_of(1001, 1000), 0, 1); // A friend.
    crowd.add(spot_of(1005, 1000), 1, 90);
    crowd.close();
    const auto found = [&crowd](std::int32_t reach, std::uint32_t candidates) {
        return hunted(Hunt(crowd.spots(), crowd.middle, 0, reach, candidates), {{0, 4}}, -1);
    };
    CHECK(found(10'000, 1) == 70);
    CHECK(found(10'000, 2) == 40);
    CHECK(found(10'000, 3) == 90);
    CHECK(found(25, 3) == 90);
    CHECK(found(24, 3) == Hunt::nobody);
}

#if defined(__SSE2__) || defined(_M_X64)
TEST_CASE("the fast hunt finds whom the plain one finds", "[swarm][near][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::uint64_t nobody = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Crowd crowd = random_crowd(random);
        std::vector<Range> ranges;
        std::uint32_t seen = 0;
        for (std::size_t n = random.below(5); n > 0; --n) {
            const auto begin = static_cast<std::uint32_t>(random.below(crowd.count + 1));
            const auto size = static_cast<std::uint32_t>(random.below(crowd.count - begin + 1));
            ranges.push_back({begin, begin + size});
            seen += size;
        }
        const auto owner = static_cast<std::int16_t>(random.below(3));
        const auto reach = static_cast<std::int32_t>(random.below(1 << (4 + random.below(22))));
        const auto enough = static_cast<std::int32_t>(random.below(1 << (4 + random.below(22))));
        CAPTURE(i, crowd.count, owner, reach, enough);
        const std::uint32_t expected =
            hunted(Hunt(crowd.spots(), crowd.middle, owner, reach, UINT32_MAX), ranges, enough);
        const auto hunt = [&](std::uint32_t candidates) {
            return FastHunt(crowd.spots(), crowd.middle, owner, reach, candidates);
        };
        REQUIRE(hunted(hunt(seen), ranges, enough) == expected);
        // One too few is noticed, just as many are not too many.
        for (const std::uint32_t candidates : {seen, seen - 1, std::uint32_t{0}}) {
            FastHunt fast = hunt(candidates);
            for (const Range& range : ranges) {
                fast.look_at(range);
            }
            REQUIRE((seen == 0 || fast.too_many() == (candidates < seen)));
        }
        nobody += expected == Hunt::nobody ? 1U : 0U;
    }
    CHECK(nobody > 1000);
    CHECK(nobody < 19'000);
}
#endif
