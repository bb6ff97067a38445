// SPDX-License-Identifier: MIT
// What units do by themselves: look around, choose a way, keep apart, walk.
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

/// From somebody to somebody.
Swarm::Point Swarm::way_to(const Body& one, const SwarmUnit& other) {
    return {other.x - one.x, other.y - one.y};
}

bool Swarm::within(Point way, std::int64_t reach) {
    return std::int64_t{way.x} * way.x + std::int64_t{way.y} * way.y <= reach * reach;
}

/// Whether a unit gives up whom it aims at.
bool Swarm::lost(const Body& one) const {
    const SwarmUnit& target = units_[one.target];
    return target.health == 0 || target.owner == one.owner ||
           !within(way_to(one, target), lose_length);
}

// Half of the army looks around at each tick. Those who stand in one cell see the same cells.
void Swarm::look_around(std::uint32_t begin, std::uint32_t end, Tick tick) {
    // Who is to look is listed first: nobody can foretell it, and a wrong guess costs as much as
    // the list.
    std::array<std::uint32_t, units_per_part> looking;
    std::uint32_t count = 0;
    const auto phase = static_cast<std::uint32_t>(tick.value % search_period_ticks);
    for (std::uint32_t i = begin; i < end; ++i) {
        const Body& one = bodies_[i];
        choices_[i].target = one.target != nobody && lost(one) ? nobody : one.target;
        looking[count] = i;
        count += one.index % search_period_ticks == phase ? 1U : 0U;
    }
    Window window;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Body& one = bodies_[looking[i]];
        if (!enemies_about(one)) {
            continue;
        }
        const std::uint32_t cell = cell_at(one.x, one.y);
        if (cell != window.cell || one.owner != window.owner) {
            look_from(one, window);
        }
        const std::uint32_t found = window.rings != 0 ? find_target(looking[i], window) : nobody;
        if (found != nobody) {
            choices_[looking[i]].target = found;
        }
    }
}

/// Thirteen columns of a map's row from `x` on.
std::uint32_t Swarm::columns_of(const std::uint64_t* row, std::uint32_t x) {
    constexpr std::uint32_t width = 2 * sight_cells + 1;
    const std::uint32_t shift = x % 64;
    // Shifted twice, because a shift by 64 is none.
    const std::uint64_t bits = row[x / 64] >> shift | row[x / 64 + 1] << 1 << (63 - shift);
    return static_cast<std::uint32_t>(bits) & ((1U << width) - 1);
}

/// False if certainly no enemy is in sight, which is so for most.
bool Swarm::enemies_about(const Body& one) const {
    const std::uint64_t* const bands = bands_.data() + one.owner * band_words();
    const std::uint32_t x = cell_of(one.x) + 64 - sight_cells;
    const std::uint32_t first = cell_of(one.y) / rows_per_band;
    const std::uint32_t last = (cell_of(one.y) + 2 * sight_cells) / rows_per_band;
    return (columns_of(bands + first * presence_stride_, x) |
            columns_of(bands + last * presence_stride_, x)) != 0;
}

