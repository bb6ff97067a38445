// SPDX-License-Identifier: MIT
// Reads reports that may be anything, and joins those that are parts of one whole.
#include "merged_reports.hpp"

#include "text_file.hpp"
#include "verification_files.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t report_bytes_max = std::uint64_t{64} << 20;
constexpr std::size_t shards_max = 1'000'000;

tl::unexpected<Error> not_a_report(std::string field, std::string why) {
    return fail(Error(replay::Errc::bad_text, std::move(field), std::move(why)));
}

/// A number, as number or as text of digits.
Result<std::uint64_t> report_number(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number_unsigned()) {
        return found->get<std::uint64_t>();
    }
    if (found != object.end() && found->is_string()) {
        const std::string& text = found->get_ref<const std::string&>();
        std::uint64_t value = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc{} && stop == text.data() + text.size()) {
            return value;
        }
    }
    return not_a_report(key, "a whole number is wanted");
}

bool is_plain(const Json& value) {
    const auto is_text = [](const Json& one) { return one.is_string(); };
    return value.is_string() || value.is_number_unsigned() ||
           (value.is_array() && std::all_of(value.begin(), value.end(), is_text));
}

/// A list of objects that can be handed on without another look.
Result<Json> report_entries(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array()) {
        return not_a_report(key, "a list is wanted");
    }
    for (const Json& entry : *found) {
        const bool plain = entry.is_object() && entry.contains("file") &&
                           entry["file"].is_string() &&
                           std::all_of(entry.begin(), entry.end(), is_plain);
        if (!plain) {
            return not_a_report(key, "an entry is not as verify wrote it");
        }
    }
    return *found;
}

/// The exit code that the entries of a JSON report lead to; it is part of the report as well.
Result<Exit> exit_of_entries(const ShardReport& report) {
    Exit exit = report.files == 0 ? Exit::nothing_checked : Exit::done;
    for (const Json& failure : report.failures) {
        const Result<std::uint64_t> code = report_number(failure, "exit");
        if (!code || *code == 0 || *code > static_cast<std::uint64_t>(Exit::nothing_checked)) {
            return not_a_report("failures", "an exit code is none");
        }
        exit = graver(static_cast<Exit>(*code), exit);
    }
    return report.divergences.empty() ? exit : Exit::divergence;
}

Result<void> read_numbers(const Json& object, ShardReport& report) {
    const auto shard = object.find("shard");
    if (shard == object.end() || !shard->is_object() || !shard->contains("list") ||
        !(*shard)["list"].is_string()) {
        return not_a_report("shard", "it does not say which shard it is: made by another version?");
    }
    std::uint64_t files = 0;
    std::uint64_t index = 0;
    std::uint64_t count = 0;
    std::uint64_t all = 0;
    std::uint64_t exit = 0;
    const std::pair<const char*, std::uint64_t*> own[] = {
        {"files", &files},
        {"ticks", &report.ticks},
        {"hashes_checked", &report.hashes_checked},
        {"segments", &report.segments},
        {"exit", &exit}};
    const std::pair<const char*, std::uint64_t*> whole[] = {
        {"index", &index}, {"count", &count}, {"files", &all}};
    for (const auto& [key, value] : own) {
        const Result<std::uint64_t> number = report_number(object, key);
        if (!number) {
            return fail(number.error());
        }
        *value = *number;
    }
    for (const auto& [key, value] : whole) {
        const Result<std::uint64_t> number = report_number(*shard, key);
        if (!number) {
            return fail(number.error());
        }
        *value = *number;
    }
    if (exit > static_cast<std::uint64_t>(Exit::nothing_checked)) {
        return not_a_report("exit", "no exit code of verify");
    }
    report.exit = static_cast<Exit>(exit);
    report.files = static_cast<std::size_t>(files);
    report.shard = {static_cast<std::size_t>(index),
                    static_cast<std::size_t>(count),
                    static_cast<std::size_t>(all),
                    (*shard)["list"].get<std::string>()};
    return {};
}

