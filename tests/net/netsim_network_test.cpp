// SPDX-License-Identifier: MIT
// The simulated network: each fault does what it says, and the same seed does the same.
#include "twinstep/net/simulated_network.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using namespace twinstep;
using namespace twinstep::net;

namespace {

Address host_at(std::uint8_t last, std::uint16_t port = 7000) {
    Address address;
    address.ip[15] = last;
    address.ip[0] = 0x20;
    address.port = port;
    return address;
}

/// Two nodes, one of which sends numbered packets.
struct Pair {
    explicit Pair(const LinkConditions& link, std::uint64_t seed = 1, std::size_t lines = 0)
        : network({seed, 1U << 16U, lines}) {
        a = network.add_node(host_at(1));
        b = network.add_node(host_at(2));
        network.set_conditions(a, b, link);
    }

    void send(std::uint64_t count, Micros period, std::size_t size = 60) {
        for (std::uint64_t i = 0; i < count; ++i) {
            Bytes bytes;
            ByteWriter writer(bytes);
            writer.u64(sent);
            bytes.resize(size);
            network.send(now, a, network.address_of(b), bytes);
            ++sent;
            now = now + period;
        }
    }

    /// Number and time of each packet in the order of arrival.
    std::vector<std::pair<std::uint64_t, Micros>> receive() {
        std::vector<std::pair<std::uint64_t, Micros>> result;
        Delivery delivery;
        while (network.take(never, delivery)) {
            ByteReader reader(delivery.bytes);
            result.emplace_back(reader.u64("number"), delivery.at);
        }
        return result;
    }

    SimulatedNetwork network;
    NodeIndex a = 0;
    NodeIndex b = 0;
    Micros now;
    std::uint64_t sent = 0;
};

} // namespace

TEST_CASE("a link without faults delivers everything after its delay", "[net][unit]") {
    Pair pair({.delay = milliseconds(50)});
    pair.send(100, milliseconds(10));
    const auto got = pair.receive();
    REQUIRE(got.size() == 100);
    for (std::uint64_t i = 0; i < 100; ++i) {
        CHECK(got[i].first == i);
        CHECK(got[i].second == milliseconds(50 + 10 * static_cast<std::int64_t>(i)));
    }
}

