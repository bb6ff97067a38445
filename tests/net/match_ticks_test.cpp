// SPDX-License-Identifier: MIT
// When ticks are closed, what is in them, and who gets them.
#include "match_support.hpp"

#include <algorithm>

using namespace match_test;

namespace {

TickFrame frame_at(const Bytes& encoded) {
    TickFrame frame;
    REQUIRE(decode_frame(encoded, frame).has_value());
    return frame;
}

} // namespace

TEST_CASE("two players join and every tick is closed at its time", "[net][match][unit]") {
    Bed bed;
    bed.fill(2);
    bed.run(seconds(3));
    REQUIRE(bed.match.status().started);
    CHECK(bed.match.player_state(Slot{0}) == PlayerState::live);
    CHECK(bed.match.player_state(Slot{1}) == PlayerState::live);
    CHECK(bed.journal.frames.size() >= 145);
    CHECK(bed.match.status().substituted_late == 0);
    CHECK(bed.match.status().overruns == 0);
    for (const auto& peer : bed.peers) {
        CHECK(peer->frames.size() + 1 >= bed.journal.frames.size());
        CHECK(std::equal(peer->frames.begin(), peer->frames.end(), bed.journal.frames.begin()));
    }
    CHECK(bed.peers[0]->events() == std::vector<std::string>{"0 1 0 p0", "0 1 1 p1"});
    const TickFrame frame = frame_at(bed.journal.frames[100]);
    CHECK(frame.at(Slot{1}).present);
    CHECK_FALSE(frame.at(Slot{1}).substituted);
    CHECK(frame.input(Slot{1})[0] == std::byte{100});
}
