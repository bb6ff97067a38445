// SPDX-License-Identifier: MIT
// The rules of `pile`: set-up, player, motion, rest and sleep.
#include "pile.hpp"

#include <charconv>
#include <string>

namespace twinstep::games {

constinit const std::string_view Pile::source_digest = TWINSTEP_GAME_SOURCE_DIGEST;

using namespace pile_detail;

namespace {

constexpr float gravity = 10.0F;          // metres a second squared
constexpr float speed_max = 25.0F;        // metres a second; under half a metre a tick
constexpr float spin_max = 20.0F;         // radians a second
constexpr float velocity_kept = 0.999F;   // a tick; air
constexpr float spin_kept = 0.99F;        // a tick; stands in for rolling resistance
constexpr float density = 1.0F;           // kilograms a square metre
constexpr float restitution = 0.2F;       // part of the speed that a fast impact gives back
constexpr float throw_speed = 22.0F;      // metres a second
constexpr std::uint8_t throw_pause = 6;   // ticks between throws
constexpr float pull_radius = 5.0F;       // metres
constexpr float pull_strength = 60.0F;    // metres a second squared at the cursor
constexpr float rest_speed = 0.15F;       // metres a second; below it a body counts as at rest
constexpr float rest_spin = 0.4F;         // radians a second
constexpr std::uint8_t rest_ticks = 30;   // ticks at rest before an island may sleep
constexpr int push_passes = 8;            // solver passes that push overlapping bodies apart
constexpr int relax_passes = 3;           // passes that take the speed of the pushing out again
constexpr std::uint32_t setup_stream = 1; // random stream of reset; steps use stream 0

/// Parses the number of bodies; 0 if it is not a number from bodies_min to bodies_max.
std::uint32_t parse_bodies(std::string_view text) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end || text.front() == '0' || value < Pile::bodies_min ||
        value > Pile::bodies_max) {
        return 0;
    }
    return value;
}

/// A random length in metres. Requires 0 <= low <= high, in millimetres.
float millimetres(Random& random, std::int32_t low, std::int32_t high) {
    return static_cast<float>(random.between(low, high)) * 0.001F;
}

/// The part of the room that an aim stands for; both are exact in a float.
float aim_part(std::int16_t aim) {
    return static_cast<float>(std::int32_t{aim} + 32768) * (1.0F / 65536.0F);
}

} // namespace

void PileContacts::reserve(std::size_t count) {
    pair.reserve(count);
    feature.reserve(count);
    normal.reserve(count);
    tangent.reserve(count);
}

void PileContacts::clear() {
    pair.clear();
    feature.clear();
    normal.clear();
    tangent.clear();
}

void PileContacts::add(std::uint32_t pair_key,
                       std::uint8_t feature_id,
                       float normal_n,
                       float tangent_n) {
    pair.push_back(pair_key);
    feature.push_back(feature_id);
    normal.push_back(normal_n);
    tangent.push_back(tangent_n);
}

Result<void> Pile::check(const Setup& setup) {
    for (const auto& [key, value] : setup.config) {
        if (key != "bodies") {
            return fail(Error(SimErrc::bad_setup, key, "unknown key; pile knows \"bodies\""));
        }
        if (parse_bodies(value) == 0) {
            return fail(Error(SimErrc::bad_setup,
                              key,
                              "\"" + value + "\" is not a whole number from 10 to 5000"));
        }
    }
    return {};
}

PileInput Pile::bot(Random& random, Tick tick, Slot slot) {
    static_cast<void>(slot);
    const std::uint64_t phase = tick.value % 600;
    Input input;
    if (phase < 300) {
        // Throws at the lower half of the room.
        const std::int32_t x = random.between(-30000, 30000);
        const std::int32_t y = random.between(-32000, -4000);
        input.aim_x = static_cast<std::int16_t>(x);
        input.aim_y = static_cast<std::int16_t>(y);
        input.buttons = Input::button_throw;
    } else if (phase < 480) {
        // Pulls along the pile, once there and once back, with an unsteady hand.
        const std::uint64_t cycle = tick.value / 600;
        const auto sweep = static_cast<std::int32_t>(phase - 300) * 300 - 27000;
        const std::int32_t x = cycle % 2 == 0 ? sweep : -sweep;
        const std::int32_t shake = random.between(-500, 500);
        input.aim_x = static_cast<std::int16_t>(x + shake);
        input.aim_y = static_cast<std::int16_t>(-26000 + shake);
        input.buttons = Input::button_pull;
    }
    return input;
}

