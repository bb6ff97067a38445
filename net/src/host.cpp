// SPDX-License-Identifier: MIT
// The host's outside: settings, matches, the first gates of a datagram, time.
#include "twinstep/net/host.hpp"

#include "host_impl.hpp"
#include "prefetch.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace twinstep::net {

namespace {

constexpr std::size_t matches_max = 4096;
constexpr std::uint32_t peers_most = 65'000;
/// A slow match still has keep-alives, acknowledgements of a download and answers to send.
constexpr std::uint64_t packets_per_s_least = 60;
/// Of unacknowledged inputs that an honest client on a bad path repeats in each packet.
constexpr std::uint64_t window_per_s = 2; // half a second
constexpr std::uint64_t upload_bytes_burst = 64 * 1024;

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
    , unknown_rate(BucketRate::per_second(settings.unknown_per_s, settings.unknown_burst))
    , handshake_rate(BucketRate::per_second(settings.handshakes_per_s, settings.handshakes_per_s))
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
    for (Bytes* scratch : {&opened, &control, &composed, &pong, &datagram}) {
        scratch->reserve(2 * wire::datagram_bytes_max);
    }
}

Result<Host> Host::create(HostSettings settings, MatchEvents& events, Entropy& entropy) {
    if (const Result<void> good = check(settings); !good) {
        return fail(good.error());
    }
    return Host(std::make_unique<Impl>(std::move(settings), events, entropy));
}

void HostCore::set_rates(HostedMatch& hosted) const {
    const MatchSettings& match = hosted.match.settings();
    hosted.speed_per_mille = hosted.match.status().speed_per_mille;
    constexpr std::uint64_t most = 1'000'000;
    const std::uint64_t ticks =
        std::clamp<std::uint64_t>(std::uint64_t{match.tick_rate.num} * hosted.speed_per_mille /
                                      1000 / std::max<std::uint32_t>(match.tick_rate.den, 1),
                                  1,
                                  most);
    // A client on a bad path sends each tick twice: twice what is needed, in packets and in bytes.
    const std::uint64_t sends = match.redundancy ? 2 : 1;
    hosted.packets = BucketRate::per_second(
        std::clamp(2 * sends * ticks, packets_per_s_least, most), settings.packets_burst);
    // Where inputs are long the limit follows what honest clients need: a limit below that would
    // punish whoever has the worst path.
    const std::uint64_t window = (match.input_bytes_max + 1U) * (ticks / window_per_s + 1);
    const std::uint64_t packet = std::min<std::uint64_t>(window + 64, wire::datagram_bytes_max);
    hosted.bytes = BucketRate::per_second(
        std::max<std::uint64_t>(settings.bytes_per_s, packet * sends * ticks),
        settings.bytes_burst);
    hosted.upload = BucketRate::per_second(
        std::max<std::uint64_t>(match.join_bytes_per_s + match.join_bytes_per_s / 4, 1200),
        upload_bytes_burst);
}

