// SPDX-License-Identifier: MIT
// Packets of peers: the gates after the handshake, the host's own frames, and changes of address.
#include "host_impl.hpp"

#include <string>

namespace twinstep::net {

namespace {

/// Overflow that goes on for this long ends the connection; one burst never does.
constexpr Micros overflow_patience = seconds(2);
/// Without overflow for this long the patience is new.
constexpr Micros overflow_pause = seconds(1);
/// An address changes at most this often.
constexpr Micros path_pause = seconds(1);
constexpr Micros challenge_period = milliseconds(250);
/// Bytes sent to an address that is not proven, at most, for each byte that came from it.
constexpr std::size_t unproven_factor = 3;
constexpr std::size_t challenge_frame_bytes = 10;
constexpr std::size_t pong_frame_bytes = 6;
/// A PONG goes with the next packet of the match; after this long it goes alone.
constexpr Micros pong_patience = milliseconds(50);

Drop drop_of(const Error& error) {
    if (error.code == NetErrc::replayed) {
        return Drop::replayed;
    }
    return error.code == NetErrc::not_authentic ? Drop::not_authentic : Drop::malformed;
}

CloseReason close_reason_of(const Error& error) {
    if (error.code == NetErrc::different_simulation) {
        return CloseReason::different_simulation;
    }
    return error.code == NetErrc::limit_exceeded ? CloseReason::flooding
                                                 : CloseReason::protocol_error;
}

/// Looks after an address that a packet of the peer came from and that is not its own.
void note_path(HostCore& host, Micros now, Session& peer, const Address& from, Outbox& out) {
    PathProbe& path = peer.path;
    if (!path.open || path.address != from) {
        const bool too_soon = (peer.ever_changed_path && now - peer.path_changed < path_pause) ||
                              (path.open && now - path.begun < path_pause);
        if (too_soon) {
            return;
        }
        path = PathProbe{};
        path.address = from;
        path.challenge = host.random_u64();
        path.begun = now;
        path.challenged = now - challenge_period;
        path.open = true;
    }
    if (now - path.challenged < challenge_period) {
        return;
    }
    // One challenge for one packet, and never more than three times as long as the shortest one,
    // with a tag or without: that bounds what anybody can have sent to an address that is not his.
    static_assert(wire::data_header_bytes + challenge_frame_bytes <=
                  unproven_factor * wire::data_header_bytes);
    path.challenged = now;
    host.control.clear();
    wire::encode_path(wire::FrameType::path_challenge, path.challenge, host.control);
    if (peer.sealer.seal(host.control, host.datagram)) {
        host.send(out, from, host.datagram);
    }
}

void prove_path(
    HostCore& host, Micros now, Session& peer, const Address& from, std::uint64_t response) {
    if (peer.path.open && peer.path.address == from && peer.path.challenge == response) {
        peer.address = from;
        peer.path.open = false;
        peer.path_changed = now;
        peer.ever_changed_path = true;
        ++host.status.path_changes;
    }
}

/// What becomes of a frame.
struct FrameOutcome {
    Result<void> result;
    bool closed = false; ///< The peer has gone.
    CloseReason reason = CloseReason::none;
};

template <class T>
FrameOutcome bad(const Result<T>& result) {
    return {fail(result.error())};
}

/// The frames that are the host's own; the others are the match's.
FrameOutcome take_frame(
    HostCore& host, Micros now, Session& peer, const Address& from, const wire::Frame& frame) {
    switch (frame.type) {
    case wire::FrameType::ping: {
        const Result<std::uint32_t> stamp = wire::decode_stamp(frame.body);
        if (!stamp) {
            return bad(stamp);
        }
        peer.pong_since = peer.pong_due ? peer.pong_since : now;
        peer.pong_due = true;
        peer.pong_stamp = *stamp; // Of several the newest says it all.
        return {};
    }
    case wire::FrameType::pong: {
        const Result<std::uint32_t> stamp = wire::decode_stamp(frame.body);
        return stamp ? FrameOutcome{} : bad(stamp);
    }
    case wire::FrameType::path_challenge: {
        const Result<std::uint64_t> value = wire::decode_path(frame.body);
        if (!value) {
            return bad(value);
        }
        // An answer is as long as what asked, so all of them fit into one packet.
        wire::encode_path(wire::FrameType::path_response, *value, host.control);
        return {};
    }
    case wire::FrameType::path_response: {
        const Result<std::uint64_t> value = wire::decode_path(frame.body);
        if (!value) {
            return bad(value);
        }
        prove_path(host, now, peer, from, *value);
        return {};
    }
    case wire::FrameType::close: {
        const auto close = wire::decode_close(frame.body);
        if (!close) {
            return bad(close);
        }
        return {{}, true, close->first};
    }
    default:
        return {peer.hosted->match.receive(now, peer.index, frame)};
    }
}

/// False: the budget is exceeded, and for how long says whether that is the end.
bool within_budget(HostCore& host, Micros now, SessionSlot slot, std::size_t size, Outbox& out) {
    Session& peer = *host.peers[slot];
    HostedMatch& hosted = *peer.hosted;
    const auto bytes = static_cast<std::int64_t>(size);
    const bool packet_fits = peer.packets.take(hosted.packets, now);
    const bool bytes_fit = peer.bytes.take(hosted.bytes, now, bytes);
    if (packet_fits && bytes_fit) {
        return true;
    }
    if (hosted.match.expects_upload(peer.index) && peer.upload.take(hosted.upload, now, bytes)) {
        return true;
    }
    host.drop(Drop::flood_peer);
    if (peer.overflow_begun == Micros{} || now - peer.overflow_last > overflow_pause) {
        peer.overflow_begun = now;
    }
    peer.overflow_last = now;
    if (now - peer.overflow_begun >= overflow_patience) {
        host.begin_close(now, slot, CloseReason::flooding, "more than the match's budget", out);
    }
    return false;
}

/// Reads the opened packet frame by frame until one of them ends the connection.
void take_frames(HostCore& host, Micros now, SessionSlot slot, const Address& from, Outbox& out) {
    Session& peer = *host.peers[slot];
    host.control.clear();
    wire::FrameReader reader(host.opened);
    wire::Frame frame;
    for (;;) {
        const Result<bool> more = reader.next(frame);
        if (more && !*more) {
            return;
        }
        const FrameOutcome outcome = more ? take_frame(host, now, peer, from, frame) : bad(more);
        if (outcome.closed) {
            host.detach(now, slot, outcome.reason);
            host.free_peer(slot);
            return;
        }
        if (!outcome.result) {
            const Error& error = outcome.result.error();
            host.drop(Drop::frame);
            host.begin_close(now, slot, close_reason_of(error), to_string(error), out);
            return;
        }
    }
}

} // namespace

void HostCore::on_data(Micros now, const Address& from, ByteView packet, Outbox& out) {
    std::uint16_t id = 0;
    if (!peek_connection_id(packet, id)) {
        drop(Drop::malformed);
        return;
    }
    if (slot_plus_one[id] == 0) {
        drop(Drop::unknown_connection);
        return;
    }
    const auto slot = static_cast<SessionSlot>(slot_plus_one[id] - 1);
    Session& peer = *peers[slot];
    if (peer.phase == SessionPhase::closing) {
        drop(Drop::unknown_connection);
        return;
    }
    const bool known_address = peer.address == from;
    if (!known_address && !prefixes.take(unknown_rate, now, prefix_of(from))) {
        drop(Drop::flood_unknown);
        return;
    }
    bool newest = false;
    if (const Result<void> result = peer.opener.open(packet, opened, newest); !result) {
        drop(drop_of(result.error()));
        return;
    }
    if (!within_budget(*this, now, slot, packet.size(), out)) {
        return;
    }
    HostedMatch& hosted = *peer.hosted;
    peer.heard = now;
    if (peer.phase == SessionPhase::pending) {
        peer.phase = SessionPhase::live;
        std::erase(pending, slot);
        status.pending = static_cast<std::uint32_t>(pending.size());
        ++status.peers;
        places[slot] = {&hosted.match, peer.index};
        hosted.match.connected(now, peer.index);
    }
    if (!known_address && newest) {
        note_path(*this, now, peer, from, out);
    }
    take_frames(*this, now, slot, from, out);
    after_packet(now, slot, hosted, out);
}

void HostCore::after_packet(Micros now, SessionSlot slot, HostedMatch& hosted, Outbox& out) {
    Session& peer = *peers[slot];
    if (peer.phase == SessionPhase::live) {
        flush(now, peer, out);
        if (peer.pong_due && now - peer.pong_since >= pong_patience) {
            wire::encode_stamp(wire::FrameType::pong, peer.pong_stamp, control);
            peer.pong_due = false;
        }
        if (!control.empty() && control.size() <= wire::plaintext_bytes_max) {
            send_sealed(peer, control, out);
        }
    }
    drain_closes(now, hosted, out);
}

void HostCore::flush(Micros now, Session& peer, Outbox& out) {
    while (peer.hosted->match.compose(now, peer.index, composed)) {
        if (peer.pong_due && composed.size() + pong_frame_bytes <= wire::plaintext_bytes_max) {
            // In front: the last frame of a packet may reach to its end.
            pong.clear();
            wire::encode_stamp(wire::FrameType::pong, peer.pong_stamp, pong);
            composed.insert(composed.begin(), pong.begin(), pong.end());
            peer.pong_due = false;
        }
        if (composed.size() + loss_frame_bytes <= wire::plaintext_bytes_max) {
            pong.clear();
            peer.loss_report.compose(now, peer.opener, pong);
            composed.insert(composed.begin(), pong.begin(), pong.end());
        }
        send_sealed(peer, composed, out);
    }
}

void HostCore::drain_closes(Micros now, HostedMatch& hosted, Outbox& out) {
    PeerIndex index = 0;
    CloseReason reason = CloseReason::none;
    std::string text;
    while (hosted.match.next_to_close(index, reason, text)) {
        const auto at = std::find_if(hosted.peers.begin(),
                                     hosted.peers.end(),
                                     [&](SessionSlot slot) { return peers[slot]->index == index; });
        if (at != hosted.peers.end()) {
            begin_close(now, *at, reason, text, out);
        }
    }
}

} // namespace twinstep::net
