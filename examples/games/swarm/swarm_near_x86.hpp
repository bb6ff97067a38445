// SPDX-License-Identifier: MIT
// The loops of swarm_near.hpp on vector units: eight places at a time on what every x86-64 has,
// sixteen where the CPU can. Integers, so each gives what the others give, bit for bit.
#pragma once

#include "swarm/swarm_near.hpp"

#include <emmintrin.h>

#include <bit>
#if defined(__GNUC__)
#define TWINSTEP_SWARM_AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#endif

namespace twinstep::games::swarm_near {

/// What is missing to a reach has up to 21 bits and is multiplied in two parts, so that nothing has
/// more than 32.
inline constexpr int low_bits = 10;
inline constexpr std::int32_t low_mask = (1 << low_bits) - 1;

template <class T>
__m128i load(const T* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// All bits of the first `count` of eight; `count` is below 2^15.
inline __m128i first_lanes(std::uint32_t count) {
    const __m128i limit = _mm_set1_epi16(static_cast<std::int16_t>(count));
    return _mm_cmpgt_epi16(limit, _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Sums over places, in lanes: distance times low and high part of what is missing, and how many
/// are in the very place.
struct Lanes {
    __m128i x_low = _mm_setzero_si128();
    __m128i x_high = _mm_setzero_si128();
    __m128i y_low = _mm_setzero_si128();
    __m128i y_high = _mm_setzero_si128();
    __m128i here = _mm_setzero_si128();
};

inline Push sum_of(const Lanes& lanes) {
    const __m128i x = _mm_add_epi32(_mm_unpacklo_epi32(lanes.x_low, lanes.x_high),
                                    _mm_unpackhi_epi32(lanes.x_low, lanes.x_high));
    const __m128i y = _mm_add_epi32(_mm_unpacklo_epi32(lanes.y_low, lanes.y_high),
                                    _mm_unpackhi_epi32(lanes.y_low, lanes.y_high));
    const auto sums = std::bit_cast<std::array<std::int32_t, 4>>(
        _mm_add_epi32(_mm_unpacklo_epi64(x, y), _mm_unpackhi_epi64(x, y)));
    // Counts are below 256.
    const __m128i counts = _mm_sad_epu8(lanes.here, _mm_setzero_si128());
    const __m128i count = _mm_add_epi32(counts, _mm_shuffle_epi32(counts, 0x4E));
    constexpr std::int64_t high_weight = 1 << low_bits;
    return {sums[1] * high_weight + sums[0],
            sums[3] * high_weight + sums[2],
            static_cast<std::uint32_t>(_mm_cvtsi128_si32(count))};
}

/// What is missing to the reach, 0 where nothing is.
inline __m128i missing(__m128i way, __m128i reach) {
    const __m128i rest = _mm_sub_epi32(reach, _mm_madd_epi16(way, way));
    return _mm_andnot_si128(_mm_srai_epi32(rest, 31), rest);
}

inline void push_sse2(const Spots& spots, const Ask* asks, std::uint32_t count, Push* pushes) {
    const __m128i low_part = _mm_set1_epi32(low_mask);
    for (std::uint32_t number = 0; number < count; ++number) {
        const Ask& ask = asks[number];
        const __m128i from_x = _mm_set1_epi16(ask.from.x);
        const __m128i from_y = _mm_set1_epi16(ask.from.y);
        const __m128i reach = _mm_set1_epi32(ask.reach);
        Lanes sum;
        for (const Range& range : ask.ranges) {
            for (std::uint32_t i = range.begin; i < range.end; i += 8) {
                const __m128i x = _mm_sub_epi16(from_x, load(spots.x + i));
                const __m128i y = _mm_sub_epi16(from_y, load(spots.y + i));
                const __m128i counts = first_lanes(range.end - i);
                const __m128i first = missing(_mm_unpacklo_epi16(x, y), reach);
                const __m128i second = missing(_mm_unpackhi_epi16(x, y), reach);
                const __m128i low = _mm_and_si128(counts,
                                                  _mm_packs_epi32(_mm_and_si128(first, low_part),
                                                                  _mm_and_si128(second, low_part)));
                const __m128i high =
                    _mm_and_si128(counts,
                                  _mm_packs_epi32(_mm_srli_epi32(first, low_bits),
                                                  _mm_srli_epi32(second, low_bits)));
                sum.x_low = _mm_add_epi32(sum.x_low, _mm_madd_epi16(x, low));
                sum.x_high = _mm_add_epi32(sum.x_high, _mm_madd_epi16(x, high));
                sum.y_low = _mm_add_epi32(sum.y_low, _mm_madd_epi16(y, low));
                sum.y_high = _mm_add_epi32(sum.y_high, _mm_madd_epi16(y, high));
                const __m128i same = _mm_cmpeq_epi16(_mm_or_si128(x, y), _mm_setzero_si128());
                sum.here = _mm_sub_epi16(sum.here, _mm_and_si128(counts, same));
            }
        }
        pushes[number] = sum_of(sum);
    }
}

#if defined(TWINSTEP_SWARM_AVX2)

inline const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

TWINSTEP_SWARM_AVX2 inline __m128i both_halves(__m256i lanes) {
    return _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
}

TWINSTEP_SWARM_AVX2 inline __m256i load_wide(const std::int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

TWINSTEP_SWARM_AVX2 inline __m256i missing_wide(__m256i way, __m256i reach) {
    return _mm256_max_epi32(_mm256_sub_epi32(reach, _mm256_madd_epi16(way, way)),
                            _mm256_setzero_si256());
}

/// Requires has_avx2.
TWINSTEP_SWARM_AVX2 inline void
push_avx2(const Spots& spots, const Ask* asks, std::uint32_t count, Push* pushes) {
    const __m256i places = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m256i low_part = _mm256_set1_epi32(low_mask);
    const __m256i zero = _mm256_setzero_si256();
    for (std::uint32_t number = 0; number < count; ++number) {
        const Ask& ask = asks[number];
        const __m256i from_x = _mm256_set1_epi16(ask.from.x);
        const __m256i from_y = _mm256_set1_epi16(ask.from.y);
        const __m256i reach = _mm256_set1_epi32(ask.reach);
        __m256i x_low = zero;
        __m256i x_high = zero;
        __m256i y_low = zero;
        __m256i y_high = zero;
        __m256i here = zero;
        for (const Range& range : ask.ranges) {
            for (std::uint32_t i = range.begin; i < range.end; i += 16) {
                const __m256i x = _mm256_sub_epi16(from_x, load_wide(spots.x + i));
                const __m256i y = _mm256_sub_epi16(from_y, load_wide(spots.y + i));
                const __m256i counts = _mm256_cmpgt_epi16(
                    _mm256_set1_epi16(static_cast<std::int16_t>(range.end - i)), places);
                const __m256i first = missing_wide(_mm256_unpacklo_epi16(x, y), reach);
                const __m256i second = missing_wide(_mm256_unpackhi_epi16(x, y), reach);
                const __m256i low =
                    _mm256_and_si256(counts,
                                     _mm256_packs_epi32(_mm256_and_si256(first, low_part),
                                                        _mm256_and_si256(second, low_part)));
                const __m256i high =
                    _mm256_and_si256(counts,
                                     _mm256_packs_epi32(_mm256_srli_epi32(first, low_bits),
                                                        _mm256_srli_epi32(second, low_bits)));
                x_low = _mm256_add_epi32(x_low, _mm256_madd_epi16(x, low));
                x_high = _mm256_add_epi32(x_high, _mm256_madd_epi16(x, high));
                y_low = _mm256_add_epi32(y_low, _mm256_madd_epi16(y, low));
                y_high = _mm256_add_epi32(y_high, _mm256_madd_epi16(y, high));
                const __m256i same = _mm256_cmpeq_epi16(_mm256_or_si256(x, y), zero);
                here = _mm256_sub_epi16(here, _mm256_and_si256(counts, same));
            }
        }
        pushes[number] = sum_of({both_halves(x_low),
                                 both_halves(x_high),
                                 both_halves(y_low),
                                 both_halves(y_high),
                                 both_halves(here)});
    }
}

#endif

/// The search of Hunt, eight at a time, among so few that their number does not matter.
class FastHunt {
public:
    FastHunt(const Spots& spots,
             Spot from,
             std::int16_t owner,
             std::int32_t reach,
             std::uint32_t candidates)
        : spots_(spots)
        , left_(candidates)
        , from_x_(_mm_set1_epi16(from.x))
        , from_y_(_mm_set1_epi16(from.y))
        , owner_(_mm_set1_epi16(owner))
        , best_(_mm_set1_epi32(reach))
        , found_(_mm_set1_epi32(none)) {}

    void look_at(Range range) {
        too_many_ = too_many_ || range.end - range.begin > left_;
        if (too_many_) {
            return;
        }
        left_ -= range.end - range.begin;
        for (std::uint32_t i = range.begin; i < range.end; i += 8) {
            const __m128i x = _mm_sub_epi16(from_x_, load(spots_.x + i));
            const __m128i y = _mm_sub_epi16(from_y_, load(spots_.y + i));
            const __m128i friends = _mm_cmpeq_epi16(load(spots_.owners + i), owner_);
            const __m128i enemies = _mm_andnot_si128(friends, first_lanes(range.end - i));
            look_at(_mm_unpacklo_epi16(x, y),
                    _mm_unpacklo_epi16(enemies, enemies),
                    load(spots_.indices + i));
            look_at(_mm_unpackhi_epi16(x, y),
                    _mm_unpackhi_epi16(enemies, enemies),
                    load(spots_.indices + i + 4));
        }
    }

    bool found_within(std::int32_t reach) const {
        const __m128i near = _mm_cmpgt_epi32(_mm_set1_epi32(reach + 1), best_);
        const __m128i somebody = _mm_cmpgt_epi32(_mm_set1_epi32(none), found_);
        return _mm_movemask_epi8(_mm_and_si128(near, somebody)) != 0;
    }

    std::uint32_t found() const {
        const auto distances = std::bit_cast<std::array<std::uint32_t, 4>>(best_);
        const auto indices = std::bit_cast<std::array<std::uint32_t, 4>>(found_);
        std::uint64_t best = ~std::uint64_t{0};
        for (std::size_t i = 0; i < distances.size(); ++i) {
            best = std::min(best, std::uint64_t{distances[i]} << 32 | indices[i]);
        }
        const auto index = static_cast<std::uint32_t>(best);
        return index == static_cast<std::uint32_t>(none) ? Hunt::nobody : index;
    }

    /// True if there were more than `candidates`, friends among them: what was found means nothing.
    bool too_many() const { return too_many_; }

private:
    /// In `found_`: above every index.
    static constexpr std::int32_t none = 0x7FFFFFFF;

    static __m128i choose(__m128i mask, __m128i yes, __m128i no) {
        return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
    }

    void look_at(__m128i way, __m128i enemies, __m128i indices) {
        const __m128i distance = _mm_madd_epi16(way, way);
        const __m128i nearer = _mm_cmpgt_epi32(best_, distance);
        const __m128i lower =
            _mm_and_si128(_mm_cmpeq_epi32(best_, distance), _mm_cmpgt_epi32(found_, indices));
        const __m128i better = _mm_and_si128(enemies, _mm_or_si128(nearer, lower));
        best_ = choose(better, distance, best_);
        found_ = choose(better, indices, found_);
    }

    Spots spots_;
    std::uint32_t left_;
    bool too_many_ = false;
    __m128i from_x_;
    __m128i from_y_;
    __m128i owner_;
    __m128i best_;  ///< Squared distances.
    __m128i found_; ///< Their units.
};

} // namespace twinstep::games::swarm_near
