// SPDX-License-Identifier: MIT
// The UDP port with Boost.Asio: readiness, bounded draining, one timer with an absolute deadline.
// On Linux datagrams go in and out in batches; see udp_port_batch.hpp and udp_port_single.hpp.
#if defined(_WIN32) && !defined(_WIN32_WINNT)
#define _WIN32_WINNT 0x0A00
#endif
#include "twinstep/net/udp_port.hpp"

#include "udp_port_address.hpp"
#include "udp_port_batch.hpp"
#include "udp_port_single.hpp"

#include "twinstep/net/wire.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace twinstep::net {

namespace {

namespace asio = boost::asio;
using asio::ip::udp;
using Clock = std::chrono::steady_clock;
using BoostError = boost::system::error_code;

/// Datagrams taken from one socket before timers and other sockets have their turn.
constexpr std::size_t drain_max = 256;
/// A datagram takes a microsecond or two: fetching from memory is done by then.
constexpr std::size_t expect_ahead = 2;
constexpr std::size_t sockets_of_family_max = 256;

Clock::time_point time_point(Micros time) {
    return Clock::time_point(std::chrono::microseconds(time.value));
}

/// One socket.
struct Socket {
    udp::socket socket;
    std::uint32_t mark = 0; ///< Number among the sockets of its family, in the top byte.
    bool v4 = false;

    explicit Socket(asio::io_context& context)
        : socket(context) {}
};

/// Asks for a buffer size and says what came of it; a refusal is no failure.
template <class Option>
std::uint32_t ask_buffer(udp::socket& socket, std::uint32_t wanted) {
    BoostError ignored;
    socket.set_option(Option(static_cast<int>(wanted)), ignored);
    Option granted;
    socket.get_option(granted, ignored);
    return ignored ? 0 : static_cast<std::uint32_t>(std::max(granted.value(), 0));
}

Result<void> open_socket(udp::socket& socket, const Address& local) {
    const udp::endpoint endpoint = endpoint_of(local);
    const std::string where = to_string(local);
    BoostError error;
    if (socket.open(endpoint.protocol(), error)) {
        return fail(io_error(error, "open", where));
    }
    if (!is_v4(local) && socket.set_option(asio::ip::v6_only(true), error)) {
        return fail(io_error(error, "v6_only", where));
    }
    if (socket.bind(endpoint, error)) {
        return fail(io_error(error, "bind", where));
    }
    if (socket.non_blocking(true, error)) {
        return fail(io_error(error, "non_blocking", where));
    }
    return {};
}

} // namespace

struct UdpPort::Impl final : Outbox {
    asio::io_context context{1};
    asio::steady_timer timer{context};
    std::vector<std::unique_ptr<Socket>> sockets;
    std::vector<Address> local;
#if defined(__linux__)
    UdpOutgoing outgoing;
#endif
    UdpInbox inbox;
    UdpStatus status;
    Machine* machine = nullptr;
    Micros armed = never;   ///< When the timer goes off.
    bool gathering = false; ///< The machine is being called: what it sends may wait for the rest.
    bool advanced = false;
    bool stopping = false;

    void send(const Address& to, ByteView datagram) override;
    void wait_readable(Socket& socket);
    void drain(Socket& socket);
    void send_now(Socket& socket, const Address& to, ByteView datagram);
    void count_failure(const BoostError& error);
    void advance();
    void flush();
    void gather(bool on);
    void settle();
    void arm();
};

void UdpPort::Impl::send(const Address& to, ByteView datagram) {
    const bool v4 = is_v4(to);
    const std::uint32_t mark = to.scope & ~scope_mask;
    for (const auto& socket : sockets) {
        if (socket->v4 != v4 || socket->mark != mark) {
            continue;
        }
#if defined(__linux__)
        if (UdpOutgoing::fits(datagram)) {
            outgoing.add(socket->socket.native_handle(), to, datagram);
            if (!gathering || outgoing.full()) {
                flush();
            }
            return;
        }
        flush(); // The order is kept.
#endif
        send_now(*socket, to, datagram);
        return;
    }
    ++status.send_errors;
}

void UdpPort::Impl::send_now(Socket& socket, const Address& to, ByteView datagram) {
    BoostError error;
    socket.socket.send_to(
        asio::buffer(datagram.data(), datagram.size()), endpoint_of(to), 0, error);
    if (error) {
        count_failure(error);
    } else {
        ++status.datagrams_sent;
    }
}

void UdpPort::Impl::count_failure(const BoostError& error) {
    if (error == asio::error::would_block || error == asio::error::no_buffer_space) {
        ++status.send_full;
    } else {
        ++status.send_errors;
    }
}

void UdpPort::Impl::flush() {
#if defined(__linux__)
    outgoing.flush([this](std::size_t sent) { status.datagrams_sent += sent; },
                   [this](int error) {
                       count_failure(BoostError(error, asio::error::get_system_category()));
                   });
#endif
}

void UdpPort::Impl::wait_readable(Socket& socket) {
    socket.socket.async_wait(udp::socket::wait_read, [this, &socket](const BoostError& error) {
        if (error == asio::error::operation_aborted) {
            return;
        }
        drain(socket);
    });
}

