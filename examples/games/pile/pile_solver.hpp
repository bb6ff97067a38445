// SPDX-License-Identifier: MIT
// Sequential impulses: makes velocities agree with the contact points.
#pragma once

#include "pile_math.hpp"

#include <cstdint>
#include <span>

namespace twinstep::games::pile_detail {

/// Seconds a tick.
inline constexpr float tick_seconds = 1.0F / 60.0F;

/// Largest stored impulse, in kilogram metres a second (a body weighs about 0.2 kg). Far above
/// anything the limits on speed allow, so that it cuts nothing off in a real pile.
inline constexpr float impulse_max = 1000.0F;

/// What the solver changes and what it needs to know of a body.
struct Motion {
    Vec velocity;
    float spin = 0.0F;         ///< Radians a second.
    float inverse_mass = 0.0F; ///< 0: nothing moves it (walls and sleepers).
    float inverse_inertia = 0.0F;
};

/// One contact point while it is being solved.
struct Joint {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t stored = 0; ///< Where its impulses go afterwards.
    Vec normal;               ///< From a to b.
    Vec arm_a;                ///< From the body's centre to the contact point.
    Vec arm_b;
    float separation = 0.0F;
    float friction = 0.0F;
    float bounce = 0.0F;       ///< Speed to leave with, along the normal; 0 for resting contacts.
    float normal_mass = 0.0F;  ///< Impulse per change of speed along the normal.
    float tangent_mass = 0.0F; ///< The same along the surface.
    float normal_impulse = 0.0F;
    float tangent_impulse = 0.0F;
    float pressed = 0.0F; ///< Largest normal impulse so far in this tick.
};

/// Fills in what follows from the motions (masses, bounce) and applies the impulses of the last
/// tick. Requires that a or b of each joint can move.
void start_joints(std::span<Joint> joints, std::span<Motion> motions, float restitution);

/// One pass over all joints in order. `push` also pushes overlapping bodies apart.
void solve_joints(std::span<Joint> joints, std::span<Motion> motions, bool push);

/// Gives fast contacts their bounce.
void bounce_joints(std::span<Joint> joints, std::span<Motion> motions);

} // namespace twinstep::games::pile_detail
