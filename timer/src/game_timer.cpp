// SPDX-License-Identifier: MIT
// GameTimer: integer bookkeeping around one clock read.
#include "system_counts.hpp"

#include <twinstep/timer/contract.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <algorithm>

namespace twinstep::timer {
namespace {

constexpr std::size_t ring_mask = GameTimerState::ring_size - 1;
static_assert((GameTimerState::ring_size & ring_mask) == 0, "the ring wraps with a mask");

} // namespace

GameTimer::GameTimer(CounterSource* source, ClockKind kind, std::int64_t frequency_hz) noexcept
    : source_(source)
    , frequency_hz_(frequency_hz)
    // A counter slower than 4 Hz still has a frame of one count.
    , max_delta_counts_(std::max<std::int64_t>(1, frequency_hz / 4))
    , kind_(kind) {}

GameTimer GameTimer::with_fallback(CounterSource* source, ClockKind kind, std::int64_t frequency) {
    if (frequency > 0) {
        GameTimer timer(source, kind, frequency);
        timer.reset();
        return timer;
    }
    static SteadyCounter steady;
    GameTimer timer(&steady, ClockKind::steady_fallback, steady.frequency_hz());
    timer.reset();
    return timer;
}

GameTimer::GameTimer()
    : GameTimer(with_fallback(nullptr, ClockKind::system, system_frequency_hz())) {}

GameTimer::GameTimer(CounterSource& source)
    : GameTimer(with_fallback(&source, ClockKind::custom, source.frequency_hz())) {}

tl::expected<GameTimer, ConfigError> GameTimer::create(CounterSource& source,
                                                       const GameTimerConfig& config) {
    GameTimer timer(source);
    const auto clamp = counts_in(config.max_delta_seconds, timer.frequency_hz_);
    if (!clamp) {
        return tl::make_unexpected(ConfigError{clamp.error().fault, "max_delta_seconds"});
    }
    if (*clamp < 1) {
        return tl::make_unexpected(
            ConfigError{ConfigFault::clamp_not_positive, "max_delta_seconds"});
    }
    timer.max_delta_counts_ = *clamp;
    return timer;
}

// The machine's counter is read in place: a virtual call would be paid in every frame for a seam
// that is used in tests.
inline std::int64_t GameTimer::read_source() const {
    if (kind_ == ClockKind::system) [[likely]] {
        return system_counts();
    }
    const std::int64_t counts = source_->counts();
    TWINSTEP_TIMER_ASSERT(counts >= -counts_max);
    TWINSTEP_TIMER_ASSERT(counts <= counts_max);
    return counts;
}

std::int64_t GameTimer::read() const {
    return read_source();
}

inline void GameTimer::latch() {
    const std::int64_t now = read_source();
    if (now < state_.high_water) [[unlikely]] {
        ++state_.regressions;
    } else {
        state_.high_water = now;
    }
}

void GameTimer::tick() {
    latch();
    if (state_.stopped) [[unlikely]] {
        state_.raw_delta = 0;
        return;
    }
    const std::int64_t raw = state_.high_water - state_.previous;
    state_.previous = state_.high_water;
    state_.raw_delta = raw;
    state_.ring[static_cast<std::size_t>(state_.frame) & ring_mask] = raw;
    ++state_.frame;
}

void GameTimer::tick_frame(std::uint64_t frame_id) {
    TWINSTEP_TIMER_ASSERT(!frame_id_seen_ || frame_id != last_frame_id_);
    frame_id_seen_ = true;
    last_frame_id_ = frame_id;
    tick();
}

void GameTimer::reset() {
    state_ = GameTimerState{};
    const std::int64_t now = read();
    state_.base = now;
    state_.high_water = now;
    state_.previous = now;
    frame_id_seen_ = false;
    last_frame_id_ = 0;
}

void GameTimer::start() {
    if (!state_.stopped) {
        return;
    }
    latch();
    state_.paused += state_.high_water - state_.stop;
    state_.stop = 0;
    state_.previous = state_.high_water;
    state_.raw_delta = 0;
    state_.stopped = false;
}

void GameTimer::stop() {
    if (state_.stopped) {
        return;
    }
    latch();
    state_.forgone += state_.high_water - state_.previous;
    state_.previous = state_.high_water;
    state_.stop = state_.high_water;
    state_.stopped = true;
}

void GameTimer::rebase(RebaseReason reason, GapBooking booking) {
    latch();
    ++state_.rebases;
    state_.last_rebase = reason;
    if (state_.stopped) {
        return;
    }
    const std::int64_t gap = state_.high_water - state_.previous;
    if (booking == GapBooking::paused) {
        state_.paused += gap;
    } else {
        state_.forgone += gap;
    }
    state_.previous = state_.high_water;
    state_.raw_delta = 0;
}

std::int64_t GameTimer::total_time_now_counts() const {
    if (state_.stopped) {
        return total_time_counts();
    }
    return std::max(read(), state_.high_water) - state_.base - state_.paused;
}

std::int64_t GameTimer::elapsed_since_reset_now_counts() const {
    return std::max(read(), state_.high_water) - state_.base;
}

std::int64_t GameTimer::recent_raw_counts(std::size_t age) const {
    TWINSTEP_TIMER_ASSERT(age < recent_size());
    return state_.ring[(static_cast<std::size_t>(state_.frame) - 1 - age) & ring_mask];
}

} // namespace twinstep::timer
