// SPDX-License-Identifier: MIT
// Loops in parts: the same parts for any number of workers, each taken once, none forgotten.
#include "allocation_counter.hpp"
#include "test_random.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/tracked.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace twinstep;

namespace {

std::unique_ptr<WorkerPool> pool_of(std::uint32_t count) {
    auto pool = WorkerPool::start(count);
    if (!pool) {
        FAIL(to_string(pool.error()));
    }
    return std::move(*pool);
}

/// How often each item was taken, and the end of the part that begins with an item.
struct Taken {
    std::vector<std::uint32_t> times;
    std::vector<std::uint32_t> ends;

    bool operator==(const Taken&) const = default;
};

Taken taken_by(Workers& workers, std::uint32_t items, std::uint32_t part_size) {
    Taken taken{std::vector<std::uint32_t>(items), std::vector<std::uint32_t>(items)};
    workers.parallel_for(items, part_size, [&](std::uint32_t begin, std::uint32_t end) {
        taken.ends[begin] = end;
        for (std::uint32_t i = begin; i < end; ++i) {
            ++taken.times[i];
        }
    });
    return taken;
}

/// Sums in parts, and adds the parts up in their order.
class SumGame {
public:
    struct Input {
        template <class Archive>
        void serialize(Archive&) {}
    };

    static constexpr std::string_view id = "sum";
    static constexpr TickRate tick_rate{10};
    static inline std::uint64_t bad_tick = UINT64_MAX;

    void reset(const Setup& setup) {
        Random random(setup.seed, Tick{0});
        for (float& value : values_) {
            value = static_cast<float>(random.below(1'000'000)) / 7.0F;
        }
    }

