// SPDX-License-Identifier: MIT
// Outcomes as text, JSON, JUnit, TAP and GitHub annotations.
#include "junit_text.hpp"
#include "merged_reports.hpp"
#include "verification.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twinstep::tools {

namespace {

/// GitHub's workflow commands use % as their escape; in a property, : and , end the value.
std::string escaped_github(std::string_view text, bool property) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '%' || (property && (c == ':' || c == ','))) {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out;
}

std::string as_text(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        text +=
            fmt::format("{:<12} {}: {} ticks, {} hashes checked{}\n",
                        outcome.exit == Exit::done ? "identical" : reason_of(outcome),
                        printable(outcome.path),
                        outcome.ticks,
                        outcome.hashes_checked,
                        outcome.segments == 0 ? std::string()
                                              : fmt::format(" in {} segments", outcome.segments));
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("             {}\n", printable(remark));
        }
    }
    return text;
}

std::string as_junit(const std::vector<Outcome>& outcomes, const Shard& shard) {
    JunitReport report;
    report.shard = shard;
    report.exit = static_cast<int>(overall_exit(outcomes));
    for (const Outcome& outcome : outcomes) {
        report.ticks += outcome.ticks;
        report.hashes_checked += outcome.hashes_checked;
        JunitCase& one = report.cases.emplace_back();
        one.name = outcome.path;
        if (outcome.exit == Exit::done) {
            continue;
        }
        one.verdict = verdict_of(outcome);
        one.message = reason_of(outcome);
        for (const std::string& remark : outcome.remarks) {
            one.text += remark + "\n";
        }
    }
    return junit_text(report);
}

std::string as_tap(const std::vector<Outcome>& outcomes) {
    std::string text = fmt::format("TAP version 13\n1..{}\n", outcomes.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const Outcome& outcome = outcomes[i];
        text += fmt::format("{} {} - {}\n",
                            outcome.exit == Exit::done ? "ok" : "not ok",
                            i + 1,
                            printable(outcome.path));
        for (const std::string& remark : outcome.remarks) {
            text += fmt::format("# {}\n", printable(remark));
        }
    }
    return text;
}

std::string as_github(const std::vector<Outcome>& outcomes) {
    std::string text;
    for (const Outcome& outcome : outcomes) {
        if (outcome.exit != Exit::done) {
            text += fmt::format(
                "::error file={},title={}::{}\n",
                escaped_github(outcome.path, true),
                reason_of(outcome),
                escaped_github(fmt::format("{}", fmt::join(outcome.remarks, "; ")), false));
        }
    }
    return text;
}

/// The word for an error, by its code.
std::string_view verdict_of(const Error& error) {
    if (error.code.category() == sim_category()) {
        // The bytes are as they were written, and mean nothing to the game.
        return error.code == SimErrc::bad_float_environment ? "failed" : "damaged";
    }
    if (error.code.category() != replay::replay_category()) {
        return "failed";
    }
    switch (static_cast<replay::Errc>(error.code.value())) {
    case replay::Errc::io_error:
        return "io";
    case replay::Errc::not_a_recording:
        return "not_a_recording";
    case replay::Errc::truncated:
        return "truncated";
    case replay::Errc::corrupt_head:
    case replay::Errc::corrupt_record:
    case replay::Errc::corrupt_chunk:
    case replay::Errc::limit_exceeded:
    case replay::Errc::wrong_tick:
        return "damaged";
    case replay::Errc::unsupported_version:
        return "unsupported";
    case replay::Errc::incompatible_simulation:
        return "incompatible";
    default:
        return "failed";
    }
}

