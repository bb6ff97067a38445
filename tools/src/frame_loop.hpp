// SPDX-License-Identifier: MIT
// The real loop on virtual time: a cadence of frames, GameTimer, FixedStep, driver.
#pragma once

#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/random.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/timer/count_stream.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// When frames are drawn: a rate, `unlimited`, `jitter:SEED`, or the count stream of `counts:FILE`.
class Cadence {
public:
    /// Errors: bad_setup with the option's text; io_error for a file that cannot be read.
    static Result<Cadence> parse(const std::string& text);

    /// Counts per second of the stream: 10 MHz for a file, 1 GHz otherwise.
    std::int64_t frequency_hz() const { return frequency_hz_; }

    /// True if ticks are taken as fast as they come, without a timer.
    bool unlimited() const { return kind_ == Kind::unlimited; }

    /// What happens next on the counter. A file's stream starts over at its end.
    timer::CountToken next();

private:
    enum class Kind : std::uint8_t { rate, unlimited, jitter, stream };

    Kind kind_ = Kind::unlimited;
    std::int64_t frequency_hz_ = 1'000'000'000;
    std::uint64_t rate_hz_ = 60;
    std::uint64_t frame_ = 0;
    std::uint64_t seed_ = 0;
    std::vector<timer::CountToken> tokens_;
};

/// The count stream in a file of at most 64 MiB. Errors: io_error, limit_exceeded; malformed with
/// line and byte.
Result<std::vector<timer::CountToken>> read_count_stream(const std::string& path);

/// How a loop went.
struct LoopReport {
    std::uint64_t ticks = 0;
    std::uint64_t frames = 0;
    std::uint64_t dropped_ticks =
        0;              ///< Steps the cap took away: the session was slower, not shorter.
    bool ended = false; ///< The source had no more.
};

/// How to run a loop.
struct LoopOptions {
    std::uint64_t ticks_max = UINT64_MAX;
    double speed = 1.0;     ///< Time scale, 0.1 to 64.
    bool real_time = false; ///< Waits until each frame's time has come.
};

/// Runs the driver frame by frame until the source ends or ticks_max is reached.
/// Errors: the driver's; bad_setup for a rate or speed that cannot work.
Result<LoopReport> run_loop(Driver& driver, Cadence& cadence, const LoopOptions& options);

/// Takes up to so many ticks.
using Advancer = std::function<Result<Advance>(std::uint64_t ticks)>;

/// The same with whatever takes ticks at this rate.
Result<LoopReport>
run_loop(const Advancer& advancer, TickRate rate, Cadence& cadence, const LoopOptions& options);

} // namespace twinstep::tools
