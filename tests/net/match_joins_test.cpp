// SPDX-License-Identifier: MIT
// Late joiners: from the start, from a snapshot, out of the ring; budgets of joins.
#include "match_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

/// A match under way of one player, simulated by the server, with room for more.
struct Running {
    explicit Running(MatchSettings settings = make(), std::size_t players = 1)
        : bed(std::move(settings)) {
        bed.simulate = true;
        bed.fill(players);
    }

    static MatchSettings make() {
        MatchSettings settings = Bed::defaults(4);
        settings.start_players = 1;
        settings.ring = seconds(20);
        settings.spectator_delay = seconds(2);
        return settings;
    }

    /// Answers wishes for snapshots, some milliseconds later.
    void run(Micros span, std::size_t snapshot_bytes = 50'000) {
        const Micros end = bed.now + span;
        while (bed.now < end) {
            bed.run(milliseconds(20));
            if (bed.journal.snapshots_wanted.size() > given) {
                ++given;
                bed.match.give_snapshot(bed.now, Tick{bed.server.tick()}, Bytes(snapshot_bytes));
            }
        }
    }

    Bed bed;
    std::size_t given = 0;
};

bool same_ticks(const TestPeer& peer, const Journal& journal) {
    return std::equal(peer.frames.begin(),
                      peer.frames.end(),
                      journal.frames.begin() + static_cast<std::ptrdiff_t>(peer.base));
}

} // namespace

TEST_CASE("a joiner of a young match begins at state 0", "[net][match][join]") {
    Running running;
    Bed& bed = running.bed;
    running.run(seconds(5));
    TestPeer& late = bed.add("late");
    REQUIRE(late.connect());
    running.run(seconds(3));
    CHECK(late.snapshot_tick == 0);
    CHECK(bed.journal.snapshots_wanted.empty());
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(late.frames.size() + 1 >= bed.journal.frames.size());
    CHECK(same_ticks(late, bed.journal));
    CHECK(bed.match.status().substituted_late == 0);
    CHECK(bed.match.status().desyncs == 0);
}

