// SPDX-License-Identifier: MIT
// twinstep diff: the first differing tick, section and field of two recordings, or what differs in
// two evidence bundles.
#include "command.hpp"
#include "evidence.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/difference.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

struct DiffOptions {
    std::string left;
    std::string right;
};

Json side_by_side(const Divergence& divergence) {
    return {{"tick", json_integer(divergence.tick.value)},
            {"section", divergence.section},
            {"field", divergence.field},
            {"left", divergence.expected},
            {"right", divergence.actual}};
}

std::string describe(std::string_view what, const Divergence& divergence) {
    return fmt::format("{} differ at tick {}{}{}, field {}: left {}, right {}",
                       what,
                       divergence.tick.value,
                       divergence.section.empty() ? "" : ", section ",
                       divergence.section,
                       divergence.field,
                       divergence.expected,
                       divergence.actual);
}

/// Two files that are the same as far as they go are not proven the same if one is cut.
Exit wholeness(const DiffOptions& options) {
    for (const std::string& path : {options.left, options.right}) {
        const auto summary = replay::summarise(path);
        if (!summary) {
            return Context::refuse(summary.error());
        }
        const Exit exit = exit_for_state(path, summary->state, summary->defects);
        if (exit != Exit::done) {
            return exit;
        }
    }
    return Exit::done;
}

/// A simulation that stands where a bundle says.
Result<std::unique_ptr<Simulation>>
stand(const Context& context, const Evidence& evidence, const std::string& path) {
    const auto id = evidence.manifest.find("sim.id");
    const auto entry = context.find_game(id == evidence.manifest.end() ? "" : id->second);
    if (!entry) {
        return fail(located(
            Error(replay::Errc::incompatible_simulation, "sim.id", entry.error().detail), path));
    }
    std::unique_ptr<Simulation> simulation = (*entry)->make();
    const auto setup = setup_of(evidence.manifest);
    if (!setup) {
        return fail(located(setup.error(), path));
    }
    const auto differences =
        incompatibilities(evidence.manifest, make_manifest(simulation->info(), *setup));
    if (!differences.empty()) {
        const ManifestDifference& first = differences.front();
        return fail(located(
            Error(replay::Errc::incompatible_simulation,
                  first.key,
                  fmt::format("the bundle has {}, this command {}", first.expected, first.actual)),
            path));
    }
    if (const Result<void> reset = simulation->reset(*setup); !reset) {
        return fail(located(reset.error(), path));
    }
    if (const Result<void> loaded = simulation->load(evidence.snapshot); !loaded) {
        return fail(located(loaded.error(), path));
    }
    return simulation;
}

/// Two bundles of one tick: each is the state of one machine, and the first field that differs is
/// what went wrong first.
Exit diff_evidence(Context& context, const DiffOptions& options) {
    const auto left = read_evidence(options.left);
    const auto right = read_evidence(options.right);
    if (!left || !right) {
        return Context::refuse(left ? right.error() : left.error());
    }
    const auto left_simulation = stand(context, *left, options.left);
    const auto right_simulation = stand(context, *right, options.right);
    if (!left_simulation || !right_simulation) {
        return Context::refuse(left_simulation ? right_simulation.error()
                                               : left_simulation.error());
    }
    const auto differences = incompatibilities(left->manifest, right->manifest);
    if (!differences.empty() || left->tick != right->tick) {
        const bool ticks = differences.empty();
        return Context::refuse(Error(
            replay::Errc::incompatible_simulation,
            ticks ? "tick" : differences.front().key,
            fmt::format("left has {}, right {}",
                        ticks ? std::to_string(left->tick.value) : differences.front().expected,
                        ticks ? std::to_string(right->tick.value) : differences.front().actual)));
    }
    const auto difference = replay::compare_states(**left_simulation, **right_simulation);
    Json object{{"same", !difference}};
    if (difference) {
        object.update(side_by_side(*difference));
        context.say(describe("states", *difference));
    } else {
        context.say(fmt::format("the same state of tick {}", left->tick.value));
    }
    context.print(object);
    return difference ? Exit::divergence : Exit::done;
}

Exit diff(Context& context, const DiffOptions& options) {
    if (is_evidence(options.left) && is_evidence(options.right)) {
        return diff_evidence(context, options);
    }
    auto left = open_recording(context, options.left);
    if (!left) {
        return Context::refuse(left.error());
    }
    auto right = open_recording(context, options.right);
    if (!right) {
        return Context::refuse(right.error());
    }
    const auto difference = replay::first_difference(
        *left->simulation, *right->simulation, std::move(left->reader), std::move(right->reader));
    if (!difference) {
        Error error = difference.error();
        return Context::refuse(
            error.where.empty() ? std::move(error).in(options.left + ", " + options.right) : error);
    }
    Json object{{"same", difference->same()},
                {"ticks_left", json_integer(difference->ticks_left)},
                {"ticks_right", json_integer(difference->ticks_right)}};
    if (difference->input) {
        object["input"] = side_by_side(*difference->input);
        context.say(describe("inputs", *difference->input));
    }
    if (difference->state) {
        object.update(side_by_side(*difference->state));
        context.say(describe("states", *difference->state));
    }
    context.print(object);
    if (difference->same()) {
        context.say(fmt::format("the same: {} ticks", difference->ticks_left));
        if (difference->ticks_left == 0) {
            Context::note("nothing was checked: neither recording has a tick");
            return Exit::nothing_checked;
        }
        return wholeness(options);
    }
    if (!difference->input && !difference->state) {
        context.say(fmt::format("the same as far as both go: left has {} ticks, right {}",
                                difference->ticks_left,
                                difference->ticks_right));
    }
    return Exit::divergence;
}

} // namespace

void declare_diff(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(
        app,
        context,
        "diff",
        "First differing tick, section and field of two recordings or evidence bundles",
        "twinstep diff a.twin b.twin");
    auto options = std::make_shared<DiffOptions>();
    verb.add_option("left", options->left, "Recording, or evidence bundle")
        ->required()
        ->check(not_empty());
    verb.add_option("right", options->right, "Recording, or evidence bundle")
        ->required()
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return diff(c, *options); }; });
}

} // namespace twinstep::tools
