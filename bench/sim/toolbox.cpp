// SPDX-License-Identifier: MIT
// Fixed point, draws and containers next to what they are instead of.
#include "sim/toolbox.hpp"

#include "twinstep/sim.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <string_view>
#include <vector>

namespace {

using namespace twinstep;

constexpr std::size_t rounds = 41;

/// Numbers below `bound`, the same in each run.
std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t bound) {
    Random random(1, Tick{count});
    std::vector<std::uint32_t> list(count);
    for (std::uint32_t& number : list) {
        number = random.below(bound);
    }
    return list;
}

void add(bench::Report& report, std::string_view name, const bench::Pair& time) {
    report.add({std::string(name),
                time.ours_ns,
                time.reference_ns,
                "ns",
                time.ours_ns / time.reference_ns,
                bench::Goal::none,
                0.0});
}

/// One operation on each of two lists, in our numbers and in doubles.
template <class Number, class Ours, class Doubles>
void arithmetic_row(bench::Report& report,
                    std::string_view name,
                    const Ours& ours,
                    const Doubles& doubles) {
    constexpr std::size_t count = 4096;
    std::vector<Number> a(count);
    std::vector<Number> b(count);
    std::vector<Number> results(count);
    std::vector<double> double_a(count);
    std::vector<double> double_b(count);
    std::vector<double> double_results(count);
    const std::vector<std::uint32_t> raw = numbers(2 * count, 100 << 16);
    for (std::size_t i = 0; i < count; ++i) {
        double_a[i] = (raw[i] + 1) / 65536.0;
        double_b[i] = (raw[count + i] + 65536) / 65536.0;
        a[i] = Number::nearest(double_a[i]);
        b[i] = Number::nearest(double_b[i]);
    }
    add(report,
        name,
        bench::measure(
            rounds,
            count,
            [&] {
                for (std::size_t i = 0; i < count; ++i) {
                    results[i] = ours(a[i], b[i]);
                }
                benchmark::DoNotOptimize(results.data());
                benchmark::ClobberMemory();
            },
            [&] {
                for (std::size_t i = 0; i < count; ++i) {
                    double_results[i] = doubles(double_a[i], double_b[i]);
                }
                benchmark::DoNotOptimize(double_results.data());
                benchmark::ClobberMemory();
            }));
}

template <class Number>
void arithmetic_rows(bench::Report& report, const std::string& name) {
    arithmetic_row<Number>(
        report,
        name + " *, double *",
        [](Number a, Number b) { return a * b; },
        [](double a, double b) { return a * b; });
    arithmetic_row<Number>(
        report,
        name + " /, double /",
        [](Number a, Number b) { return a / b; },
        [](double a, double b) { return a / b; });
    arithmetic_row<Number>(
        report,
        name + " sqrt, double sqrt",
        [](Number a, Number) { return sqrt(a); },
        [](double a, double) { return std::sqrt(a); });
}

void map_rows(bench::Report& report) {
    for (const std::uint32_t size : {100U, 10000U}) {
        FlatMap<std::uint32_t, std::uint32_t> flat;
        std::map<std::uint32_t, std::uint32_t> tree;
        for (std::uint32_t key = 0; key < size; ++key) {
            flat[key * 7] = key;
            tree[key * 7] = key;
        }
        const std::vector<std::uint32_t> keys = numbers(8192, size * 7);
        const auto look_up = [&keys](const auto& find) {
            std::uint32_t found = 0;
            for (const std::uint32_t key : keys) {
                found += find(key);
            }
            benchmark::DoNotOptimize(found);
        };
        add(report,
            fmt::format("FlatMap of {}: find, std::map", size),
            bench::measure(
                rounds,
                static_cast<double>(keys.size()),
                [&] { look_up([&](std::uint32_t key) { return flat.contains(key) ? 1U : 0U; }); },
                [&] { look_up([&](std::uint32_t key) { return tree.contains(key) ? 1U : 0U; }); }));
        HashSink sink;
        OutArchive archive(sink);
        StateHashes hashes;
        const auto hash = [&](auto& map) {
            sink.begin(Tick{0}, hashes);
            archive(section("map", map));
            sink.finish();
            benchmark::DoNotOptimize(hashes.state);
        };
        add(report,
            fmt::format("FlatMap of {}: hash, std::map", size),
            bench::measure(
                rounds, size, [&] { hash(flat); }, [&] { hash(tree); }));
    }
}

void order_rows(bench::Report& report) {
    for (const std::uint32_t size : {100U, 10000U}) {
        const std::vector<std::uint32_t> unsorted = numbers(size, 1U << 31);
        std::vector<std::uint32_t> list;
        add(report,
            fmt::format("total_sort of {}, std::sort", size),
            bench::measure(
                rounds,
                size,
                [&] {
                    list = unsorted;
                    total_sort(list);
                    benchmark::DoNotOptimize(list.data());
                },
                [&] {
                    list = unsorted;
                    std::sort(list.begin(), list.end());
                    benchmark::DoNotOptimize(list.data());
                }));
        const auto through = [&](auto& queue, const auto& push, const auto& pop) {
            for (std::size_t i = 0; i < unsorted.size(); ++i) {
                push(queue, unsorted[i]);
                if (i >= size / 2) {
                    pop(queue);
                }
            }
            while (!queue.empty()) {
                pop(queue);
            }
        };
        Heap<std::uint32_t> heap;
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> queue;
        const auto push = [](auto& to, std::uint32_t number) { to.push(number); };
        const auto pop = [](auto& from) { from.pop(); };
        add(report,
            fmt::format("Heap of {}: push and pop, std::priority_queue", size / 2),
            bench::measure(
                rounds,
                size,
                [&] { through(heap, push, pop); },
                [&] { through(queue, push, pop); }));
    }
}

void draw_rows(bench::Report& report) {
    constexpr std::uint32_t count = 4096;
    Random random(1, Tick{1});
    const auto from_random = [&random] {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            sum += random.below(6);
        }
        benchmark::DoNotOptimize(sum);
    };
    const DrawStream stream(1, Tick{1}, 2);
    DrawCount drawn;
    add(report,
        "Draws.below, one an entity, Random.below",
        bench::measure(
            rounds,
            count,
            [&] {
                std::uint32_t sum = 0;
                for (std::uint32_t i = 0; i < count; ++i) {
                    Draws draws(stream, i, drawn);
                    sum += draws.below(6);
                }
                benchmark::DoNotOptimize(sum);
            },
            from_random));
    add(report,
        "normal, Random.below",
        bench::measure(
            rounds,
            count,
            [&] {
                float sum = 0;
                for (std::uint32_t i = 0; i < count; ++i) {
                    sum += normal(random);
                }
                benchmark::DoNotOptimize(sum);
            },
            from_random));
}

} // namespace

void toolbox_rows(bench::Report& report) {
    arithmetic_rows<Q16x16>(report, "Q16x16");
    arithmetic_rows<Q32x32>(report, "Q32x32");
    draw_rows(report);
    map_rows(report);
    order_rows(report);
}
