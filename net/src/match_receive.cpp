// SPDX-License-Identifier: MIT
// Frames of peers: hostile until looked at.
#include "match_impl.hpp"
#include "prefetch.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstddef>

namespace twinstep::net {

void Match::Impl::expect(PeerIndex index) const {
    const Peer& peer = peers[index];
    prefetch(&peer, offsetof(Peer, generation));
    // Seats do not move; a peer that plays has the seat of its number, mostly.
    if (index < seats.size()) {
        const Seat& seat = seats[index];
        prefetch(&seat, offsetof(Seat, last));
    }
}

Result<void> Match::Impl::receive_counted(Micros now, PeerIndex index, const wire::Frame& in) {
    TWINSTEP_ASSERT(index < peers.size());
    const Seat* seat = in.type == wire::FrameType::inputs ? seat_of(peers[index]) : nullptr;
    const bool plain = seat != nullptr && !wake_stale && is_following(peers[index]);
    if (!plain) {
        touch();
        return receive(now, index, in);
    }
    const std::size_t events_before = agenda.size();
    const bool searching = search.active();
    const bool had = seat->input_next > next();
    auto taken = receive(now, index, in);
    if (!taken || agenda.size() != events_before || search.active() != searching) {
        touch();
    } else if (!had && !standing && !status.ended && seat->input_next > next()) {
        const Micros closing = closing_time(missing());
        if (closing < wake) {
            wake = closing;
            tell_listener();
        }
    }
    return taken;
}

Result<void> Match::Impl::receive(Micros now, PeerIndex index, const wire::Frame& frame_in) {
    TWINSTEP_ASSERT(index < peers.size());
    now_ = now;
    Peer& peer = peers[index];
    if (peer.phase == PeerPhase::free || peer.phase == PeerPhase::admitted ||
        peer.phase == PeerPhase::closing || peer.phase == PeerPhase::closed) {
        return {};
    }
    switch (frame_in.type) {
    case wire::FrameType::inputs:
        return on_inputs(now, peer, frame_in.body);
    case wire::FrameType::progress: {
        const auto progress = wire::decode_progress(frame_in.body);
        if (!progress) {
            return fail(progress.error());
        }
        peer.heard_progress = true;
        peer.progress = *progress;
        peer.reached = std::max(peer.reached, progress->tick);
        settle(now, peer);
        return {};
    }
    case wire::FrameType::request:
        return on_request(now, peer, frame_in.body);
    case wire::FrameType::blob_offer:
    case wire::FrameType::blob_chunk:
    case wire::FrameType::blob_ack:
        return on_blob(now, peer, frame_in);
    case wire::FrameType::loss: {
        const auto lost = wire::decode_loss(frame_in.body);
        if (!lost) {
            return fail(lost.error());
        }
        peer.redundancy.on_report(now, *lost);
        return {};
    }
    case wire::FrameType::hash_answer:
        return on_hash_answer(peer, frame_in.body);
    case wire::FrameType::section_answer:
        return on_section_answer(peer, frame_in.body);
    default:
        return {};
    }
}

Result<void> Match::Impl::on_inputs(Micros now, Peer& peer, ByteView body) {
    const auto inputs = wire::decode_inputs(body);
    if (!inputs) {
        return fail(inputs.error());
    }
    if (is_following(peer) && inputs->ack > peer.ack && inputs->ack <= edge_of(peer)) {
        peer.ack = inputs->ack;
        peer.ack_moved = now;
        const Closing& closing = closings[(peer.ack - 1) % closings.size()];
        peer.acked_after = closing.tick_and_one == peer.ack
                               ? std::optional(std::max(now - closing.at, Micros{}))
                               : std::nullopt;
    }
    if (inputs->has_hash) {
        peer.reached = std::max(peer.reached, inputs->hash_tick);
        if (peer.has_slot && is_following(peer)) {
            on_report(now, peer.slot.value, inputs->hash_tick, inputs->hash);
        }
    }
    if (peer.has_slot && (is_following(peer) || peer.phase == PeerPhase::ready)) {
        if (auto runs = on_runs(now, peer, *inputs); !runs) {
            return runs;
        }
        try_join(now, peer);
    }
    return {};
}

Result<void> Match::Impl::on_runs(Micros now, Peer& peer, const wire::Inputs& inputs) {
    wire::RunReader reader(inputs.runs, settings.neutral, settings.input_bytes_max);
    std::uint64_t tick = inputs.first_tick;
    for (std::size_t i = 0; !reader.at_end(); ++i, ++tick) {
        if (i == wire::window_ticks_max) {
            return fail(Error(NetErrc::limit_exceeded, "runs", "more than 128 inputs"));
        }
        const auto value = reader.next();
        if (!value) {
            return fail(value.error());
        }
        if (auto taken = on_input(now, peer.slot.value, tick, *value); !taken) {
            return taken;
        }
    }
    return {};
}

Result<void>
Match::Impl::on_input(Micros now, std::uint16_t slot, std::uint64_t tick, ByteView value) {
    Seat& seat = seats[slot];
    const bool known = seat.in_game || seat.coming || !status.started;
    const std::uint64_t counts_from = status.started ? seat.owes_from : 0;
    if (!known || tick < counts_from) {
        return {}; // Of a joiner whose JOIN is not fixed yet, or before it.
    }
    const bool first_heard = status.started && tick >= seat.heard_below;
    if (first_heard && tick < next() + wire::window_ticks_max + settings.delay_ticks_max) {
        seat.heard_below = tick + 1;
        seat.margins.add(tick, timeline.due(Tick{tick}) - now);
    }
    if (tick < next()) {
        return {}; // Closed: a duplicate, or too late.
    }
    if (tick - next() >= wire::window_ticks_max + settings.delay_ticks_max || tick > tick_max) {
        ++status.out_of_range;
        return {};
    }
    const bool heard = seat.inputs.has(tick);
    if (!heard && settings.accepts_input && !settings.accepts_input(value)) {
        ++status.inputs_refused;
        return fail(Error(NetErrc::malformed, "input", "the game cannot decode it"));
    }
    switch (seat.inputs.put(tick, value)) {
    case InputRing::Put::accepted:
        while (seat.inputs.has(seat.input_next)) {
            ++seat.input_next;
        }
        break;
    case InputRing::Put::same:
        break;
    case InputRing::Put::different:
        ++status.equivocations;
        break;
    }
    return {};
}

Result<void> Match::Impl::on_request(Micros now, Peer& peer, ByteView body) {
    const auto request = wire::decode_request(body);
    if (!request) {
        return fail(request.error());
    }
    Seat* seat = seat_of(peer);
    if (seat == nullptr || !seat->in_game || !is_following(peer)) {
        return {}; // Spectators and joiners have no say.
    }
    const bool allowed = settings.player_requests || request->kind == wire::RequestKind::snapshot;
    if (!allowed || !seat->requests.take(now)) {
        ++status.requests_refused;
        return {};
    }
    switch (request->kind) {
    case wire::RequestKind::pause:
        if (seat->pauses.take(now)) {
            request_pause(now);
        } else {
            ++status.requests_refused;
        }
        break;
    case wire::RequestKind::resume:
        request_resume(now);
        break;
    case wire::RequestKind::speed:
        if (request->value >= 100 && request->value <= 4000) {
            schedule(What::speed, next(), 0, request->value);
        }
        break;
    case wire::RequestKind::policy:
        // A player may end a stand-still, not begin one: the stricter policies let the slowest one
        // hold everybody up.
        if (request->value >= 1 && request->value < static_cast<std::uint32_t>(policy)) {
            schedule(What::policy, next(), 0, request->value);
        }
        break;
    case wire::RequestKind::snapshot:
        resync(now, peer);
        break;
    }
    return {};
}

} // namespace twinstep::net
