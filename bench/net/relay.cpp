// SPDX-License-Identifier: MIT
// Host and matches behind the product's UDP port on real sockets, next to the bare loop on sockets
// of the same kind.
#include "net/relay.hpp"

#include "allocation_counter.hpp"
#include "net/bare_loop.hpp"
#include "net/fleet.hpp"
#include "net/socket.hpp"
#include "net/worker.hpp"

#include "twinstep/net/udp_port.hpp"

#include <limits>
#include <memory>
#include <optional>

namespace bench {

namespace {

using namespace twinstep;
using net::Micros;

constexpr std::uint16_t matches = 32;
constexpr std::uint16_t players_each = 8;
constexpr std::size_t players_all = std::size_t{matches} * players_each;
constexpr int batch_ticks = 60;
constexpr int batches = 12;
/// Ticks closed before anything is measured: what a match keeps by its default settings, 2 minutes,
/// and somewhat more, as matches do not begin together. Until then rings take memory.
constexpr std::uint64_t ticks_to_fill = 120 * 60 + 512;
constexpr int batches_to_fill_max = 150;

/// What one batch of the host's work took.
struct Batch {
    double cpu_ns = 0;
    std::uint64_t datagrams_up = 0;
    std::uint64_t datagrams_down = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::uint64_t allocations = 0;
};

/// A host whose time is the benchmark's: what has come is read before anything is due.
class OnVirtualTime final : public net::Machine {
public:
    OnVirtualTime(net::Host& host, const Micros& now)
        : host_(host)
        , now_(now) {}

    void expect(ByteView datagram) override { host_.expect(datagram); }

    void receive(Micros, const net::Address& from, ByteView datagram, net::Outbox& out) override {
        host_.receive(now_, from, datagram, out);
    }

    void advance(Micros, net::Outbox& out) override { host_.advance(now_, out); }

    Micros next_wake() const override { return net::never; }

private:
    net::Host& host_;
    const Micros& now_;
};

/// 32 matches of 8 encrypted players over loopback sockets. Time is virtual, so that the work is
/// the same on every machine; what is measured is the CPU time of the server's part.
class Relay {
public:
    /// The host works on the worker's processor: a server's caches are not those of its clients.
    Relay(std::vector<UdpSocket>& sockets, Worker& worker)
        : port_(made(net::UdpPort::open({{loopback(0)}})))
        , sockets_(sockets)
        , worker_(worker) {
        host_.emplace(made(net::Host::create(
            bench_host(net::wire::Mode::room_key), events_, net::system_entropy())));
        for (std::uint16_t i = 0; i < matches; ++i) {
            made(host_->open_match(bench_match(i + 1U, players_each)));
        }
        for (std::size_t i = 0; i < players_all; ++i) {
            players_.push_back(std::make_unique<Player>(made(net::Client::create(
                bench_client(
                    port_.local().front(), net::wire::Mode::room_key, i / players_each + 1),
                net::system_entropy()))));
        }
    }

    /// Until everybody plays and buffers and rings have their size.
    bool warm_up() {
        for (int i = 0; i < batches_to_fill_max && events_.closed < ticks_to_fill * matches; ++i) {
            run_batch();
        }
        if (events_.closed < ticks_to_fill * matches) {
            fmt::print(stderr, "net_bench: the rings of closed ticks are not full\n");
            return false;
        }
        for (const auto& player : players_) {
            if (!player->playing() || player->ticks() == 0) {
                fmt::print(stderr,
                           "net_bench: a client does not play: {}\n",
                           to_string(player->client().close_error()));
                return false;
            }
        }
        return true;
    }

    Batch run_batch() {
        Batch batch;
        for (int i = 0; i < batch_ticks; ++i) {
            tick(batch);
        }
        return batch;
    }

    std::uint64_t verdicts() const { return events_.verdicts; }

    std::uint64_t closed() const { return events_.closed; }

    /// Bytes the host holds for a peer, by its own account.
    double peer_bytes() const {
        return static_cast<double>(host_->memory_bytes()) / static_cast<double>(players_all);
    }

private:
    /// What is measured: everything that has come, then what is due.
    void serve(Batch& batch) {
        const AllocationCounter allocations;
        const double start = thread_cpu_ns();
        OnVirtualTime machine(*host_, now_);
        while (port_.step(machine, Micros{})) {
        }
        batch.cpu_ns += thread_cpu_ns() - start;
        batch.allocations += allocations.count();
    }

