// SPDX-License-Identifier: MIT
// The UDP port on loopback: datagrams, wake-ups, posted calls, addresses.
#include "twinstep/net/udp_port.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// Answers every datagram with itself, or keeps what it gets.
struct Echo final : Machine {
    bool answers = true;
    Micros wake = never;
    std::vector<Bytes> received;
    Address last_from;
    std::vector<Micros> advanced;
    std::size_t received_at_first_advance = 0;

    void receive(Micros, const Address& from, ByteView datagram, Outbox& out) override {
        received.emplace_back(datagram.begin(), datagram.end());
        last_from = from;
        if (answers) {
            out.send(from, datagram);
        }
    }

    void advance(Micros now, Outbox&) override {
        if (advanced.empty()) {
            received_at_first_advance = received.size();
        }
        advanced.push_back(now);
        if (wake <= now) {
            wake = never;
        }
    }

    Micros next_wake() const override { return wake; }
};

Address loopback(bool v4) {
    return *parse_address(v4 ? "127.0.0.1:0" : "[::1]:0");
}

bool has_v6() {
    return UdpPort::open({{loopback(false)}}).has_value();
}

Bytes text(std::string_view value) {
    const auto view = std::as_bytes(std::span(value));
    return {view.begin(), view.end()};
}

/// Steps both until `done` or two seconds have passed.
template <class Done>
bool settle(UdpPort& a, Machine& on_a, UdpPort& b, Machine& on_b, Done done) {
    const Micros end = monotonic_now() + seconds(2);
    while (!done() && monotonic_now() < end) {
        a.step(on_a, monotonic_now() + milliseconds(1));
        b.step(on_b, monotonic_now() + milliseconds(1));
    }
    return done();
}

} // namespace

TEST_CASE("datagrams travel both ways over IPv4 and IPv6", "[net][port]") {
    for (const bool v4 : {true, false}) {
        if (!v4 && !has_v6()) {
            WARN("no IPv6 here");
            continue;
        }
        auto server = UdpPort::open({{loopback(v4)}});
        auto client = UdpPort::open({{local_for(loopback(v4))}});
        REQUIRE(server);
        REQUIRE(client);
        REQUIRE(server->local().at(0).port != 0);
        REQUIRE(is_loopback(server->local().at(0)));
        Echo echo;
        Echo keeper;
        keeper.answers = false;
        client->outbox().send(server->local().at(0), text("hello"));
        REQUIRE(settle(*server, echo, *client, keeper, [&] { return !keeper.received.empty(); }));
        REQUIRE(keeper.received == std::vector<Bytes>{text("hello")});
        REQUIRE(keeper.last_from == server->local().at(0));
        REQUIRE(echo.last_from.port == client->local().at(0).port);
        REQUIRE(server->status().datagrams_received == 1);
        REQUIRE(server->status().datagrams_sent == 1);
        REQUIRE(server->status().receive_buffer_bytes > 0);
    }
}

TEST_CASE("an answer leaves through the socket that was asked", "[net][port]") {
    auto server = UdpPort::open({{loopback(true), loopback(true), loopback(true)}});
    auto client = UdpPort::open({{loopback(true)}});
    REQUIRE(server);
    REQUIRE(client);
    Echo echo;
    Echo keeper;
    keeper.answers = false;
    for (const Address& local : server->local()) {
        keeper.received.clear();
        client->outbox().send(local, text("who"));
        REQUIRE(settle(*server, echo, *client, keeper, [&] { return !keeper.received.empty(); }));
        REQUIRE(keeper.last_from == local);
    }
}

