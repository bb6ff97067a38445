// SPDX-License-Identifier: MIT
// How many ticks an input is given ahead: raised at once by what is missing, lowered slowly.
#pragma once

#include "twinstep/net/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace twinstep::net {

/// What DelayControl works with.
struct DelayLimits {
    std::uint16_t ticks_min = 1;
    std::uint16_t ticks_max = 30;
    Micros period; ///< Of a tick.
};

/// Decides changes of the input delay from the margin that the server measures: by how much the
/// client's inputs were early, the least of the last 128 ticks.
///
/// The margin speaks of inputs that were sent a round trip ago and more, under delays that may have
/// changed since. Each change is therefore remembered with the first input tick it holds for, and a
/// margin is corrected by what changed after the input that it comes from: one cause is never
/// answered twice, and nothing has to be waited for.
class DelayControl {
public:
    /// Begins with a delay for this round trip; returns it.
    std::uint16_t start(Micros now, DelayLimits limits, Micros round_trip);

    std::uint16_t delay() const { return delay_; }

    /// The margin in ms of the inputs before `input_ack`; `next_input` is the tick that the next
    /// input gets. Returns by how many ticks the delay changes: more than 0 inserts ticks before
    /// `next_input`, less than 0 merges samples.
    int on_margin(Micros now,
                  std::int32_t margin_ms,
                  std::uint64_t input_ack,
                  std::uint64_t next_input);

    /// One delay for everybody, by the server's word: from now on it is this one. Returns the
    /// change.
    int fix(Micros now, std::uint16_t ticks, std::uint64_t next_input);

    /// Inputs up to this tick are late for a known and passing reason (the machine stood still, the
    /// clock was held): margins that may come from them say nothing.
    void disregard_before(std::uint64_t tick);

    /// The lead has turned out to be so many ticks more than the delay, or less: that is the delay.
    void follow(int ticks) {
        delay_ = static_cast<std::uint16_t>(
            std::clamp<int>(delay_ + ticks, limits_.ticks_min, limits_.ticks_max));
    }

    bool is_fixed() const { return fixed_; }

    /// The input sequence begins anew: changes before mean nothing. The delay becomes at least
    /// `ticks_min`, as far as the limits allow.
    void restart(Micros now, std::uint16_t ticks_min);

    /// The period of a tick has changed.
    void set_period(Micros period) { limits_.period = period; }

private:
    struct Change {
        std::uint64_t from = 0; ///< First input tick with this delay.
        std::int32_t shift = 0; ///< Delay less the one at the start.
    };

    std::int32_t shift_at(std::uint64_t input) const;
    void track_cause(std::int32_t margin_ms, std::uint64_t input_ack);
    int change(Micros now, int ticks, std::uint64_t next_input);
    int raise_for(Micros now, std::int64_t margin_us, std::uint64_t next_input);
    int lower_for(Micros now, std::int64_t margin_us, std::uint64_t next_input);

    DelayLimits limits_;
    std::uint16_t delay_ = 1;
    std::array<Change, 32> changes_{}; ///< The newest ones, a ring.
    std::size_t change_count_ = 0;
    std::int32_t shift_ = 0;
    std::uint64_t disregard_ = 0;
    bool fixed_ = false;
    bool any_margin_ = false;
    std::int32_t last_margin_ms_ = 0;
    std::uint64_t cause_ = 0; ///< The input tick that the margin is taken to come from.
    std::uint64_t raised_at_ = 0;
    bool comfortable_ = false;
    Micros comfortable_since_;
};

} // namespace twinstep::net
