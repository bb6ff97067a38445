// SPDX-License-Identifier: MIT
// What a tick of the timer costs, next to one raw read of the same clock in the same run.
#include "report.hpp"

#include "twinstep/timer/counter.hpp"
#include "twinstep/timer/fixed_step.hpp"
#include "twinstep/timer/game_timer.hpp"

#include <benchmark/benchmark.h>

#if !defined(_WIN32)
#include <time.h>
#endif

namespace {

using namespace twinstep::timer;

constexpr std::size_t rounds = 101;
constexpr int calls = 5000;

// The floor: the call that every program for this system makes, with the count put together.
void raw_clock_reads() {
    for (int i = 0; i < calls; ++i) {
#if defined(_WIN32)
        SystemCounter counter;
        benchmark::DoNotOptimize(counter.counts());
#else
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::int64_t counts =
            static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
        benchmark::DoNotOptimize(counts);
#endif
    }
}

template <class Work>
void clock_row(bench::Report& report, std::string name, double target, Work&& work) {
    const bench::Pair time = bench::measure(
        rounds,
        calls,
        [&] {
            for (int i = 0; i < calls; ++i) {
                work();
            }
        },
        raw_clock_reads);
    report.add({std::move(name) + ", raw clock read",
                time.ours_ns,
                time.reference_ns,
                "ns",
                time.ours_ns / time.reference_ns,
                target > 0 ? bench::Goal::at_most : bench::Goal::none,
                target});
}

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    SystemCounter counter;
    GameTimer timer;
    GameTimer seam_timer(counter);
    clock_row(
        report, "SystemCounter::counts", 0, [&] { benchmark::DoNotOptimize(counter.counts()); });
    clock_row(report, "GameTimer::tick", 1.1, [&] {
        timer.tick();
        benchmark::ClobberMemory();
    });
    clock_row(report, "GameTimer::tick through the seam", 0, [&] {
        seam_timer.tick();
        benchmark::ClobberMemory();
    });
    // A frame of a 144 Hz display in front of a 60 Hz simulation.
    FixedStepConfig config;
    config.frequency_hz = 1'000'000'000;
    if (auto step = FixedStep::create(config)) {
        clock_row(report, "FixedStep::advance", 0, [&] {
            benchmark::DoNotOptimize(step->advance(6'944'444));
        });
    }
    return report.print();
}
