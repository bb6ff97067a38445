// SPDX-License-Identifier: MIT
// twinstep keyframes: makes, takes away and checks the states that seeking starts from.
#include "twinstep/replay/keyframes.hpp"

#include "beside.hpp"
#include "command.hpp"
#include "options.hpp"
#include "parsed_number.hpp"
#include "player_session.hpp"
#include "recordings.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace twinstep::tools {

namespace {

using replay::KeyframeCodec;
using replay::KeyframedRecording;
using replay::KeyframesReport;

const std::map<std::string, KeyframeCodec> codecs{{"raw", KeyframeCodec::raw},
                                                  {"zero_runs", KeyframeCodec::zero_runs},
                                                  {"zstd", KeyframeCodec::zstd}};

struct KeyframeOptions {
    std::string input;
    std::string output; ///< Of add: empty means the side file.
    bool side = false;
    std::string every = "10s";
    std::string codec = "zero_runs";
    std::uint64_t whole_every = 8;
};

// --- "10s" or "600" ---

constexpr std::uint64_t every_max = 1'000'000'000;

/// The number of ticks that a text means, or nothing.
std::optional<std::uint64_t> ticks_of(std::string_view text, TickRate rate) {
    const bool seconds = text.ends_with('s');
    const auto value =
        parsed_number<std::uint64_t>(text.substr(0, text.size() - (seconds ? 1 : 0)));
    if (!value || *value == 0 || *value > every_max) {
        return std::nullopt;
    }
    const std::uint64_t ticks = seconds ? *value * rate.num / rate.den : *value;
    return ticks == 0 ? 1 : ticks;
}

CLI::Validator period_text() {
    const auto check = [](std::string& text) -> std::string {
        return ticks_of(text, TickRate(1))
                   ? ""
                   : fmt::format("\"{}\": use seconds as in 10s, or a number of ticks", text);
    };
    return CLI::Validator(check, "");
}

// --- what was made is read back before it gets its name ---

/// Loads every keyframe of what was written; each must be good.
Result<void> prove_keyframes(Simulation& simulation,
                             const std::string& path,
                             const std::string& side_file,
                             std::uint64_t expected) {
    auto reader = open_reader(path);
    if (!reader) {
        return fail(reader.error());
    }
    replay::KeyframedOptions options;
    options.side_file = side_file;
    auto recording = KeyframedRecording::open(std::move(*reader), options);
    if (!recording) {
        return fail(recording.error());
    }
    if (auto prepared = recording->prepare(simulation); !prepared) {
        return fail(prepared.error());
    }
    std::uint64_t good = 0;
    for (std::size_t i = 0; i < recording->keyframes().size(); ++i) {
        if (const auto loaded = recording->load(simulation, i); !loaded) {
            return loaded;
        }
        ++good;
    }
    if (good < expected || !recording->problems().empty()) {
        return fail(Error(replay::Errc::io_error, {}, "what was written does not read back"));
    }
    return {};
}

// --- add ---

struct MadeKeyframes {
    KeyframesReport report;
    std::uint64_t every_ticks = 0;
    bool packed = false;
};

/// A pass over the recording that writes side file or copy to `beside`.
Result<MadeKeyframes> make_keyframes(Context& context,
                                     const KeyframeOptions& options,
                                     std::unique_ptr<replay::FileSink> sink,
                                     std::unique_ptr<Simulation>& simulation) {
    auto recording = open_recording(context, options.input);
    if (!recording) {
        return fail(recording.error());
    }
    simulation = std::move(recording->simulation);
    MadeKeyframes made;
    // The option was found good when it was parsed.
    made.every_ticks = ticks_of(options.every, simulation->info().tick_rate).value_or(1);
    replay::AddKeyframesOptions add;
    add.every_ticks = made.every_ticks;
    add.form = {codecs.at(options.codec), options.whole_every};
    auto report =
        options.output.empty()
            ? write_side_file(*simulation, std::move(recording->reader), std::move(sink), add)
            : add_keyframes(*simulation, std::move(recording->reader), std::move(sink), add);
    if (!report) {
        return fail(located(std::move(report.error()), options.input));
    }
    made.report = std::move(*report);
    return made;
}

void report_added(Context& context,
                  const std::string& target,
                  const KeyframeOptions& options,
                  const MadeKeyframes& made) {
    const KeyframesReport& report = made.report;
    context.print({{"file", target},
                   {"ticks", json_integer(report.ticks)},
                   {"bytes", json_integer(report.bytes)},
                   {"keyframes", json_integer(report.keyframes)},
                   {"every_ticks", json_integer(made.every_ticks)},
                   {"codec", options.codec},
                   {"hashes_checked", json_integer(report.hashes_checked)},
                   {"problems", Json::array()}});
    context.say(fmt::format("{}: {} keyframes, one every {} ticks, {} bytes; {} hashes matched",
                            target,
                            report.keyframes,
                            made.every_ticks,
                            report.bytes,
                            report.hashes_checked));
}

Exit add(Context& context, const KeyframeOptions& options) {
    if (!replay::has_codec(codecs.at(options.codec))) {
        Context::note(fmt::format("--codec {}: this build has none: use zero_runs", options.codec));
        return Exit::incompatible;
    }
    if (auto regular = check_regular(options.input); !regular) {
        return Context::refuse(regular.error());
    }
    const bool side = options.output.empty();
    const std::string target = side ? replay::side_file_of(options.input) : options.output;
    Beside beside(target);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    std::unique_ptr<Simulation> simulation;
    const auto made = make_keyframes(context, options, std::move(*sink), simulation);
    if (!made) {
        return Context::refuse(made.error());
    }
    const KeyframesReport& report = made->report;
    if (report.divergence) {
        Context::note(fmt::format("{}: {}", options.input, to_line(*report.divergence)));
        return Exit::divergence;
    }
    if (!side && !report.defects.empty()) {
        // A copy of what is damaged would look whole.
        Context::note(fmt::format("{}: repair it first, or use a side file",
                                  to_string(report.defects.front().error)));
        return Exit::loss;
    }
    const auto proved =
        side ? prove_keyframes(*simulation, options.input, beside.path(), report.keyframes)
             : prove_keyframes(*simulation, beside.path(), {}, report.keyframes);
    if (!proved) {
        return Context::refuse(located(proved.error(), target));
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    report_added(context, target, options, *made);
    const auto state = replay::summarise(options.input);
    return state ? exit_for_state(options.input, state->state, state->defects)
                 : Context::refuse(state.error());
}

// --- strip ---

Exit strip(Context& context, const KeyframeOptions& options) {
    auto reader = open_reader(options.input);
    if (!reader) {
        return Context::refuse(reader.error());
    }
    Beside beside(options.output);
    auto sink = beside.create();
    if (!sink) {
        return Context::refuse(sink.error());
    }
    const auto report = replay::strip_keyframes(std::move(*reader), std::move(*sink));
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    if (!report->defects.empty()) {
        Context::note(fmt::format("{}: repair it first", to_string(report->defects.front().error)));
        return Exit::loss;
    }
    // The chain fixes every record, so equal chains and states are equal recordings.
    const auto source = replay::summarise(options.input);
    const auto made = replay::summarise(beside.path());
    if (!source || !made) {
        return Context::refuse(source ? made.error() : source.error());
    }
    if (made->chain != source->chain || made->ticks != source->ticks ||
        made->state != source->state) {
        return Context::refuse(
            Error(replay::Errc::io_error, {}, "what was written does not read back")
                .in(options.output));
    }
    if (auto renamed = beside.rename(); !renamed) {
        return Context::refuse(renamed.error());
    }
    context.print({{"file", options.output},
                   {"ticks", json_integer(report->ticks)},
                   {"bytes", json_integer(report->bytes)},
                   {"source_bytes", json_integer(source->bytes)},
                   {"keyframes", json_integer(report->keyframes)},
                   {"chain", to_hex(made->chain)}});
    context.say(fmt::format("{}: {} keyframes taken away, {} bytes from {}, chain {}",
                            options.output,
                            report->keyframes,
                            report->bytes,
                            source->bytes,
                            to_hex(made->chain)));
    return exit_for_state(options.input, source->state, source->defects);
}

// --- check ---

void report_checked(Context& context,
                    const KeyframeOptions& options,
                    const std::string& side_file,
                    const KeyframesReport& report,
                    std::size_t found) {
    Json problems = Json::array();
    for (const replay::KeyframeProblem& problem : report.problems) {
        problems.push_back(to_json(problem));
    }
    context.print({{"file", options.input},
                   {"side_file", side_file.empty() ? Json() : Json(side_file)},
                   {"ticks", json_integer(report.ticks)},
                   {"keyframes", json_integer(report.keyframes)},
                   {"keyframes_found", json_integer(found)},
                   {"hashes_checked", json_integer(report.hashes_checked)},
                   {"problems", problems}});
    context.say(fmt::format("{}{}: {} of {} keyframes good; {} ticks played, {} hashes compared",
                            options.input,
                            side_file.empty() ? "" : " with " + side_file,
                            report.keyframes,
                            found,
                            report.ticks,
                            report.hashes_checked));
}

Exit check(Context& context, const KeyframeOptions& options) {
    auto opened = open_recording(context, options.input);
    if (!opened) {
        return Context::refuse(opened.error());
    }
    const std::string side_file = found_side_file(options.input);
    replay::KeyframedOptions keyframed;
    keyframed.side_file = side_file;
    auto recording = KeyframedRecording::open(std::move(opened->reader), keyframed);
    if (!recording) {
        return Context::refuse(located(recording.error(), options.input));
    }
    const auto report = replay::check_keyframes(*opened->simulation, *recording);
    if (!report) {
        return Context::refuse(located(report.error(), options.input));
    }
    report_checked(context, options, side_file, *report, recording->keyframes().size());
    note_problems(*recording);
    if (report->divergence) {
        Context::note(fmt::format("{}: {}", options.input, to_line(*report->divergence)));
        return Exit::divergence;
    }
    if (!report->problems.empty()) {
        return Exit::loss;
    }
    if (recording->keyframes().empty()) {
        Context::note(
            fmt::format("{}: nothing was checked: there are no keyframes", options.input));
        return Exit::nothing_checked;
    }
    return exit_for_state(options.input, recording->state(), recording->defects());
}

void declare_add(CLI::App& keyframes, Context& context, Action& action) {
    CLI::App& verb = declare_verb(keyframes,
                                  context,
                                  "add",
                                  "Keep a state every so often, in a side file or in a copy",
                                  "twinstep keyframes add bot.twin --every 10s");
    auto options = std::make_shared<KeyframeOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    auto* output = verb.add_option(
        "-o,--output", options->output, "Copy with keyframes to create; it must not exist");
    output->check(not_empty());
    verb.add_flag("--side",
                  options->side,
                  "Into NAME.kf beside NAME.twin, which stays as it is (default)")
        ->excludes(output);
    verb.add_option("--every", options->every, "Time between two: seconds as in 10s, or ticks")
        ->check(period_text())
        ->capture_default_str();
    verb.add_option("--codec", options->codec, "How states are stored: raw, zero_runs or zstd")
        ->check(CLI::IsMember(codecs))
        ->capture_default_str();
    verb.add_option("--whole-every",
                    options->whole_every,
                    "Of so many one is whole, the others are differences from it")
        ->transform(whole_number(1, UINT64_MAX))
        ->capture_default_str();
    verb.callback(
        [&action, options] { action = [options](Context& c) { return add(c, *options); }; });
}

void declare_strip(CLI::App& keyframes, Context& context, Action& action) {
    CLI::App& verb = declare_verb(keyframes,
                                  context,
                                  "strip",
                                  "Write a copy without keyframes",
                                  "twinstep keyframes strip bot.twin -o bare.twin");
    auto options = std::make_shared<KeyframeOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return strip(c, *options); }; });
}

void declare_check_keyframes(CLI::App& keyframes, Context& context, Action& action) {
    CLI::App& verb = declare_verb(keyframes,
                                  context,
                                  "check",
                                  "Load every keyframe, and play from each to the next",
                                  "twinstep keyframes check bot.twin");
    auto options = std::make_shared<KeyframeOptions>();
    verb.add_option("file", options->input, "Recording")->required()->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return check(c, *options); }; });
}

} // namespace

void declare_keyframes(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "keyframes",
                                  "Add, strip or check the states that seeking starts from",
                                  "twinstep keyframes add bot.twin --every 10s");
    verb.require_subcommand(1);
    declare_add(verb, context, action);
    declare_strip(verb, context, action);
    declare_check_keyframes(verb, context, action);
}

} // namespace twinstep::tools
