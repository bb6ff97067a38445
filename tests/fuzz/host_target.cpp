// SPDX-License-Identifier: MIT
// A host with a match against four endpoints that follow the fuzzer's script: honest steps lead
// deep into sessions, everything else is whatever the bytes say. Plain mode: no tag stands in the
// way.
#include "fuzz_script.hpp"
#include "fuzz_targets.hpp"
#include "wire_samples.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/identity.hpp"
#include "twinstep/net/simulated_network.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

constexpr std::size_t host_steps_max = 300;

/// A host and a match for so few may hold that much: tables, ring, a snapshot.
constexpr std::size_t memory_max = std::size_t{8} << 20U;

/// The value; a set-up that cannot work is this file's own mistake.
template <class T>
T made(Result<T> result) {
    if (!result) {
        broken_promise(to_string(result.error()).c_str());
    }
    return std::move(*result);
}

Manifest some_manifest() {
    SimulationInfo info;
    info.id = "fuzzed";
    info.tick_rate = TickRate(60);
    Setup setup;
    setup.slots = 2;
    return make_manifest(info, setup);
}

struct Endpoint {
    Address address;
    Random16 random{};
    std::optional<Cookie> cookie;
    std::uint16_t connection_id = 0;
    std::uint32_t sequence = 0;
};

class HostWorld final : public MatchEvents, public Outbox {
public:
    HostWorld()
        : entropy_(1)
        , manifest_(some_manifest()) {
        for (std::size_t i = 0; i < endpoints_.size(); ++i) {
            Endpoint& endpoint = endpoints_[i];
            endpoint.address.ip[15] = 1;
            endpoint.address.port = static_cast<std::uint16_t>(1000 + i);
            endpoint.random.fill(static_cast<std::byte>(i + 1));
        }
        HostSettings settings;
        settings.mode = Mode::plain;
        settings.peers_max = 8;
        settings.pending_max = 8;
        settings.token_ids_max = 64;
        host_.emplace(made(Host::create(std::move(settings), *this, entropy_)));
        MatchSettings match;
        match.slots = 2;
        match.neutral = Bytes(4);
        match.manifest = manifest_;
        match_ = made(host_->open_match(std::move(match)));
    }

    void run(Tape tape) {
        for (std::size_t steps = 0; tape.more() && steps < host_steps_max; ++steps) {
            const unsigned what = tape.byte();
            step(what % 10, endpoints_[what / 10 % endpoints_.size()], tape);
            require(host_->status().peers <= endpoints_.size() * 2, "more peers than endpoints");
            require(host_->memory_bytes() + match_->memory_bytes() < memory_max,
                    "memory without a bound");
        }
        host_->shut_down(now_, *this);
    }

    void send(const Address& to, ByteView datagram) override {
        require(datagram.size() <= datagram_bytes_max, "a datagram that is too large");
        sent_bytes_ += datagram.size();
        for (Endpoint& endpoint : endpoints_) {
            if (endpoint.address != to) {
                continue;
            }
            require(check_datagram(false, datagram, {}).has_value(), "a server's bad datagram");
            if (const auto cookie = decode_cookie(datagram)) {
                endpoint.cookie = *cookie;
            } else if (const auto accept = decode_accept(datagram)) {
                endpoint.connection_id = accept->connection_id;
                ticket_ = decode_accept_payload(accept->handshake)->ticket;
            }
        }
    }

    void on_closed(MatchId, Tick tick, ByteView frame, Micros) override {
        TickFrame decoded;
        require(decode_frame(frame, decoded).has_value(), "a closed tick that is no frame");
        require(tick.value == closed_ && decoded.tick() == tick, "ticks closed out of order");
        ++closed_;
    }

    void on_snapshot_wanted(MatchId, Tick tick) override { wanted_ = tick; }

private:
    void step(unsigned what, Endpoint& endpoint, Tape& tape) {
        switch (what) {
        case 0:
            hello(endpoint);
            break;
        case 1:
            connect(endpoint, tape.byte());
            break;
        case 2:
            stranger(tape.bytes(tape.byte()));
            break;
        case 3:
            data(endpoint, tape.bytes(tape.byte()));
            break;
        case 4: {
            frame_.clear();
            const unsigned tick = tape.byte();
            encode(wire::Progress{tick & 0x7FU, tick >= 0x80}, frame_);
            data(endpoint, frame_);
            break;
        }
        case 5:
            inputs(endpoint, tape);
            break;
        case 6:
            now_ = now_ + milliseconds(tape.byte() * 4);
            host_->advance(now_, *this);
            break;
        case 7:
            sample(endpoint, tape);
            break;
        case 8:
            simulate();
            break;
        default:
            // From another address than the connection's.
            std::swap(endpoint.address.port, endpoints_.front().address.port);
            break;
        }
    }

    void give(const Address& from, ByteView datagram) {
        host_->receive(now_, from, datagram, *this);
        host_->advance(now_, *this);
    }

    /// Nobody whose address is not proven gets more than it sent.
    void stranger(ByteView datagram) {
        Address from;
        from.ip[15] = 1;
        from.port = 9;
        const std::uint64_t before = sent_bytes_;
        host_->receive(now_, from, datagram, *this);
        require(sent_bytes_ - before <= datagram.size(), "a stranger is answered with more");
    }

