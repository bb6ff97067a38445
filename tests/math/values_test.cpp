// SPDX-License-Identifier: MIT
// What is chosen where languages and CPUs differ: min, max, conversions, NaN, sums.
#include "twinstep/sim/math.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

namespace math = twinstep::math;

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::uint32_t image_of(float x) {
    return std::bit_cast<std::uint32_t>(x);
}

} // namespace

TEST_CASE("the lesser and the greater heed signs of zero and pass NaN on", "[math][unit]") {
    CHECK(image_of(math::min(0.0F, -0.0F)) == 0x80000000);
    CHECK(image_of(math::min(-0.0F, 0.0F)) == 0x80000000);
    CHECK(image_of(math::max(0.0F, -0.0F)) == 0);
    CHECK(image_of(math::max(-0.0F, 0.0F)) == 0);
    CHECK(image_of(math::max(-0.0F, -0.0F)) == 0x80000000);
    CHECK(math::min(-1.0F, 2.0F) == -1.0F);
    CHECK(math::min(2.0F, -1.0F) == -1.0F);
    CHECK(math::max(-infinite, 2.0F) == 2.0F);
    CHECK(math::max(-3.0F, -3.0F) == -3.0F);
    const auto other_nan = std::bit_cast<float>(0xffc12345U);
    CHECK(image_of(math::min(1.0F, other_nan)) == 0x7fc00000);
    CHECK(image_of(math::min(other_nan, 1.0F)) == 0x7fc00000);
    CHECK(image_of(math::max(1.0F, other_nan)) == 0x7fc00000);
    CHECK(image_of(math::max(other_nan, 1.0F)) == 0x7fc00000);
    CHECK(math::clamp(5.0F, -1.0F, 2.0F) == 2.0F);
    CHECK(math::clamp(-5.0F, -1.0F, 2.0F) == -1.0F);
    CHECK(image_of(math::clamp(not_a_number, -1.0F, 2.0F)) == 0x7fc00000);
}

TEST_CASE("signs go and turn, also those of zeros", "[math][unit]") {
    CHECK(image_of(math::abs(-0.0F)) == 0);
    CHECK(image_of(math::abs(-infinite)) == image_of(infinite));
    CHECK(image_of(math::negate(0.0F)) == 0x80000000);
    CHECK(image_of(math::negate(-2.5F)) == image_of(2.5F));
}

TEST_CASE("NaN is canonical, and everything else stays", "[math][unit]") {
    CHECK(image_of(math::canonical(std::bit_cast<float>(0xff800001U))) == 0x7fc00000);
    CHECK(image_of(math::canonical(-0.0F)) == 0x80000000);
    CHECK(image_of(math::canonical(-infinite)) == 0xff800000);
    const auto nan = std::bit_cast<double>(std::uint64_t{0xfff0000000000001});
    CHECK(std::bit_cast<std::uint64_t>(math::canonical(nan)) == 0x7ff8000000000000);
    CHECK(math::canonical(-1.5) == -1.5);
}

TEST_CASE("conversions to integers cut, stop at the ends and make 0 of NaN", "[math][unit]") {
    CHECK(math::to_int32(-1.75F) == -1);
    CHECK(math::to_int32(3e9F) == 2147483647);
    CHECK(math::to_int32(2147483647.5) == 2147483647);
    CHECK(math::to_int32(-2147483648.5) == -2147483647 - 1);
    CHECK(math::to_int32(-infinite) == -2147483647 - 1);
    CHECK(math::to_int32(not_a_number) == 0);
    CHECK(math::to_uint32(-1.0F) == 0);
    CHECK(math::to_uint32(-0.5F) == 0);
    CHECK(math::to_uint32(4294967295.5) == 4294967295U);
    CHECK(math::to_uint32(4294967296.0F) == 4294967295U);
    CHECK(math::to_int64(0x1p+63) == std::numeric_limits<std::int64_t>::max());
    CHECK(math::to_int64(-0x1p+63) == std::numeric_limits<std::int64_t>::min());
    CHECK(math::to_int64(-0x1.fffffffffffffp+62) == -9223372036854774784);
    CHECK(math::to_uint64(0x1p+64) == std::numeric_limits<std::uint64_t>::max());
    CHECK(math::to_uint64(0x1.fffffffffffffp+63) == 18446744073709549568U);
    CHECK(math::to_uint64(not_a_number) == 0);
}

TEST_CASE("sums are taken from the first to the last", "[math][unit]") {
    const std::array<double, 4> upwards{1e-16, 1e-16, 1e-16, 1.0};
    const std::array<double, 4> downwards{1.0, 1e-16, 1e-16, 1e-16};
    CHECK(math::ordered_sum(upwards) > 1.0);
    CHECK(math::ordered_sum(downwards) == 1.0);
    const std::vector<float> floats(1U << 20, 0.1F);
    CHECK(math::ordered_sum(floats) == 0x1.99999ap+16F); // no rounding to float on the way
    CHECK(image_of(math::ordered_sum(std::span<const float>{})) == 0);
    const std::array<float, 2> opposites{infinite, -infinite};
    CHECK(image_of(math::ordered_sum(opposites)) == 0x7fc00000);
    const std::array<float, 2> large{3e38F, 3e38F};
    CHECK(math::ordered_sum(large) == infinite);
}
