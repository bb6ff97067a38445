// SPDX-License-Identifier: MIT
// Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b, as the Noise Protocol Framework, revision 34, defines it.
#include "sodium.hpp"

#include "twinstep/net/crypto.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net {

namespace {

#if TWINSTEP_NET_CRYPTO

constexpr std::size_t public_key_bytes = 32;
constexpr std::string_view protocol_name = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b";
constexpr std::size_t block_bytes = 128; ///< Of BLAKE2b.
using Hash = std::array<std::byte, 64>;

Hash blake2b(ByteView first, ByteView second) {
    Hash hash;
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, nullptr, 0, hash.size());
    crypto_generichash_blake2b_update(&state, raw(first.data()), first.size());
    crypto_generichash_blake2b_update(&state, raw(second.data()), second.size());
    crypto_generichash_blake2b_final(&state, raw(hash.data()), hash.size());
    return hash;
}

/// HMAC of RFC 2104 with a key of half a block: the blocks it begins with are made once for all
/// that is authenticated with the key. What they compress to cannot be kept: libsodium compresses a
/// block only when it has a second one.
class Hmac {
public:
    explicit Hmac(const Hash& key) {
        static_assert(sizeof(Hash) < block_bytes);
        inner_.fill(std::byte{0x36});
        outer_.fill(std::byte{0x5C});
        // By words: this is built without the vectoriser, and anybody may send a first message.
        for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
            mask(inner_.data() + i, key.data() + i);
            mask(outer_.data() + i, key.data() + i);
        }
    }

    Hmac(const Hmac&) = delete;
    Hmac& operator=(const Hmac&) = delete;

    ~Hmac() {
        wipe(inner_);
        wipe(outer_);
    }

    Hash operator()(ByteView data) const { return blake2b(outer_, blake2b(inner_, data)); }

private:
    static void mask(std::byte* target, const std::byte* key) {
        std::uint64_t word = 0;
        std::uint64_t key_word = 0;
        std::memcpy(&word, target, sizeof(word));
        std::memcpy(&key_word, key, sizeof(key_word));
        word ^= key_word;
        std::memcpy(target, &word, sizeof(word));
    }

    std::array<std::byte, block_bytes> inner_{};
    std::array<std::byte, block_bytes> outer_{};
};

/// HKDF of the Noise specification, section 4.3, with two or three outputs.
template <std::size_t count>
std::array<Hash, count> derive(const Hash& chaining_key, ByteView material) {
    Hash temporary = Hmac(chaining_key)(material);
    const Hmac hmac(temporary);
    std::array<Hash, count> outputs;
    std::array<std::byte, 65> input; // The output before, then a counter.
    input[0] = std::byte{1};
    outputs[0] = hmac(ByteView(input).first(1));
    for (std::size_t i = 1; i < outputs.size(); ++i) {
        std::copy(outputs[i - 1].begin(), outputs[i - 1].end(), input.begin());
        input[64] = static_cast<std::byte>(i + 1);
        outputs[i] = hmac(input);
    }
    wipe(temporary);
    wipe(input);
    return outputs;
}

/// The protocol's name, which is shorter than a hash and is filled up with zeros.
Hash name_hash() {
    Hash hash{};
    std::memcpy(hash.data(), protocol_name.data(), protocol_name.size());
    return hash;
}

Key truncated(const Hash& hash) {
    Key key;
    std::copy_n(hash.begin(), key.bytes.size(), key.bytes.begin());
    return key;
}

void wipe_all(std::span<Hash> outputs) {
    for (Hash& output : outputs) {
        wipe(output);
    }
}

std::array<std::byte, 12> nonce_of(std::uint64_t count) {
    std::array<std::byte, 12> nonce{};
    const std::uint64_t ordered = detail::little_endian(count);
    std::memcpy(nonce.data() + 4, &ordered, sizeof(ordered));
    return nonce;
}

