// SPDX-License-Identifier: MIT
// Shots of all kinds, what they meet, and what happens to those who are hit.
#include "marine/marine.hpp"
#include "marine/tables.hpp"

namespace twinstep::games {

using namespace marine;

namespace {

/// Lowest health a body can have; keeps repeated damage in range.
constexpr std::int32_t health_min = -1000;
/// Doom: momentum per point of damage for a body of mass 100.
constexpr Fixed push_per_damage = unit / 8;

std::int16_t reduced(std::int16_t health, std::int32_t amount) {
    return static_cast<std::int16_t>(std::max(health - amount, health_min));
}

/// Where a ray passes a circle: the distance along the ray, or -1 if it misses.
std::int64_t along_ray(Vector from, Vector direction, Vector centre, Fixed radius) {
    const std::int64_t dx = std::int64_t{centre.x} - from.x;
    const std::int64_t dy = std::int64_t{centre.y} - from.y;
    const std::int64_t along = (dx * direction.x + dy * direction.y) >> 16;
    const std::int64_t across = (dx * direction.y - dy * direction.x) >> 16;
    return along > 0 && across < radius && across > -radius ? along : -1;
}

} // namespace

Marine::Target Marine::trace(Vector from, Vector direction, Fixed range, Target shooter) const {
    std::int64_t nearest = free_length(from, direction, range);
    Target found;
    const auto consider = [&](Target target, Vector centre, Fixed radius) {
        const bool self = target.kind == shooter.kind && target.index == shooter.index;
        const std::int64_t along = self ? -1 : along_ray(from, direction, centre, radius);
        if (along >= 0 && along - radius < nearest) {
            nearest = along - radius;
            found = target;
        }
    };
    for (std::size_t i = 0; i < players_.size(); ++i) {
        if (players_[i].state == PlayerState::alive) {
            consider({Target::Kind::player, i}, {players_[i].x, players_[i].y}, player_radius);
        }
    }
    for (std::size_t i = 0; i < monsters_.size(); ++i) {
        const Monster& monster = monsters_[i];
        if (monster.state != MonsterState::dead) {
            consider(
                {Target::Kind::monster, i}, {monster.x, monster.y}, traits_of(monster.kind).radius);
        }
    }
    return found;
}

/// The direction of the nearest monster in sight within the cone of help, else straight ahead.
/// Doom helps with missiles in the same way, in a narrower cone.
Vector Marine::aimed(Vector from, Angle angle) const {
    const Vector ahead = direction_of(angle);
    Vector best = ahead;
    auto nearest = static_cast<std::uint32_t>(sight_range);
    for (const Monster& monster : monsters_) {
        const Vector place{monster.x, monster.y};
        const std::uint32_t apart = distance(from, place);
        if (monster.state == MonsterState::dead || apart >= nearest) {
            continue;
        }
        const Vector along =
            with_length(std::int64_t{place.x} - from.x, std::int64_t{place.y} - from.y, unit);
        const Fixed cosine = fixed_mul(along.x, ahead.x) + fixed_mul(along.y, ahead.y);
        if (cosine >= aim_cosine && sees(from, place)) {
            nearest = apart;
            best = along;
        }
    }
    return best;
}

void Marine::launch(ProjectileKind kind, Vector from, Vector direction, std::uint8_t owner) {
    if (projectiles_.size() >= projectiles_max) {
        return;
    }
    const Fixed speed = kind == ProjectileKind::rocket ? rocket_speed
                        : rules_.fast != 0             ? 2 * fireball_speed
                                                       : fireball_speed;
    Projectile projectile;
    projectile.x = from.x;
    projectile.y = from.y;
    projectile.mom_x = fixed_mul(speed, direction.x);
    projectile.mom_y = fixed_mul(speed, direction.y);
    projectile.tics_left = flight_tics;
    projectile.kind = kind;
    projectile.owner = owner;
    projectiles_.push_back(projectile);
}

void Marine::hurt(Target target, std::int32_t amount, Vector along, std::uint8_t attacker) {
    if (target.kind == Target::Kind::none) {
        return;
    }
    if (attacker < players_.size()) {
        ++players_[attacker].hits;
    }
    const Fixed force = std::min(amount * push_per_damage, momentum_max);
    const Vector push{fixed_mul(along.x, force), fixed_mul(along.y, force)};
    if (target.kind == Target::Kind::player) {
        hurt_player(target.index, amount, push, attacker);
    } else {
        hurt_monster(target.index, amount, push, attacker);
    }
}

void Marine::hurt_player(std::size_t slot,
                         std::int32_t amount,
                         Vector push,
                         std::uint8_t attacker) {
    Player& player = players_[slot];
    if (player.state != PlayerState::alive) {
        return;
    }
    player.mom_x = add_clamped(player.mom_x, push.x, momentum_max);
    player.mom_y = add_clamped(player.mom_y, push.y, momentum_max);
    // Doom halves what a player on the lowest skill suffers.
    player.health = reduced(player.health, rules_.skill == 0 ? amount / 2 : amount);
    if (player.health > 0) {
        return;
    }
    player.state = PlayerState::dead;
    player.dead_tics = 0;
    player.mom_x = 0;
    player.mom_y = 0;
    ++player.deaths;
    if (attacker < players_.size() && attacker != slot) {
        ++players_[attacker].frags;
    }
}

void Marine::hurt_monster(std::size_t index,
                          std::int32_t amount,
                          Vector push,
                          std::uint8_t attacker) {
    Monster& monster = monsters_[index];
    if (monster.state == MonsterState::dead) {
        return;
    }
    monster.health = reduced(monster.health, amount);
    monster.state = MonsterState::awake;
    monster.stunned = monster_stun_tics;
    monster.mom_x = push.x;
    monster.mom_y = push.y;
    if (monster.health > 0) {
        return;
    }
    monster.state = MonsterState::dead;
    monster.dead_tics = 0;
    monster.mom_x = 0;
    monster.mom_y = 0;
    if (attacker < players_.size()) {
        Player& player = players_[attacker];
        ++player.kills;
        player.bullets = static_cast<std::uint16_t>(
            std::min<std::uint32_t>(player.bullets + kill_bullets, ammo_max));
    }
}

void Marine::step_projectiles(Random& random) {
    // Those that fly on keep their order.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < projectiles_.size(); ++i) {
        if (fly(projectiles_[i], random)) {
            projectiles_[kept] = projectiles_[i];
            ++kept;
        }
    }
    projectiles_.resize(kept);
}

