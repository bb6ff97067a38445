// SPDX-License-Identifier: MIT
// Sequential impulses with warm starting, one point after the other in the order given.
// Source: E. Catto, "Iterative Dynamics with Temporal Coherence", GDC 2005, and "Solver2D", 2024
// (pushing bodies apart in passes whose added speed later passes take out again).
#include "pile_solver.hpp"

namespace twinstep::games::pile_detail {

namespace {

/// Overlap that is left alone, in metres. Without it contacts open and close at every tick.
constexpr float overlap_slop = 0.005F;
/// Part of the remaining overlap that a tick removes. Usual: 0.1 to 0.3; more overshoots.
constexpr float overlap_part = 0.2F;
/// Fastest pushing apart, in metres a second, so that deep overlaps do not explode.
constexpr float push_speed_max = 3.0F;
/// Slower impacts, in metres a second, do not bounce; a pile would never come to rest.
constexpr float bounce_speed_min = 1.0F;

Vec relative_velocity(const Joint& joint, const Motion& a, const Motion& b) {
    const Vec at_a{a.velocity.x - a.spin * joint.arm_a.y, a.velocity.y + a.spin * joint.arm_a.x};
    const Vec at_b{b.velocity.x - b.spin * joint.arm_b.y, b.velocity.y + b.spin * joint.arm_b.x};
    return at_b - at_a;
}

void apply(const Joint& joint, Motion& a, Motion& b, Vec impulse) {
    a.velocity = a.velocity - impulse * a.inverse_mass;
    a.spin -= a.inverse_inertia * cross(joint.arm_a, impulse);
    b.velocity = b.velocity + impulse * b.inverse_mass;
    b.spin += b.inverse_inertia * cross(joint.arm_b, impulse);
}

float effective_mass(const Joint& joint, const Motion& a, const Motion& b, Vec direction) {
    const float lever_a = cross(joint.arm_a, direction);
    const float lever_b = cross(joint.arm_b, direction);
    return 1.0F / (a.inverse_mass + b.inverse_mass + a.inverse_inertia * lever_a * lever_a +
                   b.inverse_inertia * lever_b * lever_b);
}

Vec tangent_of(const Joint& joint) {
    return {-joint.normal.y, joint.normal.x};
}

} // namespace

void start_joints(std::span<Joint> joints, std::span<Motion> motions, float restitution) {
    for (Joint& joint : joints) {
        const Motion& a = motions[joint.a];
        const Motion& b = motions[joint.b];
        joint.normal_mass = effective_mass(joint, a, b, joint.normal);
        joint.tangent_mass = effective_mass(joint, a, b, tangent_of(joint));
        const float approach = -dot(relative_velocity(joint, a, b), joint.normal);
        joint.bounce = approach > bounce_speed_min ? restitution * approach : 0.0F;
    }
    // A loop of its own: the bounce is measured before any impulse of this tick.
    for (const Joint& joint : joints) {
        apply(joint,
              motions[joint.a],
              motions[joint.b],
              joint.normal * joint.normal_impulse + tangent_of(joint) * joint.tangent_impulse);
    }
}

void solve_joints(std::span<Joint> joints, std::span<Motion> motions, bool push) {
    for (Joint& joint : joints) {
        Motion& a = motions[joint.a];
        Motion& b = motions[joint.b];
        const Vec tangent = tangent_of(joint);
        const float slide = dot(relative_velocity(joint, a, b), tangent);
        const float grip = joint.friction * joint.normal_impulse;
        const float old_tangent = joint.tangent_impulse;
        joint.tangent_impulse = clamp(old_tangent - joint.tangent_mass * slide, -grip, grip);
        apply(joint, a, b, tangent * (joint.tangent_impulse - old_tangent));

        float wanted = 0.0F;
        if (joint.separation > 0.0F) {
            // Not touching yet: may close the gap in this tick, but not more.
            wanted = -joint.separation * (1.0F / tick_seconds);
        } else if (push) {
            wanted = lesser(greater(-joint.separation - overlap_slop, 0.0F) *
                                (overlap_part / tick_seconds),
                            push_speed_max);
        }
        const float apart = dot(relative_velocity(joint, a, b), joint.normal);
        const float old_normal = joint.normal_impulse;
        joint.normal_impulse = greater(old_normal + joint.normal_mass * (wanted - apart), 0.0F);
        joint.pressed = greater(joint.normal_impulse, joint.pressed);
        apply(joint, a, b, joint.normal * (joint.normal_impulse - old_normal));
    }
}

void bounce_joints(std::span<Joint> joints, std::span<Motion> motions) {
    for (Joint& joint : joints) {
        if (!(joint.bounce > 0.0F) || !(joint.pressed > 0.0F)) {
            continue;
        }
        Motion& a = motions[joint.a];
        Motion& b = motions[joint.b];
        const float apart = dot(relative_velocity(joint, a, b), joint.normal);
        const float old_normal = joint.normal_impulse;
        joint.normal_impulse =
            greater(old_normal + joint.normal_mass * (joint.bounce - apart), 0.0F);
        apply(joint, a, b, joint.normal * (joint.normal_impulse - old_normal));
    }
}

} // namespace twinstep::games::pile_detail
