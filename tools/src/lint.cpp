// SPDX-License-Identifier: MIT
// twinstep lint: what compiled code calls and computes that a step must not.
#include "command.hpp"
#include "lint_file.hpp"
#include "options.hpp"
#include "text_file.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

namespace twinstep::tools {

namespace {

/// Bytes of the longest file; an address space's worth is no object file.
constexpr std::uint64_t lint_file_bytes_max = std::uint64_t{2} << 30;
constexpr std::uint64_t lint_allow_bytes_max = std::uint64_t{1} << 20;

struct LintOptions {
    std::vector<std::string> files;
    std::vector<std::string> allowed;
    std::vector<std::string> allow_files;
};

/// A line each: a name, and behind "#" the reason why.
Result<void> read_allow_file(const std::string& path, std::vector<std::string>& names) {
    const auto text = read_text_file(path, lint_allow_bytes_max);
    if (!text) {
        return fail(text.error());
    }
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        const std::string_view name = trimmed(line.substr(0, line.find('#')));
        if (!name.empty()) {
            names.emplace_back(name);
        }
    }
    return {};
}

/// What all files together have.
struct LintTotals {
    std::uint64_t parts = 0;
    std::uint64_t functions = 0;
    std::uint64_t code_bytes = 0;
    std::uint64_t skipped_bytes = 0;
    std::uint64_t findings = 0;
    std::uint64_t allowed = 0;
    bool failed = false;    ///< A file could not be read.
    bool unchecked = false; ///< A file, or a part of one, has code that was not checked, or none.
    /// What was done for each kind of code.
    std::map<std::string, std::string> coverage;
};

class LintRun {
public:
    LintRun(Context& context, const LintOptions& options)
        : context_(context)
        , options_(options)
        , allowed_(options.allowed) {}

    Exit run() {
        for (const std::string& path : options_.files) {
            lint_one(path);
        }
        for (const std::string& name : allowed_.unused()) {
            Context::note(fmt::format("--allow {}: nothing of that name was found", name));
        }
        summarise();
        return totals_.failed || totals_.findings > 0 ? Exit::failed
               : totals_.unchecked                    ? Exit::nothing_checked
                                                      : Exit::done;
    }

private:
    void lint_one(const std::string& path) {
        const auto text = read_text_file(path, lint_file_bytes_max);
        if (!text) {
            refuse(path, {}, text.error());
            return;
        }
        auto report = lint::lint_bytes(std::as_bytes(std::span(*text)), allowed_);
        if (!report) {
            refuse(path, report.error().where, report.error());
            return;
        }
        for (const lint::Unchecked& unchecked : report->unchecked) {
            not_checked(path, unchecked.member, unchecked.reason);
        }
        if (report->parts.empty() && report->unchecked.empty()) {
            not_checked(path, {}, "it has no code");
        }
        for (const lint::Part& part : report->parts) {
            add(path, part);
        }
    }

    static std::string place(const std::string& path, const std::string& member) {
        return member.empty() ? path : fmt::format("{}({})", path, member);
    }

    void refuse(const std::string& path, const std::string& member, Error error) {
        totals_.failed = true;
        error.where = place(path, member);
        failures_.push_back({{"file", path}, {"reason", to_string(error)}});
        static_cast<void>(Context::refuse(error));
    }

    void not_checked(const std::string& path, const std::string& member, std::string_view reason) {
        totals_.unchecked = true;
        Json object{{"file", path}};
        if (!member.empty()) {
            object["member"] = member;
        }
        object["reason"] = reason;
        unchecked_.push_back(std::move(object));
        Context::note(fmt::format("{}: not checked: {}", place(path, member), reason));
    }

    void add(const std::string& path, const lint::Part& part) {
        ++totals_.parts;
        totals_.functions += part.functions;
        totals_.code_bytes += part.code_bytes;
        totals_.skipped_bytes += part.decoding.skipped_bytes;
        totals_.findings += part.findings.size() + part.dropped;
        totals_.allowed += part.allowed;
        totals_.coverage[part.target] = part.decoding.decoded
                                            ? "imports and instructions"
                                            : fmt::format("imports only: {}", part.decoding.why);
        for (const lint::Finding& finding : part.findings) {
            add(path, part, finding);
        }
        if (part.dropped > 0) {
            Context::note(fmt::format(
                "{}: {} further findings are not shown", place(path, part.member), part.dropped));
        }
    }

