// SPDX-License-Identifier: MIT
// The Noise handshake against published vectors, and against those who do not know the key.
#include "hex.hpp"
#include "session_support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#if TWINSTEP_NET_CRYPTO
#include <sodium.h>

using namespace twinstep;
using namespace twinstep::net;

namespace {

/// Gives away one secret, which is what a vector fixes.
class FixedEntropy final : public Entropy {
public:
    explicit FixedEntropy(std::string_view hex)
        : bytes_(from_hex_text(hex)) {}

    void fill(std::span<std::byte> target) override {
        REQUIRE(target.size() == bytes_.size());
        std::copy(bytes_.begin(), bytes_.end(), target.begin());
    }

private:
    Bytes bytes_;
};

Key key_of_hex(std::string_view hex) {
    const Bytes bytes = from_hex_text(hex);
    Key key;
    REQUIRE(bytes.size() == key.bytes.size());
    std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
    return key;
}

/// A transport message of the Noise specification: no associated data, nonce 32 zero bits and a
/// little-endian count.
std::string transport_message(const Key& key, std::uint8_t count, std::string_view payload_hex) {
    const Bytes payload = from_hex_text(payload_hex);
    Bytes sealed(payload.size() + 16);
    const std::array<unsigned char, 12> nonce{0, 0, 0, 0, count};
    crypto_aead_chacha20poly1305_ietf_encrypt(
        reinterpret_cast<unsigned char*>(sealed.data()),
        nullptr,
        reinterpret_cast<const unsigned char*>(payload.data()),
        payload.size(),
        nullptr,
        0,
        nullptr,
        nonce.data(),
        reinterpret_cast<const unsigned char*>(key.bytes.data()));
    return to_hex_text(sealed);
}

constexpr std::string_view prologue_text = "some prologue";

Bytes prologue() {
    return bytes_of(prologue_text);
}

} // namespace

// Source: cacophony's vectors (tests/vectors/cacophony.txt of github.com/mcginty/snow), the entry
// Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b.
TEST_CASE("the handshake is the one of the published NNpsk0 vector", "[net][session]") {
    const Key psk = key_of_hex("54686973206973206d7920417573747269616e20706572737065637469766521");
    const Bytes john_galt = from_hex_text("4a6f686e2047616c74");
    FixedEntropy initiator_secret(
        "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a");
    FixedEntropy responder_secret(
        "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b");
    NoiseInitiator initiator(psk, john_galt, initiator_secret);
    NoiseResponder responder(NoiseRoom(psk), john_galt, responder_secret);

    Bytes first;
    REQUIRE(initiator.write(from_hex_text("4c756477696720766f6e204d69736573"), first));
    CHECK(to_hex_text(first) == "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
                                "ed63df2f5a12aee1185ee9c50305f2ecf12421dcb53c047a63b784cf7c54a105");
    Bytes payload;
    REQUIRE(responder.read(first, payload));
    CHECK(to_hex_text(payload) == "4c756477696720766f6e204d69736573");

    Bytes second;
    const Result<ConnectionKeys> server =
        responder.write(from_hex_text("4d757272617920526f746862617264"), second);
    REQUIRE(server);
    CHECK(to_hex_text(second) == "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
                                 "0e0fe7d5c0c9b92f7478716c8852f1b4f389edb75e3ebe546fafafd5b6f0f7");
    const Result<ConnectionKeys> client = initiator.read(second, payload);
    REQUIRE(client);
    CHECK(to_hex_text(payload) == "4d757272617920526f746862617264");

    for (const ConnectionKeys& keys : {*client, *server}) {
        CHECK(transport_message(keys.up, 0, "462e20412e20486179656b") ==
              "0fe04b26dcfbb69f8a6a94c61f1a26ef88769218d32f5d17c068a6");
        CHECK(transport_message(keys.down, 0, "4361726c204d656e676572") ==
              "2239e0c540c01f09eb1f4cc5258fd5acfefff18a5a3773f21b7bfe");
        CHECK(transport_message(keys.up, 1, "4a65616e2d426170746973746520536179") ==
              "f216cb03d30fb8af1e561fe02a07552d09b416e27a75e62c77d193718b0bdaae9f");
        CHECK(transport_message(keys.down, 1, "457567656e2042f6686d20766f6e2042617765726b") ==
              "6e8baf98b944184dd7dc5ef14d8108cbeca626de118a5460f3308e294d61e17238bce29bd9");
    }
}

