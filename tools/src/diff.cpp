// SPDX-License-Identifier: MIT
// twinstep diff: the first differing tick, section and field of two recordings or evidence bundles.
#include "command.hpp"
#include "diff_evidence.hpp"
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

Exit diff(Context& context, const DiffOptions& options) {
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
