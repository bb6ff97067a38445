// SPDX-License-Identifier: MIT
// Counter sources: the one seam through which time enters the program.
#pragma once

#include <cstdint>

namespace twinstep::timer {

/// The farthest a counter may be from zero. With it every difference of two readings fits in a
/// signed 64-bit number: 48 years at 3 GHz, 146 years at 1 GHz.
inline constexpr std::int64_t counts_max = (std::int64_t{1} << 62) - 1;

/// Something that counts up at a fixed frequency. Implement it to replace the clock.
/// Thread: a source is read by the one thread that owns the timer.
class CounterSource {
public:
    CounterSource() = default;
    CounterSource(const CounterSource&) = default;
    CounterSource& operator=(const CounterSource&) = default;
    CounterSource(CounterSource&&) = default;
    CounterSource& operator=(CounterSource&&) = default;
    virtual ~CounterSource() = default;

    /// The counter now, in counts, within -counts_max..counts_max. It should never go backwards;
    /// the timer survives it when it does.
    [[nodiscard]] virtual std::int64_t counts() = 0;

    /// Counts per second. A timer asks once. Zero or less means that the source is out of order.
    [[nodiscard]] virtual std::int64_t frequency_hz() = 0;
};

/// The machine's own counter: QueryPerformanceCounter on Windows, CLOCK_MONOTONIC (nanoseconds) on
/// POSIX. Neither follows the wall clock. QueryPerformanceCounter goes on while the machine
/// sleeps, CLOCK_MONOTONIC on Linux does not.
/// Source: Microsoft "Acquiring high-resolution time stamps"; POSIX.1-2017 clock_gettime.
/// Determinism: host-only.
class SystemCounter final : public CounterSource {
public:
    [[nodiscard]] std::int64_t counts() override;
    [[nodiscard]] std::int64_t frequency_hz() override;
};

/// std::chrono::steady_clock as a source: what a timer falls back to.
/// Determinism: host-only.
class SteadyCounter final : public CounterSource {
public:
    [[nodiscard]] std::int64_t counts() override;
    [[nodiscard]] std::int64_t frequency_hz() override;
};

/// A counter that moves only when told to, and counts how often it was asked.
/// Determinism: pure.
class ManualCounter final : public CounterSource {
public:
    /// Requires |counts| <= counts_max. Any frequency is taken, so that a broken one can be played.
    explicit ManualCounter(std::int64_t frequency_hz, std::int64_t counts = 0);

    /// Puts the counter anywhere. Requires |counts| <= counts_max.
    void set(std::int64_t counts);

    /// Moves the counter, backwards too. Requires that it stays within -counts_max..counts_max.
    void advance(std::int64_t delta_counts);

    [[nodiscard]] std::int64_t counts() override;
    [[nodiscard]] std::int64_t frequency_hz() override;

    /// How often counts() was called.
    [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }

    /// How often frequency_hz() was called.
    [[nodiscard]] std::uint64_t frequency_reads() const noexcept { return frequency_reads_; }

private:
    std::int64_t frequency_hz_;
    std::int64_t counts_;
    std::uint64_t reads_ = 0;
    std::uint64_t frequency_reads_ = 0;
};

} // namespace twinstep::timer
