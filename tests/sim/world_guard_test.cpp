// SPDX-License-Identifier: MIT
// Who changes a state and is no step is named; who only looks is let be.
#include "allocation_counter.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace twinstep;

namespace {

/// What the tests of the guard change from outside: one number in each of two sections.
class OpenGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "open";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) {}

    void step(const Step<Input>& step) {
        near += step.players[0].input.dx;
        const auto wind = step.setup.config.find("wind");
        far += wind == step.setup.config.end() ? 1 : static_cast<int>(wind->second.size());
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("near", CEREAL_NVP(near)), section("far", CEREAL_NVP(far)));
    }

    std::int32_t near = 0;
    std::int32_t far = 0;
};

/// What somebody does who casts the const away.
OpenGame& opened(const GameSimulation<OpenGame>& simulation) {
    return const_cast<OpenGame&>(simulation.game());
}

class Meddler final : public Observer {
public:
    void before(const TickBegin& begin) override { on_before(begin.tick); }

    void after(const StateHashes& hashes) override { on_after(hashes.tick); }

    std::string_view name() const override { return "the meddler"; }

    std::function<void(Tick)> on_before = [](Tick) {};
    std::function<void(Tick)> on_after = [](Tick) {};
};

class MeddlingSource final : public Source {
public:
    Result<Supply> next(Tick tick, TickFrame& frame) override {
        on_next(tick);
        return inner_.next(tick, frame);
    }

    std::function<void(Tick)> on_next = [](Tick) {};

private:
    ToySource inner_{1};
};

struct Watched {
    GameSimulation<OpenGame> simulation;
    MeddlingSource source;
    Meddler meddler;
    ToySource plain{1};

    Watched() { REQUIRE(simulation.reset({1, 1, {}})); }

    std::string run(std::uint32_t every) {
        Driver driver(simulation, source);
        driver.add(meddler);
        driver.watch_every(every);
        const auto played = driver.advance(300);
        return played ? "" : to_string(played.error());
    }

    std::function<void(Tick)> change_at(std::uint64_t tick) {
        return [this, tick](Tick now) {
            if (now.value == tick) {
                ++opened(simulation).far;
            }
        };
    }
};

} // namespace

TEST_CASE("a source or observer that changes the state is named, with tick and section",
          "[sim][guard][fault]") {
    Watched watched;
    SECTION("source") {
        watched.source.on_next = watched.change_at(130);
        CHECK(watched.run(1) == "tick 130: far: changed outside of a step: by the source");
    }
    SECTION("before a step") {
        watched.meddler.on_before = watched.change_at(131);
        CHECK(watched.run(1) == "tick 131: far: changed outside of a step: by the meddler");
    }
    SECTION("after a step") {
        watched.meddler.on_after = watched.change_at(132);
        CHECK(watched.run(1) == "tick 132: far: changed outside of a step: by the meddler");
    }
    SECTION("by loading another state") {
        Bytes start;
        watched.simulation.save(start);
        watched.meddler.on_after = [&](Tick tick) {
            if (tick == Tick{7}) {
                REQUIRE(watched.simulation.load(start));
            }
        };
        CHECK(watched.run(1) ==
              "tick 7: tick: changed outside of a step: by the meddler, from 7 to 0");
    }
}

TEST_CASE("every so many ticks a driver watches, or never", "[sim][guard][unit]") {
    Watched watched;
    SECTION("a tick that is watched") {
        watched.meddler.on_before = watched.change_at(192);
        CHECK(watched.run(64) == "tick 192: far: changed outside of a step: by the meddler");
    }
    SECTION("one that is not") {
        watched.meddler.on_before = watched.change_at(191);
        CHECK(watched.run(64).empty());
    }
    SECTION("nobody watches") {
        watched.meddler.on_before = watched.change_at(192);
        CHECK(watched.run(0).empty());
    }
}

TEST_CASE("those who only look are let be", "[sim][guard][unit]") {
    Watched watched;
    Bytes snapshot;
    watched.meddler.on_after = [&](Tick) {
        watched.simulation.save(snapshot);
        static_cast<void>(watched.simulation.hash());
    };
    CHECK(watched.run(1).empty());
}

TEST_CASE("a call that draws must leave the state alone", "[sim][guard][unit]") {
    Watched watched;
    WorldGuard guard(watched.simulation, true);
    CHECK(guard.call("drawing", [] {}));
    const auto changed = guard.call("drawing", [&] { opened(watched.simulation).near = 5; });
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code == SimErrc::state_changed);
    CHECK(to_string(changed.error()) == "near: changed outside of a step: by drawing");
    // The next call begins with the state as it is now.
    CHECK(guard.call("sound", [] {}));
    WorldGuard off(watched.simulation, false);
    CHECK(off.call("drawing", [&] { opened(watched.simulation).near = 6; }));
    CHECK(watched.simulation.game().near == 6);
}

TEST_CASE("watching allocates nothing in the steady state", "[sim][guard][unit]") {
    Watched watched;
    Driver driver(watched.simulation, watched.plain);
    driver.add(watched.meddler);
    driver.watch_every(1);
    REQUIRE(driver.advance(100));
    const AllocationCounter counter;
    REQUIRE(driver.advance(100));
    CHECK(counter.count() == 0);
}

TEST_CASE("a step sees the set-up of its session", "[sim][unit]") {
    GameSimulation<OpenGame> simulation;
    REQUIRE(simulation.reset({1, 1, {{"wind", "seven.."}}}));
    ToySource source(1);
    Driver driver(simulation, source);
    REQUIRE(driver.advance(3));
    CHECK(simulation.game().far == 3 * 7);
}
