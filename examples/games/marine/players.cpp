// SPDX-License-Identifier: MIT
// What players do: spawn, walk, turn, open doors, change weapons, shoot, take what lies about.
#include "marine/marine.hpp"
#include "marine/tables.hpp"

namespace twinstep::games {

using namespace marine;

namespace {

constexpr std::uint8_t weapon_bit(Weapon weapon) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(weapon));
}

/// The ammunition a weapon uses, or nullptr for the fist.
std::uint16_t* ammo_of(Player& player, Weapon weapon) {
    switch (weapon) {
    case Weapon::fist:
        return nullptr;
    case Weapon::pistol:
    case Weapon::chaingun:
        return &player.bullets;
    case Weapon::shotgun:
        return &player.shells;
    case Weapon::launcher:
        return &player.rockets;
    }
    return nullptr;
}

/// True if the weapon is owned and could be fired once.
bool is_ready(Player& player, Weapon weapon) {
    const std::uint16_t* ammo = ammo_of(player, weapon);
    return (player.armed & weapon_bit(weapon)) != 0 && (ammo == nullptr || *ammo > 0);
}

/// Adds ammunition up to the limit.
void add_ammo(std::uint16_t& ammo, std::uint16_t amount) {
    ammo = static_cast<std::uint16_t>(std::min<std::uint32_t>(ammo + amount, ammo_max));
}

} // namespace

void Marine::spawn(std::size_t slot, Random& random) {
    Player& player = players_[slot];
    const std::span<const Vector> rooms = arena_.rooms();
    Vector place = rooms[0];
    if (rules_.deathmatch == 0 && player.deaths == 0) {
        // The four start places of the first room.
        const Fixed step = 40 * unit;
        place.x += slot % 2 == 0 ? -step : step;
        place.y += slot / 2 == 0 ? -step : step;
    } else {
        for (int tries = 0; tries < 8; ++tries) {
            place = rooms[random.below(static_cast<std::uint32_t>(rooms.size()))];
            const Body body{place, player_radius, {Target::Kind::player, slot}};
            if (!body_in_the_way(body, place)) {
                break;
            }
        }
    }
    player.x = place.x;
    player.y = place.y;
    player.mom_x = 0;
    player.mom_y = 0;
    player.angle = random.below(8) << 29;
    player.health = player_health;
    player.bullets = start_bullets;
    player.shells = 0;
    player.rockets = 0;
    player.cooldown = 0;
    player.dead_tics = 0;
    player.state = PlayerState::alive;
    player.weapon = Weapon::pistol;
    player.armed = weapon_bit(Weapon::fist) | weapon_bit(Weapon::pistol);
}

void Marine::step_player(std::size_t slot, const Input& input, Random& random) {
    Player& player = players_[slot];
    if (player.state == PlayerState::away) {
        return;
    }
    const std::uint8_t buttons = (input.buttons & button_special) != 0 ? 0 : input.buttons;
    const auto pressed = static_cast<std::uint8_t>(buttons & ~player.buttons);
    player.buttons = buttons;
    if (player.state == PlayerState::dead) {
        player.dead_tics = static_cast<std::uint16_t>(player.dead_tics + 1);
        const bool wants = (pressed & (button_use | button_attack)) != 0;
        if (player.dead_tics >= (wants ? death_tics_min : death_tics_max)) {
            spawn(slot, random);
        }
        return;
    }
    player.angle += Angle{static_cast<std::uint16_t>(input.turn)} << 16;
    const auto thrust = [&player](std::int8_t move, Angle angle) {
        const Fixed push = move * thrust_scale;
        const Vector along = direction_of(angle);
        player.mom_x = add_clamped(player.mom_x, fixed_mul(push, along.x), momentum_max);
        player.mom_y = add_clamped(player.mom_y, fixed_mul(push, along.y), momentum_max);
    };
    thrust(input.forward, player.angle);
    thrust(input.side, player.angle - quarter_turn);
    Body body{{player.x, player.y}, player_radius, {Target::Kind::player, slot}};
    slide(body, player.mom_x, player.mom_y);
    player.travelled += distance({player.x, player.y}, body.place);
    player.x = body.place.x;
    player.y = body.place.y;
    const auto is_slow = [](Fixed speed) { return speed > -stop_speed && speed < stop_speed; };
    const bool rests = input.forward == 0 && input.side == 0;
    if (rests && is_slow(player.mom_x) && is_slow(player.mom_y)) {
        player.mom_x = 0;
        player.mom_y = 0;
    } else {
        player.mom_x = fixed_mul(player.mom_x, friction);
        player.mom_y = fixed_mul(player.mom_y, friction);
    }
    if ((buttons & button_change) != 0) {
        change_weapon(player, buttons);
    }
    if ((pressed & button_use) != 0) {
        use(slot);
    }
    if (player.cooldown > 0) {
        --player.cooldown;
    }
    if ((buttons & button_attack) != 0 && player.cooldown == 0) {
        attack(slot, random);
    }
}

