// SPDX-License-Identifier: MIT
// twinstep bisect: the fewest inputs with which a game still diverges, from itself or another
// build.
#include "twinstep/replay/bisect.hpp"

#include "bisect_against.hpp"
#include "edit_output.hpp"
#include "options.hpp"
#include "parsed_number.hpp"
#include "recorded_session.hpp"
#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/inputs.hpp"
#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace twinstep::tools {

namespace {

/// So many inputs are listed; how many there are is said in any case.
constexpr std::size_t listed_inputs_max = 1000;

struct BisectVerbOptions {
    std::string input;
    std::string output;
    std::string check;
    std::string against;
    std::uint64_t runs_max = UINT64_MAX;
    std::uint64_t seconds = 0; ///< 0: no limit.
};

/// "fork:K", "roundtrip:K" or "twice".
std::optional<replay::DivergenceCheck> parse_check(const std::string& text) {
    using Kind = replay::DivergenceCheck::Kind;
    if (text == "twice") {
        return replay::DivergenceCheck{Kind::twice, 1};
    }
    const std::size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    if (colon == std::string::npos || (kind != "fork" && kind != "roundtrip")) {
        return std::nullopt;
    }
    const auto every = parsed_number<std::uint64_t>(std::string_view(text).substr(colon + 1));
    if (!every || *every == 0) {
        return std::nullopt;
    }
    return replay::DivergenceCheck{kind == "fork" ? Kind::fork : Kind::round_trip, *every};
}

/// What is left, input by input, with the fields in which it differs from doing nothing.
Json list_inputs(const RecordedSession& session, const replay::InputChoice& choice) {
    Json list = Json::array();
    const auto neutral = replay::input_fields(*session.simulation, session.entry->neutral);
    for (const std::size_t index : choice.kept()) {
        if (list.size() == listed_inputs_max) {
            break;
        }
        const replay::InputAtom& atom = session.inputs.atoms()[index];
        Json line{{"tick", json_integer(atom.tick.value)}};
        TickFrame frame;
        if (!choice.frame(atom.tick, frame)) {
            continue;
        }
        if (atom.is_events) {
            line["events"] = frame.events().size();
        } else {
            line["slot"] = atom.slot.value;
            line["input"] = replay::to_hex(frame.input(atom.slot));
            Json fields = Json::object();
            const auto values = replay::input_fields(*session.simulation, frame.input(atom.slot));
            for (std::size_t i = 0; values && neutral && i < values->size(); ++i) {
                const replay::InputField& field = (*values)[i];
                if (i >= neutral->size() || (*neutral)[i].path != field.path ||
                    (*neutral)[i].value != field.value) {
                    fields[field.path] = field.value;
                }
            }
            line["fields"] = std::move(fields);
        }
        list.push_back(std::move(line));
    }
    return list;
}

std::string input_line(const Json& input) {
    std::string line = fmt::format("  tick {}", input["tick"].get<std::string>());
    if (input.contains("events")) {
        return line + fmt::format(", {} events", input["events"].get<std::size_t>());
    }
    line += fmt::format(", slot {}:", input["slot"].get<unsigned>());
    for (const auto& [path, value] : input["fields"].items()) {
        line += fmt::format(" {}={}", printable(path), printable(value.get<std::string>()));
    }
    return line;
}

void report_search(Context& context,
                   const BisectVerbOptions& options,
                   const replay::BisectReport& report,
                   const Json& inputs,
                   const replay::EditReport& written) {
    Json answer = edit_answer(options.output, written);
    answer["runs"] = json_integer(report.runs);
    answer["failed_runs"] = json_integer(report.failed_runs);
    answer["inputs_before"] = report.inputs_before;
    answer["inputs_kept"] = report.kept.size();
    answer["minimal"] = report.minimal;
    answer["divergence"] = to_json(*report.divergence);
    answer["inputs"] = inputs;
    context.print(answer);
    context.say(fmt::format("{}: {} of {} inputs, {} ticks, after {} runs",
                            options.output,
                            report.kept.size(),
                            report.inputs_before,
                            written.end.value - written.first.value,
                            report.runs));
    context.say(to_line(*report.divergence));
    for (const Json& input : inputs) {
        context.say(input_line(input));
    }
    if (inputs.size() < report.kept.size()) {
        context.say(fmt::format("  ... {} more", report.kept.size() - inputs.size()));
    }
    if (!report.minimal) {
        Context::note("the search ended at its limit: fewer inputs may do");
    }
}

/// Records what was kept, sees it go wrong once more, and gives it its name.
Exit write_result(Context& context,
                  const BisectVerbOptions& options,
                  const RecordedSession& session,
                  const replay::ChoiceTest& test,
                  OtherBuild* other,
                  replay::BisectReport report) {
    const replay::InputChoice choice(session.inputs, report.kept, report.until, report.replaced);
    const auto again = test(choice);
    if (!again || !*again || (*again)->tick != report.divergence->tick) {
        Context::note(
            fmt::format("{}: it does not diverge at tick {} each time: the search means nothing",
                        options.input,
                        report.divergence->tick.value));
        return Exit::failed;
    }
    report.divergence = **again;
    if (other != nullptr) {
        other->name_field(choice, *report.divergence);
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const auto written = replay::record_choice(*session.simulation, choice, std::move(*sink));
    if (!written) {
        return Context::refuse(located(written.error(), options.output));
    }
    if (auto same = read_back(beside.path(), {}, session.simulation->make_another().get()); !same) {
        return Context::refuse(same.error());
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    report_search(context, options, report, list_inputs(session, choice), *written);
    return Exit::done;
}

Exit search(Context& context,
            const BisectVerbOptions& options,
            const RecordedSession& session,
            const replay::ChoiceTest& test,
            OtherBuild* other) {
    std::optional<ProgressLine> progress(std::in_place);
    replay::BisectOptions limits;
    limits.runs_max = options.runs_max;
    limits.goes_on = [&](std::uint64_t runs, std::size_t inputs) {
        progress->draw(fmt::format("{} runs, {} inputs left", runs, inputs), runs, "runs");
        return options.seconds == 0 || progress->seconds() < static_cast<double>(options.seconds);
    };
    auto report = replay::find_inputs(session.inputs, test, limits);
    progress.reset();
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    if (!report->divergence) {
        context.print({{"file", Json()},
                       {"runs", json_integer(report->runs)},
                       {"divergence", Json()},
                       {"inputs_before", 0},
                       {"inputs_kept", 0}});
        Context::note(
            fmt::format("{}: does not diverge in {} ticks: there is nothing to search for",
                        options.input,
                        session.inputs.end().value - session.inputs.first().value));
        return Exit::nothing_checked;
    }
    return write_result(context, options, session, test, other, std::move(*report));
}

Exit bisect(Context& context, const BisectVerbOptions& options) {
    const auto check = parse_check(options.check);
    if (options.against.empty() && !check) {
        Context::note(fmt::format("--check {}: use fork:K, roundtrip:K or twice", options.check));
        return Exit::usage;
    }
    const auto session = open_recorded_session(context, options.input);
    if (!session) {
        return Context::refuse(session.error());
    }
    if (options.against.empty()) {
        const auto test = [&](const replay::InputChoice& choice) {
            return replay::run_check(*session->simulation, choice, *check);
        };
        return search(context, options, *session, test, nullptr);
    }
    auto other = OtherBuild::create(options.against, *session->simulation, options.seconds);
    if (!other) {
        return Context::refuse(other.error());
    }
    const auto test = [&other](const replay::InputChoice& choice) {
        return other->compare(choice);
    };
    return search(context, options, *session, test, &*other);
}

} // namespace

void declare_bisect(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "bisect",
                                  "Find the fewest inputs with which a game still diverges",
                                  "twinstep bisect long.twin -o short.twin --check fork:1");
    auto options = std::make_shared<BisectVerbOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    auto* how = verb.add_option_group("how", "What diverges");
    how->add_option("--check",
                    options->check,
                    "This build from itself: fork:K, roundtrip:K (every K ticks) or twice")
        ->check(not_empty());
    how->add_option("--against", options->against, "This build from another: the other command")
        ->check(not_empty());
    how->require_option(1);
    verb.add_option("--max-runs", options->runs_max, "Give up after so many sessions")
        ->transform(whole_number(1, UINT64_MAX));
    verb.add_option("--seconds", options->seconds, "Give up after so many seconds")
        ->transform(whole_number(1, 1'000'000));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return bisect(c, *options); }; });
}

} // namespace twinstep::tools
