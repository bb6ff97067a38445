// SPDX-License-Identifier: MIT
// What monsters do: hear, chase along the shortest way, open doors, attack, come back.
#include "marine/marine.hpp"
#include "marine/tables.hpp"

#include <array>

namespace twinstep::games {

using namespace marine;

namespace {

constexpr std::uint16_t unreachable = UINT16_MAX;
constexpr std::array<Cell, 4> neighbours{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};

Cell operator+(Cell a, Cell b) {
    return {a.x + b.x, a.y + b.y};
}

Vector place_of(const Monster& monster) {
    return {monster.x, monster.y};
}

} // namespace

std::uint16_t Marine::flow_at(Cell cell) const {
    if (cell.x < 0 || cell.y < 0 || cell.x >= arena_cells || cell.y >= arena_cells) {
        return unreachable;
    }
    return flow_[static_cast<std::size_t>(cell.y * arena_cells + cell.x)];
}

/// Breadth first from every living player. Doors count as floor: monsters open them.
void Marine::find_flow() {
    std::fill(flow_.begin(), flow_.end(), unreachable);
    std::size_t tail = 0;
    const auto reach = [this, &tail](Cell cell, std::uint16_t length) {
        if (arena_.at(cell) != Tile::wall && flow_at(cell) == unreachable) {
            const auto index = static_cast<std::size_t>(cell.y * arena_cells + cell.x);
            flow_[index] = length;
            queue_[tail] = static_cast<std::uint16_t>(index);
            ++tail;
        }
    };
    for (const Player& player : players_) {
        if (player.state == PlayerState::alive) {
            reach(Arena::cell_of({player.x, player.y}), 0);
        }
    }
    for (std::size_t head = 0; head < tail; ++head) {
        const std::uint16_t index = queue_[head];
        const auto length = static_cast<std::uint16_t>(flow_[index] + 1);
        for (const Cell step : neighbours) {
            reach(Cell{index % arena_cells, index / arena_cells} + step, length);
        }
    }
}

void Marine::wake_near(Vector place) {
    for (Monster& monster : monsters_) {
        if (monster.state == MonsterState::asleep &&
            is_within(place_of(monster), place, hearing_range)) {
            monster.state = MonsterState::awake;
        }
    }
}

void Marine::step_monsters(Tick tick, Random& random) {
    const bool thinking = tick.value % think_tics == 0;
    if (thinking && !monsters_.empty()) {
        find_flow();
    }
    for (std::size_t i = 0; i < monsters_.size(); ++i) {
        Monster& monster = monsters_[i];
        if (monster.cooldown > 0) {
            --monster.cooldown;
        }
        switch (monster.state) {
        case MonsterState::dead:
            return_from_death(i, tick, random);
            break;
        case MonsterState::asleep:
            if (thinking && flow_at(Arena::cell_of(place_of(monster))) <= waking_cells) {
                monster.state = MonsterState::awake;
            }
            break;
        case MonsterState::awake:
            if (monster.stunned > 0) {
                --monster.stunned;
            } else if (thinking) {
                think(i, random);
            }
            walk(i);
            break;
        }
    }
}

void Marine::think(std::size_t index, Random& random) {
    Monster& monster = monsters_[index];
    const Vector place = place_of(monster);
    monster.target = nobody;
    monster.mom_x = 0;
    monster.mom_y = 0;
    std::uint32_t nearest = UINT32_MAX;
    for (std::size_t slot = 0; slot < players_.size(); ++slot) {
        const Player& player = players_[slot];
        const std::uint32_t apart = distance(place, {player.x, player.y});
        if (player.state == PlayerState::alive && apart < nearest) {
            nearest = apart;
            monster.target = static_cast<std::uint8_t>(slot);
        }
    }
    if (monster.target == nobody) {
        return;
    }
    const Player& prey = players_[monster.target];
    const Vector prey_place{prey.x, prey.y};
    const bool in_sight = sees(place, prey_place);
    if (in_sight && monster.cooldown == 0 && monster_attack(index, prey_place, nearest, random)) {
        const std::uint16_t pause = traits_of(monster.kind).cooldown;
        monster.cooldown = rules_.fast != 0 ? pause / 2 : pause;
        return;
    }
    const Fixed speed = traits_of(monster.kind).speed * (rules_.fast != 0 ? 2 : 1);
    Vector heading;
    if (monster.blocked >= patience_tics) {
        monster.blocked = 0;
        const Angle angle = random.below(8) << 29;
        const Vector along = direction_of(angle);
        heading = {fixed_mul(along.x, speed), fixed_mul(along.y, speed)};
    } else {
        const Vector goal = in_sight ? prey_place : next_place(monster);
        heading =
            with_length(std::int64_t{goal.x} - place.x, std::int64_t{goal.y} - place.y, speed);
    }
    monster.mom_x = heading.x;
    monster.mom_y = heading.y;
}

/// The middle of the neighbouring cell that is nearest to a player on foot.
Vector Marine::next_place(const Monster& monster) const {
    Cell best = Arena::cell_of(place_of(monster));
    const Cell here = best;
    for (const Cell step : neighbours) {
        if (flow_at(here + step) < flow_at(best)) {
            best = here + step;
        }
    }
    return Arena::centre_of(best);
}

void Marine::walk(std::size_t index) {
    Monster& monster = monsters_[index];
    if (monster.mom_x == 0 && monster.mom_y == 0) {
        return;
    }
    const Fixed radius = traits_of(monster.kind).radius;
    const Vector wanted{monster.mom_x, monster.mom_y};
    Body body{place_of(monster), radius, {Target::Kind::monster, index}};
    slide(body, monster.mom_x, monster.mom_y);
    const bool moved = body.place.x != monster.x || body.place.y != monster.y;
    monster.x = body.place.x;
    monster.y = body.place.y;
    monster.blocked = moved ? 0 : static_cast<std::uint16_t>(monster.blocked + 1);
    if (monster.mom_x == 0 || monster.mom_y == 0) {
        // Something was in the way; a door is opened.
        const Vector heading = with_length(wanted.x, wanted.y, radius + 12 * unit);
        const Tile ahead =
            arena_.at(Arena::cell_of({monster.x + heading.x, monster.y + heading.y}));
        if (ahead >= Tile::first_door) {
            open_door(Arena::door_of(ahead), nobody);
        }
    }
}

bool Marine::monster_attack(std::size_t index, Vector prey, std::uint32_t apart, Random& random) {
    const Monster& monster = monsters_[index];
    const MonsterTraits& traits = traits_of(monster.kind);
    const Vector place = place_of(monster);
    const Vector along =
        with_length(std::int64_t{prey.x} - place.x, std::int64_t{prey.y} - place.y, unit);
    const auto reach = static_cast<std::uint32_t>(traits.radius + player_radius + 16 * unit);
    if (traits.melee_damage > 0 && apart < reach) {
        const std::int32_t factor = random.between(1, 8);
        hurt({Target::Kind::player, monster.target}, traits.melee_damage * factor, along, nobody);
        return true;
    }
    if (traits.aggression == 0) {
        return false;
    }
    const std::uint32_t mood = random.below(256);
    if (mood >= traits.aggression) {
        return false;
    }
    if (monster.kind == MonsterKind::imp) {
        launch(ProjectileKind::fireball, place, along, nobody);
        return true;
    }
    const std::int32_t miss = random.between(-trooper_spread, trooper_spread);
    const std::int32_t factor = random.between(1, 5);
    const Vector shot = sideways(along, miss);
    const Target target = trace(place, shot, shot_range, {Target::Kind::monster, index});
    hurt(target, 3 * factor, along, nobody);
    return true;
}

void Marine::return_from_death(std::size_t index, Tick tick, Random& random) {
    Monster& monster = monsters_[index];
    const std::uint16_t wait = rules_.respawn != 0 ? monster_respawn_tics : monster_return_tics;
    if (monster.dead_tics < wait) {
        monster.dead_tics = static_cast<std::uint16_t>(monster.dead_tics + 1);
        return;
    }
    if (tick.value % 32 != 0) {
        return;
    }
    const std::uint32_t mood = random.below(4);
    const Vector home{monster.home_x, monster.home_y};
    const Body body{home, traits_of(monster.kind).radius, {Target::Kind::monster, index}};
    if (mood == 0 && !body_in_the_way(body, home)) {
        const MonsterKind kind = monster.kind;
        monster = Monster{};
        monster.kind = kind;
        monster.x = monster.home_x = home.x;
        monster.y = monster.home_y = home.y;
        monster.health = traits_of(kind).health;
    }
}

void Marine::require_valid() const {
    // Bytes that decode may still describe what no session can reach; a step relies on these.
    const auto require = [](bool holds, const char* what) {
        if (!holds) {
            throw cereal::Exception(what);
        }
    };
    const auto inside = [](Fixed value) { return value >= 0 && value <= arena_size; };
    const auto slow = [](Fixed value) { return value >= -momentum_max && value <= momentum_max; };
    require(doors_.size() == arena_.doors(), "number of doors");
    for (const Door& door : doors_) {
        require(door.height <= door_height, "door height");
        require(static_cast<std::uint8_t>(door.phase) < door_phases, "door phase");
    }
    require(pickups_.size() == pickups_per_room * arena_.rooms().size(), "number of pickups");
    for (const Pickup& pickup : pickups_) {
        require(static_cast<std::uint8_t>(pickup.kind) < pickup_kinds, "pickup kind");
    }
    require(players_.size() == slots_, "number of players");
    for (const Player& player : players_) {
        require(inside(player.x) && inside(player.y), "player place");
        require(slow(player.mom_x) && slow(player.mom_y), "player momentum");
        require(static_cast<std::uint8_t>(player.state) < player_states, "player state");
        require(static_cast<std::uint8_t>(player.weapon) < weapons, "player weapon");
        require(player.health <= player_health, "player health");
    }
    require(monsters_.size() == monster_count_, "number of monsters");
    for (const Monster& monster : monsters_) {
        require(inside(monster.x) && inside(monster.y), "monster place");
        require(inside(monster.home_x) && inside(monster.home_y), "monster home");
        require(slow(monster.mom_x) && slow(monster.mom_y), "monster momentum");
        require(static_cast<std::uint8_t>(monster.kind) < monster_kinds, "monster kind");
        require(static_cast<std::uint8_t>(monster.state) < monster_states, "monster state");
    }
    require(projectiles_.size() <= projectiles_max, "number of projectiles");
    for (const Projectile& projectile : projectiles_) {
        require(inside(projectile.x) && inside(projectile.y), "projectile place");
        require(slow(projectile.mom_x) && slow(projectile.mom_y), "projectile momentum");
        require(static_cast<std::uint8_t>(projectile.kind) < projectile_kinds, "projectile kind");
    }
}

} // namespace twinstep::games
