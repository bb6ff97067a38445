// SPDX-License-Identifier: MIT
// Recorder calls on a disk that stalls.
#include "stall.hpp"

#include "slow_file.hpp"
#include "toy_game.hpp"

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/sim.hpp"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace bench {

namespace {

using namespace twinstep;
using namespace twinstep::replay;

constexpr std::uint64_t stall_ticks = 3000;
constexpr std::size_t tick_bytes = 32; ///< About what a tick of one player takes.

/// How often this thread gave up its processor to wait for something, not because others wanted it:
/// what a busy machine does not change.
long waits_so_far() {
    struct ::rusage usage {};

    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/// Durations of calls, in nanoseconds, and how many of them waited.
struct Calls {
    std::vector<double> ns;
    std::uint64_t waited = 0;

    template <class Call>
    double time(const Call& call) {
        const long before = waits_so_far();
        const double taken = time_ns(call);
        waited += waits_so_far() != before ? 1U : 0U;
        return taken;
    }

    double quantile(double part) {
        std::sort(ns.begin(), ns.end());
        return ns.empty() ? 0
                          : ns[static_cast<std::size_t>(part * static_cast<double>(ns.size() - 1))];
    }
};

/// A recorder whose calls are timed, both of a tick as one.
class TimedRecorder final : public Observer {
public:
    TimedRecorder(Recorder& recorder, Calls& calls)
        : recorder_(recorder)
        , calls_(calls) {}

    void before(const TickBegin& begin) override {
        before_ns_ = calls_.time([&] { recorder_.before(begin); });
    }

    void after(const StateHashes& hashes) override {
        calls_.ns.push_back(before_ns_ + calls_.time([&] { recorder_.after(hashes); }));
    }

private:
    Recorder& recorder_;
    Calls& calls_;
    double before_ns_ = 0;
};

/// Another process that writes 16 MiB and syncs, again and again.
class DiskStorm {
public:
    explicit DiskStorm(const std::string& path)
        : child_(::fork()) {
        if (child_ == 0) {
            const std::vector<char> block(std::size_t{1} << 20, 'x');
            const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
            while (file >= 0 && ::lseek(file, 0, SEEK_SET) == 0) {
                for (int i = 0; i < 16; ++i) {
                    if (::write(file, block.data(), block.size()) < 0) {
                        ::_exit(1);
                    }
                }
                ::fsync(file);
            }
            ::_exit(1);
        }
    }

    ~DiskStorm() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
    }

    DiskStorm(const DiskStorm&) = delete;
    DiskStorm& operator=(const DiskStorm&) = delete;

    bool is_there() const { return child_ > 0; }

private:
    ::pid_t child_;
};

/// A tick written by the game's own thread.
class DirectFile {
public:
    DirectFile(const std::string& path, bool syncs)
        : file_(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600))
        , syncs_(syncs) {}

    ~DirectFile() { ::close(file_); }

    DirectFile(const DirectFile&) = delete;
    DirectFile& operator=(const DirectFile&) = delete;

    void tick() {
        calls.ns.push_back(calls.time([this] {
            good = good && ::write(file_, bytes_.data(), bytes_.size()) > 0 &&
                   (!syncs_ || ::fdatasync(file_) == 0);
        }));
    }

    Calls calls;
    bool good = true;

private:
    int file_;
    bool syncs_;
    std::array<char, tick_bytes> bytes_{};
};

void add_row(Report& report, const std::string& what, double ours_ns, double reference_ns) {
    report.add({what,
                ours_ns / 1000.0,
                reference_ns / 1000.0,
                "us",
                reference_ns / std::max(ours_ns, 1.0),
                Goal::none,
                0});
}

bool storm_rows(Report& report,
                const std::string& folder,
                Durability durability,
                const char* name) {
    const DiskStorm storm(folder + "/storm");
    if (!storm.is_there()) {
        return false;
    }
    GameSimulation<ToyGame> simulation;
    static_cast<void>(simulation.reset({1, 1, {}}));
    ToySource source(1);
    const std::string path = folder + "/storm-" + name + ".twin";
    auto recorder = Recorder::create(path, simulation, {.durability = durability});
    if (!recorder) {
        return false;
    }
    Calls ours;
    TimedRecorder timed(*recorder, ours);
    Driver driver(simulation, source);
    driver.add(timed);
    DirectFile written(folder + "/written", false);
    DirectFile synced(folder + "/synced", true);
    for (std::uint64_t tick = 0; tick < stall_ticks; ++tick) {
        static_cast<void>(driver.advance(1));
        written.tick();
        if (tick % 10 == 0) {
            synced.tick();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool good =
        recorder->close() && recorder->status().lost_ticks == 0 && written.good && synced.good;
    report.add(
        {fmt::format("fsync storm, {}: calls of {} that waited, of write(2)", name, stall_ticks),
         static_cast<double>(ours.waited),
         static_cast<double>(written.calls.waited),
         "",
         static_cast<double>(ours.waited),
         Goal::none,
         0});
    for (const auto& [label, part] :
         {std::pair("median", 0.5), std::pair("p99.9", 0.999), std::pair("longest", 1.0)}) {
        const double call = ours.quantile(part);
        add_row(report,
                fmt::format("fsync storm, {}, {} call: next to write(2)", name, label),
                call,
                written.calls.quantile(part));
        add_row(report,
                fmt::format("fsync storm, {}, {} call: write + fdatasync", name, label),
                call,
                synced.calls.quantile(part));
    }
    return good;
}

bool sleep_row(Report& report, const std::string& folder) {
    std::array<Calls, 2> calls;
    for (const bool queued : {true, false}) {
        GameSimulation<ToyGame> simulation;
        static_cast<void>(simulation.reset({1, 1, {}}));
        ToySource source(1);
        const std::string path = folder + (queued ? "/queued.twin" : "/direct.twin");
        auto file = create_file(path);
        if (!file) {
            return false;
        }
        auto sink = std::make_unique<SlowFile>(std::move(*file));
        auto recorder = queued ? Recorder::create(std::move(sink), path, simulation, {})
                               : Recorder::create(std::move(sink), simulation, {});
        if (!recorder) {
            return false;
        }
        TimedRecorder timed(*recorder, calls[queued ? 0 : 1]);
        Driver driver(simulation, source);
        driver.add(timed);
        for (std::uint64_t tick = 0; tick < (queued ? stall_ticks : 50); ++tick) {
            static_cast<void>(driver.advance(1));
            std::this_thread::sleep_for(std::chrono::microseconds(queued ? 500 : 0));
        }
        if (!recorder->close() || recorder->status().lost_ticks != 0) {
            return false;
        }
    }
    for (const auto& [label, part] : {std::pair("p99.9", 0.999), std::pair("longest", 1.0)}) {
        add_row(report,
                fmt::format("each write takes 20 ms, {} call: next to direct", label),
                calls[0].quantile(part),
                calls[1].quantile(part));
    }
    return true;
}

} // namespace

bool add_stall_rows(Report& report, const std::string& folder) {
    std::error_code ignored;
    std::filesystem::create_directory(folder, ignored);
    const bool measured = sleep_row(report, folder) &&
                          storm_rows(report, folder, Durability::chunk, "chunk") &&
                          storm_rows(report, folder, Durability::tick, "tick");
    std::filesystem::remove_all(folder, ignored);
    return measured;
}

} // namespace bench
