// SPDX-License-Identifier: MIT
// How a peer gets from its connection to the edge of the match.
#include "match_impl.hpp"

#include <algorithm>

namespace twinstep::net {

namespace {

/// A newcomer simulates that much from the beginning rather than wait for a snapshot.
constexpr Micros replay_from_start = seconds(30);
constexpr std::uint8_t snapshots_max = 3;
constexpr std::size_t resyncs_max = 3;
constexpr Micros resync_window = seconds(600);

} // namespace

void Match::Impl::settle(Micros now, Peer& peer) {
    if (peer.phase != PeerPhase::loading || !has_session) {
        return;
    }
    if (!peer.manifest_begun) {
        send_blob(now, peer, wire::BlobKind::manifest, 0, 0, manifest_blob);
        peer.manifest_begun = true;
    }
    if (peer.stranger) {
        return;
    }
    if (!peer.has_base && !give_base(now, peer)) {
        return;
    }
    const bool stands = peer.heard_progress && !peer.progress.loading &&
                        peer.progress.tick >= peer.base && !peer.taking_snapshot;
    if (!stands) {
        return;
    }
    if (status.started) {
        follow(now, peer);
    } else {
        peer.phase = PeerPhase::ready;
    }
}

bool Match::Impl::give_base(Micros now, Peer& peer) {
    const auto begin_at = [&peer](std::uint64_t tick) {
        peer.base = tick;
        peer.has_base = true;
        peer.wants_snapshot = false;
        return true;
    };
    if (!peer.wants_snapshot) {
        if (!status.started || (peer.from_start && ring.covers(0))) {
            return begin_at(0);
        }
        if (!peer.heard_progress) {
            return false;
        }
        // It has a state of its own from an earlier connection: the ticks since then are enough.
        if (peer.progress.tick > 0 && ring.covers(peer.progress.tick) &&
            peer.progress.tick <= edge_of(peer)) {
            return begin_at(peer.progress.tick);
        }
        peer.wants_snapshot = true;
    }
    if (!peer.manifest_done || peer.sender != nullptr) {
        return false; // One blob at a time.
    }
    const auto replay_ticks = static_cast<std::uint64_t>(replay_from_start.value) *
                              settings.tick_rate.num / settings.tick_rate.den / 1'000'000;
    const bool from_start = ring.covers(0) && peer.snapshots == 0 && !peer.from_start &&
                            (next() <= replay_ticks || settings.authority == Authority::relay);
    if (from_start) {
        // A snapshot of state 0 with one byte that means nothing: begin there, all ticks follow.
        static const auto nothing = std::make_shared<const Bytes>(1);
        send_blob(now, peer, wire::BlobKind::snapshot, 0, 0, nothing);
        peer.taking_snapshot = true;
        peer.heard_progress = false;
        return begin_at(0);
    }
    serve_snapshot(now, peer);
    return peer.has_base;
}

void Match::Impl::follow(Micros now, Peer& peer) {
    peer.phase = PeerPhase::following;
    peer.ack = peer.base;
    peer.reached = peer.progress.tick;
    peer.cursor = peer.ack;
    peer.catching_up = false;
    peer.ack_moved = now;
    peer.next_send = now;
    if (Seat* seat = seat_of(peer)) {
        seat->agreed_to = peer.base;
        seat->diverged = false;
        seat->reports.fill({});
    }
}

void Match::Impl::try_join(Micros now, Peer& peer) {
    Seat* seat = seat_of(peer);
    if (seat == nullptr || !status.started || status.ended || seat->coming || !is_following(peer)) {
        return;
    }
    const bool wants_in =
        (seat->state == PlayerState::joining && !seat->in_game) ||
        (seat->state == PlayerState::absent && now - seat->absent_since >= milliseconds(500));
    if (!wants_in || scheduled(What::leave, peer.slot.value)) {
        return;
    }
    // What is on its way cannot be acknowledged yet: within a round trip of the edge is at the
    // edge.
    const auto trip = static_cast<std::uint64_t>(
        std::max<std::int64_t>(peer.round_trip.value, 0) / timeline.period().value + 1);
    const std::uint64_t behind = next() - peer.ack;
    // Who has played is not asked how far it is, but has to speak of ticks that are still open.
    const bool through =
        peer.played ? seat->heard_below > next() : peer.reached + near_ticks >= peer.ack;
    if (behind > std::max<std::uint64_t>(near_ticks + trip, 32) || !through) {
        return;
    }
    const bool at_once = policy == Policy::strict && seat->state == PlayerState::absent;
    const std::uint64_t tick =
        at_once ? next() : next() + settings.delay_ticks_max + join_lead_ticks;
    seat->coming = true;
    seat->owes_from = tick;
    seat->input_next = tick;
    schedule(
        seat->state == PlayerState::absent ? What::present : What::join, tick, peer.slot.value);
}

void Match::Impl::need_snapshot(Peer& peer) {
    peer.phase = PeerPhase::loading;
    peer.has_base = false;
    peer.wants_snapshot = true;
    if (peer.snapshots >= snapshots_max) {
        close_peer(peer, CloseReason::too_slow, "fell behind the closed ticks that are kept");
    }
}

void Match::Impl::resync(Micros now, Peer& peer) {
    const std::uint16_t slot = peer.slot.value;
    Seat& seat = seats[slot];
    std::erase_if(seat.resyncs, [now](Micros at) { return now - at >= resync_window; });
    const bool again = seat.resyncs.size() < resyncs_max;
    if (seat.had_snapshot && now - seat.snapshot_at < seconds(30)) {
        ++status.requests_refused;
        return;
    }
    peer.snapshots = 0; // Asked for, not fallen behind.
    need_snapshot(peer);
    if (again) {
        seat.resyncs.push_back(now);
        if (seat.state != PlayerState::absent && !scheduled(What::absent, slot)) {
            schedule(What::absent, next(), slot);
        }
        return;
    }
    // It could not be mended: it may watch, and its slot is free.
    events.on_note(settings.id, "player_became_spectator", "slot=" + std::to_string(slot));
    seat.has_peer = false;
    peer.has_slot = false;
    peer.role = Role::spectator;
    cancel(What::absent, slot);
    schedule(What::leave, next(), slot);
}

} // namespace twinstep::net
