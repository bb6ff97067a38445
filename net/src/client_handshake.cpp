// SPDX-License-Identifier: MIT
// The client's side of the handshake.
#include "client_handshake.hpp"

#include "twinstep/sim/bytes.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::net {

namespace {

/// A packet is sent at 0, 250, 500, 1000, 2000 ms and so on after the first one of its kind.
constexpr Micros first_resend = milliseconds(250);
constexpr Micros resend_max = seconds(2);
/// After so many CONNECTs without an answer the cookie may be worn out: begin again.
constexpr std::uint32_t connects_max = 5;

std::string_view text_of_refusal(CloseReason reason) {
    switch (reason) {
    case CloseReason::full:
        return "the match or the server is full";
    case CloseReason::draining:
        return "the server takes nobody new";
    case CloseReason::unsupported_version:
        return "the server speaks another version of the protocol";
    case CloseReason::different_simulation:
        return "the match runs another simulation than this build";
    case CloseReason::not_admitted:
        return "wrong room key or token, or a token used before";
    case CloseReason::no_such_match:
        return "the server has no match with this id";
    case CloseReason::role_refused:
        return "the server does not allow this role";
    case CloseReason::too_slow:
        return "the server gave up on an earlier connection that was too slow";
    case CloseReason::going_down:
        return "the server stops";
    default:
        return "the server refuses";
    }
}

} // namespace

ClientHandshake::ClientHandshake(const ClientSettings& settings,
                                 const Hash128& build,
                                 Entropy& entropy)
    : settings_(settings)
    , build_(build)
    , entropy_(entropy) {
    packet_.reserve(wire::datagram_bytes_max);
}

void ClientHandshake::send_hello(Micros now) {
    if (phase_ == Phase::idle) {
        entropy_.fill(random_);
        started_ = now;
    }
    phase_ = Phase::hello;
    phase_started_ = now;
    sends_ = 0;
    next_send_ = now;
    packet_.clear();
    wire::Hello hello;
    hello.client_random = random_;
    wire::encode(hello, packet_);
}

void ClientHandshake::schedule(Micros now) {
    const std::uint32_t doublings = sends_ - 1;
    next_send_ =
        doublings < 4 ? phase_started_ + Micros{first_resend.value << doublings} : now + resend_max;
    next_send_ = std::max(next_send_, now + first_resend);
}

void ClientHandshake::send(Micros now, Outbox& out) {
    out.send(settings_.server, packet_);
    ++datagrams_sent_;
    ++sends_;
    schedule(now);
}

void ClientHandshake::advance(Micros now, Outbox& out) {
    if (phase_ == Phase::done) {
        return;
    }
    if (phase_ == Phase::idle) {
        send_hello(now);
    }
    if (now - started_ >= settings_.connect_timeout) {
        time_out();
        return;
    }
    if (now < next_send_) {
        return;
    }
    if (phase_ == Phase::connect && sends_ >= connects_max) {
        send_hello(now);
    }
    send(now, out);
}

Micros ClientHandshake::next_wake() const {
    switch (phase_) {
    case Phase::idle:
        return Micros{0};
    case Phase::done:
        return never;
    default:
        return std::min(next_send_, started_ + settings_.connect_timeout);
    }
}

void ClientHandshake::time_out() {
    const std::string server = to_string(settings_.server);
    fail_with(CloseReason::timed_out,
              NetErrc::timed_out,
              heard_
                  ? server + " answers, but did not let us in in time; it may be overloaded"
                  : "no answer from " + server +
                        ": nothing listens there, it speaks another protocol, or the path does not "
                        "carry datagrams of 1200 bytes");
}

void ClientHandshake::fail_with(CloseReason reason, NetErrc code, std::string detail) {
    phase_ = Phase::done;
    failure_reason_ = reason;
    failure_ = Error(code, {}, std::move(detail));
}

void ClientHandshake::measure(Micros now) {
    // Which of several packets was answered is not known: from the first one on it is never less
    // than the way takes, and two losses in a row would have to make it more.
    const Micros trip = now - phase_started_;
    round_trip_ = round_trip_.value < 0 ? trip : std::min(round_trip_, trip);
}

void ClientHandshake::receive(Micros now, ByteView datagram, Outbox& out) {
    if (phase_ == Phase::idle || phase_ == Phase::done || datagram.empty()) {
        return;
    }
    switch (static_cast<wire::PacketType>(datagram.front())) {
    case wire::PacketType::cookie:
        if (const auto cookie = wire::decode_cookie(datagram)) {
            take_cookie(now, *cookie, out);
        }
        break;
    case wire::PacketType::accept:
        if (const auto accept = wire::decode_accept(datagram)) {
            take_accept(now, *accept);
        }
        break;
    case wire::PacketType::refuse:
        if (const auto refuse = wire::decode_refuse(datagram)) {
            take_refuse(*refuse);
        }
        break;
    default:
        break;
    }
}