Json failure_json(const Outcome& outcome) {
    Json failure{{"file", outcome.path},
                 {"verdict", verdict_of(outcome)},
                 {"exit", static_cast<int>(outcome.exit)}};
    if (outcome.error && !outcome.error->field.empty()) {
        failure["field"] = outcome.error->field;
    }
    if (outcome.error && outcome.error->offset) {
        failure["offset"] = json_integer(*outcome.error->offset);
    }
    const std::string_view verdict = verdict_of(outcome);
    if (outcome.broken_tick &&
        (verdict == "truncated" || verdict == "damaged" || verdict == "open")) {
        failure["tick"] = json_integer(outcome.broken_tick->value);
    }
    if (outcome.broken_chunk && verdict == "damaged") {
        failure["chunk"] = json_integer(*outcome.broken_chunk);
    }
    failure["remarks"] = outcome.remarks;
    return failure;
}

} // namespace

Exit graver(Exit left, Exit right) {
    constexpr std::array order{
        Exit::divergence, Exit::incompatible, Exit::failed, Exit::loss, Exit::nothing_checked};
    // Whatever is not in the order is done, and comes last.
    return std::find(order.begin(), order.end(), left) <=
                   std::find(order.begin(), order.end(), right)
               ? left
               : right;
}

Exit overall_exit(const std::vector<Outcome>& outcomes) {
    if (outcomes.empty()) {
        return Exit::nothing_checked;
    }
    Exit gravest = Exit::done;
    for (const Outcome& outcome : outcomes) {
        gravest = graver(outcome.exit, gravest);
    }
    return gravest;
}

Json report_json(const std::vector<Outcome>& outcomes, const Shard& shard) {
    ShardReport report;
    report.shard = shard;
    report.exit = overall_exit(outcomes);
    report.files = outcomes.size();
    report.divergences = report.failures = report.remarks = Json::array();
    for (const Outcome& outcome : outcomes) {
        report.ticks += outcome.ticks;
        report.hashes_checked += outcome.hashes_checked;
        report.segments += outcome.segments;
        if (outcome.divergence) {
            Json entry{{"file", outcome.path}};
            entry.update(to_json(*outcome.divergence));
            entry["check"] = outcome.failed_check;
            entry["verdict"] = verdict_of(outcome);
            if (!outcome.again.empty()) {
                entry["command"] = outcome.again;
            }
            report.divergences.push_back(std::move(entry));
        } else if (outcome.exit != Exit::done) {
            report.failures.push_back(failure_json(outcome));
        } else if (!outcome.remarks.empty()) {
            report.remarks.push_back({{"file", outcome.path}, {"remarks", outcome.remarks}});
        }
    }
    return shard_report_json(report);
}

std::string_view verdict_of(const Outcome& outcome) {
    if (outcome.exit == Exit::done) {
        return "identical";
    }
    if (outcome.divergence) {
        return "divergence";
    }
    if (outcome.error) {
        return verdict_of(*outcome.error);
    }
    switch (outcome.exit) {
    case Exit::nothing_checked:
        return "nothing_checked";
    case Exit::loss:
        return outcome.loss ? "lossy" : replay::to_string(outcome.state);
    default:
        return "failed";
    }
}

std::string reason_of(const Outcome& outcome) {
    switch (outcome.exit) {
    case Exit::done:
        return "identical";
    case Exit::divergence:
        return "DIVERGES";
    case Exit::incompatible:
        return std::string(verdict_of(outcome));
    case Exit::loss:
        return outcome.loss ? "lossy" : replay::to_string(outcome.state);
    case Exit::nothing_checked:
        return "unchecked";
    case Exit::failed:
    case Exit::usage:
        break;
    }
    const std::string_view verdict = verdict_of(outcome);
    return verdict == "io"                ? "unreadable"
           : verdict == "not_a_recording" ? "not ours"
                                          : std::string(verdict);
}

std::string
format_report(const std::vector<Outcome>& outcomes, const Shard& shard, std::string_view format) {
    if (format == "json") {
        return to_text(report_json(outcomes, shard), -1) + "\n";
    }
    if (format == "junit") {
        return as_junit(outcomes, shard);
    }
    if (format == "tap") {
        return as_tap(outcomes);
    }
    if (format == "github") {
        return as_github(outcomes);
    }
    return as_text(outcomes);
}

} // namespace twinstep::tools
