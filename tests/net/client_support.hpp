// SPDX-License-Identifier: MIT
// A small scripted server on virtual time: enough of the protocol to drive a client, without
// the host and the match.
#pragma once

#include "toy_game.hpp"

#include "twinstep/net/blob.hpp"
#include "twinstep/net/client.hpp"
#include "twinstep/net/crypto.hpp"
#include "twinstep/net/wire.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace client_test {

// tidy: allow using-namespace: only inside the namespace of these tests.
using namespace twinstep;
// tidy: allow using-namespace: only inside the namespace of these tests.
using namespace twinstep::net;

inline Address loopback(std::uint16_t port) {
    Address address;
    address.ip[10] = 0xFF;
    address.ip[11] = 0xFF;
    address.ip[12] = 127;
    address.ip[15] = 1;
    address.port = port;
    return address;
}

inline const Address server_address = loopback(7777);
inline const Address client_address = loopback(50'000);

/// Secrets from a seed.
class SeededEntropy final : public Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed = 1)
        : state_(seed) {}

    void fill(std::span<std::byte> target) override {
        for (std::byte& byte : target) {
            state_ = state_ * 6364136223846793005U + 1442695040888963407U;
            byte = static_cast<std::byte>(state_ >> 56U);
        }
    }

private:
    std::uint64_t state_;
};

/// Keeps what a machine sends.
class Collector final : public Outbox {
public:
    void send(const Address& to, ByteView datagram) override {
        last_to = to;
        sent.emplace_back(datagram.begin(), datagram.end());
    }

    std::vector<Bytes> take() { return std::exchange(sent, {}); }

    Address last_to;
    std::vector<Bytes> sent;
};

inline Bytes toy_input(std::int8_t dx, bool fire = false) {
    Bytes bytes;
    encode_input(ToyInput{dx, 0, 0, fire}, bytes);
    return bytes;
}

inline Bytes toy_neutral() {
    return toy_input(0);
}

inline const SimulationInfo& toy_info() {
    static const SimulationInfo info = make_simulation<ToyGame>()->info();
    return info;
}

inline Setup toy_setup(std::uint16_t slots = 2) {
    return Setup{7, slots, {{"map", "one"}}};
}

inline ClientSettings toy_client() {
    ClientSettings settings;
    settings.server = server_address;
    settings.mode = wire::Mode::plain;
    settings.name = "ada";
    settings.simulation = toy_info();
    settings.neutral = toy_neutral();
    settings.proposal = toy_setup();
    return settings;
}

/// The server's half of a connection, frame by frame, in plain mode.
class ScriptedServer {
public:
    ScriptedServer() {
        accept.match_id = 1;
        accept.has_slot = true;
        accept.slot = Slot{0};
        accept.slots = 2;
        accept.tick_rate = TickRate{50};
        accept.input_bytes_max = 64;
        accept.hash_interval_ticks = 1;
        neutral = toy_neutral();
    }

    /// Answers handshake packets; returns frames of data packets, which live until the next call.
    std::vector<std::pair<wire::FrameType, Bytes>> take(ByteView datagram, Collector& out) {
        std::vector<std::pair<wire::FrameType, Bytes>> frames;
        if ((std::to_integer<unsigned>(datagram.front()) & 0x80U) != 0) {
            answer_handshake(datagram, out);
            return frames;
        }
        bool newest = false;
        REQUIRE(opener.open(datagram, plaintext, newest));
        ++packets;
        wire::FrameReader reader(plaintext);
        wire::Frame frame;
        while (true) {
            const Result<bool> more = reader.next(frame);
            REQUIRE(more);
            if (!*more) {
                return frames;
            }
            frames.emplace_back(frame.type, Bytes(frame.body.begin(), frame.body.end()));
        }
    }

    void answer_handshake(ByteView datagram, Collector& out) {
        Bytes packet;
        if (const auto hello = wire::decode_hello(datagram)) {
            ++hellos;
            wire::Cookie cookie;
            cookie.client_random = hello->client_random;
            cookie.tag = 4711;
            cookie.major = major;
            wire::encode(cookie, packet);
            out.send(client_address, packet);
            return;
        }
        const auto connect = wire::decode_connect(datagram);
        REQUIRE(connect);
        ++connects;
        CHECK(connect->tag == 4711);
        if (refuse != CloseReason::none) {
            wire::Refuse refused;
            refused.client_random = connect->client_random;
            refused.reason = refuse;
            wire::encode(refused, packet);
            out.send(client_address, packet);
            return;
        }
        Bytes payload;
        accept.neutral = neutral;
        wire::encode(accept, payload);
        wire::Accept accepted;
        accepted.client_random = connect->client_random;
        accepted.connection_id = 9;
        accepted.handshake = payload;
        wire::encode(accepted, packet);
        out.send(client_address, packet);
    }

    /// Sends the frames in `frames` as one packet.
    void send(ByteView frames, Outbox& out) {
        Bytes packet;
        REQUIRE(sealer.seal(frames, packet));
        out.send(client_address, packet);
    }

