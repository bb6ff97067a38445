// SPDX-License-Identifier: MIT
// The arena: a grid of rooms, walls, pillars and doors, made from an episode and a map number.
#pragma once

#include "marine/fixed.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace twinstep::games::marine {

/// Rooms along each side, cells from one room's wall to the next, and cells along each side.
inline constexpr std::int32_t rooms_across = 6;
inline constexpr std::int32_t room_pitch = 8;
inline constexpr std::int32_t arena_cells = rooms_across * room_pitch + 1;
/// Width of openings and doors.
inline constexpr std::int32_t door_cells = 5;
/// Side of a cell in map units, and of the arena in fixed point.
inline constexpr std::int32_t cell_units = 64;
inline constexpr Fixed arena_size = arena_cells * cell_units * unit;

/// A cell of the grid by column and row.
struct Cell {
    std::int32_t x = 0;
    std::int32_t y = 0;
};

/// What fills a cell. From first_door on, the door's number is added.
enum class Tile : std::uint8_t { floor = 0, wall = 1, first_door = 2 };

/// What does not change during a session: a pure function of episode and map.
class Arena {
public:
    /// Builds the grid. Every room can be reached from every other one through openings and doors.
    void build(std::uint32_t episode, std::uint32_t map);

    /// The tile; everything outside the grid is wall.
    Tile at(Cell cell) const {
        if (cell.x < 0 || cell.y < 0 || cell.x >= arena_cells || cell.y >= arena_cells) {
            return Tile::wall;
        }
        return tiles_[static_cast<std::size_t>(cell.y * arena_cells + cell.x)];
    }

    /// The number of a door tile. Requires at least Tile::first_door.
    static std::size_t door_of(Tile tile) {
        return static_cast<std::size_t>(tile) - static_cast<std::size_t>(Tile::first_door);
    }

    std::size_t doors() const { return door_centres_.size(); }

    /// Middle of a door's cells.
    Vector door_centre(std::size_t door) const { return door_centres_[door]; }

    /// True if the door's cells lie side by side in a column.
    bool door_is_vertical(std::size_t door) const { return door_is_vertical_[door] != 0; }

    /// The middles of all rooms in the order in which they are used up; the first is the start.
    std::span<const Vector> rooms() const { return rooms_; }

    static Cell cell_of(Vector place) { return {place.x >> cell_shift, place.y >> cell_shift}; }

    static Vector centre_of(Cell cell) {
        return {cell.x * cell_units * unit + cell_units / 2 * unit,
                cell.y * cell_units * unit + cell_units / 2 * unit};
    }

private:
    static constexpr int cell_shift = 16 + 6;

    Tile& tile(std::int32_t x, std::int32_t y);
    void connect(std::int32_t room_x, std::int32_t room_y, bool vertical, bool door);

    std::vector<Tile> tiles_;
    std::vector<Vector> door_centres_;
    std::vector<std::uint8_t> door_is_vertical_;
    std::vector<Vector> rooms_;
};

} // namespace twinstep::games::marine