Result<ShardReport> parse_json_report(const std::string& text) {
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object()) {
        return not_a_report({}, "neither a JSON nor a JUnit report of verify");
    }
    ShardReport report;
    if (Result<void> numbers = read_numbers(object, report); !numbers) {
        return fail(numbers.error());
    }
    const std::pair<const char*, Json*> lists[] = {{"divergences", &report.divergences},
                                                   {"failures", &report.failures},
                                                   {"remarks", &report.remarks}};
    for (const auto& [key, list] : lists) {
        Result<Json> entries = report_entries(object, key);
        if (!entries) {
            return fail(entries.error());
        }
        *list = std::move(*entries);
    }
    const Result<Exit> exit = exit_of_entries(report);
    if (!exit) {
        return fail(exit.error());
    }
    if (*exit != report.exit) {
        return not_a_report("exit", "it is not what the entries come to");
    }
    return report;
}

/// The same for JUnit, whose cases have words instead of codes.
Result<ShardReport> parse_junit_report(const std::string& text) {
    Result<JunitReport> junit = parse_junit(text);
    if (!junit) {
        return fail(junit.error());
    }
    ShardReport report;
    report.is_junit = true;
    report.shard = junit->shard;
    report.exit = static_cast<Exit>(junit->exit);
    report.files = junit->cases.size();
    report.ticks = junit->ticks;
    report.hashes_checked = junit->hashes_checked;
    report.cases = std::move(junit->cases);
    const auto says = [&report](std::string_view verdict) {
        return std::any_of(
            report.cases.begin(), report.cases.end(), [verdict](const JunitCase& one) {
                return verdict.empty() ? !one.verdict.empty() : one.verdict == verdict;
            });
    };
    const bool failed = says({}) || report.files == 0;
    if (failed != (report.exit != Exit::done) ||
        says("divergence") != (report.exit == Exit::divergence)) {
        return not_a_report("exit", "it is not what the cases come to");
    }
    return report;
}

std::uint64_t saturated_sum(std::uint64_t left, std::uint64_t right) {
    return left > std::numeric_limits<std::uint64_t>::max() - right
               ? std::numeric_limits<std::uint64_t>::max()
               : left + right;
}

void join_entries(Json& whole, const Json& part) {
    whole.insert(whole.end(), part.begin(), part.end());
}

void sort_entries(Json& entries) {
    std::stable_sort(entries.begin(), entries.end(), [](const Json& left, const Json& right) {
        return left["file"].get_ref<const std::string&>() <
               right["file"].get_ref<const std::string&>();
    });
}

} // namespace

Result<ShardReport> read_shard_report(const std::string& path) {
    Result<std::string> text = read_text_file(path, report_bytes_max);
    if (!text) {
        return fail(text.error());
    }
    Result<ShardReport> report =
        text->starts_with("<?xml") ? parse_junit_report(*text) : parse_json_report(*text);
    if (!report) {
        return fail(std::move(report.error()).in(path));
    }
    report->path = path;
    const Shard& shard = report->shard;
    if (shard.index == 0 || shard.index > shard.count || shard.count > shards_max) {
        return fail(Error(replay::Errc::bad_text, "shard", "no such part of a whole").in(path));
    }
    if (report->files != files_of(shard)) {
        return fail(Error(replay::Errc::bad_text,
                          "files",
                          fmt::format("shard {}/{} of {} files has {} of them, not {}",
                                      shard.index,
                                      shard.count,
                                      shard.files,
                                      files_of(shard),
                                      report->files))
                        .in(path));
    }
    return report;
}

