// SPDX-License-Identifier: MIT
// Snapshots that share their chunks: each is what save gave, whatever was kept, dropped and loaded.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "tracked_game.hpp"

#include "twinstep/sim/shared_snapshots.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace twinstep;

namespace {

/// Knows save, and nothing of sinks.
class Wrapped final : public Simulation {
public:
    const SimulationInfo& info() const override { return inner.info(); }

    Result<void> reset(const Setup& setup) override { return inner.reset(setup); }

    const Setup& setup() const override { return inner.setup(); }

    Tick tick() const override { return inner.tick(); }

    Result<void> prepare(const TickFrame& frame) override { return inner.prepare(frame); }

    void step() override { inner.step(); }

    const StateHashes& hash() override { return inner.hash(); }

    void save(Bytes& target) override { inner.save(target); }

    Result<void> load(ByteView snapshot) override { return inner.load(snapshot); }

    void visit(FieldVisitor& visitor) const override { inner.visit(visitor); }

    Result<void> visit_input(ByteView input, FieldVisitor& visitor) const override {
        return inner.visit_input(input, visitor);
    }

    std::unique_ptr<Simulation> make_another() const override {
        return std::make_unique<Wrapped>();
    }

    GameSimulation<TrackedGame> inner;
};

/// One large list of which a step writes the chunks that the input names: one element in each of
/// the first `dx` chunks.
class ChunkGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "chunks";
    static constexpr TickRate tick_rate{50};
    static constexpr std::size_t chunks = 50;

    void reset(const Setup&) { words_.resize(chunks * 512); }

    void step(const Step<Input>& step) {
        for (int i = 0; i < step.players[0].input.dx; ++i) {
            words_.write(static_cast<std::size_t>(i) * 512) += step.tick.value + 1;
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("words", CEREAL_NVP(words_)));
        if constexpr (std::same_as<Archive, InArchive>) {
            if (archive.ok() && words_[0] == 3) {
                words_.write(512 * 7) = 99; // Not what the snapshot says.
            }
        }
    }

    const TrackedVector<std::uint64_t>& words() const { return words_; }

private:
    TrackedVector<std::uint64_t> words_;
};

void step_with(Simulation& simulation, int dx) {
    TickFrame frame;
    frame.reset(simulation.tick(), 1);
    Bytes bytes;
    encode_input(ToyInput{static_cast<std::int8_t>(dx), 0, 0, false}, bytes);
    frame.set_input(Slot{0}, bytes);
    REQUIRE(simulation.prepare(frame));
    simulation.step();
}

/// What must be held, and what it must be.
class Model {
public:
    explicit Model(std::size_t kept)
        : kept_(kept) {}

    void save(Simulation& simulation) {
        drop_from(simulation.tick());
        simulation.save(held_[simulation.tick()]);
        if (held_.size() > kept_) {
            held_.erase(held_.begin());
        }
    }

    void drop_from(Tick tick) { held_.erase(held_.lower_bound(tick), held_.end()); }

    void check(const SharedSnapshots& snapshots) const {
        REQUIRE(snapshots.count() == held_.size());
        if (!held_.empty()) {
            REQUIRE(snapshots.oldest() == held_.begin()->first);
            REQUIRE(snapshots.newest() == held_.rbegin()->first);
        }
        Bytes copy{std::byte{1}};
        for (const auto& [tick, bytes] : held_) {
            CAPTURE(tick.value);
            REQUIRE(snapshots.holds(tick));
            snapshots.copy(tick, copy);
            REQUIRE(copy == bytes);
        }
    }

    /// Any of them.
    Tick pick(TestRandom& random) const {
        auto place = held_.begin();
        std::advance(place, random.below(held_.size()));
        return place->first;
    }

    const Bytes& bytes(Tick tick) const { return held_.at(tick); }

    bool empty() const { return held_.empty(); }

private:
    std::size_t kept_;
    std::map<Tick, Bytes> held_;
};

