// SPDX-License-Identifier: MIT
// ENet's reliable channel over a bad link.
#include "net/loss.hpp"
#include "net/pacing.hpp"
#include "net/socket.hpp"

#include <enet/enet.h>

#include <array>
#include <memory>

namespace bench {

namespace {

using twinstep::net::Micros;

struct HostCloser {
    void operator()(ENetHost* host) const { enet_host_destroy(host); }
};

using HostPointer = std::unique_ptr<ENetHost, HostCloser>;

ENetAddress on_loopback(std::uint16_t port) {
    ENetAddress address{};
    address.host = htonl(INADDR_LOOPBACK);
    address.port = port;
    return address;
}

/// Client, server and the bad link between them, in one thread.
class EnetRow {
public:
    EnetRow(const Link& link, std::uint64_t seed)
        : up_(link, seed)
        , down_(link, seed + 1) {}

    LossResult run() {
        const ENetAddress any_port = on_loopback(0);
        server_.reset(enet_host_create(&any_port, 1, 1, 0, 0));
        client_.reset(enet_host_create(nullptr, 1, 1, 0, 0));
        if (!server_ || !client_ || !front_.ok() || !back_.ok()) {
            return {{}, "no sockets"};
        }
        const ENetAddress relay = on_loopback(front_.port());
        peer_ = enet_host_connect(client_.get(), &relay, 1, 0);
        const Micros give_up = now() + twinstep::net::seconds(10);
        while (!connected_ && now() < give_up) {
            turn(now() + twinstep::net::milliseconds(5));
        }
        if (!connected_) {
            return {{}, "no connection"};
        }
        play();
        return {log_.evaluate(), {}};
    }

private:
    void play() {
        const auto give = [this](std::uint32_t input) {
            enet_peer_send(
                peer_, 0, enet_packet_create(&input, sizeof input, ENET_PACKET_FLAG_RELIABLE));
            enet_host_flush(client_.get());
        };
        play_paced(log_, give, [this](Micros until) { turn(until); });
    }

    /// Moves what is due, then sleeps until `until` or the next datagram.
    void turn(Micros until) {
        until = std::min({until, up_.next(), down_.next(), now() + twinstep::net::milliseconds(5)});
        wait_for({front_.get(), back_.get(), server_->socket, client_->socket}, until);
        std::uint16_t from = 0;
        for (auto view = front_.receive(from); !view.empty(); view = front_.receive(from)) {
            client_port_ = from;
            up_.offer(now(), view);
        }
        for (auto view = back_.receive(from); !view.empty(); view = back_.receive(from)) {
            down_.offer(now(), view);
        }
        const std::uint16_t server_port = server_->address.port;
        up_.deliver(now(), [&](twinstep::ByteView view) { back_.send(server_port, view); });
        down_.deliver(now(), [&](twinstep::ByteView view) { front_.send(client_port_, view); });
        ENetEvent event{};
        while (enet_host_service(server_.get(), &event, 0) > 0) {
            if (event.type == ENET_EVENT_TYPE_RECEIVE) {
                log_.available(log_.available_count() + 1, now());
                enet_packet_destroy(event.packet);
            }
        }
        while (enet_host_service(client_.get(), &event, 0) > 0) {
            connected_ = connected_ || event.type == ENET_EVENT_TYPE_CONNECT;
        }
    }

    Impairment up_;
    Impairment down_;
    UdpSocket front_;
    UdpSocket back_;
    HostPointer server_;
    HostPointer client_;
    ENetPeer* peer_ = nullptr;
    std::uint16_t client_port_ = 0;
    bool connected_ = false;
    LatenessLog log_;
};

} // namespace

LossResult measure_enet(const Link& link, std::uint64_t seed) {
    return EnetRow(link, seed).run();
}

} // namespace bench
