// SPDX-License-Identifier: MIT
// What hashing a state costs next to XXH3 alone, what the driver adds to a step, and the toolbox.
#include "report.hpp"
#include "sim/toolbox.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/shared_snapshots.hpp"
#include "twinstep/sim/tracked.hpp"

#include <cstring>

#define XXH_INLINE_ALL
#include <benchmark/benchmark.h>
#include <xxhash.h>

namespace {

using namespace twinstep;

struct Unit {
    std::int32_t x = 0;
    std::int32_t y = 0;
    std::uint16_t angle = 0;
    std::uint16_t health = 0;
    std::uint32_t target = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(x), CEREAL_NVP(y), CEREAL_NVP(angle), CEREAL_NVP(health));
        archive(CEREAL_NVP(target));
    }
};

} // namespace

template <>
inline constexpr bool twinstep::contiguous<Unit> = true;

namespace {

/// A game that is nothing but one large list, so that hashing is all there is to it.
template <class Element>
class ListGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "list";
    static constexpr TickRate tick_rate{20};

    void reset(const Setup& setup) {
        values_.resize(static_cast<std::size_t>(setup.seed) / sizeof(Element));
        std::uint32_t state = 1;
        auto* bytes = reinterpret_cast<std::byte*>(values_.data());
        for (std::size_t i = 0; i < values_.size() * sizeof(Element); ++i) {
            state = state * 1664525U + 1013904223U;
            bytes[i] = static_cast<std::byte>(state >> 24);
        }
    }

    void step(const Step<Input>&) {}

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("list", CEREAL_NVP(values_)));
    }

    const std::vector<Element>& values() const { return values_; }

private:
    std::vector<Element> values_;
};

template <class Element>
void hash_row(bench::Report& report, std::string_view element, std::size_t size) {
    using Game = ListGame<Element>;
    GameSimulation<Game> simulation;
    static_cast<void>(simulation.reset({size, 1, {}}));
    const std::vector<Element>& values = simulation.game().values();
    const std::size_t repeats = (std::size_t{8} << 20) / size;
    TickFrame frame;
    const auto ours = [&] {
        for (std::size_t i = 0; i < repeats; ++i) {
            // Hashes are kept until the next step, so a step there must be.
            frame.reset(simulation.tick(), 1);
            static_cast<void>(simulation.prepare(frame));
            simulation.step();
            benchmark::DoNotOptimize(simulation.hash().state);
        }
    };
    const auto reference = [&] {
        for (std::size_t i = 0; i < repeats; ++i) {
            benchmark::DoNotOptimize(XXH3_128bits(values.data(), values.size() * sizeof(Element)));
        }
    };
    const double bytes = static_cast<double>(repeats * size);
    const bench::Pair time = bench::measure(31, bytes, ours, reference);
    report.add({fmt::format("hash {} KiB of {}, one-shot XXH3", size >> 10, element),
                1.0 / time.ours_ns,
                1.0 / time.reference_ns,
                "GB/s",
                time.reference_ns / time.ours_ns,
                bench::Goal::at_least,
                0.8});
}

/// A large state of which a step writes one element in each of some chunks, chosen at random.
template <class List>
class SparseGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "sparse";
    static constexpr TickRate tick_rate{20};
    static constexpr std::size_t chunk_words = chunk_bytes / sizeof(std::uint64_t);

    /// The seed is the number of chunks.
    void reset(const Setup& setup) { words_.resize(setup.seed * chunk_words); }

    void step(const Step<Input>& step) {
        const auto chunks = static_cast<std::uint32_t>(words_.size() / chunk_words);
        for (std::uint32_t i = 0; i < chunks / 100; ++i) {
            const std::size_t word = step.random.below(chunks) * chunk_words + i % chunk_words;
            const std::uint64_t value = words_[word] + step.tick.value + i;
            if constexpr (requires { words_.set(word, value); }) {
                words_.set(word, value);
            } else {
                words_[word] = value;
            }
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("words", CEREAL_NVP(words_)));
    }

private:
    List words_;
};

