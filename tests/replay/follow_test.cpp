// SPDX-License-Identifier: MIT
// Recordings that are read while they are written, and the names that they get.
#include "recording_support.hpp"
#include "test_random.hpp"

#include "twinstep/replay/follow.hpp"
#include "twinstep/replay/names.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace twinstep::replay {

namespace {

void append(const std::string& path, ByteView bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    for (const std::byte byte : bytes) {
        file.put(static_cast<char>(byte));
    }
}

/// Reads what is there now; the number of records.
std::size_t drain(Follower& follower) {
    std::size_t count = 0;
    while (true) {
        const auto record = follower.next();
        INFO((record ? std::string() : to_string(record.error())));
        REQUIRE(record);
        if (record->kind == RecordKind::end) {
            return count;
        }
        ++count;
    }
}

} // namespace

TEST_CASE("a follower hands out each record once, however the file grows",
          "[replay][follow][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Bytes file = record_small_chunks(60, 7, 2);
    const Outcome whole = read_all(file);
    for (int round = 0; round < 20; ++round) {
        const ScratchDirectory directory;
        const std::string path = directory.file("a.twin");
        auto size = static_cast<std::size_t>(whole.records[0].offset);
        append(path, ByteView(file).first(size));
        auto follower = Follower::open(path);
        REQUIRE(follower);
        std::size_t records = 0;
        while (size < file.size()) {
            const std::size_t more = std::min(file.size() - size, 1 + random.below(90));
            append(path, ByteView(file).subspan(size, more));
            size += more;
            records += drain(*follower);
            const Outcome now = read_all(ByteView(file).first(size));
            REQUIRE(records == now.records.size());
            REQUIRE(follower->reader().ticks() == now.ticks);
            if (records > 0) {
                REQUIRE(follower->reader().bytes() ==
                        now.records.back().offset + now.records.back().size);
            }
            REQUIRE(follower->state() ==
                    (size == file.size() ? FollowState::closed : FollowState::waiting));
        }
        REQUIRE(records == whole.records.size());
        REQUIRE(drain(*follower) == 0);
    }
}

TEST_CASE("a follower sees a tick before its step, through the journal", "[replay][follow][unit]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("a.twin");
    auto simulation = toy_simulation(2);
    auto recorder = Recorder::create(path, *simulation, {.session = test_session()});
    REQUIRE(recorder);
    ToySource source(2, 2000);
    Driver driver(*simulation, source);
    driver.add(*recorder);
    auto follower = Follower::open(path);
    REQUIRE(follower);
    auto played = toy_simulation(2);
    const auto prepared = prepare_simulation(*played, follower->reader());
    REQUIRE(prepared);
    FollowCheck check(*played);
    for (std::uint64_t tick = 0; tick < 2000; ++tick) {
        REQUIRE(driver.advance(1));
        bool seen = false;
        while (true) {
            const auto record = follower->next();
            REQUIRE(record);
            if (record->kind == RecordKind::end) {
                break;
            }
            seen = seen || record->kind == RecordKind::tick;
            REQUIRE(check.take(*record));
        }
        REQUIRE(seen);
        REQUIRE(follower->reader().ticks() == tick + 1);
        REQUIRE(played->tick().value == tick + 1);
    }
    CHECK(follower->state() == FollowState::waiting);
    REQUIRE(recorder->close());
    REQUIRE(drain(*follower) > 0);
    CHECK(follower->state() == FollowState::closed);
    CHECK_FALSE(check.divergence());
    CHECK(check.hashes_checked() >= 2000);
    CHECK(played->hash().state == simulation->hash().state);
}

TEST_CASE("a follower that plays along finds the first divergence", "[replay][follow][unit]") {
    const ScratchDirectory directory;
    const std::string path = directory.file("a.twin");
    append(path, record_small_chunks(20, 5, 1));
    auto follower = Follower::open(path);
    REQUIRE(follower);
    auto played = toy_simulation(1, 8); // Another seed.
    FollowCheck check(*played);
    for (auto record = follower->next(); record && record->kind != RecordKind::end;
         record = follower->next()) {
        REQUIRE(check.take(*record));
    }
    REQUIRE(check.divergence());
    CHECK(check.divergence()->tick == Tick{0});
    CHECK(played->tick() == Tick{0});
}

