// SPDX-License-Identifier: MIT
// twinstep concat: joins recordings of which each goes on where the one before it ends.
#include "edit_output.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace twinstep::tools {

namespace {

struct ConcatOptions {
    std::vector<std::string> inputs;
    std::string output;
};

Exit concat(Context& context, const ConcatOptions& options) {
    std::vector<replay::ReadableRecording> sources;
    for (const std::string& input : options.inputs) {
        sources.push_back(readable(input));
    }
    auto simulation = known_game(context, options.inputs.front());
    if (!simulation) {
        return Context::refuse(simulation.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const auto report = replay::concat(sources, std::move(*sink));
    if (!report) {
        const Exit exit = Context::refuse(report.error());
        return report.error().code == replay::Errc::wrong_tick ? Exit::incompatible : exit;
    }
    std::vector<CopiedPart> parts;
    Tick from = report->first;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        // Where one ends the next begins: concat has made sure of it.
        Tick until = report->end;
        if (i + 1 < sources.size()) {
            const auto next = sources[i + 1].open();
            if (!next) {
                return Context::refuse(next.error());
            }
            until = next->next_tick();
        }
        parts.push_back({sources[i], from, until});
        from = until;
    }
    if (auto same = read_back(beside.path(), parts, simulation->get()); !same) {
        return Context::refuse(same.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    Json answer = edit_answer(options.output, *report);
    answer["parts"] = options.inputs.size();
    context.print(answer);
    context.say(edit_line(options.output, *report));
    return exit_for_state(options.inputs.back(), report->source_state, report->source_defects);
}

} // namespace

void declare_concat(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "concat",
                                  "Join recordings that go on where the one before ends",
                                  "twinstep concat first.twin second.twin -o whole.twin");
    auto options = std::make_shared<ConcatOptions>();
    verb.add_option("file", options->inputs, "Recordings, in their order")
        ->required()
        ->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return concat(c, *options); }; });
}

} // namespace twinstep::tools
