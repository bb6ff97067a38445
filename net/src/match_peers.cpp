// SPDX-License-Identifier: MIT
// Admission, seats and connections.
#include "match_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace twinstep::net {

tl::expected<std::uint16_t, CloseReason> Match::Impl::seat_for(const Admission& admission) {
    const auto find = [this](auto&& fits) -> int {
        const auto found = std::find_if(seats.begin(), seats.end(), fits);
        return found == seats.end() ? -1 : static_cast<int>(found - seats.begin());
    };
    int slot = -1;
    if (admission.has_ticket) {
        slot = find([&](const Seat& seat) {
            return (seat.has_ticket && seat.ticket == admission.ticket) ||
                   (seat.has_old_ticket && seat.old_ticket == admission.ticket);
        });
    }
    if (slot < 0 && admission.player_id != 0) {
        slot = find([&](const Seat& seat) {
            return seat.state != PlayerState::empty && seat.player_id == admission.player_id;
        });
    }
    if (slot < 0) {
        const std::string name = clean_name(admission.name);
        slot = find([&](const Seat& seat) { return seat.restored && seat.name == name; });
    }
    if (slot < 0) {
        slot = find(
            [&](const Seat& seat) { return seat.state == PlayerState::empty && !seat.in_game; });
    }
    if (slot < 0) {
        return tl::unexpected(CloseReason::full);
    }
    return static_cast<std::uint16_t>(slot);
}

tl::expected<Admitted, CloseReason> Match::Impl::admit(Micros now, const Admission& admission) {
    if (status.ended) {
        return tl::unexpected(CloseReason::match_ended);
    }
    auto place = std::find_if(
        peers.begin(), peers.end(), [](const Peer& peer) { return peer.phase == PeerPhase::free; });
    if (place == peers.end()) {
        if (peers.size() == peers.capacity()) {
            return tl::unexpected(CloseReason::full);
        }
        place = peers.emplace(peers.end());
    }
    const bool stranger = has_session && admission.build != build;
    Admitted admitted;
    admitted.peer = static_cast<PeerIndex>(place - peers.begin());
    const bool seated = admission.role == Role::player && !stranger;
    if (!seated) {
        const auto watching = std::count_if(peers.begin(), peers.end(), [](const Peer& peer) {
            return peer.phase != PeerPhase::free && !peer.has_slot;
        });
        if (watching >= settings.spectators_max + (stranger ? 8 : 0)) {
            return tl::unexpected(CloseReason::full);
        }
    }
    std::uint16_t slot = 0;
    if (seated) {
        const auto found = seat_for(admission);
        if (!found) {
            return tl::unexpected(found.error());
        }
        slot = *found;
    }
    *place = Peer{};
    Peer& peer = *place;
    peer.phase = PeerPhase::admitted;
    peer.role = admission.role;
    peer.stranger = stranger;
    peer.build = admission.build;
    peer.since = now;
    peer.next_send = now;
    peer.ack_moved = now;
    peer.credit_at = now;
    peer.from_start = next() == 0;
    entropy.fill(admitted.ticket);
    if (seated) {
        peer.has_slot = true;
        peer.slot = Slot{slot};
        Seat& seat = seats[slot];
        // The confirmed ticket stays good until the connection with the new one stands: an ACCEPT
        // may be lost, and whoever replays a CONNECT must not take the seat away.
        if (!seat.has_old_ticket) {
            seat.has_old_ticket = seat.has_ticket;
            seat.old_ticket = seat.ticket;
        }
        seat.has_ticket = true;
        seat.ticket = admitted.ticket;
        peer.ticket = admitted.ticket;
        peer.generation = seat.generation;
        seat.player_id = admission.player_id;
        if (seat.state == PlayerState::empty) {
            seat.name = clean_name(admission.name);
            set_state(slot, PlayerState::joining);
        }
        admitted.has_slot = true;
        admitted.slot = Slot{slot};
        admitted.manifest_wanted = !has_session;
    }
    return admitted;
}