TEST_CASE("a batch is bounded, so that the machine's timers are not starved", "[net][port]") {
    auto server = UdpPort::open({{loopback(true)}});
    auto client = UdpPort::open({{loopback(true)}});
    REQUIRE(server);
    REQUIRE(client);
    constexpr std::size_t sent = 600;
    for (std::size_t i = 0; i < sent; ++i) {
        client->outbox().send(server->local().at(0), text("x"));
    }
    Echo keeper;
    keeper.answers = false;
    const Micros end = monotonic_now() + seconds(2);
    while (keeper.received.size() < client->status().datagrams_sent && monotonic_now() < end) {
        server->step(keeper, monotonic_now() + milliseconds(10));
    }
    REQUIRE(keeper.received_at_first_advance == 256);
    REQUIRE(keeper.received.size() == client->status().datagrams_sent);
    REQUIRE(keeper.advanced.size() >= 3);
}

TEST_CASE("a step whose deadline is over takes what is there", "[net][port]") {
    auto server = UdpPort::open({{loopback(true)}});
    auto client = UdpPort::open({{loopback(true)}});
    REQUIRE(server);
    REQUIRE(client);
    Echo keeper;
    keeper.answers = false;
    client->outbox().send(server->local().at(0), text("x"));
    REQUIRE(server->step(keeper, Micros{}));
    REQUIRE(keeper.received.size() == 1);
    REQUIRE_FALSE(server->step(keeper, Micros{}));
}

TEST_CASE("batches keep the order and lose nothing", "[net][port]") {
    auto server = UdpPort::open({{loopback(true), loopback(true)}});
    auto client = UdpPort::open({{loopback(true)}});
    REQUIRE(server);
    REQUIRE(client);
    Echo echo;
    Echo keeper;
    keeper.answers = false;
    std::vector<Bytes> sent;
    for (int round = 0; round < 3; ++round) {
        // More than one batch, each datagram of its own size, over both sockets of the server.
        for (std::size_t i = 0; i < 75; ++i) {
            sent.push_back(Bytes(1 + i * 16, static_cast<std::byte>(sent.size())));
            client->outbox().send(server->local().at(i / 40), sent.back());
        }
        REQUIRE(settle(
            *server, echo, *client, keeper, [&] { return keeper.received.size() == sent.size(); }));
    }
    CHECK(server->status().datagrams_received == sent.size());
    CHECK(server->status().datagrams_sent == sent.size());
    // The sockets are two streams; each keeps its order.
    std::size_t first = 0;
    std::size_t second = 0;
    for (const Bytes& datagram : keeper.received) {
        const bool of_first = datagram.size() <= 1 + 39 * 16;
        std::size_t& at = of_first ? first : second;
        const std::size_t expected =
            of_first ? at / 40 * 75 + at % 40 : at / 35 * 75 + 40 + at % 35;
        REQUIRE(datagram == sent.at(expected));
        ++at;
    }
}

TEST_CASE("oversized datagrams and refusals by the system are counted, not fatal", "[net][port]") {
    auto server = UdpPort::open({{loopback(true)}});
    REQUIRE(server);
    Echo echo;
    Echo keeper;
    keeper.answers = false;
    {
        auto client = UdpPort::open({{loopback(true)}});
        REQUIRE(client);
        client->outbox().send(server->local().at(0), Bytes(1201));
        client->outbox().send(server->local().at(0), Bytes(5000));
        client->outbox().send(server->local().at(0), Bytes(1200));
        REQUIRE(settle(*server, echo, *client, keeper, [&] { return !keeper.received.empty(); }));
    }
    REQUIRE(echo.received.size() == 1);
    REQUIRE(server->status().oversized == 2);
    // Nobody is there any more: the system may report that on the next receive.
    server->outbox().send(echo.last_from, text("gone"));
    server->outbox().send(Address{}, text("nowhere"));
    server->outbox().send(*parse_address("[::1]:9"), text("no socket of this family"));
    server->step(echo, monotonic_now() + milliseconds(20));
    REQUIRE(server->status().send_errors >= 1);
    auto client = UdpPort::open({{loopback(true)}});
    REQUIRE(client);
    client->outbox().send(server->local().at(0), text("still there?"));
    REQUIRE(settle(*server, echo, *client, keeper, [&] { return keeper.received.size() == 2; }));
}