/// The medians of two kinds of work that follow each other tick for tick, each on a state of its
/// own: every tick counts, so those in which chunks are computed again do too.
void tracked_row(bench::Report& report) {
    constexpr std::size_t size = std::size_t{64} << 20;
    constexpr std::size_t ticks = 101;
    GameSimulation<SparseGame<TrackedVector<std::uint64_t>>> tracked;
    GameSimulation<SparseGame<std::vector<std::uint64_t>>> plain;
    SharedSnapshots snapshots(8);
    Bytes copy;
    TickFrame frame;
    std::vector<double> ours;
    std::vector<double> reference;
    for (Simulation* simulation :
         {static_cast<Simulation*>(&tracked), static_cast<Simulation*>(&plain)}) {
        static_cast<void>(simulation->reset({size / chunk_bytes, 1, {}}));
    }
    const auto step = [&](Simulation& simulation) {
        frame.reset(simulation.tick(), 1);
        static_cast<void>(simulation.prepare(frame));
        simulation.step();
    };
    for (std::size_t tick = 0; tick < ticks + 10; ++tick) {
        step(tracked);
        ours.push_back(bench::time_ns([&] {
            benchmark::DoNotOptimize(tracked.hash().state);
            snapshots.save(tracked);
        }));
        step(plain);
        reference.push_back(bench::time_ns([&] {
            benchmark::DoNotOptimize(plain.hash().state);
            plain.save(copy);
        }));
    }
    const auto median = [](std::vector<double>& times) {
        times.erase(times.begin(), times.begin() + 10);
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    };
    const double ours_us = median(ours) / 1000.0;
    const double reference_us = median(reference) / 1000.0;
    report.add({"64 MiB tracked, 1 % dirty: hash + snapshot",
                ours_us,
                reference_us,
                "us",
                ours_us / reference_us,
                bench::Goal::at_most,
                0.02});
}

/// Takes ticks without a driver: what any program that steps a game has to do.
class BareLoop {
public:
    BareLoop(Simulation& simulation, Source& source)
        : simulation_(simulation)
        , source_(source) {}

    void run(std::uint64_t ticks, bool hash) {
        for (std::uint64_t i = 0; i < ticks; ++i) {
            static_cast<void>(source_.next(simulation_.tick(), frame_));
            static_cast<void>(simulation_.prepare(frame_));
            if (hash) {
                benchmark::DoNotOptimize(simulation_.hash().state);
            }
            simulation_.step();
        }
    }

private:
    Simulation& simulation_;
    Source& source_;
    TickFrame frame_;
};

class Nobody : public Observer {};

void driver_row(bench::Report& report, std::string_view name, std::uint16_t slots, bool observed) {
    constexpr std::uint64_t ticks = 2000;
    GameSimulation<ToyGame> bare_game;
    GameSimulation<ToyGame> driven_game;
    ToySource bare_source(slots);
    ToySource driven_source(slots);
    BareLoop bare(bare_game, bare_source);
    Driver driver(driven_game, driven_source);
    Nobody nobody;
    if (observed) {
        driver.add(nobody);
    }
    const Setup setup{1, slots, {}};
    const bench::Pair time = bench::measure(
        61,
        static_cast<double>(ticks),
        [&] {
            static_cast<void>(driven_game.reset(setup));
            static_cast<void>(driver.advance(ticks));
        },
        [&] {
            static_cast<void>(bare_game.reset(setup));
            bare.run(ticks, observed);
        });
    report.add({fmt::format("{}, {} slots: added ns a tick", name, slots),
                time.ours_ns,
                time.reference_ns,
                "ns",
                time.ours_ns - time.reference_ns,
                bench::Goal::at_most,
                1000.0});
}

} // namespace

int main(int argc, char** argv) {
    bench::Report report(argc, argv);
    for (const std::size_t size :
         {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{8} << 20}) {
        hash_row<Unit>(report, "structs", size);
        hash_row<std::uint64_t>(report, "u64", size);
    }
    for (const std::uint16_t slots : {std::uint16_t{1}, std::uint16_t{4}}) {
        driver_row(report, "driver", slots, false);
        driver_row(report, "driver and observer", slots, true);
    }
    toolbox_rows(report);
    tracked_row(report);
    return report.print();
}
