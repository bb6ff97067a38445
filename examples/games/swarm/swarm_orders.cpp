// SPDX-License-Identifier: MIT
// Orders, and the flow fields that carry them out.
#include "swarm/rules.hpp"
#include "swarm/swarm.hpp"

#include <algorithm>

namespace twinstep::games {

using namespace swarm_rules;

void Swarm::obey(std::uint16_t slot, const Input& input) {
    if (input.kind == SwarmOrder::none || input.kind > SwarmOrder::muster) {
        return;
    }
    // At most 65535 x 1024 x 1024 / 65536 in 64 bits: inside the map by construction.
    const std::uint64_t length = std::uint64_t{side_} * cell_size;
    const Point place{static_cast<std::int32_t>(input.x * length >> 16),
                      static_cast<std::int32_t>(input.y * length >> 16)};
    const auto radius = static_cast<std::int32_t>(input.radius * length >> 16);
    const auto squad = static_cast<std::uint8_t>(input.squad % squads_per_player);
    const std::uint32_t index = slot * squads_per_player + squad;
    ++players_[slot].orders;
    if (input.kind == SwarmOrder::muster) {
        muster(slot, squad, place, radius);
        return;
    }
    squads_[index].order = input.kind;
    squads_[index].radius = static_cast<std::uint16_t>(std::min(radius, 65535));
    if (input.kind == SwarmOrder::move || input.kind == SwarmOrder::attack_move) {
        send(index, nearest_open_[cell_at(place.x, place.y)]);
    }
}

void Swarm::send(std::uint32_t squad, std::uint32_t goal) {
    SwarmSquad& sent = squads_[squad];
    if (sent.goal == goal && sent.field != SwarmField::absent) {
        return;
    }
    sent.goal = goal;
    sent.field = SwarmField::waiting;
    if (planner_.job == squad) {
        planner_.job = nobody;
    }
}

void Swarm::muster(std::uint16_t slot, std::uint8_t squad, Point centre, std::int32_t radius) {
    const std::int64_t reach = std::int64_t{radius} * radius;
    for (SwarmUnit& unit : units_) {
        const std::int64_t dx = unit.x - centre.x;
        const std::int64_t dy = unit.y - centre.y;
        if (unit.owner == slot && unit.health > 0 && dx * dx + dy * dy <= reach) {
            unit.squad = squad;
        }
    }
}

void Swarm::plan() {
    // One whole map of 10,000 units a tick; larger maps take a few ticks for one field.
    std::uint32_t budget = side_ * 128;
    while (budget > 0) {
        if (planner_.job == nobody && !begin_job()) {
            return;
        }
        budget = grow_field(budget);
    }
}

bool Swarm::begin_job() {
    const auto count = static_cast<std::uint32_t>(squads_.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t squad = (planner_.cursor + i) % count;
        if (squads_[squad].field != SwarmField::waiting) {
            continue;
        }
        const auto begin = static_cast<std::ptrdiff_t>(squad * cell_count());
        const auto cells = static_cast<std::ptrdiff_t>(cell_count());
        std::fill_n(fields_.begin() + begin, cells, unreached);
        for (std::vector<std::uint32_t>& bucket : planner_.frontier) {
            bucket.clear();
        }
        squads_[squad].field = SwarmField::building;
        planner_.job = squad;
        planner_.cursor = (squad + 1) % count;
        planner_.distance = 0;
        planner_.frontier[0].push_back(squads_[squad].goal);
        fields_[squad * cell_count() + squads_[squad].goal] = 0;
        return true;
    }
    return false;
}

// Dijkstra's algorithm with the frontier in buckets by cost. Source: Dial, "Algorithm 360:
// Shortest-path forest with topological ordering", CACM 12(11), 1969.
std::uint32_t Swarm::grow_field(std::uint32_t budget) {
    std::uint16_t* const costs = fields_.data() + planner_.job * cell_count();
    const std::uint8_t* const terrain = terrain_.data();
    const std::array<std::uint32_t, 8> offsets = offsets_;
    std::uint32_t empty = 0;
    while (budget > 0) {
        std::vector<std::uint32_t>& bucket =
            planner_.frontier[planner_.distance % frontier_buckets];
        if (bucket.empty()) {
            ++empty;
            if (empty == frontier_buckets) {
                squads_[planner_.job].field = SwarmField::ready;
                planner_.job = nobody;
                planner_.distance = 0;
                return budget;
            }
            ++planner_.distance;
            continue;
        }
        empty = 0;
        const std::uint32_t cell = bucket.back();
        bucket.pop_back();
        --budget;
        const std::uint32_t distance = planner_.distance;
        if (costs[cell] != distance) {
            continue; // A cheaper way here was found after this entry was made.
        }
        const std::uint32_t exits = exits_[cell];
        for (std::uint32_t d = 0; d < directions.size(); ++d) {
            if ((exits >> d & 1U) == 0) {
                continue;
            }
            const std::uint32_t next = cell + offsets[d];
            const std::uint32_t step = (2U + d % 2) << (terrain[next] == rough ? 1U : 0U);
            const std::uint32_t cost = distance + step;
            if (cost < costs[next]) {
                costs[next] = static_cast<std::uint16_t>(cost);
                planner_.frontier[cost % frontier_buckets].push_back(next);
            }
        }
    }
    return budget;
}

} // namespace twinstep::games
