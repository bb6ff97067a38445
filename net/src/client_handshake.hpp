// SPDX-License-Identifier: MIT
// The client's way from nothing to a connection: HELLO, COOKIE, CONNECT, ACCEPT.
#pragma once

#include "twinstep/net/client.hpp"
#include "twinstep/net/crypto.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"

#include <cstdint>
#include <optional>

namespace twinstep::net {

/// What a finished handshake has brought.
struct Accepted {
    std::uint16_t connection_id = 0;
    ConnectionKeys keys;         ///< All zero in plain mode.
    wire::AcceptPayload payload; ///< Its view is empty: see `neutral`.
    Bytes neutral;
    Micros round_trip;
};

/// The handshake. Never asserts on what it is sent; what does not belong to it is ignored.
class ClientHandshake {
public:
    /// The settings are borrowed. `build` is the digest of the client's own build.
    ClientHandshake(const ClientSettings& settings, const Hash128& build, Entropy& entropy);

    /// Sends what is due; the first call starts the clock.
    void advance(Micros now, Outbox& out);

    Micros next_wake() const;

    /// Takes a handshake packet; answers a cookie at once.
    void receive(Micros now, ByteView datagram, Outbox& out);

    /// Set once ACCEPT has come.
    std::optional<Accepted>& accepted() { return accepted_; }

    /// Set once it has failed, with the reason for close_reason().
    const std::optional<Error>& failure() const { return failure_; }

    CloseReason failure_reason() const { return failure_reason_; }

    std::uint64_t datagrams_sent() const { return datagrams_sent_; }

private:
    enum class Phase : std::uint8_t { idle, hello, connect, done };

    void send_hello(Micros now);
    void take_cookie(Micros now, const wire::Cookie& cookie, Outbox& out);
    void take_accept(Micros now, const wire::Accept& accept);
    void take_refuse(const wire::Refuse& refuse);
    Result<void> compose_connect(const wire::Cookie& cookie);
    Result<ConnectionKeys> open_accept(const wire::Accept& accept, Bytes& payload);
    void send(Micros now, Outbox& out);
    void schedule(Micros now);
    void fail_with(CloseReason reason, NetErrc code, std::string detail);
    void time_out();
    void measure(Micros now);

    const ClientSettings& settings_;
    Hash128 build_;
    Entropy& entropy_;
    Phase phase_ = Phase::idle;
    wire::Random16 random_{};
    Bytes packet_; ///< The HELLO or CONNECT that is sent again until it is answered.
    std::optional<NoiseInitiator> noise_;
    Micros started_;
    Micros phase_started_;
    Micros next_send_;
    std::uint32_t sends_ = 0; ///< In this phase.
    bool composed_ = false;   ///< A CONNECT has been made.
    bool heard_ = false;      ///< A cookie has come at least once.
    Micros round_trip_{-1};
    std::uint64_t datagrams_sent_ = 0;
    std::optional<Accepted> accepted_;
    std::optional<Error> failure_;
    CloseReason failure_reason_ = CloseReason::none;
};

} // namespace twinstep::net
