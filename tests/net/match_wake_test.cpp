// SPDX-License-Identifier: MIT
// A match that is only called when it wants to be: it misses nothing, never spins, and allocates
// nothing while it plays.
#include "allocation_counter.hpp"
#include "match_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

/// Turns time to where the match wants it; peers talk every 20 ms. Returns calls of advance.
std::uint64_t run_by_wakes(Bed& bed, Micros span) {
    const Micros end = bed.now + span;
    std::uint64_t calls = 0;
    Micros talk = bed.now;
    while (bed.now < end) {
        const Micros wake = bed.match.next_wake();
        const Micros next = std::min({std::max(wake, bed.now), talk, end});
        bed.now = next;
        if (next == talk) {
            for (auto& peer : bed.peers) {
                peer->talk();
            }
            talk = talk + milliseconds(20);
        }
        bed.turn();
        ++calls;
        REQUIRE(calls < 2'000'000);
    }
    return calls;
}

} // namespace

TEST_CASE("called when it wants, a match closes every tick at its microsecond",
          "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    const std::uint64_t calls = run_by_wakes(bed, seconds(10));
    CHECK(bed.journal.closed >= 490);
    const Micros worst = *std::max_element(bed.journal.lates.begin(), bed.journal.lates.end());
    CHECK(worst == Micros{0});
    CHECK(calls < 3000);
}

TEST_CASE("a match never wants to be called again and again for nothing", "[net][match][unit]") {
    const auto policy = GENERATE(Policy::deadline, Policy::wait, Policy::strict);
    MatchSettings settings = Bed::defaults(3);
    settings.policy = policy;
    settings.rejoin_window = seconds(8);
    Bed bed(settings);
    bed.simulate = true;
    bed.add("watcher", Role::spectator);
    REQUIRE(bed.peers[0]->connect());
    bed.fill(3);
    TestPeer& other = bed.add("other");
    other.has_build = true;
    other.build = {1, 1};
    REQUIRE(other.connect());
    std::uint64_t calls = run_by_wakes(bed, seconds(6));
    bed.peers[1]->talks = false; // Silent.
    bed.peers[2]->states.fault = bed.match.next_tick().value;
    bed.peers[2]->answers = false; // A search that finds nobody at home.
    calls += run_by_wakes(bed, seconds(6));
    bed.match.pause(bed.now);
    calls += run_by_wakes(bed, seconds(3));
    bed.match.resume(bed.now);
    bed.peers[3]->drop();
    calls += run_by_wakes(bed, seconds(12));
    REQUIRE(bed.add("late").connect({}, false)); // Never heard of again.
    bed.peers.back()->connected = false;
    calls += run_by_wakes(bed, seconds(5));
    bed.peers[1]->drop();
    bed.peers[2]->drop();
    calls += run_by_wakes(bed, seconds(20));
    CHECK(bed.match.status().ended);
    // Ticks, talks and ten keep-alives a second and peer; a spinning match makes millions.
    CHECK(calls < 25'000);
}

TEST_CASE("in the steady state a match allocates nothing", "[net][match][allocation]") {
    const bool relay = GENERATE(false, true);
    const bool twice = GENERATE(false, true);
    MatchSettings settings = Bed::defaults(4);
    settings.ring = seconds(4);
    settings.spectator_delay = seconds(1);
    settings.authority = relay ? Authority::relay : Authority::simulation;
    Bed bed(settings);
    bed.simulate = !relay;
    TestPeer& watcher = bed.add("watcher", Role::spectator);
    REQUIRE(watcher.connect());
    bed.fill(4);
    bed.run(seconds(10));
    bed.journal.keep = false;
    // The peers of this test allocate, so the same packets are made first and given then.
    std::vector<std::vector<Bytes>> talks;
    std::uint64_t during = 0;
    std::uint64_t composed = 0;
    std::uint64_t given = bed.server.tick();
    Bytes plaintext;
    plaintext.reserve(2048);
    std::vector<Bytes> frames;
    for (int tick = 0; tick < 200; ++tick) {
        frames.clear();
        for (const auto& peer : bed.peers) {
            Bytes runs;
            wire::RunWriter writer(runs, settings.neutral);
            const std::uint64_t next = bed.match.next_tick().value;
            for (int i = 0; i < 6; ++i) {
                writer.add(Bytes(2, static_cast<std::byte>(tick + i)));
            }
            writer.finish();
            wire::Inputs inputs;
            inputs.ack = peer->role_ == Role::spectator ? next - 60 : next;
            if (twice && peer->role_ == Role::player) {
                inputs.ack -= 2; // Something is there to be sent again.
            }
            inputs.first_tick = next;
            inputs.runs = runs;
            inputs.has_hash = relay && peer->role_ == Role::player;
            inputs.hash_tick = inputs.ack / 4 * 4;
            inputs.hash = static_cast<std::uint32_t>(inputs.hash_tick * 77);
            Bytes out;
            wire::encode_inputs(inputs, false, out);
            if (twice) {
                wire::encode_loss(wire::loss_window, out);
            }
            frames.push_back(out);
        }
        StateHashes hashes = bed.server.at(bed.server.tick());
        hashes.tick = Tick{given++};
        const AllocationCounter counter;
        for (std::size_t i = 0; i < bed.peers.size(); ++i) {
            wire::FrameReader reader(frames[i]);
            wire::Frame frame;
            while (*reader.next(frame)) {
                REQUIRE(bed.match.receive(bed.now, bed.peers[i]->index, frame).has_value());
            }
        }
        if (!relay) {
            bed.match.give_hashes(hashes);
        }
        for (int half = 0; half < 2; ++half) {
            bed.now = bed.now + milliseconds(10);
            bed.match.advance(bed.now);
            static_cast<void>(bed.match.next_wake());
            for (const auto& peer : bed.peers) {
                while (bed.match.compose(bed.now, peer->index, plaintext)) {
                    composed += peer->role_ == Role::player ? 1U : 0U;
                }
            }
        }
        if (tick >= 20) {
            during += counter.count();
        }
    }
    CHECK(bed.journal.closed > 600);
    CHECK(bed.match.status().players == 4);
    CHECK(during == 0);
    CHECK(composed >= (twice ? 2U : 1U) * 4U * 195U);
    CHECK(composed <= (twice ? 2U : 1U) * 4U * 205U);
}

TEST_CASE("memory of a player is small", "[net][match][unit]") {
    Bed two;
    MatchSettings settings = Bed::defaults(16);
    Bed sixteen(settings);
    const std::size_t each = (sixteen.match.memory_bytes() - two.match.memory_bytes()) / 14;
    CHECK(each < 16 * 1024);
    INFO("two players, before the first tick: " << two.match.memory_bytes());
    CHECK(two.match.memory_bytes() < 128 * 1024);
}
