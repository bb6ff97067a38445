// SPDX-License-Identifier: MIT
// The recorder: what it writes, when, and what it never does.
#include "recording_support.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// Looks at the file from inside a step.
class Peeking final : public Observer {
public:
    explicit Peeking(std::shared_ptr<SinkPlan> plan)
        : plan_(std::move(plan)) {}

    void before(const TickBegin& begin) override {
        const Outcome outcome = read_all(plan_->file);
        complete = complete && outcome.ticks == begin.tick.value + 1;
    }

    bool complete = true;

private:
    std::shared_ptr<SinkPlan> plan_;
};

Bytes bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

} // namespace

TEST_CASE("a recorded session reads back as closed with all its ticks", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 1300, .slots = 2});
    const Outcome outcome = read_all(file, ReadMode::strict);
    REQUIRE_FALSE(outcome.error);
    CHECK(outcome.state == FileState::closed);
    CHECK(outcome.ticks == 1300);
    CHECK(outcome.defects == 0);
    // 1300 ticks, ends after 600, 1200 and 1300, and a trailer.
    CHECK(outcome.records.size() == 1300 + 3 + 1);
}

TEST_CASE("a tick is in the file before its step runs", "[replay][unit]") {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
    REQUIRE(recorder);
    ToySource source(1, 50);
    Driver driver(*simulation, source);
    driver.add(*recorder);
    Peeking peeking(plan);
    driver.add(peeking);
    REQUIRE(driver.advance(50));
    CHECK(peeking.complete);
    CHECK(plan->writes == 51);
}

TEST_CASE("a tick with a small input costs at most 20 bytes beside its section bytes",
          "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 1000, .slots = 1});
    const Outcome outcome = read_all(file);
    constexpr std::uint64_t sections = 3;
    for (const Record& record : outcome.records) {
        if (record.kind == RecordKind::tick && record.tick.tick.value % 40 != 13) {
            // The toy's input has 5 bytes where the budget is for 4.
            REQUIRE(record.size <= 20 + 1 + sections);
        }
    }
}

TEST_CASE("a recorder never writes over an existing file", "[replay][unit]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("taken.twin");
    std::ofstream(path) << "precious";
    auto simulation = toy_simulation();
    const auto recorder = Recorder::create(path, *simulation);
    REQUIRE_FALSE(recorder);
    CHECK(recorder.error().code == Errc::already_exists);
    CHECK(recorder.error().where == path);
    CHECK(bytes_of(path).size() == 8);
}

TEST_CASE("a recorder that cannot create its file says why", "[replay][unit]") {
    auto simulation = toy_simulation();
    const auto recorder = Recorder::create("/nonexistent/a.twin", *simulation);
    REQUIRE_FALSE(recorder);
    CHECK(recorder.error().code == Errc::io_error);
    CHECK(to_string(recorder.error()).find("No such file") != std::string::npos);
}

TEST_CASE("a session that was recorded to a file verifies from that file", "[replay][unit]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("aufnahme-ü.twin");
    auto simulation = toy_simulation(3);
    auto recorder =
        Recorder::create(path, *simulation, {std::nullopt, {{"record.note", "größer"}}});
    REQUIRE(recorder);
    ToySource source(3, 700);
    Driver driver(*simulation, source);
    driver.add(*recorder);
    REQUIRE(driver.advance(700));
    REQUIRE(recorder->close());
    const RecorderStatus status = recorder->status();
    CHECK(status.closed);
    CHECK(status.ticks == 700);
    CHECK(status.lost_ticks == 0);
    CHECK(status.bytes == bytes_of(path).size());

    auto again = make_simulation<ToyGame>();
    const auto report = verify_file(*again, path);
    REQUIRE(report);
    CHECK_FALSE(report->divergence);
    CHECK(report->ticks == 700);
    CHECK(report->hashes_checked == 700 + 2);
    CHECK(report->state == FileState::closed);
    CHECK(report->chain == status.chain);
    CHECK(report->final_hash == simulation->hash().state);
    CHECK_FALSE(report->build_differs);
}

TEST_CASE("two recordings of one session with one id are the same file", "[replay][unit]") {
    CHECK(record_toy({.ticks = 90}) == record_toy({.ticks = 90}));
    CHECK(record_toy({.ticks = 90}) != record_toy({.ticks = 90, .session = test_session(2)}));
}

TEST_CASE("a state loaded while recording stops the recording and counts what is lost",
          "[replay][unit]") {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
    REQUIRE(recorder);
    ToySource source(1);
    Driver driver(*simulation, source);
    driver.add(*recorder);
    Bytes snapshot;
    REQUIRE(driver.advance(5));
    simulation->save(snapshot);
    REQUIRE(driver.advance(5));
    REQUIRE(simulation->load(snapshot));
    REQUIRE(driver.advance(4));
    CHECK(recorder->status().ticks == 10);
    CHECK(recorder->status().lost_ticks == 4);
    REQUIRE(recorder->status().error);
    CHECK(recorder->status().error->code == Errc::wrong_tick);
    CHECK_FALSE(recorder->close());
    CHECK(read_all(plan->file).ticks == 10);
}

TEST_CASE("a recording starts at tick 0 only", "[replay][unit]") {
    auto simulation = toy_simulation();
    ToySource source(1);
    Driver driver(*simulation, source);
    REQUIRE(driver.advance(1));
    auto plan = std::make_shared<SinkPlan>();
    const auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
    REQUIRE_FALSE(recorder);
    CHECK(recorder.error().code == Errc::wrong_tick);
    CHECK(plan->file.empty());
}
