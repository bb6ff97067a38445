// SPDX-License-Identifier: MIT
// An hour of swarm with keyframes, 200 random ticks of it, and what a seek is made of.
#include "seek.hpp"

#include "game_bots.hpp"
#include "swarm/swarm.hpp"

#include "twinstep/replay/player.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <time.h> // NOLINT: POSIX, for the process's own time
#include <vector>

namespace bench {

namespace {

using namespace twinstep;
using games::Swarm;

constexpr std::uint64_t every_ticks = 200; // Ten seconds.
constexpr std::uint64_t seeks = 200;
constexpr std::uint16_t slots = 2;
constexpr std::uint32_t workers_max = 2;

/// The hashes of all states of the straight run.
class HashKeeper final : public Observer {
public:
    void before(const TickBegin& begin) override { hashes.push_back(begin.hashes.state); }

    std::vector<Hash128> hashes;
};

/// A folder for the recording and its side file, which goes away with the object.
class Folder {
public:
    Folder()
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("twinstep-seek-{}",
                            std::chrono::steady_clock::now().time_since_epoch().count())) {
        std::filesystem::create_directory(path_);
    }

    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

void say(const Error& error) {
    fmt::print(stderr, "{}\n", to_string(error));
}

Result<std::vector<Hash128>>
record(Simulation& simulation, const std::string& path, std::uint64_t ticks) {
    if (auto reset = simulation.reset({1, slots, {{"units", "10000"}}}); !reset) {
        return fail(reset.error());
    }
    auto recorder = replay::Recorder::create(path, simulation);
    if (!recorder) {
        return fail(recorder.error());
    }
    GameBots<Swarm> bots({.slots = slots, .ticks = ticks});
    HashKeeper keeper;
    Driver driver(simulation, bots);
    driver.add(*recorder);
    driver.add(keeper);
    if (auto played = driver.advance(ticks); !played) {
        return fail(played.error());
    }
    keeper.hashes.push_back(simulation.hash().state);
    if (auto closed = recorder->close(); !closed) {
        return fail(closed.error());
    }
    return std::move(keeper.hashes);
}

Result<std::uint64_t>
add_side_file(Simulation& simulation, const std::string& path, const std::string& side) {
    auto reader = replay::Reader::open(path);
    auto sink = replay::create_file(side);
    if (!reader || !sink) {
        return fail(reader ? sink.error() : reader.error());
    }
    const auto added = replay::write_side_file(
        simulation, std::move(*reader), std::move(*sink), {.every_ticks = every_ticks});
    if (!added) {
        return fail(added.error());
    }
    return added->keyframes;
}

/// What the machine is doing besides: the load of the last minute, where the system tells.
double load_now() {
    std::ifstream file("/proc/loadavg");
    double load = std::numeric_limits<double>::quiet_NaN();
    file >> load;
    return load;
}

double milliseconds_now() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Time the process has computed, which other processes do not count in.
double cpu_milliseconds_now() {
    ::timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

struct Seeks {
    std::vector<double> wall_ms;
    std::vector<double> cpu_ms;
    std::uint64_t wrong = 0;
    std::uint64_t steps = 0;
};

/// One player, as somebody who looks for a place would use it.
Result<Seeks> measure_seeks(Simulation& simulation,
                            const std::string& path,
                            const std::string& side,
                            const std::vector<Hash128>& hashes) {
    auto reader = replay::Reader::open(path);
    if (!reader) {
        return fail(reader.error());
    }
    replay::PlayerOptions options;
    options.keyframes.side_file = side;
    auto player = replay::Player::open(simulation, std::move(*reader), options);
    if (!player) {
        return fail(player.error());
    }
    Seeks result;
    for (std::uint64_t i = 0; i < seeks; ++i) {
        Random random(7, Tick{i});
        const Tick target{random.below(static_cast<std::uint32_t>(hashes.size()))};
        const double cpu = cpu_milliseconds_now();
        const double wall = milliseconds_now();
        if (auto gone = player->seek(target); !gone) {
            return fail(gone.error());
        }
        result.wall_ms.push_back(milliseconds_now() - wall);
        result.cpu_ms.push_back(cpu_milliseconds_now() - cpu);
        result.wrong += simulation.hash().state == hashes[target.value] ? 0U : 1U;
    }
    result.wrong += player->verdict().divergence || !player->recording().problems().empty();
    result.steps = player->statistics().steps;
    return result;
}

double percentile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

/// The best of several, in milliseconds.
template <class Work>
double best_ms(Work&& work) {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < 15; ++i) {
        best = std::min(best, time_ns(work) / 1e6);
    }
    return best;
}

/// What a seek is made of, at a tick in the middle of the battle.
void split_rows(Report& report, Simulation& simulation) {
    constexpr double no_reference = std::numeric_limits<double>::quiet_NaN();
    Bytes snapshot;
    const double save = best_ms([&] { simulation.save(snapshot); });
    const double check = best_ms([&] { static_cast<void>(hash_snapshot(snapshot)); });
    const double load = best_ms([&] { static_cast<void>(simulation.load(snapshot)); });
    const double load_and_hash = best_ms([&] {
        static_cast<void>(simulation.load(snapshot));
        static_cast<void>(simulation.hash());
    });
    GameBots<Swarm> bots({.slots = slots});
    Driver driver(simulation, bots);
    const double step = best_ms([&] { static_cast<void>(driver.advance(20)); }) / 20;
    const std::array<std::pair<const char*, double>, 5> rows{
        {{"seek: one step", step},
         {"seek: hash of the bytes of a state", check},
         {"seek: load", load},
         {"seek: hash of a loaded state", load_and_hash - load},
         {"seek: save", save}}};
    for (const auto& [name, ms] : rows) {
        report.add({name, ms, no_reference, "ms", ms});
    }
}

} // namespace

bool seek_rows(Report& report, std::uint64_t ticks) {
    const Folder folder;
    GameSimulation<Swarm> simulation;
    const std::string path = folder.file("hour.twin");
    const std::string side = folder.file("hour.kf");
    const auto hashes = record(simulation, path, ticks);
    if (!hashes) {
        say(hashes.error());
        return false;
    }
    const auto keyframes = add_side_file(simulation, path, side);
    if (!keyframes) {
        say(keyframes.error());
        return false;
    }
    fmt::print(stderr,
               "{} keyframes, {:.1f} MB, beside {:.1f} MB\n",
               *keyframes,
               static_cast<double>(std::filesystem::file_size(side)) / 1e6,
               static_cast<double>(std::filesystem::file_size(path)) / 1e6);
    const auto pool = WorkerPool::start(workers_max);
    if (!pool) {
        say(pool.error());
        return false;
    }
    std::array<Seeks, 2> best; // With one worker and with two, in turns.
    for (int round = 0; round < 6; ++round) {
        const double load = load_now();
        const bool together = round % 2 != 0;
        simulation.set_workers(together ? pool->get() : nullptr);
        const auto measured = measure_seeks(simulation, path, side, *hashes);
        if (!measured) {
            say(measured.error());
            return false;
        }
        if (measured->wrong > 0) {
            fmt::print(stderr, "{} seeks led to another state\n", measured->wrong);
            return false;
        }
        const double median = percentile(measured->wall_ms, 0.5);
        fmt::print(stderr,
                   "{} worker(s): median {:.1f} ms ({:.1f} ms computing), p99 {:.1f} ms, "
                   "{:.1f} steps a seek, load {:.1f}\n",
                   simulation.workers().count(),
                   median,
                   percentile(measured->cpu_ms, 0.5),
                   percentile(measured->wall_ms, 0.99),
                   static_cast<double>(measured->steps) / static_cast<double>(seeks),
                   load);
        Seeks& kept = best[together ? 1 : 0];
        if (kept.wall_ms.empty() || median < percentile(kept.wall_ms, 0.5)) {
            kept = *measured;
        }
    }
    simulation.set_workers(nullptr);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto add = [&](const char* name, double ms, double reference, Goal goal) {
        report.add({name, ms, reference, "ms", ms, goal, 50.0});
    };
    const double alone = percentile(best[0].wall_ms, 0.5);
    const double together = percentile(best[1].wall_ms, 0.5);
    add("seek: median of 200, an hour of swarm, 2 workers", together, alone, Goal::at_most);
    add("seek: the same, 1 worker", alone, nan, Goal::none);
    add("seek: 99 of 100, 2 workers", percentile(best[1].wall_ms, 0.99), nan, Goal::none);
    split_rows(report, simulation);
    return true;
}

} // namespace bench
