// SPDX-License-Identifier: MIT
// The words of the network: time that is given, addresses, roles, policies, reasons.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace twinstep::net {

/// A point on a monotonic time line, or the distance of two, in microseconds. The machines of this
/// module are given it and read no clock themselves.
struct Micros {
    std::int64_t value = 0;

    constexpr auto operator<=>(const Micros&) const = default;
};

constexpr Micros operator+(Micros a, Micros b) {
    return {a.value + b.value};
}

constexpr Micros operator-(Micros a, Micros b) {
    return {a.value - b.value};
}

constexpr Micros milliseconds(std::int64_t count) {
    return {count * 1'000};
}

constexpr Micros seconds(std::int64_t count) {
    return {count * 1'000'000};
}

/// No wake-up is wanted.
inline constexpr Micros never{std::numeric_limits<std::int64_t>::max()};

/// Where a datagram comes from or goes to: an IPv6 address, or IPv4 in its mapped form, and a port.
struct Address {
    std::array<std::uint8_t, 16> ip{};
    std::uint32_t scope = 0; ///< Of a link-local address.
    std::uint16_t port = 0;

    constexpr auto operator<=>(const Address&) const = default;
};

/// ::1, or 127.0.0.0/8 in its mapped form.
bool is_loopback(const Address& address);
/// "[2001:db8::1]:7777" or "192.0.2.1:7777".
std::string to_string(const Address& address);

/// Where a machine puts the datagrams it wants sent; the bytes are valid during the call.
class Outbox {
public:
    virtual ~Outbox() = default;
    virtual void send(const Address& to, ByteView datagram) = 0;
};

/// Where secrets come from: the system, or a seed in a simulated network.
class Entropy {
public:
    virtual ~Entropy() = default;
    virtual void fill(std::span<std::byte> target) = 0;
};

/// The system's generator. Thread: any.
Entropy& system_entropy();

/// What a peer may do.
enum class Role : std::uint8_t {
    player = 1,    ///< Has a slot, gives inputs, votes on hashes.
    spectator = 2, ///< Only watches; never waited for, never counted.
};

/// When the server closes a tick whose inputs are not all there.
enum class Policy : std::uint8_t {
    deadline = 1, ///< After the grace; the missing input is substituted.
    wait = 2,     ///< After a stall of at most stall_max.
    strict = 3,   ///< Never: the match stands until everybody has spoken or somebody decides.
};

/// What a missing input is substituted with.
enum class Filler : std::uint8_t {
    repeat_last = 1, ///< The slot's last input.
    neutral = 2,     ///< The match's neutral input.
};

/// Whose hash is right.
enum class Authority : std::uint8_t {
    simulation = 1, ///< The server's own simulation.
    relay = 2,      ///< A strict majority of the players; otherwise nobody's.
};

/// Where a player stands; docs/lockstep-states.md has the legal transitions.
enum class PlayerState : std::uint8_t {
    empty,   ///< The slot is free.
    joining, ///< Admitted; loading, or catching up. Gives no inputs yet.
    live,    ///< Its inputs arrive in time.
    lagging, ///< At least one input was substituted lately.
    absent,  ///< Substituted for two seconds, or its transport is gone. The slot stays its own.
};

/// Why a connection ended or was refused. Part of the protocol: values are never used again.
enum class CloseReason : std::uint8_t {
    none = 0,
    leaving = 1,              ///< The peer goes by its own will.
    match_ended = 2,          ///< The match is over.
    timed_out = 3,            ///< Nothing was heard.
    protocol_error = 4,       ///< Bytes that mean nothing inside a valid packet.
    flooding = 5,             ///< A budget was exceeded for too long.
    full = 6,                 ///< No slot, or no room for another peer.
    draining = 7,             ///< The server takes nobody new.
    unsupported_version = 8,  ///< No protocol version in common.
    different_simulation = 9, ///< Manifests differ; the text names the key and both values.
    not_admitted = 10,        ///< Wrong room key or token, or a token used twice.
    no_such_match = 11,       ///< No match with this id.
    role_refused = 12,        ///< The role is not allowed.
    too_slow = 13,            ///< Fell out of the ring too often, or a download took too long.
    diverged = 14,            ///< Its state is wrong and could not be mended.
    replaced = 15,            ///< The same player connected again elsewhere.
    going_down = 16,          ///< The server stops.
};

/// "timed_out" and so on: as logs, JSON and metrics name it.
std::string_view to_string(CloseReason reason);
std::string_view to_string(Role role);
std::string_view to_string(Policy policy);
std::string_view to_string(PlayerState state);

} // namespace twinstep::net
