// SPDX-License-Identifier: MIT
// Checks of a run against itself: planted faults are found at their tick, section and field.
#include "twinstep/replay/checks.hpp"
#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

enum class Plant : std::uint8_t {
    none,
    stale_cache,  ///< A static of the tick 40, which going back does not take back.
    unsaved,      ///< A member of tick 40 that serialize does not name.
    workers,      ///< The number of workers is in the state of tick 40.
    circumstance, ///< What is around the step is in the state of tick 40.
    loads,        ///< Loading makes another state than was saved.
    setup,        ///< What is around the reset is in the first state.
};

constexpr std::uint64_t planted_tick = 40;
int around = 0;      // What a circumstance changes.
int stale_reads = 0; // How often the cache below was filled.

template <Plant plant>
class PlantedGame {
public:
    struct Input {
        template <class Archive>
        void serialize(Archive&) {}
    };

    static constexpr std::string_view id = "planted";
    static constexpr TickRate tick_rate{50};

    void reset(const Setup&) { extra_ = plant == Plant::setup ? around : 0; }

    void step(const Step<Input>& step) {
        sum_ += step.random.below(1000);
        if (step.tick.value == planted_tick - 2) {
            seen_ = 5;
        }
        if (step.tick.value == planted_tick - 1) {
            fail_now(step);
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("sums", CEREAL_NVP(sum_)), section("faults", CEREAL_NVP(extra_)));
        if constexpr (plant == Plant::loads && std::is_same_v<Archive, InArchive>) {
            ++extra_;
        }
    }

private:
    void fail_now(const Step<Input>& step) {
        if constexpr (plant == Plant::stale_cache) {
            extra_ = ++stale_reads;
        } else if constexpr (plant == Plant::unsaved) {
            extra_ = seen_;
        } else if constexpr (plant == Plant::workers) {
            extra_ = static_cast<int>(step.workers.count());
        } else if constexpr (plant == Plant::circumstance) {
            extra_ = around;
        }
    }

    std::uint64_t sum_ = 0;
    std::int32_t extra_ = 0;
    std::int32_t seen_ = 0;
};

class EmptyFrames final : public Source {
public:
    explicit EmptyFrames(std::uint64_t ticks)
        : ticks_(ticks) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        if (tick.value >= ticks_) {
            return Supply::end;
        }
        frame.reset(tick, 1);
        return Supply::ready;
    }

private:
    std::uint64_t ticks_;
};

class Around final : public Circumstance {
public:
    void enter() override { around = 7; }

    void leave() override { around = 0; }
};

template <Plant plant>
std::unique_ptr<Simulation> planted() {
    auto simulation = make_simulation<PlantedGame<plant>>();
    REQUIRE(simulation->reset(Setup{3, 1, {}}));
    return simulation;
}

template <Plant plant>
std::optional<Divergence> companion_finds(const CompanionOptions& options) {
    const auto simulation = planted<plant>();
    EmptyFrames frames(100);
    Driver driver(*simulation, frames);
    Companion companion(*simulation, options);
    driver.add(companion);
    REQUIRE(driver.advance(1000));
    REQUIRE_FALSE(companion.error());
    return companion.found();
}

template <Plant plant>
std::optional<Divergence> rollback_finds(const RollbackOptions& options,
                                         std::uint64_t* again = nullptr,
                                         std::uint64_t ticks = 100) {
    const auto simulation = planted<plant>();
    EmptyFrames frames(ticks);
    Driver driver(*simulation, frames);
    RollbackCheck check(*simulation, options);
    driver.add(check);
    bool at_end = false;
    while (true) {
        auto found = check.arrive(at_end);
        REQUIRE(found);
        if (*found || at_end) {
            if (again != nullptr) {
                *again = check.ticks_again();
            }
            CHECK((*found || simulation->tick() == Tick{ticks}));
            return *found;
        }
        const auto advance = driver.advance(check.ticks_to_next());
        REQUIRE(advance);
        at_end = advance->state == DriverState::ended;
    }
}

void check_place(const std::optional<Divergence>& found,
                 std::uint64_t tick,
                 const std::string& actual) {
    REQUIRE(found);
    CHECK(found->tick == Tick{tick});
    CHECK(found->section == "faults");
    CHECK(found->field == "extra");
    CHECK(found->actual == actual);
}

} // namespace

TEST_CASE("a simulation without faults passes every check", "[replay][unit]") {
    Around around_steps;
    const auto pool = WorkerPool::start(3);
    REQUIRE(pool);
    CHECK_FALSE(companion_finds<Plant::none>({}));
    CHECK_FALSE(companion_finds<Plant::none>({.reload_every = 7}));
    CHECK_FALSE(companion_finds<Plant::none>({.workers = pool->get()}));
    CHECK_FALSE(companion_finds<Plant::none>({.circumstance = &around_steps}));
    for (const std::uint64_t every : {1U, 2U, 10U, 33U}) {
        for (const std::uint32_t depth : {1U, 5U, 50U}) {
            std::uint64_t again = 0;
            CHECK_FALSE(rollback_finds<Plant::none>({every, depth, 1}, &again));
            CHECK(again >= 100 / (every + depth));
            CHECK(again <= 100);
        }
    }
}

TEST_CASE("going back finds what load does not take back", "[replay][unit]") {
    stale_reads = 0;
    check_place(rollback_finds<Plant::stale_cache>({1, 1, 1}), planted_tick, "2");
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        stale_reads = 0;
        check_place(rollback_finds<Plant::stale_cache>({1, 9, seed}), planted_tick, "2");
    }
}

TEST_CASE("a run that ends within a window goes back from its last tick", "[replay][unit]") {
    stale_reads = 0;
    const RollbackOptions one_window{1000, 1000, 1};
    check_place(
        rollback_finds<Plant::stale_cache>(one_window, nullptr, planted_tick), planted_tick, "2");
}

TEST_CASE("a load that makes another state is found before the first step", "[replay][unit]") {
    const auto found = rollback_finds<Plant::loads>({30, 1, 1});
    REQUIRE(found);
    CHECK(found->tick == Tick{0});
}

TEST_CASE("going back and a fork find what serialize leaves out", "[replay][unit]") {
    check_place(rollback_finds<Plant::unsaved>({39, 1, 1}), planted_tick, "0");
    check_place(companion_finds<Plant::unsaved>({.reload_every = 39}), planted_tick, "0");
    // A companion that never loads remembers it as the first simulation does.
    CHECK_FALSE(companion_finds<Plant::unsaved>({}));
}

TEST_CASE("the depth of a way back depends on seed and tick alone", "[replay][unit]") {
    std::array<std::uint64_t, 3> again{};
    rollback_finds<Plant::none>({20, 15, 1}, &again[0]);
    rollback_finds<Plant::none>({20, 15, 1}, &again[1]);
    rollback_finds<Plant::none>({20, 15, 2}, &again[2]);
    CHECK(again[0] == again[1]);
    CHECK(again[0] != again[2]);
}

TEST_CASE("companions find what depends on workers and on what is around a step",
          "[replay][unit]") {
    const auto pool = WorkerPool::start(3);
    REQUIRE(pool);
    check_place(companion_finds<Plant::workers>({.workers = pool->get()}), planted_tick, "3");
    Around around_steps;
    check_place(
        companion_finds<Plant::circumstance>({.circumstance = &around_steps}), planted_tick, "7");
    check_place(companion_finds<Plant::setup>({.circumstance = &around_steps}), 0, "7");
}
