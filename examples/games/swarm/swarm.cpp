// SPDX-License-Identifier: MIT
// The frame of swarm: set-up, the order of a step, what a loaded state must satisfy, the bot.
#include "swarm/swarm.hpp"

#include "swarm/rules.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace twinstep::games {

constinit const std::string_view Swarm::source_digest = TWINSTEP_GAME_SOURCE_DIGEST;

using namespace swarm_rules;

namespace {

/// The number of units a set-up asks for, or 0 if it makes no sense.
std::uint32_t units_of(const std::string& text) {
    std::uint32_t units = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, units);
    const bool number = error == std::errc{} && stop == end;
    // One spelling for one number: set-ups that mean the same are the same.
    const bool plain = number && text[0] != '0';
    return plain && units >= units_min && units <= units_max ? units : 0;
}

std::uint32_t units_of(const Setup& setup) {
    const auto found = setup.config.find("units");
    const std::uint32_t units = found == setup.config.end() ? 0 : units_of(found->second);
    return units != 0 ? units : units_default;
}

/// Five cells to three units leave room to walk; a multiple of 32 keeps blocks whole.
std::uint32_t side_for(std::uint32_t units) {
    std::uint32_t side = 64;
    while (side * side * 5 < units * 8) {
        side += 32;
    }
    return side;
}

} // namespace

Result<void> Swarm::check(const Setup& setup) {
    for (const auto& [key, value] : setup.config) {
        if (key != "units") {
            return fail(Error(SimErrc::bad_setup,
                              "config." + key.substr(0, 64),
                              "swarm has no such setting; it has: units"));
        }
        if (units_of(value) == 0) {
            return fail(Error(SimErrc::bad_setup,
                              "config.units",
                              "expected a number from " + std::to_string(units_min) + " to " +
                                  std::to_string(units_max) + ", found \"" + value.substr(0, 64) +
                                  "\""));
        }
    }
    return {};
}

void Swarm::reset(const Setup& setup) {
    const std::uint32_t units = units_of(setup);
    side_ = side_for(units);
    players_.assign(setup.slots, {});
    make_terrain(setup.seed, setup.slots);
    find_spawn_cells(setup.slots, units / setup.slots + 1);
    squads_.assign(std::size_t{setup.slots} * squads_per_player, {});
    for (std::size_t i = 0; i < squads_.size(); ++i) {
        squads_[i].goal = players_[i / squads_per_player].base;
    }
    fields_.assign(squads_.size() * cell_count(), unreached);
    planner_ = {};
    planner_.job = nobody;
    reserve_frontier();
    enlist(units, setup.slots);
    cell_begin_.assign(cell_count() + 2, 0);
    bodies_.assign(units, {});
    choices_.assign(units, {});
    ready_.assign(units / 64 + 1, 0);
    near_x_.assign(units + swarm_near::spots_at_once, 0);
    near_y_.assign(units + swarm_near::spots_at_once, 0);
    near_owners_.assign(units + swarm_near::spots_at_once, 0);
    near_indices_.assign(units + swarm_near::spots_at_once, 0);
    cells_.assign(units, 0);
    arrival_cells_.assign(squads_.size(), 0);
    apart_.assign(squads_.size(), 0);
    presence_stride_ = (side_ + 63) / 64 + 2;
    presence_.assign(std::size_t{2} * setup.slots * presence_words(), 0);
    bands_.assign(setup.slots * band_words(), 0);
    wounds_.assign(units, 0);
    slayers_.assign(units, nobody);
    sort_into_cells();
    count_heads();
}

void Swarm::enlist(std::size_t units, std::uint16_t slots) {
    units_.assign(units, {});
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        const std::size_t begin = army_begin(slot);
        const std::size_t end = army_begin(slot + std::size_t{1});
        players_[slot].wave_ticks = wave_period_ticks + slot;
        for (std::size_t i = begin; i < end; ++i) {
            SwarmUnit& unit = units_[i];
            unit.owner = static_cast<std::uint8_t>(slot);
            unit.squad = static_cast<std::uint8_t>((i - begin) * squads_per_player / (end - begin));
            come_in(unit, static_cast<std::uint32_t>(i - begin), kind_mix[i % kind_mix.size()]);
        }
    }
}

