// SPDX-License-Identifier: MIT
// Set-up, the order of a tic, and what moves: bodies and doors.
#include "marine/marine.hpp"

#include "marine/tables.hpp"

#include <array>
#include <charconv>
#include <string>

namespace twinstep::games {

constinit const std::string_view Marine::source_digest = TWINSTEP_GAME_SOURCE_DIGEST;

using namespace marine;

Result<Marine::Rules> Marine::read_rules(const Setup& setup) {
    struct Key {
        std::string_view name;
        std::uint32_t low;
        std::uint32_t high;
        std::uint32_t Rules::*value;
    };

    static constexpr std::array<Key, 8> keys{{{"skill", 0, 4, &Rules::skill},
                                              {"episode", 1, 9, &Rules::episode},
                                              {"map", 1, 99, &Rules::map},
                                              {"deathmatch", 0, 2, &Rules::deathmatch},
                                              {"console_player", 0, 3, &Rules::console_player},
                                              {"respawn", 0, 1, &Rules::respawn},
                                              {"fast", 0, 1, &Rules::fast},
                                              {"monsters", 0, 1, &Rules::monsters}}};
    Rules rules;
    for (const auto& [name, text] : setup.config) {
        const Key* known = nullptr;
        for (const Key& key : keys) {
            known = key.name == name ? &key : known;
        }
        const std::string field = "config." + name.substr(0, 64);
        if (known == nullptr) {
            return fail(Error(SimErrc::bad_setup, field, "marine has no such key"));
        }
        std::uint32_t value = 0;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc{} || rest != end || value < known->low || value > known->high) {
            return fail(Error(SimErrc::bad_setup,
                              field,
                              "expected a whole number from " + std::to_string(known->low) +
                                  " to " + std::to_string(known->high)));
        }
        rules.*(known->value) = value;
    }
    if (rules.console_player >= setup.slots) {
        return fail(Error(SimErrc::bad_setup, "config.console_player", "no such slot"));
    }
    return rules;
}

Result<void> Marine::check(const Setup& setup) {
    if (const Result<Rules> rules = read_rules(setup); !rules) {
        return fail(rules.error());
    }
    return {};
}

void Marine::reset(const Setup& setup) {
    const Result<Rules> rules = read_rules(setup);
    TWINSTEP_ASSERT(rules.has_value());
    rules_ = *rules;
    arena_.build(rules_.episode, rules_.map);
    doors_.assign(arena_.doors(), {});
    projectiles_.clear();
    projectiles_.reserve(projectiles_max);
    flow_.assign(std::size_t{arena_cells} * arena_cells, 0);
    queue_.assign(flow_.size(), 0);
    slots_ = setup.slots;
    players_.assign(slots_, {});
    Random random(setup.seed, Tick{0}, placing_stream);
    for (std::size_t slot = 0; slot < players_.size(); ++slot) {
        spawn(slot, random);
    }
    place_monsters();
    monster_count_ = monsters_.size();
    place_pickups();
}

void Marine::place_monsters() {
    monsters_.clear();
    if (rules_.monsters == 0) {
        return;
    }
    Random random((std::uint64_t{rules_.episode} << 32) | rules_.map, Tick{0}, monster_stream);
    const std::size_t count = monsters_at_skill[rules_.skill];
    const std::span<const Vector> rooms = arena_.rooms();
    for (std::size_t i = 0; i < count; ++i) {
        Monster monster;
        monster.kind = static_cast<MonsterKind>(random.below(monster_kinds));
        const MonsterTraits& traits = traits_of(monster.kind);
        // The start room stays empty; a handful of tries finds a place in a room of 49 cells.
        for (int tries = 0; tries < 8; ++tries) {
            const Vector room = rooms[1 + i % (rooms.size() - 1)];
            const std::int32_t dx = random.between(-3, 3);
            const std::int32_t dy = random.between(-3, 3);
            const Vector place{room.x + dx * cell_units * unit, room.y + dy * cell_units * unit};
            const Body body{place, traits.radius, {}};
            if (place_is_free(place, traits.radius) && !body_in_the_way(body, place)) {
                monster.x = monster.home_x = place.x;
                monster.y = monster.home_y = place.y;
                monster.health = traits.health;
                monsters_.push_back(monster);
                break;
            }
        }
    }
}

void Marine::place_pickups() {
    pickups_.clear();
    Random random((std::uint64_t{rules_.episode} << 32) | rules_.map, Tick{0}, pickup_stream);
    for (std::size_t i = 0; i < pickups_per_room * arena_.rooms().size(); ++i) {
        const Vector room = arena_.rooms()[i / pickups_per_room];
        Pickup pickup;
        pickup.kind = static_cast<PickupKind>(random.below(pickup_kinds));
        const std::int32_t dx = random.between(-2, 2);
        const std::int32_t dy = random.between(-1, 1);
        pickup.x = room.x + dx * cell_units * unit;
        pickup.y = room.y + dy * cell_units * unit;
        pickups_.push_back(pickup);
    }
}

