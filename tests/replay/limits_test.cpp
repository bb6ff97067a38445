// SPDX-License-Identifier: MIT
// Recordings at their limits: chunks that end by size or exactly at the end, the largest frames,
// the last step, and recorders that are used in unusual ways.
#include "assertion_of.hpp"
#include "recording_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Takes inputs of any size and keeps their sum.
class WideGame {
public:
    struct Input {
        std::vector<std::uint8_t> bytes;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(bytes));
        }
    };

    static constexpr std::string_view id = "wide";
    static constexpr TickRate tick_rate{10};
    static constexpr std::uint16_t slots_max = twinstep::slots_max;
    /// The tick whose step does something else; a build with a fault.
    static inline std::uint64_t wrong_tick = UINT64_MAX;

    void reset(const Setup&) { sum_ = 0; }

    void step(const Step<Input>& step) {
        for (const PlayerInput<Input>& player : step.players) {
            for (const std::uint8_t byte : player.input.bytes) {
                sum_ = sum_ * 31 + byte;
            }
        }
        sum_ += step.tick.value == wrong_tick ? 1 : 0;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("sum", CEREAL_NVP(sum_)));
    }

private:
    std::uint64_t sum_ = 0;
};

/// Inputs of `size` bytes, encoded, in `given` of `slots` slots.
class WideSource final : public Source {
public:
    WideSource(std::size_t slots, std::size_t given, std::size_t size)
        : slots_(slots)
        , given_(given) {
        encode_input(WideGame::Input{std::vector<std::uint8_t>(size - 8, 7)}, bytes_);
    }

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        frame.reset(tick, slots_);
        for (std::uint16_t slot = 0; slot < given_; ++slot) {
            frame.set_input(Slot{slot}, bytes_);
        }
        return Supply::ready;
    }

private:
    std::size_t slots_;
    std::size_t given_;
    Bytes bytes_;
};

struct Session {
    explicit Session(std::uint16_t slots)
        : simulation(make_simulation<WideGame>()) {
        REQUIRE(simulation->reset({7, slots, {}}));
    }

    Result<Recorder> record() {
        return Recorder::create(
            std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
    }

    std::shared_ptr<SinkPlan> plan = std::make_shared<SinkPlan>();
    std::unique_ptr<Simulation> simulation;
};

VerifyReport verify_wide(ByteView file) {
    auto simulation = make_simulation<WideGame>();
    auto report = verify(*simulation, *Reader::from_memory(file, ReadMode::strict));
    if (!report) {
        FAIL(to_string(report.error()));
    }
    return *report;
}

std::vector<std::uint64_t> chunk_sizes(ByteView file) {
    auto reader = Reader::from_memory(file, ReadMode::strict);
    std::vector<std::uint64_t> sizes;
    while (true) {
        const Result<Record> record = reader->next();
        REQUIRE(record);
        if (record->kind == RecordKind::end) {
            return sizes;
        }
        if (record->kind == RecordKind::chunk_end) {
            sizes.push_back(record->chunk_end.chunk_bytes);
        }
    }
}

} // namespace