std::array<std::byte, public_key_bytes> public_of(const Key& secret) {
    std::array<std::byte, public_key_bytes> bytes;
    crypto_scalarmult_curve25519_base(raw(bytes.data()), raw(secret.bytes.data()));
    return bytes;
}

/// False for a public key of small order.
bool agree(const Key& secret, ByteView remote, Key& shared) {
    return crypto_scalarmult_curve25519(
               raw(shared.bytes.data()), raw(secret.bytes.data()), raw(remote.data())) == 0;
}

tl::unexpected<Error> not_authentic() {
    return fail(Error(make_error_code(NetErrc::not_authentic)));
}

#endif

} // namespace

NoisePrologue noise_prologue(const wire::Connect& connect) {
    NoisePrologue prologue;
    std::memcpy(prologue.data(), "twinstep", 8);
    prologue[8] = std::byte{wire::version_major};
    prologue[9] = std::byte{connect.minor};
    std::copy(connect.client_random.begin(), connect.client_random.end(), prologue.begin() + 10);
    prologue[26] = std::byte{connect.secret_index};
    const std::uint64_t tag = detail::little_endian(connect.tag);
    std::memcpy(prologue.data() + 27, &tag, sizeof(tag));
    return prologue;
}

NoiseRoom::~NoiseRoom() {
    wipe(chaining_key_);
    wipe(mixed_);
}

NoiseState::~NoiseState() {
    wipe(chaining_key_);
    wipe(hash_);
}

#if TWINSTEP_NET_CRYPTO

NoiseRoom::NoiseRoom(const Key& room_key) {
    ensure_sodium();
    // MixKeyAndHash of the token "psk": it stands first, so its chaining key depends on nothing
    // else.
    std::array<Hash, 3> outputs = derive<3>(name_hash(), room_key.bytes);
    chaining_key_ = outputs[0];
    mixed_ = outputs[1];
    key_ = truncated(outputs[2]);
    wipe_all(outputs);
}

void NoiseState::begin(ByteView prologue, const NoiseRoom& room) {
    hash_ = name_hash();
    mix_hash(prologue);
    mix_hash(room.mixed_);
    chaining_key_ = room.chaining_key_;
    key_ = room.key_;
    nonce_ = 0;
}

void NoiseState::mix_hash(ByteView data) {
    hash_ = blake2b(hash_, data);
}

void NoiseState::mix_key(ByteView material) {
    std::array<Hash, 2> outputs = derive<2>(chaining_key_, material);
    chaining_key_ = outputs[0];
    key_ = truncated(outputs[1]);
    nonce_ = 0;
    wipe_all(outputs);
}

void NoiseState::encrypt(ByteView plaintext, Bytes& target) {
    const std::size_t offset = target.size();
    target.resize(offset + plaintext.size() + wire::tag_bytes);
    const auto nonce = nonce_of(nonce_++);
    crypto_aead_chacha20poly1305_ietf_encrypt(raw(target.data() + offset),
                                              nullptr,
                                              raw(plaintext.data()),
                                              plaintext.size(),
                                              raw(hash_.data()),
                                              hash_.size(),
                                              nullptr,
                                              raw(nonce.data()),
                                              raw(key_.bytes.data()));
    mix_hash(ByteView(target).subspan(offset));
}

bool NoiseState::decrypt(ByteView ciphertext, Bytes& plaintext) {
    plaintext.clear();
    if (ciphertext.size() < wire::tag_bytes) {
        return false;
    }
    plaintext.resize(ciphertext.size() - wire::tag_bytes);
    const auto nonce = nonce_of(nonce_);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(raw(plaintext.data()),
                                                  nullptr,
                                                  nullptr,
                                                  raw(ciphertext.data()),
                                                  ciphertext.size(),
                                                  raw(hash_.data()),
                                                  hash_.size(),
                                                  raw(nonce.data()),
                                                  raw(key_.bytes.data())) != 0) {
        plaintext.clear();
        return false;
    }
    ++nonce_;
    mix_hash(ciphertext);
    return true;
}