void Marine::handle(const StepEvent& event, Random& random) {
    if (!event.has_slot || event.slot.value >= players_.size()) {
        return;
    }
    Player& player = players_[event.slot.value];
    if (event.kind == EventKind::leave) {
        player.state = PlayerState::away;
    } else if (event.kind == EventKind::join && player.state == PlayerState::away) {
        spawn(event.slot.value, random);
    }
}

void Marine::step(const Step<Input>& step) {
    for (const StepEvent& event : step.events) {
        handle(event, step.random);
    }
    step_doors();
    for (std::size_t slot = 0; slot < players_.size(); ++slot) {
        // A slot without input stands still; it does not repeat what it did before.
        step_player(slot, step.players[slot].input, step.random);
    }
    step_monsters(step.tick, step.random);
    step_projectiles(step.random);
    step_pickups();
}

Marine::Input Marine::bot(Random& random, Tick tick, Slot slot) {
    // The plan lasts a second and is the same at each of its tics; `random` adds the details, which
    // add up to quite different walks for different seeds.
    constexpr std::uint64_t plan_key = 0x6D6172696E65;
    Random plan(plan_key, Tick{tick.value / 35}, slot.value);
    const std::uint32_t walk = plan.below(8);
    const std::int32_t bend = plan.between(-500, 500);
    const std::uint32_t trigger = plan.below(4);
    const std::uint32_t change = plan.below(6);
    const std::int32_t strafe = plan.between(-1, 1);
    Input input;
    input.forward = static_cast<std::int8_t>(walk == 0 ? -25 : walk == 1 ? 0 : 50);
    input.side = static_cast<std::int8_t>(walk < 4 ? 24 * strafe : 0);
    const std::int32_t wobble = random.between(-640, 640);
    input.turn = static_cast<std::int16_t>(bend + wobble);
    const std::uint32_t flick = random.below(64);
    if (flick == 0) {
        input.turn = static_cast<std::int16_t>(random.between(-16384, 16384));
    }
    if (trigger != 0) {
        input.buttons |= button_attack;
    }
    if (flick % 8 == 1) {
        input.buttons |= button_use;
    }
    if (tick.value % 35 == 0 && change < weapons) {
        input.buttons = static_cast<std::uint8_t>(input.buttons | button_change |
                                                  (change << button_weapon_shift));
    }
    return input;
}

bool Marine::cell_blocks(Cell cell) const {
    const Tile tile = arena_.at(cell);
    if (tile < Tile::first_door) {
        return tile == Tile::wall;
    }
    return doors_[Arena::door_of(tile)].height < body_height;
}

bool Marine::place_is_free(Vector place, Fixed radius) const {
    // The last bit is taken off, or a body that just touches a wall would stand in it.
    const Cell low = Arena::cell_of({place.x - radius, place.y - radius});
    const Cell high = Arena::cell_of({place.x + radius - 1, place.y + radius - 1});
    for (std::int32_t y = low.y; y <= high.y; ++y) {
        for (std::int32_t x = low.x; x <= high.x; ++x) {
            if (cell_blocks({x, y})) {
                return false;
            }
        }
    }
    return true;
}

namespace {

/// How far two places are apart, along the axis along which that is more.
Fixed separation(Vector a, Vector b) {
    const Fixed dx = a.x < b.x ? b.x - a.x : a.x - b.x;
    const Fixed dy = a.y < b.y ? b.y - a.y : a.y - b.y;
    return std::max(dx, dy);
}

} // namespace

bool Marine::body_in_the_way(const Body& body, Vector to) const {
    // Bodies that overlap already may part: only coming nearer is refused.
    const auto meets = [&body, to](Vector other, Fixed radius) {
        const Fixed apart = separation(to, other);
        return apart < body.radius + radius && apart <= separation(body.place, other);
    };
    for (std::size_t i = 0; i < players_.size(); ++i) {
        const bool self = body.self.kind == Target::Kind::player && body.self.index == i;
        const Player& player = players_[i];
        if (!self && player.state == PlayerState::alive &&
            meets({player.x, player.y}, player_radius)) {
            return true;
        }
    }
    for (std::size_t i = 0; i < monsters_.size(); ++i) {
        const bool self = body.self.kind == Target::Kind::monster && body.self.index == i;
        const Monster& monster = monsters_[i];
        if (!self && monster.state != MonsterState::dead &&
            meets({monster.x, monster.y}, traits_of(monster.kind).radius)) {
            return true;
        }
    }
    return false;
}

