// SPDX-License-Identifier: MIT
// The random numbers: published answers, golden draws, bounds.
#include "assertion_of.hpp"
#include "test_random.hpp"

#include "twinstep/sim/random.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <vector>

using namespace twinstep;

namespace {

using Block = std::array<std::uint32_t, 4>;

} // namespace

TEST_CASE("philox4x32 with ten rounds gives the published answers", "[sim][golden]") {
    // Source: the known-answer file of the authors' Random123 library, philox4x32 10.
    constexpr std::uint32_t ones = 0xFFFFFFFF;
    REQUIRE(philox4x32({0, 0, 0, 0}, {0, 0}) ==
            Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
    REQUIRE(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
            Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
    REQUIRE(
        philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
        Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("draws are the blocks of counter, tick, stream and seed", "[sim][golden]") {
    const std::uint64_t seed = 0x299F31D0A4093822;
    const Tick tick{0x13198A2E85A308D3};
    Random random(seed, tick, 0x03707344);
    for (std::uint32_t block = 0; block < 5; ++block) {
        const Block expected =
            philox4x32({block, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0});
        const std::uint64_t first = random.bits();
        const std::uint64_t second = random.bits();
        REQUIRE(first == ((std::uint64_t{expected[1]} << 32) | expected[0]));
        REQUIRE(second == ((std::uint64_t{expected[3]} << 32) | expected[2]));
    }
    REQUIRE(random.draws() == 10);
    // The all-zero answer above, as draws.
    Random zero(0, Tick{0});
    REQUIRE(zero.bits() == 0xE169C58D6627E8D5);
    REQUIRE(zero.bits() == 0x9B00DBD8BC57AC4C);
}

TEST_CASE("seed, tick and stream each give other draws", "[sim][unit]") {
    const std::uint64_t base = Random(1, Tick{2}, 3).bits();
    REQUIRE(Random(1, Tick{2}, 3).bits() == base);
    REQUIRE(Random(2, Tick{2}, 3).bits() != base);
    REQUIRE(Random(1, Tick{3}, 3).bits() != base);
    REQUIRE(Random(1, Tick{2}, 4).bits() != base);
    REQUIRE(Random(std::uint64_t{1} << 32 | 1, Tick{2}, 3).bits() != base);
    REQUIRE(Random(1, Tick{std::uint64_t{1} << 32 | 2}, 3).bits() != base);
}

TEST_CASE("bounded draws are golden", "[sim][golden]") {
    Random random(42, Tick{7});
    std::vector<std::uint32_t> draws;
    for (const std::uint32_t bound : {1U, 2U, 6U, 100U, 1000000U, 0x80000001U, 0xFFFFFFFFU}) {
        draws.push_back(random.below(bound));
    }
    REQUIRE(draws == std::vector<std::uint32_t>{0U, 1U, 5U, 27U, 149445U, 36142815U, 324977522U});
    std::vector<std::int32_t> values;
    values.push_back(random.between(-5, 5));
    values.push_back(random.between(INT32_MIN, INT32_MAX));
    values.push_back(random.between(0, 0));
    REQUIRE(values == std::vector<std::int32_t>{-5, 591634159, 0});
}

TEST_CASE("below stays below and meets every value about equally often", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    for (const std::uint32_t bound : {1U, 2U, 3U, 7U, 10U, 64U}) {
        std::vector<std::uint32_t> seen(bound, 0);
        constexpr std::uint32_t each = 2000;
        Random random(test_seed(), Tick{bound});
        for (std::uint32_t i = 0; i < each * bound; ++i) {
            const std::uint32_t value = random.below(bound);
            REQUIRE(value < bound);
            ++seen[value];
        }
        for (const std::uint32_t count : seen) {
            // More than eight standard deviations either way.
            REQUIRE(count > each - 400);
            REQUIRE(count < each + 400);
        }
    }
}

TEST_CASE("below is without bias where taking the remainder would not be", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    // Of 2^32 values, a bound of 3 * 2^30 would hit the lowest third twice as often as the others.
    constexpr std::uint32_t bound = 0xC0000000;
    std::array<std::uint32_t, 3> thirds{};
    Random random(test_seed(), Tick{0});
    for (int i = 0; i < 9000; ++i) {
        ++thirds.at(random.below(bound) >> 30);
    }
    for (const std::uint32_t count : thirds) {
        REQUIRE(count > 2600);
        REQUIRE(count < 3400);
    }
    // The draws that were rejected, a quarter of them, are counted.
    REQUIRE(random.draws() > 11000);
}

TEST_CASE("between reaches both ends of any range", "[sim][unit]") {
    Random random(1, Tick{1});
    bool low = false;
    bool high = false;
    for (int i = 0; i < 200; ++i) {
        const std::int32_t value = random.between(-1, 1);
        REQUIRE(value >= -1);
        REQUIRE(value <= 1);
        low = low || value == -1;
        high = high || value == 1;
    }
    REQUIRE(low);
    REQUIRE(high);
    REQUIRE(random.between(INT32_MIN, INT32_MIN) == INT32_MIN);
    REQUIRE(random.between(INT32_MAX, INT32_MAX) == INT32_MAX);
    bool negative = false;
    bool positive = false;
    for (int i = 0; i < 64; ++i) {
        const std::int32_t value = random.between(INT32_MIN, INT32_MAX);
        negative = negative || value < 0;
        positive = positive || value > 0;
    }
    REQUIRE(negative);
    REQUIRE(positive);
}

TEST_CASE("an empty range is a programmer's error", "[sim][unit]") {
    REQUIRE(assertion_of([] { Random(1, Tick{0}).below(0); }) == "bound >= 1");
    REQUIRE(assertion_of([] { Random(1, Tick{0}).between(1, 0); }) == "low <= high");
}
