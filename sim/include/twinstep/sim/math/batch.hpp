// SPDX-License-Identifier: MIT
// The functions of sim/math over lists of numbers. Each element is what the function of one number
// gives: all are correctly rounded, so the way there cannot show.
#pragma once

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/math/exponential.hpp"
#include "twinstep/sim/math/inverse.hpp"
#include "twinstep/sim/math/logarithm.hpp"
#include "twinstep/sim/math/power.hpp"
#include "twinstep/sim/math/root.hpp"
#include "twinstep/sim/math/trigonometric.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace twinstep::math {

namespace detail {

#if defined(TWINSTEP_MATH_SSE2)

// g++ is kept from vectorising by itself (decision 0006), so pairs are written out.

struct SinCosPair {
    __m128d sin;
    __m128d cos;
};

// Where vectors have no operators, intrinsics; clang-tidy prefers the former.
#if defined(__GNUC__)
inline __m128d plus(__m128d a, __m128d b) {
    return a + b;
}

inline __m128d minus(__m128d a, __m128d b) {
    return a - b;
}

inline __m128d times(__m128d a, __m128d b) {
    return a * b;
}

inline __m128i plus_words(__m128i a, __m128i b) {
    using Words [[gnu::vector_size(16)]] = std::uint32_t;
    return reinterpret_cast<__m128i>(reinterpret_cast<Words>(a) + reinterpret_cast<Words>(b));
}
#else
inline __m128d plus(__m128d a, __m128d b) {
    return _mm_add_pd(a, b);
}

inline __m128d minus(__m128d a, __m128d b) {
    return _mm_sub_pd(a, b);
}

inline __m128d times(__m128d a, __m128d b) {
    return _mm_mul_pd(a, b);
}

inline __m128i plus_words(__m128i a, __m128i b) {
    return _mm_add_epi32(a, b);
}
#endif

/// sincos_double(reduce_small(x)) in both lanes.
TWINSTEP_MATH_HOT inline SinCosPair sincos_pair(__m128d x) {
    const auto all = [](double value) { return _mm_set1_pd(value); };
    const __m128d product = times(x, all(trig_steps));
    const __m128d pushed = plus(product, all(push));
    const __m128d r =
        plus(minus(product, minus(pushed, all(push))), times(x, all(trig_steps_rest)));
    const __m128i steps = _mm_castpd_si128(pushed);
    const int first = _mm_cvtsi128_si32(steps) & 127;
    const int second = _mm_cvtsi128_si32(_mm_unpackhi_epi64(steps, steps)) & 127;
    const __m128d both_first = _mm_loadu_pd(sincos_table + 2 * first);
    const __m128d both_second = _mm_loadu_pd(sincos_table + 2 * second);
    const __m128d s = _mm_unpacklo_pd(both_first, both_second);
    const __m128d c = _mm_unpackhi_pd(both_first, both_second);
    const __m128d u = times(r, r);
    const __m128d sin_r = times(
        r, plus(all(sin_poly[0]), times(u, plus(all(sin_poly[1]), times(u, all(sin_poly[2]))))));
    const __m128d cos_r =
        plus(all(1.0), times(u, plus(all(cos_poly[0]), times(u, all(cos_poly[1])))));
    return {plus(times(s, cos_r), times(c, sin_r)), minus(times(c, cos_r), times(s, sin_r))};
}

/// All bits of each lane set where is_settled<42> of four doubles.
TWINSTEP_MATH_HOT inline __m128i settled_lanes(__m128d low, __m128d high) {
    constexpr std::uint32_t reach = std::uint32_t{1} << (53 - 42);
    constexpr std::uint32_t halfway = 0x10000000;
    // Signed comparison orders as unsigned does when 2^31 is taken away from both sides.
    constexpr std::uint32_t offset = (reach - halfway) * 8 - sign_bit;
    constexpr std::uint32_t limit = reach * 16 - sign_bit;
    const __m128 words = _mm_shuffle_ps(_mm_castpd_ps(low), _mm_castpd_ps(high), 0x88);
    const __m128i moved = _mm_slli_epi32(_mm_castps_si128(words), 3);
    const __m128i above = plus_words(moved, _mm_set1_epi32(static_cast<std::int32_t>(offset)));
    return _mm_cmpgt_epi32(above, _mm_set1_epi32(static_cast<std::int32_t>(limit)));
}

TWINSTEP_MATH_HOT inline bool all_lanes(__m128i mask) {
    return _mm_movemask_epi8(mask) == 0xffff;
}

/// Whether four numbers go the usual way: neither tiny nor large nor infinite nor NaN.
TWINSTEP_MATH_HOT inline bool are_usual(__m128 x) {
    const __m128i size = _mm_and_si128(_mm_castps_si128(x), _mm_set1_epi32(0x7fffffff));
    return all_lanes(_mm_and_si128(_mm_cmpgt_epi32(size, _mm_set1_epi32(sin_is_x_limit - 1)),
                                   _mm_cmplt_epi32(size, _mm_set1_epi32(reduce_limit))));
}

TWINSTEP_MATH_HOT inline __m128 as_floats(__m128d low, __m128d high) {
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

/// Stores four sines and cosines, or nothing if one of them is to be computed another way.
TWINSTEP_MATH_HOT inline bool sincos_of_four(const float* x, float* sines, float* cosines) {
    const __m128 four = _mm_loadu_ps(x);
    const SinCosPair low = sincos_pair(_mm_cvtps_pd(four));
    const SinCosPair high = sincos_pair(_mm_cvtps_pd(_mm_movehl_ps(four, four)));
    if (!are_usual(four) || !all_lanes(_mm_and_si128(settled_lanes(low.sin, high.sin),
                                                     settled_lanes(low.cos, high.cos)))) {
        return false;
    }
    _mm_storeu_ps(sines, as_floats(low.sin, high.sin));
    _mm_storeu_ps(cosines, as_floats(low.cos, high.cos));
    return true;
}

#else

inline bool sincos_of_four(const float*, float*, float*) {
    return false;
}

#endif

template <class Function>
void for_each_of(std::span<const float> x, std::span<float> result, Function function) {
    TWINSTEP_ASSERT(x.size() == result.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        result[i] = function(x[i]);
    }
}

template <class Function>
void for_each_pair_of(std::span<const float> a,
                      std::span<const float> b,
                      std::span<float> result,
                      Function function) {
    TWINSTEP_ASSERT(a.size() == b.size());
    TWINSTEP_ASSERT(a.size() == result.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        result[i] = function(a[i], b[i]);
    }
}

} // namespace detail

// result[i] = NAME(x[i]) for all i. Requires lists of the same size; the result may be x itself.
#define TWINSTEP_MATH_BATCH(NAME)                                                                  \
    inline void NAME(std::span<const float> x, std::span<float> result) {                          \
        detail::for_each_of(x, result, [](float value) { return NAME(value); });                   \
    }

TWINSTEP_MATH_BATCH(acos)
TWINSTEP_MATH_BATCH(asin)
TWINSTEP_MATH_BATCH(atan)
TWINSTEP_MATH_BATCH(cbrt)
TWINSTEP_MATH_BATCH(cos)
TWINSTEP_MATH_BATCH(cosh)
TWINSTEP_MATH_BATCH(exp)
TWINSTEP_MATH_BATCH(exp10)
TWINSTEP_MATH_BATCH(exp2)
TWINSTEP_MATH_BATCH(expm1)
TWINSTEP_MATH_BATCH(log)
TWINSTEP_MATH_BATCH(log10)
TWINSTEP_MATH_BATCH(log1p)
TWINSTEP_MATH_BATCH(log2)
TWINSTEP_MATH_BATCH(rsqrt)
TWINSTEP_MATH_BATCH(sin)
TWINSTEP_MATH_BATCH(sinh)
TWINSTEP_MATH_BATCH(sqrt)
TWINSTEP_MATH_BATCH(tan)
TWINSTEP_MATH_BATCH(tanh)

#undef TWINSTEP_MATH_BATCH

/// sines[i] = sin(x[i]) and cosines[i] = cos(x[i]) for all i. Requires lists of the same size; one
/// of the results may be x itself.
inline void sincos(std::span<const float> x, std::span<float> sines, std::span<float> cosines) {
    TWINSTEP_ASSERT(x.size() == sines.size());
    TWINSTEP_ASSERT(x.size() == cosines.size());
    std::size_t i = 0;
    while (i < x.size()) {
        if (i + 4 <= x.size() && detail::sincos_of_four(&x[i], &sines[i], &cosines[i])) {
            i += 4;
            continue;
        }
        for (const std::size_t end = std::min(i + 4, x.size()); i < end; ++i) {
            const SinCos both = sincos(x[i]);
            sines[i] = both.sin;
            cosines[i] = both.cos;
        }
    }
}

/// result[i] = atan2(y[i], x[i]) for all i. Requires lists of the same size.
inline void atan2(std::span<const float> y, std::span<const float> x, std::span<float> result) {
    detail::for_each_pair_of(y, x, result, [](float a, float b) { return atan2(a, b); });
}

/// result[i] = hypot(x[i], y[i]) for all i. Requires lists of the same size.
inline void hypot(std::span<const float> x, std::span<const float> y, std::span<float> result) {
    detail::for_each_pair_of(x, y, result, [](float a, float b) { return hypot(a, b); });
}

/// result[i] = pow(x[i], y[i]) for all i. Requires lists of the same size.
inline void pow(std::span<const float> x, std::span<const float> y, std::span<float> result) {
    detail::for_each_pair_of(x, y, result, [](float a, float b) { return pow(a, b); });
}

} // namespace twinstep::math