void ClientHandshake::take_cookie(Micros now, const wire::Cookie& cookie, Outbox& out) {
    if (cookie.client_random != random_ || phase_ != Phase::hello || sends_ == 0) {
        return;
    }
    heard_ = true;
    measure(now);
    if (cookie.major != wire::version_major) {
        fail_with(CloseReason::unsupported_version,
                  NetErrc::refused,
                  "the server speaks version " + std::to_string(cookie.major) +
                      " of the protocol, this build version " +
                      std::to_string(wire::version_major));
        return;
    }
    if (const Result<void> composed = compose_connect(cookie); !composed) {
        fail_with(CloseReason::not_admitted, NetErrc::not_built, to_string(composed.error()));
        return;
    }
    phase_ = Phase::connect;
    phase_started_ = now;
    sends_ = 0;
    send(now, out);
}

Result<void> ClientHandshake::compose_connect(const wire::Cookie& cookie) {
    wire::ConnectPayload payload;
    payload.role = settings_.role;
    payload.build = build_;
    payload.match_id = settings_.match_id;
    payload.has_ticket = settings_.ticket.has_value();
    payload.ticket = settings_.ticket.value_or(wire::Random16{});
    payload.name = settings_.name;
    Bytes plain;
    wire::encode(payload, plain);
    wire::Connect connect;
    connect.client_random = random_;
    connect.secret_index = cookie.secret_index;
    connect.tag = cookie.tag;
    connect.mode = settings_.mode;
    connect.minor = std::min(cookie.minor, wire::version_minor);
    Bytes handshake;
    switch (settings_.mode) {
    case wire::Mode::plain:
        handshake = plain;
        break;
    case wire::Mode::room_key: {
        noise_.emplace(settings_.key, noise_prologue(connect), entropy_);
        if (Result<void> written = noise_->write(plain, handshake); !written) {
            return written;
        }
        break;
    }
    case wire::Mode::token: {
        Bytes sealed;
        if (Result<void> done = seal_payload(settings_.token_keys.up, Direction::up, plain, sealed);
            !done) {
            return done;
        }
        handshake.assign(settings_.token->begin(), settings_.token->end());
        handshake.insert(handshake.end(), sealed.begin(), sealed.end());
        break;
    }
    }
    connect.handshake = handshake;
    packet_.clear();
    wire::encode(connect, packet_);
    composed_ = true;
    return {};
}

Result<ConnectionKeys> ClientHandshake::open_accept(const wire::Accept& accept, Bytes& payload) {
    switch (settings_.mode) {
    case wire::Mode::room_key:
        return noise_->read(accept.handshake, payload);
    case wire::Mode::token:
        if (Result<void> opened =
                open_payload(settings_.token_keys.down, Direction::down, accept.handshake, payload);
            !opened) {
            return fail(opened.error());
        }
        return settings_.token_keys;
    case wire::Mode::plain:
        break;
    }
    payload.assign(accept.handshake.begin(), accept.handshake.end());
    return ConnectionKeys{};
}

void ClientHandshake::take_accept(Micros now, const wire::Accept& accept) {
    // A late ACCEPT is as good as any, also if the next HELLO is under way.
    if (accept.client_random != random_ || !composed_) {
        return;
    }
    Bytes bytes;
    const Result<ConnectionKeys> keys = open_accept(accept, bytes);
    if (!keys) {
        return; // Forged or damaged: the true one comes again.
    }
    const auto payload = wire::decode_accept_payload(bytes);
    if (!payload) {
        return;
    }
    if (phase_ == Phase::connect) {
        measure(now);
    }
    Accepted accepted;
    accepted.connection_id = accept.connection_id;
    accepted.keys = *keys;
    accepted.payload = *payload;
    accepted.neutral.assign(payload->neutral.begin(), payload->neutral.end());
    accepted.payload.neutral = {};
    accepted.round_trip = round_trip_; // A cookie came before.
    accepted_ = std::move(accepted);
    phase_ = Phase::done;
}

void ClientHandshake::take_refuse(const wire::Refuse& refuse) {
    if (refuse.client_random != random_ || phase_ != Phase::connect) {
        return;
    }
    fail_with(refuse.reason,
              refuse.reason == CloseReason::different_simulation ? NetErrc::different_simulation
                                                                 : NetErrc::refused,
              std::string(text_of_refusal(refuse.reason)));
}

} // namespace twinstep::net
