// SPDX-License-Identifier: MIT
// How a crowd pushes one of its own away: the innermost loop of the game, four at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace twinstep::games::swarm_near {

/// A place, 16 bits of each coordinate: enough to tell apart what is at most 32,767 away.
struct Spot {
    std::int16_t x = 0;
    std::int16_t y = 0;
};

/// The lowest 16 bits of each.
inline Spot spot_of(std::int32_t x, std::int32_t y) {
    return {static_cast<std::int16_t>(static_cast<std::uint32_t>(x)),
            static_cast<std::int16_t>(static_cast<std::uint32_t>(y))};
}

inline constexpr std::uint32_t spots_at_once = 4;
/// Longest distance at which anybody pushes; its square has 20 bits.
inline constexpr std::int32_t push_length_max = 1024;

/// What a crowd comes to for one place.
struct Push {
    std::int64_t x = 0; ///< Of each that is nearer than the reach: distance times what is missing.
    std::int64_t y = 0;
    std::uint32_t here = 0; ///< How many are in the very place.
};

/// Adds up `count` spots, a multiple of spots_at_once and at most 2^10. `reach` is a square, at
/// most push_length_max's; spots that are further away than 32,767 along an axis do not occur.
/// Determinism: pure, integers.
inline Push push_portable(const Spot* spots, std::uint32_t count, Spot from, std::int32_t reach) {
    Push sum;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Spot way = spot_of(from.x - spots[i].x, from.y - spots[i].y);
        const std::int32_t distance = way.x * way.x + way.y * way.y;
        if (distance < reach) {
            sum.x += std::int64_t{way.x} * (reach - distance);
            sum.y += std::int64_t{way.y} * (reach - distance);
            sum.here += distance == 0 ? 1U : 0U;
        }
    }
    return sum;
}

#if defined(__SSE2__) || defined(_M_X64)

inline std::int32_t sum_of_lanes(__m128i lanes) {
    const __m128i two = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
}

/// The sums of the lanes of each.
inline std::array<std::int32_t, 4> sums_of_lanes(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m128i ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    const __m128i cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
    const __m128i all = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
    return std::bit_cast<std::array<std::int32_t, 4>>(all);
}

/// The same on the vector unit that every x86-64 has. What is missing to the reach has up to 21
/// bits and is multiplied in two parts, so that nothing has more than 32.
inline Push push_vector(const Spot* spots, std::uint32_t count, Spot from, std::int32_t reach) {
    constexpr int low_bits = 10;
    const __m128i origin = _mm_set1_epi32(std::bit_cast<std::int32_t>(from));
    const __m128i limit = _mm_set1_epi32(reach);
    const __m128i low_part = _mm_set1_epi32((1 << low_bits) - 1);
    const __m128i first_half = _mm_set1_epi32(0xFFFF);
    const __m128i zero = _mm_setzero_si128();
    __m128i x_low = zero;
    __m128i x_high = zero;
    __m128i y_low = zero;
    __m128i y_high = zero;
    __m128i here = zero;
    for (std::uint32_t i = 0; i < count; i += spots_at_once) {
        const __m128i way =
            _mm_sub_epi16(origin, _mm_loadu_si128(reinterpret_cast<const __m128i*>(spots + i)));
        const __m128i distance = _mm_madd_epi16(way, way);
        const __m128i missing =
            _mm_and_si128(_mm_sub_epi32(limit, distance), _mm_cmplt_epi32(distance, limit));
        const __m128i low = _mm_and_si128(missing, low_part);
        const __m128i high = _mm_srli_epi32(missing, low_bits);
        const __m128i x = _mm_and_si128(way, first_half);
        const __m128i y = _mm_srli_epi32(way, 16);
        x_low = _mm_add_epi32(x_low, _mm_madd_epi16(x, low));
        x_high = _mm_add_epi32(x_high, _mm_madd_epi16(x, high));
        y_low = _mm_add_epi32(y_low, _mm_madd_epi16(y, low));
        y_high = _mm_add_epi32(y_high, _mm_madd_epi16(y, high));
        here = _mm_sub_epi32(here, _mm_cmpeq_epi32(distance, zero));
    }
    const auto sums = sums_of_lanes(x_low, x_high, y_low, y_high);
    constexpr std::int64_t high_weight = 1 << low_bits;
    return {sums[1] * high_weight + sums[0],
            sums[3] * high_weight + sums[2],
            static_cast<std::uint32_t>(sum_of_lanes(here))};
}

#endif

inline Push push(const Spot* spots, std::uint32_t count, Spot from, std::int32_t reach) {
#if defined(__SSE2__) || defined(_M_X64)
    return push_vector(spots, count, from, reach);
#else
    return push_portable(spots, count, from, reach);
#endif
}

} // namespace twinstep::games::swarm_near
