// SPDX-License-Identifier: MIT
// How every benchmark here measures and reports: two sides in one run, and their ratio.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// Nanoseconds one call of `work` takes.
template <class Work>
double time_ns(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - start).count();
}

/// What two pieces of work took, in nanoseconds a unit.
struct Pair {
    double ours_ns = 0;
    double reference_ns = 0;
};

/// Times two pieces of work in turn and keeps the best of each: on a shared machine noise only
/// adds, and it meets both sides alike. `units` is how many units of work one call does.
template <class Ours, class Reference>
Pair measure(std::size_t rounds, double units, Ours&& ours, Reference&& reference) {
    Pair best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    for (std::size_t round = 0; round < rounds; ++round) {
        // The order alternates, so that neither side always finds the caches of the other.
        const bool swapped = round % 2 != 0;
        double first = 0;
        double second = 0;
        if (swapped) {
            second = time_ns(reference);
            first = time_ns(ours);
        } else {
            first = time_ns(ours);
            second = time_ns(reference);
        }
        best.ours_ns = std::min(best.ours_ns, first);
        best.reference_ns = std::min(best.reference_ns, second);
    }
    return {best.ours_ns / units, best.reference_ns / units};
}

/// What a row's number has to be.
enum class Goal : std::uint8_t { at_least, at_most, none };

/// One line of the report. `number` is what the target is about: a ratio or nanoseconds. A
/// reference that is no number was not measured here.
struct Row {
    std::string name;
    double ours = 0;
    double reference = 0;
    std::string unit;
    double number = 0;
    Goal goal = Goal::none;
    double target = 0;

    bool met() const {
        return goal == Goal::none || (goal == Goal::at_least ? number >= target : number <= target);
    }
};

/// Collects rows and prints them: a small table, or with --json one object a row.
class Report {
public:
    Report(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            json_ = json_ || std::string_view(argv[i]) == "--json";
        }
    }

    void add(Row row) { rows_.push_back(std::move(row)); }

    /// The exit code of the program: 0 whether or not the targets are met, as one run on a shared
    /// machine proves no failure.
    int print() const {
        if (!json_) {
            fmt::print("{:<50} {:>12} {:>12} {:<6} {:>8}  {:<10} {}\n",
                       "what",
                       "ours",
                       "reference",
                       "unit",
                       "number",
                       "target",
                       "met");
        }
        for (const Row& row : rows_) {
            json_ ? print_json(row) : print_text(row);
        }
        return 0;
    }

private:
    static std::string_view sign(Goal goal) {
        return goal == Goal::at_least ? ">=" : goal == Goal::at_most ? "<=" : "";
    }

    static void print_text(const Row& row) {
        const std::string target =
            row.goal == Goal::none ? "-" : fmt::format("{} {:.4g}", sign(row.goal), row.target);
        fmt::print("{:<50} {:>12.2f} {:>12} {:<6} {:>8.3f}  {:<10} {}\n",
                   row.name,
                   row.ours,
                   std::isnan(row.reference) ? "not measured"
                                             : fmt::format("{:.2f}", row.reference),
                   row.unit,
                   row.number,
                   target,
                   row.goal == Goal::none ? "-"
                   : row.met()            ? "yes"
                                          : "no");
    }

    static void print_json(const Row& row) {
        fmt::print("{{\"name\":\"{}\",\"ours\":{},\"reference\":{},\"unit\":\"{}\",\"number\":{},"
                   "\"goal\":\"{}\",\"target\":{},\"met\":{}}}\n",
                   row.name,
                   row.ours,
                   std::isnan(row.reference) ? "null" : fmt::format("{}", row.reference),
                   row.unit,
                   row.number,
                   sign(row.goal),
                   row.target,
                   row.met());
    }

    bool json_ = false;
    std::vector<Row> rows_;
};

} // namespace bench
