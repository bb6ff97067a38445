// SPDX-License-Identifier: MIT
// Fixed point: every operation against exact integers of 128 bits, every policy at its edges.
#include "assertion_of.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"

#include "twinstep/sim/fixed.hpp"
#include "twinstep/sim/tracked.hpp"

#include <catch2/catch.hpp>

#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace twinstep;

namespace {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// --- the oracle: exact integers, rounded and narrowed by the definition ---

Int128 nearest_quotient(Int128 numerator, Int128 denominator) {
    if (denominator < 0) {
        numerator = -numerator;
        denominator = -denominator;
    }
    Int128 below = numerator / denominator;
    Int128 rest = numerator % denominator;
    if (rest < 0) {
        below -= 1;
        rest += denominator;
    }
    const Int128 missing = denominator - rest;
    const bool up = rest > missing || (rest == missing && below % 2 != 0);
    return below + (up ? 1 : 0);
}

template <class Raw>
bool in_range_of(Int128 exact) {
    return exact >= std::numeric_limits<Raw>::min() && exact <= std::numeric_limits<Raw>::max();
}

/// What every policy has to make of one exact result.
template <class Checked, class Operation>
void require_result(Int128 exact, const Operation& operation) {
    using Raw = typename Checked::Raw;
    using Saturating = typename Checked::template With<Overflow::saturate>;
    using Wrapping = typename Checked::template With<Overflow::wrap>;
    const Raw wrapped = static_cast<Raw>(static_cast<std::uint64_t>(exact));
    REQUIRE(operation(Wrapping{}).raw() == wrapped);
    if (in_range_of<Raw>(exact)) {
        REQUIRE(operation(Checked{}).raw() == wrapped);
        REQUIRE(operation(Saturating{}).raw() == wrapped);
    } else {
        const Raw end =
            exact < 0 ? std::numeric_limits<Raw>::min() : std::numeric_limits<Raw>::max();
        REQUIRE(operation(Saturating{}).raw() == end);
    }
}

/// All sizes alike, and the ends and what is next to them often.
template <class Raw>
Raw any_raw(TestRandom& random) {
    constexpr int width = 8 * sizeof(Raw);
    if (random.below(8) == 0) {
        const Raw ends[] = {0,
                            1,
                            -1,
                            2,
                            -2,
                            std::numeric_limits<Raw>::max(),
                            std::numeric_limits<Raw>::min(),
                            std::numeric_limits<Raw>::min() + 1,
                            std::numeric_limits<Raw>::max() - 1,
                            Raw{1} << (width / 2),
                            -(Raw{1} << (width / 2)),
                            Raw{1} << (width - 2),
                            Raw{3} << (width / 2 - 1)};
        return ends[random.below(std::size(ends))];
    }
    // An arithmetic shift keeps the sign and shortens.
    auto raw = static_cast<Raw>(static_cast<std::int64_t>(random.bits()) >> (64 - width));
    raw = static_cast<Raw>(raw >> random.below(width));
    // Zeros behind make ties.
    return static_cast<Raw>(raw & ~((Raw{1} << random.below(width / 2)) - 1));
}

template <class Checked>
void compare_arithmetic(int rounds) {
    using Raw = typename Checked::Raw;
    constexpr int f = Checked::fraction_bits;
    TestRandom random(test_seed() + f);
    for (int i = 0; i < rounds; ++i) {
        const Raw a = any_raw<Raw>(random);
        const Raw b = any_raw<Raw>(random);
        CAPTURE(f, a, b);
        const Int128 wide_a = a;
        const Int128 wide_b = b;
        const auto with = [&](auto operation) {
            return [&, operation](auto form) {
                using Form = decltype(form);
                return operation(Form::from_raw(a), Form::from_raw(b));
            };
        };
        require_result<Checked>(wide_a + wide_b, with([](auto x, auto y) { return x + y; }));
        require_result<Checked>(wide_a - wide_b, with([](auto x, auto y) { return x - y; }));
        require_result<Checked>(-wide_a, with([](auto x, auto) { return -x; }));
        require_result<Checked>(wide_a < 0 ? -wide_a : wide_a,
                                with([](auto x, auto) { return abs(x); }));
        require_result<Checked>(nearest_quotient(wide_a * wide_b, Int128{1} << f),
                                with([](auto x, auto y) { return x * y; }));
        require_result<Checked>(wide_a * wide_b, with([b](auto x, auto) { return x * b; }));
        require_result<Checked>(wide_a * wide_b, with([b](auto x, auto) { return b * x; }));
        if (b != 0) {
            const Int128 exact = nearest_quotient(wide_a * (Int128{1} << f), wide_b);
            require_result<Checked>(exact, with([](auto x, auto y) { return x / y; }));
            require_result<Checked>(exact, with([a, b](auto x, auto) { return x.ratio(a, b); }));
            require_result<Checked>(nearest_quotient(wide_a, wide_b),
                                    with([b](auto x, auto) { return x / b; }));
        }
        const Checked x = Checked::from_raw(a);
        const Checked y = Checked::from_raw(b);
        REQUIRE((x < y) == (a < b));
        REQUIRE((x == y) == (a == b));
        REQUIRE(min(x, y).raw() == std::min(a, b));
        REQUIRE(max(x, y).raw() == std::max(a, b));
        const Int128 one = Int128{1} << f;
        REQUIRE(x.round() == nearest_quotient(a, one));
        REQUIRE(x.floor() == (wide_a - ((wide_a % one) + one) % one) / one);
        REQUIRE(x.ceil() == -(-wide_a - ((-wide_a % one) + one) % one) / one);
        REQUIRE(x.truncate() == wide_a / one);
    }
}

} // namespace

