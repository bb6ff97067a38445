// SPDX-License-Identifier: MIT
// What two players send and receive: 60 Hz, 50 ms one way, encrypted, a hash each tick.
#include "net/fleet.hpp"
#include "net/impairment.hpp"
#include "net/relay.hpp"

#include <array>
#include <memory>

namespace bench {

namespace {

using namespace twinstep;
using net::Micros;

constexpr std::size_t ip_udp_bytes = 28; ///< IPv4 and UDP headers.
constexpr std::int64_t seconds_warm = 20;
constexpr std::int64_t seconds_measured = 20;

net::Address at_port(std::uint16_t port) {
    net::Address address;
    address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
    address.port = port;
    return address;
}

/// One direction of a link that only delays, and what went over it.
class CountedLink final : public net::Outbox {
public:
    explicit CountedLink(std::uint16_t to)
        : to_(to)
        , delay_({net::milliseconds(50), net::milliseconds(50), 0.0, 1.0}, 1) {}

    void send(const net::Address& to, ByteView datagram) override {
        if (to.port == to_) {
            delay_.offer(now, datagram);
            ++datagrams;
            bytes += datagram.size();
        }
    }

    template <class Deliver>
    void deliver(Deliver&& deliver) {
        delay_.deliver(now, std::forward<Deliver>(deliver));
    }

    void forget() { datagrams = bytes = 0; }

    Micros now;
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;

private:
    std::uint16_t to_;
    Impairment delay_;
};

/// The host sends to both links; each takes what is its own.
class Fork final : public net::Outbox {
public:
    explicit Fork(std::array<CountedLink, 2>& links)
        : links_(links) {}

    void send(const net::Address& to, ByteView datagram) override {
        for (CountedLink& link : links_) {
            link.send(to, datagram);
        }
    }

private:
    std::array<CountedLink, 2>& links_;
};

/// Datagrams and their bytes of one direction, for each tick.
struct Rate {
    double datagrams = 0;
    double bytes = 0; ///< Of UDP payload, for each datagram.
};

class Traffic {
public:
    /// What players press in a tick.
    using Input = std::uint32_t (*)(std::uint64_t tick, std::uint64_t player);

    explicit Traffic(Input input)
        : input_(input)
        , host_(made(net::Host::create(
              bench_host(net::wire::Mode::room_key), events_, net::system_entropy()))) {
        net::MatchSettings match = bench_match(1, 2);
        match.hash_interval_ticks = 1;
        made(host_.open_match(std::move(match)));
        for (auto& player : players_) {
            player = std::make_unique<Player>(made(net::Client::create(
                bench_client(at_port(1), net::wire::Mode::room_key, 1), net::system_entropy())));
        }
    }

    /// Up and down, once everything is steady.
    std::array<Rate, 2> run() {
        std::uint64_t ticks = 0;
        for (std::int64_t ms = 0; ms < 1000 * (seconds_warm + seconds_measured); ++ms) {
            if (ms == 1000 * seconds_warm) {
                ticks = players_[0]->ticks();
                for (std::size_t i = 0; i < 2; ++i) {
                    up_[i].forget();
                    down_[i].forget();
                }
            }
            turn(net::seconds(1000) + net::milliseconds(ms));
        }
        ticks = players_[0]->ticks() - ticks;
        std::array<Rate, 2> rates;
        for (std::size_t i = 0; i < 2; ++i) {
            add(rates[0], up_[i], ticks);
            add(rates[1], down_[i], ticks);
        }
        return rates;
    }

    std::uint64_t ticks() const { return players_[0]->ticks(); }

private:
    /// The worse of both players.
    static void add(Rate& rate, const CountedLink& link, std::uint64_t ticks) {
        const double datagrams = static_cast<double>(std::max<std::uint64_t>(1, link.datagrams));
        rate.datagrams = std::max(rate.datagrams,
                                  static_cast<double>(link.datagrams) /
                                      static_cast<double>(std::max<std::uint64_t>(1, ticks)));
        rate.bytes = std::max(rate.bytes, static_cast<double>(link.bytes) / datagrams);
    }

    void turn(Micros now) {
        Fork out(down_);
        for (std::size_t i = 0; i < 2; ++i) {
            up_[i].now = now;
            down_[i].now = now;
            up_[i].deliver([&](ByteView view) {
                host_.receive(now, at_port(static_cast<std::uint16_t>(100 + i)), view, out);
            });
        }
        host_.advance(now, out);
        for (std::size_t i = 0; i < 2; ++i) {
            down_[i].deliver([&](ByteView view) {
                players_[i]->client().receive(now, at_port(1), view, up_[i]);
            });
            players_[i]->turn(now, up_[i], [&](Tick tick) { return input_(tick.value, i); });
        }
    }

    Input input_;
    QuietEvents events_;
    net::Host host_;
    std::array<std::unique_ptr<Player>, 2> players_;
    std::array<CountedLink, 2> up_{CountedLink(1), CountedLink(1)};
    std::array<CountedLink, 2> down_{CountedLink(100), CountedLink(101)};
};

void add_row(Report& report, std::string name, double value, std::string unit, double bound) {
    report.add({std::move(name), value, bound, std::move(unit), value, Goal::at_most, bound});
}

} // namespace

bool traffic_rows(Report& report) {
    Traffic busy(person_input);
    const auto [up, down] = busy.run();
    Traffic noisy(noisy_input);
    const auto [noisy_up, noisy_down] = noisy.run();
    Traffic still([](std::uint64_t, std::uint64_t) { return 7U; });
    const auto [idle_up, idle_down] = still.run();
    constexpr double ticks_min = 60.0 * (seconds_warm + seconds_measured) * 0.9;
    for (const Traffic* traffic : {&busy, &noisy, &still}) {
        if (static_cast<double>(traffic->ticks()) < ticks_min) {
            fmt::print(stderr, "net_bench: {} ticks only\n", traffic->ticks());
            return false;
        }
    }
    const auto kilobytes = [](const Rate& rate) {
        return rate.datagrams * 60.0 * (rate.bytes + ip_udp_bytes) / 1000.0;
    };
    add_row(report, "bytes a datagram, up, 4-byte inputs", up.bytes, "B", 64.0);
    add_row(report, "bytes a datagram, down, 2 players", down.bytes, "B", 64.0);
    add_row(report, "datagrams a tick, up", up.datagrams, "", 1.0);
    add_row(report, "datagrams a tick, down", down.datagrams, "", 1.0);
    add_row(report, "with IP and UDP headers, up", kilobytes(up), "kB/s", 5.7);
    add_row(report, "with IP and UDP headers, down", kilobytes(down), "kB/s", 5.7);
    add_row(report, "bytes a datagram, up, idle", idle_up.bytes, "B", 40.0);
    add_row(report, "bytes a datagram, down, idle", idle_down.bytes, "B", 40.0);
    report.add({"bytes a datagram, all 4 bytes new: up, down",
                noisy_up.bytes,
                noisy_down.bytes,
                "B",
                noisy_up.bytes,
                Goal::none,
                0.0});
    return true;
}

} // namespace bench
