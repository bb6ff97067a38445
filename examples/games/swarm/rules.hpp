// SPDX-License-Identifier: MIT
// The numbers of the game: unit types, lengths, times, directions.
#pragma once

#include <array>
#include <cstdint>

namespace twinstep::games::swarm_rules {

/// One kind of unit. Lengths in 1/1024 of a cell, times in ticks.
struct UnitType {
    std::int16_t health;
    std::int16_t damage;         ///< Least of a hit.
    std::uint32_t damage_spread; ///< A hit does up to this - 1 more.
    std::int32_t range;
    std::uint16_t cooldown_ticks;
    std::int32_t speed; ///< A tick, on open ground.
};

inline constexpr std::array<UnitType, 3> unit_types{{
    {60, 6, 5, 900, 10, 150},   // Grunt.
    {40, 4, 7, 4096, 20, 130},  // Ranger.
    {200, 15, 11, 1100, 30, 90} // Heavy.
}};

/// Of eight units, which are what.
inline constexpr std::array<std::uint8_t, 8> kind_mix{0, 0, 1, 0, 0, 1, 0, 2};

inline constexpr std::uint32_t units_default = 10000;
inline constexpr std::uint32_t units_min = 100;
inline constexpr std::uint32_t units_max = 200000;

/// Eight directions, each the opposite of the one four further.
struct Direction {
    std::int32_t x;
    std::int32_t y;
};

inline constexpr std::array<Direction, 8> directions{
    {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}}};

/// 256 / sqrt(2), for diagonals.
inline constexpr std::int32_t diagonal_256 = 181;

inline constexpr std::int32_t speed_max = 250; ///< Below a cell, so that no wall is jumped.
inline constexpr std::uint32_t sight_cells = 6;
inline constexpr std::int32_t lose_cells = 8; ///< A target further away is given up.
inline constexpr std::int32_t spacing = 480;  ///< Units nearer than this push each other away.
inline constexpr std::int32_t spacing_max = 1024;
inline constexpr std::uint32_t search_period_ticks = 2;
/// A place that somehow holds more is looked at in part, so that a step's time stays bounded.
inline constexpr std::uint32_t neighbours_max = 48;
inline constexpr std::uint32_t candidates_max = 256;
inline constexpr std::uint32_t wave_period_ticks = 80;
inline constexpr std::uint32_t wave_share = 8; ///< A wave brings back up to 1/8 of an army.
inline constexpr std::uint32_t units_per_spawn_cell = 2;
/// What one worker takes at a time. Says nothing of the outcome.
inline constexpr std::uint32_t units_per_part = 1024;
inline constexpr std::uint32_t units_at_once = 64; ///< Of these, in the innermost loops.
inline constexpr std::uint16_t unreached = 0xFFFF; ///< Cost of a cell a field has not come to.
inline constexpr std::uint32_t frontier_buckets = 8;

} // namespace twinstep::games::swarm_rules
