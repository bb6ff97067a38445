// SPDX-License-Identifier: MIT
// The control of the input delay.
#include "delay_control.hpp"

#include <algorithm>

namespace twinstep::net {

namespace {

/// Inputs whose margins the server's minimum covers.
constexpr std::uint64_t window_ticks = 128;
/// The window is moved in blocks, and begins at the tick that is closed next.
constexpr std::uint64_t window_slack_ticks = 32;
/// A raise inserts at most so many ticks at once; the next one comes four ticks later.
constexpr std::int64_t raise_max = 4;
constexpr std::uint64_t raise_spacing_ticks = 4;
/// The least margin may not be under half a tick.
constexpr std::int64_t margin_low_half_ticks = 1;
/// Above 2.5 ticks for 5 s one tick is taken back. Hysteresis: a raise leaves less than 1.5 ticks.
/// Margins are whole milliseconds: a raise that ends exactly at the limit would need another one.
constexpr std::int64_t margin_rounding_us = 2'000;
constexpr std::int64_t margin_high_half_ticks = 5;
constexpr Micros lower_after = seconds(5);
/// A margin so far above is the rest of an outage or of another route, not jitter: half of the
/// excess goes at once, when the window has shown it for a second.
constexpr std::int64_t excess_ticks = 6;
constexpr Micros excess_after = seconds(1);

} // namespace

std::uint16_t DelayControl::start(Micros now, DelayLimits limits, Micros round_trip) {
    limits_ = limits;
    const std::int64_t trip =
        (std::max<std::int64_t>(round_trip.value, 0) + limits.period.value - 1) /
        limits.period.value;
    delay_ = static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(trip + 2, limits.ticks_min, limits.ticks_max));
    shift_ = 0;
    change_count_ = 0;
    disregard_ = 0;
    raised_at_ = 0;
    fixed_ = false;
    any_margin_ = false;
    comfortable_ = false;
    comfortable_since_ = now;
    return delay_;
}

std::int32_t DelayControl::shift_at(std::uint64_t input) const {
    const std::size_t kept = std::min(change_count_, changes_.size());
    for (std::size_t back = 1; back <= kept; ++back) {
        const Change& change = changes_[(change_count_ - back) % changes_.size()];
        if (change.from <= input) {
            return change.shift;
        }
    }
    // Before everything remembered: the oldest change is the closest that is known.
    return change_count_ > kept ? changes_[change_count_ % changes_.size()].shift : 0;
}

void DelayControl::track_cause(std::int32_t margin_ms, std::uint64_t input_ack) {
    const std::uint64_t newest = input_ack - 1;
    constexpr std::uint64_t reach = window_ticks + window_slack_ticks;
    const std::uint64_t oldest = newest > reach ? newest - reach : 0;
    if (!any_margin_ || margin_ms < last_margin_ms_) {
        cause_ = newest; // A new minimum comes from what has just arrived.
    } else if (margin_ms > last_margin_ms_ || cause_ < oldest) {
        // The old minimum has left the window; what is left is newer than it. The lowest margins
        // are those right behind it, from before a raise.
        cause_ = std::max(cause_ + 1, oldest);
    }
    cause_ = std::min(cause_, newest);
    any_margin_ = true;
    last_margin_ms_ = margin_ms;
}

int DelayControl::on_margin(Micros now,
                            std::int32_t margin_ms,
                            std::uint64_t input_ack,
                            std::uint64_t next_input) {
    if (fixed_ || input_ack == 0 ||
        (disregard_ != 0 && input_ack < disregard_ + window_ticks + window_slack_ticks)) {
        return 0;
    }
    disregard_ = 0;
    track_cause(margin_ms, input_ack);
    const std::int64_t margin_us =
        std::int64_t{margin_ms} * 1000 + (shift_ - shift_at(cause_)) * limits_.period.value;
    const int raised = raise_for(now, margin_us, next_input);
    return raised != 0 ? raised : lower_for(now, margin_us, next_input);
}

int DelayControl::raise_for(Micros now, std::int64_t margin_us, std::uint64_t next_input) {
    const std::int64_t wanted = margin_low_half_ticks * limits_.period.value / 2;
    if (margin_us >= wanted) {
        return 0;
    }
    comfortable_ = false;
    if (raised_at_ != 0 && next_input < raised_at_ + raise_spacing_ticks) {
        return 0;
    }
    const std::int64_t missing =
        (wanted + margin_rounding_us - margin_us + limits_.period.value - 1) / limits_.period.value;
    const std::int64_t room = limits_.ticks_max - delay_;
    const auto ticks = static_cast<int>(std::min({missing, raise_max, room}));
    if (ticks <= 0) {
        return 0;
    }
    raised_at_ = next_input + static_cast<std::uint64_t>(ticks);
    return change(now, ticks, next_input + static_cast<std::uint64_t>(ticks));
}

int DelayControl::lower_for(Micros now, std::int64_t margin_us, std::uint64_t next_input) {
    const std::int64_t high = margin_high_half_ticks * limits_.period.value / 2;
    if (margin_us <= high || delay_ <= limits_.ticks_min) {
        comfortable_ = false;
        return 0;
    }
    if (!comfortable_) {
        comfortable_ = true;
        comfortable_since_ = now;
    }
    const Micros lasted = now - comfortable_since_;
    const std::int64_t excess = (margin_us - high) / limits_.period.value;
    if (excess >= excess_ticks && lasted >= excess_after) {
        const auto ticks =
            static_cast<int>(std::min<std::int64_t>(excess / 2, delay_ - limits_.ticks_min));
        return change(now, -ticks, next_input);
    }
    if (lasted >= lower_after) {
        return change(now, -1, next_input);
    }
    return 0;
}

int DelayControl::change(Micros now, int ticks, std::uint64_t next_input) {
    delay_ = static_cast<std::uint16_t>(delay_ + ticks);
    shift_ += ticks;
    changes_[change_count_ % changes_.size()] = {next_input, shift_};
    ++change_count_;
    comfortable_since_ = now;
    comfortable_ = false;
    return ticks;
}

int DelayControl::fix(Micros now, std::uint16_t ticks, std::uint64_t next_input) {
    fixed_ = true;
    const int wanted = std::clamp(ticks, limits_.ticks_min, limits_.ticks_max);
    const int by = wanted - delay_;
    return by == 0 ? 0 : change(now, by, next_input + static_cast<std::uint64_t>(std::max(by, 0)));
}

void DelayControl::disregard_before(std::uint64_t tick) {
    disregard_ = std::max(disregard_, tick);
}

void DelayControl::restart(Micros now, std::uint16_t ticks_min) {
    if (!fixed_) {
        delay_ = std::max(delay_, std::min(ticks_min, limits_.ticks_max));
    }
    change_count_ = 0;
    shift_ = 0;
    raised_at_ = 0;
    disregard_ = 0;
    any_margin_ = false;
    comfortable_ = false;
    comfortable_since_ = now;
}

} // namespace twinstep::net