/// Some ticks and a save, or a way back, at random; all snapshots are compared after each.
template <class Subject>
void go_back_and_forth(TestRandom& random, std::size_t kept, int rounds) {
    Subject simulation;
    REQUIRE(simulation.reset({7, 2, {}}));
    ToySource source(2);
    SharedSnapshots snapshots(kept);
    Model model(kept);
    Bytes now;
    for (int round = 0; round < rounds; ++round) {
        CAPTURE(kept, round);
        const std::size_t what = random.below(10);
        if (what <= 1 && !model.empty()) {
            const Tick tick = model.pick(random);
            const bool in_place = random.below(3) != 0;
            REQUIRE(text_of(in_place ? snapshots.go_back(tick, simulation)
                                     : snapshots.load(tick, simulation)) == "ok");
            simulation.save(now);
            REQUIRE(now == model.bytes(tick));
            model.drop_from(tick + 1);
        } else if (what == 2 && !model.empty()) {
            const Bytes& bytes = model.bytes(model.pick(random)); // Behind the store's back.
            REQUIRE(text_of(simulation.load(bytes)) == "ok");
        } else {
            Driver driver(simulation, source);
            REQUIRE(driver.advance(random.below(3)));
        }
        if (random.below(2) == 0) {
            simulation.save(now);
            REQUIRE(simulation.hash().state == hash_snapshot(now)->state);
        }
        if (random.below(4) != 0) {
            snapshots.save(simulation);
            model.save(simulation);
        }
        model.check(snapshots);
    }
}

} // namespace

TEST_CASE("shared snapshots are what save gave, however one goes back and forth",
          "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    for (const std::size_t kept : {1U, 2U, 5U, 12U}) {
        go_back_and_forth<GameSimulation<TrackedGame>>(random, kept, 150);
    }
    go_back_and_forth<Wrapped>(random, 4, 100);
    go_back_and_forth<GameSimulation<ToyGame>>(random, 4, 100);
}

TEST_CASE("snapshots share the chunks that nobody wrote", "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    const auto kept = [&] { return snapshots.chunk_bytes_kept() / chunk_bytes; };
    snapshots.save(simulation);
    REQUIRE(kept() == 50);
    for (int i = 0; i < 3; ++i) {
        step_with(simulation, 2);
        static_cast<void>(simulation.hash());
        snapshots.save(simulation);
        REQUIRE(kept() == static_cast<std::size_t>(50 + 2 * (i + 1)));
    }
    // The oldest goes, and with it what only it had.
    step_with(simulation, 0);
    snapshots.save(simulation);
    REQUIRE(kept() == 54);
    // The same tick again takes the place of what was there.
    snapshots.save(simulation);
    REQUIRE(snapshots.count() == 4);
    REQUIRE(kept() == 54);
    REQUIRE(snapshots.load(snapshots.oldest(), simulation));
    REQUIRE(kept() == 50);
    snapshots.save(simulation);
    REQUIRE(kept() == 50);
}

TEST_CASE("a store for one snapshot keeps the chunks of one", "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(1);
    for (int i = 0; i < 5; ++i) {
        snapshots.save(simulation);
        REQUIRE(snapshots.chunk_bytes_kept() == 50 * chunk_bytes);
        step_with(simulation, 3);
    }
}

TEST_CASE("a state that was loaded elsewhere still shares what is equal", "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    snapshots.save(simulation);
    Bytes bytes;
    simulation.save(bytes);
    step_with(simulation, 3);
    REQUIRE(simulation.load(bytes));
    step_with(simulation, 1);
    snapshots.save(simulation);
    REQUIRE(snapshots.chunk_bytes_kept() == 51 * chunk_bytes);
    // And so does another simulation, of which the marks say nothing.
    GameSimulation<ChunkGame> other;
    REQUIRE(other.reset({7, 1, {}}));
    step_with(other, 2);
    step_with(other, 0);
    snapshots.save(other);
    other.save(bytes);
    Bytes copy;
    snapshots.copy(Tick{2}, copy);
    REQUIRE(copy == bytes);
    REQUIRE(snapshots.chunk_bytes_kept() == 52 * chunk_bytes);
}

