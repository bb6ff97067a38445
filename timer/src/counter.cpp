// SPDX-License-Identifier: MIT
// The machine's counters and the manual one.
#include "system_counts.hpp"

#include <twinstep/timer/contract.hpp>
#include <twinstep/timer/counter.hpp>

#include <chrono>

namespace twinstep::timer {

std::int64_t SystemCounter::counts() {
    return system_counts();
}

std::int64_t SystemCounter::frequency_hz() {
    return system_frequency_hz();
}

std::int64_t SteadyCounter::counts() {
    static_assert(std::chrono::steady_clock::is_steady);
    return static_cast<std::int64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::int64_t SteadyCounter::frequency_hz() {
    using Period = std::chrono::steady_clock::period;
    static_assert(Period::den % Period::num == 0);
    return static_cast<std::int64_t>(Period::den / Period::num);
}

ManualCounter::ManualCounter(std::int64_t frequency_hz, std::int64_t counts)
    : frequency_hz_(frequency_hz)
    , counts_(counts) {
    set(counts);
}

void ManualCounter::set(std::int64_t counts) {
    TWINSTEP_TIMER_ASSERT(counts >= -counts_max);
    TWINSTEP_TIMER_ASSERT(counts <= counts_max);
    counts_ = counts;
}

void ManualCounter::advance(std::int64_t delta_counts) {
    // Neither right-hand side can overflow: counts_ is within the range.
    TWINSTEP_TIMER_ASSERT(delta_counts >= -counts_max - counts_);
    TWINSTEP_TIMER_ASSERT(delta_counts <= counts_max - counts_);
    counts_ += delta_counts;
}

std::int64_t ManualCounter::counts() {
    ++reads_;
    return counts_;
}

std::int64_t ManualCounter::frequency_hz() {
    ++frequency_reads_;
    return frequency_hz_;
}

} // namespace twinstep::timer