TEST_CASE("a first message without the room key, damaged, or from elsewhere is refused",
          "[net][session]") {
    TestEntropy entropy;
    Bytes message;
    NoiseInitiator initiator(key_of(1), prologue(), entropy);
    REQUIRE(initiator.write(bytes_of("let me in"), message));
    Bytes payload;
    const auto refused = [&](const Bytes& text, const Key& key, ByteView with) {
        const std::uint64_t fills = entropy.fills;
        NoiseResponder responder(NoiseRoom(key), with, entropy);
        const bool no = code_of(responder.read(text, payload)) == NetErrc::not_authentic;
        return no && entropy.fills == fills; // No key pair is made for a stranger.
    };
    CHECK(refused(message, key_of(2), prologue()));
    CHECK(refused(message, key_of(1), bytes_of("another prologue")));
    for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
        Bytes bad = message;
        bad[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        REQUIRE(refused(bad, key_of(1), prologue()));
    }
    for (std::size_t size = 0; size < message.size(); ++size) {
        REQUIRE(refused(Bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size)),
                        key_of(1),
                        prologue()));
    }
}

TEST_CASE("the prologue is the protocol, its version and the cookie of the attempt",
          "[net][session]") {
    wire::Connect connect;
    for (std::size_t i = 0; i < connect.client_random.size(); ++i) {
        connect.client_random[i] = static_cast<std::byte>(0xA0 + i);
    }
    connect.secret_index = 1;
    connect.tag = 0x1122'3344'5566'7788;
    CHECK(to_hex_text(noise_prologue(connect)) == "7477696e737465700100"
                                                  "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
                                                  "018877665544332211");
}

TEST_CASE("a forged answer spoils no handshake", "[net][session]") {
    TestEntropy entropy;
    NoiseInitiator initiator(key_of(1), prologue(), entropy);
    NoiseResponder responder(NoiseRoom(key_of(1)), prologue(), entropy);
    Bytes first;
    Bytes second;
    Bytes payload;
    REQUIRE(initiator.write(bytes_of("hello"), first));
    REQUIRE(responder.read(first, payload));
    const Result<ConnectionKeys> server = responder.write(bytes_of("welcome"), second);
    REQUIRE(server);
    for (std::size_t i = 0; i < second.size(); ++i) {
        Bytes bad = second;
        bad[i] ^= std::byte{0x10};
        REQUIRE(code_of(initiator.read(bad, payload)) == NetErrc::not_authentic);
    }
    const Result<ConnectionKeys> client = initiator.read(second, payload);
    REQUIRE(client);
    CHECK(payload == bytes_of("welcome"));
    CHECK(client->up.bytes == server->up.bytes);
    CHECK(client->down.bytes == server->down.bytes);
    CHECK(client->up.bytes != client->down.bytes);
}

TEST_CASE("a public key of small order is refused on both sides", "[net][session]") {
    TestEntropy entropy;
    Bytes payload;
    // A peer with the room key and a public key of zeros, by the specification's own steps.
    NoiseState state;
    state.begin(prologue(), NoiseRoom(key_of(1)));
    Bytes message(32);
    state.mix_hash(message);
    state.mix_key(message);
    state.encrypt(bytes_of("x"), message);
    NoiseResponder responder(NoiseRoom(key_of(1)), prologue(), entropy);
    REQUIRE(responder.read(message, payload));
    Bytes answer;
    CHECK(code_of(responder.write({}, answer)) == NetErrc::not_authentic);

    NoiseInitiator initiator(key_of(1), prologue(), entropy);
    Bytes first;
    REQUIRE(initiator.write({}, first));
    CHECK(code_of(initiator.read(Bytes(64), payload)) == NetErrc::not_authentic);
}

#endif
