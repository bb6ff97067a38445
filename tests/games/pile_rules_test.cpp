// SPDX-License-Identifier: MIT
// The rules of `pile`: set-up, settling, walls, sleep, throwing, pulling, and extreme inputs.
#include "pile_support.hpp"
#include "state_forms.hpp"

#include <catch2/catch.hpp>

using namespace pile_test;
using twinstep::Random;
using twinstep::SimErrc;
using twinstep::Tick;

namespace {

float highest(const Pile& game) {
    float top = 0.0F;
    for (const float y : game.bodies().y) {
        top = y > top ? y : top;
    }
    return top;
}

bool advance_idle(Simulation& simulation, int ticks) {
    for (int i = 0; i < ticks; ++i) {
        if (!advance(simulation, {})) {
            return false;
        }
    }
    return true;
}

/// The bodies and contacts alone; a state's hash also depends on its tick.
Bytes encoded(const Pile& game) {
    return bytes_of(game.bodies(), game.contacts());
}

/// Deepest overlap of two circles, in metres; boxes are left out.
float deepest_circle_overlap(const Pile& game) {
    const auto& bodies = game.bodies();
    float deepest = 0.0F;
    for (std::size_t a = 0; a < bodies.x.size(); ++a) {
        for (std::size_t b = a + 1; b < bodies.x.size() && bodies.box[a] == 0; ++b) {
            const float x = bodies.x[b] - bodies.x[a];
            const float y = bodies.y[b] - bodies.y[a];
            const float reach = bodies.half_x[a] + bodies.half_x[b];
            if (bodies.box[b] == 0 && x * x + y * y < reach * reach) {
                const float overlap =
                    reach - twinstep::games::pile_detail::square_root(x * x + y * y);
                deepest = overlap > deepest ? overlap : deepest;
            }
        }
    }
    return deepest;
}

} // namespace

TEST_CASE("pile takes 10 to 5000 bodies and refuses other settings by name", "[pile][unit]") {
    for (const char* good : {"10", "999", "5000"}) {
        Simulation simulation;
        CHECK(simulation.reset(setup(1, good)).has_value());
        CHECK(std::to_string(simulation.game().bodies().x.size()) == good);
    }
    for (const char* bad :
         {"", "9", "5001", "010", "+10", "-10", " 10", "10 ", "1e3", "4294967306"}) {
        CAPTURE(bad);
        Simulation simulation;
        const auto result = simulation.reset(setup(1, bad));
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().code == SimErrc::bad_setup);
        CHECK(result.error().field == "bodies");
    }
    Simulation simulation;
    twinstep::Setup unknown = setup(1);
    unknown.config["gravity"] = "3";
    const auto result = simulation.reset(unknown);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().field == "gravity");
    twinstep::Setup two = setup(1);
    two.slots = 2;
    CHECK_FALSE(simulation.reset(two).has_value());
}

TEST_CASE("pile settles without exploding and falls asleep", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(3, "300")).has_value());
    const float start = highest(simulation.game());
    int ticks = 0;
    for (; ticks < 1200 && sleepers(simulation.game()) < 300; ++ticks) {
        REQUIRE(advance(simulation, {}));
        REQUIRE(highest(simulation.game()) < start + 0.5F);
        REQUIRE(all_inside(simulation.game()));
    }
    CAPTURE(ticks);
    CHECK(sleepers(simulation.game()) == 300);
    CHECK(liveliness(simulation.game()) == 0.0F);
    CHECK(highest(simulation.game()) > 1.5F);
    CHECK(deepest_circle_overlap(simulation.game()) < 0.03F);
}

TEST_CASE("a sleeping pile does not change, and a throw wakes what it hits", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(4, "200")).has_value());
    REQUIRE(advance_idle(simulation, 900));
    REQUIRE(sleepers(simulation.game()) == 200);
    const Bytes asleep = encoded(simulation.game());
    REQUIRE(advance_idle(simulation, 60));
    CHECK((encoded(simulation.game()) == asleep));

    Pile::Input input;
    input.aim_y = -30000;
    input.buttons = Pile::Input::button_throw;
    REQUIRE(advance(simulation, input));
    CHECK(simulation.game().player().thrown == 1);
    CHECK(sleepers(simulation.game()) < 200);
    REQUIRE(advance_idle(simulation, 90));
    CHECK(sleepers(simulation.game()) < 150);
    REQUIRE(advance_idle(simulation, 900));
    CHECK(sleepers(simulation.game()) == 200);
}

TEST_CASE("holding throw throws bodies in turn with a pause", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(5, "10")).has_value());
    Pile::Input input;
    input.buttons = Pile::Input::button_throw;
    for (int i = 0; i < 67; ++i) {
        REQUIRE(advance(simulation, input));
    }
    CHECK(simulation.game().player().thrown == 12);
    CHECK(simulation.game().player().next == 2);
}

TEST_CASE("pulling lifts bodies to the cursor", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(6, "100")).has_value());
    REQUIRE(advance_idle(simulation, 600));
    const float before = highest(simulation.game());
    Pile::Input input;
    input.aim_y = -16384;
    input.buttons = Pile::Input::button_pull;
    for (int i = 0; i < 60; ++i) {
        REQUIRE(advance(simulation, input));
    }
    CHECK(highest(simulation.game()) > before + 0.5F);
}

TEST_CASE("no input makes a number that is not finite or a body leave the room", "[pile][fuzz]") {
    const std::uint64_t seed = test_seed();
    CAPTURE(seed);
    Simulation simulation;
    REQUIRE(simulation.reset(setup(seed, "150")).has_value());
    constexpr std::int16_t low = INT16_MIN;
    constexpr std::int16_t high = INT16_MAX;
    for (int i = 0; i < 2000; ++i) {
        Random random(seed, Tick{static_cast<std::uint64_t>(i)}, 77);
        const std::uint32_t corner = random.below(8);
        const std::int32_t x = random.between(low, high);
        const std::int32_t y = random.between(low, high);
        const std::uint32_t buttons = random.below(256);
        Pile::Input input;
        input.aim_x = corner < 6 ? ((corner & 1) != 0 ? low : high) : static_cast<std::int16_t>(x);
        input.aim_y = corner < 6 ? ((corner & 2) != 0 ? low : high) : static_cast<std::int16_t>(y);
        input.buttons = static_cast<std::uint8_t>(buttons);
        REQUIRE(advance(simulation, input));
        CAPTURE(i);
        REQUIRE(all_finite(simulation.game()));
        REQUIRE(all_inside(simulation.game()));
    }
    CHECK(simulation.game().player().thrown > 100);
}

TEST_CASE("an absent player neither throws nor pulls", "[pile][unit]") {
    Simulation simulation;
    REQUIRE(simulation.reset(setup(8, "20")).has_value());
    twinstep::TickFrame frame;
    frame.reset(Tick{0}, 1);
    REQUIRE(simulation.prepare(frame).has_value());
    simulation.step();
    CHECK(simulation.game().player().thrown == 0);
    CHECK(simulation.game().player().aim_x == 0.0F);
}
