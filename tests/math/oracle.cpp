// SPDX-License-Identifier: MIT
// The oracle: MPFR for results, the C library for what is next to them.
#include "oracle.hpp"

#include <mpfr.h>

#include <limits>
#include <stdexcept>
#include <string>

namespace math_sweep {

namespace {

using Unary = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
using Binary = int (*)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

struct Entry {
    std::string_view name;
    Unary unary;
    Binary binary;
    Approximation approximation;
};

int rsqrt_with_sign(mpfr_t result, const mpfr_t x, mpfr_rnd_t mode) {
    const int inexact = mpfr_rec_sqrt(result, x, mode);
    if (mpfr_zero_p(x) != 0) { // MPFR gives +infinity for -0; IEEE 754 keeps the sign
        mpfr_set_inf(result, mpfr_signbit(x) != 0 ? -1 : 1);
    }
    return inexact;
}

double exp10_of(double x, double) {
#if defined(__GLIBC__)
    return ::exp10(x);
#else
    return std::numeric_limits<double>::quiet_NaN();
#endif
}

constexpr Entry entries[] = {
    {"acos", mpfr_acos, nullptr, [](double x, double) { return std::acos(x); }},
    {"asin", mpfr_asin, nullptr, [](double x, double) { return std::asin(x); }},
    {"atan", mpfr_atan, nullptr, [](double x, double) { return std::atan(x); }},
    {"atan2", nullptr, mpfr_atan2, [](double y, double x) { return std::atan2(y, x); }},
    {"cbrt", mpfr_cbrt, nullptr, [](double x, double) { return std::cbrt(x); }},
    {"cos", mpfr_cos, nullptr, [](double x, double) { return std::cos(x); }},
    {"cosh", mpfr_cosh, nullptr, [](double x, double) { return std::cosh(x); }},
    {"exp", mpfr_exp, nullptr, [](double x, double) { return std::exp(x); }},
    {"exp10", mpfr_exp10, nullptr, exp10_of},
    {"exp2", mpfr_exp2, nullptr, [](double x, double) { return std::exp2(x); }},
    {"expm1", mpfr_expm1, nullptr, [](double x, double) { return std::expm1(x); }},
    {"hypot", nullptr, mpfr_hypot, [](double x, double y) { return std::hypot(x, y); }},
    {"log", mpfr_log, nullptr, [](double x, double) { return std::log(x); }},
    {"log10", mpfr_log10, nullptr, [](double x, double) { return std::log10(x); }},
    {"log1p", mpfr_log1p, nullptr, [](double x, double) { return std::log1p(x); }},
    {"log2", mpfr_log2, nullptr, [](double x, double) { return std::log2(x); }},
    {"pow", nullptr, mpfr_pow, [](double x, double y) { return std::pow(x, y); }},
    {"rsqrt", rsqrt_with_sign, nullptr, [](double x, double) { return 1 / std::sqrt(x); }},
    {"sin", mpfr_sin, nullptr, [](double x, double) { return std::sin(x); }},
    {"sinh", mpfr_sinh, nullptr, [](double x, double) { return std::sinh(x); }},
    {"sqrt", mpfr_sqrt, nullptr, [](double x, double) { return std::sqrt(x); }},
    {"tan", mpfr_tan, nullptr, [](double x, double) { return std::tan(x); }},
    {"tanh", mpfr_tanh, nullptr, [](double x, double) { return std::tanh(x); }},
};

const Entry& entry_of(std::string_view name) {
    for (const Entry& entry : entries) {
        if (entry.name == name) {
            return entry;
        }
    }
    throw std::invalid_argument("no oracle for " + std::string(name));
}

/// A double's own range of exponents, and one that holds whatever a function of floats gives.
constexpr mpfr_exp_t wide_exponent = 1 << 20;

} // namespace

Approximation approximation_of(std::string_view function) {
    return entry_of(function).approximation;
}

struct Mpfr::Numbers {
    const Entry* entry;
    mpfr_t x;
    mpfr_t y;
    mpfr_t as_float;
    mpfr_t precise;

    int call(mpfr_t result) const {
        return entry->unary != nullptr ? entry->unary(result, x, MPFR_RNDN)
                                       : entry->binary(result, x, y, MPFR_RNDN);
    }

    void set(float first, float second) {
        mpfr_set_d(x, static_cast<double>(first), MPFR_RNDN);
        mpfr_set_d(y, static_cast<double>(second), MPFR_RNDN);
    }
};

Mpfr::Mpfr(std::string_view function)
    : numbers_(new Numbers) {
    numbers_->entry = &entry_of(function);
    mpfr_inits2(24, numbers_->x, numbers_->y, numbers_->as_float, static_cast<mpfr_ptr>(nullptr));
    mpfr_init2(numbers_->precise, 160);
}

Mpfr::~Mpfr() {
    mpfr_clears(numbers_->x,
                numbers_->y,
                numbers_->as_float,
                numbers_->precise,
                static_cast<mpfr_ptr>(nullptr));
    delete numbers_;
}

float Mpfr::rounded(float x, float y) {
    // The exponents of floats, subnormal ones included, as MPFR counts them: then overflow and
    // subnormal results are rounded as IEEE 754 wants it.
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    numbers_->set(x, y);
    const int inexact = numbers_->call(numbers_->as_float);
    mpfr_subnormalize(numbers_->as_float, inexact, MPFR_RNDN);
    if (mpfr_nan_p(numbers_->as_float) != 0) {
        return std::bit_cast<float>(0x7fc00000U);
    }
    return mpfr_get_flt(numbers_->as_float, MPFR_RNDN);
}

double Mpfr::error_of(double approximation, float x, float y) {
    mpfr_set_emin(-wide_exponent);
    mpfr_set_emax(wide_exponent);
    numbers_->set(x, y);
    numbers_->call(numbers_->precise);
    const bool is_plain =
        mpfr_number_p(numbers_->precise) != 0 && mpfr_zero_p(numbers_->precise) == 0;
    if (!is_plain || mpfr_get_exp(numbers_->precise) > 1000 ||
        mpfr_get_exp(numbers_->precise) < -1000) {
        return 0;
    }
    mpfr_t error;
    mpfr_init2(error, 160);
    mpfr_d_sub(error, approximation, numbers_->precise, MPFR_RNDN);
    mpfr_div(error, error, numbers_->precise, MPFR_RNDN);
    const double result = std::abs(mpfr_get_d(error, MPFR_RNDN)) * 0x1p+52;
    mpfr_clear(error);
    return result;
}

} // namespace math_sweep
