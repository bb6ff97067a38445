// SPDX-License-Identifier: MIT
// What units do by themselves: look, walk, keep apart, shoot, die and come back.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>

namespace twinstep::games {

using namespace swarm_rules;

namespace {

/// Length of a vector, at most 7 % too long: the longer part and 3/8 of the shorter.
std::int32_t rough_length(std::int32_t x, std::int32_t y) {
    const std::int32_t a = std::abs(x);
    const std::int32_t b = std::abs(y);
    return std::max(a, b) + std::min(a, b) * 3 / 8;
}

constexpr std::int64_t lose_length = std::int64_t{lose_cells} * Swarm::cell_size;

std::int32_t clamp_speed(std::int32_t speed) {
    return std::clamp(speed, -speed_max, speed_max);
}

} // namespace

// A counting sort: stable, so that the units of a cell stand in the order of their index.
void Swarm::sort_into_cells() {
    std::fill(cell_begin_.begin(), cell_begin_.end(), 0U);
    std::fill(cell_owners_.begin(), cell_owners_.end(), std::uint8_t{0});
    std::fill(block_owners_.begin(), block_owners_.end(), std::uint8_t{0});
    for (const SwarmUnit& unit : units_) {
        if (unit.health > 0) {
            ++cell_begin_[cell_at(unit.x, unit.y) + 2];
        }
    }
    for (std::size_t cell = 2; cell < cell_begin_.size(); ++cell) {
        cell_begin_[cell] += cell_begin_[cell - 1];
    }
    const std::uint32_t blocks = side_ / block_cells;
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
        const SwarmUnit& unit = units_[i];
        if (unit.health > 0) {
            const std::uint32_t cell = cell_at(unit.x, unit.y);
            const std::uint32_t block =
                cell / side_ / block_cells * blocks + cell % side_ / block_cells;
            const auto bit = static_cast<std::uint8_t>(1U << unit.owner);
            // Counts were kept one place further on, so this leaves each cell's begin behind.
            bodies_[cell_begin_[cell + 1]++] = {unit.x, unit.y, i, unit.owner};
            cell_owners_[cell] |= bit;
            block_owners_[block] |= bit;
        }
    }
}

void Swarm::count_heads() {
    for (SwarmSquad& squad : squads_) {
        squad.members = 0;
        squad.reached = 0;
    }
    for (SwarmPlayer& player : players_) {
        player.alive = 0;
    }
    for (const SwarmUnit& unit : units_) {
        if (unit.health > 0) {
            SwarmSquad& squad = squads_[unit.owner * squads_per_player + unit.squad];
            ++squad.members;
            squad.reached += unit.reached;
            ++players_[unit.owner].alive;
        }
    }
}

bool Swarm::in_reach(const SwarmUnit& unit, std::int64_t reach) const {
    const SwarmUnit& target = units_[unit.target];
    const std::int64_t dx = target.x - unit.x;
    const std::int64_t dy = target.y - unit.y;
    return dx * dx + dy * dy <= reach * reach;
}

void Swarm::look_around(Tick tick) {
    const auto phase = static_cast<std::uint32_t>(tick.value % search_period_ticks);
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
        SwarmUnit& unit = units_[i];
        if (unit.health == 0) {
            continue;
        }
        if (unit.target != nobody &&
            (units_[unit.target].health == 0 || units_[unit.target].owner == unit.owner ||
             !in_reach(unit, lose_length))) {
            unit.target = nobody;
        }
        // Half of the army looks around at each tick.
        if (i % search_period_ticks == phase) {
            find_target(unit);
        }
    }
}

bool Swarm::enemies_near(Point cell, std::uint8_t owner) const {
    const auto size = static_cast<std::int32_t>(block_cells);
    const auto blocks = static_cast<std::int32_t>(side_) / size;
    const std::int32_t left = std::max(0, cell.x - sight_cells) / size;
    const std::int32_t right = std::min(blocks - 1, (cell.x + sight_cells) / size);
    const std::int32_t top = std::max(0, cell.y - sight_cells) / size;
    const std::int32_t bottom = std::min(blocks - 1, (cell.y + sight_cells) / size);
    std::uint32_t owners = 0;
    for (std::int32_t y = top; y <= bottom; ++y) {
        for (std::int32_t x = left; x <= right; ++x) {
            owners |= block_owners_[static_cast<std::uint32_t>(y * blocks + x)];
        }
    }
    return (owners & ~(1U << owner)) != 0;
}