TEST_CASE("arithmetic of fixed point is the exact result, rounded and narrowed",
          "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    compare_arithmetic<Q16x16>(20000);
    compare_arithmetic<Fixed<std::int32_t, 1>>(5000);
    compare_arithmetic<Fixed<std::int32_t, 30>>(5000);
    compare_arithmetic<Q32x32>(20000);
    compare_arithmetic<Fixed<std::int64_t, 1>>(5000);
    compare_arithmetic<Fixed<std::int64_t, 20>>(5000);
}

TEST_CASE("integers of 128 bits are multiplied and divided exactly", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const auto any = [&random] {
        std::uint64_t value = random.bits() >> random.below(64);
        // Runs of ones and zeros are where guesses of a quotient's digit are too great.
        value |= random.below(3) == 0 ? ~std::uint64_t{0} << random.below(64) : 0;
        return random.below(3) == 0 ? value & 0xFFFFFFFF00000000 : value;
    };
    int corrected = 0;
    for (int i = 0; i < 200000; ++i) {
        const std::uint64_t a = any();
        const std::uint64_t b = any();
        const std::uint64_t divisor = any() | 1;
        const detail::Wide product = detail::multiply(a, b);
        const UInt128 exact = UInt128{a} * b;
        REQUIRE(product.high == static_cast<std::uint64_t>(exact >> 64));
        REQUIRE(product.low == static_cast<std::uint64_t>(exact));
        const auto signed_a = static_cast<std::int64_t>(a);
        const auto signed_b = static_cast<std::int64_t>(b);
        const detail::Wide signed_product = detail::multiply(signed_a, signed_b);
        const auto signed_exact = static_cast<UInt128>(Int128{signed_a} * signed_b);
        REQUIRE(signed_product.high == static_cast<std::uint64_t>(signed_exact >> 64));
        REQUIRE(signed_product.low == static_cast<std::uint64_t>(signed_exact));
        const detail::Wide dividend{a % divisor, b};
        const UInt128 whole = (UInt128{dividend.high} << 64) | b;
        const auto [quotient, remainder] = detail::divide(dividend, divisor);
        REQUIRE(quotient == static_cast<std::uint64_t>(whole / divisor));
        REQUIRE(remainder == static_cast<std::uint64_t>(whole % divisor));
        const std::uint64_t scaled = divisor << std::countl_zero(divisor);
        const std::uint64_t rest = a % scaled;
        corrected +=
            rest / (scaled >> 32) != detail::divide_digit(rest, b >> 32, scaled).quotient ? 1 : 0;
    }
    REQUIRE(corrected > 1000); // the way that is seldom taken was taken
}

