// SPDX-License-Identifier: MIT
// What the frames of the server do to a client, beside the ticks.
#include "client_impl.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::net {

namespace {

/// The other side's text, safe to be shown in one line.
std::string clean(std::string_view text) {
    std::string cleaned(text.substr(0, wire::close_text_bytes_max));
    for (char& letter : cleaned) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte < 0x20 || byte >= 0x7F) {
            letter = '?';
        }
    }
    return cleaned;
}

} // namespace

Result<void> Client::Impl::take_frame(Micros now, const wire::Frame& frame) {
    switch (frame.type) {
    case wire::FrameType::ticks: {
        const auto ticks = wire::decode_ticks(frame.body);
        return ticks ? take_ticks(now, *ticks) : fail(ticks.error());
    }
    case wire::FrameType::stall: {
        const auto stall = wire::decode_stall(frame.body);
        if (!stall) {
            return fail(stall.error());
        }
        take_stall(now, *stall);
        return {};
    }
    case wire::FrameType::blob_offer: {
        const auto offer = wire::decode_blob_offer(frame.body);
        return offer ? take_offer(now, *offer) : fail(offer.error());
    }
    case wire::FrameType::blob_chunk: {
        const auto chunk = wire::decode_blob_chunk(frame.body);
        return chunk ? take_chunk(now, *chunk) : fail(chunk.error());
    }
    case wire::FrameType::blob_ack: {
        const auto ack = wire::decode_blob_ack(frame.body);
        if (!ack) {
            return fail(ack.error());
        }
        return blob_out ? blob_out->on_ack(now, *ack) : Result<void>{};
    }
    case wire::FrameType::hash_query:
    case wire::FrameType::section_query:
    case wire::FrameType::snapshot_query:
    case wire::FrameType::verdict:
        return take_hash_frame(frame);
    default:
        return take_session_frame(now, frame);
    }
}

Result<void> Client::Impl::take_hash_frame(const wire::Frame& frame) {
    switch (frame.type) {
    case wire::FrameType::hash_query: {
        const auto query = wire::decode_hash_query(frame.body);
        if (!query) {
            return fail(query.error());
        }
        answers.hashes = *query;
        return {};
    }
    case wire::FrameType::verdict: {
        const auto verdict_frame = wire::decode_verdict(frame.body);
        if (!verdict_frame) {
            return fail(verdict_frame.error());
        }
        take_verdict(*verdict_frame);
        return {};
    }
    default: {
        const auto tick = wire::decode_tick_query(frame.body);
        if (!tick) {
            return fail(tick.error());
        }
        if (frame.type == wire::FrameType::section_query) {
            answers.sections = *tick;
        } else if (!(blob_out && blob_out->active())) {
            snapshot_wanted = Tick{*tick};
        }
        return {};
    }
    }
}

Result<void> Client::Impl::take_session_frame(Micros now, const wire::Frame& frame) {
    switch (frame.type) {
    case wire::FrameType::ping:
    case wire::FrameType::pong: {
        const auto stamp = wire::decode_stamp(frame.body);
        if (!stamp) {
            return fail(stamp.error());
        }
        if (frame.type == wire::FrameType::ping) {
            answers.pong = *stamp;
            urgent = true;
        } else {
            take_pong(now, *stamp);
        }
        return {};
    }
    case wire::FrameType::loss: {
        const auto lost = wire::decode_loss(frame.body);
        if (!lost) {
            return fail(lost.error());
        }
        redundancy.on_report(now, *lost);
        return {};
    }
    case wire::FrameType::path_challenge: {
        const auto value = wire::decode_path(frame.body);
        if (!value) {
            return fail(value.error());
        }
        answers.path = *value;
        urgent = true;
        return {};
    }
    case wire::FrameType::close: {
        const auto close = wire::decode_close(frame.body);
        if (!close) {
            return fail(close.error());
        }
        std::string text = clean(close->second);
        const NetErrc code = close->first == CloseReason::different_simulation
                                 ? NetErrc::different_simulation
                                 : NetErrc::closed;
        close_with(now,
                   close->first,
                   Error(code,
                         {},
                         std::string(to_string(close->first)) + (text.empty() ? "" : ": ") + text),
                   false);
        return {};
    }
    default:
        // Frames that only go up.
        return fail(Error(NetErrc::unknown_frame,
                          "frame " + std::to_string(static_cast<unsigned>(frame.type)),
                          "does not go down"));
    }
}

