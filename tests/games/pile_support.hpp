// SPDX-License-Identifier: MIT
// Runs of `pile` for its tests: the bot's session, single ticks, and what must hold of any state.
#pragma once

#include "pile/pile.hpp"
#include "test_random.hpp"

#include "twinstep/sim.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace pile_test {

using twinstep::Bytes;
using twinstep::games::Pile;
using Simulation = twinstep::GameSimulation<Pile>;

/// State hash after golden_ticks ticks of the bot with golden_seed and 1,000 bodies; the same on
/// every machine. It changes only together with Pile::version.
inline constexpr std::uint64_t golden_seed = 7;
inline constexpr std::uint64_t golden_ticks = 600;
inline constexpr const char* golden_hash = "d276dda3f4dfbca1b48d4e2283c79257";

inline twinstep::Setup setup(std::uint64_t seed, const std::string& bodies = "1000") {
    twinstep::Setup result;
    result.seed = seed;
    result.config["bodies"] = bodies;
    return result;
}

/// What the bot does at a tick.
inline Pile::Input bot_input(std::uint64_t seed, twinstep::Tick tick) {
    twinstep::Random random(seed, tick, 1000);
    return Pile::bot(random, tick, twinstep::Slot{0});
}

/// Takes one step with this input.
inline bool advance(Simulation& simulation, const Pile::Input& input) {
    twinstep::TickFrame frame;
    Bytes bytes;
    frame.reset(simulation.tick(), 1);
    twinstep::encode_input(input, bytes);
    frame.set_input(twinstep::Slot{0}, bytes);
    if (!simulation.prepare(frame)) {
        return false;
    }
    simulation.step();
    return true;
}

/// Takes `ticks` steps with the bot's inputs.
inline bool advance_bot(Simulation& simulation, std::uint64_t ticks) {
    for (std::uint64_t i = 0; i < ticks; ++i) {
        if (!advance(simulation, bot_input(simulation.setup().seed, simulation.tick()))) {
            return false;
        }
    }
    return true;
}

inline std::string hash_of(Simulation& simulation) {
    return to_hex(simulation.hash().state);
}

/// Neither infinite nor NaN, told by the bits so that no compiler setting can fold it away.
inline bool finite(float value) {
    return (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) != 0x7F800000U;
}

inline bool all_finite(const Pile& game) {
    const auto& bodies = game.bodies();
    for (const std::vector<float>* list : {&bodies.x,
                                           &bodies.y,
                                           &bodies.cosine,
                                           &bodies.sine,
                                           &bodies.velocity_x,
                                           &bodies.velocity_y,
                                           &bodies.spin,
                                           &game.contacts().normal,
                                           &game.contacts().tangent}) {
        for (const float value : *list) {
            if (!finite(value)) {
                return false;
            }
        }
    }
    return true;
}

inline bool all_inside(const Pile& game) {
    const auto room = static_cast<float>(game.room());
    for (std::size_t i = 0; i < game.bodies().x.size(); ++i) {
        const float x = game.bodies().x[i];
        const float y = game.bodies().y[i];
        if (!(x >= 0.0F && x <= room && y >= 0.0F && y <= room)) {
            return false;
        }
    }
    return true;
}

/// Half the sum of the squared speeds, in metres squared a second squared.
inline float liveliness(const Pile& game) {
    float sum = 0.0F;
    for (std::size_t i = 0; i < game.bodies().x.size(); ++i) {
        const float x = game.bodies().velocity_x[i];
        const float y = game.bodies().velocity_y[i];
        sum += 0.5F * (x * x + y * y);
    }
    return sum;
}

inline std::size_t sleepers(const Pile& game) {
    std::size_t count = 0;
    for (const std::uint8_t rest : game.bodies().rest) {
        count += rest == Pile::rest_asleep ? 1 : 0;
    }
    return count;
}

} // namespace pile_test
