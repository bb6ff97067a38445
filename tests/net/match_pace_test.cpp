// SPDX-License-Identifier: MIT
// One delay for all players, and the tick that stretches when most machines are behind.
#include "match_support.hpp"

#include <algorithm>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

std::vector<std::uint32_t> delays(const TestPeer& peer) {
    std::vector<std::uint32_t> all;
    for (const std::string& event : peer.events()) {
        const auto at = event.find("delay=");
        if (at != std::string::npos) {
            all.push_back(static_cast<std::uint32_t>(std::stoul(event.substr(at + 6))));
        }
    }
    return all;
}

} // namespace

TEST_CASE("equal delay: what one player needs is announced to all", "[net][match][pace]") {
    MatchSettings settings = Bed::defaults();
    settings.equal_delay = true;
    Bed bed(settings);
    bed.fill(2);
    bed.run(milliseconds(100));
    REQUIRE(delays(*bed.peers[0]) == std::vector<std::uint32_t>{2});
    // Both obey; the second one's packets take 60 ms more.
    bed.peers[0]->delay = 2;
    bed.peers[1]->delay = 2;
    bed.peers[1]->up_delay = milliseconds(60);
    for (int i = 0; i < 800; ++i) {
        bed.run(milliseconds(20));
        const auto said = delays(*bed.peers[0]);
        const std::uint64_t wanted = said.back();
        bed.peers[0]->delay = wanted;
        bed.peers[1]->delay = wanted;
    }
    const auto said = delays(*bed.peers[0]);
    CHECK(said == delays(*bed.peers[1]));
    CHECK(said.size() >= 2);
    CHECK(said.size() <= 6); // It settles.
    CHECK(said.back() >= 4);
    CHECK(said.back() <= 7);
}

TEST_CASE("pace stretches by a tenth while most players are behind and no longer",
          "[net][match][pace]") {
    const int slow = GENERATE(1, 2);
    MatchSettings settings = Bed::defaults(3);
    settings.pace_median = true;
    settings.hash_interval_ticks = 1;
    Bed bed(settings);
    bed.fill(3);
    bed.run(seconds(2));
    for (const auto& peer : bed.peers) {
        peer->reports = false;
        peer->tells_progress = false;
    }
    // Reports of progress by hand: slow ones are 20 ticks (400 ms) behind what they have.
    const auto play = [&](Micros span, bool behind) {
        for (Micros t; t < span; t = t + milliseconds(20)) {
            bed.run(milliseconds(20));
            for (int i = 0; i < 3; ++i) {
                TestPeer& peer = *bed.peers[static_cast<std::size_t>(i)];
                const std::uint64_t lag = behind && i < slow ? 20 : 0;
                wire::Inputs inputs;
                inputs.ack = peer.need();
                inputs.first_tick = inputs.ack;
                inputs.has_hash = true;
                inputs.hash_tick = peer.need() - lag;
                Bytes out;
                wire::encode_inputs(inputs, true, out);
                peer.send_bytes(out);
            }
        }
    };
    for (const auto& peer : bed.peers) {
        peer->delay = 10;
    }
    play(seconds(1), false);
    const auto ticks_in = [&](Micros span, bool behind) {
        const std::uint64_t before = bed.journal.closed;
        play(span, behind);
        return bed.journal.closed - before;
    };
    ticks_in(seconds(4), true);
    const std::uint64_t while_behind = ticks_in(seconds(10), true);
    if (slow == 2) {
        CHECK(while_behind >= 452);
        CHECK(while_behind <= 458);
    } else {
        CHECK(while_behind >= 498); // One slow machine never changes the pace.
    }
    ticks_in(seconds(1), false);
    CHECK(ticks_in(seconds(10), false) >= 498);
}
