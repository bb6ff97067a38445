// SPDX-License-Identifier: MIT
// twinstep coverage: what of a state matters to the steps after it.
#include "twinstep/sim/coverage.hpp"

#include "command.hpp"
#include "edit_output.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace twinstep::tools {

namespace {

struct CoverageVerbOptions {
    std::string path;
    std::uint64_t at = 0;
    CoverageOptions measure;
};

Json to_json(const FieldCoverage& field) {
    return {{"section", field.section},
            {"field", field.field},
            {"changed", json_integer(field.changed)},
            {"noticed", json_integer(field.noticed)}};
}

/// The fields that `chosen` picks, as "section field".
template <class Chosen>
std::vector<std::string> names_of(const CoverageReport& report, Chosen chosen) {
    std::vector<std::string> names;
    for (const FieldCoverage& field : report.fields) {
        if (chosen(field)) {
            names.push_back(field.section + " " + field.field);
        }
    }
    return names;
}

void say_all(const Context& context, const char* what, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        context.say(fmt::format("  {}: {}", what, printable(name)));
    }
}

void report(const Context& context,
            const CoverageVerbOptions& options,
            const CoverageReport& found) {
    const auto unhashed = names_of(found, [](const auto& field) { return field.unhashed > 0; });
    const auto unnoticed =
        names_of(found, [](const auto& field) { return field.changed > 0 && field.noticed == 0; });
    const auto untried = names_of(found, [](const auto& field) { return field.changed == 0; });
    Json fields = Json::array();
    for (const FieldCoverage& field : found.fields) {
        fields.push_back(to_json(field));
    }
    context.print({{"file", options.path},
                   {"tick", json_integer(found.tick.value)},
                   {"ticks", json_integer(found.ticks)},
                   {"bytes", json_integer(found.bytes)},
                   {"samples", json_integer(found.samples)},
                   {"refused", json_integer(found.refused)},
                   {"reshaped", json_integer(found.reshaped)},
                   {"unhashed", unhashed},
                   {"unnoticed", unnoticed},
                   {"untried", untried},
                   {"fields", fields}});
    context.say(fmt::format(
        "{}: {} bits changed in the {} bytes of state {}, one at a time, and {} ticks played "
        "with each",
        options.path,
        found.samples,
        found.bytes,
        found.tick.value,
        found.ticks));
    say_all(context, "in no hash", unhashed);
    say_all(context, "noticed by nothing else", unnoticed);
    say_all(context, "not tried", untried);
    context.say(fmt::format("  {} of {} fields are noticed; {} changes were refused by the game, "
                            "{} changed a list's length",
                            found.fields.size() - unnoticed.size() - untried.size(),
                            found.fields.size(),
                            found.refused,
                            found.reshaped));
}

Exit measure(Context& context, CoverageVerbOptions options) {
    Result<Replay> replay = start_replay(context, options.path);
    if (!replay) {
        return Context::refuse(replay.error());
    }
    const Result<Advance> played = replay->driver.advance(options.at);
    if (!played) {
        return Context::refuse(located(played.error(), options.path));
    }
    if (played->ticks < options.at) {
        return Context::refuse_option(
            Error(SimErrc::wrong_tick,
                  fmt::format("--at {}", options.at),
                  fmt::format("{} has {} ticks", options.path, played->ticks)));
    }
    if (const auto& divergence = replay->playback.verdict().divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*divergence)));
        return Exit::divergence;
    }
    ProgressLine progress;
    options.measure.progress = [&](std::uint64_t made, std::uint64_t all) {
        progress.draw(fmt::format("{} of {} changes", made, all), made, "changes");
    };
    const Result<CoverageReport> found =
        measure_coverage(*replay->simulation, replay->playback.source(), options.measure);
    if (!found) {
        // At the end of a recording it is the option that asks for too much.
        const bool at_end = found.error().code == SimErrc::wrong_tick;
        return at_end ? Context::refuse_option(found.error())
                      : Context::refuse(located(found.error(), options.path));
    }
    report(context, options, *found);
    const bool none = found->samples == found->refused + found->reshaped;
    return none ? Exit::nothing_checked : Exit::done;
}

} // namespace

void declare_coverage(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "coverage",
                     "Which fields of the state matter: change bits, and see who notices",
                     "twinstep coverage bot.twin --at 100");
    auto options = std::make_shared<CoverageVerbOptions>();
    verb.add_option("file", options->path, "Recording")->required()->check(not_empty());
    verb.add_option("--at", options->at, "Tick whose state is changed, before its inputs")
        ->required()
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--ticks", options->measure.ticks, "Ticks played after each change")
        ->capture_default_str()
        ->transform(whole_number(1, 1'000'000));
    verb.add_option("--samples", options->measure.samples_max, "Bits that are changed")
        ->capture_default_str()
        ->transform(whole_number(1, 100'000'000));
    verb.add_option("--seed", options->measure.seed, "Which bits")
        ->capture_default_str()
        ->transform(whole_number(0, UINT64_MAX));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return measure(c, *options); }; });
}

} // namespace twinstep::tools
