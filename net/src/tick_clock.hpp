// SPDX-License-Identifier: MIT
// Due times of ticks on a monotonic time line, exact for every rational rate.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>

namespace twinstep::net {

/// Largest part of a tick rate: keeps every product below 2^63.
inline constexpr std::uint32_t tick_rate_part_max = 1'000'000;

/// The time of one tick, rounded down, at least 1 us.
constexpr Micros tick_period(TickRate rate, std::uint32_t per_mille = 1000) {
    const std::int64_t period = static_cast<std::int64_t>(rate.den) * 1'000'000'000 /
                                (static_cast<std::int64_t>(rate.num) * per_mille);
    return {period < 1 ? 1 : period};
}

/// When the next tick is due. Steps have no rounding error that adds up.
class TickClock {
public:
    /// The next tick is due at `now`.
    void start(Micros now, TickRate rate) {
        TWINSTEP_ASSERT(rate.num <= tick_rate_part_max);
        TWINSTEP_ASSERT(rate.den <= tick_rate_part_max);
        rate_ = rate;
        restart(now);
    }

    void restart(Micros now) {
        due_ = now;
        remainder_ = 0;
    }

    /// Ticks go at `per_mille` of the nominal rate from the next one on.
    void set_speed(std::uint32_t per_mille) {
        per_mille_ = per_mille;
        remainder_ = 0;
    }

    Micros due() const { return due_; }

    Micros period() const { return tick_period(rate_, per_mille_); }

    /// On to the tick after.
    void step() {
        const std::int64_t divisor = static_cast<std::int64_t>(rate_.num) * per_mille_;
        const std::int64_t whole = static_cast<std::int64_t>(rate_.den) * 1'000'000'000;
        due_.value += whole / divisor;
        remainder_ += whole % divisor;
        if (remainder_ >= divisor) {
            remainder_ -= divisor;
            ++due_.value;
        }
    }

    /// Ticks that are due at `now` and not stepped yet, at most `limit`.
    std::uint64_t owed(Micros now, std::uint64_t limit) const {
        if (now < due_) {
            return 0;
        }
        const std::uint64_t count =
            static_cast<std::uint64_t>((now - due_).value / period().value) + 1;
        return count < limit ? count : limit;
    }

private:
    TickRate rate_{1};
    std::uint32_t per_mille_ = 1000;
    Micros due_;
    std::int64_t remainder_ = 0; ///< Of a microsecond, in parts of rate.num * per_mille.
};

} // namespace twinstep::net