TEST_CASE("the machine is advanced at its wake-up and not before", "[net][port]") {
    auto port = UdpPort::open({{loopback(true)}});
    REQUIRE(port);
    Echo machine;
    machine.wake = monotonic_now() + milliseconds(30);
    const Micros wanted = machine.wake;
    REQUIRE_FALSE(port->step(machine, monotonic_now() + milliseconds(1)));
    REQUIRE(machine.advanced.empty());
    REQUIRE(port->step(machine, monotonic_now() + seconds(5)));
    REQUIRE(machine.advanced.size() == 1);
    REQUIRE(machine.advanced.at(0) >= wanted);
    // An earlier wake-up replaces a later one that the timer already waits for.
    machine.wake = monotonic_now() + seconds(60);
    REQUIRE_FALSE(port->step(machine, monotonic_now()));
    machine.wake = monotonic_now() + milliseconds(5);
    REQUIRE(port->step(machine, monotonic_now() + seconds(20)));
    REQUIRE(machine.advanced.size() == 2);
}

TEST_CASE("posted calls run on the port's thread, and stop ends run", "[net][port]") {
    auto port = UdpPort::open({{loopback(true)}});
    REQUIRE(port);
    Echo machine;
    std::thread runner([&] { port->run(machine); });
    std::atomic<int> calls = 0;
    std::thread::id seen;
    for (int i = 0; i < 100; ++i) {
        port->post([&] {
            seen = std::this_thread::get_id();
            ++calls;
        });
    }
    const std::thread::id runner_id = runner.get_id();
    port->stop();
    runner.join();
    REQUIRE(calls == 100);
    REQUIRE(seen == runner_id);
    REQUIRE(machine.advanced.size() >= 100);
    port->run(machine);
}

TEST_CASE("text becomes addresses, and wrong text is named", "[net][port]") {
    const auto shown = [](std::string_view value) {
        const auto address = parse_address(value);
        return address ? to_string(*address) : std::string("refused");
    };
    CHECK(shown("192.0.2.1:80") == "192.0.2.1:80");
    CHECK(shown("192.0.2.1") == "192.0.2.1:7777");
    CHECK(shown("0.0.0.0:0") == "0.0.0.0:0");
    CHECK(shown("[2001:db8::1]:65535") == "[2001:db8::1]:65535");
    CHECK(shown("[::1]") == "[::1]:7777");
    CHECK(shown("::1") == "[::1]:7777");
    for (const char* wrong : {"",
                              ":",
                              ":80",
                              "[::1",
                              "[::1]80",
                              "[]:1",
                              "192.0.2.1:",
                              "192.0.2.1:x",
                              "192.0.2.1:65536",
                              "192.0.2.1:-1",
                              "192.0.2.1:00080000",
                              "localhost:1",
                              "300.0.0.1:1",
                              "[::g]:1",
                              "192.0.2.1:8 0"}) {
        CAPTURE(wrong);
        const auto address = parse_address(wrong);
        REQUIRE_FALSE(address);
        CHECK(address.error().code == NetErrc::bad_setting);
        CHECK(to_string(address.error()).find(wrong) != std::string::npos);
    }
    const auto local = resolve("localhost:1234");
    REQUIRE(local);
    CHECK(to_string(local->at(0)) == "127.0.0.1:1234");
    CHECK(is_unspecified(*parse_address("0.0.0.0:5")));
    CHECK(is_unspecified(*parse_address("[::]:5")));
    CHECK_FALSE(is_unspecified(loopback(true)));
    const auto unknown = resolve("no-such-host.invalid:1");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == NetErrc::io_error);
}

TEST_CASE("a port that is taken is an error that names the address", "[net][port]") {
    auto first = UdpPort::open({{loopback(true)}});
    REQUIRE(first);
    const auto second = UdpPort::open({{loopback(true), first->local().at(0)}});
    REQUIRE_FALSE(second);
    CHECK(second.error().code == NetErrc::io_error);
    CHECK(second.error().where == to_string(first->local().at(0)));
    CHECK_FALSE(UdpPort::open({}));
}
