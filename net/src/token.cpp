// SPDX-License-Identifier: MIT
// Tokens: what a backend grants, sealed so that only its servers can read it.
#include "sodium.hpp"

#include "twinstep/net/crypto.hpp"

#include <algorithm>
#include <string>

namespace twinstep::net {

namespace {

constexpr std::uint16_t lifetime_s_max = 60;

bool lifetime_is_good(std::uint16_t lifetime_s) {
    return lifetime_s >= 1 && lifetime_s <= lifetime_s_max;
}

bool role_is_good(Role role) {
    return role == Role::player || role == Role::spectator;
}

#if TWINSTEP_NET_CRYPTO

constexpr std::size_t nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t claims_bytes = token_bytes - nonce_bytes - wire::tag_bytes;
static_assert(claims_bytes == 216);

using Claims = std::array<std::byte, claims_bytes>;
using TokenAssociatedData = std::array<std::byte, 15>;

TokenAssociatedData associated_data() {
    TokenAssociatedData data;
    const auto name = std::as_bytes(std::span("twinstep.token", 14));
    std::copy(name.begin(), name.end(), data.begin());
    data[14] = std::byte{wire::version_major};
    return data;
}

void encode_claims(const TokenClaims& claims, Bytes& target) {
    ByteWriter writer(target);
    writer.bytes(claims.id);
    writer.u64(claims.player_id);
    writer.u8(static_cast<std::uint8_t>(claims.role));
    writer.u64(claims.match_id);
    writer.u64(claims.server_id);
    writer.u64(claims.issued_unix_s);
    writer.u16(claims.lifetime_s);
    writer.bytes(claims.keys.up.bytes);
    writer.bytes(claims.keys.down.bytes);
    target.resize(claims_bytes);
}

template <std::size_t size>
void copy_bytes(ByteReader& reader, std::array<std::byte, size>& target, const char* field) {
    const ByteView bytes = reader.bytes(size, field);
    std::copy(bytes.begin(), bytes.end(), target.begin());
}

Result<TokenClaims> decode_claims(ByteView bytes) {
    ByteReader reader(bytes);
    TokenClaims claims;
    copy_bytes(reader, claims.id, "id");
    claims.player_id = reader.u64("player_id");
    claims.role = static_cast<Role>(reader.u8("role"));
    claims.match_id = reader.u64("match_id");
    claims.server_id = reader.u64("server_id");
    claims.issued_unix_s = reader.u64("issued_unix_s");
    claims.lifetime_s = reader.u16("lifetime_s");
    copy_bytes(reader, claims.keys.up.bytes, "up");
    copy_bytes(reader, claims.keys.down.bytes, "down");
    const ByteView rest = reader.bytes(reader.remaining(), "rest");
    const bool padded =
        std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!padded || !role_is_good(claims.role) || !lifetime_is_good(claims.lifetime_s)) {
        return fail(Error(make_error_code(NetErrc::malformed), "token"));
    }
    return claims;
}

#endif

} // namespace

Result<SealedToken> seal_token(const TokenClaims& claims,
                               [[maybe_unused]] const Key& token_key,
                               [[maybe_unused]] Entropy& entropy) {
    if (!lifetime_is_good(claims.lifetime_s)) {
        return fail(Error(make_error_code(NetErrc::bad_setting),
                          "lifetime_s",
                          std::to_string(claims.lifetime_s) + " is not in 1 to 60"));
    }
    if (!role_is_good(claims.role)) {
        return fail(Error(make_error_code(NetErrc::bad_setting), "role", "1 player, 2 spectator"));
    }
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
    SealedToken token{};
    entropy.fill(std::span(token).first(nonce_bytes));
    Bytes plain;
    plain.reserve(claims_bytes); // Growth would leave keys behind in freed memory.
    encode_claims(claims, plain);
    const TokenAssociatedData data = associated_data();
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw(token.data() + nonce_bytes),
                                               nullptr,
                                               raw(plain.data()),
                                               plain.size(),
                                               raw(data.data()),
                                               data.size(),
                                               nullptr,
                                               raw(token.data()),
                                               raw(token_key.bytes.data()));
    wipe(plain);
    return token;
#else
    return no_crypto();
#endif
}

Result<TokenClaims> open_token([[maybe_unused]] const SealedToken& token,
                               [[maybe_unused]] const Key& token_key) {
#if TWINSTEP_NET_CRYPTO
    ensure_sodium();
    Claims plain;
    const TokenAssociatedData data = associated_data();
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(raw(plain.data()),
                                                   nullptr,
                                                   nullptr,
                                                   raw(token.data() + nonce_bytes),
                                                   token.size() - nonce_bytes,
                                                   raw(data.data()),
                                                   data.size(),
                                                   raw(token.data()),
                                                   raw(token_key.bytes.data())) != 0) {
        return fail(Error(make_error_code(NetErrc::not_authentic), "token"));
    }
    Result<TokenClaims> claims = decode_claims(plain);
    wipe(plain);
    return claims;
#else
    return no_crypto();
#endif
}

} // namespace twinstep::net