void Swarm::look_into(std::uint32_t cell, Hunt& hunt) const {
    if ((cell_owners_[cell] & hunt.enemies) == 0) {
        return;
    }
    for (std::uint32_t i = cell_begin_[cell]; i < cell_begin_[cell + 1]; ++i) {
        const Body& body = bodies_[i];
        if ((1U << body.owner & hunt.enemies) == 0 || hunt.candidates == 0) {
            continue;
        }
        --hunt.candidates;
        const std::int32_t dx = body.x - hunt.from.x;
        const std::int32_t dy = body.y - hunt.from.y;
        const std::int32_t distance = dx * dx + dy * dy;
        if (distance < hunt.best || (distance == hunt.best && body.index < hunt.found)) {
            hunt.best = distance;
            hunt.found = body.index;
        }
    }
}

void Swarm::look_at_ring(Point at, std::int32_t ring, Hunt& hunt) const {
    const auto last = static_cast<std::int32_t>(side_) - 1;
    for (std::int32_t y = std::max(0, at.y - ring); y <= std::min(last, at.y + ring); ++y) {
        // Only the first and the last row of a ring are whole.
        const bool whole = ring == 0 || y == at.y - ring || y == at.y + ring;
        const std::int32_t stride = whole ? 1 : 2 * ring;
        for (std::int32_t x = at.x - ring; x <= at.x + ring; x += stride) {
            if (x >= 0 && x <= last) {
                look_into(static_cast<std::uint32_t>(y) * side_ + static_cast<std::uint32_t>(x),
                          hunt);
            }
        }
    }
}

// The nearest enemy in sight, of equally near ones the one with the lowest index. Cells are looked
// at in square rings, so the search ends with the first ring that nothing further out can beat.
void Swarm::find_target(SwarmUnit& unit) const {
    const Point at{unit.x / cell_size, unit.y / cell_size};
    if (!enemies_near(at, unit.owner)) {
        return;
    }
    constexpr std::int32_t sight = sight_cells * cell_size;
    Hunt hunt{{unit.x, unit.y}, ~(1U << unit.owner), sight * sight, nobody, candidates_max};
    for (std::int32_t ring = 0; ring <= sight_cells; ++ring) {
        look_at_ring(at, ring, hunt);
        const std::int32_t certain = ring * cell_size;
        if (hunt.found != nobody && hunt.best <= certain * certain) {
            break;
        }
    }
    if (hunt.found != nobody) {
        unit.target = hunt.found;
    }
}

// Units read the positions of the tick before, never each other's new velocity, so the outcome
// does not depend on who is asked first.
void Swarm::steer() {
    for (std::uint32_t i = 0; i < cell_begin_[cell_count()]; ++i) {
        const std::uint32_t index = bodies_[i].index;
        SwarmUnit& unit = units_[index];
        const std::uint32_t squad_index = unit.owner * squads_per_player + unit.squad;
        const SwarmSquad& squad = squads_[squad_index];
        const Point wanted = wish(unit, squad, squad_index);
        const std::int32_t apart =
            squad.order == SwarmOrder::spread
                ? std::clamp<std::int32_t>(squad.radius, spacing, spacing_max)
                : spacing;
        const Point pushed = push(unit, index, apart);
        unit.vx = static_cast<std::int16_t>(clamp_speed((unit.vx + wanted.x) / 2 + pushed.x));
        unit.vy = static_cast<std::int16_t>(clamp_speed((unit.vy + wanted.y) / 2 + pushed.y));
    }
}

