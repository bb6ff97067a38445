// SPDX-License-Identifier: MIT
// UDP sockets and the clock: carries datagrams and wake-ups to a machine that knows neither.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// The port a server listens on unless told otherwise.
inline constexpr std::uint16_t default_port = 7777;

/// The time line of this process's machines: monotonic, unaware of the wall clock. Thread: any.
Micros monotonic_now();

/// A host and a port as somebody wrote them.
struct HostPort {
    std::string host; ///< A name or an address, without brackets.
    std::uint16_t port = 0;
};

/// Takes "HOST:PORT", "[2001:db8::1]:PORT" or one of them without the port, which is then
/// `port_default`. Errors: bad_setting.
Result<HostPort> parse_host_port(std::string_view text, std::uint16_t port_default = default_port);

/// An address, not a name: "192.0.2.1:7777", "[::]:0". Asks nobody. Errors: bad_setting.
Result<Address> parse_address(std::string_view text, std::uint16_t port_default = default_port);

/// Every address of "HOST:PORT"; never empty. Asks the system, which may take seconds. IPv4 comes
/// first for this machine itself, otherwise the order is the system's. Errors: bad_setting;
/// io_error.
Result<std::vector<Address>> resolve(std::string_view text,
                                     std::uint16_t port_default = default_port);

/// Any local address of the same family, any port: for a client of this server.
Address local_for(const Address& server);

/// True for 0.0.0.0 and ::.
bool is_unspecified(const Address& address);

/// What the port drives: Host and Client have these three calls; see drive().
class Machine {
public:
    virtual ~Machine() = default;

    /// A datagram that is received soon. A hint and nothing else: what belongs to it can be fetched
    /// from memory while others are worked on.
    virtual void expect(ByteView datagram) { static_cast<void>(datagram); }

    virtual void receive(Micros now, const Address& from, ByteView datagram, Outbox& out) = 0;
    virtual void advance(Micros now, Outbox& out) = 0;
    virtual Micros next_wake() const = 0;
};

/// A Host or a Client, borrowed, as a Machine.
template <class T>
class Driven final : public Machine {
public:
    explicit Driven(T& machine)
        : machine_(machine) {}

    void expect(ByteView datagram) override {
        if constexpr (requires { machine_.expect(datagram); }) {
            machine_.expect(datagram);
        }
    }

    void receive(Micros now, const Address& from, ByteView datagram, Outbox& out) override {
        machine_.receive(now, from, datagram, out);
    }

    void advance(Micros now, Outbox& out) override { machine_.advance(now, out); }

    Micros next_wake() const override { return machine_.next_wake(); }

private:
    T& machine_;
};

template <class T>
Driven<T> drive(T& machine) {
    return Driven<T>(machine);
}

/// What is decided when sockets are opened.
struct UdpSettings {
    std::vector<Address> local; ///< One socket each, at most 256 of a family; port 0: any free one.
    std::uint32_t receive_buffer_bytes = 4U << 20U; ///< Asked of the system, for each socket.
    std::uint32_t send_buffer_bytes = 4U << 20U;
};

/// Counters that only grow, and what the system granted. Thread: that of run.
struct UdpStatus {
    std::uint64_t datagrams_received = 0;
    std::uint64_t datagrams_sent = 0;
    std::uint64_t receive_errors = 0; ///< Refusals by peers and the like; nothing is lost but time.
    std::uint64_t oversized = 0;      ///< Datagrams longer than any of ours; dropped.
    std::uint64_t send_full = 0;      ///< Not sent because the buffer was full: a loss like others.
    std::uint64_t send_errors = 0;    ///< Not sent because the system refused: no route, say.
    std::uint64_t wakes = 0;          ///< Times the machine was advanced.
    std::uint32_t receive_buffer_bytes = 0; ///< Granted, the least of all sockets.
    std::uint32_t send_buffer_bytes = 0;
};

/// Sockets, a timer and the loop that serves them. One machine at a time.
/// With several sockets of one family, the top byte of Address::scope is the socket's number among
/// them, so that an answer leaves through the socket that was asked.
/// Thread: one owner; stop() and post() may be called from any. The object outlives those calls.
class UdpPort {
public:
    /// Opens all sockets or none. Errors: bad_setting; io_error with the address as `where`.
    static Result<UdpPort> open(const UdpSettings& settings);
    UdpPort(UdpPort&&) noexcept;
    UdpPort& operator=(UdpPort&&) noexcept;
    ~UdpPort();

    /// The addresses really bound, in the order of the settings.
    const std::vector<Address>& local() const;

    /// Serves the machine until stop(). After every wake-up, every batch of datagrams and every
    /// posted call the machine is advanced once. Nothing is allocated per datagram.
    void run(Machine& machine);

    /// Waits until something has happened or `deadline` has come, handles it and returns true if
    /// the machine was advanced. For a game that has a loop of its own; a deadline of the past only
    /// takes what is there.
    bool step(Machine& machine, Micros deadline);

    /// Makes run() return soon. Stays in force: a later run() returns at once.
    void stop();

    /// Calls `call` from run() or step(), then advances the machine.
    void post(std::function<void()> call);

    /// Sends outside of the machine's calls, such as a last farewell.
    Outbox& outbox();

    const UdpStatus& status() const;

private:
    struct Impl;
    explicit UdpPort(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::net