void Pile::reset(const Setup& setup) {
    const auto found = setup.config.find("bodies");
    const std::uint32_t wanted =
        found == setup.config.end() ? bodies_default : parse_bodies(found->second);
    TWINSTEP_ASSERT(wanted != 0);
    room_ = 8;
    while (static_cast<std::uint32_t>(room_ * room_) < wanted + wanted / 2) {
        room_ += 1;
    }
    make_bodies(setup.seed, wanted);
    player_ = {};

    // Settled piles have about four contact points a body.
    const std::size_t points = std::size_t{8} * wanted;
    contacts_.clear();
    contacts_.reserve(points);
    old_contacts_.reserve(points);
    joints_.reserve(points);
    motions_.assign(wanted + std::size_t{4}, {});
    grid_.assign(wanted, {});
    cell_starts_.reserve(static_cast<std::size_t>(room_ * room_) + 1);
    candidates_.reserve(wanted + std::size_t{4});
    islands_.assign(wanted, 0);
    island_rest_.assign(wanted, 0);
}

void Pile::make_bodies(std::uint64_t seed, std::uint32_t count) {
    Random random(seed, Tick{0}, setup_stream);
    const std::uint32_t columns = (static_cast<std::uint32_t>(room_) * 10 - 10) / 8;
    bodies_ = {};
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool box = random.below(2) == 1;
        float half_x = 0.0F;
        float half_y = 0.0F;
        if (box) {
            half_x = millimetres(random, 150, 320);
            half_y = millimetres(random, 150, 320);
        } else {
            half_x = millimetres(random, 180, 350);
            half_y = half_x;
        }
        const std::int32_t turn_x = random.between(-100, 100);
        const std::int32_t turn_y = random.between(-100, 100);
        const Vec turn =
            unit({static_cast<float>(turn_x), static_cast<float>(turn_y)}, {1.0F, 0.0F});
        bodies_.x.push_back(0.9F + 0.8F * static_cast<float>(i % columns));
        bodies_.y.push_back(0.9F + 0.8F * static_cast<float>(i / columns));
        bodies_.cosine.push_back(turn.x);
        bodies_.sine.push_back(turn.y);
        bodies_.half_x.push_back(half_x);
        bodies_.half_y.push_back(half_y);
        bodies_.box.push_back(box ? 1 : 0);
    }
    bodies_.velocity_x.assign(count, 0.0F);
    bodies_.velocity_y.assign(count, 0.0F);
    bodies_.spin.assign(count, 0.0F);
    bodies_.rest.assign(count, 0);
}

void Pile::step(const Step<Input>& step) {
    act(step);
    start_motions();
    find_contacts();
    start_joints(joints_, motions_, restitution);
    for (int pass = 0; pass < push_passes; ++pass) {
        solve_joints(joints_, motions_, true);
    }
    limit_motions();
    move_bodies();
    for (int pass = 0; pass < relax_passes; ++pass) {
        solve_joints(joints_, motions_, false);
    }
    bounce_joints(joints_, motions_);
    limit_motions();
    store();
    wake_and_rest();
}

Shape Pile::shape(std::size_t body) const {
    return {{bodies_.x[body], bodies_.y[body]},
            {bodies_.cosine[body], bodies_.sine[body]},
            {bodies_.half_x[body], bodies_.half_y[body]},
            bodies_.box[body] != 0};
}