void Marine::use(std::size_t slot) {
    // Straight ahead first, then a little to each side.
    for (const Angle aside : {Angle{0}, use_aside, Angle{0} - use_aside}) {
        if (use_towards(slot, players_[slot].angle + aside)) {
            return;
        }
    }
}

/// True if a door was met.
bool Marine::use_towards(std::size_t slot, Angle angle) {
    const Vector along = direction_of(angle);
    Vector place{players_[slot].x, players_[slot].y};
    for (Fixed reach = 0; reach < use_range; reach += 8 * unit) {
        place.x += along.x * 8;
        place.y += along.y * 8;
        const Tile tile = arena_.at(Arena::cell_of(place));
        if (tile == Tile::wall) {
            return false;
        }
        if (tile >= Tile::first_door) {
            const std::size_t index = Arena::door_of(tile);
            Door& door = doors_[index];
            if (door.phase == DoorPhase::open || door.phase == DoorPhase::opening) {
                door.phase = DoorPhase::closing;
            } else {
                open_door(index, static_cast<std::uint8_t>(slot));
            }
            return true;
        }
    }
    return false;
}

void Marine::change_weapon(Player& player, std::uint8_t buttons) {
    const unsigned wanted = (buttons & button_weapon) >> button_weapon_shift;
    if (wanted < weapons && is_ready(player, static_cast<Weapon>(wanted))) {
        player.weapon = static_cast<Weapon>(wanted);
    }
}

void Marine::attack(std::size_t slot, Random& random) {
    Player& player = players_[slot];
    if (!is_ready(player, player.weapon)) {
        for (const Weapon next :
             {Weapon::chaingun, Weapon::shotgun, Weapon::pistol, Weapon::fist}) {
            if (is_ready(player, next)) {
                player.weapon = next;
                break;
            }
        }
    }
    const WeaponTraits& traits = weapon_traits[static_cast<std::size_t>(player.weapon)];
    const Vector from{player.x, player.y};
    if (std::uint16_t* ammo = ammo_of(player, player.weapon); ammo != nullptr && *ammo > 0) {
        --*ammo;
    }
    player.cooldown = traits.cooldown;
    ++player.shots;
    wake_near(from);
    const Vector aim = aimed(from, player.angle);
    if (player.weapon == Weapon::launcher) {
        launch(ProjectileKind::rocket, from, aim, static_cast<std::uint8_t>(slot));
        return;
    }
    const Fixed range = player.weapon == Weapon::fist ? melee_range : shot_range;
    for (std::uint8_t i = 0; i < traits.pellets; ++i) {
        const std::int32_t deviation = random.between(-traits.spread, traits.spread);
        const std::int32_t factor = random.between(1, 3);
        const Vector along = sideways(aim, deviation);
        const Target target = trace(from, along, range, {Target::Kind::player, slot});
        const std::int32_t damage = traits.damage * factor;
        hurt(target, damage, along, static_cast<std::uint8_t>(slot));
    }
}

void Marine::step_pickups() {
    for (Pickup& pickup : pickups_) {
        if (pickup.tics_left > 0) {
            --pickup.tics_left;
            continue;
        }
        for (Player& player : players_) {
            constexpr Fixed reach = player_radius + 20 * unit;
            if (player.state == PlayerState::alive &&
                is_within({player.x, player.y}, {pickup.x, pickup.y}, reach) &&
                take(player, pickup.kind)) {
                ++player.pickups;
                pickup.taken = static_cast<std::uint8_t>(pickup.taken + 1);
                pickup.tics_left = pickup_tics;
                break;
            }
        }
    }
}

bool Marine::take(Player& player, PickupKind kind) {
    // Ammunition comes with the weapon for it; a new weapon is taken in hand at once.
    const auto arm = [&player](Weapon weapon, std::uint16_t& ammo, std::uint16_t amount) {
        const bool is_new = (player.armed & weapon_bit(weapon)) == 0;
        if (!is_new && ammo >= ammo_max) {
            return false;
        }
        add_ammo(ammo, amount);
        player.armed = static_cast<std::uint8_t>(player.armed | weapon_bit(weapon));
        player.weapon = is_new ? weapon : player.weapon;
        return true;
    };
    switch (kind) {
    case PickupKind::medikit:
        if (player.health >= player_health) {
            return false;
        }
        player.health =
            static_cast<std::int16_t>(std::min<std::int32_t>(player.health + 25, player_health));
        return true;
    case PickupKind::clip:
        return arm(Weapon::chaingun, player.bullets, 40);
    case PickupKind::shells:
        return arm(Weapon::shotgun, player.shells, 16);
    case PickupKind::rockets:
        return arm(Weapon::launcher, player.rockets, 6);
    }
    return false;
}

} // namespace twinstep::games
