// SPDX-License-Identifier: MIT
// When a tick is due: exact rational arithmetic from a start, a rate, a speed and a stretch.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>

namespace twinstep::net {

/// Due times of the ticks of a match. Sums are exact: at 60000/1001 Hz there is no drift, ever.
/// Speed and stretch are per mille of the rate and of the period; a change begins a new sum.
class TickTimeline {
public:
    /// `first` is due at `start`. Requires a rate with num <= 1,000,000 and den <= 10,000.
    void begin(Micros start, Tick first, TickRate rate);

    Tick next() const { return next_; }

    /// Due time of the next tick.
    Micros due() const { return due_; }

    /// Due time of any tick at the pace of now. Far ticks are taken as 4,096 ticks away.
    Micros due(Tick tick) const;
    /// The next tick is closed.
    void step();

    /// The next tick is due then instead: what lies after it moves along.
    void slip(Micros due) { due_ = due; }

    /// Per mille of the rate: 100 to 4,000.
    void set_speed(std::uint32_t per_mille);
    /// Per mille of the period: 1,000 to 1,100.
    void set_stretch(std::uint32_t per_mille);

    std::uint32_t speed() const { return speed_; }

    std::uint32_t stretch() const { return stretch_; }

    /// Time from tick to tick, rounded up.
    Micros period() const;

private:
    void update();

    Tick next_;
    Micros due_;
    TickRate rate_{1};
    std::uint32_t speed_ = 1000;
    std::uint32_t stretch_ = 1000;
    // A period is numerator_ / denominator_ microseconds; remainder_ / denominator_ of a
    // microsecond is what due_ leaves out.
    std::int64_t numerator_ = 1'000'000;
    std::int64_t denominator_ = 1;
    std::int64_t remainder_ = 0;
};

} // namespace twinstep::net
