// SPDX-License-Identifier: MIT
// Special values of sim/math: C's Annex F, one NaN, signs of zeros; and constant expressions.
#include "twinstep/sim/math.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace {

namespace math = twinstep::math;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float greatest = std::numeric_limits<float>::max();
constexpr float least = std::numeric_limits<float>::denorm_min();
constexpr float pi = 0x1.921fb6p+1F;

constexpr std::uint32_t image(float x) {
    return std::bit_cast<std::uint32_t>(x);
}

/// NaNs of both signs, quiet and signalling, with payloads.
constexpr std::uint32_t nan_images[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffbfffff, 0x7fffffff};

using OfOne = float (*)(float);
using OfTwo = float (*)(float, float);

struct OneCase {
    OfOne function;
    float x;
    float expected;
};

struct TwoCase {
    OfTwo function;
    float x;
    float y;
    float expected;
};

const float no_number = std::bit_cast<float>(0x7fc00000U);

void check(std::initializer_list<OneCase> cases) {
    for (const OneCase& one : cases) {
        INFO("case " << &one - cases.begin() << ", argument " << one.x);
        CHECK(image(one.function(one.x)) == image(one.expected));
    }
}

void check(std::initializer_list<TwoCase> cases) {
    for (const TwoCase& one : cases) {
        INFO("case " << &one - cases.begin() << ", arguments " << one.x << " and " << one.y);
        CHECK(image(one.function(one.x, one.y)) == image(one.expected));
    }
}

constexpr OfOne functions_of_one[] = {
    math::acos,  math::asin,  math::atan,  math::cbrt,   math::cos,  math::cosh,
    math::exp,   math::exp2,  math::exp10, math::expm1,  math::log,  math::log2,
    math::log10, math::log1p, math::rsqrt, math::sin,    math::sinh, math::sqrt,
    math::tan,   math::tanh,  math::abs,   math::negate,
};

} // namespace

TEST_CASE("any NaN gives the one NaN", "[math][unit]") {
    for (const std::uint32_t bits : nan_images) {
        const auto x = std::bit_cast<float>(bits);
        for (const OfOne function : functions_of_one) {
            CHECK(image(function(x)) == 0x7fc00000);
        }
        for (const OfTwo function : {OfTwo{math::atan2}, OfTwo{math::hypot}, OfTwo{math::pow}}) {
            CHECK(image(function(x, 2.0F)) == 0x7fc00000);
            CHECK(image(function(2.0F, x)) == 0x7fc00000);
            CHECK(image(function(x, x)) == 0x7fc00000);
        }
        CHECK(image(math::sincos(x).sin) == 0x7fc00000);
        CHECK(image(math::sincos(x).cos) == 0x7fc00000);
    }
}

TEST_CASE("odd functions keep the sign of zero and the least subnormal", "[math][unit]") {
    for (const OfOne function : {OfOne{math::asin},
                                 OfOne{math::atan},
                                 OfOne{math::cbrt},
                                 OfOne{math::expm1},
                                 OfOne{math::log1p},
                                 OfOne{math::sin},
                                 OfOne{math::sinh},
                                 OfOne{math::tan},
                                 OfOne{math::tanh}}) {
        CHECK(image(function(0.0F)) == 0);
        CHECK(image(function(-0.0F)) == 0x80000000);
        if (function != OfOne{math::cbrt}) {
            CHECK(image(function(least)) == 1);
            CHECK(image(function(-least)) == 0x80000001);
        }
    }
}

TEST_CASE("circular functions have no value for infinities, arcs have their ends", "[math][unit]") {
    check({
        {math::sin, inf, no_number},
        {math::sin, -inf, no_number},
        {math::cos, inf, no_number},
        {math::cos, -0.0F, 1.0F},
        {math::cos, least, 1.0F},
        {math::tan, -inf, no_number},
        {math::asin, 1.0F, pi / 2},
        {math::asin, -1.0F, -pi / 2},
        {math::asin, 0x1.000002p+0F, no_number},
        {math::acos, 1.0F, 0.0F},
        {math::acos, -1.0F, pi},
        {math::acos, -0.0F, pi / 2},
        {math::acos, -inf, no_number},
        {math::atan, inf, pi / 2},
        {math::atan, -greatest, -pi / 2},
    });
}

