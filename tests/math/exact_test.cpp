// SPDX-License-Identifier: MIT
// The exact ways of sim/math against MPFR: pow and atan2 rest on their being as exact as they say.
#include "test_random.hpp"

#include "twinstep/sim/math.hpp"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace {

namespace detail = twinstep::math::detail;

/// A number of MPFR, 240 bits.
struct Precise {
    Precise() { mpfr_init2(value, 240); }

    explicit Precise(const detail::Twofold& from)
        : Precise() {
        mpfr_set_d(value, from.hi, MPFR_RNDN);
        mpfr_add_d(value, value, from.lo, MPFR_RNDN);
    }

    ~Precise() { mpfr_clear(value); }

    Precise(const Precise&) = delete;
    Precise& operator=(const Precise&) = delete;

    mpfr_t value; // written to by MPFR alone
};

/// log2 of |got / expected - 1|, -1000 if they are equal.
double error_exponent(const detail::Twofold& got, const Precise& expected) {
    Precise difference(got);
    mpfr_sub(difference.value, difference.value, expected.value, MPFR_RNDN);
    if (mpfr_zero_p(difference.value) != 0) {
        return -1000;
    }
    mpfr_div(difference.value, difference.value, expected.value, MPFR_RNDN);
    return std::log2(std::abs(mpfr_get_d(difference.value, MPFR_RNDN)));
}

/// A positive float whose exponent is uniform in [low, high), as a double.
double random_double(TestRandom& random, int low, int high) {
    const auto exponent =
        low + static_cast<int>(random.below(static_cast<std::size_t>(high - low)));
    return std::ldexp(static_cast<double>((random.bits() >> 41) | 0x800000), exponent - 23);
}

constexpr int rounds = 20'000;

} // namespace

TEST_CASE("logarithms are off by less than 2^-98 of themselves", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    double worst = -1000;
    for (int i = 0; i < rounds; ++i) {
        const double near_one =
            1.0 + (static_cast<double>(random.below(1U << 20)) - 0x1p+19) * 0x1p-24;
        const double x = i % 2 == 0 ? random_double(random, -149, 128) : near_one;
        if (x == 1.0) {
            continue;
        }
        Precise expected;
        mpfr_set_d(expected.value, x, MPFR_RNDN);
        mpfr_log(expected.value, expected.value, MPFR_RNDN);
        worst = std::max(worst, error_exponent(detail::exact_log({x, 0.0}), expected));
    }
    CAPTURE(worst);
    CHECK(worst < -98);
    CHECK(worst > -110); // measured something
}

TEST_CASE("powers of 2 are off by less than 2^-96 of themselves", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    double worst = -1000;
    for (int i = 0; i < rounds; ++i) {
        const double steps = (static_cast<double>(random.bits() >> 11) * 0x1p-53 - 0.5) * 0x1p+15;
        const detail::Twofold both = detail::quick_sum(steps, random_double(random, -60, -41));
        Precise expected(both);
        mpfr_div_ui(expected.value, expected.value, 128, MPFR_RNDN);
        mpfr_exp2(expected.value, expected.value, MPFR_RNDN);
        worst = std::max(worst, error_exponent(detail::exact_exp_of_steps(both), expected));
    }
    CAPTURE(worst);
    CHECK(worst < -96);
    CHECK(worst > -110);
}

TEST_CASE("arc tangents are off by less than 2^-96 of themselves", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    double worst = -1000;
    for (int i = 0; i < rounds; ++i) {
        const double x = random_double(random, -5, 6);
        const double y = random_double(random, i % 2 == 0 ? -30 : -5, 6);
        Precise expected;
        Precise divisor({x, 0.0});
        mpfr_set_d(expected.value, y, MPFR_RNDN);
        const double signed_x = i % 3 == 0 ? -x : x;
        mpfr_set_d(divisor.value, signed_x, MPFR_RNDN);
        mpfr_atan2(expected.value, expected.value, divisor.value, MPFR_RNDN);
        worst = std::max(worst,
                         error_exponent(detail::exact_angle({y, 0.0}, {signed_x, 0.0}), expected));
    }
    CAPTURE(worst);
    CHECK(worst < -96);
    CHECK(worst > -110);
}

TEST_CASE("sines and cosines of any float are off by less than 2^-95", "[math][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    double worst = -1000;
    for (int i = 0; i < rounds; ++i) {
        const double x = random_double(random, -12, 128);
        const detail::ExactSinCos both = detail::exact_sincos(static_cast<float>(x));
        Precise sine({x, 0.0});
        Precise cosine;
        mpfr_sin_cos(sine.value, cosine.value, sine.value, MPFR_RNDN);
        worst = std::max({worst, error_exponent(both.sin, sine), error_exponent(both.cos, cosine)});
    }
    CAPTURE(worst);
    CHECK(worst < -95);
    CHECK(worst > -110);
}
