// SPDX-License-Identifier: MIT
// From a stranger to a peer: HELLO, COOKIE, CONNECT, ACCEPT. Until the cookie is back nothing is
// kept and nothing allocated; no answer is longer than what asked for it.
#include "host_impl.hpp"

#include <algorithm>
#include <optional>

namespace twinstep::net {

namespace {

/// What a CONNECT proved and asks for.
struct Request {
    wire::ConnectPayload payload; ///< Its name points into HostCore::opened.
    std::uint64_t player_id = 0;
    std::optional<TokenClaims> claims;
    std::optional<NoiseResponder> noise;
};

void refuse(HostCore& host,
            const Address& to,
            const wire::Connect& connect,
            CloseReason reason,
            Outbox& out) {
    ++host.status.handshakes_refused;
    host.datagram.clear();
    wire::Refuse refusal;
    refusal.client_random = connect.client_random;
    refusal.reason = reason;
    wire::encode(refusal, host.datagram);
    host.send(out, to, host.datagram);
}

/// Opens the handshake with the means of the mode. False: not authentic.
bool open_token_handshake(HostCore& host, ByteView handshake, Request& request) {
    if (handshake.size() < token_bytes) {
        return false;
    }
    SealedToken token;
    std::copy_n(handshake.begin(), token.size(), token.begin());
    Result<TokenClaims> claims = open_token(token, host.settings.key);
    if (!claims || !host.tokens.admits(*claims) ||
        !open_payload(
            claims->keys.up, Direction::up, handshake.subspan(token_bytes), host.opened)) {
        return false;
    }
    request.claims = *claims;
    return true;
}

bool open_handshake(HostCore& host, const wire::Connect& connect, Request& request) {
    switch (host.settings.mode) {
    case wire::Mode::plain:
        host.opened.assign(connect.handshake.begin(), connect.handshake.end());
        return true;
    case wire::Mode::room_key:
        request.noise.emplace(host.room, noise_prologue(connect), host.entropy);
        return request.noise->read(connect.handshake, host.opened).has_value();
    case wire::Mode::token:
        return open_token_handshake(host, connect.handshake, request);
    }
    return false;
}

/// Applies a token's claims to the request. False: it asks for another match than it was given.
bool apply_claims(Request& request) {
    if (!request.claims) {
        return true;
    }
    const TokenClaims& claims = *request.claims;
    request.payload.role = claims.role;
    request.player_id = claims.player_id;
    if (claims.match_id == 0) {
        return true;
    }
    if (request.payload.match_id != 0 && request.payload.match_id != claims.match_id) {
        return false;
    }
    request.payload.match_id = claims.match_id;
    return true;
}

/// Asks the match that is meant, or all in order of their ids.
tl::expected<Admitted, CloseReason>
admit(HostCore& host, Micros now, const Request& request, HostedMatch*& hosted) {
    Admission admission;
    admission.role = request.payload.role;
    admission.build = request.payload.build;
    admission.has_ticket = request.payload.has_ticket;
    admission.ticket = request.payload.ticket;
    admission.name = request.payload.name;
    admission.player_id = request.player_id;
    CloseReason reason = CloseReason::no_such_match;
    for (auto& [id, candidate] : host.hosted_by_id) {
        if (request.payload.match_id != 0 && request.payload.match_id != id) {
            continue;
        }
        const auto admitted = candidate->match.admit(now, admission);
        if (admitted) {
            hosted = candidate.get();
            return *admitted;
        }
        reason = admitted.error();
    }
    return tl::unexpected(reason);
}

/// Makes the answer's handshake and the keys. False: the client's public key is no key.
bool answer_handshake(HostCore& host, Request& request, ByteView payload, ConnectionKeys& keys) {
    host.composed.clear();
    if (request.noise) {
        const Result<ConnectionKeys> agreed = request.noise->write(payload, host.composed);
        if (!agreed) {
            return false;
        }
        keys = *agreed;
        return true;
    }
    if (request.claims) {
        keys = request.claims->keys;
        return seal_payload(keys.down, Direction::down, payload, host.composed).has_value();
    }
    host.composed.assign(payload.begin(), payload.end());
    return true;
}

/// Fills a slot and its ACCEPT. False: nothing came of it, and the match was told.
bool make_peer(HostCore& host,
               Micros now,
               const Address& from,
               const wire::Connect& connect,
               Request& request,
               HostedMatch& hosted,
               const Admitted& admitted) {
    host.control.clear();
    wire::encode(hosted.match.accept_payload(admitted), host.control);
    ConnectionKeys keys;
    if (!answer_handshake(host, request, host.control, keys)) {
        hosted.match.disconnected(now, admitted.peer, CloseReason::not_admitted);
        return false;
    }
    const SessionSlot slot = host.new_peer();
    Session& peer = *host.peers[slot];
    peer.phase = SessionPhase::pending;
    peer.index = admitted.peer;
    peer.hosted = &hosted;
    peer.address = from;
    peer.origin = from;
    peer.client_random = connect.client_random;
    peer.cookie_tag = connect.tag;
    peer.heard = now;
    peer.opener = Opener(host.settings.mode, keys.up, Direction::up);
    peer.sealer = Sealer(host.settings.mode, keys.down, Direction::down, peer.connection_id);
    peer.stored.clear();
    wire::Accept accept;
    accept.client_random = connect.client_random;
    accept.connection_id = peer.connection_id;
    accept.handshake = host.composed;
    wire::encode(accept, peer.stored);
    hosted.peers.push_back(slot);
    host.pending.push_back(slot);
    host.status.pending = static_cast<std::uint32_t>(host.pending.size());
    host.by_tag[connect.tag] = slot;
    host.schedule(slot, now + host.settings.pending_timeout);
    return true;
}

bool has_room(const HostCore& host, const Address& from) {
    const std::uint64_t prefix = prefix_of(from);
    const auto of_prefix =
        std::count_if(host.pending.begin(), host.pending.end(), [&](SessionSlot slot) {
            return prefix_of(host.peers[slot]->origin) == prefix;
        });
    return host.pending.size() < host.settings.pending_max &&
           of_prefix < host.settings.pending_prefix_max;
}

/// A dropped CONNECT that gets no answer.
constexpr auto silence = static_cast<CloseReason>(0xFF);

/// From a proven address to a pending peer: budget, key or token, match. None if all is well,
/// otherwise what to refuse with.
CloseReason
admit_stranger(HostCore& host, Micros now, const Address& from, const wire::Connect& connect) {
    const bool public_key_work = host.settings.mode == wire::Mode::room_key;
    if (public_key_work && !host.handshakes.has(host.handshake_rate, now)) {
        host.drop(Drop::handshake_budget);
        return silence;
    }
    Request request;
    if (!open_handshake(host, connect, request)) {
        host.drop(Drop::not_admitted);
        return CloseReason::not_admitted;
    }
    if (public_key_work) {
        // Only who has the key can use the budget up.
        static_cast<void>(host.handshakes.take(host.handshake_rate, now));
    }
    const Result<wire::ConnectPayload> payload = wire::decode_connect_payload(host.opened);
    if (!payload) {
        return CloseReason::protocol_error;
    }
    request.payload = *payload;
    if (!apply_claims(request)) {
        host.drop(Drop::not_admitted);
        return CloseReason::not_admitted;
    }
    if (host.draining && !request.payload.has_ticket) {
        return CloseReason::draining; // Who comes back to a running match is nobody new.
    }
    HostedMatch* hosted = nullptr;
    const tl::expected<Admitted, CloseReason> admitted = admit(host, now, request, hosted);
    if (!admitted) {
        return admitted.error();
    }
    if (!make_peer(host, now, from, connect, request, *hosted, *admitted)) {
        host.drop(Drop::not_admitted);
        return CloseReason::not_admitted;
    }
    if (request.claims) {
        host.tokens.use(*request.claims);
    }
    return CloseReason::none;
}

} // namespace

void HostCore::on_hello(Micros now, const Address& from, ByteView packet, Outbox& out) {
    if (!prefixes.take(unknown_rate, now, prefix_of(from))) {
        drop(Drop::flood_unknown);
        return;
    }
    const Result<wire::Hello> hello = wire::decode_hello(packet);
    if (!hello) {
        drop(Drop::malformed);
        return;
    }
    if (hello->major != wire::version_major) {
        drop(Drop::version); // Counted; the cookie names our version, and ends the attempt there.
    }
    datagram.clear();
    wire::encode(cookies.make(now, from, *hello), datagram);
    send(out, from, datagram);
}

void HostCore::on_connect(Micros now, const Address& from, ByteView packet, Outbox& out) {
    if (!prefixes.take(unknown_rate, now, prefix_of(from))) {
        drop(Drop::flood_unknown);
        return;
    }
    const Result<wire::Connect> decoded = wire::decode_connect(packet);
    if (!decoded) {
        drop(Drop::malformed);
        return;
    }
    const wire::Connect& connect = *decoded;
    if (!cookies.check(now, from, connect)) {
        drop(Drop::cookie);
        return;
    }
    // The address is proven: from here on there may be answers, of one byte of reason.
    if (const auto known = by_tag.find(connect.tag); known != by_tag.end()) {
        const Session& peer = *peers[known->second];
        const bool same = peer.client_random == connect.client_random && peer.origin == from;
        if (same && peer.phase == SessionPhase::pending) {
            send(out, from, peer.stored); // The ACCEPT was lost, or this CONNECT was late.
        }
        return;
    }
    if (connect.mode != settings.mode) {
        refuse(*this, from, connect, CloseReason::not_admitted, out);
        return;
    }
    if (!has_room(*this, from)) {
        drop(Drop::table_full); // Room comes back within a round trip: the client asks again.
        return;
    }
    if (peers.size() - unused.size() >= settings.peers_max) {
        drop(Drop::table_full);
        refuse(*this, from, connect, CloseReason::full, out);
        return;
    }
    const CloseReason no = admit_stranger(*this, now, from, connect);
    if (no == CloseReason::none) {
        ++status.handshakes_accepted;
        send(out, from, peers[by_tag[connect.tag]]->stored);
    } else if (no != silence) {
        refuse(*this, from, connect, no, out);
    }
}

} // namespace twinstep::net
