// SPDX-License-Identifier: MIT
// A client's life: connecting, loading, preparing, waiting, playing, closed.
#include "client_impl.hpp"

#include "twinstep/net/identity.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace twinstep::net {

namespace {

constexpr std::uint32_t close_packets = 5;
/// Longest part of a manifest's value that is shown.
constexpr std::size_t shown_bytes_max = 48;

/// Keys that name the build, as digest_of_build takes them.
bool is_build_key(std::string_view key) {
    return !key.starts_with("session.") && !key.starts_with("config.");
}

std::string shown(const std::string& value) {
    return value.size() <= shown_bytes_max ? "'" + value + "'"
                                           : "'" + value.substr(0, shown_bytes_max) + "...'";
}

bool is_usable(const wire::AcceptPayload& accepted) {
    const TickRate rate = accepted.tick_rate;
    if (rate.num == 0 || rate.den == 0 || rate.num > tick_rate_part_max ||
        rate.den > tick_rate_part_max) {
        return false;
    }
    const Micros period = tick_period(rate);
    return period >= Micros{500} && period <= seconds(10) && accepted.slots >= 1 &&
           accepted.slots <= wire::match_slots_max && accepted.delay_ticks_min >= 1 &&
           accepted.delay_ticks_min <= accepted.delay_ticks_max;
}

} // namespace

Client::Impl::Impl(ClientSettings given_settings, Entropy& source)
    : settings(std::move(given_settings))
    , entropy(source)
    , own(make_manifest(settings.simulation, settings.proposal))
    , handshake(settings, digest_of_build(own), source) {
    for (Bytes* buffer : {&incoming, &plaintext, &runs, &datagram}) {
        buffer->reserve(wire::datagram_bytes_max + 64);
    }
    waiting.reserve(128);
    waiting = "no answer from the server yet";
    feed.set_merge(settings.merge);
}

void Client::Impl::accept(Micros now) {
    Accepted& got = *handshake.accepted();
    accepted = got.payload;
    neutral = std::move(got.neutral);
    status.round_trip = got.round_trip;
    last_heard = now;
    if (!is_usable(accepted)) {
        close_with(now,
                   CloseReason::protocol_error,
                   Error(NetErrc::malformed, "accept", "tick rate, slots or delays out of range"),
                   false);
        return;
    }
    connection_id = got.connection_id;
    sealer.emplace(settings.mode, got.keys.up, Direction::up, got.connection_id);
    opener.emplace(settings.mode, got.keys.down, Direction::down);
    configure_session(now);
    snapshot_awaited = accepted.next_tick > 0 && !settings.resume_from;
    blob_in.emplace();
    blob_in->expect(wire::BlobKind::manifest, wire::manifest_bytes_max, slowest_bytes_per_s);
    state = ClientState::loading;
    waiting = "waiting for the match's manifest";
    if (accepted.manifest_wanted) {
        auto blob = std::make_shared<Bytes>();
        ByteWriter(*blob).text(
            {reinterpret_cast<const char*>(settings.neutral.data()), settings.neutral.size()});
        encode_manifest(own, *blob);
        blob_out.emplace();
        blob_out->start(
            now,
            make_blob_offer(next_blob_id++, wire::BlobKind::manifest, Tick{0}, *blob, 0),
            blob,
            proposal_bytes_per_s);
    }
    urgent = true;
}

void Client::Impl::close_with(Micros now, CloseReason reason, Error error, bool tell) {
    if (state == ClientState::closed) {
        return;
    }
    if (tell && sealer) {
        closes_left = close_packets;
        next_close = now;
        close_text = error.field.empty() ? error.detail : error.field + ": " + error.detail;
        close_text.resize(std::min(close_text.size(), wire::close_text_bytes_max));
    }
    state = ClientState::closed;
    close_reason = reason;
    waiting = "closed: ";
    waiting += to_string(reason);
    close_error = std::move(error);
}

void Client::Impl::take_manifest(Micros now, ByteView blob) {
    ByteReader reader(blob);
    const std::string_view text = reader.text("neutral", input_bytes_max);
    const ByteView rest = reader.bytes(reader.remaining(), "manifest");
    if (!reader.ok()) {
        close_with(now, CloseReason::protocol_error, reader.error(), true);
        return;
    }
    Result<Manifest> decoded = decode_manifest(rest);
    if (!decoded) {
        close_with(now, CloseReason::protocol_error, decoded.error(), true);
        return;
    }
    for (const ManifestDifference& difference : incompatibilities(*decoded, own)) {
        if (is_build_key(difference.key)) {
            close_with(now,
                       CloseReason::different_simulation,
                       Error(NetErrc::different_simulation,
                             difference.key,
                             "the match has " + shown(difference.expected) + ", this build " +
                                 shown(difference.actual)),
                       true);
            return;
        }
    }
    if (!take_session(now, *decoded)) {
        return;
    }
    const auto bytes = std::as_bytes(std::span(text));
    if (!std::equal(neutral.begin(), neutral.end(), bytes.begin(), bytes.end())) {
        // A relay that had no session at ACCEPT has one now, with its neutral input.
        neutral.assign(bytes.begin(), bytes.end());
        feed.set_neutral(neutral);
    }
    manifest = std::move(*decoded);
    has_manifest = true;
    waiting = "waiting for a snapshot of the match";
    prepare_if_complete(now);
}

