// SPDX-License-Identifier: MIT
// A recorder on a failing disk: the game goes on, the file stays a valid prefix, nothing is silent.
#include "recording_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

constexpr std::uint64_t session_ticks = 650;

struct Played {
    std::uint64_t ticks = 0;
    RecorderStatus status;
    bool created = false;
    bool closed = false;
    Hash128 final_hash;
};

/// Plays a whole toy session into a sink that fails as planned.
Played play(const std::shared_ptr<SinkPlan>& plan) {
    Played played;
    auto simulation = toy_simulation(2);
    ToySource source(2, session_ticks);
    Driver driver(*simulation, source);
    auto recorder =
        Recorder::create(std::make_unique<MemorySink>(plan), *simulation, {test_session(), {}});
    if (recorder) {
        played.created = true;
        driver.add(*recorder);
    }
    played.ticks = driver.advance(session_ticks)->ticks;
    if (recorder) {
        played.closed = recorder->close().has_value();
        played.status = recorder->status();
    }
    played.final_hash = simulation->hash().state;
    return played;
}

void require_prefix(ByteView file, ByteView whole) {
    REQUIRE(file.size() <= whole.size());
    REQUIRE(std::equal(file.begin(), file.end(), whole.begin()));
}

} // namespace

TEST_CASE("whichever write fails, the game goes on and the file is a whole prefix",
          "[replay][fault]") {
    auto good = std::make_shared<SinkPlan>();
    const Played whole = play(good);
    REQUIRE(whole.closed);
    // The head, every tick, two chunk ends, the trailer.
    REQUIRE(good->writes == 1 + session_ticks + 2 + 1);
    const Bytes complete = good->file;
    for (const std::errc failure : {std::errc::no_space_on_device, std::errc::io_error}) {
        for (std::uint64_t write = 0; write < good->writes; ++write) {
            INFO("write " << write);
            auto plan = std::make_shared<SinkPlan>();
            plan->fail_write = write;
            plan->failure = failure;
            plan->bytes_before_failure = write % 23;
            const Played played = play(plan);
            REQUIRE(played.ticks == session_ticks);
            REQUIRE(played.final_hash == whole.final_hash);
            REQUIRE(played.created == (write > 0));
            if (!played.created) {
                continue;
            }
            REQUIRE(plan->closed);
            REQUIRE_FALSE(played.closed);
            REQUIRE_FALSE(played.status.closed);
            REQUIRE(played.status.error);
            REQUIRE(played.status.error->code == Errc::io_error);
            REQUIRE(played.status.ticks + played.status.lost_ticks == session_ticks);
            REQUIRE(plan->truncates == 1);
            require_prefix(plan->file, complete);
            const Outcome outcome = read_all(plan->file, ReadMode::strict);
            REQUIRE_FALSE(outcome.error);
            REQUIRE(outcome.state == FileState::open);
            REQUIRE(outcome.ticks == played.status.ticks);
            REQUIRE(plan->file.size() == played.status.bytes);
        }
    }
}

TEST_CASE("a disk that recovers gets no record after a hole", "[replay][fault]") {
    auto plan = std::make_shared<SinkPlan>();
    plan->fail_write = 100;
    plan->fail_for_ever = false;
    const Played played = play(plan);
    CHECK(played.status.ticks == 99);
    CHECK(played.status.lost_ticks == session_ticks - 99);
    CHECK(read_all(plan->file).ticks == 99);
    CHECK(plan->writes == 101);
}

TEST_CASE("a disk that cannot even be cut leaves a file that reads as truncated",
          "[replay][fault]") {
    auto plan = std::make_shared<SinkPlan>();
    plan->fail_write = 100;
    plan->bytes_before_failure = 5;
    plan->fail_truncate = true;
    const Played played = play(plan);
    CHECK(played.ticks == session_ticks);
    const Outcome outcome = read_all(plan->file);
    CHECK(outcome.state == FileState::truncated);
    CHECK(outcome.ticks == 99);
}

TEST_CASE("short and interrupted writes change nothing", "[replay][fault]") {
    auto good = std::make_shared<SinkPlan>();
    play(good);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
        auto plan = std::make_shared<SinkPlan>();
        plan->write_bytes_max = bytes;
        plan->interrupt_every = 3;
        const Played played = play(plan);
        CHECK(played.closed);
        CHECK(plan->file == good->file);
    }
}

TEST_CASE("a write that writes nothing without an error is a failure, not a loop",
          "[replay][fault]") {
    auto plan = std::make_shared<SinkPlan>();
    plan->write_bytes_max = 0;
    CHECK_FALSE(play(plan).created);
}

TEST_CASE("a file that cannot be made durable is reported when it is closed", "[replay][fault]") {
    auto plan = std::make_shared<SinkPlan>();
    plan->fail_sync = true;
    const Played played = play(plan);
    CHECK_FALSE(played.closed);
    REQUIRE(played.status.error);
    CHECK(played.status.error->field == "sync");
    CHECK(read_all(plan->file).ticks == session_ticks);
}
