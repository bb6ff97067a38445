// SPDX-License-Identifier: MIT
// The map of swarm: made from the seed, closed at the border, connected wherever it is open.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>

namespace twinstep::games {

using namespace swarm_rules;

namespace {

// The step draws from stream 0; the map must not.
constexpr std::uint32_t terrain_stream = 1;

} // namespace

Swarm::Point Swarm::centre_of(std::uint32_t cell) const {
    return {static_cast<std::int32_t>(cell % side_) * cell_size + cell_size / 2,
            static_cast<std::int32_t>(cell / side_) * cell_size + cell_size / 2};
}

bool Swarm::has_exit(std::uint32_t cell, std::uint32_t direction) const {
    return (std::uint32_t{exits_[cell]} >> direction & 1U) != 0;
}

// Requires an exit in that direction, so the sum stays on the map.
std::uint32_t Swarm::neighbour(std::uint32_t cell, std::uint32_t direction) const {
    const Direction way = directions[direction];
    return cell + static_cast<std::uint32_t>(way.y) * side_ + static_cast<std::uint32_t>(way.x);
}

void Swarm::clear_disc(Point centre, std::int32_t radius, Ground ground) {
    const auto last = static_cast<std::int32_t>(side_) - 2;
    for (std::int32_t y = std::max(1, centre.y - radius); y <= std::min(last, centre.y + radius);
         ++y) {
        for (std::int32_t x = std::max(1, centre.x - radius);
             x <= std::min(last, centre.x + radius);
             ++x) {
            const std::int32_t dx = x - centre.x;
            const std::int32_t dy = y - centre.y;
            if (dx * dx + dy * dy <= radius * radius) {
                terrain_[static_cast<std::uint32_t>(y) * side_ + static_cast<std::uint32_t>(x)] =
                    ground;
            }
        }
    }
}

void Swarm::scatter(std::uint64_t seed) {
    Random random(seed, Tick{0}, terrain_stream);
    const auto cells = static_cast<std::uint32_t>(cell_count());
    const auto disc = [&](std::int32_t radius_min, std::int32_t radius_max, Ground ground) {
        const auto x = static_cast<std::int32_t>(random.below(side_));
        const auto y = static_cast<std::int32_t>(random.below(side_));
        const std::int32_t radius = random.between(radius_min, radius_max);
        clear_disc({x, y}, radius, ground);
    };
    for (std::uint32_t i = 0; i < cells / 300; ++i) {
        disc(2, 6, rough);
    }
    for (std::uint32_t i = 0; i < cells / 180; ++i) {
        disc(1, 4, rock);
    }
}

void Swarm::clear_road(Point from, Point to) {
    const std::int32_t length = std::max({1, std::abs(to.x - from.x), std::abs(to.y - from.y)});
    for (std::int32_t t = 0; t <= length; ++t) {
        clear_disc({from.x + (to.x - from.x) * t / length, from.y + (to.y - from.y) * t / length},
                   1,
                   open);
    }
}

void Swarm::find_exits() {
    exits_.assign(cell_count(), 0);
    const auto solid = [this](std::int32_t x, std::int32_t y) {
        return terrain_[static_cast<std::uint32_t>(y) * side_ + static_cast<std::uint32_t>(x)] ==
               rock;
    };
    const auto last = static_cast<std::int32_t>(side_) - 1;
    for (std::int32_t y = 1; y < last; ++y) {
        for (std::int32_t x = 1; x < last; ++x) {
            std::uint32_t exits = 0;
            for (std::uint32_t d = 0; d < directions.size(); ++d) {
                const Direction step = directions[d];
                // A diagonal needs both of its sides, so that nobody cuts a corner.
                if (!solid(x + step.x, y + step.y) && !solid(x + step.x, y) &&
                    !solid(x, y + step.y)) {
                    exits |= 1U << d;
                }
            }
            const auto cell = static_cast<std::uint32_t>(y) * side_ + static_cast<std::uint32_t>(x);
            exits_[cell] = static_cast<std::uint8_t>(solid(x, y) ? 0U : exits);
        }
    }
}

void Swarm::close_pockets() {
    std::vector<std::uint8_t> seen(cell_count(), 0);
    std::vector<std::uint32_t> queue{(side_ / 2) * side_ + side_ / 2};
    seen[queue[0]] = 1;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t cell = queue[head];
        for (const std::uint32_t next : {cell + 1, cell + side_, cell - 1, cell - side_}) {
            if (terrain_[next] != rock && seen[next] == 0) {
                seen[next] = 1;
                queue.push_back(next);
            }
        }
    }
    for (std::size_t cell = 0; cell < cell_count(); ++cell) {
        if (seen[cell] == 0) {
            terrain_[cell] = rock;
        }
    }
}

