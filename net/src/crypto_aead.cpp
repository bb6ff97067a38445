// SPDX-License-Identifier: MIT
// Data packets: header, sequence, ChaCha20-Poly1305, replay window; and the payloads of token mode.
#include "sodium.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace twinstep::net {

namespace {

constexpr std::byte data_flags{wire::data_flags};
/// Never used: the key dies before.
constexpr std::uint32_t sequence_end = std::numeric_limits<std::uint32_t>::max();
/// Of the payloads in token mode: no packet's sequence, which has 32 bits.
constexpr std::uint64_t payload_sequence = std::numeric_limits<std::uint64_t>::max();

template <class T>
void store(T value, std::byte* target) {
    const T ordered = detail::little_endian(value);
    std::memcpy(target, &ordered, sizeof(T));
}

template <class T>
T load(const std::byte* source) {
    T value;
    std::memcpy(&value, source, sizeof(T));
    return detail::little_endian(value);
}

std::size_t overhead_of(wire::Mode mode) {
    return wire::data_header_bytes + (mode == wire::Mode::plain ? 0 : wire::tag_bytes);
}

#if TWINSTEP_NET_CRYPTO

using Nonce = std::array<std::byte, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

Nonce nonce_of(Direction direction, std::uint64_t sequence) {
    Nonce nonce;
    store(static_cast<std::uint32_t>(direction), nonce.data());
    store(sequence, nonce.data() + 4);
    return nonce;
}

/// What is authenticated but not hidden: the header, and which protocol this is.
using AssociatedData = std::array<std::byte, wire::data_header_bytes + 10>;

AssociatedData associated_data(const std::byte* header) {
    AssociatedData data;
    std::memcpy(data.data(), header, wire::data_header_bytes);
    std::memcpy(data.data() + wire::data_header_bytes, "twinstep", 8);
    data[wire::data_header_bytes + 8] = std::byte{wire::version_major};
    data[wire::data_header_bytes + 9] = std::byte{wire::version_minor};
    return data;
}

#endif

} // namespace

bool has_crypto() {
#if TWINSTEP_NET_CRYPTO
    return true;
#else
    return false;
#endif
}

void wipe(std::span<std::byte> secret) {
#if TWINSTEP_NET_CRYPTO
    sodium_memzero(secret.data(), secret.size());
#else
    volatile std::byte* bytes = secret.data();
    for (std::size_t i = 0; i < secret.size(); ++i) {
        bytes[i] = std::byte{0};
    }
#endif
}

Key::~Key() {
    wipe(bytes);
}

Result<Key> parse_key(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(space);
    text = begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
    Key key;
    bool good = text.size() == 2 * key.bytes.size();
    for (std::size_t i = 0; good && i < text.size(); ++i) {
        const char c = text[i];
        unsigned digit = 16;
        if (c >= '0' && c <= '9') {
            digit = static_cast<unsigned>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = static_cast<unsigned>(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = static_cast<unsigned>(c - 'A') + 10;
        }
        good = digit < 16;
        key.bytes[i / 2] = key.bytes[i / 2] << 4 | std::byte(digit & 15U);
    }
    if (!good) {
        // The text itself may be most of a secret: it is not repeated.
        return fail(Error(make_error_code(NetErrc::bad_setting),
                          "key",
                          "a key is 64 hexadecimal digits and nothing else"));
    }
    return key;
}

Sealer::Sealer(wire::Mode mode, const Key& key, Direction direction, std::uint16_t connection_id)
    : mode_(mode)
    , key_(key)
    , direction_(direction)
    , connection_id_(connection_id) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
#endif
}

Sealer::Sealer(Sealer&& other) noexcept
    : mode_(other.mode_)
    , key_(other.key_)
    , direction_(other.direction_)
    , connection_id_(other.connection_id_)
    , sequence_(std::exchange(other.sequence_, sequence_end)) {
    wipe(other.key_.bytes);
}

Sealer& Sealer::operator=(Sealer&& other) noexcept {
    if (this != &other) {
        mode_ = other.mode_;
        key_ = other.key_;
        direction_ = other.direction_;
        connection_id_ = other.connection_id_;
        sequence_ = std::exchange(other.sequence_, sequence_end);
        wipe(other.key_.bytes);
    }
    return *this;
}

Result<void> Sealer::seal(ByteView plaintext, Bytes& datagram) {
    TWINSTEP_ASSERT(plaintext.size() <= wire::plaintext_bytes_max);
    if (sequence_ == sequence_end) {
        return fail(Error(make_error_code(NetErrc::limit_exceeded), "sequence"));
    }
    datagram.resize(plaintext.size() + overhead_of(mode_));
    std::byte* const header = datagram.data();
    std::byte* const body = header + wire::data_header_bytes;
    header[0] = data_flags;
    store(connection_id_, header + 1);
    store(sequence_, header + 3);
    if (mode_ == wire::Mode::plain) {
        std::copy(plaintext.begin(), plaintext.end(), body);
    } else {
#if TWINSTEP_NET_CRYPTO
        const Nonce nonce = nonce_of(direction_, sequence_);
        const AssociatedData data = associated_data(header);
        crypto_aead_chacha20poly1305_ietf_encrypt(raw(body),
                                                  nullptr,
                                                  raw(plaintext.data()),
                                                  plaintext.size(),
                                                  raw(data.data()),
                                                  data.size(),
                                                  nullptr,
                                                  raw(nonce.data()),
                                                  raw(key_.bytes.data()));
#else
        return no_crypto();
#endif
    }
    ++sequence_;
    return {};
}

