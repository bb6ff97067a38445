// SPDX-License-Identifier: MIT
// Validators for the values of options: what is wrong, and what would be right; and a common
// default.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace twinstep::tools {

/// Decimal whole numbers from `low` to `high`, no sign, no other base. To be used with transform(),
/// because leading zeros are taken away: CLI11 would read them as octal.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// Threads that simulate, where nobody says how many: one a processor, four at most.
std::uint32_t default_workers();

/// Decimal numbers from `low` to `high`.
CLI::Validator number(double low, double high);

/// Any text but the empty one.
CLI::Validator not_empty();

} // namespace twinstep::tools
