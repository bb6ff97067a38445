// SPDX-License-Identifier: MIT
// 16.16 fixed point, binary angles and the fine sine table, made of integers alone.
#pragma once

#include <algorithm>
#include <cstdint>

namespace twinstep::games::marine {

/// A length or speed: 16 bits of map units, 16 bits of fraction.
using Fixed = std::int32_t;

/// An angle as a fraction of the circle: 2^32 is a full turn, 0 is east, 2^30 is north.
using Angle = std::uint32_t;

/// One map unit. Doom's player is 32 units wide.
inline constexpr Fixed unit = 1 << 16;

inline constexpr Angle quarter_turn = Angle{1} << 30;

/// The product, rounded towards minus infinity. Bits that do not fit are dropped.
constexpr Fixed fixed_mul(Fixed a, Fixed b) {
    return static_cast<Fixed>((std::int64_t{a} * b) >> 16);
}

/// The sum, held within [-limit, limit]. Requires limit >= 0.
constexpr Fixed add_clamped(Fixed a, Fixed b, Fixed limit) {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<Fixed>(
        std::clamp(sum, -static_cast<std::int64_t>(limit), static_cast<std::int64_t>(limit)));
}

/// Sine of the middle of the angle's step; a full turn has 8,192 steps.
/// Determinism: pure, integers only.
Fixed fine_sine(Angle angle);

/// Cosine, likewise.
inline Fixed fine_cosine(Angle angle) {
    return fine_sine(angle + quarter_turn);
}

/// Largest integer whose square is at most `value`.
std::uint32_t integer_sqrt(std::uint64_t value);

/// A place or a direction in the plane.
struct Vector {
    Fixed x = 0;
    Fixed y = 0;
};

/// The direction of an angle, one unit long.
inline Vector direction_of(Angle angle) {
    return {fine_cosine(angle), fine_sine(angle)};
}

/// The direction, bent to the left by `part` of its length; it becomes a little longer.
inline Vector sideways(Vector direction, Fixed part) {
    return {direction.x - fixed_mul(direction.y, part), direction.y + fixed_mul(direction.x, part)};
}

/// The same direction with length `length`; zero stays zero.
Vector with_length(std::int64_t dx, std::int64_t dy, Fixed length);

/// Distance between two places. Range: any two places fit.
std::uint32_t distance(Vector a, Vector b);

/// True if the places are less than `range` apart. Requires range >= 0. Cheaper than distance.
bool is_within(Vector a, Vector b, Fixed range);

} // namespace twinstep::games::marine