namespace {

/// Floats of all sizes that matter, with mantissas that make ties.
double any_double(TestRandom& random) {
    std::uint64_t mantissa = random.bits() >> (11 + random.below(53));
    mantissa <<= random.below(static_cast<std::size_t>(std::countl_zero(mantissa | 1)));
    const double value =
        std::ldexp(static_cast<double>(mantissa >> 11), static_cast<int>(random.below(180)) - 140);
    return random.below(2) == 0 ? value : -value;
}

template <class Checked>
void compare_floats(int rounds) {
    using Raw = typename Checked::Raw;
    constexpr int f = Checked::fraction_bits;
    TestRandom random(test_seed() + f);
    int ties = 0;
    for (int i = 0; i < rounds; ++i) {
        const double value = any_double(random);
        CAPTURE(f, value);
        const double scaled = std::ldexp(value, f); // exact
        ties += std::fabs(scaled - std::trunc(scaled)) == 0.5 ? 1 : 0;
        const auto exact = static_cast<Int128>(std::nearbyint(scaled));
        require_result<Checked>(exact, [&](auto form) { return form.nearest(value); });
        const auto single = static_cast<float>(value);
        const auto exact_single =
            static_cast<Int128>(std::nearbyint(std::ldexp(static_cast<double>(single), f)));
        require_result<Checked>(exact_single, [&](auto form) { return form.nearest(single); });

        const Raw raw = any_raw<Raw>(random);
        const Checked x = Checked::from_raw(raw);
        REQUIRE(x.to_double() == std::ldexp(static_cast<double>(raw), -f));
        REQUIRE(x.to_float() == std::ldexp(static_cast<float>(raw), -f));
        // What is exact comes back.
        if (static_cast<Int128>(static_cast<double>(raw)) == Int128{raw}) {
            REQUIRE(Checked::nearest(x.to_double()) == x);
        }
    }
    REQUIRE(ties > rounds / 1000);
}

} // namespace

