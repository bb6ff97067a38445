// SPDX-License-Identifier: MIT
// FixedStep: decides, in exact integers, how many simulation steps a frame owes.
#pragma once

#include <twinstep/timer/config.hpp>

#include <tl/expected.hpp>

#include <cstdint>

namespace twinstep::timer {

/// What happens to whole steps above FixedStepConfig::max_steps.
enum class Overload : std::uint8_t {
    /// Single player, tools: excess steps are dropped and counted; the game slows down and lives.
    realtime_drops_steps,
    /// Lockstep: excess steps stay owed and run in later frames, because peers wait for them.
    lockstep_owes_steps,
};

/// How full the accumulator starts.
enum class Phase : std::uint8_t {
    zero, ///< The first step is due after one whole step of time.
    half, ///< After half a step: frames that jitter around the step no longer run 0, 2, 0, 2.
};

/// Time scale as 16.16 fixed point: 65536 is normal speed.
inline constexpr std::int32_t time_scale_one_q16 = 65536;
/// 0.1 rounded up, the slowest accepted.
inline constexpr std::int32_t time_scale_min_q16 = 6554;
/// 4.0, the fastest accepted.
inline constexpr std::int32_t time_scale_max_q16 = 4 * 65536;

/// Turns a factor into 16.16: rounded to nearest, clamped to 0.1..4.0.
/// Errors: scale_not_usable for NaN, an infinity or a negative factor.
[[nodiscard]] tl::expected<std::int32_t, ConfigError> time_scale_to_q16(double factor) noexcept;

struct FixedStepConfig {
    std::int64_t frequency_hz = 0;    ///< Counts per second of whatever feeds advance().
    Rational rate_hz{60, 1};          ///< Steps per second, exact.
    Rational max_frame_seconds{1, 4}; ///< Longest frame that is credited; the rest is dropped.
    std::int64_t max_steps = 8;       ///< Most steps in one frame.
    Phase phase = Phase::zero;
    Overload overload = Overload::realtime_drops_steps;
    std::int32_t time_scale_q16 = time_scale_one_q16;
};

/// What one frame has to do, and what it lost.
struct FrameSteps {
    std::int64_t steps = 0;          ///< Run this many steps now: 0..max_steps.
    std::int64_t dropped_steps = 0;  ///< Whole steps that the cap took away.
    std::int64_t dropped_counts = 0; ///< Counts that the clamp took away.
    std::int64_t owed_steps = 0;     ///< Whole steps that wait for later frames (lockstep only).

    friend bool operator==(const FrameSteps&, const FrameSteps&) = default;
};

/// The constants of the exact ledger, in units of 1/65536 weighted count.
struct LedgerTerms {
    std::int64_t weight = 0;          ///< Worth of one count at scale 1/65536: num / gcd.
    std::int64_t cost = 0;            ///< Price of one step: freq * den / gcd * 65536.
    std::int64_t initial_residue = 0; ///< Residue at the start: 0 or half the cost.
};

/// Sums since construction or reset. Those that can grow without end are modulo 2^64.
struct Ledger {
    std::uint64_t raw_counts = 0;      ///< Everything given to advance().
    std::uint64_t dropped_counts = 0;  ///< Of which the clamp took away.
    std::uint64_t scaled_raw = 0;      ///< Sum of counts * scale_q16.
    std::uint64_t scaled_dropped = 0;  ///< Sum of dropped counts * scale_q16.
    std::uint64_t steps = 0;           ///< The number of the next step: the simulation's tick.
    std::uint64_t dropped_steps = 0;   ///< Whole steps lost to the cap.
    std::int64_t owed_steps = 0;       ///< Whole steps not yet run (lockstep only).
    std::int64_t residue = 0;          ///< Part of the next step that has passed: 0..cost - 1.
    std::uint64_t frames = 0;          ///< Calls of advance().
    std::uint64_t clamped_frames = 0;  ///< Frames in which counts were dropped.
    std::uint64_t overload_frames = 0; ///< Frames in which more steps were due than the cap allows.
    std::uint64_t overload_run_frames = 0; ///< The same, in a row up to now: degrade on this.

    friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// Whether nothing was lost or made up:
///   scaled_raw * weight + initial_residue
///     = (steps + dropped_steps + owed_steps) * cost + residue + scaled_dropped * weight
/// modulo 2^64, and 0 <= residue < cost. At scale 1 this is the identity
///   raw * num = (steps + dropped_steps) * freq * den + residue + dropped_counts * num.
/// Determinism: pure.
[[nodiscard]] bool is_balanced(const Ledger& ledger, const LedgerTerms& terms) noexcept;

/// The accumulator between real time and simulation steps. There is no floating point in any
/// decision: a step costs exactly freq * den / num counts, fractions are carried for ever.
///
/// Two limits, reported apart: the clamp (max_frame_seconds) says how much of one frame is
/// believed, the cap (max_steps) how many steps one frame may run. Running exactly max_steps with
/// nothing left over is no overload. The cap takes whole steps only, so alpha stays true.
/// The clamp drops time in both overload modes: a lockstep game that must catch up after any stall
/// sets it long.
/// Thread: one owner. Determinism: pure: the same counts give the same steps everywhere.
class FixedStep {
public:
    /// Errors: frequency_not_positive, rate_not_positive, clamp_not_positive, clamp_below_step,
    /// cap_below_one, scale_not_usable, overflow (no exact ledger in 64 bits at 4 x speed).
    [[nodiscard]] static tl::expected<FixedStep, ConfigError>
    create(const FixedStepConfig& config) noexcept;

    /// Takes one frame's raw counts and says what to run. Checks the ledger's identity each time.
    /// Requires raw_counts >= 0: GameTimer never gives less.
    [[nodiscard]] FrameSteps advance(std::int64_t raw_counts);

    /// How far the time after the last step has come towards the next: residue / cost in [0, 1).
    [[nodiscard]] double alpha() const noexcept;

    /// The same for a renderer; rounding never makes it 1.
    [[nodiscard]] float alpha_float() const noexcept;

    /// Changes the speed from the next advance() on. The residue has the finer unit already, so
    /// no change of scale gains or loses anything.
    /// Errors: scale_not_usable outside time_scale_min_q16..time_scale_max_q16.
    [[nodiscard]] tl::expected<void, ConfigError>
    set_time_scale_q16(std::int32_t time_scale_q16) noexcept;

    /// The same from a factor, clamped to 0.1..4.0.
    /// Errors: scale_not_usable for NaN, an infinity or a negative factor.
    [[nodiscard]] tl::expected<void, ConfigError> set_time_scale(double factor) noexcept;

    /// Forgets all time: residue at its phase, all sums zero. The scale stays.
    void reset() noexcept;

    [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }

    [[nodiscard]] const LedgerTerms& terms() const noexcept { return terms_; }

    [[nodiscard]] std::int64_t frequency_hz() const noexcept { return frequency_hz_; }

    /// Steps per second in lowest terms.
    [[nodiscard]] Rational rate_hz() const noexcept { return rate_hz_; }

    [[nodiscard]] std::int64_t max_frame_counts() const noexcept { return max_frame_counts_; }

    [[nodiscard]] std::int64_t max_steps() const noexcept { return max_steps_; }

    [[nodiscard]] Overload overload() const noexcept { return overload_; }

    [[nodiscard]] std::int32_t time_scale_q16() const noexcept { return time_scale_q16_; }

    /// Length of one step: the same bits in every call, to hand to floating-point physics.
    [[nodiscard]] double step_seconds() const noexcept {
        return static_cast<double>(rate_hz_.den) / static_cast<double>(rate_hz_.num);
    }

    /// The frame rate below which the cap cannot keep up with real time: rate / max_steps.
    [[nodiscard]] double lowest_frame_rate_hz() const noexcept {
        return static_cast<double>(rate_hz_.num) /
               (static_cast<double>(rate_hz_.den) * static_cast<double>(max_steps_));
    }

private:
    FixedStep() = default;

    std::int64_t frequency_hz_ = 0;
    Rational rate_hz_;
    std::int64_t max_frame_counts_ = 0;
    std::int64_t max_steps_ = 0;
    Overload overload_ = Overload::realtime_drops_steps;
    std::int32_t time_scale_q16_ = time_scale_one_q16;
    LedgerTerms terms_;
    Ledger ledger_;
};

} // namespace twinstep::timer