TEST_CASE("a load brings the digests of its chunks, but for those that serialize changed",
          "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    simulation.set_recheck_hashes(1);
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    const auto save = [&] {
        static_cast<void>(simulation.hash());
        snapshots.save(simulation);
    };
    save();
    step_with(simulation, 1);
    save();
    step_with(simulation, 1);
    save();
    REQUIRE(snapshots.load(Tick{1}, simulation));
    // Only a digest that was brought can tell.
    REQUIRE(assertion_of([&] {
                const_cast<std::uint64_t&>(simulation.game().words()[513]) = 1;
                static_cast<void>(simulation.hash());
            }).find("section words: elements 512 to 1023 (chunk 1)") == 0);
    // And only marks that are believed again miss it.
    Bytes bytes;
    Bytes copy;
    REQUIRE(assertion_of([&] {
                const_cast<std::uint64_t&>(simulation.game().words()[513]) = 1;
                step_with(simulation, 0);
                snapshots.save(simulation);
                snapshots.copy(Tick{2}, copy);
                simulation.save(bytes);
                TWINSTEP_ASSERT(copy == bytes);
            }) == "copy == bytes");
    const auto agrees = [&] {
        simulation.save(bytes);
        return simulation.hash().state == hash_snapshot(bytes)->state;
    };
    REQUIRE(agrees());
    step_with(simulation, 1); // words_[0] becomes 3.
    save();
    step_with(simulation, 1);
    save();
    REQUIRE(snapshots.load(Tick{2}, simulation));
    REQUIRE(simulation.game().words()[512 * 7] == 99);
    REQUIRE(agrees());
    snapshots.save(simulation);
    snapshots.copy(Tick{2}, copy);
    REQUIRE(copy == bytes);
}

TEST_CASE("going back in place copies the chunks that differ and brings their digests",
          "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    simulation.set_recheck_hashes(1);
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(8);
    const auto save = [&] {
        static_cast<void>(simulation.hash());
        snapshots.save(simulation);
    };
    save();
    for (int i = 0; i < 4; ++i) {
        step_with(simulation, 2);
        save();
    }
    step_with(simulation, 3);
    Bytes bytes;
    Bytes copy;
    // What nobody wrote since is not copied: a write without a mark stays.
    REQUIRE(assertion_of([&] {
                const_cast<std::uint64_t&>(simulation.game().words()[40 * 512]) = 1;
                static_cast<void>(snapshots.go_back(Tick{0}, simulation));
                simulation.save(bytes);
                snapshots.copy(Tick{0}, copy);
                TWINSTEP_ASSERT(bytes == copy);
            }) == "bytes == copy");
    REQUIRE(snapshots.go_back(Tick{0}, simulation));
    REQUIRE(snapshots.count() == 1);
    REQUIRE(snapshots.chunk_bytes_kept() == 50 * chunk_bytes);
    simulation.save(bytes);
    snapshots.copy(Tick{0}, copy);
    REQUIRE(bytes == copy);
    // Only a digest that was brought can tell.
    REQUIRE(assertion_of([&] {
                const_cast<std::uint64_t&>(simulation.game().words()[513]) = 1;
                static_cast<void>(simulation.hash());
            }).find("section words: elements 512 to 1023 (chunk 1)") == 0);
    REQUIRE(simulation.hash().state == hash_snapshot(bytes)->state);
    // And only marks that are believed again miss it.
    REQUIRE(assertion_of([&] {
                const_cast<std::uint64_t&>(simulation.game().words()[513]) = 1;
                step_with(simulation, 0);
                snapshots.save(simulation);
                snapshots.copy(Tick{1}, copy);
                simulation.save(bytes);
                TWINSTEP_ASSERT(copy == bytes);
            }) == "copy == bytes");
    // Of a state from elsewhere all chunks are copied; its marks speak of another store.
    GameSimulation<ChunkGame> other;
    REQUIRE(other.reset({7, 1, {}}));
    step_with(other, 50);
    SharedSnapshots elsewhere(2);
    elsewhere.save(other);
    REQUIRE(snapshots.go_back(Tick{0}, other));
    other.save(copy);
    REQUIRE(bytes == copy);
}

