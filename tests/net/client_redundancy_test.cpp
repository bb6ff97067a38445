// SPDX-License-Identifier: MIT
// A client on a path with loss: when it sends its inputs twice, and what it says of its own loss.
#include "client_support.hpp"

using namespace client_test;

namespace {

/// A client that plays at 50 Hz against a server that is 40 ms away.
class LossyPair : public Pair {
public:
    explicit LossyPair(ClientSettings settings = toy_client())
        : Pair(std::move(settings)) {
        connect_and_load();
        client.ready(now);
        server.send_ticks(0, {}, 0, 30, down);
        deliver_down();
        run(50);
        REQUIRE(client.state() == ClientState::playing);
    }

    /// So many ticks, in steps of a millisecond. Returns the datagrams that the client sent.
    std::uint64_t run(std::uint64_t ticks) {
        const std::uint64_t before = server.packets;
        for (std::uint64_t i = 0; i < ticks * 20; ++i) {
            now = now + milliseconds(1);
            if (now.value % 20'000 == 0) {
                // What is acknowledged was given two ticks ago, so something always is not.
                server.send_ticks(tick, {closed_frame(tick, 2, toy_neutral())}, tick + 1, 30, down);
                ++tick;
                deliver_down();
                REQUIRE(*client.next(Tick{tick - 1}, frame) == Supply::ready);
            }
            while (client.inputs_wanted(now) > 0) {
                client.give_input(toy_input(1));
            }
            const std::uint64_t packets = server.packets;
            exchange();
            if (server.packets != packets) {
                sent_at.push_back(now.value);
            }
        }
        return server.packets - before;
    }

    void report(std::uint8_t lost) {
        Bytes loss;
        wire::encode_loss(lost, loss);
        server.send(loss, down);
        deliver_down();
    }

    std::uint64_t tick = 0;
    TickFrame frame;
    std::vector<std::int64_t> sent_at;
};

/// Lets a sequence of the server's pass by.
void lose_one(LossyPair& pair) {
    Bytes lost;
    REQUIRE(pair.server.sealer.seal({}, lost));
}

} // namespace

TEST_CASE("a client sends its inputs twice while the server reports loss, and ten seconds longer",
          "[net][client][redundancy]") {
    LossyPair pair;
    CHECK(pair.run(200) == 200);
    pair.report(1);
    CHECK(pair.run(100) == 100);
    pair.report(2);
    pair.sent_at.clear();
    const std::uint64_t sent = pair.run(450);
    CHECK(sent >= 899); // The second one of the last tick is still to come.
    CHECK(sent <= 900);
    for (std::size_t i = 1; i < pair.sent_at.size(); ++i) {
        REQUIRE(pair.sent_at[i] - pair.sent_at[i - 1] == 10'000);
    }
    pair.run(60);
    CHECK(pair.run(200) == 200);
    CHECK(pair.client.state() == ClientState::playing);
}

TEST_CASE("a server that lies about loss makes a client send twice as much at most",
          "[net][client][redundancy][hostile]") {
    LossyPair pair;
    std::uint64_t sent = 0;
    for (int i = 0; i < 300; ++i) {
        pair.report(128);
        sent += pair.run(1);
    }
    CHECK(sent > 450);
    CHECK(sent <= 600);
}

TEST_CASE("a client that is not to send twice does not", "[net][client][redundancy]") {
    ClientSettings settings = toy_client();
    settings.redundancy = false;
    LossyPair pair(std::move(settings));
    pair.report(128);
    CHECK(pair.run(200) == 200);
}

TEST_CASE("a game that looks at the time once a tick sends twice all the same",
          "[net][client][redundancy]") {
    LossyPair pair;
    pair.report(128);
    const std::uint64_t before = pair.server.packets;
    for (int i = 0; i < 100; ++i) {
        pair.now = pair.now + milliseconds(20);
        pair.server.send_ticks(
            pair.tick, {closed_frame(pair.tick, 2, toy_neutral())}, pair.tick + 1, 30, pair.down);
        ++pair.tick;
        pair.deliver_down();
        while (pair.client.inputs_wanted(pair.now) > 0) {
            pair.client.give_input(toy_input(1));
        }
        pair.exchange();
    }
    CHECK(pair.server.packets - before >= 198);
    CHECK(pair.server.packets - before <= 200);
}

TEST_CASE("a client says what it lost in packets that go anyway, and says nothing otherwise",
          "[net][client][redundancy]") {
    LossyPair pair;
    pair.run(200);
    CHECK(pair.count(wire::FrameType::loss) == 0);
    for (int i = 0; i < 3; ++i) {
        lose_one(pair);
        pair.run(5);
    }
    CHECK(pair.run(50) == 50); // Not one datagram more.
    CHECK(pair.count(wire::FrameType::loss) >= 3);
    std::uint8_t most = 0;
    for (const auto& [type, body] : pair.frames) {
        if (type == wire::FrameType::loss) {
            most = std::max(most, *wire::decode_loss(body));
        }
    }
    CHECK(most == 3);
    // Out of the window it is forgotten.
    pair.run(200);
    const std::size_t before = pair.count(wire::FrameType::loss);
    pair.run(100);
    CHECK(pair.count(wire::FrameType::loss) == before);
}
