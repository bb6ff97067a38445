// SPDX-License-Identifier: MIT
// Compares the inputs of two recordings for diff.
#include "diff_inputs.hpp"

#include "recordings.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <utility>

namespace twinstep::tools {

Result<InputDiff> diff_inputs(const Context& context,
                              const std::string& left,
                              const std::string& right,
                              std::uint64_t listed_max) {
    auto left_reader = open_reader(left);
    auto right_reader = open_reader(right);
    if (!left_reader || !right_reader) {
        return fail(left_reader ? right_reader.error() : left_reader.error());
    }
    const auto id_of = [](const replay::Reader& reader) {
        const auto id = reader.manifest().find("sim.id");
        return id == reader.manifest().end() ? std::string("(missing)") : id->second;
    };
    if (id_of(*left_reader) != id_of(*right_reader)) {
        return fail(
            Error(replay::Errc::incompatible_simulation,
                  "sim.id",
                  "left is '" + id_of(*left_reader) + "', right is '" + id_of(*right_reader) + "'")
                .in(left + ", " + right));
    }
    std::unique_ptr<Simulation> simulation;
    if (const auto entry = context.find_game(id_of(*left_reader))) {
        simulation = (*entry)->make();
    }
    InputDiff diff;
    const auto keep = [&](const replay::InputDifference& difference) {
        if (diff.listed.size() < listed_max) {
            diff.listed.push_back(difference);
        }
    };
    auto comparison = replay::compare_inputs(
        simulation.get(), std::move(*left_reader), std::move(*right_reader), keep);
    if (!comparison) {
        return fail(comparison.error());
    }
    diff.comparison = *comparison;
    return diff;
}

std::string summary_line(const replay::InputComparison& comparison) {
    return fmt::format("inputs differ at {} of {} ticks, in {} inputs and {} fields",
                       comparison.ticks_different,
                       comparison.ticks_compared,
                       comparison.slots_different,
                       comparison.fields_different);
}

Json to_json(const InputDiff& diff) {
    const replay::InputComparison& comparison = diff.comparison;
    Json list = Json::array();
    for (const replay::InputDifference& difference : diff.listed) {
        list.push_back({{"tick", json_integer(difference.tick.value)},
                        {"field", difference.field},
                        {"left", difference.left},
                        {"right", difference.right}});
    }
    return {{"ticks_compared", json_integer(comparison.ticks_compared)},
            {"ticks_different", json_integer(comparison.ticks_different)},
            {"inputs_different", json_integer(comparison.slots_different)},
            {"fields_different", json_integer(comparison.fields_different)},
            {"first_left", json_integer(comparison.left_first.value)},
            {"end_left", json_integer(comparison.left_end.value)},
            {"first_right", json_integer(comparison.right_first.value)},
            {"end_right", json_integer(comparison.right_end.value)},
            {"inputs", std::move(list)}};
}

} // namespace twinstep::tools
