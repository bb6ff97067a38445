// SPDX-License-Identifier: MIT
// A game of somebody else's, built against the installed package and nothing besides.
#include <twinstep/sim.hpp>
#include <twinstep/timer/counter.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <cstdint>
#include <cstdio>

namespace {

struct Push {
    std::int8_t amount = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(amount));
    }
};

class Sled {
public:
    using Input = Push;
    static constexpr std::string_view id = "sled";
    static constexpr twinstep::TickRate tick_rate{60};

    void reset(const twinstep::Setup&) { *this = {}; }

    void step(const twinstep::Step<Input>& step) {
        speed_ += step.players[0].input.amount;
        distance_ += speed_;
        bumps_ += step.random.below(4);
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section(
            "sled", CEREAL_NVP(distance_), CEREAL_NVP(speed_), CEREAL_NVP(bumps_)));
    }

private:
    std::int64_t distance_ = 0;
    std::int32_t speed_ = 0;
    std::uint32_t bumps_ = 0;
};

class Pusher : public twinstep::Source {
public:
    twinstep::Result<twinstep::Supply> next(twinstep::Tick tick,
                                            twinstep::TickFrame& frame) override {
        frame.reset(tick, 1);
        bytes_.clear();
        twinstep::encode_input(Push{static_cast<std::int8_t>(tick.value % 5)}, bytes_);
        frame.set_input(twinstep::Slot{0}, bytes_);
        return twinstep::Supply::ready;
    }

private:
    twinstep::Bytes bytes_;
};

/// The state hash after a hundred ticks; nothing if a step was refused.
twinstep::Result<twinstep::Hash128> play() {
    const auto simulation = twinstep::make_simulation<Sled>();
    Pusher pusher;
    twinstep::Driver driver(*simulation, pusher);
    return simulation->reset({7, 1, {}})
        .and_then([&] { return driver.advance(100); })
        .map([&](const twinstep::Advance&) { return simulation->hash().state; });
}

} // namespace

int main() {
    const auto first = play();
    const auto second = play();
    if (!first || !second || *first != *second) {
        std::puts("outside project: two runs differ");
        return 1;
    }
    twinstep::timer::ManualCounter counter(1000);
    twinstep::timer::GameTimer timer(counter);
    counter.advance(16);
    timer.tick();
    if (timer.delta_counts() != 16) {
        std::puts("outside project: the timer lost a count");
        return 1;
    }
    std::puts("outside project: ok");
    return 0;
}
