// SPDX-License-Identifier: MIT
// A game of somebody else's, built against the installed package and nothing besides.
#include <twinstep/sim.hpp>
#include <twinstep/sim/math.hpp>
#include <twinstep/timer/counter.hpp>
#include <twinstep/timer/game_timer.hpp>
#include <twinstep/tools/run.hpp>

#include <cstdint>

// Mathematics is headers alone: the compiler gives the result here.
static_assert(twinstep::math::atan2(1.0F, -1.0F) == 0x1.2d97c8p+1F);

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
    static constexpr std::string_view source_digest = TWINSTEP_GAME_SOURCE_DIGEST;

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

} // namespace

int main(int argc, char** argv) {
    // The timer is asked once, so that its header and its library are part of the proof.
    twinstep::timer::ManualCounter counter(1000);
    twinstep::timer::GameTimer timer(counter);
    counter.advance(16);
    timer.tick();
    if (timer.delta_counts() != 16) {
        return 1;
    }
    return twinstep::tools::run<Sled>(argc, argv);
}