ConnectionKeys NoiseState::split() const {
    std::array<Hash, 2> outputs = derive<2>(chaining_key_, {});
    const ConnectionKeys keys{truncated(outputs[0]), truncated(outputs[1])};
    wipe_all(outputs);
    return keys;
}

NoiseInitiator::NoiseInitiator(const Key& room_key, ByteView prologue, Entropy& entropy)
    : entropy_(&entropy) {
    state_.begin(prologue, NoiseRoom(room_key));
}

Result<void> NoiseInitiator::write(ByteView payload, Bytes& target) {
    entropy_->fill(ephemeral_secret_.bytes);
    const auto ephemeral = public_of(ephemeral_secret_);
    target.insert(target.end(), ephemeral.begin(), ephemeral.end());
    state_.mix_hash(ephemeral);
    state_.mix_key(ephemeral); // With a pre-shared key the token "e" does this too.
    state_.encrypt(payload, target);
    return {};
}

Result<ConnectionKeys> NoiseInitiator::read(ByteView message, Bytes& payload) {
    if (message.size() < public_key_bytes) {
        return not_authentic();
    }
    NoiseState state = state_; // A forged message must not spoil the attempt.
    const ByteView remote = message.first(public_key_bytes);
    state.mix_hash(remote);
    state.mix_key(remote);
    Key shared;
    if (!agree(ephemeral_secret_, remote, shared)) {
        return not_authentic();
    }
    state.mix_key(shared.bytes);
    if (!state.decrypt(message.subspan(public_key_bytes), payload)) {
        return not_authentic();
    }
    return state.split();
}

NoiseResponder::NoiseResponder(const NoiseRoom& room, ByteView prologue, Entropy& entropy)
    : entropy_(&entropy) {
    state_.begin(prologue, room);
}

Result<void> NoiseResponder::read(ByteView message, Bytes& payload) {
    if (message.size() < public_key_bytes) {
        return not_authentic();
    }
    const ByteView remote = message.first(public_key_bytes);
    std::copy(remote.begin(), remote.end(), remote_ephemeral_.begin());
    state_.mix_hash(remote);
    state_.mix_key(remote);
    if (!state_.decrypt(message.subspan(public_key_bytes), payload)) {
        return not_authentic();
    }
    return {};
}

Result<ConnectionKeys> NoiseResponder::write(ByteView payload, Bytes& target) {
    Key ephemeral_secret;
    entropy_->fill(ephemeral_secret.bytes);
    Key shared;
    if (!agree(ephemeral_secret, remote_ephemeral_, shared)) {
        return not_authentic();
    }
    const auto ephemeral = public_of(ephemeral_secret);
    target.insert(target.end(), ephemeral.begin(), ephemeral.end());
    state_.mix_hash(ephemeral);
    state_.mix_key(ephemeral);
    state_.mix_key(shared.bytes);
    state_.encrypt(payload, target);
    return state_.split();
}

#else

NoiseRoom::NoiseRoom(const Key&) {}

NoiseInitiator::NoiseInitiator(const Key&, ByteView, Entropy& entropy)
    : entropy_(&entropy) {}

Result<void> NoiseInitiator::write(ByteView, Bytes&) {
    return no_crypto();
}

Result<ConnectionKeys> NoiseInitiator::read(ByteView, Bytes&) {
    return no_crypto();
}

NoiseResponder::NoiseResponder(const NoiseRoom&, ByteView, Entropy& entropy)
    : entropy_(&entropy) {}

Result<void> NoiseResponder::read(ByteView, Bytes&) {
    return no_crypto();
}

Result<ConnectionKeys> NoiseResponder::write(ByteView, Bytes&) {
    return no_crypto();
}

#endif

} // namespace twinstep::net
