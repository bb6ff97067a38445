// SPDX-License-Identifier: MIT
// What units do by themselves: look, walk, keep apart, shoot, die and come back.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>
#include <bit>

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

/// Bits of a window's row that belong to a ring: all of its first and its last row, ...
constexpr std::uint32_t whole_row(std::uint32_t ring) {
    return (2U << (sight_cells + ring)) - (1U << (sight_cells - ring));
}

/// ... and the ends of those between.
constexpr std::uint32_t both_sides(std::uint32_t ring) {
    return 1U << (sight_cells + ring) | 1U << (sight_cells - ring);
}

} // namespace

// A counting sort: stable, so that the units of a cell stand in the order of their index.
void Swarm::sort_into_cells() {
    std::fill(cell_begin_.begin(), cell_begin_.end(), 0U);
    const auto count = static_cast<std::uint32_t>(units_.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const SwarmUnit& unit = units_[i];
        cells_[i] = cell_at(unit.x, unit.y);
        cell_begin_[cells_[i] + 2] += unit.health > 0 ? 1U : 0U;
    }
    std::uint32_t sum = 0;
    for (std::uint32_t& begin : cell_begin_) {
        sum += begin;
        begin = sum;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const SwarmUnit& unit = units_[i];
        if (unit.health > 0) {
            // Counts were kept one place further on, so this leaves each cell's begin behind.
            const std::uint32_t place = cell_begin_[cells_[i] + 1]++;
            bodies_[place] = {unit.x, unit.y, i, unit.owner};
            spots_[place] = swarm_near::spot_of(unit.x, unit.y);
        }
    }
    map_enemies();
}

