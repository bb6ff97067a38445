// SPDX-License-Identifier: MIT
// Pace: one input delay for all, and a tick that stretches when most machines are behind.
#include "match_impl.hpp"

#include <algorithm>
#include <array>

namespace twinstep::net {

namespace {

constexpr std::uint64_t look_every_ticks = 16;
constexpr std::uint64_t measure_ticks = 64;
constexpr std::uint32_t raise_most_ticks = 4;
constexpr Micros lower_pace_after = seconds(5);
constexpr Micros behind_long = seconds(2);
constexpr Micros behind_much = milliseconds(250);
constexpr Micros behind_little = milliseconds(100);
/// A machine that is 10 % too slow keeps up; a slower one becomes lagging.
constexpr std::uint32_t stretch_most = 1100;

bool plays(const Seat& seat) {
    return seat.state == PlayerState::live || seat.state == PlayerState::lagging;
}

/// Whose inputs the common delay is for: an absent player who still sends may be absent only
/// because the delay was too short for it.
bool speaks(const Seat& seat) {
    return plays(seat) || (seat.state == PlayerState::absent && seat.has_peer);
}

} // namespace

void Match::Impl::begin_pace(Micros now) {
    pace = {};
    pace.changed = now;
    if (!settings.equal_delay) {
        return;
    }
    std::int64_t longest = 0;
    for (const Peer& peer : peers) {
        if (peer.phase == PeerPhase::ready && peer.has_slot) {
            longest = std::max(longest, peer.round_trip.value);
        }
    }
    const std::int64_t ticks =
        (longest + timeline.period().value - 1) / timeline.period().value + 2;
    set_delay(now,
              static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                  ticks, settings.delay_ticks_min, settings.delay_ticks_max)));
}

void Match::Impl::set_delay(Micros now, std::uint32_t ticks) {
    pace.delay = ticks;
    pace.changed = now;
    pace.settled_at = next() + 2 * std::uint64_t{settings.delay_ticks_max} + look_every_ticks;
    cancel(What::delay, 0);
    schedule(What::delay, next(), 0, ticks);
}

void Match::Impl::look_at_pace(Micros now) {
    if (next() % look_every_ticks != 0) {
        return;
    }
    if (settings.equal_delay && next() < pace.settled_at) {
        for (Seat& seat : seats) {
            seat.margins.clear(); // Of inputs that were given before the change arrived.
        }
    } else if (settings.equal_delay && next() >= pace.settled_at + measure_ticks) {
        adapt_delay(now);
    }
    if (settings.pace_median) {
        adapt_stretch(now);
    }
}

void Match::Impl::adapt_delay(Micros now) {
    bool any = false;
    std::int64_t least = 0;
    for (const Seat& seat : seats) {
        std::int32_t margin = 0;
        if (speaks(seat) && seat.margins.least(next(), margin)) {
            least = any ? std::min<std::int64_t>(least, margin) : margin;
            any = true;
        }
    }
    if (!any) {
        return;
    }
    const std::int64_t period = timeline.period().value;
    const std::int64_t missing = period / 2 - least * 1000;
    if (missing > 0 && pace.delay < settings.delay_ticks_max) {
        const auto more = static_cast<std::uint32_t>(
            std::min<std::int64_t>((missing + period - 1) / period, raise_most_ticks));
        set_delay(now, std::min<std::uint32_t>(pace.delay + more, settings.delay_ticks_max));
    } else if (least * 1000 > period * 5 / 2 && pace.delay > settings.delay_ticks_min &&
               now - pace.changed >= lower_pace_after) {
        set_delay(now, pace.delay - 1);
    }
}

void Match::Impl::adapt_stretch(Micros now) {
    std::array<std::uint64_t, 64> backlog{};
    std::size_t count = 0;
    for (const Seat& seat : seats) {
        if (!plays(seat) || !seat.has_peer || !is_following(peers[seat.peer])) {
            continue;
        }
        // Ticks that it has and has not simulated. Reports name check ticks only, so it may be
        // further than it says; nobody is called slow for that.
        const Peer& peer = peers[seat.peer];
        const std::uint64_t reached = peer.reached + settings.hash_interval_ticks - 1U;
        backlog[count++] = peer.ack > reached ? peer.ack - reached : 0;
    }
    if (count == 0) {
        return;
    }
    // The lower one of two in the middle: half of the players are no majority.
    const auto middle = backlog.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
    std::nth_element(backlog.begin(), middle, backlog.begin() + static_cast<std::ptrdiff_t>(count));
    const Micros median{static_cast<std::int64_t>(std::min<std::uint64_t>(*middle, 100'000)) *
                        timeline.period().value};
    if (median <= behind_much) {
        pace.behind_since = never;
    } else if (pace.behind_since == never) {
        pace.behind_since = now;
    } else if (now - pace.behind_since >= behind_long) {
        timeline.set_stretch(stretch_most);
    }
    if (median < behind_little) {
        timeline.set_stretch(1000);
    }
}

} // namespace twinstep::net
