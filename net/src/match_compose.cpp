// SPDX-License-Identifier: MIT
// Packets for peers: closed ticks until they are acknowledged, and what else waits.
#include "match_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <bit>

namespace twinstep::net {

namespace {

constexpr std::uint64_t live_ticks_max = 2 * wire::window_ticks_max;
/// Of a catch-up stream to a player: 6,000 quiet ticks a second, a third of a live peer's budget.
constexpr std::int64_t catch_up_bytes_per_s = std::int64_t{64} * 1024;
/// Ticks under way beyond the acknowledged one; a receiver need not hold more.
constexpr std::uint64_t catch_up_ticks_max = 1024;
/// The chain vouches for all states before, so a check tick may be left out: at an interval of one
/// tick this saves four bytes a packet.
constexpr std::uint64_t agreed_every_ticks = 8;
constexpr std::uint8_t live_packets = 2;
constexpr std::uint8_t catch_up_packets = 8;
constexpr Micros catch_up_turn = milliseconds(16);

} // namespace

std::uint64_t Match::Impl::edge_of(const Peer& peer) const {
    if (peer.role != Role::spectator || status.ended) {
        return next();
    }
    const auto delay =
        static_cast<std::uint64_t>(settings.spectator_delay.value / timeline.period().value);
    // At a higher speed the same time is more ticks: what was shown stays shown.
    return std::max(next() - std::min(next(), delay), is_following(peer) ? peer.ack : 0);
}

void Match::Impl::start_turn(Micros now, Peer& peer) {
    if (peer.phase == PeerPhase::free || peer.phase == PeerPhase::admitted ||
        peer.phase == PeerPhase::closing || peer.phase == PeerPhase::closed) {
        peer.next_send = never;
        return;
    }
    peer.next_send = now + keep_alive;
    peer.packets_left = 1;
    if (!is_following(peer)) {
        return;
    }
    const std::uint64_t edge = edge_of(peer);
    const std::int64_t rate = peer.role == Role::spectator
                                  ? std::int64_t{settings.spectator_bytes_per_s}
                                  : catch_up_bytes_per_s;
    const std::int64_t elapsed = std::min((now - peer.credit_at).value, seconds(1).value);
    peer.credit_bytes = std::min(peer.credit_bytes + elapsed * rate / 1'000'000, rate / 4);
    peer.credit_at = now;
    if (edge - peer.ack > live_ticks_max) {
        peer.catching_up = true;
    }
    if (!peer.catching_up) {
        peer.cursor = peer.ack;
        peer.packets_left = live_packets;
        return;
    }
    peer.packets_left = catch_up_packets;
    const Micros patience{std::max(milliseconds(250).value, 2 * peer.round_trip.value)};
    if (peer.cursor < peer.ack || (peer.cursor > peer.ack && now - peer.ack_moved > patience)) {
        peer.cursor = peer.ack; // Something was lost: again from what is known to be there.
        peer.ack_moved = now;
    }
    if (edge - peer.ack <= wire::window_ticks_max) {
        peer.catching_up = false;
        peer.cursor = peer.ack;
        peer.packets_left = live_packets;
    } else {
        peer.next_send = now + catch_up_turn;
    }
}

bool Match::Impl::is_sent_twice(Micros now, const Peer& peer) const {
    return peer.redundancy.is_on(now) && settings.redundancy && peer.role == Role::player &&
           is_following(peer) && !peer.catching_up;
}

void Match::Impl::send_again() {
    again_at = never;
    for (Peer& peer : peers) {
        // Nothing new has been closed since, so this is never more than the turn before.
        if (is_sent_twice(now_, peer) && peer.ack < edge_of(peer)) {
            peer.cursor = peer.ack;
            peer.packets_left = live_packets;
        }
    }
}

void Match::Impl::add_stall(Micros now, const Peer& peer, Bytes& plaintext) const {
    if (!status.started || status.ended || peer.role == Role::spectator || !is_following(peer)) {
        return;
    }
    wire::Stall stall;
    stall.tick = next();
    if (status.paused) {
        stall.paused = true;
        stall.for_ms = static_cast<std::uint32_t>(
            std::min<std::int64_t>((now - standing_since).value / 1000, UINT32_MAX));
        wire::encode(stall, plaintext);
        return;
    }
    stall.slots = stalled_slots(now);
    stall.for_ms = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>((now - timeline.due()).value / 1000, 0, UINT32_MAX));
    if (stall.slots != 0) {
        wire::encode(stall, plaintext);
    }
}

