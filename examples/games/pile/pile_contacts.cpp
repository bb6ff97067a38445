// SPDX-License-Identifier: MIT
// Finds the contact points of a tick, in ascending order of pair, and their impulses of the last.
#include "pile.hpp"

#include <utility>

namespace twinstep::games {

using namespace pile_detail;

namespace {

constexpr float friction = 0.5F;

constexpr std::uint32_t pair_key(std::uint32_t a, std::uint32_t b) {
    return a << 16U | b;
}

constexpr std::uint32_t second_of(std::uint32_t key) {
    return key & 0xFFFFU;
}

/// Walls come after the bodies: floor, ceiling, left, right.
Wall wall_of(std::uint32_t number, float room) {
    switch (number) {
    case 0:
        return {{0.0F, -1.0F}, 0.0F};
    case 1:
        return {{0.0F, 1.0F}, room};
    case 2:
        return {{-1.0F, 0.0F}, 0.0F};
    default:
        return {{1.0F, 0.0F}, room};
    }
}

/// Half the width and height of a shape as it lies.
Vec reach_of(const Shape& shape) {
    if (!shape.box) {
        return shape.half;
    }
    const float cosine = magnitude(shape.turn.x);
    const float sine = magnitude(shape.turn.y);
    return {cosine * shape.half.x + sine * shape.half.y,
            sine * shape.half.x + cosine * shape.half.y};
}

} // namespace

void Pile::find_contacts() {
    std::swap(contacts_, old_contacts_);
    contacts_.clear();
    joints_.clear();
    old_next_ = 0;
    fill_grid();
    for (std::uint32_t body = 0; body < count(); ++body) {
        find_candidates(body);
        match(body);
    }
}

/// Sorts the bodies by cell with a counting sort; within a cell they stay in order of index.
void Pile::fill_grid() {
    const auto side = static_cast<std::size_t>(room_);
    cell_starts_.assign(side * side + 1, 0);
    const auto cell = [this, side](std::size_t body) {
        return static_cast<std::size_t>(cell_of(bodies_.y[body], room_)) * side +
               static_cast<std::size_t>(cell_of(bodies_.x[body], room_));
    };
    for (std::uint32_t body = 0; body < count(); ++body) {
        cell_starts_[cell(body)] += 1;
    }
    std::uint32_t end = 0;
    for (std::uint32_t& start : cell_starts_) {
        end += start;
        start = end;
    }
    // Filled from the back, which turns ends into starts.
    for (std::uint32_t body = count(); body-- > 0;) {
        const Vec reach = reach_of(shape(body));
        std::uint32_t& place = cell_starts_[cell(body)];
        place -= 1;
        grid_[place] = {
            bodies_.x[body], bodies_.y[body], reach.x, reach.y, body, asleep(body) ? 1U : 0U};
    }
}

/// Fills candidates_ with every body or wall after `body` that may touch it, in ascending order;
/// two sleepers are left out. No body is wider than a cell, so the neighbouring cells are enough.
void Pile::find_candidates(std::uint32_t body) {
    candidates_.clear();
    const bool sleeping = asleep(body);
    const Shape self = shape(body);
    const std::int32_t column = cell_of(self.position.x, room_);
    const std::int32_t row = cell_of(self.position.y, room_);
    const std::int32_t first_row = row > 0 ? row - 1 : 0;
    const std::int32_t last_row = row + 1 < room_ ? row + 1 : room_ - 1;
    const std::int32_t first_column = column > 0 ? column - 1 : 0;
    const std::int32_t last_column = column + 1 < room_ ? column + 1 : room_ - 1;
    const Vec reach = reach_of(self) + Vec{contact_margin, contact_margin};
    for (std::int32_t at = first_row; at <= last_row; ++at) {
        const std::uint32_t begin =
            cell_starts_[static_cast<std::size_t>(at * room_ + first_column)];
        const std::uint32_t end =
            cell_starts_[static_cast<std::size_t>(at * room_ + last_column + 1)];
        for (std::uint32_t i = begin; i < end; ++i) {
            const GridEntry& other = grid_[i];
            if (other.body <= body || (sleeping && other.asleep != 0) ||
                magnitude(other.x - self.position.x) >= other.reach_x + reach.x ||
                magnitude(other.y - self.position.y) >= other.reach_y + reach.y) {
                continue;
            }
            std::size_t place = candidates_.size();
            candidates_.push_back(other.body);
            for (; place > 0 && candidates_[place - 1] > other.body; --place) {
                candidates_[place] = candidates_[place - 1];
            }
            candidates_[place] = other.body;
        }
    }
    const auto room = static_cast<float>(room_);
    for (std::uint32_t wall = 0; wall < 4 && !sleeping; ++wall) {
        const Wall side = wall_of(wall, room);
        const float gap = side.limit - dot(side.normal, self.position);
        if (gap < (side.normal.x != 0.0F ? reach.x : reach.y)) {
            candidates_.push_back(count() + wall);
        }
    }
}

/// Touches the candidates in order, keeping the points between sleepers that lie in between.
void Pile::match(std::uint32_t body) {
    for (const std::uint32_t other : candidates_) {
        keep_sleeping(body, pair_key(body, other));
        touch(body, other);
    }
    keep_sleeping(body, pair_key(body + 1, 0));
}

/// Passes over the old points of `a` with a pair below `below`. Between sleepers nothing moves, so
/// their points stay as they are and are ready when the island wakes; others are gone.
void Pile::keep_sleeping(std::uint32_t a, std::uint32_t below) {
    for (; old_next_ < old_contacts_.pair.size() && old_contacts_.pair[old_next_] < below;
         ++old_next_) {
        const std::uint32_t b = second_of(old_contacts_.pair[old_next_]);
        if (asleep(a) && (b >= count() || asleep(b))) {
            contacts_.add(old_contacts_.pair[old_next_],
                          old_contacts_.feature[old_next_],
                          old_contacts_.normal[old_next_],
                          old_contacts_.tangent[old_next_]);
        }
    }
}

void Pile::touch(std::uint32_t a, std::uint32_t b) {
    const Manifold manifold =
        b < count() ? collide(shape(a), shape(b))
                    : collide(shape(a), wall_of(b - count(), static_cast<float>(room_)));
    for (std::uint32_t i = 0; i < manifold.count; ++i) {
        add_point(a, b, manifold, manifold.touches[i]);
    }
    const std::uint32_t key = pair_key(a, b);
    while (old_next_ < old_contacts_.pair.size() && old_contacts_.pair[old_next_] == key) {
        ++old_next_;
    }
}

void Pile::add_point(std::uint32_t a,
                     std::uint32_t b,
                     const Manifold& manifold,
                     const Touch& touch) {
    const std::uint32_t key = pair_key(a, b);
    Joint joint;
    // old_next_ is the first old point of this pair, if the pair has one.
    for (std::size_t i = old_next_; i < old_contacts_.pair.size() && old_contacts_.pair[i] == key;
         ++i) {
        if (old_contacts_.feature[i] == touch.feature) {
            joint.normal_impulse = old_contacts_.normal[i];
            joint.tangent_impulse = old_contacts_.tangent[i];
        }
    }
    joint.a = a;
    joint.b = b;
    joint.stored = static_cast<std::uint32_t>(contacts_.pair.size());
    joint.normal = manifold.normal;
    joint.arm_a = touch.point - Vec{bodies_.x[a], bodies_.y[a]};
    if (b < count()) {
        joint.arm_b = touch.point - Vec{bodies_.x[b], bodies_.y[b]};
    }
    joint.separation = touch.separation;
    joint.friction = friction;
    joints_.push_back(joint);
    contacts_.add(key, touch.feature, 0.0F, 0.0F);
}

} // namespace twinstep::games