    void hello(const Endpoint& endpoint) {
        Bytes datagram;
        encode(Hello{endpoint.random}, datagram);
        give(endpoint.address, datagram);
    }

    void connect(const Endpoint& endpoint, unsigned shape) {
        if (!endpoint.cookie) {
            return;
        }
        ConnectPayload payload;
        payload.role = (shape & 1U) != 0 ? Role::spectator : Role::player;
        payload.build = digest_of_build(manifest_);
        payload.has_ticket = (shape & 2U) != 0;
        if (payload.has_ticket) {
            payload.ticket = ticket_;
        }
        payload.match_id = shape >> 6U;
        payload.name = (shape & 4U) != 0 ? "\x1b[31m\xff" : "eve";
        Bytes bytes;
        encode(payload, bytes);
        Bytes datagram;
        encode(Connect{endpoint.random,
                       endpoint.cookie->secret_index,
                       endpoint.cookie->tag,
                       Mode::plain,
                       0,
                       bytes},
               datagram);
        give(endpoint.address, datagram);
    }

    void data(Endpoint& endpoint, ByteView frames) {
        Bytes datagram;
        ByteWriter writer(datagram);
        writer.u8(data_flags);
        writer.u16(endpoint.connection_id);
        writer.u32(endpoint.sequence++);
        writer.bytes(frames.first(std::min(frames.size(), datagram_bytes_max - datagram.size())));
        give(endpoint.address, datagram);
    }

    void inputs(Endpoint& endpoint, Tape& tape) {
        Inputs value;
        value.ack = tape.byte();
        value.first_tick = tape.byte();
        const unsigned shape = tape.byte();
        value.has_hash = (shape & 1U) != 0;
        value.hash_tick =
            value.has_hash ? value.ack - std::min<std::uint64_t>(value.ack, shape >> 5U) : 0;
        value.hash = shape & 2U;
        Bytes runs;
        RunWriter writer(runs, Bytes(4));
        for (unsigned i = 0; i < (shape >> 2U & 7U); ++i) {
            writer.add(Bytes(4, static_cast<std::byte>(i)));
        }
        writer.finish();
        value.runs = (shape & 0x80U) != 0 ? tape.bytes(tape.byte()) : ByteView(runs);
        frame_.clear();
        encode_inputs(value, true, frame_);
        data(endpoint, frame_);
    }

    /// One of the sample datagrams, with a byte changed.
    void sample(Endpoint& endpoint, Tape& tape) {
        static const std::vector<WireSample> samples = wire_samples();
        const WireSample& chosen = samples[tape.byte() % samples.size()];
        Bytes bytes = chosen.datagram;
        const unsigned at = tape.byte();
        if (at < bytes.size()) {
            bytes[at] ^= static_cast<std::byte>(tape.byte());
        }
        if (bytes.front() == static_cast<std::byte>(data_flags) &&
            bytes.size() > data_header_bytes) {
            data(endpoint, ByteView(bytes).subspan(data_header_bytes));
        } else {
            give(endpoint.address, bytes);
        }
    }

    /// What the server's simulation would say.
    void simulate() {
        if (wanted_) {
            match_->give_snapshot(now_, *wanted_, Bytes(3000, std::byte{1}));
            wanted_.reset();
        }
        while (simulated_ <= closed_) {
            StateHashes hashes;
            hashes.tick = Tick{simulated_++};
            hashes.state = {simulated_, 1};
            hashes.sections = {{"all", hashes.state}};
            match_->give_hashes(hashes);
        }
        host_->advance(now_, *this);
    }

    SeededEntropy entropy_;
    Manifest manifest_;
    std::array<Endpoint, 4> endpoints_;
    std::optional<Host> host_;
    Match* match_ = nullptr;
    Micros now_ = seconds(100);
    Bytes frame_;
    Random16 ticket_{};
    std::optional<Tick> wanted_;
    std::uint64_t closed_ = 0;
    std::uint64_t simulated_ = 0;
    std::uint64_t sent_bytes_ = 0;
};

} // namespace

void fuzz_host(ByteView bytes) {
    HostWorld world;
    world.run(Tape(bytes));
}

std::vector<Bytes> host_seeds() {
    // Two players join, are ready, give inputs and play; then one of the steps that are not honest.
    const Bytes start = tape_of({0, 1, 0,  10, 11, 0, 8, 4, 0, 14, 0,  6, 20, 5,  0, 0,  28, 15,
                                 0, 0, 28, 6,  20, 8, 5, 2, 3, 29, 15, 2, 3,  31, 6, 50, 8});
    std::vector<Bytes> seeds{start};
    for (const auto& more : {tape_of({20, 21, 1, 24, 0, 6, 100, 8, 6, 100, 24, 5}),
                             tape_of({6, 255, 6, 255, 6, 255, 0, 1, 2, 4, 0, 6, 100}),
                             tape_of({7, 20, 9, 1, 7, 33, 12, 255, 17, 38, 0, 0}),
                             tape_of({9, 5, 4, 5, 28, 19, 6, 10, 5, 5, 6, 30}),
                             tape_of({2, 30, 0x81, 0x54, 0x57, 0x4E, 0x53, 1, 0, 1, 2, 3})}) {
        Bytes& seed = seeds.emplace_back(start);
        seed.insert(seed.end(), more.begin(), more.end());
    }
    return seeds;
}
