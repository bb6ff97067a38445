// SPDX-License-Identifier: MIT
// The kernel's TCP over a bad link: packets pass between two TUN devices, each in a network
// namespace of its own, so that nothing outside of this process is touched.
#include "net/loss.hpp"
#include "net/pacing.hpp"
#include "net/socket.hpp"

#include <net/if.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <thread>

namespace bench {

namespace {

using twinstep::net::Micros;

constexpr std::uint32_t server_ip = 0x0a4d0001; // 10.77.0.1 and .2: seen in the namespaces only.
constexpr std::uint32_t client_ip = 0x0a4d0002;
constexpr std::uint16_t server_port = 7777;

sockaddr_in ip_name(std::uint32_t ip, std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(ip);
    name.sin_port = htons(port);
    return name;
}

bool set_address(int control, unsigned long request, ifreq& device, std::uint32_t ip) {
    const sockaddr_in name = ip_name(ip, 0);
    std::memcpy(&device.ifr_addr, &name, sizeof name);
    return ioctl(control, request, &device) == 0;
}

/// One end: a TUN device and a TCP socket in a namespace. A namespace belongs to the thread that
/// made it; what was opened in it stays there for good.
struct End {
    Descriptor tun;
    Descriptor socket;
    std::string error;

    void open(std::uint32_t ip) {
        std::thread([this, ip] { open_here(ip); }).join();
    }

private:
    void open_here(std::uint32_t ip) {
        if (unshare(CLONE_NEWNET) != 0) {
            error = "network namespaces need root";
            return;
        }
        tun = Descriptor(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
        const Descriptor control(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        ifreq device{};
        std::strncpy(device.ifr_name, "bench0", sizeof device.ifr_name - 1);
        device.ifr_flags = IFF_TUN | IFF_NO_PI;
        if (!tun.ok() || ioctl(tun.get(), TUNSETIFF, &device) != 0) {
            error = "no TUN device";
            return;
        }
        const bool up = set_address(control.get(), SIOCSIFADDR, device, ip) &&
                        set_address(control.get(), SIOCSIFNETMASK, device, 0xffffff00) &&
                        ioctl(control.get(), SIOCGIFFLAGS, &device) == 0;
        device.ifr_flags = static_cast<short>(device.ifr_flags | IFF_UP | IFF_RUNNING);
        socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        const int on = 1;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (!up || ioctl(control.get(), SIOCSIFFLAGS, &device) != 0 || !socket.ok()) {
            error = "the TUN device has no address";
        }
    }
};

class TcpRow {
public:
    TcpRow(const Link& link, std::uint64_t seed)
        : up_(link, seed)
        , down_(link, seed + 1) {}

    LossResult run() {
        server_.open(server_ip);
        client_.open(client_ip);
        if (!server_.error.empty() || !client_.error.empty()) {
            return {{}, server_.error.empty() ? client_.error : server_.error};
        }
        const sockaddr_in name = ip_name(server_ip, server_port);
        const auto* generic = reinterpret_cast<const sockaddr*>(&name);
        if (bind(server_.socket.get(), generic, sizeof name) != 0 ||
            listen(server_.socket.get(), 1) != 0) {
            return {{}, "cannot listen"};
        }
        static_cast<void>(connect(client_.socket.get(), generic, sizeof name));
        const Micros give_up = now() + twinstep::net::seconds(20);
        while (!accepted_.ok() && now() < give_up) {
            turn(now() + twinstep::net::milliseconds(5));
            accepted_ = Descriptor(
                accept4(server_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        }
        if (!accepted_.ok()) {
            return {{}, "no connection"};
        }
        play();
        return {log_.evaluate(), {}};
    }

private:
    void play() {
        const auto give = [this](std::uint32_t input) {
            static_cast<void>(send(client_.socket.get(), &input, sizeof input, MSG_NOSIGNAL));
        };
        play_paced(log_, give, [this](Micros until) {
            turn(until);
            take();
        });
    }

    /// Notes the inputs that the kernel has in order.
    void take() {
        std::array<std::byte, 4096> buffer{};
        const ssize_t got = recv(accepted_.get(), buffer.data(), buffer.size(), 0);
        if (got > 0) {
            bytes_ += static_cast<std::uint64_t>(got);
            log_.available(bytes_ / sizeof(std::uint32_t), now());
        }
    }

    /// Carries IP packets between the devices.
    void turn(Micros until) {
        until = std::min({until, up_.next(), down_.next()});
        wait_for({client_.tun.get(), server_.tun.get(), accepted_.get()}, until);
        carry(client_.tun, up_, server_.tun);
        carry(server_.tun, down_, client_.tun);
    }

    static void carry(const Descriptor& from, Impairment& link, const Descriptor& to) {
        std::array<std::byte, 2048> packet{};
        for (;;) {
            const ssize_t got = read(from.get(), packet.data(), packet.size());
            if (got <= 0) {
                break;
            }
            // TCP over IPv4 only: what the devices say on their own account meets no loss state.
            constexpr std::size_t protocol_at = 9;
            if (packet[0] >> 4 == std::byte{4} && packet[protocol_at] == std::byte{IPPROTO_TCP}) {
                link.offer(now(), twinstep::ByteView(packet).first(static_cast<std::size_t>(got)));
            }
        }
        link.deliver(now(), [&](twinstep::ByteView view) {
            const ssize_t written = write(to.get(), view.data(), view.size());
            static_cast<void>(written);
        });
    }

    Impairment up_;
    Impairment down_;
    End server_;
    End client_;
    Descriptor accepted_;
    std::uint64_t bytes_ = 0;
    LatenessLog log_;
};

} // namespace

LossResult measure_tcp(const Link& link, std::uint64_t seed) {
    return TcpRow(link, seed).run();
}

} // namespace bench
