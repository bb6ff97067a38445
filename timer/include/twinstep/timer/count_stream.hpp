// SPDX-License-Identifier: MIT
// Raw count streams: play a recorded counter through GameTimer and FixedStep with no clock.
#pragma once

#include <twinstep/timer/config.hpp>
#include <twinstep/timer/counter.hpp>
#include <twinstep/timer/fixed_step.hpp>
#include <twinstep/timer/game_timer.hpp>

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::timer {

/// What one line of a stream asks for.
enum class CountOp : std::uint8_t {
    tick,    ///< "166667", "-50": move the counter, then tick.
    advance, ///< "+5000": move the counter only.
    stop,    ///< "S"
    start,   ///< "G"
    reset,   ///< "R": timer and accumulator.
    rebase,  ///< "B": the gap is booked as dropped.
};

struct CountToken {
    CountOp op = CountOp::tick;
    std::int64_t counts = 0; ///< For tick and advance; else 0.

    friend bool operator==(const CountToken&, const CountToken&) = default;
};

/// Why a stream is refused.
enum class StreamFault : std::uint8_t {
    empty_stream,     ///< No token at all.
    empty_line,       ///< A line without a token.
    carriage_return,  ///< Lines end in LF alone.
    unknown_token,    ///< Neither a number nor one of S G R B.
    number_too_large, ///< The number does not fit the counter's range.
    counter_overflow, ///< The running count would leave -counts_max..counts_max.
    too_many_tokens,  ///< More than count_tokens_max.
};

/// Names the fault in a short English phrase. The text lives as long as the program.
[[nodiscard]] std::string_view to_string(StreamFault fault) noexcept;

/// A refused stream: where and what.
struct StreamError {
    StreamFault fault = StreamFault::empty_stream;
    std::size_t line = 1;        ///< From 1.
    std::size_t byte_offset = 0; ///< Of the line's first byte.
    std::string token;           ///< At most 40 bytes of it; what is not printable shows as '?'.
};

/// Most tokens in a stream: 19 hours at 60 Hz, 64 MiB in memory.
inline constexpr std::size_t count_tokens_max = std::size_t{1} << 22;

/// Reads a stream: one token a line, LF line ends, the last one optional, nothing else.
/// Errors: any StreamFault; the first bad line wins. Memory is bounded by count_tokens_max.
/// Determinism: pure.
[[nodiscard]] tl::expected<std::vector<CountToken>, StreamError>
parse_count_stream(std::string_view text);

/// One frame of a played stream. What is not called total is about this frame alone.
struct FrameRow {
    std::int64_t raw_counts = 0;     ///< Unclamped; 0 while stopped or when the counter went back.
    std::int64_t delta_counts = 0;   ///< Clamped.
    double delta_seconds = 0.0;      ///< Clamped.
    std::int64_t total_counts = 0;   ///< Active time since the last reset.
    double total_seconds = 0.0;      ///< The same.
    std::int64_t steps = 0;          ///< Steps to run.
    double alpha = 0.0;              ///< After those steps, in [0, 1).
    float alpha_float = 0.0F;        ///< The same for a renderer.
    std::int64_t dropped_steps = 0;  ///< Taken by the cap.
    std::int64_t dropped_counts = 0; ///< Taken by the clamp.
    std::int64_t owed_steps = 0;     ///< Waiting (lockstep only).
    std::uint64_t regressions = 0;   ///< Readings below the high-water mark since the row before.
    std::uint64_t regressions_total = 0; ///< The same since the last reset.
};

/// Plays tokens one at a time, in constant memory.
/// Thread: one owner. Determinism: pure.
class CountPlayer {
public:
    /// The counter starts at 0 with `step`'s frequency; the delta clamp is `step`'s too.
    explicit CountPlayer(const FixedStep& step);
    CountPlayer(const CountPlayer&) = delete;
    CountPlayer& operator=(const CountPlayer&) = delete;

    /// Applies one token; gives a row when it was a tick.
    /// Requires that the counter stays in range, as parse_count_stream() checks.
    [[nodiscard]] std::optional<FrameRow> play(const CountToken& token);

    [[nodiscard]] const GameTimer& timer() const noexcept { return timer_; }

    [[nodiscard]] const FixedStep& step() const noexcept { return step_; }

private:
    [[nodiscard]] FrameRow tick();

    FixedStep step_;
    ManualCounter counter_;
    GameTimer timer_;
    std::uint64_t regressions_seen_ = 0;
};

/// Plays a whole stream and gives one row a tick token.
/// Errors: those of FixedStep::create.
/// Requires tokens as parse_count_stream() gives them.
[[nodiscard]] tl::expected<std::vector<FrameRow>, ConfigError>
play_count_stream(const std::vector<CountToken>& tokens, const FixedStepConfig& config);

} // namespace twinstep::timer