void Swarm::look_from(const Body& one, Window& window) const {
    window.cell = cell_at(one.x, one.y);
    window.owner = one.owner;
    window.rings = 0;
    window.occupied = 0;
    static_assert(sight_cells == margin_cells);
    // The margin of the map is what is added here and not taken away again.
    const std::uint32_t x = cell_of(one.x) + 64 - sight_cells;
    const std::uint64_t* row = presence_.data() + (players_.size() + one.owner) * presence_words() +
                               std::size_t{cell_of(one.y)} * presence_stride_;
    std::uint32_t any = 0;
    for (std::uint32_t& cells : window.rows) {
        cells = columns_of(row, x);
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
}

// The nearest enemy in sight, of equally near ones the one with the lowest index. Cells are looked
// at in square rings, so the search ends with the first ring that nothing further out can beat.
template <class Hunt>
std::uint32_t Swarm::search(const Window& window, Hunt& hunt) const {
    for (std::uint32_t rings = window.rings; rings != 0; rings &= rings - 1) {
        const auto ring = static_cast<std::uint32_t>(std::countr_zero(rings));
        const std::int32_t certain = (static_cast<std::int32_t>(ring) - 1) * cell_size;
        if (ring > 1 && hunt.found_within(certain * certain)) {
            break;
        }
        const std::uint32_t first = sight_cells - ring;
        const std::uint32_t last = sight_cells + ring;
        for (std::uint32_t rows = window.occupied & whole_row(ring); rows != 0; rows &= rows - 1) {
            const auto y = static_cast<std::uint32_t>(std::countr_zero(rows));
            const std::uint32_t row = window.cell + (y - sight_cells) * side_ - sight_cells;
            // Only the first and the last row of a ring are whole.
            const bool end = y == first || y == last;
            std::uint32_t cells = window.rows[y] & (end ? whole_row(ring) : both_sides(ring));
            while (cells != 0) {
                // Those of neighbouring cells stand one after the other.
                const auto from = static_cast<std::uint32_t>(std::countr_zero(cells));
                const auto to = from + static_cast<std::uint32_t>(std::countr_one(cells >> from));
                hunt.look_at({cell_begin_[row + from], cell_begin_[row + to]});
                cells &= ~std::uint32_t{0} << to;
            }
        }
    }
    return hunt.found();
}

std::uint32_t Swarm::find_target(std::uint32_t body, const Window& window) const {
    constexpr std::int32_t sight = std::int32_t{sight_cells} * cell_size;
    const swarm_near::Spot from{near_x_[body], near_y_[body]};
#if defined(__SSE2__) || defined(_M_X64)
    swarm_near::FastHunt fast(spots(), from, bodies_[body].owner, sight * sight, candidates_max);
    const std::uint32_t found = search(window, fast);
    if (!fast.too_many()) {
        return found;
    }
#endif
    swarm_near::Hunt careful(spots(), from, bodies_[body].owner, sight * sight, candidates_max);
    return search(window, careful);
}

void Swarm::measure_crowds() {
    for (std::size_t i = 0; i < squads_.size(); ++i) {
        // A crowd stops where it fills a disc: n units, some four to a cell, need a radius of about
        // sqrt(n / 12) cells; sqrt(n / 8) leaves them room.
        const SwarmSquad& squad = squads_[i];
        std::int32_t crowd = 1;
        while (crowd * crowd * 2 < static_cast<std::int32_t>(squad.members)) {
            ++crowd;
        }
        arrival_cells_[i] = crowd / 2 + 1 + squad.radius / cell_size;
        apart_[i] = squad.order == SwarmOrder::spread
                        ? std::clamp<std::int32_t>(squad.radius, spacing, spacing_max)
                        : spacing;
    }
}

Swarm::Point Swarm::wish(const Body& one, Choice& choice, Way& way) const {
    const SwarmOrder order = squads_[one.squad].order;
    if (order == SwarmOrder::hold || order == SwarmOrder::spread) {
        return {};
    }
    if (choice.target != nobody && order != SwarmOrder::move) {
        choice.reached = 0;
        const UnitType& type = unit_types[one.kind];
        const Point there = way_to(one, units_[choice.target]);
        if (within(there, type.range)) {
            return {};
        }
        const std::int32_t length = std::max(1, rough_length(there.x, there.y));
        return {there.x * type.speed / length, there.y * type.speed / length};
    }
    return order == SwarmOrder::none ? Point{} : follow(one, choice, way);
}

Swarm::Point Swarm::follow(const Body& one, Choice& choice, Way& way) const {
    const SwarmSquad& squad = squads_[one.squad];
    const std::uint32_t cell = cell_at(one.x, one.y);
    const std::int32_t speed = unit_types[one.kind].speed;
    const std::int32_t arrival_cells = arrival_cells_[one.squad];
    const std::uint16_t* const costs = fields_.data() + one.squad * cell_count();
    const bool usable = squad.field == SwarmField::ready || squad.field == SwarmField::building;
    if (usable && costs[cell] != unreached) {
        choice.reached = costs[cell] <= 2 * arrival_cells ? 1 : 0;
        if (choice.reached != 0) {
            return {};
        }
        if (way.cell != cell || way.squad != one.squad) {
            way = {one.squad, cell, nobody};
            find_way(way, costs);
        }
        if (way.direction != nobody) {
            const std::int32_t along = way.direction % 2 == 0 ? speed : speed * diagonal_256 / 256;
            const Direction to = directions[way.direction];
            return {to.x * along, to.y * along};
        }
    }
    const Point goal = centre_of(squad.goal);
    const std::int32_t dx = (goal.x - one.x) / 16;
    const std::int32_t dy = (goal.y - one.y) / 16;
    const std::int32_t length = std::max(1, rough_length(dx, dy));
    choice.reached = length <= arrival_cells * cell_size / 16 ? 1 : 0;
    return choice.reached != 0 ? Point{} : Point{dx * speed / length, dy * speed / length};
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
    crowd.cell = cell;
    std::uint32_t room = neighbours_max;
    // Units stand on open ground, so there is a border of rock around every cell that is asked.
    for (std::uint32_t i = 0; i < crowd.rows.size(); ++i) {
        const std::uint32_t row = cell + (i - 1) * side_;
        const std::uint32_t begin = cell_begin_[row - 1];
        crowd.rows[i] = {begin, std::min(cell_begin_[row + 2], begin + room)};
        room -= crowd.rows[i].end - begin;
    }
}

/// Whom somebody asks: of those around him, who is not further away than half a cell stands in the
/// nearest four cells.
void Swarm::ask(std::uint32_t body, const Crowd& crowd, swarm_near::Ask& ask) const {
    static_assert(spacing_max <= swarm_near::push_length_max);
    static_assert(squads_max <= 256);
    const Body& one = bodies_[body];
    const std::int32_t apart = apart_[one.squad];
    ask.from = {near_x_[body], near_y_[body]};
    ask.reach = apart * apart;
    constexpr std::uint32_t half = cell_size / 2;
    if (apart <= cell_size / 2) {
        const std::uint32_t left = static_cast<std::uint32_t>(one.x) % cell_size < half ? 1 : 0;
        const std::uint32_t first = static_cast<std::uint32_t>(one.y) % cell_size < half ? 0 : 1;
        for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t cell = crowd.cell + (first + i - 1) * side_ - left;
            ask.ranges[i] = {cell_begin_[cell],
                             std::min(cell_begin_[cell + 2], crowd.rows[first + i].end)};
        }
        ask.ranges[2] = {};
    } else {
        ask.ranges = crowd.rows;
    }
}

