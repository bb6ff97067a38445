// SPDX-License-Identifier: MIT
// Who stands where; and what units do to each other: shoot, die and come back.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace twinstep::games {

using namespace swarm_rules;

namespace {

/// Units are met in the order of their places, so each is asked for some turns before it is needed.
constexpr std::uint32_t fetch_ahead = 12;

void fetch([[maybe_unused]] const SwarmUnit& unit) {
#if defined(__GNUC__)
    constexpr int to_be_written = 1;
    __builtin_prefetch(&unit, to_be_written);
#endif
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
            bodies_[place] = {unit.x,
                              unit.y,
                              i,
                              unit.target,
                              unit.vx,
                              unit.vy,
                              unit.owner,
                              unit.kind,
                              static_cast<std::uint8_t>(squad_of(unit)),
                              unit.reached};
        }
    }
    describe_bodies();
    map_enemies();
}

// In the order of their places, after all are in them: what is written one after the other goes
// faster.
void Swarm::describe_bodies() {
    const std::size_t words = presence_words();
    std::fill(presence_.begin(), presence_.end(), std::uint64_t{0});
    std::size_t word = 0;
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < cell_begin_[cell_count()]; ++i) {
        const Body& one = bodies_[i];
        const swarm_near::Spot spot = swarm_near::spot_of(one.x, one.y);
        near_x_[i] = spot.x;
        near_y_[i] = spot.y;
        near_owners_[i] = one.owner;
        near_indices_[i] = one.index;
        const std::uint32_t x = cell_of(one.x) + 64;
        const std::uint32_t y = cell_of(one.y) + sight_cells;
        // Those who come one after the other are often in one word.
        const std::size_t here = one.owner * words + y * presence_stride_ + x / 64;
        if (here != word) {
            presence_[word] |= bits;
            word = here;
            bits = 0;
        }
        bits |= std::uint64_t{1} << x % 64;
    }
    presence_[word] |= bits;
}

void Swarm::map_enemies() {
    const std::size_t words = presence_words();
    const std::size_t players = players_.size();
    for (std::size_t player = 0; player < players; ++player) {
        std::uint64_t* const enemies = presence_.data() + (players + player) * words;
        for (std::size_t other = 0; other < players; ++other) {
            const std::uint64_t* const theirs = presence_.data() + other * words;
            for (std::size_t i = 0; other != player && i < words; ++i) {
                enemies[i] |= theirs[i];
            }
        }
        std::uint64_t* const bands = bands_.data() + player * band_words();
        std::fill_n(bands, band_words(), std::uint64_t{0});
        for (std::size_t row = 0; row * presence_stride_ < words; ++row) {
            for (std::size_t x = 0; x < presence_stride_; ++x) {
                bands[row / rows_per_band * presence_stride_ + x] |=
                    enemies[row * presence_stride_ + x];
            }
        }
    }
}

// One pass over all of them for everything that concerns nobody else.
void Swarm::move_units() {
    std::fill(ready_.begin(), ready_.end(), std::uint64_t{0});
    // Members of each squad, and 2^32 times who has reached its goal. Two tables, because those who
    // come one after the other are often of one squad, and a sum has to wait for the sum before.
    std::array<std::array<std::uint64_t, squads_max>, 2> heads{};
    const std::uint32_t count = cell_begin_[cell_count()];
    const std::uint32_t last = count - 1;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Body& one = bodies_[i];
        const Choice& choice = choices_[i];
        fetch(units_[bodies_[std::min(i + fetch_ahead, last)].index]);
        SwarmUnit& unit = units_[one.index];
        unit.x = choice.x;
        unit.y = choice.y;
        unit.vx = choice.vx;
        unit.vy = choice.vy;
        unit.target = choice.target;
        unit.reached = choice.reached;
        const bool ready = unit.cooldown == 0;
        unit.cooldown = static_cast<std::uint16_t>(unit.cooldown - (ready ? 0 : 1));
        ready_[one.index / 64] |= std::uint64_t{ready && unit.target != nobody} << one.index % 64;
        heads[i % 2][one.squad] += 1 + (std::uint64_t{choice.reached} << 32);
    }
    for (std::size_t i = 0; i < squads_.size(); ++i) {
        const std::uint64_t sum = heads[0][i] + heads[1][i];
        squads_[i].members = static_cast<std::uint32_t>(sum);
        squads_[i].reached = static_cast<std::uint32_t>(sum >> 32);
    }
}

bool Swarm::in_reach(const SwarmUnit& unit, std::int64_t reach) const {
    const SwarmUnit& target = units_[unit.target];
    const std::int64_t dx = target.x - unit.x;
    const std::int64_t dy = target.y - unit.y;
    return dx * dx + dy * dy <= reach * reach;
}

// Shots of one tick fall together: wounds are summed first and dealt by `bury`.
void Swarm::shoot(Random& random) {
    for (std::size_t word = 0; word < ready_.size(); ++word) {
        for (std::uint64_t bits = ready_[word]; bits != 0; bits &= bits - 1) {
            const auto index = static_cast<std::uint32_t>(
                word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            SwarmUnit& unit = units_[index];
            const UnitType& type = unit_types[unit.kind];
            if (!in_reach(unit, type.range)) {
                continue;
            }
            const auto more = static_cast<std::int32_t>(random.below(type.damage_spread));
            const std::int32_t damage = type.damage + more;
            wounds_[unit.target] += damage;
            slayers_[unit.target] = index;
            unit.damage += static_cast<std::uint32_t>(damage);
            unit.cooldown = type.cooldown_ticks;
            ++players_[unit.owner].shots;
        }
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
            SwarmSquad& squad = squads_[squad_of(unit)];
            --squad.members;
            squad.reached -= unit.reached;
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
    ++squads_[squad_of(unit)].members;
}

void Swarm::count_heads() {
    for (std::size_t slot = 0; slot < players_.size(); ++slot) {
        players_[slot].alive = 0;
        for (std::size_t i = 0; i < squads_per_player; ++i) {
            players_[slot].alive += squads_[slot * squads_per_player + i].members;
        }
    }
}

void Swarm::reinforce(Random& random) {
    for (std::size_t slot = 0; slot < players_.size(); ++slot) {
        SwarmPlayer& player = players_[slot];
        --player.wave_ticks;
        if (player.wave_ticks != 0) {
            continue;
        }
        player.wave_ticks = wave_period_ticks;
        const std::size_t begin = army_begin(slot);
        const std::size_t end = army_begin(slot + 1);
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
