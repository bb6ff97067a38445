// SPDX-License-Identifier: MIT
// twinstep timing: a raw counter stream through GameTimer and the accumulator, no clock involved.
#include "command.hpp"
#include "frame_loop.hpp"
#include "options.hpp"

#include "twinstep/timer/count_stream.hpp"
#include "twinstep/timer/fixed_step.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

struct TimingOptions {
    std::string counts;
    std::int64_t frequency_hz = 10'000'000;
    std::string rate = "60";
    std::string max_frame = "0.25";
    std::int64_t max_steps = 8;
    std::string phase = "zero";
    double scale = 1.0;
    bool defer = false;
};

Error bad_option(std::string_view option, std::string_view reason) {
    return Error(SimErrc::bad_setup, std::string(option), std::string(reason));
}

/// The option that sets a field of the configuration.
std::string_view option_of(std::string_view field) {
    return field == "frequency_hz"        ? "--frequency"
           : field == "rate_hz"           ? "--rate"
           : field == "max_frame_seconds" ? "--max-frame"
           : field == "max_steps"         ? "--max-steps"
                                          : field;
}

Result<timer::FixedStep> configure(const TimingOptions& options) {
    const auto rate = timer::parse_rational(options.rate);
    if (!rate) {
        return fail(bad_option("--rate", rate.error().reason()));
    }
    const auto max_frame = timer::parse_rational(options.max_frame);
    if (!max_frame) {
        return fail(bad_option("--max-frame", max_frame.error().reason()));
    }
    auto step = timer::FixedStep::create(
        {.frequency_hz = options.frequency_hz,
         .rate_hz = *rate,
         .max_frame_seconds = *max_frame,
         .max_steps = options.max_steps,
         .phase = options.phase == "half" ? timer::Phase::half : timer::Phase::zero,
         .overload = options.defer ? timer::Overload::lockstep_owes_steps
                                   : timer::Overload::realtime_drops_steps});
    if (!step) {
        return fail(bad_option(option_of(step.error().field), step.error().reason()));
    }
    if (auto scaled = step->set_time_scale(options.scale); !scaled) {
        return fail(bad_option("--scale", scaled.error().reason()));
    }
    return *step;
}

Json row_json(const timer::FrameRow& row) {
    return {{"raw_counts", std::to_string(row.raw_counts)},
            {"delta_seconds", row.delta_seconds},
            {"total_seconds", row.total_seconds},
            {"steps", row.steps},
            {"alpha", row.alpha},
            {"dropped_steps", row.dropped_steps},
            {"dropped_counts", std::to_string(row.dropped_counts)},
            {"regressions", row.regressions}};
}

Exit play_counts(Context& context, const TimingOptions& options) {
    const auto step = configure(options);
    if (!step) {
        Context::refuse(step.error());
        return Exit::usage;
    }
    const auto tokens = read_count_stream(options.counts);
    if (!tokens) {
        return Context::refuse(tokens.error());
    }
    timer::CountPlayer player(*step);
    context.say(
        "     raw counts      delta s       total s  steps     alpha  dropped  regressions");
    std::uint64_t frames = 0;
    for (const timer::CountToken& token : *tokens) {
        const auto row = player.play(token);
        if (row) {
            ++frames;
            context.print(row_json(*row));
            context.say(fmt::format("{:>15} {:>12.9f} {:>13.9f} {:>6} {:>9.6f} {:>8} {:>12}",
                                    row->raw_counts,
                                    row->delta_seconds,
                                    row->total_seconds,
                                    row->steps,
                                    row->alpha,
                                    row->dropped_steps,
                                    row->regressions));
        }
    }
    if (frames == 0) {
        Context::note(fmt::format("{}: no frame: the stream has no delta", options.counts));
        return Exit::nothing_checked;
    }
    return Exit::done;
}

} // namespace

void declare_timing(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "timing",
                     "Play a counter stream through the timer; one row (object) a frame",
                     "twinstep timing --counts frames.txt --frequency 10000000 --rate 60");
    auto options = std::make_shared<TimingOptions>();
    verb.add_option("--counts", options->counts, "Stream: one token a line")
        ->required()
        ->check(not_empty());
    verb.add_option("--frequency", options->frequency_hz, "Counts per second")
        ->transform(whole_number(1, INT64_MAX))
        ->capture_default_str();
    verb.add_option("--rate", options->rate, "Steps per second, N or N/D")->capture_default_str();
    verb.add_option("--max-frame", options->max_frame, "Longest credited frame in seconds")
        ->capture_default_str();
    verb.add_option("--max-steps", options->max_steps, "Most steps a frame")
        ->transform(whole_number(1, INT64_MAX))
        ->capture_default_str();
    verb.add_option("--phase", options->phase, "Where the first step is due")
        ->check(CLI::IsMember({"zero", "half"}))
        ->capture_default_str();
    verb.add_option("--scale", options->scale, "Time scale, 0.1 to 4")->capture_default_str();
    verb.add_flag("--defer", options->defer, "Lockstep: steps over the cap wait, none is dropped");
    verb.callback([&action, options] {
        action = [options](Context& c) { return play_counts(c, *options); };
    });
}

} // namespace twinstep::tools