wire::AcceptPayload Match::Impl::accept_payload(const Admitted& admitted) const {
    wire::AcceptPayload payload;
    payload.match_id = settings.id;
    payload.has_slot = admitted.has_slot;
    payload.slot = admitted.slot;
    payload.slots = slots;
    payload.tick_rate = settings.tick_rate;
    payload.next_tick = next();
    payload.delay_ticks_min = settings.delay_ticks_min;
    payload.delay_ticks_max = settings.delay_ticks_max;
    payload.policy = policy;
    payload.authority = settings.authority;
    payload.grace_ms = static_cast<std::uint16_t>(settings.grace.value / 1000);
    payload.hash_interval_ticks = settings.hash_interval_ticks;
    payload.input_bytes_max = settings.input_bytes_max;
    payload.manifest_wanted = admitted.manifest_wanted;
    payload.ticket = admitted.ticket;
    payload.neutral = settings.neutral;
    return payload;
}

void Match::Impl::connected(Micros now, PeerIndex index) {
    TWINSTEP_ASSERT(index < peers.size());
    Peer& peer = peers[index];
    if (peer.phase != PeerPhase::admitted) {
        return;
    }
    peer.phase = PeerPhase::loading;
    // If an ACCEPT was lost this is longer than the way; the manifest's transfer says more.
    peer.round_trip = now - peer.since;
    peer.since = now;
    peer.next_send = now;
    if (Seat* seat = seat_of(peer)) {
        if (seat->generation != peer.generation || seat->state == PlayerState::empty) {
            // The seat was lost while the handshake was under way.
            peer.has_slot = false;
            close_peer(peer, CloseReason::replaced);
            return;
        }
        if (seat->has_peer && seat->peer != index) {
            close_peer(peers[seat->peer], CloseReason::replaced);
        }
        seat->has_peer = true;
        seat->peer = index;
        seat->ticket = peer.ticket;
        seat->has_old_ticket = false;
        seat->restored = false;
        seat->inputs.clear();
        seat->margins.clear();
        seat->input_next = next();
        seat->heard_below = next();
        if (seat->in_game) {
            // What plays on is the old connection's; the new one has to come to the edge first.
            cancel(What::present, peer.slot.value);
            seat->coming = false;
            if (seat->state != PlayerState::absent && !scheduled(What::absent, peer.slot.value)) {
                schedule(What::absent, next(), peer.slot.value);
            }
        }
    }
    if (!has_session && peer.has_slot) {
        // Each player of the lobby was asked for it; the first whole one is the session.
        peer.receiver = std::make_unique<BlobReceiver>();
        peer.receiver->expect(
            wire::BlobKind::manifest, wire::manifest_bytes_max, settings.join_bytes_per_s);
    }
    settle(now, peer);
}

void Match::Impl::close_peer(Peer& peer, CloseReason reason, std::string_view text) {
    if (peer.phase == PeerPhase::free || peer.phase == PeerPhase::closing ||
        peer.phase == PeerPhase::closed) {
        return;
    }
    peer.phase = PeerPhase::closing;
    ++to_close;
    touch();
    peer.reason = reason;
    peer.text = text;
}

bool Match::Impl::next_to_close(PeerIndex& index, CloseReason& reason, std::string& text) {
    for (std::size_t i = 0; to_close != 0 && i < peers.size(); ++i) {
        Peer& peer = peers[i];
        if (peer.phase == PeerPhase::closing) {
            peer.phase = PeerPhase::closed;
            --to_close;
            index = static_cast<PeerIndex>(i);
            reason = peer.reason;
            text = peer.text;
            return true;
        }
    }
    return false;
}

void Match::Impl::disconnected(Micros now, PeerIndex index, CloseReason reason) {
    TWINSTEP_ASSERT(index < peers.size());
    Peer& peer = peers[index];
    if (peer.phase == PeerPhase::free) {
        return;
    }
    if (Seat* seat = seat_of(peer)) {
        const bool own = seat->has_peer && seat->peer == index;
        if (own) {
            seat->has_peer = false;
            lose_seat(now, *seat, peer.slot.value, reason);
        } else if (!seat->has_peer && seat->state == PlayerState::joining &&
                   seat->generation == peer.generation) {
            empty_seat(peer.slot.value); // Admitted and never heard of.
        }
    }
    if (peer.phase == PeerPhase::closing) {
        --to_close;
    }
    peer = Peer{};
}

