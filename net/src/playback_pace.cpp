// SPDX-License-Identifier: MIT
// The pace of playing.
#include "twinstep/net/playback_pace.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>

namespace twinstep::net {

namespace {

/// Longer gaps between two calls count as this one: whoever stood still catches up by the backlog.
constexpr std::int64_t gap_us_max = 1'000'000;

} // namespace

PlaybackPace::PlaybackPace(TickRate rate, PlaybackSettings settings)
    : rate_(rate)
    , settings_(settings) {
    TWINSTEP_ASSERT(rate.num > 0);
    TWINSTEP_ASSERT(rate.den > 0);
    set_period();
}

void PlaybackPace::set_period() {
    const std::int64_t whole = static_cast<std::int64_t>(rate_.den) * 1'000'000'000 / rate_.num;
    period_ns_ = std::max<std::int64_t>(whole * 1000 / speed_per_mille_, 1);
}

void PlaybackPace::set_speed(std::uint32_t per_mille) {
    TWINSTEP_ASSERT(per_mille > 0);
    speed_per_mille_ = per_mille;
    set_period();
    credit_ns_ = std::min(credit_ns_, period_ns_);
}

std::int64_t PlaybackPace::rate_per_mille(std::uint64_t backlog) const {
    const std::int64_t per_tick = settings_.per_mille_per_tick;
    const std::int64_t most = settings_.per_mille_max;
    if (backlog < settings_.depth_low) {
        const auto below = static_cast<std::int64_t>(settings_.depth_low - backlog);
        return 1000 - std::min(most, below * per_tick);
    }
    if (backlog > settings_.depth_high) {
        const auto above = static_cast<std::int64_t>(
            std::min<std::uint64_t>(backlog - settings_.depth_high, 1000));
        return 1000 + std::min(most, above * per_tick);
    }
    return 1000;
}

std::uint32_t PlaybackPace::due(Micros now, std::uint64_t backlog) {
    if (!started_) {
        started_ = true;
        credit_ns_ = period_ns_; // The first tick is played when it comes.
        last_ = now;
    }
    const std::int64_t passed = std::clamp<std::int64_t>((now - last_).value, 0, gap_us_max);
    last_ = std::max(last_, now);
    credit_ns_ += passed * rate_per_mille(backlog);
    auto steps = static_cast<std::uint64_t>(credit_ns_ / period_ns_);
    if (backlog > settings_.depth_far) {
        steps = backlog - settings_.depth_high;
        credit_ns_ = 0;
    }
    steps = std::min({steps, backlog, std::uint64_t{settings_.steps_max}});
    credit_ns_ -= static_cast<std::int64_t>(steps) * period_ns_;
    // Time that nothing was there to be played in is gone: the next tick is played when it comes,
    // and the ones behind it in their turn.
    credit_ns_ = std::clamp<std::int64_t>(credit_ns_, 0, period_ns_);
    return static_cast<std::uint32_t>(steps);
}

Micros PlaybackPace::next_wake(std::uint64_t backlog) const {
    if (backlog == 0) {
        return never;
    }
    if (!started_ || backlog > settings_.depth_far) {
        return last_;
    }
    const std::int64_t missing = std::max<std::int64_t>(period_ns_ - credit_ns_, 0);
    const std::int64_t rate = rate_per_mille(backlog);
    return last_ + Micros{(missing + rate - 1) / rate};
}

} // namespace twinstep::net
