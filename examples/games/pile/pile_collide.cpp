// SPDX-License-Identifier: MIT
// Contact points of circles, boxes and walls.
#include "pile_collide.hpp"

#include <utility>

namespace twinstep::games::pile_detail {

namespace {

/// How much better another face must be to become the reference face, in metres. Without it two
/// nearly equal faces take turns and every tick starts without its old impulses.
constexpr float face_preference = 0.002F;

void add_touch(Manifold& manifold, Vec point, float separation, std::uint8_t feature) {
    manifold.touches[manifold.count] = {point, separation, feature};
    manifold.count += 1;
}

void order_by_feature(Manifold& manifold) {
    if (manifold.count == 2 && manifold.touches[1].feature < manifold.touches[0].feature) {
        std::swap(manifold.touches[0], manifold.touches[1]);
    }
}

Manifold collide_circles(const Shape& a, const Shape& b) {
    Manifold manifold;
    const Vec between = b.position - a.position;
    const float reach = a.half.x + b.half.x;
    const float limit = reach + contact_margin;
    const float distance_squared = dot(between, between);
    if (distance_squared >= limit * limit) {
        return manifold;
    }
    manifold.normal = unit(between, {0.0F, 1.0F});
    const float separation = square_root(distance_squared) - reach;
    const Vec point = a.position + manifold.normal * (a.half.x + 0.5F * separation);
    add_touch(manifold, point, separation, 0);
    return manifold;
}

/// The nearest point of a box's surface to a point in the box's frame.
struct Nearest {
    Vec normal; ///< Out of the box.
    float distance = 0.0F;
    std::uint8_t feature = 0;
};

Nearest nearest_on_box(Vec half, Vec p) {
    const Vec inside{clamp(p.x, -half.x, half.x), clamp(p.y, -half.y, half.y)};
    const Vec out = p - inside;
    const float distance_squared = dot(out, out);
    if (distance_squared > 1.0e-10F) {
        const float distance = square_root(distance_squared);
        return {out * (1.0F / distance), distance, 0};
    }
    const float side_x = p.x < 0.0F ? -1.0F : 1.0F;
    const float side_y = p.y < 0.0F ? -1.0F : 1.0F;
    const float depth_x = side_x * p.x - half.x;
    const float depth_y = side_y * p.y - half.y;
    if (depth_x > depth_y) {
        return {{side_x, 0.0F}, depth_x, 1};
    }
    return {{0.0F, side_y}, depth_y, 2};
}

Manifold collide_box_circle(const Shape& box, const Shape& circle) {
    Manifold manifold;
    const Vec local = unrotate(box.turn, circle.position - box.position);
    const Nearest nearest = nearest_on_box(box.half, local);
    const float separation = nearest.distance - circle.half.x;
    if (separation >= contact_margin) {
        return manifold;
    }
    manifold.normal = rotate(box.turn, nearest.normal);
    const Vec point = circle.position - manifold.normal * (circle.half.x + 0.5F * separation);
    add_touch(manifold, point, separation, nearest.feature);
    return manifold;
}

/// The face of one box that separates two boxes best.
struct Face {
    std::uint8_t number = 0; ///< 0, 1: x and y of the first box; 2, 3: of the second.
    float separation = 0.0F;
    float separation_max = 0.0F;
};

Face best_face(const Shape& a, const Shape& b) {
    const Vec between = b.position - a.position;
    const Vec in_a = unrotate(a.turn, between);
    const Vec in_b = unrotate(b.turn, between);
    const float cosine = magnitude(dot(a.turn, b.turn));
    const float sine = magnitude(cross(a.turn, b.turn));
    const std::array<float, 4> separations{
        magnitude(in_a.x) - a.half.x - (cosine * b.half.x + sine * b.half.y),
        magnitude(in_a.y) - a.half.y - (sine * b.half.x + cosine * b.half.y),
        magnitude(in_b.x) - b.half.x - (cosine * a.half.x + sine * a.half.y),
        magnitude(in_b.y) - b.half.y - (sine * a.half.x + cosine * a.half.y)};
    Face best{0, separations[0], separations[0]};
    for (std::uint8_t i = 1; i < 4; ++i) {
        best.separation_max = greater(separations[i], best.separation_max);
        if (separations[i] > best.separation + face_preference) {
            best.number = i;
            best.separation = separations[i];
        }
    }
    return best;
}

/// An end of the incident edge, seen from the reference face.
struct Clip {
    float along = 0.0F;  ///< Along the face.
    float height = 0.0F; ///< Above the face.
};

/// Cuts the edge to -limit <= along <= limit. Returns false if nothing is left.
bool clip_edge(std::array<Clip, 2>& edge, float limit) {
    for (const float side : {-1.0F, 1.0F}) {
        const float excess_0 = side * edge[0].along - limit;
        const float excess_1 = side * edge[1].along - limit;
        if (excess_0 > 0.0F && excess_1 > 0.0F) {
            return false;
        }
        if (excess_0 > 0.0F || excess_1 > 0.0F) {
            // One is positive and the other is not, so the difference is not zero.
            const float part = excess_0 / (excess_0 - excess_1);
            const float height = edge[0].height + part * (edge[1].height - edge[0].height);
            edge[excess_0 > 0.0F ? 0 : 1] = {side * limit, height};
        }
    }
    return true;
}

/// The edge of `incident` that faces the reference normal, in the reference box's frame.
struct Incident {
    std::array<Vec, 2> ends;
    std::uint8_t face = 0;
};

Incident incident_edge(const Shape& reference, const Shape& incident, Vec normal) {
    const Vec center = unrotate(reference.turn, incident.position - reference.position);
    const Vec turn = unrotate(reference.turn, incident.turn);
    const Vec facing = unrotate(turn, normal);
    Vec out;
    Incident result;
    if (magnitude(facing.x) > magnitude(facing.y)) {
        result.face = facing.x > 0.0F ? 0 : 1;
        out = {facing.x > 0.0F ? -1.0F : 1.0F, 0.0F};
    } else {
        result.face = facing.y > 0.0F ? 2 : 3;
        out = {0.0F, facing.y > 0.0F ? -1.0F : 1.0F};
    }
    const Vec middle{out.x * incident.half.x, out.y * incident.half.y};
    const Vec arm{-out.y * incident.half.x, out.x * incident.half.y};
    result.ends[0] = center + rotate(turn, middle - arm);
    result.ends[1] = center + rotate(turn, middle + arm);
    return result;
}

Manifold collide_boxes(const Shape& a, const Shape& b) {
    Manifold manifold;
    const Face face = best_face(a, b);
    if (face.separation_max >= contact_margin) {
        return manifold;
    }
    const bool second = face.number >= 2;
    const bool vertical = (face.number & 1) != 0;
    const Shape& reference = second ? b : a;
    const Shape& incident = second ? a : b;
    const Vec toward = unrotate(reference.turn, incident.position - reference.position);
    const bool negative = (vertical ? toward.y : toward.x) < 0.0F;
    const float side = negative ? -1.0F : 1.0F;
    const Vec normal = vertical ? Vec{0.0F, side} : Vec{side, 0.0F};
    const Incident edge = incident_edge(reference, incident, normal);
    const float depth = vertical ? reference.half.y : reference.half.x;
    const float width = vertical ? reference.half.x : reference.half.y;
    std::array<Clip, 2> ends;
    for (std::size_t i = 0; i < 2; ++i) {
        ends[i].along = vertical ? edge.ends[i].x : edge.ends[i].y;
        ends[i].height = dot(normal, edge.ends[i]) - depth;
    }
    if (!clip_edge(ends, width)) {
        return manifold;
    }
    const Vec world = rotate(reference.turn, normal);
    manifold.normal = second ? Vec{-world.x, -world.y} : world;
    const auto base =
        static_cast<std::uint8_t>(face.number * 16 + (negative ? 8 : 0) + edge.face * 2);
    for (std::uint8_t i = 0; i < 2; ++i) {
        const Clip& end = ends[i];
        if (end.height < contact_margin) {
            const float level = side * (depth + 0.5F * end.height);
            const Vec local = vertical ? Vec{end.along, level} : Vec{level, end.along};
            add_touch(manifold,
                      reference.position + rotate(reference.turn, local),
                      end.height,
                      static_cast<std::uint8_t>(base + i));
        }
    }
    return manifold;
}

void flip(Manifold& manifold) {
    manifold.normal = {-manifold.normal.x, -manifold.normal.y};
}

} // namespace

Manifold collide(const Shape& a, const Shape& b) {
    if (a.box && b.box) {
        return collide_boxes(a, b);
    }
    if (a.box) {
        return collide_box_circle(a, b);
    }
    if (b.box) {
        Manifold manifold = collide_box_circle(b, a);
        flip(manifold);
        return manifold;
    }
    return collide_circles(a, b);
}

Manifold collide(const Shape& a, const Wall& wall) {
    Manifold manifold;
    manifold.normal = wall.normal;
    if (!a.box) {
        const float separation = wall.limit - dot(wall.normal, a.position) - a.half.x;
        if (separation < contact_margin) {
            const Vec point = a.position + wall.normal * (a.half.x + 0.5F * separation);
            add_touch(manifold, point, separation, 0);
        }
        return manifold;
    }
    for (std::uint8_t i = 0; i < 4; ++i) {
        const Vec corner{(i & 1) != 0 ? a.half.x : -a.half.x, (i & 2) != 0 ? a.half.y : -a.half.y};
        const Vec point = a.position + rotate(a.turn, corner);
        const float separation = wall.limit - dot(wall.normal, point);
        if (!(separation < contact_margin)) {
            continue;
        }
        const Touch touch{point + wall.normal * (0.5F * separation), separation, i};
        if (manifold.count < 2) {
            add_touch(manifold, touch.point, touch.separation, touch.feature);
            continue;
        }
        // Only the two deepest corners stay; of equals, the earlier.
        const std::size_t shallow =
            manifold.touches[1].separation < manifold.touches[0].separation ? 0 : 1;
        if (separation < manifold.touches[shallow].separation) {
            manifold.touches[shallow] = touch;
        }
    }
    order_by_feature(manifold);
    return manifold;
}

} // namespace twinstep::games::pile_detail
