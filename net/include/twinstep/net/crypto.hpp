// SPDX-License-Identifier: MIT
// Keys, cookies, the handshake's mathematics, tokens: all that libsodium does for the protocol.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace twinstep::net {

/// True if this build has libsodium. Without it only Mode::plain exists.
bool has_crypto();

/// 256 bits of secret; wiped when destroyed.
struct Key {
    std::array<std::byte, 32> bytes{};

    Key() = default;
    Key(const Key&) = default;
    Key& operator=(const Key&) = default;
    ~Key();
};

/// Reads a key file's text: 64 hexadecimal digits, white space around them. Errors: bad_setting.
Result<Key> parse_key(std::string_view text);

/// Which way a packet goes; part of the nonce, so that the two ways never share one.
enum class Direction : std::uint8_t { up = 1, down = 2 };

/// Seals packets of one direction. It owns the sequence, which is the nonce: it only counts up,
/// cannot be reset or copied, and the key refuses work before it would wrap.
class Sealer {
public:
    Sealer(wire::Mode mode, const Key& key, Direction direction, std::uint16_t connection_id);
    Sealer(Sealer&&) noexcept = default;
    Sealer& operator=(Sealer&&) noexcept = default;

    /// Replaces `datagram` by header, ciphertext and tag. Requires at most plaintext_bytes_max.
    /// Errors: limit_exceeded, once the sequence is used up. Nothing is allocated in the steady
    /// state.
    Result<void> seal(ByteView plaintext, Bytes& datagram);

    std::uint32_t next_sequence() const { return sequence_; }

private:
    wire::Mode mode_;
    Key key_;
    Direction direction_;
    std::uint16_t connection_id_;
    std::uint32_t sequence_ = 0;
};

/// Opens packets of one direction and refuses what it has seen: a window of 1,024 sequences, looked
/// at before and moved after authentication.
class Opener {
public:
    Opener(wire::Mode mode, const Key& key, Direction direction);
    Opener(Opener&&) noexcept = default;
    Opener& operator=(Opener&&) noexcept = default;

    /// Replaces `plaintext` by the packet's frames. `newest` says whether its sequence is higher
    /// than any before. Errors: malformed, replayed, not_authentic.
    Result<void> open(ByteView datagram, Bytes& plaintext, bool& newest);

private:
    wire::Mode mode_;
    Key key_;
    Direction direction_;
    std::bitset<1024> seen_;
    std::uint32_t highest_ = 0;
    bool any_ = false;
};

/// The connection id of a data packet, a hint for the look-up; nothing if it is none.
bool peek_connection_id(ByteView datagram, std::uint16_t& id);

/// Proves that a sender receives at its address, without remembering anything about it: a keyed
/// hash of address, client random and version. Two secrets live; the older dies after 30 to 60 s.
class CookieJar {
public:
    explicit CookieJar(Entropy& entropy);
    wire::Cookie make(Micros now, const Address& from, const wire::Hello& hello);
    bool check(Micros now, const Address& from, const wire::Connect& connect);

private:
    void rotate(Micros now);
    std::uint64_t tag_of(std::size_t index, const Address& from, const wire::Random16& random) const;

    Entropy& entropy_;
    std::array<std::array<std::byte, 16>, 2> secrets_{};
    std::uint8_t current_ = 0;
    Micros rotated_{-1};
};

/// The two keys of a connection.
struct ConnectionKeys {
    Key up;
    Key down;
};

/// Client's half of Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b. Prologue: "twinstep" and the version.
/// Source: the Noise Protocol Framework, revision 34.
class NoiseInitiator {
public:
    NoiseInitiator(const Key& room_key, Entropy& entropy);
    /// Appends the first message with its payload. Errors: not_built.
    Result<void> write(ByteView payload, Bytes& target);
    /// Reads the second message; replaces `payload`. Errors: not_authentic, not_built.
    Result<ConnectionKeys> read(ByteView message, Bytes& payload);

private:
    struct State {
        Key chaining_key;
        Key cipher_key;
        std::array<std::byte, 64> hash{}; ///< First 64 bytes of BLAKE2b; see crypto.cpp.
        Key ephemeral_secret;
    };
    State state_;
    Key room_key_;
    Entropy& entropy_;
};

/// Server's half. A message of somebody without the room key is refused before any public-key
/// work: opening its payload needs the key only.
class NoiseResponder {
public:
    NoiseResponder(const Key& room_key, Entropy& entropy);
    /// Reads the first message; replaces `payload`. Errors: not_authentic, not_built.
    Result<void> read(ByteView message, Bytes& payload);
    /// Appends the second message. Requires a successful read. Errors: not_built.
    Result<ConnectionKeys> write(ByteView payload, Bytes& target);

private:
    struct Impl;
    Key room_key_;
    Entropy& entropy_;
    std::array<std::byte, 64> hash_{};
    Key chaining_key_;
    std::array<std::byte, 32> remote_ephemeral_{};
};

/// What a backend grants. Sealed with a key that backend and server share.
struct TokenClaims {
    wire::Random16 id{};             ///< Single use.
    std::uint64_t player_id = 0;     ///< The backend's own number.
    Role role = Role::player;
    std::uint64_t match_id = 0;      ///< 0: any.
    std::uint64_t server_id = 0;     ///< Audience; 0: any.
    std::uint64_t issued_unix_s = 0; ///< Wall clock of the backend, in seconds.
    std::uint16_t lifetime_s = 60;   ///< 1 to 60.
    ConnectionKeys keys;
};

/// Bytes of a sealed token as it travels in CONNECT.
inline constexpr std::size_t token_bytes = 256;
using SealedToken = std::array<std::byte, token_bytes>;

/// For backends. Errors: not_built, bad_setting.
Result<SealedToken> seal_token(const TokenClaims& claims, const Key& token_key, Entropy& entropy);
/// For servers: opens and checks nothing but the seal. Errors: not_authentic, malformed, not_built.
Result<TokenClaims> open_token(const SealedToken& token, const Key& token_key);

/// Seals and opens the payloads of CONNECT and ACCEPT in token mode with the token's own keys.
Result<void> seal_payload(const Key& key, Direction direction, ByteView payload, Bytes& target);
Result<void> open_payload(const Key& key, Direction direction, ByteView sealed, Bytes& payload);

} // namespace twinstep::net
