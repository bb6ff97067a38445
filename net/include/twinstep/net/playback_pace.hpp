// SPDX-License-Identifier: MIT
// When to play the closed ticks that have arrived: evenly, close to the newest, never past it.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>

namespace twinstep::net {

/// What PlaybackPace aims at; the defaults suit 20 to 120 ticks per second.
struct PlaybackSettings {
    std::uint32_t depth_low = 1;  ///< With fewer buffered ticks playing gets slower ...
    std::uint32_t depth_high = 2; ///< ... with more it gets faster; between is the dead band.
    std::uint32_t per_mille_per_tick = 20; ///< Of speed for each tick outside the dead band.
    std::uint32_t per_mille_max = 50;      ///< No more than 5 %: nobody sees or hears it.
    std::uint32_t depth_far = 10; ///< With more than these it is catching up: as fast as allowed.
    std::uint32_t steps_max = 8;  ///< In one call.
};

/// Says how many ticks to step now. The server's ticks come with the jitter of the network; a small
/// buffer evens it out, and its depth is held by playing up to 5 % faster or slower.
/// Pure: time is given.
class PlaybackPace {
public:
    explicit PlaybackPace(TickRate rate = TickRate(60), PlaybackSettings settings = {});

    /// The match runs at another speed (an event in the stream).
    void set_speed(std::uint32_t per_mille);

    /// How many of the `backlog` buffered ticks to step now: at most steps_max, never more than
    /// there are.
    std::uint32_t due(Micros now, std::uint64_t backlog);

    /// When due() says something else than 0, as far as `backlog` alone decides; never if it is 0.
    Micros next_wake(std::uint64_t backlog) const;

private:
    std::int64_t rate_per_mille(std::uint64_t backlog) const;
    void set_period();

    TickRate rate_;
    PlaybackSettings settings_;
    std::uint32_t speed_per_mille_ = 1000;
    std::int64_t period_ns_ = 1;
    std::int64_t credit_ns_ = 0; ///< Time that is played for; one period buys a tick.
    Micros last_;
    bool started_ = false;
};

} // namespace twinstep::net
