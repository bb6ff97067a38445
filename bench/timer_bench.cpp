// SPDX-License-Identifier: MIT
// What a tick of the timer costs, next to one raw read of the same clock in the same run.
#include <cstdint>

#if !defined(_WIN32)
#include <time.h>
#endif

#include <twinstep/timer/counter.hpp>
#include <twinstep/timer/fixed_step.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <benchmark/benchmark.h>

namespace {

using namespace twinstep::timer;

#if !defined(_WIN32)
// The floor: the call that every POSIX program makes, with the count put together.
void raw_clock_read(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        std::int64_t counts = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
        benchmark::DoNotOptimize(counts);
    }
}

BENCHMARK(raw_clock_read);
#endif

void system_counter_read(benchmark::State& state) {
    SystemCounter counter;
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(counter.counts());
    }
}

BENCHMARK(system_counter_read);

void game_timer_tick(benchmark::State& state) {
    GameTimer timer;
    for ([[maybe_unused]] auto _ : state) {
        timer.tick();
        benchmark::ClobberMemory();
    }
}

BENCHMARK(game_timer_tick);

void game_timer_tick_through_the_seam(benchmark::State& state) {
    SystemCounter counter;
    GameTimer timer(counter);
    for ([[maybe_unused]] auto _ : state) {
        timer.tick();
        benchmark::ClobberMemory();
    }
}

BENCHMARK(game_timer_tick_through_the_seam);

// A frame of a 144 Hz display in front of a 60 Hz simulation.
void fixed_step_advance(benchmark::State& state) {
    FixedStepConfig config;
    config.frequency_hz = 1'000'000'000;
    auto step = FixedStep::create(config);
    if (!step) {
        state.SkipWithError("the configuration was refused");
        return;
    }
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(step->advance(6'944'444));
    }
}

BENCHMARK(fixed_step_advance);

} // namespace

BENCHMARK_MAIN();
