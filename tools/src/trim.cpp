// SPDX-License-Identifier: MIT
// twinstep trim: a part of a recording, as a recording of its own.
#include "edit_output.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

namespace twinstep::tools {

namespace {

struct TrimOptions {
    std::string input;
    std::string output;
    std::optional<std::uint64_t> from;
    std::optional<std::uint64_t> until;
};

std::optional<Tick> as_tick(const std::optional<std::uint64_t>& value) {
    return value ? std::optional(Tick{*value}) : std::nullopt;
}

Exit trim(Context& context, const TrimOptions& options) {
    auto simulation = known_game(context, options.input);
    if (!simulation) {
        return Context::refuse(simulation.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const replay::ReadableRecording source = readable(options.input);
    replay::EditOptions edit_options;
    edit_options.side_file = found_side_file(options.input);
    std::optional<ProgressLine> progress(std::in_place);
    edit_options.progress = [&progress](std::uint64_t ticks) {
        progress->draw(fmt::format("{} ticks played", ticks), ticks, "ticks");
    };
    const auto report = replay::trim(simulation->get(),
                                     source,
                                     as_tick(options.from),
                                     as_tick(options.until),
                                     std::move(*sink),
                                     edit_options);
    progress.reset();
    if (!report) {
        const Exit exit = Context::refuse(located(report.error(), options.input));
        // A range beyond the recording is a matter of the options.
        return report.error().code == replay::Errc::wrong_tick ? Exit::usage : exit;
    }
    if (report->divergence) {
        return refuse_divergence(context, options.input, *report->divergence);
    }
    const std::array parts{CopiedPart{source, report->first, report->end}};
    if (auto same = read_back(beside.path(), parts, simulation->get()); !same) {
        return Context::refuse(same.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    context.print(edit_answer(options.output, *report));
    context.say(edit_line(options.output, *report));
    return options.until
               ? Exit::done
               : exit_for_state(options.input, report->source_state, report->source_defects);
}

} // namespace

void declare_trim(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "trim",
                                  "Make a recording of a part of one",
                                  "twinstep trim bot.twin -o part.twin --from 600 --until 1200");
    auto options = std::make_shared<TrimOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.add_option("--from", options->from, "First tick that is kept; default: the first")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--until", options->until, "First tick that is not kept; default: the end")
        ->transform(whole_number(0, UINT64_MAX));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return trim(c, *options); }; });
}

} // namespace twinstep::tools