void Pile::act(const Step<Input>& step) {
    const PlayerInput<Input>& player = step.players[0];
    if (player_.cooldown > 0) {
        player_.cooldown = static_cast<std::uint8_t>(player_.cooldown - 1);
    }
    if (!player.present) {
        return;
    }
    player_.aim_x = aim_part(player.input.aim_x) * static_cast<float>(room_);
    player_.aim_y = aim_part(player.input.aim_y) * static_cast<float>(room_);
    if ((player.input.buttons & Input::button_throw) != 0 && player_.cooldown == 0) {
        throw_body(step.random);
    }
    if ((player.input.buttons & Input::button_pull) != 0) {
        pull_bodies();
    }
}

/// Takes the next body, wherever it is, and throws it from below the ceiling.
void Pile::throw_body(Random& random) {
    const std::uint32_t body = player_.next;
    const auto room = static_cast<float>(room_);
    // Whoever leaned on it must notice that it is gone.
    for (const std::uint32_t pair : contacts_.pair) {
        const std::uint32_t a = pair >> 16U;
        const std::uint32_t b = pair & 0xFFFFU;
        if (b < count() && (a == body || b == body)) {
            bodies_.rest[a] = 0;
            bodies_.rest[b] = 0;
        }
    }
    const Vec from{0.5F * room, room - 1.0F};
    const Vec aim = unit(Vec{player_.aim_x, player_.aim_y} - from, {0.0F, -1.0F});
    const std::int32_t spin = random.between(-10, 10);
    bodies_.x[body] = from.x;
    bodies_.y[body] = from.y;
    bodies_.velocity_x[body] = aim.x * throw_speed;
    bodies_.velocity_y[body] = aim.y * throw_speed;
    bodies_.spin[body] = static_cast<float>(spin);
    bodies_.rest[body] = 0;
    player_.next = body + 1 < count() ? body + 1 : 0;
    player_.thrown += 1;
    player_.cooldown = throw_pause;
}

/// Draws the bodies near the cursor to it, the nearest most.
void Pile::pull_bodies() {
    const Vec aim{player_.aim_x, player_.aim_y};
    for (std::uint32_t body = 0; body < count(); ++body) {
        const Vec toward = aim - Vec{bodies_.x[body], bodies_.y[body]};
        const float distance_squared = dot(toward, toward);
        if (distance_squared >= pull_radius * pull_radius) {
            continue;
        }
        const float distance = square_root(distance_squared);
        const float strength = pull_strength * (1.0F - distance * (1.0F / pull_radius));
        const Vec pull = unit(toward, {0.0F, 0.0F}) * (strength * tick_seconds);
        bodies_.velocity_x[body] += pull.x;
        bodies_.velocity_y[body] += pull.y;
        bodies_.rest[body] = 0;
    }
}

void Pile::start_motions() {
    for (std::uint32_t body = 0; body < count(); ++body) {
        Motion& motion = motions_[body];
        motion = {};
        if (asleep(body)) {
            continue;
        }
        const float x = bodies_.half_x[body];
        const float y = bodies_.half_y[body];
        // A circle's area is 3.14159 r^2 and its inertia m r^2 / 2; a box's 4 x y and
        // m (x^2 + y^2) / 3.
        const bool box = bodies_.box[body] != 0;
        const float mass = density * (box ? 4.0F : 3.14159274F) * x * y;
        const float inertia = box ? mass * (x * x + y * y) * (1.0F / 3.0F) : 0.5F * mass * x * x;
        motion.inverse_mass = 1.0F / mass;
        motion.inverse_inertia = 1.0F / inertia;
        motion.velocity = {bodies_.velocity_x[body] * velocity_kept,
                           (bodies_.velocity_y[body] - gravity * tick_seconds) * velocity_kept};
        motion.spin = bodies_.spin[body] * spin_kept;
    }
    for (std::uint32_t wall = 0; wall < 4; ++wall) {
        motions_[count() + wall] = {};
    }
}

void Pile::limit_motions() {
    for (std::uint32_t body = 0; body < count(); ++body) {
        Motion& motion = motions_[body];
        motion.velocity.x = clamp(motion.velocity.x, -speed_max, speed_max);
        motion.velocity.y = clamp(motion.velocity.y, -speed_max, speed_max);
        motion.spin = clamp(motion.spin, -spin_max, spin_max);
    }
}

