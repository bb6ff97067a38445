// SPDX-License-Identifier: MIT
// A peer that has the key and speaks the protocol, but not to play: it lies in it and abuses it.
#pragma once

#include "netsim_world.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/wire.hpp"

#include <cstdint>
#include <optional>

namespace twinstep::tools::netsim {

/// A rogue. It is written from the protocol's page alone and shares nothing with the client.
class RogueNode final : public Node {
public:
    RogueNode(World& world, net::NodeIndex index, std::uint16_t number, const Fault& fault);

    const Fault& fault() const { return fault_; }

    void begin(net::Micros at);
    void stop(net::Micros at);

    bool connected() const { return phase_ == Phase::data; }

    std::optional<Slot> slot() const { return slot_; }

    std::uint64_t packets_sent() const { return packets_; }

    std::optional<net::CloseReason> closed() const { return closed_; }

private:
    enum class Phase : std::uint8_t { idle, hello, connect, data, over };

    void receive(net::Micros at, const net::Address& source, ByteView bytes) override;
    void run(net::Micros at) override;
    net::Micros wanted_wake(net::Micros at) const override;

    void send_hello();
    void take_cookie(net::Micros at, ByteView bytes);
    void take_accept(net::Micros at, ByteView bytes);
    void take_frames(ByteView plaintext);
    Result<void> compose_connect(const net::wire::Cookie& cookie, Bytes& handshake);
    void misbehave();
    void play_along(bool other_values, std::uint64_t first_shift);
    void send_plaintext(ByteView plaintext);

    std::uint16_t number_;
    Fault fault_;
    net::SeededEntropy entropy_;
    Random random_;
    Phase phase_ = Phase::idle;
    net::Micros next_ = net::never;
    net::wire::Connect connect_;
    net::wire::Random16 client_random_{};
    std::optional<net::NoiseInitiator> noise_;
    net::ConnectionKeys keys_;
    Bytes packet_;
    Bytes plaintext_;
    Bytes datagram_;
    std::optional<net::Sealer> sealer_;
    std::optional<net::Opener> opener_;
    std::optional<Slot> slot_;
    std::optional<net::CloseReason> closed_;
    net::wire::BlobAck blob_;
    bool has_blob_ = false;
    std::uint64_t next_tick_ = 0; ///< Of the server, as far as heard.
    std::uint64_t input_ack_ = 0;
    std::uint64_t packets_ = 0;
    net::Micros stop_at_ = net::never;
};

} // namespace twinstep::tools::netsim
