// SPDX-License-Identifier: MIT
// Fixed point: golden results for every target, every policy at its edges, and its forms in a
// state.
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/fixed.hpp"
#include "twinstep/sim/tracked.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

/// The results of all operations on so many pairs of numbers of all sizes, as one number.
template <class Number>
std::uint64_t digest_of_operations(int rounds) {
    using Raw = typename Number::Raw;
    TestRandom random(1); // always
    std::uint64_t digest = 0;
    const auto take = [&digest](std::uint64_t value) {
        digest = (digest ^ value) * 0x9E3779B97F4A7C15;
        digest ^= digest >> 29;
    };
    const auto any = [&random] {
        const auto bits = static_cast<std::int64_t>(random.bits());
        return Number::from_raw(static_cast<Raw>(bits >> random.below(64)));
    };
    for (int i = 0; i < rounds; ++i) {
        const Number a = any();
        const Number b = any();
        const Number small = b == Number{} ? Number::smallest() : b;
        for (const Number result :
             {a + b, a - b, a * b, a / small, -a, abs(b), a * 3, a / 7, sqrt(abs(a + b))}) {
            take(static_cast<std::uint64_t>(result.raw()));
        }
        take(static_cast<std::uint64_t>(a.round()));
        take(math::detail::bits(a.to_float()));
        take(math::detail::bits(a.to_double()));
        take(static_cast<std::uint64_t>(Number::nearest(a.to_double() * 0.37).raw()));
        for (const char c : to_string(a)) {
            take(static_cast<std::uint64_t>(c));
        }
    }
    return digest;
}

} // namespace

TEST_CASE("fixed point computes the same on every target", "[sim][golden]") {
    REQUIRE(digest_of_operations<Q16x16::With<Overflow::saturate>>(5000) == 0x53D6DD347E4FD844);
    REQUIRE(digest_of_operations<Q32x32::With<Overflow::saturate>>(5000) == 0x253549DFF1FAA740);
    REQUIRE(digest_of_operations<Fixed<std::int64_t, 7, Overflow::saturate>>(5000) ==
            0xB029F820EF17ECC8);
}

TEST_CASE("what no fixed-point number is near to is treated by policy", "[sim][unit]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    using Saturating = Q16x16::With<Overflow::saturate>;
    using Wrapping = Q16x16::With<Overflow::wrap>;
    REQUIRE(Saturating::nearest(nan) == Saturating{});
    REQUIRE(Saturating::nearest(-std::numeric_limits<float>::quiet_NaN()) == Saturating{});
    REQUIRE(Saturating::nearest(infinity) == Saturating::highest());
    REQUIRE(Saturating::nearest(-infinity) == Saturating::lowest());
    REQUIRE(Saturating::nearest(1e300) == Saturating::highest());
    REQUIRE(Saturating::nearest(-1e300) == Saturating::lowest());
    REQUIRE(Wrapping::nearest(nan) == Wrapping{});
    REQUIRE(Wrapping::nearest(infinity) == Wrapping{});
    REQUIRE(Wrapping::nearest(65537.5) == Wrapping::nearest(1.5));
    REQUIRE(Wrapping::nearest(0x1p90) == Wrapping{});
    REQUIRE(Q16x16::nearest(std::numeric_limits<double>::denorm_min()) == Q16x16{});
    REQUIRE(Q16x16::nearest(-0.0) == Q16x16{});
    REQUIRE(Saturating{1} / Saturating{} == Saturating::highest());
    REQUIRE(Saturating{-1} / 0 == Saturating::lowest());
    REQUIRE(Saturating{} / Saturating{} == Saturating{});
    REQUIRE(sqrt(Saturating{-4}) == Saturating{});
    REQUIRE(-Saturating::lowest() == Saturating::highest());
    REQUIRE(-Wrapping::lowest() == Wrapping::lowest());
}

TEST_CASE("checked fixed point stops the program and names operation and operands", "[sim][unit]") {
    const Q16x16 big{30000};
    const std::string end = " is out of range";
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    REQUIRE(assertion_of([&] { static_cast<void>(big + big); }) ==
            "fixed point: the sum of 30000 and 30000" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(-big - big); }) ==
            "fixed point: the difference of -30000 and 30000" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(big * Q16x16::nearest(1.25)); }) ==
            "fixed point: the product of 30000 and 1.25" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(big / Q16x16::smallest()); }) ==
            "fixed point: the quotient of 30000 and 0.00002" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(big / Q16x16{}); }) ==
            "fixed point: the quotient of 30000 and 0" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(big * 2); }) ==
            "fixed point: the product of 30000 and 2" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(big / 0); }) ==
            "fixed point: the quotient of 30000 and 0" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(sqrt(-big)); }) ==
            "fixed point: the square root of -30000" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(Q16x16::ratio(70000, 2)); }) ==
            "fixed point: the ratio of 70000 and 2" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(-Q16x16::lowest()); }) ==
            "fixed point: the negation of -32768" + end);
    REQUIRE(assertion_of([] { Q16x16{32768}; }) == "fixed point: 32768" + end);
    REQUIRE(assertion_of([] { Q16x16{-32769}; }) == "fixed point: -32769" + end);
    REQUIRE(assertion_of([] { Q32x32{UINT64_MAX}; }) == "fixed point: 18446744073709551615" + end);
    REQUIRE(assertion_of([] { static_cast<void>(Q16x16{Q32x32::nearest(-40000.5)}); }) ==
            "fixed point: -40000.5" + end);
    REQUIRE(assertion_of([] { static_cast<void>(Q16x16::nearest(1e9)); }) ==
            "fixed point: 1e+09" + end);
    REQUIRE(assertion_of([&] { static_cast<void>(Q16x16::nearest(nan)); }) ==
            "fixed point: nan" + end);
    using Wrapping = Q16x16::With<Overflow::wrap>;
    REQUIRE(assertion_of([] { static_cast<void>(Wrapping{1} / Wrapping{}); }) ==
            "fixed point: the quotient of 1 and 0" + end);
    REQUIRE(assertion_of([] { static_cast<void>(sqrt(Wrapping{-1})); }) ==
            "fixed point: the square root of -1" + end);
}

