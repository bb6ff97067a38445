// SPDX-License-Identifier: MIT
// What recording adds to a tick, how fast verifying is next to stepping alone, and with `seek` how
// long it takes to go to any tick of an hour.
#include "game_bots.hpp"
#include "pile/pile.hpp"
#include "replay/seek.hpp"
#include "replay/stall.hpp"
#include "report.hpp"
#include "swarm/swarm.hpp"
#include "toy_game.hpp"

#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/replay/signature.hpp"
#include "twinstep/sim.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace {

using namespace twinstep;

/// A path for a recording of this program; what is there is removed at once and at the end.
class ScratchFile {
public:
    explicit ScratchFile(std::string_view name)
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("twinstep-bench-{}-{}.twin",
                            name,
                            std::chrono::steady_clock::now().time_since_epoch().count())) {}

    ~ScratchFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

const char* name_of(replay::Durability durability) {
    return durability == replay::Durability::process ? "process"
           : durability == replay::Durability::chunk ? "chunk"
                                                     : "tick";
}

/// Driver and recorder next to a loop that steps and hashes: the write is what is added.
bool recorder_row(bench::Report& report,
                  std::uint16_t slots,
                  replay::Durability durability,
                  std::shared_ptr<const replay::SigningKey> key = nullptr) {
    constexpr std::uint64_t ticks = 4000;
    GameSimulation<ToyGame> bare;
    GameSimulation<ToyGame> recorded;
    static_cast<void>(bare.reset({1, slots, {}}));
    static_cast<void>(recorded.reset({1, slots, {}}));
    ToySource bare_source(slots);
    ToySource recorded_source(slots);
    const ScratchFile file("recorder");
    // No clock drives this session, so a tick comes every half microsecond, which no disk can sync.
    auto recorder = replay::Recorder::create(
        file.path(),
        recorded,
        {.durability = durability, .queue_bytes = std::size_t{8} << 20, .signing_key = key});
    if (!recorder) {
        fmt::print(stderr, "{}\n", to_string(recorder.error()));
        return false;
    }
    Driver driver(recorded, recorded_source);
    driver.add(*recorder);
    TickFrame frame;
    const bench::Pair time = bench::measure(
        15,
        static_cast<double>(ticks),
        [&] { static_cast<void>(driver.advance(ticks)); },
        [&] {
            for (std::uint64_t i = 0; i < ticks; ++i) {
                static_cast<void>(bare_source.next(bare.tick(), frame));
                static_cast<void>(bare.prepare(frame));
                benchmark::DoNotOptimize(bare.hash().state);
                bare.step();
            }
        });
    if (!recorder->close() || recorder->status().lost_ticks > 0 ||
        recorded.hash().state != bare.hash().state) {
        fmt::print(stderr, "the recorded session is not the bare one\n");
        return false;
    }
    report.add({fmt::format("recorder, {} slots, {}{}: added ns a tick",
                            slots,
                            name_of(durability),
                            key ? ", signed" : ""),
                time.ours_ns,
                time.reference_ns,
                "ns",
                time.ours_ns - time.reference_ns,
                bench::Goal::at_most,
                1000.0});
    return true;
}

/// verify_file next to a loop that only steps through the same frames.
template <class Game>
bool verify_row(bench::Report& report, std::uint16_t slots, std::uint64_t ticks) {
    GameSimulation<Game> simulation;
    const Setup setup{1, slots, {}};
    const ScratchFile file(Game::id);
    GameBots<Game> source({.slots = slots, .first_stream = 0});
    {
        static_cast<void>(simulation.reset(setup));
        auto recorder = replay::Recorder::create(file.path(), simulation);
        if (!recorder) {
            fmt::print(stderr, "{}\n", to_string(recorder.error()));
            return false;
        }
        Driver driver(simulation, source);
        driver.add(*recorder);
        if (!driver.advance(ticks) || !recorder->close()) {
            return false;
        }
    }
    std::vector<TickFrame> frames(ticks);
    for (std::uint64_t tick = 0; tick < ticks; ++tick) {
        static_cast<void>(source.next(Tick{tick}, frames[tick]));
    }
    std::uint64_t checked = 0;
    bool diverged = false;
    const bench::Pair time = bench::measure(
        7,
        static_cast<double>(ticks),
        [&] {
            const auto verified = replay::verify_file(simulation, file.path());
            checked = verified ? verified->hashes_checked : 0;
            diverged = !verified || verified->divergence.has_value();
        },
        [&] {
            static_cast<void>(simulation.reset(setup));
            for (const TickFrame& frame : frames) {
                static_cast<void>(simulation.prepare(frame));
                simulation.step();
            }
        });
    if (checked == 0 || diverged) {
        fmt::print(stderr, "{}: verified nothing, or a divergence\n", Game::id);
        return false;
    }
    report.add({fmt::format("verify {}, bare step loop", Game::id),
                time.ours_ns / 1000.0,
                time.reference_ns / 1000.0,
                "us",
                time.reference_ns / time.ours_ns,
                bench::Goal::at_least,
                0.9});
    return true;
}

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    if (argc > 1 && std::string_view(argv[1]) == "seek") {
        // A shorter recording than an hour, for a look in between.
        const std::uint64_t ticks = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
        return bench::seek_rows(report, ticks > 0 ? ticks : 72'000) ? report.print() : 1;
    }
    bool measured = true;
    for (const std::uint16_t slots : {std::uint16_t{1}, std::uint16_t{4}}) {
        for (const auto durability :
             {replay::Durability::process, replay::Durability::chunk, replay::Durability::tick}) {
            measured = measured && recorder_row(report, slots, durability);
        }
    }
    if (replay::has_signatures()) {
        const std::array<std::byte, replay::secret_seed_bytes> seed{};
        auto key = replay::SigningKey::from_seed(seed);
        measured = measured && key &&
                   recorder_row(report,
                                1,
                                replay::Durability::chunk,
                                std::make_shared<const replay::SigningKey>(std::move(*key)));
    }
    // Where temporary files lie may be memory; a disk is wanted.
    measured = measured && bench::add_stall_rows(report, "twinstep-bench-stall") &&
               verify_row<games::Pile>(report, 1, 300) && verify_row<games::Swarm>(report, 2, 100);
    return measured ? report.print() : 1;
}
