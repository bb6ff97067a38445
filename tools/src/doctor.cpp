// SPDX-License-Identifier: MIT
// twinstep doctor: what will and will not be exact on this machine.
#include "command.hpp"

#include "twinstep/sim/float_environment.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/timer/counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace twinstep::tools {

namespace {

struct CounterReport {
    std::int64_t frequency_hz = 0;
    std::int64_t smallest_step = 0; ///< Counts, the smallest non-zero difference seen.
    double read_ns = 0.0;           ///< Mean cost of a read.
    double disagreement_ms = 0.0;   ///< Against steady_clock over one sleep, the best of three.
    bool forwards = true;
    bool good = false;
};

/// Compares the counter with steady_clock over one sleep; the best of three, because a loaded
/// machine may be late between the two reads.
double compare_clocks_ms(timer::CounterSource& counter, std::int64_t frequency_hz) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    double best = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
        const auto steady_start = std::chrono::steady_clock::now();
        const std::int64_t start = counter.counts();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::int64_t end = counter.counts();
        const Milliseconds steady = std::chrono::steady_clock::now() - steady_start;
        const double counted =
            static_cast<double>(end - start) * 1000.0 / static_cast<double>(frequency_hz);
        const double difference = steady.count() - counted;
        best = std::min(best, difference < 0.0 ? -difference : difference);
    }
    return best;
}

CounterReport examine_counter() {
    timer::SystemCounter counter;
    CounterReport report;
    report.frequency_hz = counter.frequency_hz();
    if (report.frequency_hz <= 0) {
        return report;
    }
    constexpr int reads = 200'000;
    std::int64_t previous = counter.counts();
    const std::int64_t first = previous;
    for (int i = 0; i < reads; ++i) {
        const std::int64_t now = counter.counts();
        report.forwards = report.forwards && now >= previous;
        if (now > previous &&
            (report.smallest_step == 0 || now - previous < report.smallest_step)) {
            report.smallest_step = now - previous;
        }
        previous = now;
    }
    report.read_ns = static_cast<double>(previous - first) * 1e9 /
                     static_cast<double>(report.frequency_hz) / reads;
    report.disagreement_ms = compare_clocks_ms(counter, report.frequency_hz);
    // A clock that moves in steps of a millisecond can mis-measure a 16 ms frame badly.
    report.good = report.forwards && report.smallest_step > 0 &&
                  report.smallest_step <= report.frequency_hz / 1000 &&
                  report.disagreement_ms <= 2.0;
    return report;
}

Json counter_json(const CounterReport& report) {
    return {{"frequency_hz", json_integer(static_cast<std::uint64_t>(report.frequency_hz))},
            {"smallest_step_counts", report.smallest_step},
            {"read_ns", report.read_ns},
            {"disagreement_ms", report.disagreement_ms},
            {"runs_forwards", report.forwards},
            {"good", report.good}};
}

Exit examine(Context& context) {
    const CounterReport counter = examine_counter();
    const Result<void> exact = check_float_environment();
    const FloatControl control = read_float_control();
    std::error_code ignored;
    const auto space = std::filesystem::space(std::filesystem::current_path(ignored), ignored);
    const Manifest build = make_manifest({}, {});
    const std::string verdict =
        exact ? counter.good ? "exact: recordings made here replay on every supported target"
                             : "exact, but the counter is poor: frames will be uneven"
              : "not exact: " + to_string(exact.error());
    const Json float_environment{{"exact", exact.has_value()},
                                 {"fingerprint", float_fingerprint()},
                                 {"control", control.known ? to_hex(control.bits) : "unknown"},
                                 {"as_the_step_wants_it", control == exact_float_control()}};
    context.print({{"counter", counter_json(counter)},
                   {"float_environment", float_environment},
                   {"cpu",
                    {{"target", build.at("build.target")},
                     {"compiler", build.at("build.compiler")},
                     {"threads", std::thread::hardware_concurrency()}}},
                   {"file_system", {{"free_bytes", json_integer(space.available)}}},
                   {"verdict", verdict}});
    context.say(fmt::format(
        "counter            {} Hz, {:.0f} ns a read, {:.3f} ms off steady_clock in 50 ms: {}",
        counter.frequency_hz,
        counter.read_ns,
        counter.disagreement_ms,
        counter.good ? "good" : "poor"));
    context.say(fmt::format("float environment  {}, fingerprint {}",
                            exact ? "exact" : "not exact",
                            float_fingerprint()));
    context.say(fmt::format(
        "cpu                {}, {}", build.at("build.target"), build.at("build.compiler")));
    context.say(fmt::format("file system        {} MiB free here", space.available >> 20));
    context.say(fmt::format("verdict            {}", verdict));
    return exact ? Exit::done : Exit::failed;
}

} // namespace

void declare_doctor(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "doctor",
                                  "Examine this machine: counter, float environment, file system",
                                  "twinstep doctor");
    verb.callback([&action] { action = examine; });
}

} // namespace twinstep::tools