    void add(const std::string& path, const lint::Part& part, const lint::Finding& finding) {
        if (!context_.json) {
            context_.say(line_of(place(path, part.member), part.linked, finding));
            return;
        }
        Json object{{"file", path}};
        if (!part.member.empty()) {
            object["member"] = part.member;
        }
        object.update(Json{{"function", finding.function},
                           {"symbol", finding.symbol},
                           {"class", lint::name_of(finding.hazard)},
                           {"section", finding.section},
                           {"offset", json_integer(finding.offset)},
                           {"places", json_integer(finding.places)},
                           {"instead", finding.instead}});
        findings_.push_back(std::move(object));
    }

    static std::string line_of(const std::string& file, bool linked, const lint::Finding& finding) {
        std::string where;
        if (finding.section == lint::in_data) {
            where = " in data";
        } else if (linked && finding.offset != 0) {
            where = fmt::format(" at {:#x}", finding.offset);
        } else if (!finding.section.empty()) {
            where = fmt::format(" at {}+{:#x}", finding.section, finding.offset);
        }
        if (finding.places > 1) {
            where += fmt::format(" and {} more", finding.places - 1);
        }
        return fmt::format("{}: {}{}{} [{}]{}: use {}",
                           file,
                           finding.function,
                           finding.function.empty() ? "" : ": ",
                           finding.symbol,
                           lint::name_of(finding.hazard),
                           where,
                           finding.instead);
    }

    void summarise() {
        Json coverage = Json::array();
        std::string covered;
        for (const auto& [target, what] : totals_.coverage) {
            coverage.push_back({{"target", target}, {"checked", what}});
            covered += fmt::format("; {}: {}", target, what);
        }
        context_.print({{"findings", std::move(findings_)},
                        {"files", options_.files.size()},
                        {"objects", json_integer(totals_.parts)},
                        {"functions", json_integer(totals_.functions)},
                        {"code_bytes", json_integer(totals_.code_bytes)},
                        {"skipped_bytes", json_integer(totals_.skipped_bytes)},
                        {"coverage", std::move(coverage)},
                        {"allowed", json_integer(totals_.allowed)},
                        {"unused_allows", allowed_.unused()},
                        {"unchecked", std::move(unchecked_)},
                        {"failures", std::move(failures_)}});
        if (totals_.parts > 0) {
            context_.say(fmt::format(
                "findings {}, allowed {}; objects {}, functions {}, bytes of code {}{}{}",
                totals_.findings,
                totals_.allowed,
                totals_.parts,
                totals_.functions,
                totals_.code_bytes,
                totals_.skipped_bytes == 0
                    ? ""
                    : fmt::format(", {} no instruction", totals_.skipped_bytes),
                covered));
        }
    }

    Context& context_;
    const LintOptions& options_;
    lint::AllowList allowed_;
    LintTotals totals_;
    Json findings_ = Json::array();
    Json unchecked_ = Json::array();
    Json failures_ = Json::array();
};

Exit lint_files(Context& context, LintOptions options) {
    for (const std::string& path : options.allow_files) {
        if (Result<void> read = read_allow_file(path, options.allowed); !read) {
            return Context::refuse(read.error());
        }
    }
    return LintRun(context, options).run();
}

} // namespace

void declare_lint(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "lint",
                     "Find calls and instructions in compiled code that a step must not have",
                     "twinstep lint game.o libgame.a --allow printf");
    auto options = std::make_shared<LintOptions>();
    verb.add_option("file", options->files, "Objects, archives, shared libraries, programs")
        ->required()
        ->check(not_empty());
    verb.add_option("--allow",
                    options->allowed,
                    "Symbol, instruction or class that is not reported; NAME@FUNCTION: only there")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->check(not_empty());
    verb.add_option("--allow-file",
                    options->allow_files,
                    "File of such names, one a line; # begins the reason")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return lint_files(c, *options); }; });
}

} // namespace twinstep::tools
