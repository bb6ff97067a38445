// SPDX-License-Identifier: MIT
// Blobs over bad lines: everything arrives, in time, with little sent twice.
#include "hex.hpp"
#include "test_random.hpp"

#include "twinstep/net/blob.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>

using namespace twinstep;
using namespace twinstep::net;

namespace {

constexpr std::uint32_t pace_bytes_per_s = 256 * 1024;

struct Line {
    std::size_t loss_percent = 0;
    Micros delay = milliseconds(50); ///< One way.
    Micros jitter{};                 ///< Added to it, at random; more than a tick reorders.
    std::size_t twice_percent = 0;
    std::size_t burst = 1; ///< Datagrams lost in a row.
};

/// One direction: what is sent arrives later, or not, or twice.
class Way {
public:
    Way(const Line& line, TestRandom& random)
        : line_(line)
        , random_(random) {}

    void send(Micros now, const Bytes& frame) {
        if (lost_ > 0) {
            --lost_;
            return;
        }
        if (random_.below(100 * line_.burst) < line_.loss_percent) {
            lost_ = line_.burst - 1;
            return;
        }
        const std::size_t copies = random_.below(100) < line_.twice_percent ? 2 : 1;
        for (std::size_t i = 0; i < copies; ++i) {
            const auto more = static_cast<std::int64_t>(
                random_.below(static_cast<std::size_t>(line_.jitter.value) + 1));
            under_way_.emplace(now + line_.delay + Micros{more}, frame);
        }
    }