Opener::Opener(wire::Mode mode, const Key& key, Direction direction)
    : mode_(mode)
    , key_(key)
    , direction_(direction) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
#endif
}

bool Opener::is_replay(std::uint32_t sequence) const {
    return any_ && sequence <= highest_ &&
           (highest_ - sequence >= window || seen_[sequence % window]);
}

void Opener::mark(std::uint32_t sequence) {
    if (!any_ || sequence > highest_) {
        if (any_ && sequence - highest_ < window) {
            for (std::uint32_t skipped = highest_ + 1; skipped < sequence; ++skipped) {
                seen_.reset(skipped % window);
            }
        } else {
            seen_.reset();
        }
        if (sequence != (any_ ? highest_ + 1 : 0)) {
            skipped_to_ = sequence;
        }
        highest_ = sequence;
        any_ = true;
    }
    seen_.set(sequence % window);
}

std::uint8_t Opener::lost() const {
    constexpr std::uint32_t may_be_late = 16;
    static_assert(wire::loss_window + may_be_late <= window);
    if (skipped_to_ == 0 || highest_ - skipped_to_ >= wire::loss_window + may_be_late ||
        highest_ < may_be_late) {
        return 0;
    }
    const std::uint32_t end = highest_ - may_be_late + 1;
    std::uint8_t missing = 0;
    for (std::uint32_t at = end - std::min(end, wire::loss_window); at != end; ++at) {
        missing = static_cast<std::uint8_t>(missing + (seen_[at % window] ? 0 : 1));
    }
    return missing;
}

Result<void> Opener::open(ByteView datagram, Bytes& plaintext, bool& newest) {
    newest = false;
    const std::size_t overhead = overhead_of(mode_);
    if (datagram.size() < overhead || datagram.size() > wire::datagram_bytes_max ||
        datagram[0] != data_flags) {
        return fail(Error(make_error_code(NetErrc::malformed), "packet"));
    }
    const auto sequence = load<std::uint32_t>(datagram.data() + 3);
    if (sequence == sequence_end) {
        return fail(Error(make_error_code(NetErrc::malformed), "sequence"));
    }
    if (is_replay(sequence)) {
        return fail(Error(make_error_code(NetErrc::replayed)));
    }
    const ByteView body = datagram.subspan(wire::data_header_bytes);
    plaintext.resize(datagram.size() - overhead);
    if (mode_ == wire::Mode::plain) {
        std::copy(body.begin(), body.end(), plaintext.begin());
    } else {
#if TWINSTEP_NET_CRYPTO
        const Nonce nonce = nonce_of(direction_, sequence);
        const AssociatedData data = associated_data(datagram.data());
        if (crypto_aead_chacha20poly1305_ietf_decrypt(raw(plaintext.data()),
                                                      nullptr,
                                                      nullptr,
                                                      raw(body.data()),
                                                      body.size(),
                                                      raw(data.data()),
                                                      data.size(),
                                                      raw(nonce.data()),
                                                      raw(key_.bytes.data())) != 0) {
            plaintext.clear();
            return fail(Error(make_error_code(NetErrc::not_authentic)));
        }
#else
        return no_crypto();
#endif
    }
    newest = !any_ || sequence > highest_;
    mark(sequence);
    return {};
}

bool peek_connection_id(ByteView datagram, std::uint16_t& id) {
    if (datagram.size() < wire::data_header_bytes || datagram[0] != data_flags) {
        return false;
    }
    id = load<std::uint16_t>(datagram.data() + 1);
    return true;
}

Result<void> seal_payload([[maybe_unused]] const Key& key,
                          [[maybe_unused]] Direction direction,
                          [[maybe_unused]] ByteView payload,
                          [[maybe_unused]] Bytes& target) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
    const Nonce nonce = nonce_of(direction, payload_sequence);
    const std::size_t offset = target.size();
    target.resize(offset + payload.size() + wire::tag_bytes);
    crypto_aead_chacha20poly1305_ietf_encrypt(raw(target.data() + offset),
                                              nullptr,
                                              raw(payload.data()),
                                              payload.size(),
                                              nullptr,
                                              0,
                                              nullptr,
                                              raw(nonce.data()),
                                              raw(key.bytes.data()));
    return {};
#else
    return no_crypto();
#endif
}

Result<void> open_payload([[maybe_unused]] const Key& key,
                          [[maybe_unused]] Direction direction,
                          [[maybe_unused]] ByteView sealed,
                          [[maybe_unused]] Bytes& payload) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
    const Nonce nonce = nonce_of(direction, payload_sequence);
    payload.clear();
    if (sealed.size() >= wire::tag_bytes) {
        payload.resize(sealed.size() - wire::tag_bytes);
        if (crypto_aead_chacha20poly1305_ietf_decrypt(raw(payload.data()),
                                                      nullptr,
                                                      nullptr,
                                                      raw(sealed.data()),
                                                      sealed.size(),
                                                      nullptr,
                                                      0,
                                                      raw(nonce.data()),
                                                      raw(key.bytes.data())) == 0) {
            return {};
        }
        payload.clear();
    }
    return fail(Error(make_error_code(NetErrc::not_authentic)));
#else
    return no_crypto();
#endif
}

} // namespace twinstep::net
