// SPDX-License-Identifier: MIT
// The least there is over the system's sockets: loopback UDP that never blocks, clocks, waiting.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

/// Now on the monotonic clock.
inline twinstep::net::Micros now() {
    return {std::chrono::duration_cast<std::chrono::microseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count()};
}

/// CPU time of this thread.
inline double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// A file descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int number = -1)
        : number_(number) {}

    Descriptor(Descriptor&& other) noexcept
        : number_(std::exchange(other.number_, -1)) {}

    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }

    int get() const { return number_; }

    bool ok() const { return number_ >= 0; }

private:
    int number_;
};

/// 127.0.0.1 and a port, as the machines spell it.
inline twinstep::net::Address loopback(std::uint16_t port) {
    twinstep::net::Address address;
    address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    address.port = port;
    return address;
}

/// A UDP socket on 127.0.0.1 with a port of the system's choice. Sends to loopback only.
class UdpSocket {
public:
    explicit UdpSocket(int buffer_bytes = 256 * 1024)
        : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof name;
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
        setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
        if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), size) == 0 &&
            getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0) {
            port_ = ntohs(name.sin_port);
        }
    }

    bool ok() const { return port_ != 0; }

    std::uint16_t port() const { return port_; }

    int get() const { return socket_.get(); }

    void send(std::uint16_t port, twinstep::ByteView bytes) const {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        name.sin_port = htons(port);
        // A full buffer is loss, which is what UDP promises.
        static_cast<void>(sendto(socket_.get(),
                                 bytes.data(),
                                 bytes.size(),
                                 0,
                                 reinterpret_cast<const sockaddr*>(&name),
                                 sizeof name));
    }

    /// The next datagram, valid until the next call, and its sender; empty if there is none.
    twinstep::ByteView receive(std::uint16_t& from) {
        sockaddr_in name{};
        socklen_t size = sizeof name;
        const ssize_t got = recvfrom(socket_.get(),
                                     buffer_.data(),
                                     buffer_.size(),
                                     0,
                                     reinterpret_cast<sockaddr*>(&name),
                                     &size);
        from = ntohs(name.sin_port);
        return twinstep::ByteView(buffer_).first(got > 0 ? static_cast<std::size_t>(got) : 0);
    }

private:
    Descriptor socket_;
    std::uint16_t port_ = 0;
    std::array<std::byte, 2048> buffer_{};
};

/// The outbox of a machine whose peers are all on loopback.
class SocketOutbox final : public twinstep::net::Outbox {
public:
    explicit SocketOutbox(const UdpSocket& socket)
        : socket_(socket) {}

    void send(const twinstep::net::Address& to, twinstep::ByteView datagram) override {
        socket_.send(to.port, datagram);
        ++datagrams;
        bytes += datagram.size();
    }

    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;

private:
    const UdpSocket& socket_;
};

/// Sleeps until one of the descriptors can be read or the time has come.
inline void wait_for(std::initializer_list<int> descriptors, twinstep::net::Micros until) {
    std::array<pollfd, 8> set{};
    std::size_t count = 0;
    for (const int descriptor : descriptors) {
        set[count++] = {descriptor, POLLIN, 0};
    }
    const std::int64_t rest = std::max<std::int64_t>(0, (until - now()).value);
    const timespec timeout{static_cast<time_t>(rest / 1'000'000),
                           static_cast<long>(rest % 1'000'000 * 1000)};
    ppoll(set.data(), count, &timeout, nullptr);
}

} // namespace bench
