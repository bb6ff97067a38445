// SPDX-License-Identifier: MIT
// A NaN in a state is noticed by its hash and found by its name.
#include "toy_game.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/tracked.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace twinstep;

namespace {

struct Ball {
    float x = 0.0F;
    double spin = 0.0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(spin));
    }
};

/// Divides by nothing where it is told to: a `turn` of 1 to 4 spoils one field.
class BallGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "balls";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) { balls_.assign(3, {}); }

    void step(const Step<Input>& step) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        switch (step.players[0].input.turn) {
        case 1:
            balls_[2].x = nan;
            break;
        case 2:
            balls_[1].spin = nan;
            break;
        case 3:
            wind_[1] = -nan;
            break;
        case 4:
            tracked_.write(0) = nan;
            break;
        case 5:
            *this = {};
            reset({});
            break;
        default:
            break;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("head", CEREAL_NVP(weight_)),
                section("balls", CEREAL_NVP(balls_), CEREAL_NVP(wind_)),
                section("tracked", cereal::make_nvp("tracked", tracked_)));
    }

private:
    float weight_ = std::numeric_limits<float>::infinity();
    std::vector<Ball> balls_;
    std::vector<float> wind_ = std::vector<float>(2);
    TrackedVector<float> tracked_ = TrackedVector<float>(2);
};

class TurnSource final : public Source {
public:
    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, 1);
        Bytes bytes;
        encode_input(ToyInput{0, 0, turn, false}, bytes);
        frame.set_input(Slot{0}, bytes);
        return Supply::ready;
    }

    std::uint16_t turn = 0;
};

} // namespace

TEST_CASE("a NaN in a state is noticed and found", "[sim][unit]") {
    struct Row {
        std::uint16_t turn;
        bool noticed;
        const char* section;
        const char* field;
    };

    const Row row = GENERATE(Row{1, true, "balls", "balls[2].x"},
                             Row{2, true, "balls", "balls[1].spin"},
                             Row{3, true, "balls", "wind[1]"},
                             Row{4, false, "tracked", "tracked[0]"});
    CAPTURE(row.turn);
    GameSimulation<BallGame> simulation;
    REQUIRE(simulation.reset({}));
    TurnSource source;
    Driver driver(simulation, source);
    static_cast<void>(simulation.hash());
    CHECK_FALSE(simulation.has_nan()); // Infinity is a number.
    CHECK_FALSE(find_nan(simulation));
    source.turn = row.turn;
    REQUIRE(driver.advance(1));
    static_cast<void>(simulation.hash());
    CHECK(simulation.has_nan() == row.noticed);
    const auto place = find_nan(simulation);
    REQUIRE(place);
    CHECK(place->section == row.section);
    CHECK(place->field == row.field);
    // Gone again.
    source.turn = 5;
    REQUIRE(driver.advance(1));
    static_cast<void>(simulation.hash());
    CHECK_FALSE(simulation.has_nan());
    CHECK_FALSE(find_nan(simulation));
}
