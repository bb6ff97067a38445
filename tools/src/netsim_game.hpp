// SPDX-License-Identifier: MIT
// The game that netsim plays unless told otherwise: tiny, but everything that enters it leaves a
// trace.
#pragma once

#include "parsed_number.hpp"

#include "twinstep/sim/game.hpp"
#include "twinstep/tools/run.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools::netsim {

/// Counts: each input, each missing one, each substituted one, each event and each draw changes the
/// state for good, so that a single difference is seen at every later tick.
class Tally {
public:
    struct Input {
        std::uint8_t buttons = 0;
        std::int8_t ahead = 0;
        std::int16_t turn = 0;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(buttons), CEREAL_NVP(ahead), CEREAL_NVP(turn));
        }
    };

    static constexpr std::string_view id = "tally";
    static constexpr TickRate tick_rate{60};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 64;

    /// Config `ballast_kib`, 0 to 4096: makes the state that much larger.
    static Result<void> check(const Setup& setup) {
        std::uint32_t kib = 0;
        if (!read_ballast(setup, kib)) {
            return fail(Error(SimErrc::bad_setup, "ballast_kib", "a whole number from 0 to 4096"));
        }
        return {};
    }

    void reset(const Setup& setup) {
        players_.assign(setup.slots, {});
        std::uint32_t kib = 0;
        read_ballast(setup, kib);
        ballast_.assign(std::size_t{kib} * 1024, 0);
        Random random(setup.seed, Tick{}, 7);
        for (std::uint8_t& byte : ballast_) {
            byte = static_cast<std::uint8_t>(random.bits());
        }
    }

    void step(const Step<Input>& step) {
        for (std::size_t i = 0; i < step.players.size(); ++i) {
            const PlayerInput<Input>& given = step.players[i];
            Player& player = players_[i];
            player.missed += given.present ? 0U : 1U;
            player.substituted += given.substituted ? 1U : 0U;
            player.presses += given.input.buttons != 0 ? 1U : 0U;
            player.angle = static_cast<std::uint16_t>(player.angle + given.input.turn);
            player.way += given.input.ahead;
            trace_ = mixed(trace_, static_cast<std::uint64_t>(player.way) << 16U | player.angle);
        }
        for (const StepEvent& event : step.events) {
            ++events_;
            trace_ =
                mixed(trace_, static_cast<std::uint64_t>(event.kind) << 16U | event.slot.value);
        }
        const std::uint64_t draw = step.random.bits();
        trace_ = mixed(trace_, draw);
        if (!ballast_.empty()) {
            ballast_[draw % ballast_.size()] ^= static_cast<std::uint8_t>(trace_);
        }
    }

    /// Holds what it does for some ticks, as people do.
    static Input bot(Random& random, Tick tick, Slot slot) {
        const std::uint64_t bits = random.bits();
        Random slow(slot.value, Tick{(tick.value + 5U * slot.value) / 12}, 1);
        const std::uint64_t held = slow.bits();
        Input input;
        input.ahead = static_cast<std::int8_t>((held & 3U) * 25);
        input.buttons = static_cast<std::uint8_t>((held >> 8U & 7U) == 0 ? 1 : 0);
        input.turn = static_cast<std::int16_t>(
            (held >> 16U & 1U) != 0 ? static_cast<std::int16_t>(bits & 0x3FFU) - 512 : 0);
        return input;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("players", CEREAL_NVP(players_)),
                section("world", CEREAL_NVP(trace_), CEREAL_NVP(events_), CEREAL_NVP(ballast_)));
    }

private:
    struct Player {
        std::int64_t way = 0;
        std::uint32_t presses = 0;
        std::uint32_t missed = 0;
        std::uint32_t substituted = 0;
        std::uint16_t angle = 0;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(way),
                    CEREAL_NVP(presses),
                    CEREAL_NVP(missed),
                    CEREAL_NVP(substituted),
                    CEREAL_NVP(angle));
        }
    };

    static bool read_ballast(const Setup& setup, std::uint32_t& kib) {
        const auto found = setup.config.find("ballast_kib");
        if (found == setup.config.end()) {
            return true;
        }
        const auto number = parsed_number<std::uint32_t>(found->second);
        kib = number.value_or(0);
        return number && kib <= 4096;
    }

    /// One round of SplitMix64's finaliser.
    static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
        std::uint64_t z = a + 0x9E3779B97F4A7C15 + b;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        return z ^ (z >> 27U);
    }

    std::vector<Player> players_;
    std::uint64_t trace_ = 0;
    std::uint64_t events_ = 0;
    std::vector<std::uint8_t> ballast_;
};

} // namespace twinstep::tools::netsim
