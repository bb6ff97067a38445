// SPDX-License-Identifier: MIT
// A small game with one of each kind of field, for tests of everything that needs a simulation.
#pragma once

#include "twinstep/sim.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

enum class ToyMode : std::uint8_t { calm, angry };

struct ToyInput {
    std::int8_t dx = 0;
    std::int8_t dy = 0;
    std::uint16_t turn = 0;
    bool fire = false;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(dx), CEREAL_NVP(dy), CEREAL_NVP(turn), CEREAL_NVP(fire));
    }
};

struct ToyBody {
    std::int32_t x = 0;
    std::int32_t y = 0;
    std::uint16_t angle = 0;
    std::uint16_t shots = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(angle), CEREAL_NVP(shots));
    }
};

template <>
inline constexpr bool twinstep::contiguous<ToyBody> = true;

class ToyGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "toy";
    static constexpr twinstep::TickRate tick_rate{50};
    static constexpr std::uint16_t slots_min = 1;
    static constexpr std::uint16_t slots_max = 4;

    void reset(const twinstep::Setup& setup) {
        bodies_.assign(setup.slots, {});
        cells_.assign(64, 0);
    }

    void step(const twinstep::Step<Input>& step) {
        for (std::size_t i = 0; i < step.players.size(); ++i) {
            const Input& input = step.players[i].input;
            bodies_[i].x += input.dx;
            bodies_[i].y += input.dy;
            bodies_[i].angle = static_cast<std::uint16_t>(bodies_[i].angle + input.turn);
            bodies_[i].shots = static_cast<std::uint16_t>(bodies_[i].shots + (input.fire ? 1 : 0));
        }
        const std::uint32_t cell = step.random.below(64);
        cells_[cell] += 1;
        heat_ = heat_ * 0.5F + static_cast<float>(cell);
        mode_ = heat_ > 60.0F ? ToyMode::angry : ToyMode::calm;
        for (const twinstep::StepEvent& event : step.events) {
            log_[static_cast<std::int32_t>(step.tick.value)] = std::string(
                reinterpret_cast<const char*>(event.payload.data()), event.payload.size());
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("bodies", CEREAL_NVP(bodies_)),
                twinstep::section("world",
                                  CEREAL_NVP(cells_),
                                  CEREAL_NVP(heat_),
                                  CEREAL_NVP(mode_),
                                  CEREAL_NVP(last_),
                                  CEREAL_NVP(log_)));
    }

private:
    std::vector<ToyBody> bodies_;
    std::vector<std::uint32_t> cells_;
    float heat_ = 0.0F;
    ToyMode mode_ = ToyMode::calm;
    std::optional<std::int16_t> last_;
    std::map<std::int32_t, std::string> log_;
};

/// Inputs that are a pure function of tick and slot.
class ToySource : public twinstep::Source {
public:
    explicit ToySource(std::size_t slots, std::uint64_t ticks = UINT64_MAX)
        : slots_(slots)
        , ticks_(ticks) {}

    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        if (tick.value >= ticks_) {
            return twinstep::Supply::end;
        }
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < slots_; ++slot) {
            const ToyInput input{static_cast<std::int8_t>(tick.value % 7 - 3),
                                 static_cast<std::int8_t>(slot),
                                 static_cast<std::uint16_t>(tick.value * 11),
                                 tick.value % 5 == slot};
            bytes_.clear();
            twinstep::encode_input(input, bytes_);
            frame.set_input(twinstep::Slot{slot}, bytes_);
        }
        if (tick.value % 40 == 13) {
            frame.add_event(twinstep::EventKind::marker, std::as_bytes(std::span("note", 4)));
        }
        return twinstep::Supply::ready;
    }

private:
    std::size_t slots_;
    std::uint64_t ticks_;
    twinstep::Bytes bytes_;
};
