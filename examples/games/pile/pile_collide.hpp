// SPDX-License-Identifier: MIT
// Where two shapes touch: circles, boxes and walls, each pair a pure function.
#pragma once

#include "pile_math.hpp"

#include <array>
#include <cstdint>

namespace twinstep::games::pile_detail {

/// How far apart two surfaces may be and still get a contact point, in metres. Usual: 0.02.
/// Smaller makes resting contacts flicker; larger makes phantom neighbours for the islands.
inline constexpr float contact_margin = 0.02F;

/// A circle (radius half.x) or a box, somewhere.
struct Shape {
    Vec position;
    Vec turn; ///< Cosine and sine; unit length.
    Vec half; ///< Half extents of a box; both the radius for a circle.
    bool box = false;
};

/// A straight wall: the shapes stay where dot(normal, p) <= limit.
struct Wall {
    Vec normal;
    float limit = 0.0F;
};

/// One place where two shapes touch.
struct Touch {
    Vec point;                ///< World position, halfway between the surfaces.
    float separation = 0.0F;  ///< Negative where the shapes overlap.
    std::uint8_t feature = 0; ///< Which corner or face; finds the same touch at the next tick.
};

/// All places where two shapes touch, ordered by feature.
struct Manifold {
    Vec normal; ///< From the first shape to the second; unit length.
    std::uint32_t count = 0;
    std::array<Touch, 2> touches;
};

/// Empty unless the shapes are within contact_margin. Determinism: pure.
Manifold collide(const Shape& a, const Shape& b);
Manifold collide(const Shape& a, const Wall& wall);

} // namespace twinstep::games::pile_detail
