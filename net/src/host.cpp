// SPDX-License-Identifier: MIT
// The host's outside: settings, matches, the first gates of a datagram, time.
#include "twinstep/net/host.hpp"

#include "host_impl.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>

namespace twinstep::net {

namespace {

constexpr std::size_t matches_max = 4096;
constexpr std::uint32_t peers_most = 65'000;
/// A slow match still has keep-alives, acknowledgements of a download and answers to send.
constexpr std::uint64_t packets_per_s_least = 60;

std::uint64_t packets_per_s(const MatchSettings& settings) {
    const std::uint64_t two_a_tick = 2 * std::uint64_t{settings.tick_rate.num} /
                                     std::max<std::uint32_t>(settings.tick_rate.den, 1);
    return std::clamp<std::uint64_t>(two_a_tick, packets_per_s_least, 1'000'000);
}

/// A setting that must lie between two bounds.
struct Bound {
    const char* field;
    std::uint64_t value;
    std::uint64_t least;
    std::uint64_t most;
};

Result<void> check(const HostSettings& settings) {
    if (settings.mode != wire::Mode::plain && !has_crypto()) {
        return fail(Error(make_error_code(NetErrc::not_built), "mode"));
    }
    constexpr std::uint64_t million = 1'000'000;
    constexpr std::uint64_t day_us = 86'400 * million;
    const auto micros = [](Micros time) { return static_cast<std::uint64_t>(time.value); };
    const std::array<Bound, 14> bounds{{
        {"mode", static_cast<std::uint64_t>(settings.mode), 0, 2},
        {"peers_max", settings.peers_max, 1, peers_most},
        {"pending_max", settings.pending_max, 1, peers_most},
        {"pending_prefix_max", settings.pending_prefix_max, 1, peers_most},
        {"handshakes_per_s", settings.handshakes_per_s, 1, million},
        {"unknown_per_s", settings.unknown_per_s, 2, million},
        {"unknown_burst", settings.unknown_burst, 2, million},
        {"token_ids_max", settings.token_ids_max, 1, 10 * million},
        {"packets_burst", settings.packets_burst, 1, million},
        {"bytes_per_s", settings.bytes_per_s, 1200, 1000 * million},
        {"bytes_burst", settings.bytes_burst, 1200, 1000 * million},
        {"pending_timeout", micros(settings.pending_timeout), 1, day_us},
        {"silence_live", micros(settings.silence_live), 1, day_us},
        {"silence_loading", micros(settings.silence_loading), 1, day_us},
    }};
    for (const Bound& bound : bounds) {
        if (bound.value < bound.least || bound.value > bound.most) {
            return fail(Error(make_error_code(NetErrc::bad_setting),
                              bound.field,
                              std::to_string(bound.value) + " is not in " +
                                  std::to_string(bound.least) + " to " +
                                  std::to_string(bound.most)));
        }
    }
    return {};
}

std::uint64_t draw(Entropy& entropy) {
    std::array<std::byte, 8> bytes;
    entropy.fill(bytes);
    std::uint64_t value = 0;
    for (const std::byte byte : bytes) {
        value = value << 8U | static_cast<std::uint64_t>(byte);
    }
    return value;
}

} // namespace

std::string_view to_string(Drop reason) {
    constexpr std::array<std::string_view, static_cast<std::size_t>(Drop::count_)> names{
        "size",
        "type",
        "malformed",
        "version",
        "flood_unknown",
        "cookie",
        "handshake_budget",
        "not_admitted",
        "table_full",
        "unknown_connection",
        "replayed",
        "not_authentic",
        "flood_peer",
        "frame"};
    const auto index = static_cast<std::size_t>(reason);
    return index < names.size() ? names[index] : "unknown";
}

HostCore::HostCore(HostSettings given, MatchEvents& match_events, Entropy& secrets)
    : settings(std::move(given))
    , events(match_events)
    , entropy(secrets)
    , unknown_rate(Rate::per_second(settings.unknown_per_s, settings.unknown_burst))
    , handshake_rate(Rate::per_second(settings.handshakes_per_s, settings.handshakes_per_s))
    , bytes_rate(Rate::per_second(settings.bytes_per_s, settings.bytes_burst))
    , prefixes(draw(secrets))
    , cookies(secrets)
    , tokens({settings.server_id,
              settings.started_unix_s,
              settings.accept_older_tokens,
              settings.token_ids_max},
             draw(secrets))
    , room(settings.key)
    , slot_plus_one(std::size_t{1} << 16U) {
    pending.reserve(settings.pending_max);
    for (Bytes* scratch : {&opened, &control, &composed, &datagram}) {
        scratch->reserve(2 * wire::datagram_bytes_max);
    }
}

Result<Host> Host::create(HostSettings settings, MatchEvents& events, Entropy& entropy) {
    if (const Result<void> good = check(settings); !good) {
        return fail(good.error());
    }
    return Host(std::make_unique<Impl>(std::move(settings), events, entropy));
}

Host::Host(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Host::Host(Host&&) noexcept = default;
Host& Host::operator=(Host&&) noexcept = default;
Host::~Host() = default;

Result<Match*> Host::open_match(MatchSettings settings) {
    const MatchId id = settings.id;
    if (id == 0 || impl_->seats.contains(id)) {
        return fail(Error(make_error_code(NetErrc::bad_setting), "id", "0, or taken already"));
    }
    if (impl_->seats.size() >= matches_max) {
        return fail(Error(make_error_code(NetErrc::resource_exhausted), "matches"));
    }
    const std::uint64_t per_s = packets_per_s(settings);
    Result<Match> match = Match::create(std::move(settings), impl_->events, impl_->entropy);
    if (!match) {
        return fail(match.error());
    }
    auto seat = std::make_unique<Seat>(std::move(*match));
    seat->id = id;
    seat->packets = Rate::per_second(per_s, impl_->settings.packets_burst);
    seat->wake = seat->match.next_wake();
    Match* const opened = &seat->match;
    impl_->seat_list.push_back(seat.get());
    impl_->seats.emplace(id, std::move(seat));
    return opened;
}

Match* Host::find_match(MatchId id) {
    const auto found = impl_->seats.find(id);
    return found == impl_->seats.end() ? nullptr : &found->second->match;
}

void Host::close_match(MatchId id) {
    const auto found = impl_->seats.find(id);
    TWINSTEP_ASSERT(found != impl_->seats.end());
    TWINSTEP_ASSERT(found->second->peers.empty());
    std::erase(impl_->seat_list, found->second.get());
    impl_->seats.erase(found);
}

void Host::receive(Micros now, const Address& from, ByteView datagram, Outbox& out) {
    HostCore& impl = *impl_;
    ++impl.status.datagrams_received;
    impl.status.bytes_received += datagram.size();
    if (datagram.empty() || datagram.size() > wire::datagram_bytes_max) {
        impl.drop(Drop::size);
        return;
    }
    if (impl.settings.mode == wire::Mode::plain && !is_loopback(from)) {
        impl.drop(Drop::not_admitted);
        return;
    }
    const auto type = static_cast<std::uint8_t>(datagram[0]);
    if (type == wire::data_flags) {
        impl.on_data(now, from, datagram, out);
    } else if (type == static_cast<std::uint8_t>(wire::PacketType::hello)) {
        impl.on_hello(now, from, datagram, out);
    } else if (type == static_cast<std::uint8_t>(wire::PacketType::connect)) {
        impl.on_connect(now, from, datagram, out);
    } else {
        impl.drop(Drop::type);
    }
}

void Host::advance(Micros now, Outbox& out) {
    impl_->advance(now, out);
}

void HostCore::advance(Micros now, Outbox& out) {
    while (!timers.empty() && timers.front().at <= now) {
        const Timer timer = timers.front();
        std::pop_heap(timers.begin(), timers.end());
        timers.pop_back();
        if (peers[timer.slot]->timer_serial == timer.serial) {
            run_timer(now, timer.slot, out);
        }
    }
    for (Seat* const seat : seat_list) {
        // A match that an owner's call has moved says so itself: its wake is asked anew.
        seat->wake = seat->match.next_wake();
        if (seat->wake <= now) {
            run_match(now, *seat, out);
        }
    }
}

void HostCore::run_match(Micros now, Seat& seat, Outbox& out) {
    seat.match.advance(now);
    for (const PeerSlot slot : seat.peers) {
        if (peers[slot]->phase == PeerPhase::live) {
            flush(now, *peers[slot], out);
        }
    }
    drain_closes(now, seat, out);
    seat.wake = seat.match.next_wake();
}

Micros Host::next_wake() const {
    return impl_->next_wake();
}

Micros HostCore::next_wake() const {
    Micros wake = timers.empty() ? never : timers.front().at;
    for (const Seat* const seat : seat_list) {
        wake = std::min(wake, seat->match.next_wake());
    }
    return wake;
}

void Host::set_wall_clock(std::uint64_t unix_s) {
    impl_->tokens.set_wall_clock(unix_s);
}

void Host::drain() {
    impl_->draining = true;
}

void Host::shut_down(Micros now, Outbox& out) {
    for (Seat* const seat : impl_->seat_list) {
        seat->match.end(now, CloseReason::going_down);
        impl_->run_match(now, *seat, out);
        while (!seat->peers.empty()) {
            impl_->begin_close(now, seat->peers.back(), CloseReason::going_down, {}, out);
        }
    }
    impl_->draining = true;
}

const HostStatus& Host::status() const {
    return impl_->status;
}

std::size_t Host::memory_bytes() const {
    return impl_->memory_bytes();
}

std::size_t HostCore::memory_bytes() const {
    constexpr std::size_t tag_node = sizeof(std::pair<std::uint64_t, PeerSlot>) + 16;
    std::size_t total = sizeof(*this) + PrefixBudgets::memory_bytes() + tokens.memory_bytes();
    total += slot_plus_one.capacity() * sizeof(PeerSlot) + pending.capacity() * sizeof(PeerSlot);
    total += peers.capacity() * sizeof(void*) + unused.capacity() * sizeof(PeerSlot);
    total += timers.capacity() * sizeof(Timer);
    total += by_tag.size() * tag_node + by_tag.bucket_count() * sizeof(void*);
    for (const auto& peer : peers) {
        total += sizeof(Peer) + peer->stored.capacity();
    }
    for (const Seat* const seat : seat_list) {
        total += sizeof(Seat) + seat->peers.capacity() * sizeof(PeerSlot);
        total += seat->match.memory_bytes();
    }
    return total;
}

} // namespace twinstep::net
