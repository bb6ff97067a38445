// SPDX-License-Identifier: MIT
// Those who stand near: how they push one away, and which enemy is the nearest. These are the
// innermost loops of the game; here as they are meant, in swarm_near_x86.hpp many at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

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

/// Where many are, and who. Up to spots_at_once behind the last are read and do not count.
struct Spots {
    const std::int16_t* x = nullptr;
    const std::int16_t* y = nullptr;
    const std::int16_t* owners = nullptr;
    const std::uint32_t* indices = nullptr; ///< Of the units, below 2^31.
};

inline constexpr std::uint32_t spots_at_once = 16;

/// Those of many from `begin` on, without `end`; nobody if `end` is not greater.
struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// Longest distance at which anybody pushes; its square has 20 bits.
inline constexpr std::int32_t push_length_max = 1024;

/// Whom somebody is pushed by: at most 2^10.
struct Ask {
    std::array<Range, 3> ranges;
    Spot from;
    std::int32_t reach = 0; ///< A square, from 1 to push_length_max's.
};

/// What those in the reach come to.
struct Push {
    std::int64_t x = 0; ///< Of each that is nearer than the reach: distance times what is missing.
    std::int64_t y = 0;
    std::uint32_t here = 0; ///< How many are in the very place.
};

/// Answers `count` questions. Spots further away than 32,767 along an axis do not occur.
/// Determinism: pure, integers.
inline void push_portable(const Spots& spots, const Ask* asks, std::uint32_t count, Push* pushes) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const Ask& ask = asks[i];
        Push sum;
        for (const Range& range : ask.ranges) {
            for (std::uint32_t spot = range.begin; spot < range.end; ++spot) {
                const Spot way = spot_of(ask.from.x - spots.x[spot], ask.from.y - spots.y[spot]);
                const std::int32_t distance = way.x * way.x + way.y * way.y;
                if (distance < ask.reach) {
                    sum.x += std::int64_t{way.x} * (ask.reach - distance);
                    sum.y += std::int64_t{way.y} * (ask.reach - distance);
                    sum.here += distance == 0 ? 1U : 0U;
                }
            }
        }
        pushes[i] = sum;
    }
}

/// A search for the nearest of those who have another owner; of equally near ones, for the one with
/// the lowest index.
class Hunt {
public:
    static constexpr std::uint32_t nobody = 0xFFFFFFFF;

    /// Looks not further than a distance whose square is `reach`, and at `candidates` at most.
    Hunt(const Spots& spots,
         Spot from,
         std::int16_t owner,
         std::int32_t reach,
         std::uint32_t candidates)
        : spots_(spots)
        , from_(from)
        , owner_(owner)
        , candidates_(candidates)
        , best_(rank(reach, nobody)) {}

    void look_at(Range range) {
        for (std::uint32_t i = range.begin; i < range.end && candidates_ != 0; ++i) {
            if (spots_.owners[i] == owner_) {
                continue;
            }
            --candidates_;
            const Spot way = spot_of(from_.x - spots_.x[i], from_.y - spots_.y[i]);
            best_ = std::min(best_, rank(way.x * way.x + way.y * way.y, spots_.indices[i]));
        }
    }

    /// Whether somebody was found at a distance whose square is not above `reach`.
    bool found_within(std::int32_t reach) const {
        return found() != nobody && best_ <= rank(reach, nobody);
    }

    /// The index, or nobody.
    std::uint32_t found() const { return static_cast<std::uint32_t>(best_); }

private:
    static std::uint64_t rank(std::int32_t distance, std::uint32_t index) {
        return std::uint64_t{static_cast<std::uint32_t>(distance)} << 32 | index;
    }

    Spots spots_;
    Spot from_;
    std::int16_t owner_;
    std::uint32_t candidates_;
    std::uint64_t best_; ///< Squared distance times 2^32, and the index.
};

} // namespace twinstep::games::swarm_near

#if defined(__SSE2__) || defined(_M_X64)
#include "swarm/swarm_near_x86.hpp"
#endif

namespace twinstep::games::swarm_near {

inline void push(const Spots& spots, const Ask* asks, std::uint32_t count, Push* pushes) {
#if defined(TWINSTEP_SWARM_AVX2)
    if (has_avx2) {
        push_avx2(spots, asks, count, pushes);
        return;
    }
#endif
#if defined(__SSE2__) || defined(_M_X64)
    push_sse2(spots, asks, count, pushes);
#else
    push_portable(spots, asks, count, pushes);
#endif
}

} // namespace twinstep::games::swarm_near
