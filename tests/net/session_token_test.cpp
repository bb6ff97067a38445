// SPDX-License-Identifier: MIT
// Tokens and the payloads sealed with their keys.
#include "hex.hpp"
#include "session_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;

namespace {

TokenClaims some_claims() {
    TokenClaims claims;
    claims.id.fill(std::byte{0xA5});
    claims.player_id = 0x0102030405060708;
    claims.role = Role::spectator;
    claims.match_id = 42;
    claims.server_id = 7;
    claims.issued_unix_s = 1'800'000'000;
    claims.lifetime_s = 45;
    claims.keys.up = key_of(11);
    claims.keys.down = key_of(12);
    return claims;
}

} // namespace

TEST_CASE("a token brings back what the backend sealed", "[net][session]") {
    TestEntropy entropy;
    const TokenClaims claims = some_claims();
    const Result<SealedToken> token = seal_token(claims, key_of(1), entropy);
    if (!has_crypto()) {
        CHECK(code_of(token) == NetErrc::not_built);
        return;
    }
    REQUIRE(token);
    const Result<TokenClaims> opened = open_token(*token, key_of(1));
    REQUIRE(opened);
    CHECK(opened->id == claims.id);
    CHECK(opened->player_id == claims.player_id);
    CHECK(opened->role == claims.role);
    CHECK(opened->match_id == claims.match_id);
    CHECK(opened->server_id == claims.server_id);
    CHECK(opened->issued_unix_s == claims.issued_unix_s);
    CHECK(opened->lifetime_s == claims.lifetime_s);
    CHECK(opened->keys.up.bytes == claims.keys.up.bytes);
    CHECK(opened->keys.down.bytes == claims.keys.down.bytes);
}

TEST_CASE("a token with one flipped bit or of another backend is refused", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    TestEntropy entropy;
    const Result<SealedToken> token = seal_token(some_claims(), key_of(1), entropy);
    REQUIRE(token);
    CHECK(code_of(open_token(*token, key_of(2))) == NetErrc::not_authentic);
    for (std::size_t bit = 0; bit < token->size() * 8; ++bit) {
        SealedToken bad = *token;
        bad[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        REQUIRE(code_of(open_token(bad, key_of(1))) == NetErrc::not_authentic);
    }
}

TEST_CASE("claims that no server would take are not sealed", "[net][session]") {
    TestEntropy entropy;
    for (const std::uint16_t lifetime : {std::uint16_t{0}, std::uint16_t{61}}) {
        TokenClaims claims = some_claims();
        claims.lifetime_s = lifetime;
        CHECK(code_of(seal_token(claims, key_of(1), entropy)) == NetErrc::bad_setting);
    }
    TokenClaims claims = some_claims();
    claims.role = static_cast<Role>(3);
    CHECK(code_of(seal_token(claims, key_of(1), entropy)) == NetErrc::bad_setting);
}

TEST_CASE("a payload opens with its own key and direction only", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Bytes sealed = bytes_of("before");
    REQUIRE(seal_payload(key_of(1), Direction::up, bytes_of("payload"), sealed));
    CHECK(sealed.size() == 6 + 7 + 16);
    const ByteView body = ByteView(sealed).subspan(6);
    Bytes payload;
    REQUIRE(open_payload(key_of(1), Direction::up, body, payload));
    CHECK(payload == bytes_of("payload"));
    CHECK(code_of(open_payload(key_of(1), Direction::down, body, payload)) ==
          NetErrc::not_authentic);
    CHECK(code_of(open_payload(key_of(2), Direction::up, body, payload)) == NetErrc::not_authentic);
    for (std::size_t size = 0; size < body.size(); ++size) {
        CHECK(code_of(open_payload(key_of(1), Direction::up, body.first(size), payload)) ==
              NetErrc::not_authentic);
    }
}
