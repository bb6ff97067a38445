// SPDX-License-Identifier: MIT
// BLAKE2b and Ed25519 of libsodium, or the answer that they are missing.
#include "signature_crypto.hpp"

#include "layout.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#if defined(TWINSTEP_REPLAY_SODIUM)
#include <sodium.h>
#endif

namespace twinstep::replay {

Error no_signatures() {
    return Error(
        Errc::unsupported_version, "signature", "this program was built without libsodium");
}

#if defined(TWINSTEP_REPLAY_SODIUM)

namespace {

const unsigned char* plain(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

unsigned char* plain(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

/// Safe to call from any thread, any number of times.
bool sodium_ready() {
    return sodium_init() >= 0;
}

class Blake2b {
public:
    /// Begins with the domain, zero-filled to 32 bytes, so that no digest is ever taken for
    /// another kind of digest.
    explicit Blake2b(std::string_view domain) {
        std::array<std::byte, domain_bytes> front{};
        std::transform(domain.begin(), domain.end(), front.begin(), [](char letter) {
            return static_cast<std::byte>(letter);
        });
        crypto_generichash_init(&state_, nullptr, 0, sizeof(Digest256));
        update(front);
    }

    void update(ByteView bytes) {
        crypto_generichash_update(&state_, plain(bytes.data()), bytes.size());
    }

    Digest256 value() const {
        crypto_generichash_state copy = state_;
        Digest256 digest{};
        crypto_generichash_final(&copy, plain(digest.data()), digest.size());
        return digest;
    }

private:
    static constexpr std::size_t domain_bytes = 32;
    crypto_generichash_state state_{};
};

} // namespace

bool has_signatures() {
    return true;
}

struct ContentDigest::Impl {
    Blake2b hash{"twinstep.content"};
    Tick first;
    bool leading = false; ///< Nothing but parts of a late start's keyframe came so far.

    /// True for the parts of the keyframe that a late start begins with.
    bool is_start(const Record& record) const {
        return leading && record.tag == static_cast<std::uint8_t>(RecordTag::keyframe) &&
               ByteReader(record.payload).u64("keyframe.tick") == first.value;
    }
};

ContentDigest::ContentDigest(const Head& head)
    : impl_(std::make_unique<Impl>()) {
    static_cast<void>(sodium_ready()); // for the fast forms of BLAKE2b; the slow one gives the same
    Bytes encoded;
    encode_head(head, encoded);
    impl_->hash.update(encoded);
    impl_->first = first_tick(head).value_or(Tick{0});
    impl_->leading = (head.incompatible & feature::late_start) != 0;
}

void ContentDigest::add(const Record& record) {
    const bool in_chunk = record.kind == RecordKind::tick || record.kind == RecordKind::unknown ||
                          record.kind == RecordKind::chunk_end;
    const bool covered = in_chunk || impl_->is_start(record);
    impl_->leading = impl_->leading && covered && !in_chunk;
    if (!covered) {
        return;
    }
    // A tag and a length of up to three bytes: a frame holds no more than 1 MiB.
    std::array<std::byte, 4> front{static_cast<std::byte>(record.tag)};
    std::size_t front_bytes = 1;
    for (std::size_t rest = record.payload.size(); front_bytes < front.size(); rest >>= 7) {
        front[front_bytes++] = static_cast<std::byte>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
        if (rest <= 0x7F) {
            break;
        }
    }
    std::array<std::byte, record_check_bytes> check{};
    for (std::size_t i = 0; i < check.size(); ++i) {
        check[i] = static_cast<std::byte>(record.check >> (8 * i) & 0xFF);
    }
    impl_->hash.update(ByteView(front).first(front_bytes));
    impl_->hash.update(record.payload);
    impl_->hash.update(check);
}

void ContentDigest::add(ByteView record) {
    TWINSTEP_ASSERT(!impl_->leading);
    impl_->hash.update(record);
}

Digest256 ContentDigest::value() const {
    return impl_->hash.value();
}

Digest256 signature_message(ByteView statement, const Digest256& content) {
    TWINSTEP_ASSERT(statement.size() == signature_statement_bytes);
    Blake2b hash("twinstep.signature");
    hash.update(statement);
    hash.update(content);
    return hash.value();
}

bool is_signed(const std::array<std::byte, signature_bytes>& signature,
               const Digest256& message,
               const PublicKey& key) {
    static_assert(signature_bytes == crypto_sign_BYTES);
    static_assert(public_key_bytes == crypto_sign_PUBLICKEYBYTES);
    return crypto_sign_verify_detached(
               plain(signature.data()), plain(message.data()), message.size(), plain(key.data())) ==
           0;
}

struct SigningKey::Impl {
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
    PublicKey key{};

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    ~Impl() { sodium_memzero(secret.data(), secret.size()); }
};

Result<SigningKey> SigningKey::generate(std::span<std::byte, secret_seed_bytes> seed) {
    if (!sodium_ready()) {
        return fail(Error(Errc::io_error, "random", "libsodium does not start"));
    }
    randombytes_buf(seed.data(), seed.size());
    return from_seed(seed);
}

Result<SigningKey> SigningKey::from_seed(std::span<const std::byte, secret_seed_bytes> seed) {
    static_assert(secret_seed_bytes == crypto_sign_SEEDBYTES);
    if (!sodium_ready()) {
        return fail(Error(Errc::io_error, "random", "libsodium does not start"));
    }
    auto impl = std::make_unique<Impl>();
    crypto_sign_seed_keypair(plain(impl->key.data()), impl->secret.data(), plain(seed.data()));
    return SigningKey(std::move(impl));
}

const PublicKey& SigningKey::public_key() const {
    TWINSTEP_ASSERT(impl_ != nullptr);
    return impl_->key;
}

std::array<std::byte, signature_bytes> SigningKey::sign(ByteView message) const {
    TWINSTEP_ASSERT(impl_ != nullptr);
    std::array<std::byte, signature_bytes> signature{};
    crypto_sign_detached(plain(signature.data()),
                         nullptr,
                         plain(message.data()),
                         message.size(),
                         impl_->secret.data());
    return signature;
}

#else

bool has_signatures() {
    return false;
}

struct ContentDigest::Impl {};

ContentDigest::ContentDigest(const Head&) {}

void ContentDigest::add(const Record&) {}

void ContentDigest::add(ByteView) {}

Digest256 ContentDigest::value() const {
    return {};
}

Digest256 signature_message(ByteView, const Digest256&) {
    return {};
}

bool is_signed(const std::array<std::byte, signature_bytes>&, const Digest256&, const PublicKey&) {
    return false;
}

/// Never made: there is no way to one.
struct SigningKey::Impl {
    PublicKey key{};
};

Result<SigningKey> SigningKey::generate(std::span<std::byte, secret_seed_bytes>) {
    return fail(no_signatures());
}

Result<SigningKey> SigningKey::from_seed(std::span<const std::byte, secret_seed_bytes>) {
    return fail(no_signatures());
}

const PublicKey& SigningKey::public_key() const {
    TWINSTEP_ASSERT(impl_ != nullptr);
    return impl_->key;
}

std::array<std::byte, signature_bytes> SigningKey::sign(ByteView) const {
    TWINSTEP_ASSERT(impl_ != nullptr);
    return {};
}

#endif

ContentDigest::ContentDigest(ContentDigest&&) noexcept = default;
ContentDigest& ContentDigest::operator=(ContentDigest&&) noexcept = default;
ContentDigest::~ContentDigest() = default;

SigningKey::SigningKey(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

SignatureStatement statement_at(const Writer& writer, const PublicKey& key) {
    SignatureStatement statement;
    statement.chunks = static_cast<std::uint32_t>(writer.chunks());
    statement.ticks = writer.ticks();
    statement.first = Tick{writer.next_tick().value - statement.ticks};
    statement.chain = writer.chain();
    statement.key = key;
    return statement;
}

Result<void> write_signature(Writer& writer,
                             const ContentDigest& content,
                             const SigningKey& key,
                             SignatureStatement statement,
                             Bytes& payload) {
    TWINSTEP_ASSERT(statement.chunks > 0);
    payload.clear();
    encode_statement(statement, payload);
    const Digest256 message = signature_message(payload, content.value());
    const auto signature = key.sign(message);
    payload.insert(payload.end(), signature.begin(), signature.end());
    return writer.write_frame(static_cast<std::uint8_t>(RecordTag::signature), payload);
}

} // namespace twinstep::replay
