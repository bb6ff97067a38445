// SPDX-License-Identifier: MIT
// A game's own bot in every slot.
#pragma once

#include "twinstep/sim.hpp"

#include <cstdint>

/// Inputs that are a pure function of seed, tick and slot.
template <class Game>
class GameBots final : public twinstep::Source {
public:
    struct Options {
        std::uint64_t seed = 1;
        std::uint16_t slots = 1;
        std::uint64_t ticks = UINT64_MAX;  ///< Then the session ends.
        std::uint32_t first_stream = 1000; ///< Of random numbers, for slot 0.
    };

    explicit GameBots(const Options& options)
        : options_(options) {}

    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        if (tick.value >= options_.ticks) {
            return twinstep::Supply::end;
        }
        frame.reset(tick, options_.slots);
        for (std::uint16_t slot = 0; slot < options_.slots; ++slot) {
            twinstep::Random random(options_.seed, tick, options_.first_stream + slot);
            bytes_.clear();
            twinstep::encode_input(Game::bot(random, tick, twinstep::Slot{slot}), bytes_);
            frame.set_input(twinstep::Slot{slot}, bytes_);
        }
        return twinstep::Supply::ready;
    }

private:
    Options options_;
    twinstep::Bytes bytes_;
};
