// SPDX-License-Identifier: MIT
// How an arena is laid out.
#include "marine/arena.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/random.hpp"

#include <utility>

namespace twinstep::games::marine {

namespace {

/// Where an opening or a door starts, counted in cells along the wall from the room's corner.
constexpr std::int32_t gap_start = 2;

} // namespace

Tile& Arena::tile(std::int32_t x, std::int32_t y) {
    TWINSTEP_ASSERT(x >= 0 && y >= 0 && x < arena_cells && y < arena_cells);
    return tiles_[static_cast<std::size_t>(y * arena_cells + x)];
}

/// Opens the wall on the west side (vertical) or the south side of a room.
void Arena::connect(std::int32_t room_x, std::int32_t room_y, bool vertical, bool door) {
    const std::int32_t x = room_x * room_pitch;
    const std::int32_t y = room_y * room_pitch;
    Tile filling = Tile::floor;
    if (door) {
        filling = static_cast<Tile>(static_cast<std::size_t>(Tile::first_door) + doors());
        const std::int32_t middle = gap_start + door_cells / 2;
        door_centres_.push_back(vertical ? centre_of({x, y + middle}) : centre_of({x + middle, y}));
        door_is_vertical_.push_back(vertical ? 1 : 0);
    }
    for (std::int32_t i = gap_start; i < gap_start + door_cells; ++i) {
        (vertical ? tile(x, y + i) : tile(x + i, y)) = filling;
    }
}

void Arena::build(std::uint32_t episode, std::uint32_t map) {
    Random random((std::uint64_t{episode} << 32) | map, Tick{0});
    tiles_.assign(std::size_t{arena_cells} * arena_cells, Tile::floor);
    door_centres_.clear();
    door_is_vertical_.clear();
    rooms_.clear();
    for (std::int32_t y = 0; y < arena_cells; ++y) {
        for (std::int32_t x = 0; x < arena_cells; ++x) {
            if (x % room_pitch == 0 || y % room_pitch == 0) {
                tile(x, y) = Tile::wall;
            }
        }
    }
    for (std::int32_t y = 0; y < rooms_across; ++y) {
        for (std::int32_t x = 0; x < rooms_across; ++x) {
            // Every room but the first has a way west or south, so all of them hang together.
            const bool west_is_sure = y == 0 || (x != 0 && random.below(2) == 0);
            for (const bool vertical : {true, false}) {
                const bool possible = vertical ? x > 0 : y > 0;
                const bool sure = vertical == west_is_sure;
                const std::uint32_t kind = random.below(4);
                if (possible && (sure || kind != 0)) {
                    connect(x, y, vertical, kind >= 2);
                }
            }
            for (const Cell corner : {Cell{2, 2}, Cell{6, 2}, Cell{2, 6}, Cell{6, 6}}) {
                if (random.below(4) == 0) {
                    tile(x * room_pitch + corner.x, y * room_pitch + corner.y) = Tile::wall;
                }
            }
            rooms_.push_back(
                centre_of({x * room_pitch + room_pitch / 2, y * room_pitch + room_pitch / 2}));
        }
    }
    for (std::size_t i = rooms_.size() - 1; i > 0; --i) {
        const std::uint32_t other = random.below(static_cast<std::uint32_t>(i + 1));
        std::swap(rooms_[i], rooms_[other]);
    }
}

} // namespace twinstep::games::marine
