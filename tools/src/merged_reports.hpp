// SPDX-License-Identifier: MIT
// Reports of shards, read back and joined into the report of one run over all files.
#pragma once

#include "command.hpp"
#include "junit_text.hpp"
#include "verification.hpp"

#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::tools {

/// What verify wrote of one shard, in either form.
struct ShardReport {
    std::string path;
    bool is_junit = false;
    Shard shard;
    Exit exit = Exit::done;
    std::size_t files = 0;
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    std::uint64_t segments = 0;   ///< JSON only.
    Json divergences;             ///< JSON only: objects of text, numbers and lists of text ...
    Json failures;                ///< ... each with a "file".
    Json remarks;                 ///< As these two.
    std::vector<JunitCase> cases; ///< JUnit only.
};

/// Why reports cannot be joined, and the exit code that says so.
struct MergeRefusal {
    Exit exit = Exit::usage;
    std::string why;
};

/// Reads a report. Errors: io_error, limit_exceeded; bad_text if it is neither of the two, or says
/// things that exclude each other.
Result<ShardReport> read_shard_report(const std::string& path);

/// Sorts the reports by shard. Refuses a missing shard (nothing_checked), one that is there twice,
/// reports of different lists or forms (usage), and reports that checked no hash (nothing_checked).
tl::expected<void, MergeRefusal> arrange_shards(std::vector<ShardReport>& reports);

/// One report: what verify would have written had it looked at all files. Requires that
/// arrange_shards let them pass.
ShardReport join_shards(const std::vector<ShardReport>& reports);

/// The JSON form of a report.
Json shard_report_json(const ShardReport& report);

/// The report as text, in its form.
std::string shard_report_text(const ShardReport& report);

} // namespace twinstep::tools
