// SPDX-License-Identifier: MIT
// The table of peers: where they begin, how they end, and when to look at them again.
#include "host_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::net {

namespace {

constexpr std::uint8_t closes = 5;
constexpr Micros close_period = milliseconds(100);

} // namespace

std::uint64_t HostCore::random_u64() {
    std::array<std::byte, 8> bytes;
    entropy.fill(bytes);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return detail::little_endian(value); // A seed means the same on every machine.
}

SessionSlot HostCore::new_peer() {
    SessionSlot slot = 0;
    if (unused.empty()) {
        slot = static_cast<SessionSlot>(peers.size());
        peers.push_back(std::make_unique<Session>());
        places.emplace_back();
        peers.back()->stored.reserve(wire::datagram_bytes_max);
    } else {
        slot = unused.back();
        unused.pop_back();
    }
    // At most 65,000 of 65,536 ids are taken, so a free one is a few steps away.
    std::uint16_t id = 0;
    std::uint64_t draw = random_u64();
    do {
        id = static_cast<std::uint16_t>(draw);
        draw = draw * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
        draw ^= draw >> 29U;
    } while (slot_plus_one[id] != 0);
    slot_plus_one[id] = static_cast<SessionSlot>(slot + 1);
    peers[slot]->connection_id = id;
    return slot;
}

void HostCore::free_peer(SessionSlot slot) {
    Session& peer = *peers[slot];
    TWINSTEP_ASSERT(peer.hosted == nullptr);
    slot_plus_one[peer.connection_id] = 0;
    const std::uint32_t serial = peer.timer_serial + 1; // Older timers mean nobody.
    Bytes stored = std::move(peer.stored);
    stored.clear();
    peer = Session();
    peer.stored = std::move(stored);
    peer.timer_serial = serial;
    unused.push_back(slot);
}

void HostCore::detach(Micros now, SessionSlot slot, CloseReason reason) {
    Session& peer = *peers[slot];
    if (peer.phase == SessionPhase::pending) {
        std::erase(pending, slot);
    } else if (peer.phase == SessionPhase::live) {
        --status.peers;
    }
    status.pending = static_cast<std::uint32_t>(pending.size());
    const auto named = by_tag.find(peer.cookie_tag);
    if (named != by_tag.end() && named->second == slot) {
        by_tag.erase(named);
    }
    places[slot] = {};
    if (HostedMatch* const hosted = std::exchange(peer.hosted, nullptr)) {
        std::erase(hosted->peers, slot);
        hosted->match.disconnected(now, peer.index, reason);
    }
}

void HostCore::begin_close(
    Micros now, SessionSlot slot, CloseReason reason, std::string_view text, Outbox& out) {
    Session& peer = *peers[slot];
    detach(now, slot, reason);
    control.clear();
    wire::encode_close(reason, text.substr(0, wire::close_text_bytes_max), control);
    if (!peer.sealer.seal(control, peer.stored)) {
        free_peer(slot); // The key is used up: the other side will notice the silence.
        return;
    }
    peer.phase = SessionPhase::closing;
    peer.closes_left = closes;
    ++peer.timer_serial;
    run_timer(now, slot, out);
}

void HostCore::schedule(SessionSlot slot, Micros at) {
    timers.push_back({at, peers[slot]->timer_serial, slot});
    std::push_heap(timers.begin(), timers.end());
}

void HostCore::run_timer(Micros now, SessionSlot slot, Outbox& out) {
    Session& peer = *peers[slot];
    if (peer.phase == SessionPhase::closing) {
        if (peer.closes_left == 0) {
            free_peer(slot);
            return;
        }
        --peer.closes_left;
        send(out, peer.address, peer.stored);
        schedule(slot, now + close_period);
        return;
    }
    Micros limit = settings.pending_timeout;
    if (peer.phase == SessionPhase::live) {
        // A peer that loads may be busy for longer; asked only when it matters.
        const bool loading = peer.hosted->match.is_loading(peer.index);
        limit = loading ? settings.silence_loading : settings.silence_live;
    }
    if (now - peer.heard < limit) {
        schedule(slot, peer.heard + limit);
    } else if (peer.phase == SessionPhase::live) {
        begin_close(now, slot, CloseReason::timed_out, {}, out);
    } else {
        detach(now, slot, CloseReason::timed_out);
        free_peer(slot);
    }
}

void HostCore::send(Outbox& out, const Address& to, ByteView bytes) {
    ++status.datagrams_sent;
    status.bytes_sent += bytes.size();
    out.send(to, bytes);
}

void HostCore::send_sealed(Session& peer, ByteView plaintext, Outbox& out) {
    if (peer.sealer.seal(plaintext, datagram)) {
        send(out, peer.address, datagram);
    }
}

} // namespace twinstep::net
