// SPDX-License-Identifier: MIT
// The client's end of a session, step by step, so that a test can leave one out or bend it.
#pragma once

#include "session_support.hpp"

#include "twinstep/net/host.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What was sent, in order.
class CollectingOutbox final : public twinstep::net::Outbox {
public:
    struct Sent {
        twinstep::net::Address to;
        twinstep::Bytes bytes;
    };

    void send(const twinstep::net::Address& to, twinstep::ByteView datagram) override {
        sent.push_back({to, {datagram.begin(), datagram.end()}});
    }

    std::vector<Sent> take() { return std::exchange(sent, {}); }

    std::vector<Sent> sent;
};

/// Counts and forgets; allocates nothing.
class CountingOutbox final : public twinstep::net::Outbox {
public:
    void send(const twinstep::net::Address&, twinstep::ByteView datagram) override {
        ++datagrams;
        bytes += datagram.size();
    }

    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;
};

/// One client's handshake and packets.
class TestPeer {
public:
    TestPeer(twinstep::net::wire::Mode mode, twinstep::net::Key key, twinstep::net::Address at)
        : address(at)
        , mode_(mode)
        , key_(std::move(key))
        , entropy_(test_seed() + at.port) {
        entropy_.fill(random);
    }

    twinstep::Bytes hello() const {
        twinstep::Bytes bytes;
        twinstep::net::wire::encode(twinstep::net::wire::Hello{random}, bytes);
        return bytes;
    }

    /// The CONNECT that answers a COOKIE.
    twinstep::Bytes connect(twinstep::ByteView cookie_bytes) {
        namespace net = twinstep::net;
        namespace wire = net::wire;
        const auto cookie = wire::decode_cookie(cookie_bytes);
        REQUIRE(cookie);
        wire::Connect connect;
        connect.client_random = random;
        connect.secret_index = cookie->secret_index;
        connect.tag = cookie->tag;
        connect.mode = mode_;
        connect.minor = cookie->minor;
        twinstep::Bytes payload;
        wire::encode(request, payload);
        twinstep::Bytes handshake;
        if (mode_ == wire::Mode::room_key) {
            noise_.emplace(key_, net::noise_prologue(connect), entropy_);
            REQUIRE(noise_->write(payload, handshake));
        } else if (mode_ == wire::Mode::token) {
            handshake.assign(token.begin(), token.end());
            REQUIRE(net::seal_payload(token_keys.up, net::Direction::up, payload, handshake));
        } else {
            handshake = payload;
        }
        connect.handshake = handshake;
        twinstep::Bytes bytes;
        wire::encode(connect, bytes);
        return bytes;
    }

    /// Takes an ACCEPT; false if it is something else or not authentic.
    bool take_accept(twinstep::ByteView bytes) {
        namespace net = twinstep::net;
        namespace wire = net::wire;
        const auto accept = wire::decode_accept(bytes);
        if (!accept || accept->client_random != random) {
            return false;
        }
        twinstep::Bytes payload(accept->handshake.begin(), accept->handshake.end());
        net::ConnectionKeys keys = token_keys;
        if (mode_ == wire::Mode::room_key) {
            const auto agreed = noise_->read(accept->handshake, payload);
            if (!agreed) {
                return false;
            }
            keys = *agreed;
        } else if (mode_ == wire::Mode::token &&
                   !net::open_payload(
                       keys.down, net::Direction::down, accept->handshake, payload)) {
            return false;
        }
        connection_id = accept->connection_id;
        sealer.emplace(mode_, keys.up, net::Direction::up, connection_id);
        opener.emplace(mode_, keys.down, net::Direction::down);
        return wire::decode_accept_payload(payload).has_value();
    }

    /// HELLO to first data packet. False if no ACCEPT came; `refusal` may say why.
    bool join(twinstep::net::Host& host, twinstep::net::Micros now) {
        return shake_hands(host, now) && send_to(host, now, {});
    }

    /// HELLO to ACCEPT.
    bool shake_hands(twinstep::net::Host& host, twinstep::net::Micros now) {
        namespace net = twinstep::net;
        namespace wire = net::wire;
        CollectingOutbox answers;
        refusal = net::CloseReason::none;
        host.receive(now, address, hello(), answers);
        auto sent = answers.take();
        if (sent.size() != 1) {
            return false;
        }
        connect_bytes = connect(sent[0].bytes);
        host.receive(now, address, connect_bytes, answers);
        sent = answers.take();
        if (sent.empty()) {
            return false;
        }
        if (const auto refuse = wire::decode_refuse(sent[0].bytes)) {
            refusal = refuse->reason;
            return false;
        }
        accept_bytes = sent[0].bytes;
        return take_accept(sent[0].bytes);
    }

    twinstep::Bytes seal(twinstep::ByteView plaintext) {
        twinstep::Bytes datagram;
        REQUIRE(sealer->seal(plaintext, datagram));
        return datagram;
    }

    bool
    send_to(twinstep::net::Host& host, twinstep::net::Micros now, twinstep::ByteView plaintext) {
        host.receive(now, address, seal(plaintext), out);
        return true;
    }

    /// The frames in what the host sent; empty for a packet that is not for this peer or authentic.
    std::optional<twinstep::Bytes> open(twinstep::ByteView datagram) {
        twinstep::Bytes plain;
        bool newest = false;
        if (!opener->open(datagram, plain, newest)) {
            return std::nullopt;
        }
        return plain;
    }

    twinstep::net::Address address;
    twinstep::net::wire::Random16 random{};
    twinstep::net::wire::ConnectPayload request;
    twinstep::net::SealedToken token{};
    twinstep::net::ConnectionKeys token_keys;
    twinstep::net::CloseReason refusal = twinstep::net::CloseReason::none;
    std::uint16_t connection_id = 0;
    twinstep::Bytes connect_bytes;
    twinstep::Bytes accept_bytes;
    std::optional<twinstep::net::Sealer> sealer;
    std::optional<twinstep::net::Opener> opener;
    CollectingOutbox out; ///< What the host answered to send_to.

private:
    twinstep::net::wire::Mode mode_;
    twinstep::net::Key key_;
    TestEntropy entropy_;
    std::optional<twinstep::net::NoiseInitiator> noise_;
};

/// The first frame of a plaintext, or nothing.
inline std::optional<twinstep::net::wire::Frame> first_frame(twinstep::ByteView plaintext) {
    twinstep::net::wire::FrameReader reader(plaintext);
    twinstep::net::wire::Frame frame;
    const auto more = reader.next(frame);
    if (!more || !*more) {
        return std::nullopt;
    }
    return frame;
}
