// SPDX-License-Identifier: MIT
// What is played: sizes, manifest, and the ticks of an earlier process.
#include "match_impl.hpp"

#include "twinstep/net/identity.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace twinstep::net {

namespace {

std::shared_ptr<const Bytes> blob_of(ByteView neutral, const Manifest& manifest) {
    auto blob = std::make_shared<Bytes>();
    ByteWriter writer(*blob);
    writer.varint(neutral.size());
    writer.bytes(neutral);
    encode_manifest(manifest, *blob);
    return blob;
}

/// "60/1" as the manifest spells it. False: it is no rate a match can have.
bool parse_rate(std::string_view text, TickRate& rate) {
    const char* end = text.data() + text.size();
    const auto num = std::from_chars(text.data(), end, rate.num);
    if (num.ec != std::errc{} || num.ptr == end || *num.ptr != '/') {
        return false;
    }
    const auto den = std::from_chars(num.ptr + 1, end, rate.den);
    return den.ec == std::errc{} && den.ptr == end;
}

} // namespace

Match::Impl::Impl(MatchSettings given, MatchEvents& owner, Entropy& random)
    : settings(std::move(given))
    , events(owner)
    , entropy(random)
    , join_budget(settings.join_bytes_per_s_all)
    , policy(settings.policy) {
    // Places are made as peers come: every tick looks at all that there are.
    peers.reserve(std::size_t{settings.slots} * 2 + settings.spectators_max + 8);
    announcements.reserve(announcements_max);
    begin_session(settings.slots);
    has_session = !settings.manifest.empty();
    if (has_session) {
        build = digest_of_build(settings.manifest);
        manifest_blob = blob_of(settings.neutral, settings.manifest);
    }
    take_history();
}

void Match::Impl::configure_ring(std::uint64_t next) {
    const auto& rate = settings.tick_rate;
    const auto ticks =
        static_cast<std::uint64_t>(settings.ring.value) * rate.num / rate.den / 1'000'000;
    ring.configure({static_cast<std::size_t>(std::max<std::uint64_t>(ticks, 256)),
                    next,
                    slots,
                    settings.input_bytes_max,
                    settings.neutral,
                    settings.id});
}

void Match::Impl::begin_session(std::uint16_t count) {
    slots = count;
    // A TICKS body holds at least one tick: its shapes, its inputs at their longest, its events.
    // check_settings leaves room for one JOIN at least.
    const std::size_t value_head = settings.input_bytes_max < 128 ? 2 : 3;
    const std::size_t fixed = 24 + std::size_t{count} * (settings.input_bytes_max + value_head);
    TWINSTEP_ASSERT(fixed + 5 + wire::name_bytes_max <= ticks_body_bytes_max);
    event_bytes_max = ticks_body_bytes_max - fixed;
    seats.resize(count);
    for (Seat& seat : seats) {
        seat.inputs.configure(wire::window_ticks_max + settings.delay_ticks_max,
                              settings.input_bytes_max);
        seat.owes_from = UINT64_MAX;
    }
    configure_ring(0);
    votes.configure(count, settings.hash_interval_ticks);
    timeline.begin(Micros{}, Tick{0}, settings.tick_rate);
    open_tick();
    agenda.reserve(std::size_t{count} * 4 + 64);
    encoded.reserve(2048);
}

bool Match::Impl::take_manifest(Micros now, const Hash128& bringer, ByteView blob) {
    ByteReader reader(blob);
    const ByteView neutral = reader.bytes(
        reader.varint("neutral",
                      std::min<std::size_t>(wire::neutral_bytes_max, settings.input_bytes_max)),
        "neutral");
    if (!reader.ok()) {
        return false;
    }
    auto manifest = decode_manifest(blob.subspan(reader.offset()));
    if (!manifest || digest_of_build(*manifest) != bringer) {
        return false;
    }
    MatchSettings wanted = settings;
    const auto setup = setup_of(*manifest);
    const auto rate = manifest->find("sim.tick_rate");
    if (!setup || setup->slots > settings.slots || rate == manifest->end() ||
        !parse_rate(rate->second, wanted.tick_rate)) {
        return false;
    }
    wanted.slots = setup->slots;
    wanted.start_players = std::min(wanted.start_players, wanted.slots);
    wanted.neutral.assign(neutral.begin(), neutral.end());
    wanted.manifest = std::move(*manifest);
    if (auto checked = check_settings(wanted); !checked) {
        events.on_note(settings.id, "manifest_refused", to_string(checked.error()));
        return false;
    }
    settings = std::move(wanted);
    build = bringer;
    manifest_blob = blob_of(settings.neutral, settings.manifest);
    has_session = true;
    for (Peer& peer : peers) {
        const bool here = peer.phase == PeerPhase::admitted || peer.phase == PeerPhase::loading;
        if (here && peer.build != build) {
            if (peer.has_slot) {
                seats[peer.slot.value].has_peer = false;
                empty_seat(peer.slot.value);
                peer.has_slot = false;
            }
            peer.stranger = true;
            peer.since = now;
        } else if (here && peer.has_slot && peer.slot.value >= settings.slots) {
            close_peer(peer, CloseReason::full);
            peer.has_slot = false;
        }
    }
    for (std::uint16_t slot = settings.slots; slot < slots; ++slot) {
        set_state(slot, PlayerState::empty);
    }
    begin_session(settings.slots);
    events.on_manifest(settings.id, settings.manifest);
    for (Peer& peer : peers) {
        settle(now, peer);
    }
    return true;
}

void Match::Impl::take_history() {
    if (settings.history.empty()) {
        return;
    }
    TickFrame past;
    for (const Bytes& bytes : settings.history) {
        // Match::create has decoded them all.
        static_cast<void>(decode_frame(bytes, past));
        if (ring.next() == ring.first()) {
            configure_ring(past.tick().value);
        }
        ring.push(bytes);
        for (const Event& event : past.events()) {
            replay_event(past, event);
        }
    }
    settings.history = {};
    timeline.begin(Micros{}, Tick{ring.next()}, settings.tick_rate);
    timeline.set_speed(status.speed_per_mille);
    open_tick();
    status.started = true;
    standing = true;
    for (std::uint16_t slot = 0; slot < slots; ++slot) {
        Seat& seat = seats[slot];
        if (seat.in_game) {
            seat.restored = true;
            seat.state = PlayerState::absent; // The event of it is in the first tick to come.
            schedule(What::absent, next(), slot);
        }
    }
}

void Match::Impl::replay_event(const TickFrame& past, const Event& event) {
    const ByteView payload = past.payload(event);
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (event.has_slot && event.slot.value < slots) {
        Seat& seat = seats[event.slot.value];
        if (event.kind == EventKind::join) {
            seat.in_game = true;
            hold_neutral(seat);
            seat.name = clean_name(text);
            seat.restored = true;
        } else if (event.kind == EventKind::leave) {
            seat.in_game = false;
            seat.name.clear();
            seat.restored = false;
        }
        return;
    }
    if (event.kind != EventKind::setting) {
        return;
    }
    constexpr std::string_view speed = "speed=";
    if (text.starts_with(speed)) {
        std::uint32_t value = 0;
        std::from_chars(text.data() + speed.size(), text.data() + text.size(), value);
        if (value >= wire::speed_per_mille_min && value <= wire::speed_per_mille_max) {
            status.speed_per_mille = value;
        }
    }
    for (const Policy each : {Policy::deadline, Policy::wait, Policy::strict}) {
        if (text.starts_with("policy=") && text.substr(7) == net::to_string(each)) {
            policy = each;
        }
    }
}

} // namespace twinstep::net