TEST_CASE("exponentials end in 0 and infinity, and integers of exp2 are exact", "[math][unit]") {
    check({
        {math::exp, inf, inf},
        {math::exp, -inf, 0.0F},
        {math::exp, -0.0F, 1.0F},
        {math::exp, 0x1.62e42ep+6F, 0x1.ffff08p+127F},
        {math::exp, 0x1.62e430p+6F, inf},
        {math::exp, -0x1.9fe368p+6F, least},
        {math::exp, -0x1.9fe36ap+6F, 0.0F},
        {math::exp2, 127.0F, 0x1p+127F},
        {math::exp2, 128.0F, inf},
        {math::exp2, -149.0F, least},
        {math::exp2, -150.0F, 0.0F}, // halfway between 0 and the least: to even
        {math::exp2, -0x1.2bfffep+7F, least},
        {math::exp10, 10.0F, 1e10F},
        {math::exp10, -inf, 0.0F},
        {math::expm1, -inf, -1.0F},
        {math::expm1, -greatest, -1.0F},
        {math::expm1, inf, inf},
        {math::sinh, -inf, -inf},
        {math::cosh, -inf, inf},
        {math::cosh, 0.0F, 1.0F},
        {math::tanh, inf, 1.0F},
        {math::tanh, -greatest, -1.0F},
    });
}

TEST_CASE("logarithms of 0 are -infinity and there are none below", "[math][unit]") {
    for (const OfOne function : {OfOne{math::log}, OfOne{math::log2}, OfOne{math::log10}}) {
        CHECK(image(function(0.0F)) == image(-inf));
        CHECK(image(function(-0.0F)) == image(-inf));
        CHECK(image(function(-least)) == 0x7fc00000);
        CHECK(image(function(-inf)) == 0x7fc00000);
        CHECK(image(function(inf)) == image(inf));
        CHECK(image(function(1.0F)) == 0);
    }
    for (int exponent = -149; exponent < 128; ++exponent) {
        CHECK(math::log2(math::exp2(static_cast<float>(exponent))) == static_cast<float>(exponent));
    }
    check({
        {math::log10, 1e10F, 10.0F},
        {math::log1p, -1.0F, -inf},
        {math::log1p, -0x1.000002p+0F, no_number},
        {math::log1p, inf, inf},
        {math::log1p, -inf, no_number},
    });
}

TEST_CASE("roots of numbers without one, of zeros and of infinity", "[math][unit]") {
    check({
        {math::sqrt, -0.0F, -0.0F},
        {math::sqrt, -least, no_number},
        {math::sqrt, inf, inf},
        {math::sqrt, 9.0F, 3.0F},
        {math::rsqrt, 0.0F, inf},
        {math::rsqrt, -0.0F, -inf},
        {math::rsqrt, -1.0F, no_number},
        {math::rsqrt, inf, 0.0F},
        {math::rsqrt, 0.25F, 2.0F},
        {math::cbrt, -27.0F, -3.0F},
        {math::cbrt, -inf, -inf},
    });
    check({
        {math::hypot, no_number, -inf, inf},
        {math::hypot, inf, no_number, inf},
        {math::hypot, -0.0F, -0.0F, 0.0F},
        {math::hypot, -3.0F, 4.0F, 5.0F},
        {math::hypot, greatest, greatest, inf},
        {math::hypot, 0.0F, -least, least},
    });
}

TEST_CASE("atan2 at zeros and infinities", "[math][unit]") {
    check({
        {math::atan2, 0.0F, -0.0F, pi},
        {math::atan2, -0.0F, -0.0F, -pi},
        {math::atan2, 0.0F, 0.0F, 0.0F},
        {math::atan2, -0.0F, 0.0F, -0.0F},
        {math::atan2, -0.0F, -1.0F, -pi},
        {math::atan2, 0.0F, 1.0F, 0.0F},
        {math::atan2, -1.0F, 0.0F, -pi / 2},
        {math::atan2, 1.0F, -0.0F, pi / 2},
        {math::atan2, 1.0F, -inf, pi},
        {math::atan2, -1.0F, inf, -0.0F},
        {math::atan2, inf, -1.0F, pi / 2},
        {math::atan2, inf, -inf, 0x1.2d97c8p+1F},
        {math::atan2, -inf, inf, -pi / 4},
        {math::atan2, least, greatest, 0.0F},
        {math::atan2, least, -greatest, pi},
    });
}