TEST_CASE("a chunk ends with the record that brings it to its size, not a byte later",
          "[replay][unit]") {
    // Records of exactly 2,048 bytes: 32 of them are 64 KiB.
    Session session(8);
    auto recorder = session.record();
    REQUIRE(recorder);

    class Exact final : public Source {
    public:
        Result<Supply> next(Tick tick, TickFrame& frame) override {
            // Tag 1, length 2, hash 4, sections 2, tick 1, slots 1, event 4, heads 8 x 2, check 4.
            constexpr std::size_t rest = 2048 - 35;
            frame.reset(tick, 8);
            frame.add_event(EventKind::marker); // So that every tick is written whole.
            for (std::uint16_t slot = 0; slot < 8; ++slot) {
                const std::size_t size = slot < 7 ? 252 : rest - 7 * 252;
                Bytes bytes;
                encode_input(WideGame::Input{std::vector<std::uint8_t>(size - 8, 3)}, bytes);
                frame.set_input(Slot{slot}, bytes);
            }
            return Supply::ready;
        }
    } source;

    Driver driver(*session.simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(100));
    REQUIRE(recorder->close());
    CHECK(chunk_sizes(session.plan->file) ==
          std::vector<std::uint64_t>{65'536, 65'536, 65'536, 4 * 2048});
    CHECK_FALSE(verify_wide(session.plan->file).divergence);
}

TEST_CASE("a recording that ends with a chunk has no empty chunk and proves its last state",
          "[replay][unit]") {
    for (const std::uint64_t ticks : {chunk_ticks_target, 2 * chunk_ticks_target}) {
        Hash128 final_hash;
        const Bytes file = record_toy({.ticks = ticks}, &final_hash);
        CHECK(chunk_sizes(file).size() == ticks / chunk_ticks_target);
        auto simulation = make_simulation<ToyGame>();
        const auto report = verify(*simulation, *Reader::from_memory(file, ReadMode::strict));
        REQUIRE(report);
        CHECK(report->ticks == ticks);
        CHECK(report->hashes_checked == ticks + ticks / chunk_ticks_target);
        CHECK(report->state == FileState::closed);
        CHECK(report->final_hash == final_hash);
    }
}

TEST_CASE("a simulation that differs only in its last step is found", "[replay][fault]") {
    for (const std::uint64_t ticks : {std::uint64_t{1}, std::uint64_t{50}, chunk_ticks_target}) {
        Session session(1);
        auto recorder = session.record();
        REQUIRE(recorder);
        WideSource source(1, 1, 20);
        Driver driver(*session.simulation, source);
        driver.add(*recorder);
        REQUIRE(driver.advance(ticks));
        REQUIRE(recorder->close());
        CHECK_FALSE(verify_wide(session.plan->file).divergence);

        WideGame::wrong_tick = ticks - 1;
        const VerifyReport report = verify_wide(session.plan->file);
        WideGame::wrong_tick = UINT64_MAX;
        REQUIRE(report.divergence);
        CHECK(report.divergence->tick == Tick{ticks});
        CHECK(report.divergence->section == "sum");
        CHECK(report.ticks == ticks);
    }
}

TEST_CASE("a frame that fits no record is refused before anybody saw it", "[replay][fault]") {
    Session session(slots_max);
    auto recorder = session.record();
    REQUIRE(recorder);
    WideSource source(slots_max, slots_max, input_bytes_max);
    Driver driver(*session.simulation, source);
    driver.add(*recorder);
    const auto advance = driver.advance(1);
    REQUIRE_FALSE(advance);
    CHECK(advance.error().code == SimErrc::limit_exceeded);
    CHECK(to_string(advance.error()).find("frame") != std::string::npos);
    CHECK(session.simulation->tick() == Tick{0});
    CHECK(recorder->status().ticks == 0);
    CHECK_FALSE(recorder->status().error);
    REQUIRE(recorder->close());
    CHECK(read_all(session.plan->file, ReadMode::strict).state == FileState::closed);
}

TEST_CASE("frames of the most slots and of the most bytes are recorded", "[replay][unit]") {
    // 4,096 slots of which 220 speak: 3,876 + 220 x 258 + 3 bytes, just below the limit.
    Session session(slots_max);
    auto recorder = session.record();
    REQUIRE(recorder);
    WideSource source(slots_max, 220, input_bytes_max);
    Driver driver(*session.simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(70));
    REQUIRE(recorder->close());
    CHECK_FALSE(recorder->status().error);
    const VerifyReport report = verify_wide(session.plan->file);
    CHECK(report.ticks == 70);
    CHECK_FALSE(report.divergence);
}

TEST_CASE("two recorders on one driver write the same ticks", "[replay][unit]") {
    Session session(1);
    auto first = session.record();
    auto other_plan = std::make_shared<SinkPlan>();
    auto second = Recorder::create(
        std::make_unique<MemorySink>(other_plan), *session.simulation, {test_session(), {}});
    REQUIRE(first);
    REQUIRE(second);
    WideSource source(1, 1, 20);
    Driver driver(*session.simulation, source);
    driver.add(*first);
    driver.add(*second);
    REQUIRE(driver.advance(700));
    REQUIRE(first->close());
    REQUIRE(second->close());
    CHECK(session.plan->file == other_plan->file);
    CHECK(read_all(other_plan->file).ticks == 700);
}

TEST_CASE("a recorder can be closed twice, moved before it is used, and moved over",
          "[replay][unit]") {
    Session session(1);
    auto created = session.record();
    REQUIRE(created);
    Recorder recorder = std::move(*created);
    WideSource source(1, 1, 20);
    Driver driver(*session.simulation, source);
    driver.add(recorder);
    REQUIRE(driver.advance(10));
    REQUIRE(recorder.close());
    const Bytes file = session.plan->file;
    REQUIRE(recorder.close());
    CHECK(session.plan->file == file);
    REQUIRE(driver.advance(1));
    CHECK(recorder.status().lost_ticks == 1);
    CHECK(recorder.status().closed);

    Session other(1);
    {
        Recorder target = std::move(*other.record());
        target = std::move(recorder);
        CHECK(other.plan->closed);
    }
    CHECK(read_all(other.plan->file).state == FileState::closed);
    CHECK(assertion_of([&recorder] { static_cast<void>(recorder.status()); }) ==
          "impl_ != nullptr");
    CHECK(assertion_of([&driver] { static_cast<void>(driver.advance(1)); }) == "impl_ != nullptr");
}

TEST_CASE("another state at the same tick stops the recording", "[replay][fault]") {
    const auto swap_in = [](std::uint64_t ticks, Simulation& target, std::uint64_t seed) {
        // A state that another history of the same session came to.
        auto other = make_simulation<WideGame>();
        REQUIRE(other->reset({seed, 1, {}}));
        WideSource source(1, 1, 30);
        Driver driver(*other, source);
        REQUIRE(driver.advance(ticks));
        Bytes snapshot;
        other->save(snapshot);
        return target.load(snapshot).has_value();
    };
    for (const std::uint64_t ticks : {std::uint64_t{1}, std::uint64_t{10}}) {
        Session session(1);
        auto recorder = session.record();
        WideSource source(1, 1, 20);
        Driver driver(*session.simulation, source);
        driver.add(*recorder);
        REQUIRE(driver.advance(ticks));
        REQUIRE(swap_in(ticks, *session.simulation, 7));
        REQUIRE(driver.advance(3));
        const RecorderStatus status = recorder->status();
        REQUIRE(status.error);
        CHECK(status.error->code == Errc::wrong_tick);
        CHECK(status.error->field == "state");
        CHECK(status.ticks == ticks);
        CHECK(status.lost_ticks == 3);
        CHECK_FALSE(recorder->close());
        CHECK_FALSE(verify_wide(session.plan->file).divergence);
    }
    // The session of another seed, before the first tick: the file's head would lie.
    Session session(1);
    auto recorder = session.record();
    REQUIRE(session.simulation->reset({8, 1, {}}));
    WideSource source(1, 1, 20);
    Driver driver(*session.simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(2));
    CHECK(recorder->status().lost_ticks == 2);
}

TEST_CASE("a sink that was interrupted after some bytes gets only the rest", "[replay][fault]") {
    class Interrupted final : public FileSink {
    public:
        explicit Interrupted(Bytes& file)
            : file_(file) {}

        std::size_t write(ByteView bytes, std::error_code& error) override {
            const std::size_t taken = ++writes_ % 3 == 0 ? bytes.size() / 2 : bytes.size();
            file_.insert(file_.end(), bytes.begin(), bytes.begin() + static_cast<long>(taken));
            if (taken < bytes.size()) {
                error = std::make_error_code(std::errc::interrupted);
            }
            return taken;
        }

        std::error_code truncate(std::uint64_t) override { return {}; }

        std::error_code sync() override { return {}; }

        std::error_code close() override { return {}; }

    private:
        Bytes& file_;
        std::uint64_t writes_ = 0;
    };

    Session session(1);
    Bytes file;
    auto recorder = Recorder::create(std::make_unique<Interrupted>(file), *session.simulation);
    REQUIRE(recorder);
    WideSource source(1, 1, 20);
    Driver driver(*session.simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(50));
    REQUIRE(recorder->close());
    CHECK(read_all(file, ReadMode::strict).ticks == 50);
    CHECK(file.size() == recorder->status().bytes);
}