TEST_CASE("independent loss takes its share", "[net][unit]") {
    Pair pair({.loss_ppm = 50'000});
    pair.send(20'000, milliseconds(1));
    const std::size_t lost = 20'000 - pair.receive().size();
    CHECK(lost == pair.network.count(Fate::lost));
    CHECK(lost > 900);
    CHECK(lost < 1'100);
}

TEST_CASE("burst loss takes its share in runs of its mean length", "[net][unit]") {
    Pair pair({.burst_ppm = 50'000, .burst_packets = 4});
    pair.send(40'000, milliseconds(1));
    const auto got = pair.receive();
    const double share = 1.0 - static_cast<double>(got.size()) / 40'000;
    std::size_t bursts = 0;
    for (std::size_t i = 1; i < got.size(); ++i) {
        bursts += got[i].first != got[i - 1].first + 1 ? 1U : 0U;
    }
    const double mean = static_cast<double>(40'000 - got.size()) / static_cast<double>(bursts);
    CHECK(share == Approx(0.05).margin(0.01));
    CHECK(mean == Approx(4.0).margin(0.5));
}

TEST_CASE("burst loss belongs to a flow and a direction", "[net][unit]") {
    // The same burst would otherwise be spread over all who share a link, and be none for any.
    SimulatedNetwork network({7});
    const NodeIndex host = network.add_node(host_at(1));
    std::vector<NodeIndex> peers;
    for (std::uint8_t i = 0; i < 4; ++i) {
        peers.push_back(network.add_node(host_at(static_cast<std::uint8_t>(2 + i))));
        network.set_conditions(peers[i], host, {.burst_ppm = 200'000, .burst_packets = 4});
    }
    std::vector<std::uint64_t> last(8, 0);
    std::vector<std::uint64_t> bursts(8, 0);
    std::vector<std::uint64_t> lost(8, 0);
    for (std::uint64_t round = 1; round <= 10'000; ++round) {
        Bytes bytes;
        ByteWriter(bytes).u64(round);
        for (const NodeIndex peer : peers) {
            network.send(milliseconds(static_cast<std::int64_t>(round)), peer, host_at(1), bytes);
        }
    }
    Delivery delivery;
    while (network.take(never, delivery)) {
        const std::uint64_t round = ByteReader(delivery.bytes).u64("round");
        const std::uint64_t gap = round - last[delivery.from] - 1;
        lost[delivery.from] += gap;
        bursts[delivery.from] += gap != 0 ? 1U : 0U;
        last[delivery.from] = round;
    }
    for (const NodeIndex peer : peers) {
        CHECK(static_cast<double>(lost[peer]) / static_cast<double>(bursts[peer]) ==
              Approx(4.0).margin(0.6));
    }
}

TEST_CASE("jitter keeps the order unless it may overtake", "[net][unit]") {
    Pair ordered({.delay = milliseconds(5), .jitter = milliseconds(20)});
    ordered.send(2'000, milliseconds(1));
    const auto in_order = ordered.receive();
    CHECK(std::is_sorted(in_order.begin(), in_order.end()));
    Pair loose({.delay = milliseconds(5), .jitter = milliseconds(20), .keeps_order = false});
    loose.send(2'000, milliseconds(1));
    const auto mixed = loose.receive();
    REQUIRE(mixed.size() == 2'000);
    CHECK_FALSE(std::is_sorted(mixed.begin(), mixed.end()));
}

TEST_CASE("uniform and half-normal jitter have their means", "[net][unit]") {
    const auto mean_of = [](JitterShape shape) {
        Pair pair({.jitter = milliseconds(10), .shape = shape, .keeps_order = false});
        pair.send(20'000, milliseconds(1));
        std::int64_t sum = 0;
        std::int64_t greatest = 0;
        for (const auto& [number, at] : pair.receive()) {
            const std::int64_t extra = at.value - static_cast<std::int64_t>(number) * 1'000;
            REQUIRE(extra >= 0);
            sum += extra;
            greatest = std::max(greatest, extra);
        }
        CHECK(greatest <= (shape == JitterShape::uniform ? 10'000 : 60'000));
        return static_cast<double>(sum) / 20'000;
    };
    CHECK(mean_of(JitterShape::uniform) == Approx(5'000).epsilon(0.03));
    // The mean of a half-normal deviate is its deviation times the root of 2 / pi.
    CHECK(mean_of(JitterShape::half_normal) == Approx(7'979).epsilon(0.03));
}

TEST_CASE("duplicates, reordering and corruption happen and are counted", "[net][unit]") {
    Pair pair({.delay = milliseconds(5),
               .duplicate_ppm = 100'000,
               .reorder_ppm = 100'000,
               .corrupt_ppm = 100'000});
    pair.send(2'000, milliseconds(1));
    const auto got = pair.receive();
    CHECK(got.size() == 2'000 + pair.network.count(Fate::duplicated));
    CHECK(pair.network.count(Fate::duplicated) > 150);
    CHECK(pair.network.count(Fate::reordered) > 150);
    CHECK(pair.network.count(Fate::corrupted) > 150);
}

TEST_CASE("a limited link delays by its rate and drops what its queue cannot hold", "[net][unit]") {
    // 100 bytes with headers at 10,000 bytes/s take 10 ms each; ten wait at most.
    Pair pair({.bytes_per_s = 10'000, .queue_bytes = 1'000});
    pair.send(50, {}, 72);
    const auto got = pair.receive();
    REQUIRE(got.size() == 10);
    CHECK(pair.network.count(Fate::queue_full) == 40);
    for (std::size_t i = 0; i < 10; ++i) {
        CHECK(got[i].second == milliseconds(10 * (static_cast<std::int64_t>(i) + 1)));
    }
}

TEST_CASE("what is larger than the path takes is dropped, what fits is not", "[net][unit]") {
    Pair pair({.mtu_bytes = 500});
    pair.send(1, {}, 472);
    pair.send(1, {}, 473);
    const auto got = pair.receive();
    REQUIRE(got.size() == 1);
    CHECK(got[0].first == 0);
    CHECK(pair.network.count(Fate::too_large) == 1);
}

TEST_CASE("after a rebind the node is seen elsewhere and its old address is nobody's",
          "[net][unit]") {
    Pair pair({});
    const Address old_address = pair.network.address_of(pair.a);
    pair.network.rebind({}, pair.a);
    CHECK(pair.network.address_of(pair.a) != old_address);
    pair.send(1, {});
    Delivery delivery;
    REQUIRE(pair.network.take(never, delivery));
    CHECK(delivery.source == pair.network.address_of(pair.a));
    pair.network.send({}, pair.b, old_address, Bytes(5));
    CHECK_FALSE(pair.network.take(never, delivery));
    CHECK(pair.network.count(Fate::no_route) == 1);
}

TEST_CASE("a cut lets nothing through", "[net][unit]") {
    Pair pair({.cut = true});
    pair.send(10, milliseconds(1));
    CHECK(pair.receive().empty());
    CHECK(pair.network.count(Fate::cut) == 10);
}

TEST_CASE("packets under way are bounded", "[net][unit]") {
    SimulatedNetwork network({1, 100, 0});
    network.add_node(host_at(1));
    network.add_node(host_at(2));
    network.set_conditions(0, 1, {.delay = seconds(1)});
    for (int i = 0; i < 1'000; ++i) {
        network.send({}, 0, host_at(2), Bytes(1'200));
    }
    CHECK(network.count(Fate::overflow) == 900);
    CHECK(network.memory_bytes() < 200'000);
}

TEST_CASE("the same seed gives the same log, another one another", "[net][property]") {
    const LinkConditions link{.delay = milliseconds(50),
                              .jitter = milliseconds(10),
                              .shape = JitterShape::half_normal,
                              .keeps_order = false,
                              .loss_ppm = 30'000,
                              .burst_ppm = 30'000,
                              .duplicate_ppm = 10'000,
                              .reorder_ppm = 10'000,
                              .corrupt_ppm = 10'000,
                              .bytes_per_s = 20'000};
    const auto run = [&link](std::uint64_t seed, std::size_t lines) {
        Pair pair(link, seed, lines);
        pair.send(3'000, milliseconds(5));
        const std::size_t received = pair.receive().size();
        CHECK(received > 2'000);
        return std::pair(pair.network.log().digest(), pair.network.log().lines());
    };
    const auto first = run(1, 10'000);
    CHECK(first == run(1, 10'000));
    CHECK(first.second.size() > 100);
    // Lines are kept or not: the digest is of the events.
    CHECK(first.first == run(1, 0).first);
    CHECK(first.first != run(2, 0).first);
}

TEST_CASE("a packet more in one flow changes nobody else's luck", "[net][property]") {
    const auto run = [](bool extra) {
        SimulatedNetwork network({3});
        for (std::uint8_t i = 1; i <= 3; ++i) {
            network.add_node(host_at(i));
        }
        network.set_conditions(0, 1, {.loss_ppm = 500'000});
        network.set_conditions(2, 1, {.loss_ppm = 500'000});
        std::vector<std::int64_t> arrived;
        for (int i = 0; i < 500; ++i) {
            if (extra) {
                network.send(milliseconds(i), 2, host_at(2), Bytes(10));
            }
            network.send(milliseconds(i), 0, host_at(2), Bytes(10));
        }
        Delivery delivery;
        while (network.take(never, delivery)) {
            if (delivery.from == 0) {
                arrived.push_back(delivery.at.value);
            }
        }
        return arrived;
    };
    CHECK(run(false) == run(true));
}