void Match::Impl::add_ticks(Micros, Peer& peer, Bytes& plaintext) {
    const std::uint64_t edge = is_following(peer) ? edge_of(peer) : peer.ack;
    wire::Ticks ticks;
    ticks.first_tick = peer.ack;
    const std::size_t before = plaintext.size();
    const bool in_credit =
        peer.credit_bytes > 0 || (peer.role == Role::player && !peer.catching_up);
    const bool in_window = !peer.catching_up || peer.cursor - peer.ack < catch_up_ticks_max;
    if (is_following(peer) && peer.cursor < edge && in_credit && in_window &&
        ring.covers(peer.cursor)) {
        const auto wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(edge - peer.cursor, wire::window_ticks_max));
        const auto body = cache.get(ring, settings.neutral, peer.cursor, wanted);
        ticks.first_tick = peer.cursor;
        ticks.count = static_cast<std::uint8_t>(body.count);
        ticks.body = body.bytes;
        peer.cursor += body.count;
        --peer.packets_left;
        if (peer.cursor == edge) {
            peer.packets_left = 0;
        } else if (peer.packets_left == 0 && !peer.catching_up) {
            peer.catching_up = true; // More than two datagrams hold: a stream of its own.
        }
    } else {
        peer.packets_left = 0;
    }
    if (has_agreed && is_following(peer) && agreed_tick >= peer.hash_sent + agreed_every_ticks &&
        agreed_tick <= edge) {
        ticks.has_hash = true;
        ticks.hash_tick = agreed_tick;
        ticks.hash = agreed_hash;
        peer.hash_sent = agreed_tick;
    }
    ticks.input_ack = ticks.first_tick;
    if (const Seat* seat = seat_of(peer)) {
        ticks.input_ack = seat->input_next;
        if (!seat->margins.least(next(), ticks.margin_ms)) {
            ticks.margin_ms = static_cast<std::int32_t>(timeline.period().value * 3 / 2 / 1000);
        }
    }
    wire::encode_ticks(ticks, true, plaintext);
    peer.credit_bytes -= static_cast<std::int64_t>(plaintext.size() - before);
}

bool Match::Impl::compose(Micros now, PeerIndex index, Bytes& plaintext) {
    TWINSTEP_ASSERT(index < peers.size());
    plaintext.clear();
    Peer& peer = peers[index];
    if (peer.phase == PeerPhase::free || peer.phase == PeerPhase::admitted ||
        peer.phase == PeerPhase::closing || peer.phase == PeerPhase::closed) {
        return false;
    }
    if (!peer.frames.empty()) {
        plaintext.insert(plaintext.end(), peer.frames.begin(), peer.frames.end());
        peer.frames.clear();
    }
    if (peer.packets_left > 0) {
        const std::size_t room = wire::plaintext_bytes_max - plaintext.size();
        if (room >= ticks_head_bytes_max + ticks_body_bytes_max || plaintext.empty()) {
            add_stall(now, peer, plaintext);
            add_ticks(now, peer, plaintext);
            return true; // TICKS reaches to the end of its packet.
        }
        return true;
    }
    if (peer.receiver == nullptr && peer.sender == nullptr) {
        return !plaintext.empty();
    }
    touch();
    const std::size_t room = wire::plaintext_bytes_max - plaintext.size();
    if (peer.receiver != nullptr) {
        peer.receiver->compose_ack(now, plaintext);
    }
    if (peer.sender != nullptr && peer.sender->active() && plaintext.empty()) {
        peer.sender->compose(now, room, &join_budget, plaintext);
    }
    return !plaintext.empty();
}

Micros Match::Impl::next_wake() const {
    if (wake_stale) {
        wake = find_wake();
        wake_stale = false;
    }
    return wake;
}

Micros Match::Impl::find_wake() const {
    Micros soonest = never;
    const auto sooner = [&soonest](Micros time) { soonest = std::min(soonest, time); };
    for (const Peer& peer : peers) {
        switch (peer.phase) {
        case PeerPhase::free:
        case PeerPhase::closing:
        case PeerPhase::closed:
            break;
        case PeerPhase::admitted:
            sooner(peer.since + seat_kept);
            break;
        default:
            sooner(peer.next_send);
            if (peer.sender != nullptr && peer.sender->active()) {
                sooner(peer.sender->next_wake(now_, &join_budget));
            }
            if (peer.receiver != nullptr) {
                sooner(peer.receiver->next_wake());
            }
        }
    }
    if (status.started && !status.ended) {
        sooner(again_at);
        sooner(search.next_wake());
        sooner(announce_at);
        if (donation.active) {
            sooner(std::min(donation.until, donation.ask_at));
        }
        if (standing && !status.paused && !deserted()) {
            sooner(now_); // Somebody is back.
        }
        if (!agenda.empty() && agenda.front().tick <= next() && event_bytes == 0) {
            sooner(now_);
        }
        if (!standing) {
            const std::uint64_t slots_missing = missing();
            sooner(closing_time(slots_missing));
            if (slots_missing != 0 && !stalling) {
                sooner(timeline.due() + settings.grace);
            }
        }
        for (const Seat& seat : seats) {
            if (seat.state == PlayerState::absent && !seat.coming) {
                sooner(seat.absent_since + settings.rejoin_window);
            }
        }
    }
    return soonest;
}

std::size_t Match::Impl::memory_bytes() const {
    std::size_t bytes = sizeof(*this) + ring.memory_bytes() + cache.memory_bytes() +
                        peers.capacity() * sizeof(Peer) + seats.capacity() * sizeof(Seat) +
                        agenda.capacity() * sizeof(ScheduledEvent) + history.memory_bytes() +
                        votes.memory_bytes() + search.memory_bytes() +
                        (manifest_blob != nullptr ? manifest_blob->capacity() : 0) +
                        (held ? held->bytes->capacity() : 0) + encoded.capacity();
    for (const Seat& seat : seats) {
        bytes += seat.inputs.memory_bytes();
    }
    for (const Peer& peer : peers) {
        bytes += peer.frames.capacity() + peer.text.capacity();
        bytes += peer.sender != nullptr ? sizeof(BlobSender) : 0;
        bytes +=
            peer.receiver != nullptr ? sizeof(BlobReceiver) + peer.receiver->memory_bytes() : 0;
    }
    return bytes;
}

} // namespace twinstep::net
