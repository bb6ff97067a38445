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
/// cannot be reset or copied, and the key refuses work before it would wrap. What was moved from
/// has no key any more and seals nothing.
class Sealer {
public:
    Sealer(wire::Mode mode, const Key& key, Direction direction, std::uint16_t connection_id);
    Sealer(Sealer&& other) noexcept;
    Sealer& operator=(Sealer&& other) noexcept;
    ~Sealer() = default;

    /// Replaces `datagram` by header, ciphertext and tag. Requires at most plaintext_bytes_max.
    /// Errors: limit_exceeded, once the sequence is used up; not_built. Nothing is allocated in the
    /// steady state.
    Result<void> seal(ByteView plaintext, Bytes& datagram);

    std::uint32_t next_sequence() const { return sequence_; }

private:
    friend struct SealerProbe; ///< A test's: winds the sequence forward.

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
    /// than any before. Errors: malformed, replayed, not_authentic, not_built; the window is then
    /// where it was.
    Result<void> open(ByteView datagram, Bytes& plaintext, bool& newest);

    /// How many of the last wire::loss_window sequences did not arrive. The newest 16 are left out,
    /// since they may only be late. No work while nothing is missing.
    std::uint8_t lost() const;

private:
    bool is_replay(std::uint32_t sequence) const;
    void mark(std::uint32_t sequence);

    static constexpr std::uint32_t window = 1024;
    wire::Mode mode_;
    Key key_;
    Direction direction_;
    std::bitset<window> seen_;
    std::uint32_t highest_ = 0;
    std::uint32_t skipped_to_ = 0; ///< Behind the newest sequence that was skipped; 0: none.
    bool any_ = false;
};

/// The connection id of a data packet, a hint for the look-up; nothing if it is none.
bool peek_connection_id(ByteView datagram, std::uint16_t& id);

/// Proves that a sender receives at its address, without remembering anything about it: a keyed
/// hash (SipHash-2-4) of address, client random and version. Two secrets live; each dies 30 to 60 s
/// after the first cookie made with it. Nothing is allocated.
class CookieJar {
public:
    explicit CookieJar(Entropy& entropy);
    wire::Cookie make(Micros now, const Address& from, const wire::Hello& hello);
    bool check(Micros now, const Address& from, const wire::Connect& connect);

private:
    using Secret = std::array<std::byte, 16>;

    void rotate(Micros now);
    std::uint64_t tag_of(const Secret& secret,
                         const Address& from,
                         const wire::Random16& random,
                         std::uint8_t minor) const;

    Entropy* entropy_;
    std::array<Secret, 2> secrets_{};
    std::uint8_t current_ = 0;
    bool any_ = false;
    Micros rotated_;
};

/// The two keys of a connection.
struct ConnectionKeys {
    Key up;
    Key down;
};

/// What both halves of a handshake must agree on before it begins: "twinstep", the version, and the
/// client random, secret index and tag of the CONNECT that carries the first message. The tag binds
/// a first message to the address it was made for: overheard, it is worth nothing elsewhere.
using NoisePrologue = std::array<std::byte, 35>;
NoisePrologue noise_prologue(const wire::Connect& connect);

/// What a room key alone decides of every handshake with it, worked out once: a stranger's first
/// message then costs a server a third. Wiped when destroyed.
class NoiseRoom {
public:
    explicit NoiseRoom(const Key& room_key);
    NoiseRoom(const NoiseRoom&) = default;
    NoiseRoom& operator=(const NoiseRoom&) = default;
    ~NoiseRoom();

private:
    friend class NoiseState;
    using Hash = std::array<std::byte, 64>;

    Hash chaining_key_{};
    Hash mixed_{}; ///< What the key adds to the handshake hash.
    Key key_;
};

/// What the Noise specification calls a SymmetricState, for BLAKE2b and ChaChaPoly; wiped when
/// destroyed. For NoiseInitiator and NoiseResponder.
class NoiseState {
public:
    NoiseState() = default;
    NoiseState(const NoiseState&) = default;
    NoiseState& operator=(const NoiseState&) = default;
    ~NoiseState();

    /// Begins with the protocol's name and the prologue, then takes in the pre-shared key.
    void begin(ByteView prologue, const NoiseRoom& room);
    void mix_hash(ByteView data);
    void mix_key(ByteView material);
    /// Appends ciphertext and tag.
    void encrypt(ByteView plaintext, Bytes& target);
    /// Replaces `plaintext`; false if it is not authentic.
    bool decrypt(ByteView ciphertext, Bytes& plaintext);
    ConnectionKeys split() const;

private:
    using Hash = std::array<std::byte, 64>;

    Hash chaining_key_{};
    Hash hash_{};
    Key key_;
    std::uint64_t nonce_ = 0;
};

/// Client's half of Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b.
/// Source: the Noise Protocol Framework, revision 34.
class NoiseInitiator {
public:
    NoiseInitiator(const Key& room_key, ByteView prologue, Entropy& entropy);
    /// Appends the first message with its payload. Errors: not_built.
    Result<void> write(ByteView payload, Bytes& target);
    /// Reads the second message; replaces `payload`. May be called again after an error.
    /// Errors: not_authentic, not_built.
    Result<ConnectionKeys> read(ByteView message, Bytes& payload);

private:
    NoiseState state_;
    Key ephemeral_secret_;
    Entropy* entropy_;
};

/// Server's half. A message of somebody without the room key is refused before any public-key
/// work: opening its payload needs the key only.
class NoiseResponder {
public:
    NoiseResponder(const NoiseRoom& room, ByteView prologue, Entropy& entropy);
    /// Reads the first message; replaces `payload`. Errors: not_authentic, not_built.
    Result<void> read(ByteView message, Bytes& payload);
    /// Appends the second message. Requires a successful read. Errors: not_authentic, if the
    /// client's public key is one of the few with no secret; not_built.
    Result<ConnectionKeys> write(ByteView payload, Bytes& target);

private:
    NoiseState state_;
    std::array<std::byte, 32> remote_ephemeral_{};
    Entropy* entropy_;
};

/// What a backend grants. Sealed with a key that backend and server share.
struct TokenClaims {
    wire::Random16 id{};         ///< Single use.
    std::uint64_t player_id = 0; ///< The backend's own number.
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
/// `seal` appends, `open` replaces. A token's key seals one payload of a direction, ever: whoever
/// repeats a CONNECT repeats its bytes. Errors: not_authentic, not_built.
Result<void> seal_payload(const Key& key, Direction direction, ByteView payload, Bytes& target);
Result<void> open_payload(const Key& key, Direction direction, ByteView sealed, Bytes& payload);

} // namespace twinstep::net