    void step(const Step<Input>& step) {
        std::array<float, parts> sums{};
        const auto caller = std::this_thread::get_id();
        step.workers.parallel_for(items, part_size, [&](std::uint32_t begin, std::uint32_t end) {
            for (std::uint32_t i = begin; i < end; ++i) {
                sums[begin / part_size] += values_[i];
            }
            if (step.tick.value == bad_tick && std::this_thread::get_id() != caller) {
                std::fesetround(FE_UPWARD);
            }
            if (step.tick.value == bad_tick) {
                // Long enough for every worker to get a part.
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
        for (const float sum : sums) {
            total_ = total_ * 0.5F + sum;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("sums", cereal::make_nvp("total", total_)));
    }

private:
    static constexpr std::uint32_t items = 1000;
    static constexpr std::uint32_t part_size = 64;
    static constexpr std::uint32_t parts = 16;

    std::array<float, items> values_{};
    float total_ = 0.0F;
};

Result<Advance> play(Simulation& simulation, std::uint64_t ticks) {
    class Nobody final : public Source {
        Result<Supply> next(Tick tick, TickFrame& frame) override {
            frame.reset(tick, 1);
            return Supply::ready;
        }
    } nobody;

    Driver driver(simulation, nobody);
    return driver.advance(ticks);
}

} // namespace

TEST_CASE("a loop has the same parts for any number of workers", "[sim][workers][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    SerialWorkers serial;
    const auto two = pool_of(2);
    const auto five = pool_of(5);
    REQUIRE(serial.count() == 1);
    REQUIRE(five->count() == 5);
    for (int round = 0; round < 300; ++round) {
        const auto items = static_cast<std::uint32_t>(random.below(round % 10 == 0 ? 3 : 3000));
        const auto part_size = static_cast<std::uint32_t>(1 + random.below(200));
        CAPTURE(items, part_size);
        const Taken expected = taken_by(serial, items, part_size);
        REQUIRE(expected.times == std::vector<std::uint32_t>(items, 1));
        for (std::uint32_t i = 0; i < items; i += part_size) {
            REQUIRE(expected.ends[i] == std::min(items, i + part_size));
        }
        REQUIRE(taken_by(*two, items, part_size) == expected);
        REQUIRE(taken_by(*five, items, part_size) == expected);
    }
}

TEST_CASE("items up to the largest number are in one part", "[sim][workers][unit]") {
    const auto two = pool_of(2);
    for (const std::uint32_t part_size : {UINT32_MAX, UINT32_MAX - 1}) {
        std::atomic<std::uint64_t> sum = 0;
        two->parallel_for(UINT32_MAX, part_size, [&](std::uint32_t begin, std::uint32_t end) {
            sum += end - begin;
        });
        REQUIRE(sum == UINT32_MAX);
    }
}

TEST_CASE("loops in a row, each with another number of parts, lose and repeat none",
          "[sim][workers][fault][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const auto pool = pool_of(3);
    std::array<std::uint32_t, 40> counts{};
    std::array<std::uint32_t, 40> expected{};
    for (int loop = 0; loop < 100'000; ++loop) {
        const auto parts = static_cast<std::uint32_t>(loop % 2 == 0 ? 2 : random.below(41));
        pool->parallel_for(parts, 1, [&](std::uint32_t part, std::uint32_t) { ++counts[part]; });
        for (std::uint32_t part = 0; part < parts; ++part) {
            ++expected[part];
        }
        REQUIRE(counts == expected);
    }
}

TEST_CASE("loops of more parts than are counted at once lose and repeat none",
          "[sim][workers][unit]") {
    const auto pool = pool_of(3);
    for (const std::uint32_t parts : {65'534U, 65'535U, 65'536U, 65'537U, 131'070U, 131'071U}) {
        CAPTURE(parts);
        std::vector<std::uint32_t> counts(parts);
        pool->parallel_for(parts, 1, [&](std::uint32_t part, std::uint32_t) { ++counts[part]; });
        REQUIRE(counts == std::vector<std::uint32_t>(parts, 1));
    }
}

TEST_CASE("the caller begins with the first part, the others with the last",
          "[sim][workers][unit]") {
    const auto pool = pool_of(2);
    for (int round = 0; round < 50; ++round) {
        std::array<std::thread::id, 2> who;
        std::atomic<int> here = 0;
        pool->parallel_for(2, 1, [&](std::uint32_t part, std::uint32_t) {
            who[part] = std::this_thread::get_id();
            ++here;
            while (here < 2) {
                std::this_thread::yield();
            }
        });
        REQUIRE(who[0] == std::this_thread::get_id());
        REQUIRE(who[1] != who[0]);
    }
}

TEST_CASE("workers that sleep are woken", "[sim][workers][fault]") {
    const auto pool = pool_of(3);
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        // Three parts that wait for each other need three awake workers.
        std::atomic<int> here = 0;
        pool->parallel_for(3, 1, [&](std::uint32_t, std::uint32_t) {
            ++here;
            while (here < 3) {
                std::this_thread::yield();
            }
        });
        REQUIRE(here == 3);
    }
}

TEST_CASE("a pool can be put down at any time", "[sim][workers][fault]") {
    for (int round = 0; round < 50; ++round) {
        auto pool = pool_of(4);
        for (int loop = 0; loop < round % 5; ++loop) {
            REQUIRE(taken_by(*pool, 10, 3).times == std::vector<std::uint32_t>(10, 1));
        }
        if (round % 7 == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }
}

TEST_CASE("a loop allocates nothing", "[sim][workers][unit]") {
    const auto pool = pool_of(2);
    std::array<std::uint32_t, 8> counts{};
    const AllocationCounter allocations;
    for (int loop = 0; loop < 100; ++loop) {
        pool->parallel_for(8, 1, [&](std::uint32_t part, std::uint32_t) { ++counts[part]; });
    }
    REQUIRE(allocations.count() == 0);
    REQUIRE(counts[7] == 100);
}

TEST_CASE("a pool has 1 to 64 workers", "[sim][workers][unit]") {
    for (const std::uint32_t count : {0U, 65U, UINT32_MAX}) {
        const auto refused = WorkerPool::start(count);
        REQUIRE_FALSE(refused);
        REQUIRE(refused.error().code == SimErrc::limit_exceeded);
        REQUIRE(to_string(refused.error()) ==
                "workers: a limit is exceeded: expected 1 to 64, found " + std::to_string(count));
    }
    REQUIRE(pool_of(1)->count() == 1);
    REQUIRE(pool_of(64)->count() == 64);
}

TEST_CASE("a simulation gives the same states with any number of workers", "[sim][workers][unit]") {
    GameSimulation<SumGame> alone;
    REQUIRE(alone.reset({5, 1, {}}));
    REQUIRE(play(alone, 50));
    for (const std::uint32_t count : {1U, 2U, 3U, 8U}) {
        CAPTURE(count);
        const auto pool = pool_of(count);
        GameSimulation<SumGame> together;
        REQUIRE(together.workers().count() == 1);
        together.set_workers(pool.get());
        REQUIRE(together.workers().count() == count);
        REQUIRE(together.make_another()->workers().count() == 1);
        REQUIRE(together.reset({5, 1, {}}));
        REQUIRE(play(together, 50));
        REQUIRE(together.hash().state == alone.hash().state);
        together.set_workers(nullptr);
        REQUIRE(together.workers().count() == 1);
    }
}

TEST_CASE("a part that changes another thread's floating-point mode is reported",
          "[sim][workers][fault]") {
    const auto pool = pool_of(2);
    GameSimulation<SumGame> simulation;
    simulation.set_workers(pool.get());
    REQUIRE(simulation.reset({5, 1, {}}));
    SumGame::bad_tick = 7;
    const auto result = play(simulation, 20);
    SumGame::bad_tick = UINT64_MAX;
    REQUIRE_FALSE(result);
    REQUIRE(to_string(result.error()) == "tick 7: control register: floating point is not exact "
                                         "here: changed inside the step");
    REQUIRE_FALSE(pool->intact());
}

TEST_CASE("parts of a loop write a tracked vector of which several share each chunk",
          "[sim][unit]") {
    // 24 elements a part: of those beside each other, one ends in the chunk where the next begins.
    auto pool = pool_of(4);
    TrackedVector<std::uint32_t> values(20000);
    std::vector<std::uint32_t> model(20000);
    StateHashes hashes;
    HashSink sink;
    OutArchive archive(sink);
    for (std::uint32_t round = 0; round < 200; ++round) {
        pool->parallel_for(20000, 24, [&](std::uint32_t begin, std::uint32_t end) {
            if (begin / 24 % 7 != round % 7) {
                return;
            }
            values.set(begin, round);
            for (std::uint32_t& value : values.write_range(begin + 1, end)) {
                ++value;
            }
        });
        for (std::uint32_t i = 0; i < 20000; ++i) {
            if (i / 24 % 7 == round % 7) {
                model[i] = i % 24 == 0 ? round : model[i] + 1;
            }
        }
        sink.begin(Tick{round}, hashes);
        archive(section("values", values));
        sink.finish();
        REQUIRE(values.values() == model);
        TrackedVector<std::uint32_t> fresh;
        fresh.assign(std::span<const std::uint32_t>(model));
        const Hash128 hash = hashes.state;
        sink.begin(Tick{round}, hashes);
        archive(section("values", fresh));
        sink.finish();
        REQUIRE(hash == hashes.state);
    }
}
