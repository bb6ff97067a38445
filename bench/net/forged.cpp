// SPDX-License-Identifier: MIT
// What a stranger without the room key costs the server when its address is real: a CONNECT with a
// good cookie and a forged first message, until it is refused.
#include "allocation_counter.hpp"
#include "net/fleet.hpp"
#include "net/relay.hpp"
#include "net/socket.hpp"

#include "twinstep/net/wire.hpp"

#include <sodium.h>

namespace bench {

namespace {

using namespace twinstep;
using net::Micros;

constexpr int connects = 1000;
constexpr int rounds = 60;
/// Public key, payload of a client with a name of 8 bytes, tag: what an honest CONNECT carries.
constexpr std::size_t first_message_bytes = 32 + 35 + 16;

/// What Noise asks of libsodium up to the refusal, and nothing around it: the cookie's tag, the
/// hashes of prologue, room key and public key, HKDF with two outputs, the payload's tag. A block
/// is compressed only when there is a second one, so the pads of HMAC cannot be kept compressed.
class Bare {
public:
    bool run() {
        crypto_shorthash_siphash24(hash_.data(), text_.data(), 40, key_.data());
        for (const std::size_t bytes : {99, 128, 96, 160, 192, 129, 192, 193, 192}) {
            crypto_generichash_blake2b(hash_.data(), hash_.size(), text_.data(), bytes, nullptr, 0);
        }
        return crypto_aead_chacha20poly1305_ietf_decrypt(plain_.data(),
                                                         nullptr,
                                                         nullptr,
                                                         text_.data(),
                                                         first_message_bytes - 32,
                                                         hash_.data(),
                                                         hash_.size(),
                                                         nonce_.data(),
                                                         key_.data()) != 0;
    }

private:
    std::array<unsigned char, 64> hash_{};
    std::array<unsigned char, 256> text_{};
    std::array<unsigned char, 64> plain_{};
    std::array<unsigned char, 32> key_{};
    std::array<unsigned char, 12> nonce_{};
};

/// Keeps the last answer; nothing is sent.
class Answer final : public net::Outbox {
public:
    void send(const net::Address&, ByteView datagram) override {
        bytes.assign(datagram.begin(), datagram.end());
        ++answers;
    }

    Bytes bytes;
    std::uint64_t answers = 0;
};

/// A server with a room key, and a stranger whose address it has proven.
class Stranger {
public:
    Stranger()
        : host_(made(net::Host::create(settings(), events_, net::system_entropy()))) {
        made(host_.open_match(bench_match(1, 2)));
        net::wire::Hello hello;
        hello.client_random.fill(std::byte{7});
        Bytes packet;
        net::wire::encode(hello, packet);
        host_.receive(now_, address_, packet, out_);
        const net::wire::Cookie cookie = made(net::wire::decode_cookie(out_.bytes));
        net::wire::Connect connect;
        connect.client_random = hello.client_random;
        connect.secret_index = cookie.secret_index;
        connect.tag = cookie.tag;
        connect.mode = net::wire::Mode::room_key;
        Bytes forged(first_message_bytes);
        net::system_entropy().fill(forged);
        connect.handshake = forged;
        net::wire::encode(connect, connect_);
    }

    /// Sends the forged CONNECT `connects` times. False: one of them was not refused.
    bool send() {
        const std::uint64_t refused = host_.status().handshakes_refused;
        for (int i = 0; i < connects; ++i) {
            now_ = now_ + Micros{1}; // The budget of a prefix is a million a second here.
            host_.receive(now_, address_, connect_, out_);
        }
        return host_.status().handshakes_refused - refused == connects;
    }

private:
    static net::HostSettings settings() {
        net::HostSettings settings = bench_host(net::wire::Mode::room_key);
        settings.unknown_per_s = 1'000'000;
        return settings;
    }

    net::Address address_ = loopback(40'000);
    Micros now_ = net::seconds(1000);
    QuietEvents events_;
    net::Host host_;
    Answer out_;
    Bytes connect_;
};

} // namespace

bool forged_rows(Report& report) {
    if (sodium_init() < 0) {
        return false;
    }
    Stranger stranger;
    bool refused = stranger.send();
    const AllocationCounter allocations;
    refused = refused && stranger.send();
    const double each = static_cast<double>(allocations.count()) / connects;
    Bare bare;
    const auto pair = measure(
        rounds,
        connects,
        [&] { refused = stranger.send() && refused; },
        [&] {
            for (int i = 0; i < connects; ++i) {
                refused = bare.run() && refused;
            }
        });
    if (!refused) {
        fmt::print(stderr, "net_bench: a forged CONNECT was not refused\n");
        return false;
    }
    const double ours_us = pair.ours_ns / 1000.0;
    report.add({"a forged CONNECT, its cookie good, bare libsodium",
                ours_us,
                pair.reference_ns / 1000.0,
                "us",
                ours_us,
                Goal::at_most,
                2.0});
    report.add({"allocations a forged CONNECT", each, 0.0, "", each, Goal::at_most, 0.0});
    return true;
}

} // namespace bench
