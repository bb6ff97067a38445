// SPDX-License-Identifier: MIT
// How a peer gets from its connection to the edge of the match.
#include "match_impl.hpp"

#include <algorithm>

namespace twinstep::net {

void Match::Impl::settle(Micros now, Peer& peer) {
    if (peer.phase != PeerPhase::loading || peer.stranger || !has_session) {
        return;
    }
    if (!peer.has_base && !give_base(now, peer)) {
        return;
    }
    if (!peer.heard_progress || peer.progress.loading || peer.progress.tick < peer.base) {
        return;
    }
    if (!status.started) {
        peer.phase = PeerPhase::ready;
    } else {
        follow(now, peer);
    }
}

bool Match::Impl::give_base(Micros, Peer& peer) {
    if (!status.started || (peer.from_start && ring.covers(0))) {
        peer.base = 0;
        peer.has_base = true;
    } else if (peer.heard_progress && peer.progress.tick > 0 && ring.covers(peer.progress.tick)) {
        peer.base = peer.progress.tick;
        peer.has_base = true;
    }
    return peer.has_base;
}

void Match::Impl::follow(Micros now, Peer& peer) {
    peer.phase = PeerPhase::following;
    peer.ack = std::max(peer.base, std::min(peer.progress.tick, edge_of(peer)));
    peer.cursor = peer.ack;
    peer.ack_moved = now;
    peer.next_send = now;
}

void Match::Impl::try_join(Micros now, Peer& peer) {
    Seat* seat = seat_of(peer);
    if (seat == nullptr || !status.started || status.ended || seat->coming ||
        !is_following(peer)) {
        return;
    }
    const bool wants_in =
        (seat->state == PlayerState::joining && !seat->in_game) ||
        (seat->state == PlayerState::absent && now - seat->absent_since >= milliseconds(500));
    if (!wants_in) {
        return;
    }
    // What is on its way cannot be acknowledged yet: within a round trip of the edge is at the edge.
    const auto trip = static_cast<std::uint64_t>(
        std::max<std::int64_t>(peer.round_trip.value, 0) / timeline.period().value + 1);
    const std::uint64_t behind = next() - peer.ack;
    const bool through = peer.reached + near_ticks >= peer.ack;
    if (behind > std::max<std::uint64_t>(near_ticks + trip, 32) || !through) {
        return;
    }
    const bool at_once = policy == Policy::strict && seat->state == PlayerState::absent;
    const std::uint64_t tick =
        at_once ? next() : next() + settings.delay_ticks_max + join_lead_ticks;
    seat->coming = true;
    seat->owes_from = tick;
    seat->input_next = tick;
    schedule(seat->state == PlayerState::absent ? What::present : What::join, tick, peer.slot.value);
}

} // namespace twinstep::net