tl::expected<void, MergeRefusal> arrange_shards(std::vector<ShardReport>& reports) {
    const auto refuse = [](Exit exit, std::string why) {
        return tl::unexpected(MergeRefusal{exit, std::move(why)});
    };
    std::stable_sort(
        reports.begin(), reports.end(), [](const ShardReport& left, const ShardReport& right) {
            return left.shard.index < right.shard.index;
        });
    const ShardReport& first = reports.front();
    for (const ShardReport& report : reports) {
        if (report.is_junit != first.is_junit) {
            return refuse(Exit::usage,
                          fmt::format("{} and {}: one is JSON and one is JUnit: join them apart",
                                      first.path,
                                      report.path));
        }
        if (report.shard.count != first.shard.count || report.shard.files != first.shard.files ||
            report.shard.list != first.shard.list) {
            return refuse(Exit::usage,
                          fmt::format("{} and {}: shards of different lists: {} files in {} parts "
                                      "({}), {} files in {} parts ({})",
                                      first.path,
                                      report.path,
                                      first.shard.files,
                                      first.shard.count,
                                      first.shard.list,
                                      report.shard.files,
                                      report.shard.count,
                                      report.shard.list));
        }
    }
    std::uint64_t hashes = 0;
    Exit exit = Exit::done;
    for (std::size_t i = 0; i < first.shard.count; ++i) {
        if (i > 0 && i < reports.size() && reports[i].shard.index == reports[i - 1].shard.index) {
            return refuse(Exit::usage,
                          fmt::format("{} and {}: both are shard {}",
                                      reports[i - 1].path,
                                      reports[i].path,
                                      reports[i].shard.index));
        }
        if (i >= reports.size() || reports[i].shard.index != i + 1) {
            return refuse(
                Exit::nothing_checked,
                fmt::format("shard {}/{} is missing: its files were not checked, or its report "
                            "is not here",
                            i + 1,
                            first.shard.count));
        }
        hashes = saturated_sum(hashes, reports[i].hashes_checked);
        exit = graver(reports[i].exit, exit);
    }
    if (reports.size() > first.shard.count) {
        return refuse(Exit::usage,
                      fmt::format("{} and {}: both are shard {}",
                                  reports[first.shard.count - 1].path,
                                  reports.back().path,
                                  reports.back().shard.index));
    }
    // A report of nothing but failures is worth having; one of nothing at all is not.
    if (hashes == 0 && (exit == Exit::done || exit == Exit::nothing_checked)) {
        return refuse(Exit::nothing_checked, "nothing was checked: no report has a checked hash");
    }
    return {};
}

ShardReport join_shards(const std::vector<ShardReport>& reports) {
    ShardReport whole;
    whole.is_junit = reports.front().is_junit;
    whole.shard = {1, 1, reports.front().shard.files, reports.front().shard.list};
    whole.divergences = whole.failures = whole.remarks = Json::array();
    for (const ShardReport& report : reports) {
        // With fewer files than shards, some have none and say so; that is no fault of the whole.
        if (report.files != 0) {
            whole.exit = graver(report.exit, whole.exit);
        }
        whole.files += report.files;
        whole.ticks = saturated_sum(whole.ticks, report.ticks);
        whole.hashes_checked = saturated_sum(whole.hashes_checked, report.hashes_checked);
        whole.segments = saturated_sum(whole.segments, report.segments);
        if (!report.is_junit) {
            join_entries(whole.divergences, report.divergences);
            join_entries(whole.failures, report.failures);
            join_entries(whole.remarks, report.remarks);
        }
        whole.cases.insert(whole.cases.end(), report.cases.begin(), report.cases.end());
    }
    // In the order of the files, as one run has them.
    sort_entries(whole.divergences);
    sort_entries(whole.failures);
    sort_entries(whole.remarks);
    std::stable_sort(
        whole.cases.begin(), whole.cases.end(), [](const JunitCase& left, const JunitCase& right) {
            return left.name < right.name;
        });
    return whole;
}

Json shard_report_json(const ShardReport& report) {
    return {{"files", report.files},
            {"ticks", json_integer(report.ticks)},
            {"hashes_checked", json_integer(report.hashes_checked)},
            {"segments", json_integer(report.segments)},
            {"divergences", report.divergences},
            {"failures", report.failures},
            {"remarks", report.remarks},
            {"shard",
             {{"index", report.shard.index},
              {"count", report.shard.count},
              {"files", report.shard.files},
              {"list", report.shard.list}}},
            {"exit", static_cast<int>(report.exit)}};
}

std::string shard_report_text(const ShardReport& report) {
    if (!report.is_junit) {
        return to_text(shard_report_json(report), -1) + "\n";
    }
    return junit_text({report.shard,
                       static_cast<int>(report.exit),
                       report.ticks,
                       report.hashes_checked,
                       report.cases});
}

} // namespace twinstep::tools
