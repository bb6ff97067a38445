// SPDX-License-Identifier: MIT
// Fixed point: every operation against exact integers of 128 bits, which 32-bit targets have not.
#include "test_random.hpp"

#include "twinstep/sim/fixed.hpp"

#include <catch2/catch.hpp>

#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

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
