// SPDX-License-Identifier: MIT
// Cookies: what proves an address costs the server no memory.
#include "sodium.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net {

namespace {

/// A secret is replaced this often, and lives twice as long.
constexpr Micros rotation = seconds(30);
/// Address 16, scope 4, port 2, client random 16, version 2.
constexpr std::size_t input_bytes = 40;

} // namespace

CookieJar::CookieJar(Entropy& entropy)
    : entropy_(&entropy) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
#endif
}

void CookieJar::rotate(Micros now) {
    if (any_ && now - rotated_ < rotation) {
        return;
    }
    if (!any_ || now - rotated_ >= rotation + rotation) {
        entropy_->fill(secrets_[current_]); // After a pause the other one is too old as well.
    }
    current_ ^= 1U;
    entropy_->fill(secrets_[current_]);
    rotated_ = now;
    any_ = true;
}

std::uint64_t CookieJar::tag_of(const Secret& secret,
                                const Address& from,
                                const wire::Random16& random,
                                std::uint8_t minor) const {
    std::array<std::byte, input_bytes> input;
    std::memcpy(input.data(), from.ip.data(), from.ip.size());
    std::memcpy(input.data() + 16, &from.scope, sizeof(from.scope));
    std::memcpy(input.data() + 20, &from.port, sizeof(from.port));
    std::memcpy(input.data() + 22, random.data(), random.size());
    input[38] = std::byte{wire::version_major};
    input[39] = std::byte{minor};
#if TWINSTEP_NET_CRYPTO
    std::uint64_t tag = 0;
    static_assert(crypto_shorthash_siphash24_BYTES == sizeof(tag));
    static_assert(crypto_shorthash_siphash24_KEYBYTES == std::tuple_size_v<Secret>);
    crypto_shorthash_siphash24(reinterpret_cast<unsigned char*>(&tag),
                               raw(input.data()),
                               input.size(),
                               raw(secret.data()));
    return tag;
#else
    // Not a cryptographic hash, and enough for loopback, which is all this build speaks on.
    std::array<std::byte, input_bytes + 32> keyed;
    auto end = std::copy(secret.begin(), secret.end(), keyed.begin());
    end = std::copy(input.begin(), input.end(), end);
    std::copy(secret.begin(), secret.end(), end);
    return checksum64(keyed);
#endif
}

wire::Cookie CookieJar::make(Micros now, const Address& from, const wire::Hello& hello) {
    rotate(now);
    wire::Cookie cookie;
    cookie.client_random = hello.client_random;
    cookie.secret_index = current_;
    cookie.minor = std::min(hello.minor, wire::version_minor);
    cookie.tag = tag_of(secrets_[current_], from, hello.client_random, cookie.minor);
    return cookie;
}

bool CookieJar::check(Micros now, const Address& from, const wire::Connect& connect) {
    rotate(now);
    if (connect.secret_index >= secrets_.size()) {
        return false;
    }
    const std::uint64_t tag =
        tag_of(secrets_[connect.secret_index], from, connect.client_random, connect.minor);
    return (tag ^ connect.tag) == 0; // One comparison of a register: no bytewise early end.
}

} // namespace twinstep::net
