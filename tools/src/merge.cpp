// SPDX-License-Identifier: MIT
// twinstep merge: joins the reports of verify's shards into one.
#include "command.hpp"
#include "merged_reports.hpp"
#include "options.hpp"
#include "report_file.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace twinstep::tools {

namespace {

struct MergeOptions {
    std::vector<std::string> reports;
    std::string output;
};

Exit merge(Context& context, const MergeOptions& options) {
    std::vector<ShardReport> reports;
    for (const std::string& path : options.reports) {
        Result<ShardReport> report = read_shard_report(path);
        if (!report) {
            return Context::refuse(report.error());
        }
        reports.push_back(std::move(*report));
    }
    if (const auto arranged = arrange_shards(reports); !arranged) {
        Context::note(arranged.error().why);
        return arranged.error().exit;
    }
    const ShardReport whole = join_shards(reports);
    ReportFile file(options.output);
    if (auto begun = file.begin(); !begun) {
        return Context::refuse(begun.error());
    }
    if (auto ended = file.end(shard_report_text(whole)); !ended) {
        return Context::refuse(ended.error());
    }
    const auto exit = static_cast<int>(whole.exit);
    context.print({{"file", options.output},
                   {"shards", reports.size()},
                   {"files", whole.files},
                   {"ticks", json_integer(whole.ticks)},
                   {"hashes_checked", json_integer(whole.hashes_checked)},
                   {"exit", exit}});
    context.say(fmt::format("{}: {} shards, {} files, {} ticks, {} hashes checked{}",
                            options.output,
                            reports.size(),
                            whole.files,
                            whole.ticks,
                            whole.hashes_checked,
                            exit == 0 ? "" : fmt::format("; exit code {}", exit)));
    return whole.exit;
}

} // namespace

void declare_merge(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "merge",
                                  "Join the reports of all shards of a verification into one",
                                  "twinstep merge shard-1.json shard-2.json -o all.json");
    auto options = std::make_shared<MergeOptions>();
    verb.add_option("report", options->reports, "Reports of verify, all JSON or all JUnit")
        ->required()
        ->check(not_empty());
    verb.add_option("-o,--output", options->output, "File to create; it must not exist")
        ->required()
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return merge(c, *options); }; });
}

} // namespace twinstep::tools
