// SPDX-License-Identifier: MIT
// What a loaded state must satisfy before a step may run on it.
#include "pile.hpp"

#include <stdexcept>

namespace twinstep::games {

namespace {

void require(bool possible, const char* what) {
    if (!possible) {
        // Caught where the simulation loads, and turned into an error value there.
        throw std::out_of_range(what);
    }
}

/// Every value in [low, high]; a NaN is not.
void require_within(const std::vector<float>& values, float low, float high, const char* what) {
    for (const float value : values) {
        require(value >= low && value <= high, what);
    }
}

void require_bodies(const PileBodies& bodies, std::size_t count, float room) {
    for (const std::vector<float>* list : {&bodies.x,
                                           &bodies.y,
                                           &bodies.cosine,
                                           &bodies.sine,
                                           &bodies.velocity_x,
                                           &bodies.velocity_y,
                                           &bodies.spin,
                                           &bodies.half_x,
                                           &bodies.half_y}) {
        require(list->size() == count, "bodies: another number than the set-up says");
    }
    require(bodies.box.size() == count, "bodies.box: another number than the set-up says");
    require(bodies.rest.size() == count, "bodies.rest: another number than the set-up says");
    require_within(bodies.x, 0.0F, room, "bodies.x: outside the room");
    require_within(bodies.y, 0.0F, room, "bodies.y: outside the room");
    require_within(bodies.velocity_x, -100.0F, 100.0F, "bodies.velocity_x: too fast");
    require_within(bodies.velocity_y, -100.0F, 100.0F, "bodies.velocity_y: too fast");
    require_within(bodies.spin, -100.0F, 100.0F, "bodies.spin: too fast");
    require_within(bodies.half_x, 0.1F, 0.5F, "bodies.half_x: no such size");
    require_within(bodies.half_y, 0.1F, 0.5F, "bodies.half_y: no such size");
    for (std::size_t i = 0; i < count; ++i) {
        const float length_squared =
            bodies.cosine[i] * bodies.cosine[i] + bodies.sine[i] * bodies.sine[i];
        require(length_squared > 0.99F && length_squared < 1.01F, "bodies: not a direction");
        require(bodies.box[i] <= 1, "bodies.box: neither 0 nor 1");
    }
}

void require_contacts(const PileContacts& contacts, std::size_t count) {
    const std::size_t points = contacts.pair.size();
    require(contacts.feature.size() == points && contacts.normal.size() == points &&
                contacts.tangent.size() == points,
            "contacts: lists of different length");
    const float limit = pile_detail::impulse_max;
    require_within(contacts.normal, 0.0F, limit, "contacts.normal: no such impulse");
    require_within(contacts.tangent, -limit, limit, "contacts.tangent: no such impulse");
    for (std::size_t i = 0; i < points; ++i) {
        const std::uint32_t a = contacts.pair[i] >> 16U;
        const std::uint32_t b = contacts.pair[i] & 0xFFFFU;
        require(a < count && b > a && b < count + 4, "contacts.pair: no such pair");
        require(i == 0 || contacts.pair[i - 1] < contacts.pair[i] ||
                    (contacts.pair[i - 1] == contacts.pair[i] &&
                     contacts.feature[i - 1] < contacts.feature[i]),
                "contacts: not in order");
    }
}

} // namespace

void Pile::require_possible() const {
    const std::size_t count = grid_.size(); // reset() has just sized it after the set-up.
    const auto room = static_cast<float>(room_);
    require_bodies(bodies_, count, room);
    require_contacts(contacts_, count);
    require(player_.next < count, "player.next: no such body");
    require(player_.aim_x >= 0.0F && player_.aim_x <= room, "player.aim_x: outside the room");
    require(player_.aim_y >= 0.0F && player_.aim_y <= room, "player.aim_y: outside the room");
}

} // namespace twinstep::games
