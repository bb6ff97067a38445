// SPDX-License-Identifier: MIT
// twinstep fork: a branch of a recording, played on with other inputs.
#include "edit_output.hpp"
#include "options.hpp"
#include "recordings.hpp"
#include "sources.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/manifest.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t endless_seconds = 60;

struct ForkOptions {
    std::string input;
    std::string output;
    std::uint64_t at = 0;
    std::string from;
    std::optional<std::uint64_t> ticks;
};

/// What the branch goes on with; without --from nothing. Errors: those of find_game and
/// open_source; wrong_slots.
Result<std::optional<OpenedSource>>
open_branch(const Context& context, const ForkOptions& options, const replay::Reader& recording) {
    if (options.from.empty()) {
        return std::optional<OpenedSource>();
    }
    const Result<Setup> setup = setup_of(recording.manifest());
    if (!setup) {
        return fail(setup.error());
    }
    const auto entry = context.find_game(recording.manifest().at("sim.id"));
    if (!entry) {
        return fail(entry.error());
    }
    auto opened = open_source(**entry, options.from, setup->slots);
    if (!opened) {
        return fail(opened.error());
    }
    if (opened->setup && opened->setup->slots != setup->slots) {
        return fail(Error(SimErrc::wrong_slots,
                          fmt::format("--from {}", options.from),
                          fmt::format("the source has {} slots, the recording {}",
                                      opened->setup->slots,
                                      setup->slots)));
    }
    return std::optional(std::move(*opened));
}

Exit finish(Context& context,
            const ForkOptions& options,
            const replay::EditReport& report,
            const std::optional<OpenedSource>& branch) {
    Json answer = edit_answer(options.output, report);
    answer["forked_at"] = json_integer(options.at);
    answer["new_ticks"] = json_integer(report.end.value - options.at);
    answer["loss"] = branch ? branch->loss : "";
    context.print(answer);
    context.say(fmt::format("{}, of which {} are new",
                            edit_line(options.output, report),
                            report.end.value - options.at));
    if (branch && !branch->remark.empty()) {
        Context::note(branch->remark);
    }
    if (branch && !branch->loss.empty()) {
        Context::note(branch->loss);
        return Exit::loss;
    }
    return Exit::done;
}

Exit fork(Context& context, const ForkOptions& options) {
    auto recording = open_recording(context, options.input);
    if (!recording) {
        return Context::refuse(recording.error());
    }
    const auto branch = open_branch(context, options, recording->reader);
    if (!branch) {
        return Context::refuse_option(branch.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const TickRate rate = recording->simulation->info().tick_rate;
    replay::ForkInputs inputs;
    if (*branch) {
        inputs.source = (*branch)->source.get();
        // A source that ends does so by itself.
        const std::uint64_t most =
            (*branch)->ticks ? UINT64_MAX : endless_seconds * rate.num / rate.den;
        inputs.ticks = options.ticks.value_or(most);
    }
    const replay::ReadableRecording source = readable(options.input);
    replay::EditOptions edit_options;
    edit_options.side_file = found_side_file(options.input);
    std::optional<ProgressLine> progress(std::in_place);
    edit_options.progress = [&progress](std::uint64_t ticks) {
        progress->draw(fmt::format("{} ticks played", ticks), ticks, "ticks");
    };
    const auto report = replay::fork_at(
        *recording->simulation, source, Tick{options.at}, inputs, std::move(*sink), edit_options);
    progress.reset();
    if (!report) {
        const Exit exit = Context::refuse(located(report.error(), options.input));
        // A range beyond the recording is a matter of the options.
        return report.error().code == replay::Errc::wrong_tick ? Exit::usage : exit;
    }
    if (report->divergence) {
        return refuse_divergence(context, options.input, *report->divergence);
    }
    const std::array parts{CopiedPart{source, report->first, Tick{options.at}}};
    const auto fresh = recording->simulation->make_another();
    if (auto same = read_back(beside.path(), parts, fresh.get()); !same) {
        return Context::refuse(same.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    return finish(context, options, *report, *branch);
}

} // namespace

void declare_fork(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "fork",
                     "Branch off a recording and play on with other inputs",
                     "twinstep fork bot.twin --at 1000 -o branch.twin --from bot:9 --ticks 500");
    auto options = std::make_shared<ForkOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.add_option("--at", options->at, "Tick at which the branch begins")
        ->required()
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    auto* from = verb.add_option(
        "--from", options->from, "Source of the inputs from there on; default: it ends there");
    from->check(not_empty());
    verb.add_option("--ticks", options->ticks, "New ticks; default: to the source's end, or 60 s")
        ->needs(from)
        ->transform(whole_number(0, UINT64_MAX));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return fork(c, *options); }; });
}

} // namespace twinstep::tools
