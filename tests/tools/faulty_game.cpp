// SPDX-License-Identifier: MIT
// A command with a game that has planted faults, for bisect and rebaseline.
#include "twinstep/sim.hpp"
#include "twinstep/tools/run.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

/// Counts what players do. With TWINSTEP_TEST_FAULT=other it is another build: a jump after a duck
/// counts double. Whoever ducked is in no snapshot.
class Faulty {
public:
    struct Input {
        std::int8_t forward = 0;
        bool jump = false;
        bool duck = false;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(forward), CEREAL_NVP(jump), CEREAL_NVP(duck));
        }
    };

    static constexpr std::string_view id = "faulty";
    static constexpr twinstep::TickRate tick_rate{50};
    static constexpr std::uint16_t slots_max = 4;

    void reset(const twinstep::Setup&) {
        score_ = 0;
        ducked_ = false;
        forgotten_ = false;
    }

    void step(const twinstep::Step<Input>& step) {
        static const bool other = std::getenv("TWINSTEP_TEST_FAULT") != nullptr;
        for (const auto& player : step.players) {
            score_ += player.input.forward;
            if (player.input.jump && forgotten_) {
                score_ += 1000;
            }
            if (player.input.jump && ducked_) {
                score_ += other ? 20'000 : 10'000;
            }
            ducked_ = ducked_ || player.input.duck;
            forgotten_ = forgotten_ || player.input.forward == 100;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("game", CEREAL_NVP(score_), CEREAL_NVP(ducked_)));
    }

    static Input bot(twinstep::Random& random, twinstep::Tick, twinstep::Slot) {
        return {static_cast<std::int8_t>(random.below(5)), false, false};
    }

private:
    std::int32_t score_ = 0;
    bool ducked_ = false;
    bool forgotten_ = false; ///< The planted fault: it is missing in serialize.
};

} // namespace

int main(int argc, char** argv) {
    return twinstep::tools::run<Faulty>(argc, argv);
}