TEST_CASE("a way back that is refused says so", "[sim][fault]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    snapshots.save(simulation);
    GameSimulation<ChunkGame> foreign;
    REQUIRE(foreign.reset({8, 1, {}}));
    REQUIRE(code_of(snapshots.go_back(Tick{0}, foreign)) == SimErrc::bad_setup);
}

TEST_CASE("a load that is refused drops nothing", "[sim][fault]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    snapshots.save(simulation);
    step_with(simulation, 1);
    snapshots.save(simulation);
    GameSimulation<ChunkGame> foreign;
    REQUIRE(foreign.reset({8, 1, {}}));
    REQUIRE(code_of(snapshots.load(Tick{0}, foreign)) == SimErrc::bad_setup);
    REQUIRE(snapshots.count() == 2);
}

TEST_CASE("a write without a mark is missing from a shared snapshot, which shows that it is shared",
          "[sim][fault]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(4);
    snapshots.save(simulation);
    step_with(simulation, 0);
    const_cast<std::uint64_t&>(simulation.game().words()[600]) = 1;
    snapshots.save(simulation);
    Bytes bytes;
    Bytes copy;
    simulation.save(bytes);
    snapshots.copy(Tick{1}, copy);
    REQUIRE(copy != bytes);
}

TEST_CASE("saving and dropping shared snapshots allocates nothing in the steady state",
          "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(5);
    Bytes copy;
    for (int i = 0; i < 12; ++i) {
        step_with(simulation, 9);
        static_cast<void>(simulation.hash());
        snapshots.save(simulation);
        snapshots.copy(snapshots.oldest(), copy);
    }
    REQUIRE(snapshots.go_back(snapshots.oldest(), simulation));
    for (int i = 0; i < 50; ++i) {
        step_with(simulation, 4 + i % 6);
        const AllocationCounter counter;
        static_cast<void>(simulation.hash());
        snapshots.save(simulation);
        snapshots.copy(snapshots.oldest(), copy);
        // Elsewhere memory is not the encoding, and going back goes through a copy.
        if (std::endian::native == std::endian::little && i % 5 == 4) {
            static_cast<void>(snapshots.go_back(snapshots.oldest() + 2, simulation));
        }
        REQUIRE(counter.count() == 0);
    }
}

TEST_CASE("asking for a snapshot that is not held stops the program", "[sim][unit]") {
    GameSimulation<ChunkGame> simulation;
    REQUIRE(simulation.reset({7, 1, {}}));
    SharedSnapshots snapshots(2);
    Bytes copy;
    REQUIRE_FALSE(snapshots.holds(Tick{0}));
    REQUIRE(assertion_of([&] { snapshots.copy(Tick{0}, copy); }) == "index < count_");
    REQUIRE(assertion_of([&] { static_cast<void>(snapshots.newest()); }) == "count_ > 0");
    REQUIRE(assertion_of([&] { static_cast<void>(snapshots.oldest()); }) == "count_ > 0");
    REQUIRE(assertion_of([&] { static_cast<void>(snapshots.load(Tick{0}, simulation)); }) ==
            "index < count_");
    REQUIRE(assertion_of([&] { static_cast<void>(snapshots.go_back(Tick{0}, simulation)); }) ==
            "index < count_");
    REQUIRE(assertion_of([] { SharedSnapshots none(0); }) == "kept >= 1");
}
