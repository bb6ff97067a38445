// SPDX-License-Identifier: MIT
// The timer in front of the driver: how many ticks are due, run them, draw with alpha.
#include <twinstep/sim.hpp>
#include <twinstep/timer/count_stream.hpp>
#include <twinstep/timer/fixed_step.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <cstdint>
#include <cstdio>

namespace {

struct NoInput {
    std::uint8_t unused = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(unused));
    }
};

class Pendulum {
public:
    using Input = NoInput;
    static constexpr std::string_view id = "pendulum";
    static constexpr twinstep::TickRate tick_rate{60};

    void reset(const twinstep::Setup&) {
        previous_ = position_ = 1000;
        speed_ = 0;
    }

    void step(const twinstep::Step<Input>&) {
        // What is drawn lies between the last two states, so the step keeps both.
        previous_ = position_;
        speed_ -= position_ / 64;
        position_ += speed_;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section(
            "bob", CEREAL_NVP(previous_), CEREAL_NVP(position_), CEREAL_NVP(speed_)));
    }

    double drawn_at(double alpha) const { return previous_ + (position_ - previous_) * alpha; }

private:
    std::int32_t previous_ = 0;
    std::int32_t position_ = 0;
    std::int32_t speed_ = 0;
};

/// Nobody plays: every tick has an empty slot.
class Nobody final : public twinstep::Source {
public:
    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        frame.reset(tick, 1);
        return twinstep::Supply::ready;
    }
};

} // namespace

int main() {
    twinstep::GameSimulation<Pendulum> simulation;
    if (!simulation.reset({})) {
        return 1;
    }
    Nobody nobody;
    twinstep::Driver driver(simulation, nobody);
    // While a game is made: whatever draws is caught if it changes the state.
    twinstep::WorldGuard guard(simulation);

    // A real game uses `twinstep::timer::GameTimer timer;`. Here time is set by hand: 144 frames a
    // second.
    twinstep::timer::ManualCounter counter(1'000'000'000);
    twinstep::timer::GameTimer timer(counter);
    auto steps = twinstep::timer::FixedStep::create(
        {.frequency_hz = timer.frequency_hz(), .rate_hz = {60, 1}});
    if (!steps) {
        return 1;
    }
    for (int frame = 0; frame < 144; ++frame) {
        counter.advance(1'000'000'000 / 144);
        timer.tick();
        const auto due = steps->advance(timer.raw_delta_counts());
        if (!driver.advance(static_cast<std::uint64_t>(due.steps))) {
            return 1;
        }
        const auto drawn = guard.call("drawing", [&] {
            if (frame % 24 == 0) {
                std::printf("frame %3d, tick %2llu, alpha %.3f, bob at %8.2f\n",
                            frame,
                            static_cast<unsigned long long>(simulation.tick().value),
                            steps->alpha(),
                            simulation.game().drawn_at(steps->alpha()));
            }
        });
        if (!drawn) {
            std::printf("%s\n", to_string(drawn.error()).c_str());
            return 1;
        }
    }
    // 144 frames of 6,944,444 ns are a hair less than a second: 59 whole steps and almost another.
    return simulation.tick().value == 59 ? 0 : 1;
}
