// SPDX-License-Identifier: MIT
// The product's client and match over a bad link: the same sockets, relay and inputs as the others.
#include "net/fleet.hpp"
#include "net/loss.hpp"
#include "net/socket.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/wire.hpp"

namespace bench {

namespace {

using namespace twinstep;
using net::Micros;

/// How far the inputs of a datagram reach in order, if all before `have` are there.
std::uint64_t reach(ByteView datagram, std::uint64_t have) {
    if (datagram.size() < net::wire::data_header_bytes || datagram[0] != std::byte{0x40}) {
        return have;
    }
    net::wire::FrameReader reader(datagram.subspan(net::wire::data_header_bytes));
    net::wire::Frame frame;
    for (auto more = reader.next(frame); more && *more; more = reader.next(frame)) {
        if (frame.type != net::wire::FrameType::inputs) {
            continue;
        }
        const auto inputs = net::wire::decode_inputs(frame.body);
        if (!inputs || inputs->first_tick > have) {
            continue;
        }
        net::wire::RunReader runs(inputs->runs, bench_neutral(), 4);
        std::uint64_t end = inputs->first_tick;
        while (!runs.at_end() && runs.next()) {
            ++end;
        }
        have = std::max(have, end);
    }
    return have;
}

/// One player, its server and the bad link between them, in one thread. Plain mode: what the server
/// receives is looked at before it gets it.
class TwinstepRow {
public:
    TwinstepRow(const Link& link, std::uint64_t seed)
        : up_(link, seed)
        , down_(link, seed + 1)
        , to_client_(server_)
        , to_server_(client_)
        , host_(made(net::Host::create(
              bench_host(net::wire::Mode::plain), events_, net::system_entropy())))
        , player_(made(
              net::Client::create(bench_client(loopback(front_.port()), net::wire::Mode::plain, 1),
                                  net::system_entropy()))) {}

    LossResult run() {
        net::MatchSettings match = bench_match(1, 1);
        // Nothing is substituted: every input is waited for, as with the other transports.
        match.policy = net::Policy::wait;
        match.stall_max = net::seconds(60);
        made(host_.open_match(std::move(match)));
        const Micros give_up = now() + net::seconds(20);
        while (!player_.playing() && now() < give_up) {
            turn();
        }
        if (!player_.playing()) {
            return {{}, "no connection: " + to_string(player_.client().close_error())};
        }
        const Micros end = now() + net::seconds(loss_seconds) + loss_patience;
        while (log_.available_count() < loss_ticks && now() < end) {
            turn();
        }
        // The first inputs, before the link was known, go in one datagram.
        return {log_.evaluate(loss_rate_hz), {}};
    }

private:
    void turn() {
        const Micros until = std::min({up_.next(),
                                       down_.next(),
                                       host_.next_wake(),
                                       player_.client().next_wake(),
                                       now() + net::milliseconds(2)});
        wait_for({front_.get(), back_.get(), server_.get(), client_.get()}, until);
        std::uint16_t from = 0;
        for (auto view = front_.receive(from); !view.empty(); view = front_.receive(from)) {
            up_.offer(now(), view);
        }
        for (auto view = back_.receive(from); !view.empty(); view = back_.receive(from)) {
            down_.offer(now(), view);
        }
        up_.deliver(now(), [&](ByteView view) { back_.send(server_.port(), view); });
        down_.deliver(now(), [&](ByteView view) { front_.send(client_.port(), view); });
        for (auto view = server_.receive(from); !view.empty(); view = server_.receive(from)) {
            log_.available(reach(view, log_.available_count()), now());
            host_.receive(now(), loopback(from), view, to_client_);
        }
        host_.advance(now(), to_client_);
        for (auto view = client_.receive(from); !view.empty(); view = client_.receive(from)) {
            player_.client().receive(now(), loopback(from), view, to_server_);
        }
        player_.turn(now(), to_server_, [&](Tick tick) {
            if (tick.value < loss_ticks) {
                log_.given(tick.value + 1, now());
            }
            return person_input(tick.value, 0);
        });
    }

    Impairment up_;
    Impairment down_;
    UdpSocket front_;
    UdpSocket back_;
    UdpSocket server_;
    UdpSocket client_;
    SocketOutbox to_client_;
    SocketOutbox to_server_;
    QuietEvents events_;
    net::Host host_;
    Player player_;
    LatenessLog log_;
};

} // namespace

LossResult measure_twinstep(const Link& link, std::uint64_t seed) {
    return TwinstepRow(link, seed).run();
}

} // namespace bench
