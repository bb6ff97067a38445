// SPDX-License-Identifier: MIT
// Marine's numbers. Those marked Doom are the published ones; the others were chosen by play.
#pragma once

#include "marine/state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinstep::games::marine {

// Movement.
inline constexpr Fixed thrust_scale = 2048;       ///< Doom: momentum per unit of forward or side.
inline constexpr Fixed friction = 0xE800;         ///< Doom: part of the momentum kept each tic.
inline constexpr Fixed momentum_max = 30 * unit;  ///< Doom: per axis, a tic.
inline constexpr Fixed stop_speed = 0x1000;       ///< Doom: below it a player who rests stops.
inline constexpr Fixed player_radius = 16 * unit; ///< Doom.

// Doors, in units and tics.
inline constexpr std::uint16_t door_height = 128;
inline constexpr std::uint16_t door_speed = 2;       ///< Doom: a tic.
inline constexpr std::uint16_t door_wait_tics = 150; ///< Doom.
inline constexpr std::uint16_t body_height = 56;     ///< Doom: a player fits below this.
inline constexpr Fixed use_range = 96 * unit;        ///< Doom: 64.
inline constexpr Angle use_aside = Angle{1} << 28;   ///< 22.5 degrees.

// Monsters' wits, in tics, cells and units.
inline constexpr std::uint64_t think_tics = 4;       ///< Between two thoughts.
inline constexpr std::uint16_t waking_cells = 10;    ///< Way to a player that wakes.
inline constexpr Fixed hearing_range = 640 * unit;   ///< A shot within it wakes.
inline constexpr std::uint16_t patience_tics = 3;    ///< Blocked tics before it tries elsewhere.
inline constexpr std::uint8_t monster_stun_tics = 6; ///< After a hit.
inline constexpr std::int32_t trooper_spread = 9000; ///< Sideways part of a shot in 65,536.

// Shooting.
inline constexpr Fixed melee_range = 64 * unit;  ///< Doom.
inline constexpr Fixed shot_range = 2048 * unit; ///< Doom.
inline constexpr Fixed sight_range = 1536 * unit;
inline constexpr Fixed aim_cosine = 56756;         ///< Of 30 degrees to each side.
inline constexpr std::size_t projectiles_max = 96; ///< More are not launched.
inline constexpr std::int32_t blast_damage = 128;  ///< Doom: less one for each unit away.
inline constexpr std::uint16_t flight_tics = 350;

// Life and death.
inline constexpr std::int16_t player_health = 100; ///< Doom.
inline constexpr std::uint16_t ammo_max = 200;     ///< Doom: bullets.
inline constexpr std::uint16_t start_bullets = 100;
inline constexpr std::uint16_t kill_bullets = 5;           ///< A kill's reward.
inline constexpr std::uint16_t death_tics_min = 35;        ///< Before use or attack revives.
inline constexpr std::uint16_t death_tics_max = 105;       ///< Then nobody has to press.
inline constexpr std::uint16_t monster_return_tics = 1050; ///< Dead monsters come back.
inline constexpr std::uint16_t monster_respawn_tics = 420; ///< Doom: with `respawn`.
inline constexpr std::uint16_t pickup_tics = 1050;         ///< Doom: items in deathmatch 2.

/// A weapon's numbers.
struct WeaponTraits {
    std::uint16_t cooldown; ///< Tics between shots.
    std::uint8_t pellets;
    Fixed spread;        ///< Largest deviation to each side, in 65,536 of the range.
    std::int32_t damage; ///< Times one to three a pellet.
};

inline constexpr std::array<WeaponTraits, weapons> weapon_traits{{
    {17, 1, 0, 10},
    {14, 1, 800, 8},
    {37, 7, 6400, 6},
    {4, 1, 3200, 6},
    {20, 1, 0, 20},
}};

/// A monster's numbers.
struct MonsterTraits {
    std::int16_t health;
    Fixed radius;
    Fixed speed;               ///< Units a tic.
    std::int32_t melee_damage; ///< Times one to eight, or 0 for no claws.
    std::uint16_t cooldown;    ///< Tics between attacks.
    std::uint8_t aggression;   ///< Chance in 256, at each thought in sight, of a shot.
};

inline constexpr std::array<MonsterTraits, monster_kinds> monster_traits{{
    {20, 20 * unit, 2 * unit, 0, 50, 24},
    {40, 20 * unit, 2 * unit, 3, 50, 32},
    {100, 30 * unit, 5 * unit / 2, 3, 35, 0},
}};

inline constexpr const MonsterTraits& traits_of(MonsterKind kind) {
    return monster_traits[static_cast<std::size_t>(kind)];
}

inline constexpr std::array<std::size_t, 5> monsters_at_skill{{28, 36, 44, 56, 70}};

inline constexpr std::size_t pickups_per_room = 3;

/// Speed of a projectile: Doom's rocket and imp fireball.
inline constexpr Fixed rocket_speed = 20 * unit;
inline constexpr Fixed fireball_speed = 10 * unit;
inline constexpr Fixed projectile_radius = 8 * unit;

// Streams of the draws that are not a step's.
inline constexpr std::uint32_t placing_stream = 1;
inline constexpr std::uint32_t monster_stream = 2;
inline constexpr std::uint32_t pickup_stream = 3;

} // namespace twinstep::games::marine