TEST_CASE("fixed point is usable in constant expressions", "[sim][unit]") {
    static_assert(Q16x16{3} * Q16x16::ratio(1, 3) == Q16x16::from_raw(65535));
    static_assert(Q32x32{3} * Q32x32::ratio(1, 3) == Q32x32::from_raw(0xFFFFFFFF));
    static_assert(sqrt(Q32x32{2}) == Q32x32::nearest(1.4142135623730951));
    static_assert(Q16x16::nearest(-2.5F).round() == -2);
    static_assert(Q16x16::nearest(2.75).to_float() == 2.75F);
    static_assert(Q16x16::highest() + Q16x16{} == Q16x16::highest());
    static_assert(clamp(Q16x16{7}, Q16x16{1}, Q16x16{5}) == Q16x16{5});
    // No number slips in or out unasked.
    static_assert(!std::is_convertible_v<int, Q16x16>);
    static_assert(!std::is_convertible_v<double, Q16x16>);
    static_assert(!std::is_constructible_v<Q16x16, double>);
    static_assert(!std::is_constructible_v<Q16x16, bool>);
    static_assert(!std::is_convertible_v<Q16x16, double>);
    static_assert(!std::is_convertible_v<Q16x16, Q32x32>);
    const auto times = [](auto a, auto b) {
        return requires {
            a* b;
        };
    };
    static_assert(times(Q16x16{}, 2));
    static_assert(!times(Q16x16{}, 2.5));
    static_assert(!times(Q16x16{}, std::int64_t{2}));
    static_assert(!times(Q16x16{}, Q32x32{}));
    static_assert(!times(Q16x16{}, Q16x16::With<Overflow::wrap>{}));
    Q16x16 x{5};
    x += Q16x16{2};
    x *= Q16x16{3};
    x -= Q16x16{1};
    x /= Q16x16{8};
    REQUIRE(x == Q16x16::nearest(2.5));
    REQUIRE(Q16x16::ratio(1, 10) < Q16x16::ratio(1, 9));
}

namespace {

struct FixedState {
    Q16x16 x;
    Q32x32 y;
    std::vector<Q16x16> list;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(list));
    }
};

struct IntegerState {
    std::int32_t x = 0;
    std::int64_t y = 0;
    std::vector<std::int32_t> list;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(list));
    }
};

} // namespace

TEST_CASE("fixed point is saved, hashed and loaded as its integer", "[sim][unit]") {
    FixedState fixed{Q16x16::nearest(-1.5), Q32x32::ratio(1, 3), {Q16x16{1}, Q16x16::smallest()}};
    IntegerState integers{-98304, 1431655765, {65536, 1}};
    const Bytes bytes = bytes_of(fixed);
    REQUIRE(bytes == bytes_of(integers));
    REQUIRE(hash_of(fixed) == hash_of(integers));
    FixedState loaded;
    REQUIRE(load_from(bytes, loaded));
    REQUIRE(loaded.x == fixed.x);
    REQUIRE(loaded.y == fixed.y);
    REQUIRE(loaded.list == fixed.list);
    // Cut anywhere, it is refused.
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        FixedState cut;
        REQUIRE(refusal_of(ByteView(bytes).first(size), cut).starts_with("truncated"));
    }
    REQUIRE(schema_of(fixed) == "{x:q16.16,y:q32.32,list:[q16.16]}");
    REQUIRE(tree_of(fixed) == "{x:-1.5 y:0.3333333333 list[:1 :0.00002 ]}");
}

TEST_CASE("a list of fixed-point numbers may be tracked", "[sim][unit]") {
    TrackedVector<Q16x16> tracked(5000, Q16x16{2});
    TrackedVector<std::int32_t> integers(5000, 2 << 16);
    REQUIRE(hash_of(tracked) == hash_of(integers));
    tracked.write(4999) += Q16x16::smallest();
    REQUIRE(hash_of(tracked) != hash_of(integers));
    integers.write(4999) += 1;
    REQUIRE(hash_of(tracked) == hash_of(integers));
}