void Match::Impl::lose_seat(Micros now, Seat& seat, std::uint16_t slot, CloseReason reason) {
    if (seat.state == PlayerState::joining) {
        cancel(What::join, slot);
        empty_seat(slot);
        return;
    }
    cancel(What::present, slot);
    seat.coming = false;
    if (!seat.in_game) {
        return;
    }
    const bool for_good =
        reason == CloseReason::leaving || reason == CloseReason::different_simulation;
    if (for_good) {
        if (!cancel(What::leave, slot)) {
            cancel(What::absent, slot);
        }
        schedule(What::leave, next(), slot);
    } else if (seat.state != PlayerState::absent) {
        cancel(What::absent, slot);
        schedule(What::absent, next(), slot);
    }
    seat.absent_since = now;
}

void Match::Impl::set_state(std::uint16_t slot, PlayerState state) {
    Seat& seat = seats[slot];
    if (seat.state == state) {
        return;
    }
    TWINSTEP_ASSERT(may_follow(seat.state, state));
    seat.state = state;
    status.players =
        static_cast<std::uint16_t>(std::count_if(seats.begin(), seats.end(), [](const Seat& each) {
            return each.state == PlayerState::live || each.state == PlayerState::lagging;
        }));
    events.on_player(settings.id, Slot{slot}, state, timeline.next());
}

void Match::Impl::empty_seat(std::uint16_t slot) {
    set_state(slot, PlayerState::empty);
    Seat& seat = seats[slot];
    ++seat.generation;
    seat.in_game = false;
    seat.has_peer = false;
    seat.restored = false;
    seat.name.clear();
    seat.player_id = 0;
    seat.has_ticket = false;
    seat.has_old_ticket = false;
    seat.coming = false;
    seat.silent = false;
    seat.diverged = false;
    seat.withholding = false;
    seat.agreed_to = 0;
    seat.reports.fill({});
    seat.donations_failed = 0;
    seat.had_snapshot = false;
    seat.owes_from = UINT64_MAX;
    seat.inputs.clear();
    seat.margins.clear();
    seat.last = {};
    seat.resyncs.clear();
}

void Match::Impl::check_peers(Micros now) {
    std::uint16_t spectators = 0;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        Peer& peer = peers[i];
        if (peer.phase == PeerPhase::free || peer.phase == PeerPhase::closed) {
            continue;
        }
        if (peer.phase == PeerPhase::admitted) {
            if (now - peer.since >= seat_kept) {
                close_peer(peer, CloseReason::timed_out);
            }
            continue;
        }
        if (peer.role == Role::spectator && !peer.stranger) {
            ++spectators;
        }
        if (peer.stranger && now - peer.since >= seconds(5)) {
            close_peer(peer,
                       CloseReason::different_simulation,
                       "another build; the manifest that was sent names the difference");
        } else if (status.ended && (now - ended_at >= seconds(1) ||
                                    (is_following(peer) && peer.ack >= edge_of(peer)) ||
                                    peer.phase == PeerPhase::loading)) {
            close_peer(peer, end_reason);
        } else {
            check_transfer(now, peer);
            check_upload(now, peer);
            settle(now, peer);
            if (is_following(peer) && !ring.covers(peer.ack)) {
                need_snapshot(peer);
            }
        }
    }
    status.spectators = spectators;
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        Seat& seat = seats[slot];
        if (seat.state == PlayerState::absent && !seat.coming &&
            now - seat.absent_since >= settings.rejoin_window && !scheduled(What::leave, slot)) {
            if (seat.has_peer) {
                close_peer(peers[seat.peer], CloseReason::too_slow);
                seat.has_peer = false;
            }
            schedule(What::leave, next(), slot);
        }
    }
}

} // namespace twinstep::net