void UdpPort::Impl::drain(Socket& socket) {
    std::size_t taken = 0;
    bool more = true;
    while (more && taken < drain_max) {
        BoostError error;
        const std::size_t asked = std::min(udp_batch_max, drain_max - taken);
        const std::size_t count = inbox.receive(socket.socket, asked, error);
        if (error == asio::error::would_block || error == asio::error::try_again) {
            break;
        }
        if (error) {
            // A peer that is gone makes the system report a refusal here: its trouble, not ours.
            ++status.receive_errors;
            ++taken;
            continue;
        }
        taken += count;
        more = count == asked; // Otherwise that was all; what comes now is announced again.
        const Micros now = monotonic_now();
        gather(true);
        for (std::size_t i = 0; i < count; ++i) {
            if (i + expect_ahead < count) {
                machine->expect(inbox.bytes(i + expect_ahead));
            }
            if (inbox.is_cut(i) || inbox.bytes(i).size() > wire::datagram_bytes_max) {
                ++status.oversized;
                continue;
            }
            ++status.datagrams_received;
            Address from = inbox.from(i);
            from.scope |= socket.mark;
            machine->receive(now, from, inbox.bytes(i), *this);
        }
        gather(false);
        if (more && taken < drain_max && machine->next_wake() <= monotonic_now()) {
            advance(); // What is due does not wait for the rest.
        }
    }
    settle();
    if (taken < drain_max) {
        wait_readable(socket);
    } else {
        // More may be there; timers and the other sockets go first.
        asio::post(context, [this, &socket] { drain(socket); });
    }
}

void UdpPort::Impl::gather(bool on) {
    gathering = on;
    if (!on) {
        flush();
    }
}

void UdpPort::Impl::advance() {
    advanced = true;
    ++status.wakes;
    gather(true);
    machine->advance(monotonic_now(), *this);
    gather(false);
}

void UdpPort::Impl::settle() {
    advance();
    arm();
}

void UdpPort::Impl::arm() {
    const Micros wake = machine->next_wake();
    // A timer that goes off too early costs a look; moving it would cost a cancelled wait each
    // time.
    if (wake == never || wake >= armed) {
        return;
    }
    armed = wake;
    timer.expires_at(time_point(wake));
    timer.async_wait([this](const BoostError& error) {
        if (error == asio::error::operation_aborted) {
            return;
        }
        armed = never;
        if (machine->next_wake() <= monotonic_now()) {
            settle();
        } else {
            arm();
        }
    });
}

UdpPort::UdpPort(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

UdpPort::UdpPort(UdpPort&&) noexcept = default;
UdpPort& UdpPort::operator=(UdpPort&&) noexcept = default;
UdpPort::~UdpPort() = default;

Result<UdpPort> UdpPort::open(const UdpSettings& settings) {
    if (settings.local.empty()) {
        return fail(Error(NetErrc::bad_setting, "listen", "no address is given"));
    }
    auto impl = std::make_unique<Impl>();
    impl->status.receive_buffer_bytes = std::numeric_limits<std::uint32_t>::max();
    impl->status.send_buffer_bytes = std::numeric_limits<std::uint32_t>::max();
    std::array<std::uint32_t, 2> of_family{};
    for (const Address& wanted : settings.local) {
        std::uint32_t& count = of_family[is_v4(wanted) ? 0 : 1];
        if (count == sockets_of_family_max) {
            return fail(Error(NetErrc::bad_setting, "listen", "at most 256 addresses of a family"));
        }
        auto socket = std::make_unique<Socket>(impl->context);
        if (Result<void> opened = open_socket(socket->socket, wanted); !opened) {
            return fail(opened.error());
        }
        socket->mark = count++ << 24U;
        socket->v4 = is_v4(wanted);
        UdpStatus& status = impl->status;
        status.receive_buffer_bytes = std::min(status.receive_buffer_bytes,
                                               ask_buffer<asio::socket_base::receive_buffer_size>(
                                                   socket->socket, settings.receive_buffer_bytes));
        status.send_buffer_bytes = std::min(status.send_buffer_bytes,
                                            ask_buffer<asio::socket_base::send_buffer_size>(
                                                socket->socket, settings.send_buffer_bytes));
        BoostError error;
        const udp::endpoint bound = socket->socket.local_endpoint(error);
        if (error) {
            return fail(io_error(error, "local_endpoint", to_string(wanted)));
        }
        impl->local.push_back(address_of(bound));
        impl->sockets.push_back(std::move(socket));
    }
    for (const auto& socket : impl->sockets) {
        impl->wait_readable(*socket);
    }
    return UdpPort(std::move(impl));
}

const std::vector<Address>& UdpPort::local() const {
    return impl_->local;
}

void UdpPort::run(Machine& machine) {
    Impl& impl = *impl_;
    impl.machine = &machine;
    impl.settle();
    while (!impl.stopping && impl.context.run_one() != 0) {
    }
    impl.machine = nullptr;
}

bool UdpPort::step(Machine& machine, Micros deadline) {
    Impl& impl = *impl_;
    impl.machine = &machine;
    impl.advanced = false;
    if (machine.next_wake() <= monotonic_now()) {
        impl.settle();
        // Bounded: as long as the owner owes the machine something, an input say, its wake-up stays
        // in the past and the timer is ready again at once.
        for (int handled = 0; handled < 8 && impl.context.poll_one() != 0; ++handled) {
        }
    } else {
        impl.arm();
        // Waiting until a time that is over would not even look.
        const auto handle = [&] {
            return deadline <= monotonic_now() ? impl.context.poll_one()
                                               : impl.context.run_one_until(time_point(deadline));
        };
        while (!impl.advanced && !impl.stopping && handle() != 0) {
        }
    }
    impl.machine = nullptr;
    return impl.advanced;
}

void UdpPort::stop() {
    asio::post(impl_->context, [impl = impl_.get()] { impl->stopping = true; });
}

void UdpPort::post(std::function<void()> call) {
    asio::post(impl_->context, [impl = impl_.get(), call = std::move(call)] {
        call();
        impl->settle();
    });
}

Outbox& UdpPort::outbox() {
    return *impl_;
}

const UdpStatus& UdpPort::status() const {
    return impl_->status;
}

Micros monotonic_now() {
    const auto since = Clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

} // namespace twinstep::net
