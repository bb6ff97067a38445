// SPDX-License-Identifier: MIT
// Token mode: audience, lifetime, start of the server, single use, and the table that refuses.
#include "session_world.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::net;

namespace {

constexpr std::uint64_t noon = 1'800'000'000;

HostSettings token_settings() {
    HostSettings settings;
    settings.server_id = 7;
    settings.started_unix_s = noon - 1000;
    return settings;
}

TokenClaims claims_of(std::uint8_t id) {
    TokenClaims claims;
    claims.id.fill(static_cast<std::byte>(id));
    claims.player_id = 1000U + id;
    claims.server_id = 7;
    claims.issued_unix_s = noon;
    claims.lifetime_s = 60;
    claims.keys.up = key_of(100U + id);
    claims.keys.down = key_of(200U + id);
    return claims;
}

/// A backend's server and its clients.
struct Backend {
    explicit Backend(HostSettings settings = token_settings())
        : world(wire::Mode::token, std::move(settings)) {
        world.host.set_wall_clock(noon);
    }

    /// A client with a token of these claims; its own address each.
    TestPeer client(const TokenClaims& claims) {
        ++port;
        TestPeer peer(wire::Mode::token, Key(), loopback(port, static_cast<std::uint8_t>(port)));
        peer.token = seal_token(claims, key_of(1), world.entropy).value();
        peer.token_keys = claims.keys;
        return peer;
    }

    bool lets_in(const TokenClaims& claims) {
        TestPeer peer = client(claims);
        const bool in = peer.join(world.host, start);
        CHECK(peer.refusal == (in ? CloseReason::none : CloseReason::not_admitted));
        return in;
    }

    World world;
    std::uint16_t port = 5000;
};

} // namespace

TEST_CASE("a token lets its owner in, with the role it grants", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    TokenClaims claims = claims_of(1);
    claims.role = Role::spectator;
    claims.match_id = 1;
    TestPeer peer = backend.client(claims);
    peer.request.role = Role::player; // A wish; the token decides.
    REQUIRE(peer.join(backend.world.host, start));
    CHECK(fake_match().last_admission.role == Role::spectator);
    CHECK(fake_match().last_admission.player_id == 1001);
    peer.send_to(backend.world.host, start, progress_frame());
    CHECK(fake_match().frames == 1);
    // Of another match than the one it was made for.
    claims = claims_of(2);
    claims.match_id = 5;
    TestPeer other = backend.client(claims);
    other.request.match_id = 1;
    CHECK_FALSE(other.join(backend.world.host, start));
    CHECK(other.refusal == CloseReason::not_admitted);
}

TEST_CASE("a token of another audience, too old or too new is refused", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    TokenClaims claims = claims_of(1);
    claims.server_id = 8;
    CHECK_FALSE(backend.lets_in(claims));
    claims = claims_of(1);
    claims.issued_unix_s = noon - 60 - 31;
    CHECK_FALSE(backend.lets_in(claims));
    claims.issued_unix_s = noon - 60 - 30; // Clocks may differ by half a minute.
    CHECK(backend.lets_in(claims));
    claims = claims_of(2);
    claims.issued_unix_s = noon + 31;
    CHECK_FALSE(backend.lets_in(claims));
    claims.issued_unix_s = noon + 30;
    CHECK(backend.lets_in(claims));
    claims = claims_of(3);
    claims.issued_unix_s = ~std::uint64_t{0} - 5;
    CHECK_FALSE(backend.lets_in(claims));
    claims = claims_of(3);
    claims.server_id = 0; // For any server.
    CHECK(backend.lets_in(claims));
}

TEST_CASE("a server that was never told the time takes no token", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    backend.world.host.set_wall_clock(0);
    CHECK_FALSE(backend.lets_in(claims_of(1)));
}

TEST_CASE("a restarted server takes no token that was made before it began", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    const TokenClaims claims = claims_of(1);
    {
        Backend before;
        CHECK(before.lets_in(claims));
        CHECK_FALSE(before.lets_in(claims)); // Once.
    }
    // The used ids are gone with the process.
    HostSettings settings = token_settings();
    settings.started_unix_s = noon + 5;
    {
        Backend after(settings);
        after.world.host.set_wall_clock(noon + 5);
        CHECK_FALSE(after.lets_in(claims));
        TokenClaims fresh = claims_of(2);
        fresh.issued_unix_s = noon + 5;
        CHECK(after.lets_in(fresh));
    }
    settings.accept_older_tokens = true;
    Backend opted_out(settings);
    opted_out.world.host.set_wall_clock(noon + 5);
    CHECK(opted_out.lets_in(claims));
}

TEST_CASE("a token is used once, also by its owner, and a lost ACCEPT is repeated",
          "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    TestPeer peer = backend.client(claims_of(1));
    REQUIRE(peer.shake_hands(backend.world.host, start));
    CollectingOutbox out;
    backend.world.host.receive(start, peer.address, peer.connect_bytes, out);
    REQUIRE(out.sent.size() == 1);
    CHECK(out.sent[0].bytes == peer.accept_bytes);
    TestPeer thief = backend.client(claims_of(1));
    CHECK_FALSE(thief.join(backend.world.host, start));
    CHECK(fake_match().admissions == 1);
}

TEST_CASE("a token whose owner was refused is not used up", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    fake_match().refusal = CloseReason::full;
    TestPeer peer = backend.client(claims_of(1));
    CHECK_FALSE(peer.join(backend.world.host, start));
    CHECK(peer.refusal == CloseReason::full);
    fake_match().refusal = CloseReason::none;
    CHECK(backend.lets_in(claims_of(1)));
}

TEST_CASE("the table of used tokens refuses when it is full and forgets nothing that lives",
          "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    HostSettings settings = token_settings();
    settings.token_ids_max = 3;
    Backend backend(settings);
    for (std::uint8_t id = 1; id <= 3; ++id) {
        CHECK(backend.lets_in(claims_of(id)));
    }
    CHECK_FALSE(backend.lets_in(claims_of(4)));
    CHECK_FALSE(backend.lets_in(claims_of(1)));
    // Their time is over, leeway and all: there is room again.
    backend.world.host.set_wall_clock(noon + 91);
    TokenClaims later = claims_of(4);
    later.issued_unix_s = noon + 91;
    CHECK(backend.lets_in(later));
    CHECK_FALSE(backend.lets_in(claims_of(1)));
    // A clock that is set back does not bring forgotten tokens to life.
    backend.world.host.set_wall_clock(noon);
    CHECK_FALSE(backend.lets_in(claims_of(1)));
}

TEST_CASE("a token of another backend, or without its keys, is refused", "[net][session]") {
    if (!has_crypto()) {
        return;
    }
    Backend backend;
    TestPeer forged = backend.client(claims_of(1));
    forged.token = seal_token(claims_of(1), key_of(2), backend.world.entropy).value();
    CHECK_FALSE(forged.join(backend.world.host, start));
    CHECK(forged.refusal == CloseReason::not_admitted);
    // Stolen on its way: the keys inside are not known to the thief.
    TestPeer thief = backend.client(claims_of(1));
    thief.token_keys.up = key_of(9);
    CHECK_FALSE(thief.join(backend.world.host, start));
    CHECK(backend.lets_in(claims_of(1)));
}
