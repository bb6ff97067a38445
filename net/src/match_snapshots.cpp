// SPDX-License-Identifier: MIT
// Blobs: manifests and snapshots to joiners, manifests and donated snapshots from players.
#include "match_impl.hpp"

#include "twinstep/sim/simulation.hpp"

#include <algorithm>
#include <string>

namespace twinstep::net {

namespace {

constexpr int transfers_max = 2;
constexpr Micros snapshot_every = seconds(30);
constexpr Micros ask_again = seconds(5);

} // namespace

void Match::Impl::send_blob(Micros now,
                            Peer& peer,
                            wire::BlobKind kind,
                            std::uint64_t tick,
                            std::uint64_t chain,
                            std::shared_ptr<const Bytes> bytes) {
    if (peer.sender == nullptr) {
        peer.sender = std::make_unique<BlobSender>();
    }
    const auto offer = make_blob_offer(++peer.blob_id, kind, Tick{tick}, *bytes, chain);
    peer.sender->start(now, offer, std::move(bytes), settings.join_bytes_per_s);
    peer.next_send = std::min(peer.next_send, now);
}

bool Match::Impl::is_usable(const Peer& peer) const {
    if (!held || !held->has_chain || !ring.covers(held->tick)) {
        return false;
    }
    // An old one leaves little of the ring for the time that the transfer takes.
    const std::uint64_t span = next() - ring.first();
    const bool full = ring.first() > 0;
    const bool young = !full || next() - held->tick <= span / 2;
    return young && held->tick <= edge_of(peer);
}

void Match::Impl::serve_snapshot(Micros now, Peer& peer) {
    Seat* seat = seat_of(peer);
    const bool too_soon =
        (peer.had_snapshot && now - peer.snapshot_at < snapshot_every) ||
        (seat != nullptr && seat->had_snapshot && now - seat->snapshot_at < snapshot_every);
    const auto under_way = std::count_if(peers.begin(), peers.end(), [](const Peer& each) {
        return each.phase == PeerPhase::loading && each.taking_snapshot && each.base > 0;
    });
    if (too_soon || under_way >= transfers_max) {
        return;
    }
    if (!is_usable(peer)) {
        // One that a spectator may not see yet, or that is not hashed yet, is waited for.
        const bool later =
            held && ring.covers(held->tick) &&
            (held->tick > edge_of(peer) || (!held->has_chain && held->tick > history.last()));
        if (!later) {
            want_snapshot(now);
        }
        return;
    }
    send_blob(now, peer, wire::BlobKind::snapshot, held->tick, held->chain, held->bytes);
    peer.taking_snapshot = true;
    peer.heard_progress = false; // What it said before was about another state.
    peer.had_snapshot = true;
    peer.snapshot_at = now;
    ++peer.snapshots;
    if (seat != nullptr) {
        seat->had_snapshot = true;
        seat->snapshot_at = now;
    }
    ++status.snapshots_sent;
    status.snapshot_bytes += held->bytes->size();
    peer.base = held->tick;
    peer.has_base = true;
    peer.wants_snapshot = false;
}

void Match::Impl::want_snapshot(Micros now) {
    if (settings.authority == Authority::relay) {
        if (!donation.active) {
            ask_donor(now);
        }
        return;
    }
    if (!snapshot_asked || now - snapshot_asked_at >= ask_again) {
        snapshot_asked = true;
        snapshot_asked_at = now;
        events.on_snapshot_wanted(settings.id, timeline.next());
    }
}

void Match::Impl::give_snapshot(Tick tick, ByteView bytes) {
    snapshot_asked = false;
    if (bytes.empty() || bytes.size() > settings.snapshot_bytes_max || !ring.covers(tick.value)) {
        events.on_note(settings.id,
                       "snapshot_unusable",
                       "tick=" + std::to_string(tick.value) +
                           " bytes=" + std::to_string(bytes.size()));
        return;
    }
    held = HeldSnapshot{};
    held->tick = tick.value;
    held->bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
    held->has_chain = history.empty() || history.has(tick.value);
    held->chain = history.has(tick.value) ? history.chain(tick.value) : 0;
}

void Match::Impl::check_transfer(Micros now, Peer& peer) {
    if (peer.sender == nullptr) {
        return;
    }
    if (peer.sender->active() && peer.sender->overdue(now)) {
        peer.sender->stop();
        close_peer(peer, CloseReason::too_slow, "a transfer took too long");
        return;
    }
    if (!peer.sender->done()) {
        return;
    }
    if (peer.sender->offer().kind == wire::BlobKind::manifest) {
        peer.manifest_done = true;
        peer.round_trip =
            std::min(peer.round_trip, peer.sender->round_trip().value_or(peer.round_trip));
    } else {
        peer.taking_snapshot = false;
    }
    peer.sender.reset(); // 4 KiB that most peers need once.
}

void Match::Impl::check_upload(Micros now, Peer& peer) {
    if (peer.receiver == nullptr || (donation.active && &peers[donation.donor] == &peer)) {
        return;
    }
    if (auto upload = peer.receiver->advance(now); !upload && !has_session) {
        close_peer(peer, CloseReason::too_slow, "a transfer took too long");
    }
}

Result<void> Match::Impl::on_blob(Micros now, Peer& peer, const wire::Frame& in) {
    if (in.type == wire::FrameType::blob_ack) {
        const auto ack = wire::decode_blob_ack(in.body);
        if (!ack) {
            return fail(ack.error());
        }
        if (peer.sender == nullptr) {
            return {};
        }
        auto taken = peer.sender->on_ack(now, *ack);
        check_transfer(now, peer);
        settle(now, peer);
        return taken;
    }
    if (peer.receiver == nullptr) {
        return {}; // Nothing was asked for, or not any more.
    }
    if (in.type == wire::FrameType::blob_offer) {
        const auto offer = wire::decode_blob_offer(in.body);
        if (!offer) {
            return fail(offer.error());
        }
        auto taken = peer.receiver->on_offer(now, *offer);
        // One that comes after its time, or that nobody asked for, is not worth a connection.
        const bool ignored = !taken && taken.error().code == NetErrc::refused;
        return ignored ? Result<void>{} : taken;
    }
    const auto chunk = wire::decode_blob_chunk(in.body);
    if (!chunk) {
        return fail(chunk.error());
    }
    const auto whole = peer.receiver->on_chunk(now, *chunk);
    if (!whole) {
        return fail(whole.error());
    }
    if (*whole) {
        on_blob_complete(now, peer);
    }
    return {};
}

void Match::Impl::on_blob_complete(Micros now, Peer& peer) {
    const wire::BlobOffer offer = peer.receiver->offer();
    if (offer.kind == wire::BlobKind::manifest) {
        if (!has_session && !take_manifest(now, peer.build, peer.receiver->bytes())) {
            close_peer(peer, CloseReason::different_simulation, "the manifest cannot be used");
        }
        peer.receiver->stop(); // Frees the bytes; duplicates are still acknowledged.
        return;
    }
    if (donation.active && &peers[donation.donor] == &peer) {
        donation.offered = true;
        donation.tick = offer.tick;
        donation.chain = offer.chain;
        donation.bytes = std::make_shared<const Bytes>(peer.receiver->take());
        const auto hashes = hash_snapshot(*donation.bytes);
        if (!hashes || hashes->tick.value != offer.tick) {
            refuse_donation("the bytes are no snapshot of that state");
            return;
        }
        donation.has_state = true;
        donation.state = hashes->state;
        advance_donation(now);
    }
}

} // namespace twinstep::net
