// SPDX-License-Identifier: MIT
// verify --segments on two threads next to one, and the memory it takes.
#include "game_bots.hpp"
#include "marine/marine.hpp"
#include "pile/pile.hpp"
#include "report.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/replay.hpp"
#include "twinstep/sim.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

namespace {

using namespace twinstep;

constexpr unsigned jobs = 2;
constexpr double mebibyte = 1024.0 * 1024.0;

/// A folder of this program, removed at the end.
class ScratchFolder {
public:
    ScratchFolder()
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("twinstep-segments-{}",
                            std::chrono::steady_clock::now().time_since_epoch().count())) {
        std::filesystem::create_directory(path_);
    }

    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// Records a session of bots, and its keyframes beside it.
template <class Game>
bool make_recording(const std::string& path, std::uint16_t slots, std::uint64_t ticks) {
    GameSimulation<Game> simulation;
    if (!simulation.reset({1, slots, {}})) {
        return false;
    }
    GameBots<Game> source({.slots = slots, .ticks = ticks, .first_stream = 0});
    auto recorder = replay::Recorder::create(path, simulation);
    if (!recorder) {
        return false;
    }
    Driver driver(simulation, source);
    driver.add(*recorder);
    if (!driver.advance(UINT64_MAX) || !recorder->close()) {
        return false;
    }
    auto reader = replay::Reader::open(path);
    auto sink = replay::create_file(path + ".kf");
    if (!reader || !sink) {
        return false;
    }
    // About a hundred keyframes, whatever the length.
    const auto written = replay::write_side_file(
        simulation, std::move(*reader), std::move(*sink), {.every_ticks = ticks / 100});
    return written && !written->divergence && written->keyframes > 0;
}

template <class Game>
std::optional<replay::SegmentedReport> verify_parts(const std::string& path, unsigned threads) {
    replay::VerifySegmentsOptions options;
    options.jobs = threads;
    options.keyframes.side_file = path + ".kf";
    const auto report = replay::verify_segments(
        {[] { return make_simulation<Game>(); }, [&path] { return replay::Reader::open(path); }},
        options);
    const bool good = report && !report->divergence && report->problems.empty() &&
                      report->hashes_checked > 0 && report->segments > 1;
    return good ? std::optional(*report) : std::nullopt;
}

/// A number of the system's, from a file of words: load average, VmHWM. Not a number if there is
/// no such file here.
double system_number(const char* file, std::string_view word) {
    std::ifstream stream(file);
    std::string text;
    while (!word.empty() && stream >> text && text != word) {
    }
    double number = std::numeric_limits<double>::quiet_NaN();
    stream >> number;
    return stream ? number : std::numeric_limits<double>::quiet_NaN();
}

double load_average() {
    return system_number("/proc/loadavg", {});
}

/// Nanoseconds of processor time that this process has used; not a number where nobody counts.
double processor_ns() {
#if defined(_WIN32)
    return std::numeric_limits<double>::quiet_NaN();
#else
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
#endif
}

/// Two threads against one. Somebody else's load takes from both, and more from two: the row says
/// what it was.
template <class Game>
bool speed_row(bench::Report& report, const std::string& path, std::uint64_t ticks) {
    bool good = true;
    const double load = load_average();
    double cpu[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    const auto verify_with = [&](unsigned threads) {
        const double begun = processor_ns();
        good = good && verify_parts<Game>(path, threads);
        cpu[threads - 1] = std::min(cpu[threads - 1], processor_ns() - begun);
    };
    const bench::Pair time = bench::measure(
        5, static_cast<double>(ticks), [&] { verify_with(jobs); }, [&] { verify_with(1); });
    if (!good) {
        fmt::print(stderr, "{}: its segments do not verify\n", Game::id);
        return false;
    }
    report.add({fmt::format("segments of {}, 2 jobs, 1 job (load {:.1f})", Game::id, load),
                time.ours_ns / 1000.0,
                time.reference_ns / 1000.0,
                "us",
                time.reference_ns / time.ours_ns,
                bench::Goal::at_least,
                1.85});
    // What others take from the wall clock they do not take from this: two idle cores are at most
    // twice this ratio faster than one.
    report.add({fmt::format("processor time of {}'s segments, 2 jobs, 1 job", Game::id),
                cpu[1] / static_cast<double>(ticks) / 1000.0,
                cpu[0] / static_cast<double>(ticks) / 1000.0,
                "us",
                cpu[0] / cpu[1],
                bench::Goal::at_least,
                0.95});
    return true;
}

/// What a process needs that does nothing but verify. Its high-water mark is its own, so it is
/// this program again.
template <class Game>
bool memory_row(bench::Report& report,
                const std::string& path,
                const char* program,
                std::uint16_t slots) {
    const std::string answer = path + ".memory";
    const std::string command =
        fmt::format("'{}' --memory-of {} '{}' > '{}'", program, Game::id, path, answer);
    if (std::system(command.c_str()) != 0) { // NOLINT
        fmt::print(stderr, "{}: the process that was to be measured failed\n", Game::id);
        return false;
    }
    GameSimulation<Game> simulation;
    Bytes snapshot;
    if (!simulation.reset({1, slots, {}})) {
        return false;
    }
    simulation.save(snapshot);
    const double high_water = system_number(answer.c_str(), {}) / 1024.0;
    const double state = static_cast<double>(snapshot.size()) / mebibyte;
    const double chunk = static_cast<double>(replay::chunk_bytes_max) / mebibyte;
    const double limit = jobs * (state + chunk) + 64.0;
    report.add({fmt::format("segments of {}, peak of 2 jobs, limit", Game::id),
                high_water,
                limit,
                "MiB",
                high_water,
                bench::Goal::at_most,
                limit});
    return true;
}

template <class Game>
int print_memory(const std::string& path) {
    if (!verify_parts<Game>(path, jobs)) {
        return 1;
    }
    fmt::print("{}\n", system_number("/proc/self/status", "VmHWM:"));
    return 0;
}

template <class Game>
bool rows(bench::Report& report,
          const ScratchFolder& folder,
          const char* program,
          std::uint16_t slots,
          std::uint64_t ticks) {
    const std::string path = folder.file(Game::id);
    return make_recording<Game>(path, slots, ticks) && speed_row<Game>(report, path, ticks) &&
           memory_row<Game>(report, path, program, slots);
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string_view(argv[1]) == "--memory-of") {
        const std::string_view game = argv[2];
        return game == games::Swarm::id  ? print_memory<games::Swarm>(argv[3])
               : game == games::Pile::id ? print_memory<games::Pile>(argv[3])
                                         : print_memory<games::Marine>(argv[3]);
    }
    bench::Report report(argc, argv);
    const ScratchFolder folder;
    const bool measured = rows<games::Swarm>(report, folder, argv[0], 2, 9000) &&
                          rows<games::Pile>(report, folder, argv[0], 1, 3000) &&
                          rows<games::Marine>(report, folder, argv[0], 4, 60000);
    return measured ? report.print() : 1;
}
