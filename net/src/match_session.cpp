// SPDX-License-Identifier: MIT
// What is played: sizes, manifest, and the ticks of an earlier process.
#include "match_impl.hpp"

#include "twinstep/net/identity.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace twinstep::net {

Match::Impl::Impl(MatchSettings given, MatchEvents& owner, Entropy& random)
    : settings(std::move(given))
    , events(owner)
    , entropy(random)
    , policy(settings.policy) {
    peers.resize(std::size_t{settings.slots} * 2 + settings.spectators_max + 8);
    begin_session(settings.slots);
    has_session = !settings.manifest.empty();
    if (has_session) {
        build = digest_of_build(settings.manifest);
        ByteWriter writer(manifest_blob);
        writer.text({reinterpret_cast<const char*>(settings.neutral.data()),
                     settings.neutral.size()});
        encode_manifest(settings.manifest, manifest_blob);
    }
}

void Match::Impl::begin_session(std::uint16_t count) {
    slots = count;
    // A TICKS body holds at least one tick: its shapes, its inputs at their longest, its events.
    const std::size_t fixed = 24 + std::size_t{count} * (settings.input_bytes_max + 3U);
    event_bytes_max = ticks_body_bytes_max - std::min(ticks_body_bytes_max - 90, fixed);
    seats.resize(count);
    for (Seat& seat : seats) {
        seat.inputs.configure(wire::window_ticks_max + settings.delay_ticks_max,
                              settings.input_bytes_max);
        seat.owes_from = UINT64_MAX;
    }
    const auto& rate = settings.tick_rate;
    const auto ticks =
        static_cast<std::uint64_t>(settings.ring.value) * rate.num / rate.den / 1'000'000;
    ring.configure(static_cast<std::size_t>(std::max<std::uint64_t>(ticks, 256)), 0);
    timeline.begin(Micros{}, Tick{0}, rate);
    open_tick();
    agenda.reserve(std::size_t{count} * 4 + 64);
    encoded.reserve(2048);
}

} // namespace twinstep::net
