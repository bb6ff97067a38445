// SPDX-License-Identifier: MIT
// A whole game with the whole command line: record, replay, verify, diff.
#include <twinstep/tools/run.hpp>

struct Input {
    std::int8_t dx = 0;
    std::int8_t dy = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(dx), CEREAL_NVP(dy));
    }
};

class Walker {
public:
    using Input = ::Input;
    static constexpr std::string_view id = "walker";
    static constexpr twinstep::TickRate tick_rate{60};

    void reset(const twinstep::Setup&) { x_ = y_ = 0; }

    void step(const twinstep::Step<Input>& step) {
        x_ += step.players[0].input.dx;
        y_ += step.players[0].input.dy;
        wind_ = step.random.between(-3, 3);
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(twinstep::section("walker", CEREAL_NVP(x_), CEREAL_NVP(y_), CEREAL_NVP(wind_)));
    }

private:
    std::int32_t x_ = 0;
    std::int32_t y_ = 0;
    std::int32_t wind_ = 0;
};

int main(int argc, char** argv) {
    return twinstep::tools::run<Walker>(argc, argv);
}