/// A relay that had no session at ACCEPT did not know its slots and tick rate: the manifest says.
bool Client::Impl::take_session(Micros now, const Manifest& session) {
    const Result<Setup> setup = setup_of(session);
    if (!setup || setup->slots == 0 || setup->slots > wire::match_slots_max ||
        (accepted.has_slot && accepted.slot.value >= setup->slots)) {
        close_with(now,
                   CloseReason::protocol_error,
                   setup ? Error(NetErrc::malformed, "session.slots", "do not fit") : setup.error(),
                   true);
        return false;
    }
    wire::AcceptPayload known = accepted;
    known.slots = setup->slots;
    known.tick_rate = settings.simulation.tick_rate; // Equal, or the manifests would differ.
    if (!is_usable(known)) {
        close_with(now,
                   CloseReason::protocol_error,
                   Error(NetErrc::malformed, "sim.tick_rate", "out of range"),
                   true);
        return false;
    }
    if (known.slots != accepted.slots || known.tick_rate != accepted.tick_rate) {
        accepted = known;
        configure_session(now);
    }
    return true;
}

void Client::Impl::configure_session(Micros now) {
    bundle.emplace(accepted.slots, accepted.input_bytes_max);
    FeedSettings inputs;
    inputs.rate = accepted.tick_rate;
    inputs.limits = {accepted.delay_ticks_min, accepted.delay_ticks_max, {}};
    inputs.round_trip = status.round_trip;
    inputs.grace = milliseconds(accepted.grace_ms);
    feed.configure(now, inputs, neutral);
    status.delay_ticks = feed.delay();
}

void Client::Impl::take_snapshot(Micros now, const wire::BlobOffer& offer, Bytes bytes) {
    ++status.snapshots_received;
    snapshot_awaited = false;
    settings.resume_from.reset();
    if (offer.tick == 0 && bytes.size() == 1) {
        snapshot.reset(); // "Begin at state 0; every tick follows."
    } else {
        snapshot = JoinSnapshot{Tick{offer.tick}, std::move(bytes)};
    }
    first_tick = offer.tick;
    begin_at(now, offer.tick, offer.chain);
    prepare_if_complete(now);
}

void Client::Impl::begin_at(Micros now, std::uint64_t tick, std::uint64_t chain) {
    first_tick = tick;
    closed.start(tick);
    hashes.start(tick, chain);
    last_arrival = now;
    stalling = false;
    feed.restart(now, tick);
}

void Client::Impl::prepare_if_complete(Micros now) {
    if (!has_manifest || snapshot_awaited) {
        return;
    }
    if (!snapshot && first_tick == 0) {
        const bool resumes = settings.resume_from.has_value();
        begin_at(
            now, resumes ? settings.resume_from->value : 0, resumes ? settings.resume_chain : 0);
    }
    state = ClientState::preparing;
    waiting = "the simulation is being prepared";
    urgent = true;
}

void Client::Impl::play_if_due() {
    if (state != ClientState::waiting) {
        return;
    }
    const bool inputs_count = !accepted.has_slot || feed.started();
    if (closed.needed() > first_tick && inputs_count) {
        state = ClientState::playing;
    }
}

void Client::Impl::set_standing(Micros now) {
    feed.set_standing(paused || now < stall_until);
}

void Client::Impl::watch_arrivals(Micros now) {
    if (state != ClientState::playing || paused || stalling) {
        return;
    }
    // A tick comes each period; one and a half more are jitter, then it is missed.
    const Micros due = last_arrival + feed.period();
    if (now >= due + feed.period() + Micros{feed.period().value / 2}) {
        stalling = true;
        ++status.stalls;
    }
}

void Client::Impl::advance(Micros now, Outbox& out) {
    if (state == ClientState::connecting) {
        handshake.advance(now, out);
        status.datagrams_sent = handshake.datagrams_sent();
        status.bytes_sent = handshake.datagrams_sent() * wire::datagram_bytes_max;
        if (handshake.failure()) {
            close_with(now, handshake.failure_reason(), *handshake.failure(), false);
        }
        return;
    }
    if (state == ClientState::closed) {
        send_close(now, out);
        return;
    }
    if (now - last_heard >= settings.silence_timeout) {
        close_with(now,
                   CloseReason::timed_out,
                   Error(NetErrc::timed_out,
                         {},
                         "nothing was heard from " + to_string(settings.server) + " for " +
                             std::to_string((now - last_heard).value / 1'000'000) + " s"),
                   true);
        send_close(now, out);
        return;
    }
    if (const Result<void> arriving = blob_in->advance(now); !arriving) {
        close_with(now, CloseReason::too_slow, arriving.error(), true);
        send_close(now, out);
        return;
    }
    set_standing(now);
    feed.advance(now);
    watch_arrivals(now);
    send_due(now, out);
}

Micros Client::Impl::next_wake() const {
    if (state == ClientState::connecting) {
        return handshake.next_wake();
    }
    if (state == ClientState::closed) {
        return closes_left > 0 ? next_close : never;
    }
    Micros wake = std::min(last_heard + settings.silence_timeout, next_send());
    wake = std::min(wake, blob_in->next_wake());
    if (blob_out && blob_out->active()) {
        wake = std::min(wake, blob_out->next_wake(last_sent));
    }
    return std::min(wake, feed.next_wake());
}

} // namespace twinstep::net