TEST_CASE("pow at zeros, ones and infinities", "[math][unit]") {
    check({
        {math::pow, no_number, 0.0F, 1.0F},     {math::pow, 1.0F, no_number, 1.0F},
        {math::pow, -1.0F, inf, 1.0F},          {math::pow, -1.0F, -inf, 1.0F},
        {math::pow, 0.0F, -3.0F, inf},          {math::pow, -0.0F, -3.0F, -inf},
        {math::pow, -0.0F, -2.0F, inf},         {math::pow, -0.0F, 3.0F, -0.0F},
        {math::pow, -0.0F, 0.5F, 0.0F},         {math::pow, -0.0F, -inf, inf},
        {math::pow, 0.5F, -inf, inf},           {math::pow, 2.0F, -inf, 0.0F},
        {math::pow, -0.5F, inf, 0.0F},          {math::pow, -2.0F, inf, inf},
        {math::pow, -inf, -3.0F, -0.0F},        {math::pow, -inf, -2.0F, 0.0F},
        {math::pow, -inf, 3.0F, -inf},          {math::pow, -inf, 0.5F, inf},
        {math::pow, inf, -least, 0.0F},         {math::pow, inf, least, inf},
        {math::pow, -8.0F, 0x1p-1F, no_number}, {math::pow, -2.0F, 3.0F, -8.0F},
        {math::pow, -2.0F, 4.0F, 16.0F},        {math::pow, -1.0F, 0x1.fffffep+23F, -1.0F},
        {math::pow, -1.0F, 0x1p+24F, 1.0F},     {math::pow, greatest, greatest, inf},
        {math::pow, -greatest, 3.0F, -inf},     {math::pow, least, 2.0F, 0.0F},
        {math::pow, -least, 3.0F, -0.0F},       {math::pow, 0x1p-75F, 2.0F, 0.0F},
        {math::pow, 0x1.8p-75F, 2.0F, least},   {math::pow, 0x1p-50F, 3.0F, 0.0F},
    });
}

TEST_CASE("powers that lie exactly between two floats go to the even one", "[math][unit]") {
    // 4097^2 = 2^24 + 8193 has 25 bits; 5793^2 too; 317^3 too; 25 bits also as a root.
    CHECK(math::pow(4097.0F, 2.0F) == 16785408.0F);
    CHECK(math::pow(5791.0F, 2.0F) == 33535680.0F);
    CHECK(math::pow(317.0F, 3.0F) == 31855012.0F);
    CHECK(math::pow(100489.0F, 1.5F) == 31855012.0F); // 317^2
    CHECK(math::pow(-317.0F, 3.0F) == -31855012.0F);
    // Halfway among subnormals: 3 * 2^-150.
    CHECK(math::pow(0x1.8p-149F, 1.0F) == 0x1p-148F);
}

// What is computed by the compiler is what is computed at run time.
static_assert(image(math::sin(1.0F)) == 0x3f576aa4);
static_assert(image(math::exp(1.0F)) == 0x402df854);
static_assert(image(math::log(10.0F)) == 0x40135d8e);
static_assert(image(math::pow(2.0F, 0.5F)) == 0x3fb504f3);
static_assert(image(math::hypot(1.0F, 1.0F)) == 0x3fb504f3);
static_assert(image(math::rsqrt(2.0F)) == 0x3f3504f3);
static_assert(image(math::cbrt(27.0F)) == image(3.0F));
static_assert(image(math::atan2(1.0F, 1.0F)) == 0x3f490fdb);
static_assert(image(math::acos(0.5F)) == 0x3f860a92);
static_assert(math::exp(1000.0F) == inf);

TEST_CASE("square roots of the compiler's are those of the CPU", "[math][unit]") {
    for (std::uint32_t bits = 1; bits < 0x7f800000; bits += 19997) {
        const double x = static_cast<double>(std::bit_cast<float>(bits)) * 0x1.00000020000005p+0;
        REQUIRE(std::bit_cast<std::uint64_t>(math::detail::sqrt_in_integers(x)) ==
                std::bit_cast<std::uint64_t>(math::detail::sqrt(x)));
    }
}
