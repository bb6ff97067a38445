// SPDX-License-Identifier: MIT
// GameTimer: turns counter readings into the time of a frame and of a session.
#pragma once

#include <twinstep/timer/config.hpp>
#include <twinstep/timer/counter.hpp>

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinstep::timer {

/// Why a gap in the time line is forgiven.
enum class RebaseReason : std::uint8_t {
    unspecified,
    debugger,
    size_move,
    monitor_change,
    loading,
    suspend,
};

/// Where a forgiven gap is booked. In both cases no frame ever sees it as a delta.
enum class GapBooking : std::uint8_t {
    dropped, ///< The session went on: total_time contains the gap.
    paused,  ///< The session stood still: total_time leaves the gap out.
};

/// What a timer reads.
enum class ClockKind : std::uint8_t {
    system,         ///< The machine's counter, read without a virtual call.
    custom,         ///< A source that the caller gave.
    steady_fallback ///< std::chrono::steady_clock, because the source had no usable frequency.
};

struct GameTimerConfig {
    /// The longest delta that logic ever sees, in seconds; raw deltas are not touched.
    /// Usual: 1/4 for a fixed step, 1/10 for a variable one.
    Rational max_delta_seconds{1, 4};
};

/// The timer's whole memory, in counts: a debugger or a log shows the truth by itself.
struct GameTimerState {
    /// How many raw deltas are remembered: a power of two, 256 = four seconds at 60 Hz.
    static constexpr std::size_t ring_size = 256;

    std::int64_t base = 0;         ///< Reading at the last reset.
    std::int64_t high_water = 0;   ///< Highest reading since the last reset: "now", latched.
    std::int64_t previous = 0;     ///< Where the next raw delta starts.
    std::int64_t stop = 0;         ///< Reading at which the timer stopped; used while stopped.
    std::int64_t paused = 0;       ///< Sum of the closed pauses since the last reset.
    std::int64_t raw_delta = 0;    ///< Last frame, unclamped, never negative.
    std::int64_t forgone = 0;      ///< Time that no delta reports: before a stop, or rebased away.
    std::uint64_t frame = 0;       ///< Ticks while running since the last reset.
    std::uint64_t regressions = 0; ///< Readings below the high-water mark since the last reset.
    std::uint64_t rebases = 0;     ///< Calls of rebase since the last reset.
    RebaseReason last_rebase = RebaseReason::unspecified;
    bool stopped = false;
    std::array<std::int64_t, ring_size> ring{}; ///< Raw deltas by frame number modulo ring_size.

    friend bool operator==(const GameTimerState&, const GameTimerState&) = default;
};

/// The timer of one main loop. Call tick() exactly once a frame, at the head of the loop: after
/// the messages were pumped (a stop among them must count) and before the first update.
///
/// Three lines of time, exact in counts:
///   wall     elapsed_since_reset: never stops
///   active   total_time = wall - pauses
///   frames   the sum of raw deltas = active - forgone - what has passed since the last tick
///
/// Every value is latched by tick(), reset(), start(), stop() and rebase(), so that all parts of a
/// frame see the same one; the two functions ending in `_now` read the counter.
/// A counter that goes backwards stands still here until it has caught up: time is never counted
/// twice and never negative. Each such reading adds one to regressions().
/// Thread: one owner. Determinism: host-only; nothing inside a simulation step may ask it.
class GameTimer {
public:
    /// A running timer on the machine's counter, 1/4 s clamp. Reads the frequency once.
    GameTimer();

    /// A running timer on `source`, which must outlive it; 1/4 s clamp. Reads the frequency once;
    /// when that is zero or less the timer uses steady_clock instead, see clock_kind().
    explicit GameTimer(CounterSource& source);

    /// The same with a clamp of one's own.
    /// Errors: clamp_not_positive (also when it is under one count), overflow.
    [[nodiscard]] static tl::expected<GameTimer, ConfigError> create(CounterSource& source,
                                                                     const GameTimerConfig& config);

    /// Starts a frame: reads the counter exactly once. While running, the raw delta is the time
    /// since the tick, start or rebase before. While stopped both deltas are zero and only the
    /// wall line moves.
    void tick();

    /// tick() for a loop that numbers its frames. Requires that the number differs from the one of
    /// the call before: two ticks in one frame cut its delta into fragments.
    void tick_frame(std::uint64_t frame_id);

    /// Starts a new time line that runs, stopped or not before: everything is zero again. For a
    /// new game, a level, a loaded save.
    void reset();

    /// Ends a pause; the next delta starts here. Does nothing on a running timer.
    void start();

    /// Begins a pause. Does nothing on a stopped timer. The time since the last tick is active
    /// time but no frame's delta; it is booked as forgone.
    void stop();

    /// Forgives the gap since the last tick without breaking the time line: the next delta starts
    /// here. While stopped there is no gap and only the call is counted.
    void rebase(RebaseReason reason, GapBooking booking = GapBooking::dropped);

    [[nodiscard]] bool is_stopped() const noexcept { return state_.stopped; }

    /// Last frame, at most max_delta_counts(). Zero after reset, start and rebase until the tick.
    [[nodiscard]] std::int64_t delta_counts() const noexcept {
        return state_.raw_delta < max_delta_counts_ ? state_.raw_delta : max_delta_counts_;
    }

    [[nodiscard]] double delta_seconds() const noexcept { return seconds(delta_counts()); }

    /// The same as delta_seconds().
    [[nodiscard]] double frame_time_seconds() const noexcept { return delta_seconds(); }

    /// Last frame as it was: a stall of three seconds is three seconds.
    [[nodiscard]] std::int64_t raw_delta_counts() const noexcept { return state_.raw_delta; }

    [[nodiscard]] double raw_delta_seconds() const noexcept { return seconds(state_.raw_delta); }

    /// Active time since reset, latched; frozen while stopped; not shortened by the clamp.
    [[nodiscard]] std::int64_t total_time_counts() const noexcept {
        return (state_.stopped ? state_.stop : state_.high_water) - state_.base - state_.paused;
    }

    [[nodiscard]] double total_time_seconds() const noexcept {
        return seconds(total_time_counts());
    }

    /// Active time since reset at this moment: one read of the counter. Never below the latched
    /// value; changes nothing.
    [[nodiscard]] std::int64_t total_time_now_counts() const;

    [[nodiscard]] double total_time_now_seconds() const { return seconds(total_time_now_counts()); }

    /// Time since reset with all pauses, latched by tick() in a pause too.
    [[nodiscard]] std::int64_t elapsed_since_reset_counts() const noexcept {
        return state_.high_water - state_.base;
    }

    [[nodiscard]] double elapsed_since_reset_seconds() const noexcept {
        return seconds(elapsed_since_reset_counts());
    }

    /// The same at this moment: one read of the counter.
    [[nodiscard]] std::int64_t elapsed_since_reset_now_counts() const;

    /// All pauses since reset, the open one included: elapsed - total, exactly.
    [[nodiscard]] std::int64_t paused_counts() const noexcept {
        return elapsed_since_reset_counts() - total_time_counts();
    }

    /// Active time that no delta reports: up to a stop since the tick before it, or rebased away.
    [[nodiscard]] std::int64_t forgone_counts() const noexcept { return state_.forgone; }

    /// Ticks while running since reset.
    [[nodiscard]] std::uint64_t frame_number() const noexcept { return state_.frame; }

    /// Readings below the high-water mark since reset.
    [[nodiscard]] std::uint64_t regressions() const noexcept { return state_.regressions; }

    /// How many raw deltas recent_raw_counts() can give: at most GameTimerState::ring_size.
    [[nodiscard]] std::size_t recent_size() const noexcept {
        return state_.frame < GameTimerState::ring_size ? static_cast<std::size_t>(state_.frame)
                                                        : GameTimerState::ring_size;
    }

    /// The raw delta of the frame `age` frames ago, 0 = the last. Requires age < recent_size().
    [[nodiscard]] std::int64_t recent_raw_counts(std::size_t age) const;

    /// Counts per second, as read once at construction.
    [[nodiscard]] std::int64_t frequency_hz() const noexcept { return frequency_hz_; }

    [[nodiscard]] std::int64_t max_delta_counts() const noexcept { return max_delta_counts_; }

    [[nodiscard]] ClockKind clock_kind() const noexcept { return kind_; }

    /// Seconds in a number of counts: one correctly rounded division, relative error below 2^-52.
    [[nodiscard]] double seconds(std::int64_t counts) const noexcept {
        return static_cast<double>(counts) / static_cast<double>(frequency_hz_);
    }

    /// Everything the timer remembers, to look at.
    [[nodiscard]] const GameTimerState& state() const noexcept { return state_; }

private:
    GameTimer(CounterSource* source, ClockKind kind, std::int64_t frequency_hz) noexcept;
    static GameTimer with_fallback(CounterSource* source, ClockKind kind, std::int64_t frequency);

    [[nodiscard]] std::int64_t read_source() const;
    [[nodiscard]] std::int64_t read() const;
    void latch();

    CounterSource* source_;
    std::int64_t frequency_hz_;
    std::int64_t max_delta_counts_;
    std::uint64_t last_frame_id_ = 0;
    ClockKind kind_;
    bool frame_id_seen_ = false;
    GameTimerState state_;
};

} // namespace twinstep::timer