void Swarm::step(const Step<Input>& step) {
    for (std::size_t slot = 0; slot < step.players.size(); ++slot) {
        if (step.players[slot].present) {
            obey(static_cast<std::uint16_t>(slot), step.players[slot].input);
        }
    }
    // Fields and places do not know of each other.
    step.workers.parallel_for(2, 1, [this](std::uint32_t part, std::uint32_t) {
        part == 0 ? sort_into_cells() : plan();
    });
    measure_crowds();
    step.workers.parallel_for(cell_begin_[cell_count()],
                              units_per_part,
                              [this, tick = step.tick](std::uint32_t begin, std::uint32_t end) {
                                  decide(begin, end, tick);
                              });
    move_units();
    shoot(step.random);
    bury();
    reinforce(step.random);
    count_heads();
}

// More than any frontier that was seen, so that a step does not allocate.
void Swarm::reserve_frontier() {
    for (std::vector<std::uint32_t>& bucket : planner_.frontier) {
        bucket.reserve(cell_count() / 4);
    }
}

const char* Swarm::first_wrong_unit() const {
    const auto width = static_cast<std::int32_t>(side_) * cell_size;
    std::size_t owner = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const SwarmUnit& unit = units_[i];
        owner += i == army_begin(owner + 1) ? 1U : 0U;
        if (unit.kind >= unit_types.size()) {
            return "units.kind";
        }
        if (unit.owner != owner) {
            return "units.owner";
        }
        if (unit.squad >= squads_per_player) {
            return "units.squad";
        }
        if (unit.target != nobody && unit.target >= units_.size()) {
            return "units.target";
        }
        if (unit.health < 0 || unit.health > unit_types[unit.kind].health) {
            return "units.health";
        }
        if (std::abs(unit.vx) > speed_max || std::abs(unit.vy) > speed_max) {
            return "units.vx";
        }
        if (unit.x < 0 || unit.x >= width || unit.y < 0 || unit.y >= width ||
            terrain_[cell_at(unit.x, unit.y)] == rock) {
            return "units.x";
        }
    }
    return nullptr;
}

const char* Swarm::first_wrong(const std::vector<std::uint8_t>& map, const Sizes& sizes) const {
    if (terrain_ != map) {
        return "terrain";
    }
    if (sizes_of_tables() != sizes) {
        return "size of a table";
    }
    for (const SwarmSquad& squad : squads_) {
        if (squad.order >= SwarmOrder::muster || squad.field > SwarmField::ready) {
            return "squads.order";
        }
        if (squad.goal >= cell_count() || terrain_[squad.goal] == rock) {
            return "squads.goal";
        }
    }
    if ((planner_.job != nobody && planner_.job >= squads_.size()) ||
        planner_.cursor >= squads_.size() || planner_.distance > unreached + frontier_buckets) {
        return "planner";
    }
    for (const std::vector<std::uint32_t>& bucket : planner_.frontier) {
        for (const std::uint32_t cell : bucket) {
            if (cell >= cell_count()) {
                return "planner.frontier";
            }
        }
    }
    for (const SwarmPlayer& player : players_) {
        if (player.wave_ticks == 0) {
            return "players.wave_ticks";
        }
    }
    return first_wrong_unit();
}

Swarm::Input Swarm::bot(Random& random, Tick tick, Slot slot) {
    // At first every squad is sent out, then an order comes now and then.
    const std::uint64_t turn = tick.value + std::uint64_t{slot.value} * 5;
    const bool opening = tick.value < 64;
    if (turn % (opening ? 4 : 12) != 0) {
        return {};
    }
    Input input;
    const std::uint32_t what = random.below(16);
    const std::uint32_t squad = random.below(squads_per_player);
    const std::uint32_t x = random.below(24576);
    const std::uint32_t y = random.below(24576);
    const std::uint32_t radius = random.below(1024);
    input.squad = static_cast<std::uint8_t>(opening ? tick.value / 4 : squad);
    // Most orders lead into the middle of the map, some anywhere.
    const std::uint32_t low = opening || what < 10 ? 20480 : 4096;
    const std::uint32_t stretch = opening || what < 10 ? 1 : 2;
    input.x = static_cast<std::uint16_t>(low + x * stretch);
    input.y = static_cast<std::uint16_t>(low + y * stretch);
    input.radius = static_cast<std::uint16_t>(radius);
    if (opening || what < 12) {
        input.kind = SwarmOrder::attack_move;
    } else if (what == 12) {
        input.kind = SwarmOrder::move;
    } else if (what == 13) {
        input.kind = SwarmOrder::hold;
    } else if (what == 14) {
        input.kind = SwarmOrder::spread;
    } else {
        input.kind = SwarmOrder::muster;
        input.radius = static_cast<std::uint16_t>(radius * 6);
    }
    return input;
}

} // namespace twinstep::games