void Client::Impl::take_pong(Micros now, std::uint32_t stamp) {
    const auto sent = static_cast<std::uint32_t>(last_ping.value);
    if (last_ping.value < 0 || stamp != sent) {
        return;
    }
    const Micros trip = now - last_ping;
    // An eighth of the new one, as RFC 6298 does.
    status.round_trip = status.round_trip.value == 0
                            ? trip
                            : Micros{(7 * status.round_trip.value + trip.value) / 8};
    feed.set_round_trip(status.round_trip);
}

void Client::Impl::take_verdict(const wire::Verdict& frame) {
    DesyncVerdict result;
    result.blame = frame.blame;
    result.tick = Tick{frame.tick};
    result.section = hashes.section_name(clean(frame.section));
    if (frame.has_slot) {
        result.slot = frame.slot;
        result.own = accepted.has_slot && frame.slot == accepted.slot;
    }
    Divergence difference;
    difference.tick = result.tick;
    difference.section = result.section;
    const std::string own_hash = result.section.empty()
                                     ? hashes.state_text(frame.tick)
                                     : hashes.section_text(frame.tick, result.section);
    const bool is_right = result.slot && !result.own;
    (is_right ? difference.expected : difference.actual) = own_hash;
    verdict = std::move(result);
    divergence = std::move(difference);
}

Result<void> Client::Impl::take_offer(Micros now, const wire::BlobOffer& offer) {
    const bool is_next = has_manifest && offer.kind == wire::BlobKind::snapshot &&
                         !blob_in->active() && offer.id != blob_in->offer().id;
    if (is_next) {
        if (offer.size > settings.snapshot_bytes_max) {
            close_with(now,
                       CloseReason::too_slow,
                       Error(NetErrc::limit_exceeded,
                             "snapshot",
                             std::to_string(offer.size) + " bytes, allowed are " +
                                 std::to_string(settings.snapshot_bytes_max)),
                       true);
            return {};
        }
        blob_in->expect(wire::BlobKind::snapshot, settings.snapshot_bytes_max, slowest_bytes_per_s);
    }
    Result<void> taken = blob_in->on_offer(now, offer);
    if (taken && offer.kind == wire::BlobKind::snapshot) {
        answered(wire::RequestKind::snapshot);
    }
    if (!taken && taken.error().code == NetErrc::refused && !has_manifest) {
        return {}; // A snapshot before the manifest: it is offered again.
    }
    return taken;
}

Result<void> Client::Impl::take_chunk(Micros now, const wire::BlobChunk& chunk) {
    const Result<bool> whole = blob_in->on_chunk(now, chunk);
    if (!whole) {
        return fail(whole.error());
    }
    if (!*whole) {
        return {};
    }
    const wire::BlobOffer offer = blob_in->offer();
    Bytes bytes = blob_in->take();
    urgent = true;
    if (offer.kind == wire::BlobKind::manifest) {
        take_manifest(now, bytes);
    } else {
        take_snapshot(now, offer, std::move(bytes));
    }
    return {};
}

void Client::Impl::donate(Micros now, Tick tick, ByteView bytes) {
    TWINSTEP_ASSERT(snapshot_wanted.has_value());
    snapshot_wanted.reset();
    const bool fits = !bytes.empty() && bytes.size() <= wire::snapshot_bytes_max;
    if (!is_connected() || !fits) {
        return; // The server asks somebody else.
    }
    auto blob = std::make_shared<Bytes>(bytes.begin(), bytes.end());
    const std::uint64_t chain = hashes.chain_at(tick.value);
    if (!blob_out) {
        blob_out.emplace();
    }
    blob_out->start(now,
                    make_blob_offer(next_blob_id++, wire::BlobKind::snapshot, tick, *blob, chain),
                    blob,
                    donation_bytes_per_s);
}

} // namespace twinstep::net