    Bytes manifest_blob() const {
        Bytes blob;
        ByteWriter(blob).text({reinterpret_cast<const char*>(neutral.data()), neutral.size()});
        encode_manifest(manifest, blob);
        return blob;
    }

    /// Sends offer and chunks of a blob, once.
    void send_blob(
        wire::BlobKind kind, Tick tick, const Bytes& bytes, std::uint64_t chain, Outbox& out) {
        const wire::BlobOffer offer = make_blob_offer(++blob_id, kind, tick, bytes, chain);
        Bytes frames;
        wire::encode(offer, frames);
        last_offer = frames;
        send(frames, out);
        for (std::size_t from = 0, index = 0; from < bytes.size();
             from += wire::chunk_bytes_max, ++index) {
            frames.clear();
            wire::BlobChunk chunk;
            chunk.id = blob_id;
            chunk.index = static_cast<std::uint32_t>(index);
            chunk.bytes =
                ByteView(bytes).subspan(from, std::min(wire::chunk_bytes_max, bytes.size() - from));
            wire::encode(chunk, frames);
            send(frames, out);
        }
    }

    /// TICKS with the closed frames [first, first + frames.size()).
    void send_ticks(std::uint64_t first,
                    const std::vector<Bytes>& closed,
                    std::uint64_t input_ack,
                    std::int32_t margin_ms,
                    Outbox& out) {
        std::vector<ByteView> views(closed.begin(), closed.end());
        wire::Ticks ticks;
        ticks.first_tick = first;
        ticks.input_ack = input_ack;
        ticks.margin_ms = margin_ms;
        Bytes body;
        if (!views.empty()) {
            const auto count = writer.encode(views, neutral, 1100, body);
            REQUIRE(count);
            ticks.count = static_cast<std::uint8_t>(*count);
            ticks.body = body;
        }
        Bytes frames;
        wire::encode_ticks(ticks, true, frames);
        send(frames, out);
    }

    wire::AcceptPayload accept;
    Bytes neutral;
    Manifest manifest = make_manifest(toy_info(), toy_setup());
    std::uint8_t major = wire::version_major;
    CloseReason refuse = CloseReason::none;
    std::uint32_t hellos = 0;
    std::uint32_t connects = 0;
    std::uint64_t packets = 0;
    std::uint32_t blob_id = 0;
    Bytes last_offer;
    Sealer sealer{wire::Mode::plain, Key{}, Direction::down, 9};
    Opener opener{wire::Mode::plain, Key{}, Direction::up};
    wire::BundleWriter writer;
    Bytes plaintext;
};

/// A closed tick with the same input in each slot.
inline Bytes closed_frame(std::uint64_t tick, std::uint16_t slots, ByteView input) {
    TickFrame frame;
    frame.reset(Tick{tick}, slots);
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        frame.set_input(Slot{slot}, input);
    }
    Bytes encoded;
    encode_frame(frame, encoded);
    return encoded;
}

/// A client and a scripted server without a network between them.
class Pair {
public:
    explicit Pair(ClientSettings settings = toy_client())
        : client(make(std::move(settings), entropy)) {}

    static Client make(ClientSettings settings, Entropy& entropy) {
        auto made = Client::create(std::move(settings), entropy);
        REQUIRE(made);
        return std::move(*made);
    }

    /// Runs the client's side at `now` and hands its datagrams to the server, and back.
    void exchange() {
        client.advance(now, up);
        deliver();
    }

    void deliver() {
        for (const Bytes& datagram : up.take()) {
            for (auto& frame : server.take(datagram, down)) {
                frames.push_back(std::move(frame));
            }
        }
        deliver_down();
    }

    void deliver_down() {
        for (const Bytes& datagram : down.take()) {
            client.receive(now, server_address, datagram, up);
        }
        if (!up.sent.empty()) {
            deliver();
        }
    }

    /// From nothing to `preparing`.
    void connect_and_load() {
        exchange();
        REQUIRE(client.state() == ClientState::loading);
        server.send_blob(wire::BlobKind::manifest, Tick{0}, server.manifest_blob(), 0, down);
        deliver_down();
        exchange();
    }

    std::optional<wire::Inputs> last_inputs() {
        for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
            if (at->first == wire::FrameType::inputs) {
                const auto inputs = wire::decode_inputs(at->second);
                REQUIRE(inputs);
                return *inputs;
            }
        }
        return std::nullopt;
    }

    std::size_t count(wire::FrameType type) const {
        return static_cast<std::size_t>(std::count_if(
            frames.begin(), frames.end(), [type](const auto& f) { return f.first == type; }));
    }

    Micros now = seconds(100);
    SeededEntropy entropy;
    Client client;
    ScriptedServer server;
    Collector up;
    Collector down;
    std::vector<std::pair<wire::FrameType, Bytes>> frames;
};

} // namespace client_test
