// SPDX-License-Identifier: MIT
// twinstep diff: the first differing tick, section and field of two recordings or evidence bundles.
#include "command.hpp"
#include "diff_evidence.hpp"
#include "diff_inputs.hpp"
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
    bool inputs = false;
    std::uint64_t limit = 1000;
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

/// Two bundles: each is what one machine saw and computed.
Exit diff_bundles(Context& context, const DiffOptions& options) {
    const auto left = read_evidence(options.left);
    const auto right = read_evidence(options.right);
    if (!left || !right) {
        return Context::refuse(left ? right.error() : left.error());
    }
    const auto difference = compare_evidence(context, *left, *right);
    if (!difference) {
        return Context::refuse(located(difference.error(), options.left + ", " + options.right));
    }
    Json object{{"same", !difference->state}, {"ticks", json_integer(difference->ticks)}};
    if (difference->input_tick) {
        object["input_tick"] = json_integer(difference->input_tick->value);
        context.say(fmt::format("inputs differ at tick {}", difference->input_tick->value));
    }
    if (difference->state) {
        object.update(side_by_side(*difference->state));
        context.say(describe("states", *difference->state));
    }
    if (difference->shown && difference->shown != difference->state->tick) {
        object["shown_tick"] = json_integer(difference->shown->value);
        context.say(
            fmt::format("the field and its values are of tick {}", difference->shown->value));
    }
    context.print(object);
    if (difference->state) {
        return Exit::divergence;
    }
    if (difference->ticks == 0) {
        Context::note("nothing was checked: the bundles have no tick in common");
        return Exit::nothing_checked;
    }
    context.say(fmt::format("the same: {} ticks", difference->ticks));
    return Exit::done;
}

/// The inputs alone, field by field; nothing is simulated.
Exit list_inputs(Context& context, const DiffOptions& options) {
    const auto diff = diff_inputs(context, options.left, options.right, options.limit);
    if (!diff) {
        return Context::refuse(diff.error());
    }
    const replay::InputComparison& comparison = diff->comparison;
    const bool whole = comparison.left_first == comparison.right_first &&
                       comparison.left_end == comparison.right_end;
    const bool same = comparison.ticks_different == 0 && whole;
    Json object{{"same", same}};
    object.update(to_json(*diff));
    context.print(object);
    for (const replay::InputDifference& difference : diff->listed) {
        context.say(fmt::format("tick {}: {}: left {}, right {}",
                                difference.tick.value,
                                printable(difference.field),
                                printable(difference.left),
                                printable(difference.right)));
    }
    if (const std::uint64_t more = comparison.fields_different - diff->listed.size(); more > 0) {
        context.say(fmt::format("... and {} more; see --limit", more));
    }
    context.say(comparison.ticks_different == 0
                    ? fmt::format("the same inputs at {} ticks", comparison.ticks_compared)
                    : summary_line(comparison));
    if (!whole) {
        context.say(fmt::format("left has the ticks {} to {}, right {} to {}",
                                comparison.left_first.value,
                                comparison.left_end.value,
                                comparison.right_first.value,
                                comparison.right_end.value));
    }
    if (!same) {
        return Exit::divergence;
    }
    if (comparison.ticks_compared == 0) {
        Context::note("nothing was checked: the recordings have no tick in common");
        return Exit::nothing_checked;
    }
    return wholeness(options);
}

Exit diff(Context& context, const DiffOptions& options) {
    if (options.inputs) {
        return list_inputs(context, options);
    }
    if (is_evidence(options.left) && is_evidence(options.right)) {
        return diff_bundles(context, options);
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
    if (difference->input) {
        // The states part soon after the inputs; how far the inputs do, all of them tell.
        if (const auto all = diff_inputs(context, options.left, options.right, 0)) {
            object["input"]["ticks_different"] = json_integer(all->comparison.ticks_different);
            object["input"]["fields_different"] = json_integer(all->comparison.fields_different);
            context.say(summary_line(all->comparison) + "; see --inputs");
        }
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
    auto* inputs = verb.add_flag(
        "--inputs", options->inputs, "Compare inputs only, and list each field that differs");
    verb.add_option("--limit", options->limit, "Differences that are listed")
        ->needs(inputs)
        ->transform(whole_number(0, 10'000'000))
        ->capture_default_str();
    verb.callback(
        [&action, options] { action = [options](Context& c) { return diff(c, *options); }; });
}

} // namespace twinstep::tools