TEST_CASE("floats become the nearest fixed-point number and back", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    compare_floats<Q16x16>(50000);
    compare_floats<Fixed<std::int32_t, 30>>(20000);
    compare_floats<Q32x32>(50000);
    compare_floats<Fixed<std::int64_t, 1>>(20000);
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

TEST_CASE("integers and other forms become fixed point by policy", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (int i = 0; i < 20000; ++i) {
        const auto integer = any_raw<std::int64_t>(random);
        const auto other = any_raw<std::int32_t>(random);
        CAPTURE(integer, other);
        const Int128 wide = integer;
        require_result<Q16x16>(wide << 16, [&](auto form) { return decltype(form){integer}; });
        require_result<Q32x32>(wide << 32, [&](auto form) { return decltype(form){integer}; });
        require_result<Q32x32>(Int128{static_cast<std::uint64_t>(integer)} << 32, [&](auto form) {
            return decltype(form){static_cast<std::uint64_t>(integer)};
        });
        // From 32 bits behind the point to 16, and back.
        require_result<Q16x16>(nearest_quotient(wide, 1 << 16), [&](auto form) {
            return decltype(form){Q32x32::from_raw(integer)};
        });
        require_result<Q32x32>(Int128{other} << 16,
                               [&](auto form) { return decltype(form){Q16x16::from_raw(other)}; });
        require_result<Fixed<std::int32_t, 30>>(Int128{other} << 14, [&](auto form) {
            return decltype(form){Q16x16::from_raw(other)};
        });
    }
}

TEST_CASE("the square root is the nearest, whatever mode the thread is in", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const auto require_root = [](auto x) {
        using Form = decltype(x);
        // The root r in raw is nearest to sqrt(n): r - 1/2 < sqrt(n) < r + 1/2.
        const Int128 n = Int128{x.raw()} << Form::fraction_bits;
        const Int128 r = sqrt(x).raw();
        REQUIRE((r == 0 || (2 * r - 1) * (2 * r - 1) < 4 * n));
        REQUIRE(4 * n < (2 * r + 1) * (2 * r + 1));
    };
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 50000; ++i) {
        const auto narrow = any_raw<std::int32_t>(random) & INT32_MAX;
        const auto wide = any_raw<std::int64_t>(random) & INT64_MAX;
        CAPTURE(narrow, wide);
        std::fesetround(modes[i % 4]);
        const Q32x32 x = Q32x32::from_raw(wide);
        const float single = x.to_float();
        const Q32x32 root = sqrt(x);
        require_root(Q16x16::from_raw(narrow));
        require_root(Fixed<std::int32_t, 1>::from_raw(narrow));
        require_root(x);
        require_root(Fixed<std::int64_t, 1>::from_raw(wide));
        std::fesetround(FE_TONEAREST);
        REQUIRE(single == std::ldexp(static_cast<float>(wide), -32));
        REQUIRE(root == sqrt(x));
        // Squares have their root, and the last that fits too.
        const Q32x32 side = Q32x32::from_raw((wide >> 32) << 16);
        REQUIRE(sqrt(side * side) == side);
    }
    REQUIRE(sqrt(Q16x16{}) == Q16x16{});
    REQUIRE(sqrt(Q32x32::highest()) == Q32x32::from_raw(199032864766430));
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

TEST_CASE("fixed point as text is the shortest that reads back", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const auto require_shortest = [](auto x) {
        using Form = decltype(x);
        // With long doubles, text of 32 fraction bits reads exactly enough.
        const auto read = [](const std::string& text) {
            const long double scaled =
                std::ldexp(std::strtold(text.c_str(), nullptr), Form::fraction_bits);
            return static_cast<Int128>(std::nearbyint(scaled));
        };
        const std::string text = to_string(x);
        CAPTURE(text, x.raw());
        REQUIRE(read(text) == Int128{x.raw()});
        const std::size_t point = text.find('.');
        if (point == std::string::npos) {
            return;
        }
        REQUIRE(text.back() != '0');
        // Neither neighbour with a digit less will do.
        const std::string cut = text.substr(0, text.size() - 1);
        REQUIRE(read(cut) != Int128{x.raw()});
        const long double step = std::pow(10.0L, -static_cast<long double>(cut.size() - point - 1));
        const long double next = std::strtold(cut.c_str(), nullptr) + (x.raw() < 0 ? -step : step);
        REQUIRE(static_cast<Int128>(std::nearbyint(std::ldexp(next, Form::fraction_bits))) !=
                Int128{x.raw()});
    };
    for (int i = 0; i < 20000; ++i) {
        require_shortest(Q16x16::from_raw(any_raw<std::int32_t>(random)));
        require_shortest(Q32x32::from_raw(any_raw<std::int64_t>(random) >> 8));
        require_shortest(Fixed<std::int32_t, 1>::from_raw(any_raw<std::int32_t>(random)));
        require_shortest(Fixed<std::int32_t, 30>::from_raw(any_raw<std::int32_t>(random)));
    }
    REQUIRE(to_string(Q16x16::nearest(-0.1)) == "-0.1");
    REQUIRE(to_string(Q16x16::lowest()) == "-32768");
    REQUIRE(to_string(Q16x16::highest()) == "32767.99998");
    REQUIRE(to_string(Q32x32::lowest()) == "-2147483648");
    REQUIRE(to_string(Q32x32::ratio(1, 3)) == "0.3333333333");
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
