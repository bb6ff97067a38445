// SPDX-License-Identifier: MIT
// The functions of sim/math next to those of the C library: nanoseconds a call and their ratio.
#include "report.hpp"
#include "test_random.hpp"

#include "twinstep/sim/math.hpp"

#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace {

namespace math = twinstep::math;

constexpr std::size_t argument_count = 4096;
constexpr std::size_t round_count = 400;

/// Arguments evenly spread over [low, high).
std::vector<float> arguments(double low, double high) {
    TestRandom random(7);
    std::vector<float> list(argument_count);
    for (float& x : list) {
        x = static_cast<float>(low +
                               (high - low) * (static_cast<double>(random.bits() >> 11) * 0x1p-53));
    }
    return list;
}

/// Keeps results from being optimised away.
volatile float sink = 0;

struct Lists {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<float> result = std::vector<float>(argument_count);
};

template <class Function>
auto throughput(Lists& lists, Function function) {
    return [&lists, function] {
        for (std::size_t i = 0; i < argument_count; ++i) {
            lists.result[i] = function(lists.x[i], lists.y[i]);
        }
        sink = lists.result[argument_count / 2];
    };
}

/// Zero, which the compiler does not know.
volatile std::uint32_t zero = 0;

/// Each call waits for the one before it.
template <class Function>
auto latency(Lists& lists, Function function) {
    return [&lists, function] {
        const std::uint32_t mask = zero;
        float before = 0;
        for (std::size_t i = 0; i < argument_count; ++i) {
            const auto wait = std::bit_cast<std::uint32_t>(before) & mask;
            before = function(std::bit_cast<float>(std::bit_cast<std::uint32_t>(lists.x[i]) | wait),
                              lists.y[i]);
        }
        sink = before;
    };
}

struct Case {
    const char* name;
    double low;
    double high;
    double slowest; ///< Wanted: at most so many times the C library's time; 0 if nothing is.
};

template <class Ours, class Theirs>
void row(bench::Report& report, const Case& wanted, Ours ours, Theirs theirs) {
    Lists lists{arguments(wanted.low, wanted.high), arguments(-30.0, 30.0)};
    const bench::Pair many = bench::measure(
        round_count, argument_count, throughput(lists, ours), throughput(lists, theirs));
    report.add({std::string(wanted.name),
                many.ours_ns,
                many.reference_ns,
                "ns",
                many.ours_ns / many.reference_ns,
                wanted.slowest == 0 ? bench::Goal::none : bench::Goal::at_most,
                wanted.slowest});
    const bench::Pair one =
        bench::measure(round_count, argument_count, latency(lists, ours), latency(lists, theirs));
    report.add({std::string(wanted.name) + ", latency",
                one.ours_ns,
                one.reference_ns,
                "ns",
                one.ours_ns / one.reference_ns});
}

#define ROW(NAME, LOW, HIGH, SLOWEST)                                                              \
    row(                                                                                           \
        report,                                                                                    \
        {#NAME " [" #LOW ", " #HIGH "]", LOW, HIGH, SLOWEST},                                      \
        [](float x, float) { return math::NAME(x); },                                              \
        [](float x, float) { return std::NAME(x); })

void one_argument(bench::Report& report) {
    ROW(sin, -4, 4, 1.0);
    ROW(sin, -1000, 1000, 1.0);
    ROW(sin, -1e9, 1e9, 1.0);
    ROW(cos, -4, 4, 1.0);
    ROW(cos, -1000, 1000, 1.0);
    ROW(tan, -4, 4, 1.0);
    ROW(tan, -1000, 1000, 1.0);
    ROW(exp, -10, 10, 1.3);
    ROW(exp, -80, 80, 1.3);
    ROW(exp2, -10, 10, 0);
    ROW(expm1, -2, 2, 0);
    ROW(log, 0, 10, 1.3);
    ROW(log, 0, 1e9, 1.3);
    ROW(log2, 0, 10, 0);
    ROW(log10, 0, 10, 0);
    ROW(log1p, -0.9, 10, 0);
    ROW(asin, -1, 1, 0);
    ROW(acos, -1, 1, 0);
    ROW(atan, -4, 4, 0);
    ROW(sinh, -10, 10, 0);
    ROW(cosh, -10, 10, 0);
    ROW(tanh, -4, 4, 0);
    ROW(cbrt, -1000, 1000, 0);
    row(
        report,
        {"exp10 [-10, 10]", -10, 10, 0},
        [](float x, float) { return math::exp10(x); },
        [](float x, float) { return ::exp10f(x); });
    row(
        report,
        {"rsqrt [0, 1000]", 0, 1000, 0},
        [](float x, float) { return math::rsqrt(x); },
        [](float x, float) { return 1.0F / std::sqrt(x); });
}

void two_arguments(bench::Report& report) {
    row(
        report,
        {"atan2 [-100, 100]", -100, 100, 1.0},
        [](float y, float x) { return math::atan2(y, x); },
        [](float y, float x) { return std::atan2(y, x); });
    row(
        report,
        {"pow [0, 4]", 0, 4, 2.5},
        [](float x, float y) { return math::pow(x, y); },
        [](float x, float y) { return std::pow(x, y); });
    row(
        report,
        {"hypot [-100, 100]", -100, 100, 0},
        [](float x, float y) { return math::hypot(x, y); },
        [](float x, float y) { return std::hypot(x, y); });
}

void both_of_sincos(bench::Report& report, const char* name, double range) {
    Lists ours{arguments(-range, range), {}};
    Lists theirs = ours;
    std::vector<float> cosines(argument_count);
    const bench::Pair pair = bench::measure(
        round_count,
        argument_count,
        [&] {
            math::sincos(std::span<const float>(ours.x), ours.result, cosines);
            sink = cosines[argument_count / 2];
        },
        [&] {
            for (std::size_t i = 0; i < argument_count; ++i) {
                theirs.result[i] = std::sin(theirs.x[i]);
                cosines[i] = std::cos(theirs.x[i]);
            }
            sink = cosines[argument_count / 2];
        });
    report.add({name,
                pair.ours_ns,
                pair.reference_ns,
                "ns",
                pair.reference_ns / pair.ours_ns,
                bench::Goal::at_least,
                2.0});
}

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    one_argument(report);
    two_arguments(report);
    both_of_sincos(report, "sincos of lists, times faster [-4, 4]", 4);
    both_of_sincos(report, "sincos of lists, times faster [-1000, 1000]", 1000);
    return report.print();
}