void Swarm::find_nearest_open() {
    nearest_open_.assign(cell_count(), nobody);
    std::vector<std::uint32_t> queue;
    queue.reserve(cell_count());
    for (std::uint32_t cell = 0; cell < cell_count(); ++cell) {
        if (terrain_[cell] != rock) {
            nearest_open_[cell] = cell;
            queue.push_back(cell);
        }
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t cell = queue[head];
        const std::uint32_t x = cell % side_;
        const std::uint32_t y = cell / side_;
        const auto visit = [&](bool inside, std::uint32_t next) {
            if (inside && nearest_open_[next] == nobody) {
                nearest_open_[next] = nearest_open_[cell];
                queue.push_back(next);
            }
        };
        visit(x + 1 < side_, cell + 1);
        visit(y + 1 < side_, cell + side_);
        visit(x > 0, cell - 1);
        visit(y > 0, cell - side_);
    }
}

void Swarm::find_spawn_cells(std::uint16_t slots, std::size_t units_per_player) {
    const std::size_t wanted = units_per_player / units_per_spawn_cell + 1;
    spawn_cells_.assign(slots, {});
    std::vector<std::uint8_t> seen;
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        seen.assign(cell_count(), 0);
        std::vector<std::uint32_t>& queue = spawn_cells_[slot];
        queue.reserve(wanted + directions.size());
        queue.push_back(players_[slot].base);
        seen[queue[0]] = 1;
        for (std::size_t head = 0; head < queue.size() && queue.size() < wanted; ++head) {
            const std::uint32_t cell = queue[head];
            for (const std::uint32_t next : {cell + 1, cell + side_, cell - 1, cell - side_}) {
                if (terrain_[next] != rock && seen[next] == 0) {
                    seen[next] = 1;
                    queue.push_back(next);
                }
            }
        }
    }
}

void Swarm::make_terrain(std::uint64_t seed, std::uint16_t slots) {
    terrain_.assign(std::size_t{side_} * side_, open);
    scatter(seed);
    const auto middle = static_cast<std::int32_t>(side_ / 2);
    const auto away = static_cast<std::int32_t>(side_ * 3 / 8);
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        const Direction way = directions[std::size_t{slot} * directions.size() / slots];
        const std::int32_t length = way.x != 0 && way.y != 0 ? away * diagonal_256 / 256 : away;
        const Point base{middle + way.x * length, middle + way.y * length};
        clear_disc(base, 2 + middle / 8, open);
        clear_road(base, {middle, middle});
        players_[slot].base =
            static_cast<std::uint32_t>(base.y) * side_ + static_cast<std::uint32_t>(base.x);
    }
    for (std::uint32_t i = 0; i < side_; ++i) {
        terrain_[i] = rock;
        terrain_[(side_ - 1) * side_ + i] = rock;
        terrain_[i * side_] = rock;
        terrain_[i * side_ + side_ - 1] = rock;
    }
    close_pockets();
    find_exits();
    find_nearest_open();
}

} // namespace twinstep::games