    void tick(Batch& batch) {
        now_ = now_ + Micros{16'667};
        for (std::size_t i = 0; i < players_.size(); ++i) {
            SocketOutbox out(sockets_[i]);
            players_[i]->turn(now_, out, [i](Tick tick) { return person_input(tick.value, i); });
            batch.datagrams_up += out.datagrams;
            batch.bytes_up += out.bytes;
        }
        const std::uint64_t datagrams = host_->status().datagrams_sent;
        const std::uint64_t bytes = host_->status().bytes_sent;
        worker_.run([&] { serve(batch); });
        batch.datagrams_down += host_->status().datagrams_sent - datagrams;
        batch.bytes_down += host_->status().bytes_sent - bytes;
        std::uint16_t from = 0;
        for (std::size_t i = 0; i < players_.size(); ++i) {
            SocketOutbox out(sockets_[i]);
            for (auto view = sockets_[i].receive(from); !view.empty();
                 view = sockets_[i].receive(from)) {
                players_[i]->client().receive(now_, loopback(from), view, out);
            }
        }
    }

    net::UdpPort port_;
    std::vector<UdpSocket>& sockets_;
    Worker& worker_;
    QuietEvents events_;
    std::optional<net::Host> host_;
    std::vector<std::unique_ptr<Player>> players_;
    Micros now_ = net::seconds(1000);
};

double batch_of(BareLoop& loop, Worker& worker) {
    double cpu_ns = 0;
    for (int i = 0; i < batch_ticks; ++i) {
        loop.clients_send();
        std::size_t served = 0;
        worker.run([&] {
            const double start = thread_cpu_ns();
            served = loop.serve();
            cpu_ns += thread_cpu_ns() - start;
        });
        if (served != players_all || loop.clients_receive() != players_all) {
            return std::numeric_limits<double>::max();
        }
    }
    return cpu_ns;
}

void add_rows(Report& report, double ours_ns, double bare_ns, const Batch& total, double memory) {
    const double client_ticks = double{batch_ticks} * players_all;
    const double ours = ours_ns / client_ticks;
    const double bare = bare_ns / client_ticks;
    report.add({"relay of 32 x 8 encrypted clients, bare loop",
                ours / 1000.0,
                bare / 1000.0,
                "us",
                ours / bare,
                Goal::at_most,
                1.6});
    report.add({"encrypted clients a core at 60 Hz",
                1e9 / (60.0 * ours),
                1e9 / (60.0 * bare),
                "",
                1e9 / (60.0 * ours),
                Goal::at_least,
                5000.0});
    report.add({"memory a peer, all 120 s of ticks kept",
                memory / 1024.0,
                32.0,
                "KiB",
                memory / 1024.0,
                Goal::at_most,
                32.0});
    const double datagrams = static_cast<double>(total.datagrams_up);
    const double allocations = static_cast<double>(total.allocations) / datagrams;
    report.add({"allocations a datagram", allocations, 0.0, "", allocations, Goal::at_most, 0.0});
}

bool measure_relay(Report& report) {
    UdpSocket server(8 << 20);
    std::vector<UdpSocket> sockets(players_all);
    stay_on(0);
    Worker worker;
    Relay relay(sockets, worker);
    if (!relay.warm_up()) {
        return false;
    }
    const Batch sizes = relay.run_batch();
    if (sizes.datagrams_up == 0 || sizes.datagrams_down == 0) {
        fmt::print(stderr, "net_bench: the relay is silent\n");
        return false;
    }
    const std::size_t up = (sizes.bytes_up + sizes.datagrams_up / 2) / sizes.datagrams_up;
    const std::size_t down = (sizes.bytes_down + sizes.datagrams_down / 2) / sizes.datagrams_down;
    BareLoop bare(server, sockets, up, down);
    Batch total;
    double ours_ns = std::numeric_limits<double>::max();
    double bare_ns = std::numeric_limits<double>::max();
    const std::uint64_t closed = relay.closed();
    for (int i = 0; i < batches; ++i) {
        const Batch batch = relay.run_batch();
        ours_ns = std::min(ours_ns, batch.cpu_ns);
        bare_ns = std::min(bare_ns, batch_of(bare, worker));
        total.datagrams_up += batch.datagrams_up;
        total.datagrams_down += batch.datagrams_down;
        total.allocations += batch.allocations;
    }
    const double ticks = double{batches} * batch_ticks;
    fmt::print(stderr,
               "relay: up {} B, down {} B; {:.3f} datagrams up and {:.3f} down a client and tick; "
               "{:.3f} ticks closed a match and tick; {} verdicts\n",
               up,
               down,
               static_cast<double>(total.datagrams_up) / ticks / players_all,
               static_cast<double>(total.datagrams_down) / ticks / players_all,
               static_cast<double>(relay.closed() - closed) / ticks / matches,
               relay.verdicts());
    add_rows(report, ours_ns, bare_ns, total, relay.peer_bytes());
    return true;
}

} // namespace

bool relay_rows(Report& report) {
    bool measured = false;
    if (sodium_init() >= 0) {
        // A thread of its own: the processor it stays on is not that of what comes next.
        std::thread([&] { measured = measure_relay(report); }).join();
    }
    return measured;
}

} // namespace bench
