// SPDX-License-Identifier: MIT
// How late ticks close: 256 peers in 32 matches, in real time, through the product's UDP port.
#include "net/fleet.hpp"
#include "net/relay.hpp"
#include "net/socket.hpp"
#include "net/worker.hpp"

#include "twinstep/net/udp_port.hpp"

#include <atomic>
#include <memory>
#include <thread>

namespace bench {

namespace {

using namespace twinstep;
using net::Micros;

constexpr std::uint16_t matches = 32;
constexpr std::uint16_t players_each = 8;
constexpr std::int64_t seconds_warm = 2;
constexpr std::int64_t seconds_measured = 10;

/// Notes how late ticks close once measuring has begun.
class LateEvents final : public QuietEvents {
public:
    LateEvents() { late.reserve(std::size_t{matches} * 60 * (seconds_measured + 2)); }

    void on_closed(net::MatchId, Tick, ByteView, Micros by) override {
        if (measuring) {
            late.push_back(by);
        }
    }

    std::atomic<bool> measuring = false;
    std::vector<Micros> late;
};

/// All clients in one thread, each with a socket of its own. They stand for other machines, so they
/// have a processor of their own where there are two.
void play_all(const net::Address& server,
              std::atomic<bool>& stop,
              std::atomic<std::size_t>& playing) {
    stay_on(0);
    constexpr std::size_t count = std::size_t{matches} * players_each;
    std::vector<UdpSocket> sockets(count);
    std::vector<std::unique_ptr<Player>> players;
    for (std::size_t i = 0; i < count; ++i) {
        players.push_back(std::make_unique<Player>(made(net::Client::create(
            bench_client(server, net::wire::Mode::room_key, i / players_each + 1),
            net::system_entropy()))));
    }
    while (!stop) {
        std::size_t live = 0;
        for (std::size_t i = 0; i < count; ++i) {
            SocketOutbox out(sockets[i]);
            std::uint16_t from = 0;
            for (auto view = sockets[i].receive(from); !view.empty();
                 view = sockets[i].receive(from)) {
                players[i]->client().receive(now(), loopback(from), view, out);
            }
            players[i]->turn(now(), out, [i](Tick tick) { return person_input(tick.value, i); });
            live += players[i]->playing() ? 1U : 0U;
        }
        playing = live;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

} // namespace

bool lateness_row(Report& report) {
    LateEvents events;
    net::Host host = made(
        net::Host::create(bench_host(net::wire::Mode::room_key), events, net::system_entropy()));
    for (std::uint16_t i = 0; i < matches; ++i) {
        made(host.open_match(bench_match(i + 1U, players_each)));
    }
    net::UdpPort port = made(net::UdpPort::open({{loopback(0)}}));
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> playing = 0;
    std::thread clients([&] { play_all(port.local().front(), stop, playing); });
    auto driven = net::drive(host);
    std::thread server([&] {
        stay_on(1);
        port.run(driven);
    });
    bool all_play = false;
    for (int tries = 0; tries < 100 && !all_play; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        all_play = playing == std::size_t{matches} * players_each;
    }
    std::this_thread::sleep_for(std::chrono::seconds(seconds_warm));
    port.post([&] { events.measuring = true; });
    std::this_thread::sleep_for(std::chrono::seconds(seconds_measured));
    port.post([&] { events.measuring = false; });
    port.stop();
    server.join();
    stop = true;
    clients.join();
    if (!all_play || events.late.empty()) {
        fmt::print(stderr, "net_bench: {} clients played, {} ticks\n", playing, events.late.size());
        return false;
    }
    std::sort(events.late.begin(), events.late.end());
    const auto at = [&](std::size_t percent) {
        return static_cast<double>(events.late[events.late.size() * percent / 100].value) / 1000.0;
    };
    report.add({"tick lateness, 99th of 100, 256 peers in 32 matches",
                at(99),
                at(50),
                "ms",
                at(99),
                Goal::at_most,
                2.0});
    return true;
}

} // namespace bench