bool Marine::can_move(const Body& body, Vector to) const {
    return place_is_free(to, body.radius) && !body_in_the_way(body, to);
}

void Marine::slide(Body& body, Fixed& mom_x, Fixed& mom_y) const {
    mom_x = add_clamped(mom_x, 0, momentum_max);
    mom_y = add_clamped(mom_y, 0, momentum_max);
    // Pieces of at most eight units keep a fast body from stopping far from a wall.
    constexpr Fixed piece_max = 8 * unit;
    const Fixed longest = separation({mom_x, mom_y}, {});
    const std::int32_t pieces = longest / piece_max + 1;
    for (std::int32_t i = 0; i < pieces && (mom_x != 0 || mom_y != 0); ++i) {
        const Fixed dx = mom_x / pieces;
        const Fixed dy = mom_y / pieces;
        const Vector straight{body.place.x + dx, body.place.y + dy};
        if (can_move(body, straight)) {
            body.place = straight;
        } else if (dx != 0 && can_move(body, {body.place.x + dx, body.place.y})) {
            body.place.x += dx;
            mom_y = 0;
        } else if (dy != 0 && can_move(body, {body.place.x, body.place.y + dy})) {
            body.place.y += dy;
            mom_x = 0;
        } else {
            mom_x = 0;
            mom_y = 0;
        }
    }
}

Fixed Marine::free_length(Vector from, Vector direction, Fixed range) const {
    constexpr std::int32_t piece_units = 8;
    Vector place = from;
    Fixed length = 0;
    while (length < range) {
        place.x += direction.x * piece_units;
        place.y += direction.y * piece_units;
        if (cell_blocks(Arena::cell_of(place))) {
            break;
        }
        length += piece_units * unit;
    }
    return std::min(length, range);
}

bool Marine::sees(Vector from, Vector to) const {
    const std::uint32_t apart = distance(from, to);
    if (apart > static_cast<std::uint32_t>(sight_range)) {
        return false;
    }
    const Vector direction =
        with_length(std::int64_t{to.x} - from.x, std::int64_t{to.y} - from.y, unit);
    const auto range = static_cast<Fixed>(apart);
    return free_length(from, direction, range) >= range;
}

void Marine::open_door(std::size_t index, std::uint8_t opener) {
    Door& door = doors_[index];
    if (door.phase == DoorPhase::closed || door.phase == DoorPhase::closing) {
        door.phase = DoorPhase::opening;
        door.opened = static_cast<std::uint16_t>(door.opened + 1);
        door.opener = opener;
        if (opener < players_.size()) {
            ++players_[opener].doors;
        }
    }
}

void Marine::step_doors() {
    for (std::size_t i = 0; i < doors_.size(); ++i) {
        Door& door = doors_[i];
        switch (door.phase) {
        case DoorPhase::closed:
            break;
        case DoorPhase::opening:
            door.height = static_cast<std::uint16_t>(door.height + door_speed);
            if (door.height >= door_height) {
                door.height = door_height;
                door.phase = DoorPhase::open;
                door.tics_left = door_wait_tics;
            }
            break;
        case DoorPhase::open:
            if (door.tics_left > 0) {
                --door.tics_left;
            } else {
                door.phase = DoorPhase::closing;
            }
            break;
        case DoorPhase::closing:
            if (door_is_blocked(i)) {
                door.phase = DoorPhase::opening;
            } else if (door.height > door_speed) {
                door.height = static_cast<std::uint16_t>(door.height - door_speed);
            } else {
                door.height = 0;
                door.phase = DoorPhase::closed;
            }
            break;
        }
    }
}

/// True if somebody stands below the door.
bool Marine::door_is_blocked(std::size_t index) const {
    const Vector centre = arena_.door_centre(index);
    const Fixed along = door_cells * cell_units * unit / 2;
    const Fixed across = cell_units * unit / 2;
    const bool vertical = arena_.door_is_vertical(index);
    const auto below = [&](Vector place, Fixed radius) {
        const Fixed dx = separation({place.x, 0}, {centre.x, 0});
        const Fixed dy = separation({place.y, 0}, {centre.y, 0});
        return dx < (vertical ? across : along) + radius &&
               dy < (vertical ? along : across) + radius;
    };
    for (const Player& player : players_) {
        if (player.state == PlayerState::alive && below({player.x, player.y}, player_radius)) {
            return true;
        }
    }
    for (const Monster& monster : monsters_) {
        if (monster.state != MonsterState::dead &&
            below({monster.x, monster.y}, traits_of(monster.kind).radius)) {
            return true;
        }
    }
    return false;
}

} // namespace twinstep::games
