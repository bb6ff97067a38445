// SPDX-License-Identifier: MIT
// Lists give what single numbers give, whatever stands next to them.
#include "test_random.hpp"

#include "twinstep/sim/math.hpp"

#include <array>
#include <bit>
#include <span>

namespace {

namespace math = twinstep::math;

using List = std::span<float>;
using ConstList = std::span<const float>;

std::uint32_t bits_of(float x) {
    return std::bit_cast<std::uint32_t>(x);
}

/// Numbers of any kind: usual angles, all bits, and what is special to one function or the other.
std::vector<float> mixed_list(TestRandom& random, std::size_t size) {
    constexpr std::array<float, 10> special{
        0.0F, -0.0F, 1.0F, -1.0F, 4096.0F, 0x1.fffffep+11F, 0x1p-12F, 0x1p-149F, 3e38F, 1.0F};
    std::vector<float> list(size);
    for (float& x : list) {
        const std::size_t kind = random.below(8);
        const auto bits = static_cast<std::uint32_t>(random.bits());
        x = kind == 0   ? special[random.below(special.size())]
            : kind == 1 ? std::bit_cast<float>(bits)
                        : static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-24F;
    }
    return list;
}

struct BatchCase {
    void (*of_list)(ConstList, List);
    float (*of_one)(float);
};

constexpr BatchCase batch_cases[] = {
    {math::acos, math::acos},   {math::asin, math::asin},   {math::atan, math::atan},
    {math::cbrt, math::cbrt},   {math::cos, math::cos},     {math::cosh, math::cosh},
    {math::exp, math::exp},     {math::exp10, math::exp10}, {math::exp2, math::exp2},
    {math::expm1, math::expm1}, {math::log, math::log},     {math::log10, math::log10},
    {math::log1p, math::log1p}, {math::log2, math::log2},   {math::rsqrt, math::rsqrt},
    {math::sin, math::sin},     {math::sinh, math::sinh},   {math::sqrt, math::sqrt},
    {math::tan, math::tan},     {math::tanh, math::tanh},
};

struct PairBatchCase {
    void (*of_lists)(ConstList, ConstList, List);
    float (*of_two)(float, float);
};

constexpr PairBatchCase pair_batch_cases[] = {
    {math::atan2, math::atan2}, {math::hypot, math::hypot}, {math::pow, math::pow}};

} // namespace

TEST_CASE("lists of any length give what each of their numbers gives", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (std::size_t size = 0; size < 70; ++size) {
        const std::vector<float> x = mixed_list(random, size);
        for (const BatchCase& batch : batch_cases) {
            std::vector<float> result(size);
            batch.of_list(x, result);
            std::vector<float> in_place = x;
            batch.of_list(in_place, in_place);
            for (std::size_t i = 0; i < size; ++i) {
                REQUIRE(bits_of(result[i]) == bits_of(batch.of_one(x[i])));
                REQUIRE(bits_of(in_place[i]) == bits_of(result[i]));
            }
        }
    }
}

TEST_CASE("pairs of lists give what each pair of numbers gives", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (std::size_t size = 0; size < 70; ++size) {
        const std::vector<float> x = mixed_list(random, size);
        const std::vector<float> y = mixed_list(random, size);
        std::vector<float> result(size);
        for (const PairBatchCase& batch : pair_batch_cases) {
            batch.of_lists(x, y, result);
            for (std::size_t i = 0; i < size; ++i) {
                REQUIRE(bits_of(result[i]) == bits_of(batch.of_two(x[i], y[i])));
            }
        }
    }
}

TEST_CASE("sincos, single and of lists, is sin and cos", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const std::vector<float> x = mixed_list(random, 200'003);
    std::vector<float> sines(x.size());
    std::vector<float> cosines = x; // one of the results may be the argument
    math::sincos(cosines, sines, cosines);
    for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(bits_of(sines[i]) == bits_of(math::sin(x[i])));
        REQUIRE(bits_of(cosines[i]) == bits_of(math::cos(x[i])));
        const math::SinCos both = math::sincos(x[i]);
        REQUIRE(bits_of(both.sin) == bits_of(sines[i]));
        REQUIRE(bits_of(both.cos) == bits_of(cosines[i]));
    }
}
