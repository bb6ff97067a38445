// SPDX-License-Identifier: MIT
// Cadences and the loop that follows them.
#include "frame_loop.hpp"

#include "parsed_number.hpp"
#include "text_file.hpp"

#include "twinstep/timer/fixed_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t rate_hz_max = 100'000;
constexpr std::uint64_t count_file_bytes_max = std::uint64_t{64} << 20;
// A loop whose frames never carry time (a stream of zeros) would never end.
constexpr std::uint64_t idle_frames_max = 10'000'000;

Error bad_cadence(const std::string& text) {
    return Error(
        SimErrc::bad_setup,
        fmt::format("--frames {}", text),
        fmt::format("use a rate of 1 to {}, unlimited, jitter:SEED or counts:FILE", rate_hz_max));
}

Error timer_error(std::string_view field, std::string_view reason) {
    return Error(SimErrc::bad_setup, std::string(field), std::string(reason));
}

} // namespace

Result<std::vector<timer::CountToken>> read_count_stream(const std::string& path) {
    const auto text = read_text_file(path, count_file_bytes_max);
    if (!text) {
        return fail(text.error());
    }
    auto tokens = timer::parse_count_stream(*text);
    if (!tokens) {
        const timer::StreamError& error = tokens.error();
        std::string detail(to_string(error.fault));
        if (!error.token.empty()) {
            detail += fmt::format(": {}", error.token);
        }
        return fail(Error(SimErrc::malformed, fmt::format("line {}", error.line), detail)
                        .in(path)
                        .at(error.byte_offset));
    }
    return std::move(*tokens);
}

Result<Cadence> Cadence::parse(const std::string& text) {
    Cadence cadence;
    if (text == "unlimited") {
        return cadence;
    }
    if (text.starts_with("jitter:")) {
        const auto seed = parsed_number<std::uint64_t>(std::string_view(text).substr(7));
        if (!seed) {
            return fail(bad_cadence(text));
        }
        cadence.kind_ = Kind::jitter;
        cadence.seed_ = *seed;
        return cadence;
    }
    if (text.starts_with("counts:") && text.size() > 7) {
        auto tokens = read_count_stream(text.substr(7));
        if (!tokens) {
            return fail(tokens.error());
        }
        cadence.kind_ = Kind::stream;
        cadence.frequency_hz_ = 10'000'000;
        cadence.tokens_ = std::move(*tokens);
        return cadence;
    }
    const auto rate = parsed_number<std::uint64_t>(text);
    if (!rate || *rate == 0 || *rate > rate_hz_max) {
        return fail(bad_cadence(text));
    }
    cadence.kind_ = Kind::rate;
    cadence.rate_hz_ = *rate;
    return cadence;
}

timer::CountToken Cadence::next() {
    const std::uint64_t frame = frame_++;
    const auto frequency = static_cast<std::uint64_t>(frequency_hz_);
    switch (kind_) {
    case Kind::rate: {
        // Frame n is due at floor(n / rate): absolute, so that rounding never adds up.
        const auto due = [&](std::uint64_t n) { return n * frequency / rate_hz_; };
        return {timer::CountOp::tick, static_cast<std::int64_t>(due(frame + 1) - due(frame))};
    }
    case Kind::jitter: {
        Random random(seed_, Tick{frame});
        const bool stall = random.below(97) == 0;
        const std::uint32_t micros =
            stall ? 200'000 + random.below(1'800'000) : 1'000 + random.below(40'000);
        return {timer::CountOp::tick, static_cast<std::int64_t>(micros) * 1000};
    }
    case Kind::stream:
        return tokens_[static_cast<std::size_t>(frame % tokens_.size())];
    case Kind::unlimited:
        break;
    }
    return {};
}

namespace {

/// One call, as many ticks as there are: for people who wait for the result.
Result<LoopReport> run_unlimited(const Advancer& advancer, const LoopOptions& options) {
    LoopReport report;
    while (report.ticks < options.ticks_max && !report.ended) {
        const auto advance = advancer(options.ticks_max - report.ticks);
        if (!advance) {
            return fail(advance.error());
        }
        report.ticks += advance->ticks;
        report.frames += 1;
        report.ended = advance->state != DriverState::running;
    }
    return report;
}

Result<timer::FixedStep>
make_fixed_step(const Cadence& cadence, TickRate rate, const LoopOptions& options) {
    // What is beyond the timer's own scale is as many times the rate.
    const auto times = static_cast<std::int64_t>(std::max(1.0, std::ceil(options.speed / 4.0)));
    const timer::FixedStepConfig config{
        .frequency_hz = cadence.frequency_hz(),
        .rate_hz = {rate.num * times, rate.den},
        // A tick of a slow simulation may be longer than the usual quarter of a second.
        .max_frame_seconds = std::uint64_t{rate.den} * 4 > rate.num
                                 ? timer::Rational{std::int64_t{rate.den} * 2, rate.num}
                                 : timer::Rational{1, 4},
        .max_steps = timer::FixedStepConfig{}.max_steps * times};
    auto step = timer::FixedStep::create(config);
    if (!step) {
        return fail(timer_error(step.error().field, step.error().reason()));
    }
    if (options.speed != 1.0) {
        if (auto scaled = step->set_time_scale(options.speed / static_cast<double>(times));
            !scaled) {
            return fail(timer_error("--speed", scaled.error().reason()));
        }
    }
    return *step;
}

} // namespace

Result<LoopReport> run_loop(Driver& driver, Cadence& cadence, const LoopOptions& options) {
    return run_loop([&driver](std::uint64_t ticks) { return driver.advance(ticks); },
                    driver.simulation().info().tick_rate,
                    cadence,
                    options);
}

Result<LoopReport>
run_loop(const Advancer& advancer, TickRate rate, Cadence& cadence, const LoopOptions& options) {
    if (cadence.unlimited()) {
        return run_unlimited(advancer, options);
    }
    auto step = make_fixed_step(cadence, rate, options);
    if (!step) {
        return fail(step.error());
    }
    timer::CountPlayer player(*step);
    LoopReport report;
    std::uint64_t idle_frames = 0;
    const auto start = std::chrono::steady_clock::now();
    while (report.ticks < options.ticks_max && !report.ended) {
        const auto row = player.play(cadence.next());
        idle_frames = row && row->steps > 0 ? 0 : idle_frames + 1;
        if (idle_frames > idle_frames_max) {
            return fail(Error(SimErrc::bad_setup, "--frames", "the frames never carry any time"));
        }
        if (!row) {
            continue;
        }
        if (options.real_time) {
            std::this_thread::sleep_until(
                start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(row->total_seconds)));
        }
        const auto wanted =
            std::min(static_cast<std::uint64_t>(row->steps), options.ticks_max - report.ticks);
        const auto advance = advancer(wanted);
        if (!advance) {
            return fail(advance.error());
        }
        report.ticks += advance->ticks;
        report.frames += 1;
        report.dropped_ticks += static_cast<std::uint64_t>(row->dropped_steps);
        report.ended = advance->state == DriverState::ended;
    }
    return report;
}

} // namespace twinstep::tools