void Pile::move_bodies() {
    const auto room = static_cast<float>(room_);
    for (std::uint32_t body = 0; body < count(); ++body) {
        if (asleep(body)) {
            continue;
        }
        const Motion& motion = motions_[body];
        bodies_.x[body] = clamp(bodies_.x[body] + motion.velocity.x * tick_seconds, 0.0F, room);
        bodies_.y[body] = clamp(bodies_.y[body] + motion.velocity.y * tick_seconds, 0.0F, room);
        const float angle = motion.spin * tick_seconds;
        const Vec turn{bodies_.cosine[body], bodies_.sine[body]};
        // The arm of a right angle only makes the vector longer, so there is always a direction.
        const Vec turned = unit(turn + Vec{-turn.y * angle, turn.x * angle}, {1.0F, 0.0F});
        bodies_.cosine[body] = turned.x;
        bodies_.sine[body] = turned.y;
    }
}

void Pile::store() {
    for (std::uint32_t body = 0; body < count(); ++body) {
        bodies_.velocity_x[body] = motions_[body].velocity.x;
        bodies_.velocity_y[body] = motions_[body].velocity.y;
        bodies_.spin[body] = motions_[body].spin;
    }
    for (const Joint& joint : joints_) {
        contacts_.normal[joint.stored] = clamp(joint.normal_impulse, 0.0F, impulse_max);
        contacts_.tangent[joint.stored] = clamp(joint.tangent_impulse, -impulse_max, impulse_max);
    }
}

/// Bodies that touch each other sleep and wake together.
void Pile::wake_and_rest() {
    for (std::uint32_t body = 0; body < count(); ++body) {
        std::uint8_t& rest = bodies_.rest[body];
        if (rest == rest_asleep) {
            continue;
        }
        const Motion& motion = motions_[body];
        const bool slow = dot(motion.velocity, motion.velocity) < rest_speed * rest_speed &&
                          magnitude(motion.spin) < rest_spin;
        if (!slow) {
            rest = 0;
        } else if (rest < rest_ticks) {
            rest = static_cast<std::uint8_t>(rest + 1);
        }
    }
    join_islands();
    for (std::uint32_t body = 0; body < count(); ++body) {
        island_rest_[body] = rest_asleep;
    }
    for (std::uint32_t body = 0; body < count(); ++body) {
        std::uint8_t& least = island_rest_[islands_[body]];
        least = bodies_.rest[body] < least ? bodies_.rest[body] : least;
    }
    for (std::uint32_t body = 0; body < count(); ++body) {
        const std::uint8_t least = island_rest_[islands_[body]];
        if (least < rest_ticks && asleep(body)) {
            bodies_.rest[body] = 0;
        } else if (least >= rest_ticks && !asleep(body)) {
            bodies_.rest[body] = rest_asleep;
            bodies_.velocity_x[body] = 0.0F;
            bodies_.velocity_y[body] = 0.0F;
            bodies_.spin[body] = 0.0F;
        }
    }
}

/// Names every body's island by its lowest body.
void Pile::join_islands() {
    for (std::uint32_t body = 0; body < count(); ++body) {
        islands_[body] = body;
    }
    const auto root = [this](std::uint32_t body) {
        while (islands_[body] != body) {
            islands_[body] = islands_[islands_[body]];
            body = islands_[body];
        }
        return body;
    };
    for (const std::uint32_t pair : contacts_.pair) {
        const std::uint32_t b = pair & 0xFFFFU;
        if (b < count()) {
            const std::uint32_t root_a = root(pair >> 16U);
            const std::uint32_t root_b = root(b);
            islands_[root_a < root_b ? root_b : root_a] = root_a < root_b ? root_a : root_b;
        }
    }
    for (std::uint32_t body = 0; body < count(); ++body) {
        islands_[body] = root(body);
    }
}

} // namespace twinstep::games
