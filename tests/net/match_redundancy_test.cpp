// SPDX-License-Identifier: MIT
// What a report of loss makes a match do: each tick twice, to nobody else, and not for ever.
#include "match_support.hpp"

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::match_test;

namespace {

/// What a peer was sent while so many ticks were closed.
struct Sent {
    std::uint64_t packets = 0;
    std::uint64_t ticks = 0;
};

/// Two players whose acknowledgements take longer than half a tick.
class LossyBed : public Bed {
public:
    explicit LossyBed(MatchSettings settings = defaults())
        : Bed(std::move(settings)) {}

    void play() {
        fill(2);
        for (auto& peer : peers) {
            peer->up_delay = milliseconds(30);
            peer->delay = 4;
        }
        run(seconds(2));
        REQUIRE(match.status().started);
    }

    void report(TestPeer& peer, std::uint8_t lost) {
        Bytes frame;
        wire::encode_loss(lost, frame);
        peer.send_bytes(frame);
    }

    Sent sent_to(const TestPeer& peer, Micros span) {
        const Sent before{peer.packets, journal.closed};
        run(span);
        return {peer.packets - before.packets, journal.closed - before.ticks};
    }
};

} // namespace

TEST_CASE("a player who reports loss is sent each tick twice until ten seconds after",
          "[net][match][redundancy]") {
    LossyBed bed;
    bed.play();
    TestPeer& lossy = *bed.peers[0];
    TestPeer& other = *bed.peers[1];
    const std::uint64_t before = other.packets;
    Sent sent = bed.sent_to(lossy, seconds(4));
    CHECK(sent.packets <= sent.ticks + 1);
    bed.report(lossy, 2);
    const std::uint64_t from = bed.journal.closed;
    sent = bed.sent_to(lossy, seconds(9));
    CHECK(sent.packets >= 2 * sent.ticks - 2);
    CHECK(sent.packets <= 2 * sent.ticks + 2);
    bed.run(seconds(2));
    sent = bed.sent_to(lossy, seconds(4));
    CHECK(sent.packets <= sent.ticks + 1);
    CHECK(bed.journal.closed - from >= 700);
    // Nothing of that is any of the other's business.
    CHECK(other.packets - before <= bed.journal.closed);
    CHECK(bed.match.status().substituted_late == 0);
}

TEST_CASE("the second datagram goes out half a tick after the first", "[net][match][redundancy]") {
    LossyBed bed;
    bed.play();
    bed.report(*bed.peers[0], 64);
    std::vector<std::int64_t> at;
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t before = bed.peers[0]->packets;
        bed.run(milliseconds(1));
        if (bed.peers[0]->packets != before) {
            at.push_back(bed.now.value);
        }
    }
    REQUIRE(at.size() >= 18);
    for (std::size_t i = 1; i < at.size(); ++i) {
        CHECK(at[i] - at[i - 1] == 10'000);
    }
}

TEST_CASE("a player who lies about its loss is sent twice as much at most",
          "[net][match][redundancy][hostile]") {
    LossyBed bed;
    bed.play();
    TestPeer& liar = *bed.peers[0];
    TestPeer& other = *bed.peers[1];
    const Sent honest = bed.sent_to(liar, seconds(4));
    const std::uint64_t packets = liar.packets;
    const std::uint64_t others = other.packets;
    const std::uint64_t ticks = bed.journal.closed;
    for (int i = 0; i < 4'000; ++i) {
        bed.report(liar, 128);
        bed.run(milliseconds(1));
    }
    CHECK(bed.journal.closed - ticks == honest.ticks);
    CHECK(liar.packets - packets > honest.packets * 3 / 2);
    CHECK(liar.packets - packets <= 2 * honest.packets + 2);
    CHECK(other.packets - others <= honest.ticks + 1);
}

TEST_CASE("one lost packet, a spectator's loss and a match that forbids it change nothing",
          "[net][match][redundancy]") {
    MatchSettings settings = Bed::defaults();
    std::uint8_t lost = 128;
    SECTION("one of 128") {
        lost = 1;
    }
    SECTION("switched off") {
        settings.redundancy = false;
    }
    LossyBed bed(settings);
    bed.play();
    TestPeer& watcher = bed.add("watcher", Role::spectator);
    REQUIRE(watcher.connect());
    watcher.up_delay = milliseconds(30);
    bed.run(seconds(15));
    for (int i = 0; i < 4; ++i) {
        bed.report(watcher, 128);
        const std::uint64_t watched = watcher.packets;
        bed.report(*bed.peers[0], lost);
        const Sent sent = bed.sent_to(*bed.peers[0], seconds(1));
        CHECK(sent.packets <= sent.ticks + 1);
        CHECK(watcher.packets - watched <= sent.ticks + 1);
    }
}

TEST_CASE("a report of more packets than were sent ends the connection",
          "[net][match][redundancy][hostile]") {
    LossyBed bed;
    bed.play();
    const Bytes body(1, std::byte{129});
    bed.peers[0]->send({wire::FrameType::loss, body});
    CHECK(bed.peers[0]->closed);
}