Swarm::Point
Swarm::wish(SwarmUnit& unit, const SwarmSquad& squad, std::uint32_t squad_index) const {
    if (squad.order == SwarmOrder::hold || squad.order == SwarmOrder::spread) {
        return {};
    }
    if (unit.target != nobody && squad.order != SwarmOrder::move) {
        unit.reached = 0;
        const UnitType& type = unit_types[unit.kind];
        if (in_reach(unit, type.range)) {
            return {};
        }
        const std::int32_t dx = units_[unit.target].x - unit.x;
        const std::int32_t dy = units_[unit.target].y - unit.y;
        const std::int32_t length = std::max(1, rough_length(dx, dy));
        return {dx * type.speed / length, dy * type.speed / length};
    }
    return squad.order == SwarmOrder::none ? Point{} : follow(unit, squad, squad_index);
}

Swarm::Point
Swarm::follow(SwarmUnit& unit, const SwarmSquad& squad, std::uint32_t squad_index) const {
    const std::uint32_t cell = cell_at(unit.x, unit.y);
    const std::int32_t speed = unit_types[unit.kind].speed;
    // A crowd stops where it fills a disc: n units, some four to a cell, need a radius of about
    // sqrt(n / 12) cells; sqrt(n / 8) leaves them room.
    std::int32_t crowd = 1;
    while (crowd * crowd * 2 < static_cast<std::int32_t>(squad.members)) {
        ++crowd;
    }
    const std::int32_t arrival_cells = crowd / 2 + 1 + squad.radius / cell_size;
    const std::uint16_t* const costs = fields_.data() + squad_index * cell_count();
    const bool usable = squad.field == SwarmField::ready || squad.field == SwarmField::building;
    if (usable && costs[cell] != unreached) {
        unit.reached = costs[cell] <= 2 * arrival_cells ? 1 : 0;
        if (unit.reached != 0) {
            return {};
        }
        std::uint32_t best = costs[cell];
        std::uint32_t way = nobody;
        for (std::uint32_t d = 0; d < directions.size(); ++d) {
            if (!has_exit(cell, d)) {
                continue;
            }
            const std::uint16_t cost = costs[neighbour(cell, d)];
            if (cost < best) {
                best = cost;
                way = d;
            }
        }
        if (way != nobody) {
            const std::int32_t along = way % 2 == 0 ? speed : speed * diagonal_256 / 256;
            return {directions[way].x * along, directions[way].y * along};
        }
    }
    const Point goal = centre_of(squad.goal);
    const std::int32_t dx = (goal.x - unit.x) / 16;
    const std::int32_t dy = (goal.y - unit.y) / 16;
    const std::int32_t length = std::max(1, rough_length(dx, dy));
    unit.reached = length <= arrival_cells * cell_size / 16 ? 1 : 0;
    return unit.reached != 0 ? Point{} : Point{dx * speed / length, dy * speed / length};
}

Swarm::Point Swarm::push(const SwarmUnit& unit, std::uint32_t index, std::int32_t apart) const {
    const std::int32_t reach = apart * apart;
    const std::uint32_t cell = cell_at(unit.x, unit.y);
    std::int64_t x = 0;
    std::int64_t y = 0;
    std::uint32_t neighbours = neighbours_max;
    // Units stand on open ground, so there is a border of rock around every cell that is asked.
    for (std::uint32_t row = cell - side_; row <= cell + side_; row += side_) {
        const std::uint32_t end = std::min(cell_begin_[row + 2], cell_begin_[row - 1] + neighbours);
        for (std::uint32_t i = cell_begin_[row - 1]; i < end; ++i) {
            std::int32_t dx = unit.x - bodies_[i].x;
            std::int32_t dy = unit.y - bodies_[i].y;
            const std::int32_t distance = dx * dx + dy * dy;
            if (distance >= reach || bodies_[i].index == index) {
                continue;
            }
            if (distance == 0) {
                // Two in one place: the pair parts along a direction made of both indices.
                const Direction way = directions[(index + bodies_[i].index) % 4];
                const std::int32_t sign = index < bodies_[i].index ? 128 : -128;
                dx = way.x * sign;
                dy = way.y * sign;
            }
            x += std::int64_t{dx} * (reach - distance);
            y += std::int64_t{dy} * (reach - distance);
        }
        neighbours -= end - cell_begin_[row - 1];
    }
    const std::int64_t scale = reach;
    return {static_cast<std::int32_t>(std::clamp<std::int64_t>(x / scale, -speed_max, speed_max)),
            static_cast<std::int32_t>(std::clamp<std::int64_t>(y / scale, -speed_max, speed_max))};
}