    template <class Take>
    void deliver(Micros now, Take take) {
        while (!under_way_.empty() && under_way_.begin()->first <= now) {
            const Bytes frame = under_way_.begin()->second;
            under_way_.erase(under_way_.begin());
            wire::FrameReader reader(frame);
            wire::Frame cut;
            REQUIRE(reader.next(cut).value());
            take(cut);
        }
    }

private:
    const Line& line_;
    TestRandom& random_;
    std::size_t lost_ = 0;
    std::multimap<Micros, Bytes> under_way_;
};

struct Outcome {
    Micros took = never;
    std::uint64_t repeated = 0;
    std::uint32_t chunks = 0;
    std::uint64_t line_bytes = 0;
    bool genuine = false;
    bool overdue = false;
};

std::shared_ptr<const Bytes> some_bytes(std::size_t size, TestRandom& random) {
    return std::make_shared<Bytes>(random_bytes(random, size));
}

/// Both sides are called 60 times a second, as a match and a client call them.
Outcome transfer(std::size_t size, const Line& line, TestRandom& random) {
    const auto bytes = some_bytes(size, random);
    const auto offer = make_blob_offer(1, wire::BlobKind::snapshot, Tick{77}, *bytes, 5);
    BlobSender sender;
    BlobReceiver receiver;
    receiver.expect(wire::BlobKind::snapshot, wire::snapshot_bytes_max, pace_bytes_per_s);
    Way down(line, random);
    Way up(line, random);
    Outcome outcome;
    sender.start(Micros{}, offer, bytes, pace_bytes_per_s);
    outcome.chunks = sender.chunks();
    Bytes frame;
    for (Micros now{}; now < seconds(120); now = now + Micros{16'667}) {
        down.deliver(now, [&](const wire::Frame& cut) {
            if (cut.type == wire::FrameType::blob_offer) {
                REQUIRE(receiver.on_offer(now, *wire::decode_blob_offer(cut.body)));
            } else {
                const auto whole = receiver.on_chunk(now, *wire::decode_blob_chunk(cut.body));
                REQUIRE(text_of(whole) == "ok");
                if (*whole) {
                    outcome.took = now;
                    outcome.genuine =
                        Bytes(receiver.bytes().begin(), receiver.bytes().end()) == *bytes;
                }
            }
        });
        up.deliver(now, [&](const wire::Frame& cut) {
            REQUIRE(text_of(sender.on_ack(now, *wire::decode_blob_ack(cut.body))) == "ok");
        });
        while (frame.clear(), sender.compose(now, 1150, nullptr, frame)) {
            REQUIRE(frame.size() <= 1150);
            outcome.line_bytes += frame.size() + wire::data_header_bytes + wire::tag_bytes + 28;
            down.send(now, frame);
        }
        while (frame.clear(), receiver.compose_ack(now, frame)) {
            up.send(now, frame);
        }
        if (sender.done()) {
            break;
        }
        outcome.overdue = sender.overdue(now);
        if (outcome.overdue || !receiver.advance(now)) {
            REQUIRE(now > seconds(5));
            break;
        }
    }
    REQUIRE(sender.done() != outcome.overdue);
    outcome.repeated = sender.chunks_repeated();
    return outcome;
}

double in_seconds(Micros time) {
    return static_cast<double>(time.value) / 1e6;
}

} // namespace

TEST_CASE("1 MiB at 256 KiB/s arrives within 6 s at 100 ms round trip and 5 % loss", "[net]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const Outcome clean = transfer(1 << 20, {}, random);
    const Outcome lossy =
        transfer(1 << 20, {.loss_percent = 5, .jitter = milliseconds(20)}, random);
    INFO("clean " << in_seconds(clean.took) << " s, " << clean.repeated << " repeated; lossy "
                  << in_seconds(lossy.took) << " s, " << lossy.repeated << " repeated of "
                  << lossy.chunks);
    CHECK(clean.genuine);
    CHECK(clean.repeated == 0);
    CHECK(clean.took < milliseconds(4'700));
    CHECK(lossy.genuine);
    CHECK(lossy.took < seconds(6));
    // 5 % are lost and 5 % of the repairs; little more may be repeated.
    CHECK(lossy.repeated < lossy.chunks / 10);
}

TEST_CASE("the pace is never exceeded over any second", "[net]") {
    TestRandom random;
    const auto bytes = some_bytes(3 << 20, random);
    BlobSender sender;
    sender.start(Micros{},
                 make_blob_offer(1, wire::BlobKind::snapshot, Tick{0}, *bytes, 0),
                 bytes,
                 pace_bytes_per_s);
    std::deque<std::pair<Micros, std::size_t>> last_second;
    std::size_t in_last = 0;
    std::size_t most = 0;
    Bytes frame;
    std::uint32_t arrived = 0;
    for (Micros now{}; now < seconds(8); now = now + milliseconds(5)) {
        while (frame.clear(), sender.compose(now, 1150, nullptr, frame)) {
            const std::size_t cost = frame.size() + wire::data_header_bytes + wire::tag_bytes + 28;
            last_second.emplace_back(now, cost);
            in_last += cost;
            wire::Frame cut;
            REQUIRE(wire::FrameReader(frame).next(cut));
            arrived += cut.type == wire::FrameType::blob_chunk ? 1 : 0;
        }
        while (!last_second.empty() && now - last_second.front().first >= seconds(1)) {
            in_last -= last_second.front().second;
            last_second.pop_front();
        }
        most = std::max(most, in_last);
        REQUIRE(sender.on_ack(now, {1, arrived, {}}));
    }
    CHECK(most > pace_bytes_per_s * 95 / 100);
    CHECK(most < pace_bytes_per_s + pace_bytes_per_s / 20 + 1200);
}

TEST_CASE("blobs of any size arrive whole over any line, nearly always in time",
          "[net][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    int late = 0;
    for (int round = 0; round < 60; ++round) {
        Line line;
        line.loss_percent = random.below(26);
        line.burst = 1 + random.below(4);
        line.delay = milliseconds(static_cast<std::int64_t>(random.below(150)));
        line.jitter = milliseconds(static_cast<std::int64_t>(random.below(120)));
        line.twice_percent = random.below(20);
        const std::size_t size = 1 + random.below(round % 3 == 0 ? 300'000 : 5'000);
        INFO("round " << round << ", " << size << " bytes, loss " << line.loss_percent
                      << " % in bursts of " << line.burst);
        const Outcome outcome = transfer(size, line, random);
        if (outcome.overdue) {
            // Half a second of round trip and every fourth datagram lost: some are given up.
            REQUIRE(line.loss_percent > 15);
            ++late;
        } else {
            REQUIRE(outcome.genuine);
        }
    }
    CHECK(late <= 3);
}

TEST_CASE("several senders together keep within the shared budget", "[net]") {
    TestRandom random;
    const auto bytes = some_bytes(2 << 20, random);
    ByteBudget shared(512 * 1024);
    std::array<BlobSender, 8> senders;
    std::array<std::uint32_t, 8> sent{};
    std::uint32_t id = 0;
    for (BlobSender& sender : senders) {
        sender.start(Micros{},
                     make_blob_offer(++id, wire::BlobKind::snapshot, Tick{0}, *bytes, 0),
                     bytes,
                     pace_bytes_per_s);
    }
    Bytes frame;
    std::size_t total = 0;
    for (Micros now{}; now < seconds(10); now = now + milliseconds(16)) {
        for (std::size_t i = 0; i < senders.size(); ++i) {
            BlobSender& sender = senders[(i + static_cast<std::size_t>(now.value / 16'000)) % 8];
            while (frame.clear(), sender.compose(now, 1150, &shared, frame)) {
                total += frame.size() + wire::data_header_bytes + wire::tag_bytes + 28;
                wire::Frame cut;
                REQUIRE(wire::FrameReader(frame).next(cut));
                sent[sender.offer().id - 1] += cut.type == wire::FrameType::blob_chunk ? 1U : 0U;
            }
            REQUIRE(sender.on_ack(now, {sender.offer().id, sent[sender.offer().id - 1], {}}));
            // Held back by the others, not by its receiver.
            REQUIRE_FALSE(sender.overdue(now));
        }
    }
    CHECK(total < 512 * 1024 * 10 + 40'000);
    CHECK(total > 512 * 1024 * 9);
}

TEST_CASE("a blob the receiver has from before is done at once", "[net]") {
    TestRandom random;
    const auto bytes = some_bytes(5'000, random);
    const auto offer = make_blob_offer(9, wire::BlobKind::manifest, Tick{0}, *bytes, 0);
    BlobSender sender;
    sender.start(Micros{}, offer, bytes, pace_bytes_per_s);
    REQUIRE(sender.on_ack(Micros{1}, {9, sender.chunks(), 0}));
    CHECK(sender.done());
    CHECK_FALSE(sender.active());
    CHECK(sender.next_wake(Micros{1}) == never);
}

TEST_CASE("the last acknowledgement may be lost", "[net]") {
    TestRandom random;
    const auto bytes = some_bytes(700, random);
    const auto offer = make_blob_offer(1, wire::BlobKind::snapshot, Tick{3}, *bytes, 0);
    BlobReceiver receiver;
    receiver.expect(wire::BlobKind::snapshot, 10'000, pace_bytes_per_s);
    REQUIRE(receiver.on_offer(Micros{}, offer));
    REQUIRE(receiver.on_chunk(Micros{1}, {1, 0, *bytes}).value());
    Bytes frame;
    REQUIRE(receiver.compose_ack(Micros{2}, frame));
    REQUIRE(receiver.take() == *bytes);
    receiver.expect(wire::BlobKind::snapshot, 10'000, pace_bytes_per_s);
    // Neither a repeated offer nor a repeated chunk is an error, and both are answered.
    for (const int what : {0, 1}) {
        frame.clear();
        const Micros now = seconds(1 + what);
        if (what == 0) {
            REQUIRE(receiver.on_offer(now, offer));
        } else {
            REQUIRE(receiver.on_chunk(now, {1, 0, *bytes}) == false);
        }
        REQUIRE(receiver.compose_ack(now, frame));
        wire::Frame cut;
        REQUIRE(wire::FrameReader(frame).next(cut));
        CHECK(wire::decode_blob_ack(cut.body)->next == 1);
    }
}
