// SPDX-License-Identifier: MIT
// What the functions of sim/math have to give: the C library in doubles where that settles it, MPFR
// where it does not.
#pragma once

#include "functions.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace math_sweep {

/// The results that are right, from MPFR's correctly rounded functions. One object a thread.
class Mpfr {
public:
    explicit Mpfr(std::string_view function);
    ~Mpfr();
    Mpfr(const Mpfr&) = delete;
    Mpfr& operator=(const Mpfr&) = delete;

    /// The float nearest to the true value; 7fc00000 for NaN.
    float rounded(float x, float y);

    /// |approximation / true value - 1| in units of 2^-52; 0 where the true value is not a number
    /// that is finite and not 0.
    double error_of(double approximation, float x, float y);

private:
    struct Numbers;
    Numbers* numbers_;
};

/// A double next to the true value: the C library's.
using Approximation = double (*)(double, double);
Approximation approximation_of(std::string_view function);

/// How far a result of the C library is believed to be off at most, in units of 2^-52 of itself.
/// glibc's manual states at most 4 for any of these functions, and error_of() measures, in each
/// sweep, that it is below trusted_error / 16 for one case in 65,521.
inline constexpr double trusted_error = 1024;

/// Whether all numbers that the true value can be round to the same float; then that is `expected`.
inline bool is_settled(double approximation, float& expected) {
    if (approximation != approximation) {
        expected = std::bit_cast<float>(0x7fc00000U);
        return true;
    }
    if (std::abs(approximation) > 0x1p+130) { // an infinity would make its reach a NaN
        approximation = std::copysign(0x1p+130, approximation);
    }
    const double reach = std::abs(approximation) * (trusted_error * 0x1p-52);
    expected = static_cast<float>(approximation - reach);
    return std::bit_cast<std::uint32_t>(expected) ==
           std::bit_cast<std::uint32_t>(static_cast<float>(approximation + reach));
}

} // namespace math_sweep