void Swarm::walk_units() {
    for (SwarmUnit& unit : units_) {
        if (unit.health == 0) {
            continue;
        }
        const bool slow = terrain_[cell_at(unit.x, unit.y)] == rough;
        const std::int32_t x = unit.x + (slow ? unit.vx / 2 : unit.vx);
        // One axis at a time: whoever runs into a rock slides along it.
        if (terrain_[cell_at(x, unit.y)] != rock) {
            unit.x = x;
        } else {
            unit.vx = 0;
        }
        const std::int32_t y = unit.y + (slow ? unit.vy / 2 : unit.vy);
        if (terrain_[cell_at(unit.x, y)] != rock) {
            unit.y = y;
        } else {
            unit.vy = 0;
        }
    }
}

// Shots of one tick fall together: wounds are summed first and dealt by `bury`.
void Swarm::shoot(Random& random) {
    for (SwarmUnit& unit : units_) {
        if (unit.health == 0) {
            continue;
        }
        if (unit.cooldown > 0) {
            --unit.cooldown;
            continue;
        }
        const UnitType& type = unit_types[unit.kind];
        if (unit.target == nobody || !in_reach(unit, type.range)) {
            continue;
        }
        const auto more = static_cast<std::int32_t>(random.below(type.damage_spread));
        const std::int32_t damage = type.damage + more;
        wounds_[unit.target] += damage;
        slayers_[unit.target] = static_cast<std::uint32_t>(&unit - units_.data());
        unit.damage += static_cast<std::uint32_t>(damage);
        unit.cooldown = type.cooldown_ticks;
        ++players_[unit.owner].shots;
    }
}

void Swarm::bury() {
    for (std::size_t i = 0; i < units_.size(); ++i) {
        if (wounds_[i] == 0) {
            continue;
        }
        SwarmUnit& unit = units_[i];
        unit.health = static_cast<std::int16_t>(std::max(0, unit.health - wounds_[i]));
        if (unit.health == 0) {
            SwarmUnit& slayer = units_[slayers_[i]];
            ++slayer.kills;
            ++players_[slayer.owner].kills;
            ++players_[unit.owner].losses;
            unit.vx = 0;
            unit.vy = 0;
            unit.target = nobody;
        }
        wounds_[i] = 0;
    }
}

void Swarm::come_in(SwarmUnit& unit, std::uint32_t place, std::uint8_t kind) {
    const std::vector<std::uint32_t>& cells = spawn_cells_[unit.owner];
    const Point centre = centre_of(cells[place / units_per_spawn_cell % cells.size()]);
    const std::int32_t aside = place % units_per_spawn_cell == 0 ? -cell_size / 4 : cell_size / 4;
    unit.x = centre.x + aside;
    unit.y = centre.y + aside;
    unit.vx = 0;
    unit.vy = 0;
    unit.kind = kind;
    unit.health = unit_types[kind].health;
    unit.cooldown = 0;
    unit.target = nobody;
    unit.reached = 0;
    ++unit.lives;
}

void Swarm::reinforce(Random& random) {
    const std::size_t units = units_.size();
    const std::size_t slots = players_.size();
    for (std::size_t slot = 0; slot < slots; ++slot) {
        SwarmPlayer& player = players_[slot];
        --player.wave_ticks;
        if (player.wave_ticks != 0) {
            continue;
        }
        player.wave_ticks = wave_period_ticks;
        const std::size_t begin = units * slot / slots;
        const std::size_t end = units * (slot + 1) / slots;
        const auto wave = static_cast<std::uint32_t>((end - begin) / wave_share + 1);
        std::uint32_t came = 0;
        for (std::size_t i = begin; i < end && came < wave; ++i) {
            if (units_[i].health == 0) {
                const std::uint32_t drawn = random.below(kind_mix.size());
                come_in(units_[i], came, kind_mix[drawn]);
                ++came;
            }
        }
        player.reinforced += came;
    }
}

} // namespace twinstep::games