void Swarm::map_enemies() {
    const std::size_t words = presence_words();
    const std::size_t players = players_.size();
    std::fill(presence_.begin(), presence_.end(), std::uint64_t{0});
    for (std::uint32_t i = 0; i < cell_begin_[cell_count()]; ++i) {
        const std::uint32_t x = cell_of(bodies_[i].x) + 64;
        const std::uint32_t y = cell_of(bodies_[i].y) + sight_cells;
        presence_[bodies_[i].owner * words + y * presence_stride_ + x / 64] |= std::uint64_t{1}
                                                                               << x % 64;
    }
    for (std::size_t player = 0; player < players; ++player) {
        std::uint64_t* const enemies = presence_.data() + (players + player) * words;
        for (std::size_t other = 0; other < players; ++other) {
            const std::uint64_t* const theirs = presence_.data() + other * words;
            for (std::size_t i = 0; other != player && i < words; ++i) {
                enemies[i] |= theirs[i];
            }
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
    for (SwarmUnit& unit : units_) {
        if (unit.target != nobody && unit.health != 0 &&
            (units_[unit.target].health == 0 || units_[unit.target].owner == unit.owner ||
             !in_reach(unit, lose_length))) {
            unit.target = nobody;
        }
    }
    // Half of the army looks around at each tick. Those who stand in one cell see the same cells.
    const auto phase = static_cast<std::uint32_t>(tick.value % search_period_ticks);
    Window window;
    for (std::uint32_t i = 0; i < cell_begin_[cell_count()]; ++i) {
        const Body& body = bodies_[i];
        if (body.index % search_period_ticks != phase) {
            continue;
        }
        const std::uint32_t cell = cell_at(body.x, body.y);
        if (cell != window.cell || body.owner != window.owner) {
            window = window_at(cell, body.owner);
        }
        if (window.rings != 0) {
            find_target(units_[body.index], window);
        }
    }
}

Swarm::Window Swarm::window_at(std::uint32_t cell, std::uint32_t owner) const {
    constexpr std::uint32_t width = 2 * sight_cells + 1;
    Window window{cell, owner};
    static_assert(sight_cells == margin_cells);
    // The margin of the map is what is added here and not taken away again.
    const std::uint32_t x = cell % side_ + 64 - sight_cells;
    const std::uint64_t* row = presence_.data() + (players_.size() + owner) * presence_words() +
                               std::size_t{cell / side_} * presence_stride_ + x / 64;
    const std::uint32_t shift = x % 64;
    std::uint32_t any = 0;
    for (std::uint32_t& cells : window.rows) {
        // Shifted twice, because a shift by 64 is none.
        const std::uint64_t bits = row[0] >> shift | row[1] << 1 << (63 - shift);
        cells = static_cast<std::uint32_t>(bits) & ((1U << width) - 1);
        any |= cells;
        window.occupied |= (cells != 0 ? 1U : 0U) << (&cells - window.rows.data());
        row += presence_stride_;
    }
    std::uint32_t inside = 0; // Columns with enemies in the rows between a ring's first and last.
    for (std::uint32_t ring = 0; any != 0 && ring <= sight_cells; ++ring) {
        const std::uint32_t ends =
            window.rows[sight_cells - ring] | window.rows[sight_cells + ring];
        const bool found = (ends & whole_row(ring)) != 0 || (inside & both_sides(ring)) != 0;
        window.rings |= (found ? 1U : 0U) << ring;
        inside |= ends;
    }
    return window;
}

void Swarm::look_into(std::uint32_t cell, Hunt& hunt) const {
    for (std::uint32_t i = cell_begin_[cell]; i < cell_begin_[cell + 1]; ++i) {
        const Body& body = bodies_[i];
        if (body.owner == hunt.owner || hunt.candidates == 0) {
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

// The nearest enemy in sight, of equally near ones the one with the lowest index. Cells are looked
// at in square rings, so the search ends with the first ring that nothing further out can beat.
void Swarm::find_target(SwarmUnit& unit, const Window& window) const {
    constexpr std::int32_t sight = std::int32_t{sight_cells} * cell_size;
    Hunt hunt{{unit.x, unit.y}, unit.owner, sight * sight, nobody, candidates_max};
    for (std::uint32_t rings = window.rings; rings != 0; rings &= rings - 1) {
        const auto ring = static_cast<std::uint32_t>(std::countr_zero(rings));
        const std::int32_t certain = (static_cast<std::int32_t>(ring) - 1) * cell_size;
        if (hunt.found != nobody && hunt.best <= certain * certain) {
            break;
        }
        const std::uint32_t first = sight_cells - ring;
        const std::uint32_t last = sight_cells + ring;
        for (std::uint32_t rows = window.occupied & whole_row(ring); rows != 0; rows &= rows - 1) {
            const auto y = static_cast<std::uint32_t>(std::countr_zero(rows));
            const std::uint32_t row = window.cell + (y - sight_cells) * side_ - sight_cells;
            // Only the first and the last row of a ring are whole.
            const bool end = y == first || y == last;
            for (std::uint32_t cells = window.rows[y] & (end ? whole_row(ring) : both_sides(ring));
                 cells != 0;
                 cells &= cells - 1) {
                look_into(row + static_cast<std::uint32_t>(std::countr_zero(cells)), hunt);
            }
        }
    }
    if (hunt.found != nobody) {
        unit.target = hunt.found;
    }
}

// Units read the positions of the tick before, never each other's new velocity, so the outcome
// does not depend on who is asked first.
void Swarm::steer() {
    for (std::size_t i = 0; i < squads_.size(); ++i) {
        // A crowd stops where it fills a disc: n units, some four to a cell, need a radius of about
        // sqrt(n / 12) cells; sqrt(n / 8) leaves them room.
        const SwarmSquad& squad = squads_[i];
        std::int32_t crowd = 1;
        while (crowd * crowd * 2 < static_cast<std::int32_t>(squad.members)) {
            ++crowd;
        }
        arrival_cells_[i] = crowd / 2 + 1 + squad.radius / cell_size;
    }
    Crowd crowd;
    Way way;
    for (std::uint32_t i = 0; i < cell_begin_[cell_count()]; ++i) {
        const std::uint32_t index = bodies_[i].index;
        SwarmUnit& unit = units_[index];
        const std::uint32_t squad_index = unit.owner * squads_per_player + unit.squad;
        const SwarmSquad& squad = squads_[squad_index];
        const Point wanted = wish(i, squad_index, way);
        const std::int32_t apart =
            squad.order == SwarmOrder::spread
                ? std::clamp<std::int32_t>(squad.radius, spacing, spacing_max)
                : spacing;
        const std::uint32_t cell = cell_at(unit.x, unit.y);
        if (cell != crowd.cell) {
            gather(cell, crowd);
        }
        const Point pushed = push(i, crowd, apart);
        unit.vx = static_cast<std::int16_t>(clamp_speed((unit.vx + wanted.x) / 2 + pushed.x));
        unit.vy = static_cast<std::int16_t>(clamp_speed((unit.vy + wanted.y) / 2 + pushed.y));
    }
}

Swarm::Point Swarm::wish(std::uint32_t body, std::uint32_t squad_index, Way& way) {
    const SwarmSquad& squad = squads_[squad_index];
    SwarmUnit& unit = units_[bodies_[body].index];
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
    return squad.order == SwarmOrder::none ? Point{} : follow(body, squad_index, way);
}

Swarm::Point Swarm::follow(std::uint32_t body, std::uint32_t squad_index, Way& way) {
    const SwarmSquad& squad = squads_[squad_index];
    SwarmUnit& unit = units_[bodies_[body].index];
    const std::uint32_t cell = cell_at(unit.x, unit.y);
    const std::int32_t speed = unit_types[unit.kind].speed;
    const std::int32_t arrival_cells = arrival_cells_[squad_index];
    const std::uint16_t* const costs = fields_.data() + squad_index * cell_count();
    const bool usable = squad.field == SwarmField::ready || squad.field == SwarmField::building;
    if (usable && costs[cell] != unreached) {
        unit.reached = costs[cell] <= 2 * arrival_cells ? 1 : 0;
        if (unit.reached != 0) {
            return {};
        }
        if (way.cell != cell || way.squad != squad_index) {
            way = {squad_index, cell, nobody};
            find_way(way, costs);
        }
        if (way.direction != nobody) {
            const std::int32_t along = way.direction % 2 == 0 ? speed : speed * diagonal_256 / 256;
            const Direction to = directions[way.direction];
            return {to.x * along, to.y * along};
        }
    }
    const Point goal = centre_of(squad.goal);
    const std::int32_t dx = (goal.x - unit.x) / 16;
    const std::int32_t dy = (goal.y - unit.y) / 16;
    const std::int32_t length = std::max(1, rough_length(dx, dy));
    unit.reached = length <= arrival_cells * cell_size / 16 ? 1 : 0;
    return unit.reached != 0 ? Point{} : Point{dx * speed / length, dy * speed / length};
}

/// The neighbour with the least cost, the first of several, if it is nearer than the cell itself.
void Swarm::find_way(Way& way, const std::uint16_t* costs) const {
    // Without branches, because nobody can foretell them: cost and direction in one number.
    std::uint32_t best = std::uint32_t{costs[way.cell]} * directions.size();
    const std::uint32_t closed = ~std::uint32_t{exits_[way.cell]};
    std::uint32_t found = nobody;
    for (std::uint32_t d = 0; d < directions.size(); ++d) {
        const std::uint32_t cost = costs[neighbour(way.cell, d)] | (closed >> d & 1U) * unreached;
        found = std::min(found, cost * static_cast<std::uint32_t>(directions.size()) + d);
    }
    way.direction = found < best ? found % directions.size() : nobody;
}

/// The same for all units of a cell: those in its row of three cells and the rows beside it.
void Swarm::gather(std::uint32_t cell, Crowd& crowd) const {
    static_assert(decltype(crowd.spots){}.size() >= neighbours_max + swarm_near::spots_at_once);
    crowd.cell = cell;
    crowd.count = 0;
    // Units stand on open ground, so there is a border of rock around every cell that is asked.
    for (std::uint32_t row = cell - side_; row <= cell + side_; row += side_) {
        const std::uint32_t begin = cell_begin_[row - 1];
        const std::uint32_t end =
            std::min(cell_begin_[row + 2], begin + neighbours_max - crowd.count);
        if (row == cell) {
            crowd.begin = begin;
            crowd.end = end;
        }
        // In whole groups: what is too much is written over, by the next row or what fills up.
        for (std::uint32_t i = 0; i < end - begin; i += swarm_near::spots_at_once) {
            std::copy_n(spots_.data() + begin + i,
                        swarm_near::spots_at_once,
                        crowd.spots.data() + crowd.count + i);
        }
        crowd.count += end - begin;
    }
    // Nobody is in the middle of the opposite side of the 64 cells that a spot can tell apart.
    const Point centre = centre_of(cell);
    const swarm_near::Spot far = swarm_near::spot_of(centre.x + 16 * cell_size, centre.y);
    while (crowd.count % swarm_near::spots_at_once != 0) {
        crowd.spots[crowd.count] = far;
        ++crowd.count;
    }
}

Swarm::Point Swarm::push(std::uint32_t body, const Crowd& crowd, std::int32_t apart) const {
    static_assert(spacing_max <= swarm_near::push_length_max);
    const std::int32_t reach = apart * apart;
    swarm_near::Push push = swarm_near::push(crowd.spots.data(), crowd.count, spots_[body], reach);
    // Everybody meets itself, unless the crowd is too large.
    const bool itself = body >= crowd.begin && body < crowd.end;
    if (push.here > (itself ? 1U : 0U)) {
        part(body, reach, push);
    }
    const auto scaled = [reach](std::int64_t sum) {
        const std::int64_t share =
            reach == spacing * spacing ? sum / (spacing * spacing) : sum / reach;
        return static_cast<std::int32_t>(std::clamp<std::int64_t>(share, -speed_max, speed_max));
    };
    return {scaled(push.x), scaled(push.y)};
}

/// Two in one place part along a direction made of both indices.
void Swarm::part(std::uint32_t body, std::int32_t reach, swarm_near::Push& push) const {
    const Body& one = bodies_[body];
    const std::uint32_t cell = cell_at(one.x, one.y);
    std::uint32_t neighbours = neighbours_max;
    for (std::uint32_t row = cell - side_; row <= cell + side_; row += side_) {
        const std::uint32_t begin = cell_begin_[row - 1];
        const std::uint32_t end = std::min(cell_begin_[row + 2], begin + neighbours);
        for (std::uint32_t i = begin; i < end; ++i) {
            const Body& other = bodies_[i];
            if (other.x != one.x || other.y != one.y || i == body) {
                continue;
            }
            const Direction way = directions[(one.index + other.index) % 4];
            const std::int32_t sign = one.index < other.index ? 128 : -128;
            push.x += std::int64_t{way.x * sign} * reach;
            push.y += std::int64_t{way.y * sign} * reach;
        }
        neighbours -= end - begin;
    }
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