TEST_CASE("a late joiner gets a snapshot, catches up and joins ahead of its inputs",
          "[net][match][join]") {
    Running running;
    Bed& bed = running.bed;
    running.run(seconds(40));
    TestPeer& late = bed.add("late");
    const std::uint64_t asked = bed.match.next_tick().value;
    REQUIRE(late.connect());
    running.run(seconds(4));
    REQUIRE(bed.journal.snapshots_wanted.size() == 1);
    REQUIRE(late.snapshot_tick.has_value());
    CHECK(*late.snapshot_tick >= asked);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(same_ticks(late, bed.journal));
    CHECK(bed.match.status().substituted_late == 0);
    CHECK(bed.match.status().snapshots_sent == 1);
    CHECK(bed.match.status().snapshot_bytes == 50'000);
    CHECK(bed.match.status().desyncs == 0);
    const auto events = bed.peers[0]->events();
    CHECK(events.back().find("1 1 late") != std::string::npos);
    const std::uint64_t join = std::stoull(events.back());
    CHECK(join >= *late.snapshot_tick + bed.match.settings().delay_ticks_max + 8U);
    TickFrame frame;
    REQUIRE(decode_frame(bed.journal.frames[join - 1], frame).has_value());
    CHECK_FALSE(frame.at(Slot{1}).present);
    REQUIRE(decode_frame(bed.journal.frames[join], frame).has_value());
    CHECK(frame.at(Slot{1}).present);
    CHECK_FALSE(frame.at(Slot{1}).substituted);
    // The next one shares the snapshot.
    TestPeer& later = bed.add("later");
    REQUIRE(later.connect());
    running.run(seconds(4));
    CHECK(bed.journal.snapshots_wanted.size() == 1);
    CHECK(later.snapshot_tick == late.snapshot_tick);
    CHECK(bed.match.player_state(Slot{2}) == PlayerState::live);
}

TEST_CASE("a megabyte joins in six seconds and the others see no late tick", "[net][match][join]") {
    Running running(Running::make(), 1);
    Bed& bed = running.bed;
    running.run(seconds(35));
    TestPeer& late = bed.add("late");
    REQUIRE(late.connect());
    const Micros begin = bed.now;
    Micros joined = never;
    while (bed.now - begin < seconds(10) && joined == never) {
        running.run(milliseconds(20), std::size_t{1} << 20U);
        if (bed.match.player_state(Slot{1}) == PlayerState::live) {
            joined = bed.now - begin;
        }
    }
    CHECK(joined <= seconds(6));
    CHECK(joined >= seconds(4)); // The pace is kept.
    CHECK(bed.match.status().substituted_late == 0);
    const Micros worst = *std::max_element(bed.journal.lates.begin(), bed.journal.lates.end());
    CHECK(worst <= milliseconds(1));
}

TEST_CASE("two snapshots are under way at most", "[net][match][threat-20]") {
    MatchSettings settings = Running::make();
    settings.slots = 4;
    Running running(settings);
    Bed& bed = running.bed;
    running.run(seconds(35));
    for (const std::string name : {"a", "b", "c"}) {
        REQUIRE(bed.add(name).connect());
    }
    running.run(seconds(1), 300'000);
    CHECK(bed.match.status().snapshots_sent == 2);
    running.run(seconds(4), 300'000);
    CHECK(bed.match.status().snapshots_sent == 3);
    CHECK(bed.match.status().players == 4);
}

TEST_CASE("a bot that asks a thousand times gets one snapshot in thirty seconds",
          "[net][match][threat-20]") {
    Running running(Running::make(), 2);
    Bed& bed = running.bed;
    running.run(seconds(2));
    for (int i = 0; i < 1000; ++i) {
        bed.peers[1]->request(wire::RequestKind::snapshot);
        running.run(milliseconds(20));
    }
    CHECK(bed.match.status().snapshots_sent == 1);
    CHECK(bed.match.status().requests_refused > 900);
    running.run(seconds(15));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
}

TEST_CASE("a player who asks for a fourth snapshot in ten minutes becomes a spectator",
          "[net][match][unit]") {
    MatchSettings settings = Running::make();
    Running running(settings, 2);
    Bed& bed = running.bed;
    running.run(seconds(2));
    for (int i = 0; i < 3; ++i) {
        bed.peers[1]->request(wire::RequestKind::snapshot);
        running.run(seconds(35));
        CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    }
    CHECK(bed.match.status().snapshots_sent == 3);
    bed.peers[1]->request(wire::RequestKind::snapshot);
    running.run(seconds(2));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::empty);
    CHECK(bed.peers[0]->events().back().find(" 2 1 ") != std::string::npos);
    CHECK(bed.peers[1]->connected);
    running.run(seconds(1));
    CHECK(bed.match.status().spectators == 1);
}

TEST_CASE("a seat that was given away is not taken back by a late handshake",
          "[net][match][threat-12]") {
    Bed bed;
    bed.fill(1);
    TestPeer& first = *bed.peers[0];
    TestPeer& second = bed.add("p0");
    REQUIRE(second.connect(first.admitted.ticket, false));
    first.drop();
    TestPeer& other = bed.add("other");
    SECTION("it is free") {}
    SECTION("somebody else has it") {
        REQUIRE(other.connect());
    }
    bed.match.connected(bed.now, second.index);
    second.connected = true;
    bed.run(milliseconds(100));
    CHECK(second.reason == CloseReason::replaced);
    bed.fill(other.connected ? 1 : 2);
    bed.run(seconds(2));
    CHECK(bed.match.status().players == 2);
}

TEST_CASE("a peer that falls out of the ring gets three snapshots, then it is too slow",
          "[net][match][join]") {
    MatchSettings settings = Running::make();
    settings.ring = seconds(8);
    settings.spectator_delay = seconds(1);
    Running running(settings, 1);
    Bed& bed = running.bed;
    running.run(seconds(10));
    TestPeer& watcher = bed.add("watcher", Role::spectator);
    REQUIRE(watcher.connect());
    running.run(seconds(10));
    CHECK(bed.match.status().snapshots_sent == 1);
    CHECK(watcher.frames.size() > 100);
    for (int i = 0; i < 3 && watcher.connected; ++i) {
        watcher.hears = false;
        watcher.talks = false;
        running.run(seconds(12));
        watcher.hears = true;
        watcher.talks = true;
        running.run(seconds(30));
    }
    CHECK(bed.match.status().snapshots_sent == 3);
    CHECK(watcher.reason == CloseReason::too_slow);
}

TEST_CASE("a spectator's snapshot is never ahead of what it may see", "[net][match][threat-16]") {
    Running running;
    Bed& bed = running.bed;
    running.run(seconds(40));
    TestPeer& watcher = bed.add("watcher", Role::spectator);
    REQUIRE(watcher.connect());
    const std::uint64_t delay = 100;
    for (int i = 0; i < 500; ++i) {
        running.run(milliseconds(20));
        if (watcher.snapshot_tick) {
            REQUIRE(*watcher.snapshot_tick + delay <= bed.match.next_tick().value);
        }
    }
    REQUIRE(watcher.snapshot_tick.has_value());
    CHECK(watcher.frames.size() > 100);
    CHECK(same_ticks(watcher, bed.journal));
}

TEST_CASE("a backlog is streamed within its budget and the live ticks stay in time",
          "[net][match][join]") {
    Running running;
    Bed& bed = running.bed;
    running.run(seconds(15));
    TestPeer& late = bed.add("late");
    REQUIRE(late.connect());
    running.run(milliseconds(200));
    const std::uint64_t before = late.bytes;
    running.run(seconds(1));
    CHECK(late.bytes - before < 80 * 1024);
    running.run(seconds(3));
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(same_ticks(late, bed.journal));
}
