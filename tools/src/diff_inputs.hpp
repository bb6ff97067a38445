// SPDX-License-Identifier: MIT
// The inputs in which two recordings differ.
#pragma once

#include "command.hpp"

#include "twinstep/replay/inputs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::tools {

/// How the inputs of two recordings compare, and the first differences field by field.
struct InputDiff {
    replay::InputComparison comparison;
    std::vector<replay::InputDifference> listed;
};

/// Compares without simulating; `listed_max` differences are kept. Errors: those of open_reader and
/// compare_inputs; incompatible_simulation for recordings of two games.
Result<InputDiff> diff_inputs(const Context& context,
                              const std::string& left,
                              const std::string& right,
                              std::uint64_t listed_max);

/// "inputs differ at 3 of 200 ticks, in 4 fields of 3 inputs".
std::string summary_line(const replay::InputComparison& comparison);

/// The counts, and `inputs[]` with what is listed.
Json to_json(const InputDiff& diff);

} // namespace twinstep::tools