/// False when the flight has ended.
bool Marine::fly(Projectile& projectile, Random& random) {
    const Vector to{projectile.x + projectile.mom_x, projectile.y + projectile.mom_y};
    const bool is_rocket = projectile.kind == ProjectileKind::rocket;
    if (projectile.tics_left == 0) {
        return false;
    }
    --projectile.tics_left;
    if (cell_blocks(Arena::cell_of(to))) {
        if (is_rocket) {
            explode(projectile);
        }
        return false;
    }
    projectile.x = to.x;
    projectile.y = to.y;
    const Target target = touched(projectile);
    if (target.kind == Target::Kind::none) {
        return true;
    }
    const std::int32_t factor = random.between(1, 8);
    const Vector along = with_length(projectile.mom_x, projectile.mom_y, unit);
    hurt(target, (is_rocket ? 20 : 3) * factor, along, projectile.owner);
    if (is_rocket) {
        explode(projectile);
    }
    return false;
}

/// Whom a projectile touches. It passes its own player, and a monster's passes all monsters.
Marine::Target Marine::touched(const Projectile& projectile) const {
    const Vector place{projectile.x, projectile.y};
    const auto touches = [place](Vector other, Fixed radius) {
        return is_within(place, other, radius + projectile_radius);
    };
    for (std::size_t i = 0; i < players_.size(); ++i) {
        const Player& player = players_[i];
        if (player.state == PlayerState::alive && i != projectile.owner &&
            touches({player.x, player.y}, player_radius)) {
            return {Target::Kind::player, i};
        }
    }
    if (projectile.owner == nobody) {
        return {};
    }
    for (std::size_t i = 0; i < monsters_.size(); ++i) {
        const Monster& monster = monsters_[i];
        if (monster.state != MonsterState::dead &&
            touches({monster.x, monster.y}, traits_of(monster.kind).radius)) {
            return {Target::Kind::monster, i};
        }
    }
    return {};
}

void Marine::explode(const Projectile& rocket) {
    const Vector centre{rocket.x, rocket.y};
    const auto blast = [&](Target target, Vector place) {
        if (!is_within(centre, place, blast_damage * unit)) {
            return;
        }
        const std::int32_t damage =
            blast_damage - static_cast<std::int32_t>(distance(centre, place) >> 16);
        if (damage > 0 && sees(centre, place)) {
            const Vector along = with_length(
                std::int64_t{place.x} - centre.x, std::int64_t{place.y} - centre.y, unit);
            hurt(target, damage, along, rocket.owner);
        }
    };
    for (std::size_t i = 0; i < players_.size(); ++i) {
        if (players_[i].state == PlayerState::alive) {
            blast({Target::Kind::player, i}, {players_[i].x, players_[i].y});
        }
    }
    for (std::size_t i = 0; i < monsters_.size(); ++i) {
        if (monsters_[i].state != MonsterState::dead) {
            blast({Target::Kind::monster, i}, {monsters_[i].x, monsters_[i].y});
        }
    }
}

} // namespace twinstep::games