TEST_CASE("a file that is cut, replaced or renamed under a follower is told apart",
          "[replay][follow][fault]") {
    const Bytes file = record_small_chunks(60, 7);
    const Outcome whole = read_all(file);
    const ScratchDirectory directory;
    const std::string path = directory.file("a.twin");
    const auto half = static_cast<std::size_t>(whole.records[30].offset);
    const auto start = [&] {
        std::filesystem::remove(path);
        append(path, ByteView(file).first(half));
        auto follower = Follower::open(path);
        REQUIRE(follower);
        REQUIRE(drain(*follower) == 30);
        REQUIRE(follower->state() == FollowState::waiting);
        return std::move(*follower);
    };
    SECTION("cut inside what was read") {
        Follower follower = start();
        std::filesystem::resize_file(path, half - 1);
        CHECK(drain(follower) == 0);
        CHECK(follower.state() == FollowState::cut);
    }
    SECTION("half a record is taken back, as a full disk has it, and written anew") {
        Follower follower = start();
        append(path, Bytes{std::byte{1}, std::byte{0x70}, std::byte{2}, std::byte{3}});
        CHECK(drain(follower) == 0);
        std::filesystem::resize_file(path, half);
        CHECK(drain(follower) == 0);
        CHECK(follower.state() == FollowState::waiting);
        append(path, ByteView(file).subspan(half));
        CHECK(drain(follower) == whole.records.size() - 30);
        CHECK(follower.state() == FollowState::closed);
    }
    SECTION("replaced by another recording") {
        Follower follower = start();
        std::filesystem::remove(path);
        append(path, record_small_chunks(90, 7, 1, test_session(9)));
        CHECK(drain(follower) == 0);
        CHECK(follower.state() == FollowState::replaced);
    }
    SECTION("written over by another recording in place") {
        Follower follower = start();
        std::filesystem::resize_file(path, 0);
        append(path, record_small_chunks(90, 7, 1, test_session(9)));
        // The next record is not the one that belongs there.
        CHECK_FALSE(follower.next());
        CHECK(follower.state() == FollowState::replaced);
    }
    SECTION("renamed") {
        Follower follower = start();
        const std::string other = directory.file("b.twin");
        std::filesystem::rename(path, other);
        append(other, ByteView(file).subspan(half));
        CHECK(drain(follower) == whole.records.size() - 30);
        CHECK(follower.state() == FollowState::closed);
    }
    SECTION("damaged") {
        Follower follower = start();
        append(path, Bytes(200'000, std::byte{1}));
        CHECK_FALSE(follower.next());
        CHECK_FALSE(follower.next());
    }
}

TEST_CASE("a recording's name is its time and session", "[replay][names][unit]") {
    SessionId session{};
    session[0] = std::byte{0xA1};
    session[3] = std::byte{0x0F};
    CHECK(recording_name(0, session) == "19700101T000000Z_a100000f.twin");
    CHECK(recording_name(951'782'399, session) == "20000228T235959Z_a100000f.twin");
    CHECK(recording_name(951'782'400, session) == "20000229T000000Z_a100000f.twin");
    CHECK(recording_name(1'796'061'300, session) == "20261130T175500Z_a100000f.twin");
    CHECK(recording_name(4'107'542'399, session) == "21000228T235959Z_a100000f.twin");
    CHECK(recording_name(4'107'542'400, session) == "21000301T000000Z_a100000f.twin");
    CHECK(recording_name(-5, session) == "19700101T000000Z_a100000f.twin");
    CHECK(recording_name(INT64_MAX, session) == "99991231T235959Z_a100000f.twin");
}

TEST_CASE("recordings of one second, and even of one session's digits, get files of their own",
          "[replay][names][fault]") {
    const ScratchDirectory scratch;
    const std::string directory = scratch.file("gr\xC3\xBC\xC3\x9F \xE6\x97\xA5");
    std::filesystem::create_directory(directory);
    std::uint8_t next = 1;
    // The same session three times in a row, then others.
    const auto sessions = [&next]() -> Result<SessionId> {
        return test_session(next < 4 ? (++next, std::uint8_t{1}) : ++next);
    };
    const auto first = create_named_recording(directory, 1'796'061'300, sessions);
    REQUIRE(first);
    CHECK(first->path == directory + "/20261130T175500Z_01000000.twin");
    const auto second = create_named_recording(directory, 1'796'061'300, sessions);
    REQUIRE(second);
    CHECK(second->path == directory + "/20261130T175500Z_05000000.twin");
    CHECK(second->session == test_session(5));
    // Somebody who has no other session is told.
    const auto same = []() -> Result<SessionId> { return test_session(1); };
    const auto third = create_named_recording(directory, 1'796'061'300, same);
    REQUIRE_FALSE(third);
    CHECK(third.error().code == Errc::already_exists);
    const auto nowhere = create_named_recording(scratch.file("no"), 0);
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().code == Errc::io_error);
}

} // namespace twinstep::replay
