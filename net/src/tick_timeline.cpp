// SPDX-License-Identifier: MIT
// The sums behind due times.
#include "tick_timeline.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>

namespace twinstep::net {

void TickTimeline::begin(Micros start, Tick first, TickRate rate) {
    TWINSTEP_ASSERT(rate.num >= 1);
    TWINSTEP_ASSERT(rate.num <= 1'000'000);
    TWINSTEP_ASSERT(rate.den >= 1);
    TWINSTEP_ASSERT(rate.den <= 10'000);
    rate_ = rate;
    next_ = first;
    due_ = start;
    update();
}

void TickTimeline::update() {
    // At most 1e4 * 1e6 * 1,100, and 1e6 * 4,000: 4,096 periods still fit into 64 bits.
    numerator_ = std::int64_t{rate_.den} * 1'000'000 * stretch_;
    denominator_ = std::int64_t{rate_.num} * speed_;
    remainder_ = 0;
}

Micros TickTimeline::due(Tick tick) const {
    constexpr std::uint64_t far = 4096;
    const bool ahead = tick >= next_;
    const std::uint64_t distance =
        std::min(far, ahead ? tick.value - next_.value : next_.value - tick.value);
    const auto signed_distance = static_cast<std::int64_t>(distance) * (ahead ? 1 : -1);
    const std::int64_t sum = signed_distance * numerator_ + remainder_;
    // Rounded down on both sides of zero, so that step() and due() agree.
    const std::int64_t whole =
        sum >= 0 ? sum / denominator_ : -((-sum + denominator_ - 1) / denominator_);
    return due_ + Micros{whole};
}

void TickTimeline::step() {
    const std::int64_t sum = numerator_ + remainder_;
    due_ = due_ + Micros{sum / denominator_};
    remainder_ = sum % denominator_;
    next_ = next_ + 1;
}

void TickTimeline::set_speed(std::uint32_t per_mille) {
    TWINSTEP_ASSERT(per_mille >= 100);
    TWINSTEP_ASSERT(per_mille <= 4000);
    if (per_mille != speed_) {
        speed_ = per_mille;
        update();
    }
}

void TickTimeline::set_stretch(std::uint32_t per_mille) {
    TWINSTEP_ASSERT(per_mille >= 1000);
    TWINSTEP_ASSERT(per_mille <= 1100);
    if (per_mille != stretch_) {
        stretch_ = per_mille;
        update();
    }
}

Micros TickTimeline::period() const {
    return {(numerator_ + denominator_ - 1) / denominator_};
}

} // namespace twinstep::net