/// What a unit is pushed by, as a change of its velocity.
Swarm::Point Swarm::share_of(const swarm_near::Push& push, std::int32_t reach) {
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
    Crowd crowd;
    gather(cell_at(one.x, one.y), crowd);
    for (const swarm_near::Range& row : crowd.rows) {
        for (std::uint32_t i = row.begin; i < row.end; ++i) {
            const Body& other = bodies_[i];
            if (other.x != one.x || other.y != one.y || i == body) {
                continue;
            }
            const Direction way = directions[(one.index + other.index) % 4];
            const std::int32_t sign = one.index < other.index ? 128 : -128;
            push.x += std::int64_t{way.x * sign} * reach;
            push.y += std::int64_t{way.y * sign} * reach;
        }
    }
}

/// One axis at a time: whoever runs into a rock slides along it.
void Swarm::walk(std::uint32_t cell, Choice& choice) const {
    const bool slow = terrain_[cell] == rough;
    const std::int32_t x = choice.x + (slow ? choice.vx / 2 : choice.vx);
    if (terrain_[cell_at(x, choice.y)] != rock) {
        choice.x = x;
    } else {
        choice.vx = 0;
    }
    const std::int32_t y = choice.y + (slow ? choice.vy / 2 : choice.vy);
    if (terrain_[cell_at(choice.x, y)] != rock) {
        choice.y = y;
    } else {
        choice.vy = 0;
    }
}

void Swarm::keep_apart(std::uint32_t begin, std::uint32_t end) {
    std::array<swarm_near::Ask, units_at_once> asks;
    std::array<swarm_near::Push, units_at_once> pushes;
    std::array<std::uint32_t, units_at_once>
        itself; // Everybody meets itself, in not too large a crowd.
    Crowd crowd;
    while (begin != end) {
        const std::uint32_t count = std::min(units_at_once, end - begin);
        for (std::uint32_t i = 0; i < count; ++i) {
            const Body& one = bodies_[begin + i];
            const std::uint32_t cell = cell_at(one.x, one.y);
            if (cell != crowd.cell) {
                gather(cell, crowd);
            }
            ask(begin + i, crowd, asks[i]);
            itself[i] = begin + i < crowd.rows[1].end ? 1 : 0;
        }
        swarm_near::push(spots(), asks.data(), count, pushes.data());
        for (std::uint32_t i = 0; i < count; ++i) {
            if (pushes[i].here > itself[i]) {
                part(begin + i, asks[i].reach, pushes[i]);
            }
            const Point pushed = share_of(pushes[i], asks[i].reach);
            Choice& choice = choices_[begin + i];
            choice.vx = static_cast<std::int16_t>(pushed.x);
            choice.vy = static_cast<std::int16_t>(pushed.y);
        }
        begin += count;
    }
}

// Units read the places of the tick before, never what another one has chosen, so the outcome does
// not depend on who is asked first.
void Swarm::decide(std::uint32_t begin, std::uint32_t end, Tick tick) {
    look_around(begin, end, tick);
    keep_apart(begin, end);
    Way way;
    for (std::uint32_t i = begin; i < end; ++i) {
        const Body& one = bodies_[i];
        Choice& choice = choices_[i];
        choice.x = one.x;
        choice.y = one.y;
        choice.reached = one.reached;
        const Point wanted = wish(one, choice, way);
        choice.vx = static_cast<std::int16_t>(clamp_speed((one.vx + wanted.x) / 2 + choice.vx));
        choice.vy = static_cast<std::int16_t>(clamp_speed((one.vy + wanted.y) / 2 + choice.vy));
        walk(cell_at(one.x, one.y), choice);
    }
}

} // namespace twinstep::games