Host::Host(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Host::Host(Host&&) noexcept = default;
Host& Host::operator=(Host&&) noexcept = default;
Host::~Host() = default;

Result<Match*> Host::open_match(MatchSettings settings) {
    const MatchId id = settings.id;
    if (id == 0 || impl_->hosted_by_id.contains(id)) {
        return fail(Error(make_error_code(NetErrc::bad_setting), "id", "0, or taken already"));
    }
    if (impl_->hosted_by_id.size() >= matches_max) {
        return fail(Error(make_error_code(NetErrc::resource_exhausted), "matches"));
    }
    Result<Match> match = Match::create(std::move(settings), impl_->events, impl_->entropy);
    if (!match) {
        return fail(match.error());
    }
    auto hosted = std::make_unique<HostedMatch>(std::move(*match), impl_->moved);
    impl_->set_rates(*hosted);
    Match* const opened = &hosted->match;
    hosted->number = static_cast<std::uint32_t>(impl_->hosted_list.size());
    impl_->hosted_list.push_back(hosted.get());
    impl_->wakes.append();
    // Room for all at once: nothing is allocated when they move.
    impl_->moved.reserve(impl_->hosted_list.capacity());
    impl_->due.reserve(impl_->hosted_list.capacity());
    hosted->on_wake_changed();
    impl_->hosted_by_id.emplace(id, std::move(hosted));
    return opened;
}

Match* Host::find_match(MatchId id) {
    const auto found = impl_->hosted_by_id.find(id);
    return found == impl_->hosted_by_id.end() ? nullptr : &found->second->match;
}

void Host::close_match(MatchId id) {
    const auto found = impl_->hosted_by_id.find(id);
    TWINSTEP_ASSERT(found != impl_->hosted_by_id.end());
    TWINSTEP_ASSERT(found->second->peers.empty());
    HostedMatch* const gone = found->second.get();
    std::erase(impl_->moved, gone);
    impl_->wakes.erase(gone->number);
    impl_->hosted_list.erase(impl_->hosted_list.begin() + gone->number);
    for (std::size_t i = gone->number; i < impl_->hosted_list.size(); ++i) {
        impl_->hosted_list[i]->number = static_cast<std::uint32_t>(i);
    }
    impl_->hosted_by_id.erase(found);
}

void Host::expect(ByteView datagram) const {
    std::uint16_t id = 0;
    if (!peek_connection_id(datagram, id) || impl_->slot_plus_one[id] == 0) {
        return;
    }
    const std::size_t slot = impl_->slot_plus_one[id] - 1U;
    prefetch(impl_->peers[slot].get(), offsetof(Session, overflow_begun));
    const HostCore::Place& place = impl_->places[slot];
    if (place.match != nullptr) {
        place.match->expect(place.index);
    }
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
    ask_moved();
    wakes.collect(now, due);
    for (const std::uint32_t number : due) {
        run_match(now, *hosted_list[number], out);
    }
}

void HostCore::ask_moved() {
    for (HostedMatch* const hosted : moved) {
        hosted->has_moved = false;
        wakes.set(hosted->number, hosted->match.next_wake());
    }
    moved.clear();
}

void HostCore::run_match(Micros now, HostedMatch& hosted, Outbox& out) {
    hosted.match.advance(now);
    if (hosted.match.status().speed_per_mille != hosted.speed_per_mille) {
        set_rates(hosted);
    }
    for (const SessionSlot slot : hosted.peers) {
        if (peers[slot]->phase == SessionPhase::live) {
            flush(now, *peers[slot], out);
        }
    }
    drain_closes(now, hosted, out);
}

Micros Host::next_wake() const {
    return impl_->next_wake();
}

Micros HostCore::next_wake() {
    ask_moved();
    return std::min(timers.empty() ? never : timers.front().at, wakes.soonest());
}

void Host::set_wall_clock(std::uint64_t unix_s) {
    impl_->tokens.set_wall_clock(unix_s);
}

void Host::drain() {
    impl_->draining = true;
}

void Host::shut_down(Micros now, Outbox& out) {
    for (HostedMatch* const hosted : impl_->hosted_list) {
        hosted->match.end(now, CloseReason::going_down);
        impl_->run_match(now, *hosted, out);
        while (!hosted->peers.empty()) {
            impl_->begin_close(now, hosted->peers.back(), CloseReason::going_down, {}, out);
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
    constexpr std::size_t tag_node = sizeof(std::pair<std::uint64_t, SessionSlot>) + 16;
    std::size_t total = sizeof(*this) + PrefixBuckets::memory_bytes() + tokens.memory_bytes();
    total +=
        slot_plus_one.capacity() * sizeof(SessionSlot) + pending.capacity() * sizeof(SessionSlot);
    total += places.capacity() * sizeof(Place);
    total += peers.capacity() * sizeof(void*) + unused.capacity() * sizeof(SessionSlot);
    total += timers.capacity() * sizeof(Timer) + wakes.memory_bytes();
    total += by_tag.size() * tag_node + by_tag.bucket_count() * sizeof(void*);
    for (const auto& peer : peers) {
        total += sizeof(Session) + peer->stored.capacity();
    }
    for (const HostedMatch* const hosted : hosted_list) {
        total += sizeof(HostedMatch) + hosted->peers.capacity() * sizeof(SessionSlot);
        total += hosted->match.memory_bytes();
    }
    return total;
}

} // namespace twinstep::net
