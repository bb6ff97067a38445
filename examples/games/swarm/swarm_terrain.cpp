// SPDX-License-Identifier: MIT
// The map of swarm: made from the seed, closed at the border, connected wherever it is open.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>
#include <utility>

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

std::uint8_t Swarm::exits_of(std::uint32_t cell) const {
    std::uint32_t exits = 0;
    for (std::uint32_t d = 0; d < directions.size(); ++d) {
        // A diagonal needs both of its sides, so that nobody cuts a corner.
        const bool straight = d % 2 == 0;
        const std::uint32_t left = neighbour(cell, straight ? d : d - 1);
        const std::uint32_t right = neighbour(cell, straight ? d : (d + 1) % 8);
        if (terrain_[neighbour(cell, d)] != rock && terrain_[left] != rock &&
            terrain_[right] != rock) {
            exits |= 1U << d;
        }
    }
    return static_cast<std::uint8_t>(exits);
}

void Swarm::find_exits() {
    for (std::uint32_t d = 0; d < directions.size(); ++d) {
        const Direction way = directions[d];
        offsets_[d] = static_cast<std::uint32_t>(way.y) * side_ + static_cast<std::uint32_t>(way.x);
    }
    exits_.assign(cell_count(), 0);
    for (std::uint32_t cell = 0; cell < cell_count(); ++cell) {
        // The border is rock, so what is open has all its neighbours on the map.
        if (terrain_[cell] != rock) {
            exits_[cell] = exits_of(cell);
        }
    }
}

// The first `wanted` open cells around `start`, nearest first by steps along the axes.
std::vector<std::uint32_t> Swarm::flood(std::uint32_t start, std::size_t wanted) const {
    std::vector<std::uint8_t> seen(cell_count(), 0);
    std::vector<std::uint32_t> queue{start};
    seen[start] = 1;
    for (std::size_t head = 0; head < queue.size() && queue.size() < wanted; ++head) {
        const std::uint32_t cell = queue[head];
        for (const std::uint32_t next : {cell + 1, cell + side_, cell - 1, cell - side_}) {
            if (terrain_[next] != rock && seen[next] == 0) {
                seen[next] = 1;
                queue.push_back(next);
            }
        }
    }
    return queue;
}

void Swarm::close_pockets() {
    const std::vector<std::uint32_t> connected =
        flood((side_ / 2) * side_ + side_ / 2, cell_count());
    std::vector<std::uint8_t> kept(cell_count(), rock);
    for (const std::uint32_t cell : connected) {
        kept[cell] = terrain_[cell];
    }
    terrain_ = std::move(kept);
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
    spawn_cells_.clear();
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        spawn_cells_.push_back(
            flood(players_[slot].base, units_per_player / units_per_spawn_cell + 1));
    }
}

void Swarm::make_terrain(std::uint64_t seed, std::uint16_t slots) {
    terrain_.assign(std::size_t{side_} * side_, std::uint8_t{open});
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
    const std::size_t side = side_;
    for (std::size_t i = 0; i < side; ++i) {
        terrain_[i] = rock;
        terrain_[(side - 1) * side + i] = rock;
        terrain_[i * side] = rock;
        terrain_[i * side + side - 1] = rock;
    }
    close_pockets();
    find_exits();
    find_nearest_open();
}

} // namespace twinstep::games
