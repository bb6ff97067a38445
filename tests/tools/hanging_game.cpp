// SPDX-License-Identifier: MIT
// The command with a game whose step never returns from tick 20 on, where the environment says so:
// what watchdogs are for.
#include "twinstep/sim.hpp"
#include "twinstep/tools/run.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

struct HangingInput {
    std::uint8_t step = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(step));
    }
};

class HangingGame {
public:
    using Input = HangingInput;
    static constexpr std::string_view id = "hanging";
    static constexpr twinstep::TickRate tick_rate{20};
    static constexpr std::uint16_t slots_min = 2;
    static constexpr std::uint16_t slots_max = 2;

    void reset(const twinstep::Setup&) { sum_ = 0; }

    void step(const twinstep::Step<Input>& step) {
        for (const auto& player : step.players) {
            sum_ += player.input.step;
        }
        // Only the server's process gets the variable; its players go on.
        while (step.tick.value >= 20 && std::getenv("TWINSTEP_TEST_HANG") != nullptr) { // NOLINT
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("world", CEREAL_NVP(sum_)));
    }

private:
    std::uint32_t sum_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    return twinstep::tools::run<HangingGame>(argc, argv);
}
