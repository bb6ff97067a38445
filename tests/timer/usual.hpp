// SPDX-License-Identifier: MIT
// The configuration most of the timer's tests start from: 60 steps a second, a counter of 10 MHz.
#pragma once

#include <twinstep/timer/fixed_step.hpp>

#include <cstdint>

namespace timer_test {

/// Counts of one 60 Hz frame, rounded up.
inline constexpr std::int64_t t60 = 166'667;

inline twinstep::timer::FixedStepConfig usual() {
    twinstep::timer::FixedStepConfig config;
    config.frequency_hz = 10'000'000;
    return config;
}

} // namespace timer_test
