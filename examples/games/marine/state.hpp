// SPDX-License-Identifier: MIT
// The pieces of marine's state: integers without padding, copied and hashed as whole runs.
#pragma once

#include "marine/fixed.hpp"

#include "twinstep/sim/archive.hpp"

#include <cstdint>

namespace twinstep::games::marine {

/// Bits of a ticcmd's buttons, as Doom defines them.
enum Button : std::uint8_t {
    button_attack = 1,
    button_use = 2,
    button_change = 4, ///< The weapon bits mean something.
    button_weapon = 8 | 16 | 32,
    button_special = 128, ///< Pause or save: the other bits are no play.
};

inline constexpr unsigned button_weapon_shift = 3;

enum class Weapon : std::uint8_t { fist, pistol, shotgun, chaingun, launcher };
inline constexpr std::uint8_t weapons = 5;

enum class PlayerState : std::uint8_t { away, alive, dead };
inline constexpr std::uint8_t player_states = 3;

struct Player {
    std::uint64_t travelled = 0; ///< Distance walked, map units with 16 bits of fraction.
    Fixed x = 0;
    Fixed y = 0;
    Fixed mom_x = 0; ///< Units a tic.
    Fixed mom_y = 0;
    Angle angle = 0;
    std::uint32_t kills = 0; ///< Monsters.
    std::uint32_t frags = 0; ///< Other players.
    std::uint32_t deaths = 0;
    std::uint32_t shots = 0;
    std::uint32_t hits = 0;
    std::uint32_t doors = 0; ///< Doors opened by use.
    std::uint32_t pickups = 0;
    std::int16_t health = 0;
    std::uint16_t bullets = 0;
    std::uint16_t shells = 0;
    std::uint16_t rockets = 0;
    std::uint16_t cooldown = 0;  ///< Tics until the next shot.
    std::uint16_t dead_tics = 0; ///< Tics since death.
    PlayerState state = PlayerState::away;
    Weapon weapon = Weapon::pistol;
    std::uint8_t buttons = 0; ///< Of the last tic: use acts when it is newly pressed.
    std::uint8_t armed = 0;   ///< One bit a weapon that is owned.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(travelled), CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(mom_x));
        archive(CEREAL_NVP(mom_y), CEREAL_NVP(angle), CEREAL_NVP(kills), CEREAL_NVP(frags));
        archive(CEREAL_NVP(deaths), CEREAL_NVP(shots), CEREAL_NVP(hits), CEREAL_NVP(doors));
        archive(CEREAL_NVP(pickups), CEREAL_NVP(health), CEREAL_NVP(bullets), CEREAL_NVP(shells));
        archive(CEREAL_NVP(rockets), CEREAL_NVP(cooldown), CEREAL_NVP(dead_tics));
        archive(CEREAL_NVP(state), CEREAL_NVP(weapon), CEREAL_NVP(buttons), CEREAL_NVP(armed));
    }
};

enum class MonsterKind : std::uint8_t { trooper, imp, brute };
inline constexpr std::uint8_t monster_kinds = 3;

enum class MonsterState : std::uint8_t { asleep, awake, dead };
inline constexpr std::uint8_t monster_states = 3;

/// A monster's target when it has none, and a projectile's owner when that is a monster.
inline constexpr std::uint8_t nobody = 255;

struct Monster {
    Fixed x = 0;
    Fixed y = 0;
    Fixed mom_x = 0; ///< Where it walks until it thinks again, units a tic.
    Fixed mom_y = 0;
    Fixed home_x = 0;
    Fixed home_y = 0;
    std::int16_t health = 0;
    std::uint16_t cooldown = 0;  ///< Tics until the next attack.
    std::uint16_t dead_tics = 0; ///< Tics since death, up to the wait.
    std::uint16_t blocked = 0;   ///< Tics in a row in which it could not move.
    MonsterKind kind = MonsterKind::trooper;
    MonsterState state = MonsterState::asleep;
    std::uint8_t target = nobody; ///< Slot.
    std::uint8_t stunned = 0;     ///< Tics.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(mom_x), CEREAL_NVP(mom_y));
        archive(CEREAL_NVP(home_x), CEREAL_NVP(home_y), CEREAL_NVP(health), CEREAL_NVP(cooldown));
        archive(CEREAL_NVP(dead_tics), CEREAL_NVP(blocked), CEREAL_NVP(kind), CEREAL_NVP(state));
        archive(CEREAL_NVP(target), CEREAL_NVP(stunned));
    }
};

enum class ProjectileKind : std::uint8_t { rocket, fireball };
inline constexpr std::uint8_t projectile_kinds = 2;

struct Projectile {
    Fixed x = 0;
    Fixed y = 0;
    Fixed mom_x = 0;
    Fixed mom_y = 0;
    std::uint16_t tics_left = 0;
    ProjectileKind kind = ProjectileKind::rocket;
    std::uint8_t owner = nobody; ///< Slot.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(mom_x), CEREAL_NVP(mom_y));
        archive(CEREAL_NVP(tics_left), CEREAL_NVP(kind), CEREAL_NVP(owner));
    }
};

enum class DoorPhase : std::uint8_t { closed, opening, open, closing };
inline constexpr std::uint8_t door_phases = 4;

struct Door {
    std::uint16_t height = 0;    ///< Units between the floor and the door's lower edge.
    std::uint16_t tics_left = 0; ///< Until an open door starts to close.
    std::uint16_t opened = 0;    ///< How often it was opened, by anybody; wraps.
    DoorPhase phase = DoorPhase::closed;
    std::uint8_t opener = nobody; ///< Slot of the player who opened it last.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(height), CEREAL_NVP(tics_left), CEREAL_NVP(opened), CEREAL_NVP(phase));
        archive(CEREAL_NVP(opener));
    }
};

enum class PickupKind : std::uint8_t { medikit, clip, shells, rockets };
inline constexpr std::uint8_t pickup_kinds = 4;

struct Pickup {
    Fixed x = 0;
    Fixed y = 0;
    std::uint16_t tics_left = 0; ///< Until it is there again; 0 means it lies there.
    PickupKind kind = PickupKind::medikit;
    std::uint8_t taken = 0; ///< How often, wraps.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(tics_left), CEREAL_NVP(kind));
        archive(CEREAL_NVP(taken));
    }
};

} // namespace twinstep::games::marine

template <>
inline constexpr bool twinstep::contiguous<twinstep::games::marine::Player> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::marine::Monster> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::marine::Projectile> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::marine::Door> = true;
template <>
inline constexpr bool twinstep::contiguous<twinstep::games::marine::Pickup> = true;
