// SPDX-License-Identifier: MIT
// twinstep verify: simulates recordings again and compares every recorded hash.
#include "command.hpp"
#include "options.hpp"
#include "other_program.hpp"
#include "parsed_number.hpp"
#include "report_file.hpp"
#include "strange_memory.hpp"
#include "verification.hpp"
#include "verification_files.hpp"

#include "twinstep/sim/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace twinstep::tools {

namespace {

struct VerifyOptions {
    std::vector<std::string> paths;
    unsigned jobs = 1;
    bool segments = false;
    std::string shard;
    std::string report = "text";
    std::string report_file;
    std::string rollback;
    std::string checks_wanted; ///< "all", or nothing.
    VerificationOptions checks;
};

/// The work of one run. Thread: the one that asks, and those it starts.
class VerifyRun {
public:
    VerifyRun(const Context& context, const VerifyOptions& options, std::vector<FoundFile> files);

    /// The outcomes, in the order of the files.
    std::vector<Outcome> run();

private:
    void verify_one(std::size_t index);
    Outcome outcome_of(std::size_t index);

    const Context& context_;
    const VerifyOptions& options_;
    std::vector<FoundFile> files_;
    std::vector<Outcome> outcomes_;
    std::deque<FileProgress> progress_;
    std::vector<char> put_off_; ///< Files whose segments get all threads, one file after the other.
};

VerifyRun::VerifyRun(const Context& context,
                     const VerifyOptions& options,
                     std::vector<FoundFile> files)
    : context_(context)
    , options_(options)
    , files_(std::move(files))
    , outcomes_(files_.size())
    , progress_(files_.size())
    , put_off_(files_.size(), 0) {}

/// Verifies one file; whatever a game throws ends its file, not the others.
Outcome VerifyRun::outcome_of(std::size_t index) {
    const FoundFile& file = files_[index];
    Outcome outcome;
    outcome.path = file.path;
    if (!file.problem.empty()) {
        outcome.error = Error(replay::Errc::io_error, {}, file.problem).in(file.path);
        outcome.remarks.push_back(
            fmt::format("{}: cannot be searched: {}", file.path, file.problem));
        return outcome;
    }
    try {
        VerificationOptions checks = options_.checks;
        const bool segments = options_.segments && has_keyframes(file.path);
        if (segments && put_off_[index] == 0) {
            put_off_[index] = 1;
            return outcome;
        }
        checks.segment_jobs = segments ? options_.jobs : 0;
        outcome = verify_recording(context_, file.path, checks, progress_[index]);
        if (options_.segments && !segments && !outcome.error) {
            outcome.remarks.push_back(
                fmt::format("{}: no keyframes: verified in one pass", file.path));
        }
        return outcome;
    } catch (const std::exception& exception) {
        outcome.remarks.push_back(fmt::format("{}: {}", file.path, exception.what()));
        return outcome;
    }
}

void VerifyRun::verify_one(std::size_t index) {
    const bool was_put_off = put_off_[index] != 0;
    outcomes_[index] = outcome_of(index);
    progress_[index].finished = was_put_off || put_off_[index] == 0;
}

std::vector<Outcome> VerifyRun::run() {
    ProgressBar bar;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        std::error_code ignored;
        const auto bytes = std::filesystem::file_size(files_[i].path, ignored);
        progress_[i].bytes = ignored ? 0 : bytes;
        progress_[i].total_wanted = bar.is_visible();
    }
    std::mutex mutex;
    std::condition_variable wake;
    std::size_t next = 0;
    std::size_t at_work = std::min<std::size_t>(std::max(1U, options_.jobs), files_.size());
    const auto work = [&] {
        std::unique_lock lock(mutex);
        while (next < files_.size()) {
            const std::size_t index = next++;
            lock.unlock();
            verify_one(index);
            lock.lock();
        }
        // The last one goes on with what wants all threads; the others have left theirs.
        const bool last = --at_work == 0;
        lock.unlock();
        for (std::size_t i = 0; last && i < files_.size(); ++i) {
            if (put_off_[i] != 0) {
                verify_one(i);
            }
        }
        if (last) {
            lock.lock();
            next = SIZE_MAX;
            wake.notify_all();
        }
    };
    std::vector<std::jthread> threads;
    const std::size_t wanted = at_work;
    for (std::size_t i = 0; i < wanted; ++i) {
        threads.emplace_back(work);
    }
    std::unique_lock lock(mutex);
    while (wanted != 0 &&
           !wake.wait_for(lock, std::chrono::milliseconds(250), [&] { return next == SIZE_MAX; })) {
        bar.draw(progress_);
    }
    bar.finish();
    return std::move(outcomes_);
}

/// The format of a report's file, by its name; nothing if it says none.
std::string_view format_of(std::string_view path) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> formats{
        {{".json", "json"}, {".xml", "junit"}, {".tap", "tap"}, {".txt", "text"}}};
    const auto* const found =
        std::find_if(formats.begin(), formats.end(), [path](const auto& format) {
            return path.ends_with(format.first);
        });
    return found == formats.end() ? std::string_view() : found->second;
}

/// Reads "K" or "K:DEPTH". False if it is neither.
bool read_rollback(const std::string& text, VerificationOptions& checks) {
    const std::size_t colon = text.find(':');
    const auto every = parsed_number<std::uint64_t>(text.substr(0, colon));
    const auto depth = colon == std::string::npos
                           ? std::optional(checks.rollback_depth)
                           : parsed_number<std::uint32_t>(text.substr(colon + 1));
    constexpr std::uint32_t depth_max = 1000;
    if (!every || *every == 0 || !depth || *depth == 0 || *depth > depth_max) {
        return false;
    }
    checks.rollback_every = *every;
    checks.rollback_depth = *depth;
    return true;
}

/// Switches on what was not asked for by itself.
void want_all(VerificationOptions& checks) {
    const auto unless_given = [](auto& value, unsigned usual) {
        value = value != 0 ? value : usual;
    };
    checks.twice = true;
    checks.fresh = runs_programs;
    checks.perturb = true;
    unless_given(checks.fork_every, 100);
    unless_given(checks.roundtrip_every, 100);
    unless_given(checks.rollback_every, 10);
    unless_given(checks.workers_each, 4);
    checks.poison = heap_has_rules();
    checks.shuffle = heap_has_rules();
    if (!heap_has_rules()) {
        Context::note("--checks all: this build leaves out --poison and --shuffle");
    }
}

Exit verify(Context& context, VerifyOptions options) {
    if (!options.checks_wanted.empty()) {
        want_all(options.checks);
    }
    if ((options.checks.poison || options.checks.shuffle) && !heap_has_rules()) {
        Context::note("--poison and --shuffle: not in this build: it has an operator new of its "
                      "own, or sanitizers");
        return Exit::usage;
    }
    std::vector<FoundFile> files = collect_files(options.paths);
    const auto shard = keep_shard(files, options.shard);
    if (!shard) {
        Context::note(fmt::format("--shard {}: use K/N with 1 <= K <= N", options.shard));
        return Exit::usage;
    }
    std::optional<ReportFile> file;
    const std::string_view format = format_of(options.report_file);
    if (!options.report_file.empty()) {
        if (format.empty()) {
            Context::note(fmt::format("--report-file {}: its name must end with .json, .xml "
                                      "(JUnit), .tap or .txt",
                                      options.report_file));
            return Exit::usage;
        }
        if (auto begun = file.emplace(options.report_file).begin(); !begun) {
            return Context::refuse(begun.error());
        }
    }
    const std::vector<Outcome> outcomes = VerifyRun(context, options, std::move(files)).run();
    context.print(report_json(outcomes, *shard));
    if (!context.json) {
        Context::data(format_report(outcomes, *shard, options.report));
    }
    for (const Outcome& outcome : outcomes) {
        // In JSON mode the reasons are on standard error as well, for whoever reads the log.
        for (const std::string& remark : outcome.remarks) {
            if (context.json) {
                Context::note(remark);
            }
        }
    }
    if (outcomes.empty()) {
        Context::note(shard->files == 0
                          ? "nothing was checked: no .twin file was found"
                          : fmt::format("nothing was checked: --shard {} holds none of {} files",
                                        options.shard,
                                        shard->files));
    }
    if (file) {
        if (auto ended = file->end(format_report(outcomes, *shard, format)); !ended) {
            return graver(Context::refuse(ended.error()), overall_exit(outcomes));
        }
    }
    return overall_exit(outcomes);
}

} // namespace

void declare_verify(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "verify",
                                  "Simulate recordings again and compare every recorded hash",
                                  "twinstep verify recordings --jobs 2");
    auto options = std::make_shared<VerifyOptions>();
    verb.add_option("path", options->paths, "Recordings, or directories of them")
        ->required()
        ->check(not_empty());
    verb.add_option("--jobs", options->jobs, "Threads: files, or segments, that run at once")
        ->transform(whole_number(1, 256))
        ->capture_default_str();
    CLI::Option* const segments =
        verb.add_flag("--segments",
                      options->segments,
                      "Cut each recording at its keyframes, and verify the parts at once");
    verb.add_flag("--twice", options->checks.twice, "Verify each file twice in this process");
    // These look at one run from the start on, and segments are many runs.
    verb.add_option("--fork-every",
                    options->checks.fork_every,
                    "Every K ticks, load the state into a second simulation and run both")
        ->transform(whole_number(1, UINT64_MAX))
        ->excludes(segments);
    verb.add_option("--roundtrip-every",
                    options->checks.roundtrip_every,
                    "Every K ticks, save the state and load it again")
        ->transform(whole_number(1, UINT64_MAX))
        ->excludes(segments);
    verb.add_option("--rollback-every",
                    options->rollback,
                    "K or K:DEPTH: every K ticks go back by 1 to DEPTH ticks and take them again")
        ->check([checks = &options->checks](const std::string& text) {
            return read_rollback(text, *checks)
                       ? std::string()
                       : fmt::format("\"{}\": use K or K:DEPTH, with DEPTH from 1 to 1000", text);
        })
        ->excludes(segments);
    verb.add_option("--workers-each",
                    options->checks.workers_each,
                    "Compare each tick with the same steps by 2 to N workers")
        ->transform(whole_number(2, WorkerPool::count_max))
        ->excludes(segments);
    verb.add_flag("--poison",
                  options->checks.poison,
                  "Compare each tick with fresh memory and stack filled, in two ways")
        ->excludes(segments);
    verb.add_flag("--shuffle",
                  options->checks.shuffle,
                  "Compare each tick with memory at other addresses, by --seed")
        ->excludes(segments);
    verb.add_flag("--perturb",
                  options->checks.perturb,
                  "Compare each tick with another locale and floating-point mode around the step")
        ->excludes(segments);
    verb.add_flag("--fresh",
                  options->checks.fresh,
                  "Verify each file in another process and time zone as well");
    verb.add_option("--bisect-build",
                    options->checks.other_build,
                    "Another build of this command: name the first field in which it differs")
        ->check(CLI::ExistingFile);
    verb.add_option("--checks",
                    options->checks_wanted,
                    "all: all of these; fork and round trip every 100 ticks, rollback every 10")
        ->check(CLI::IsMember({"all"}))
        ->excludes(segments);
    verb.add_option("--seed", options->checks.seed, "Seed of what the checks choose at random")
        ->transform(whole_number(0, UINT64_MAX))
        ->capture_default_str();
    verb.add_option("--shard", options->shard, "Verify only part K of N of the files: K/N");
    verb.add_option("--report", options->report, "Format of the report")
        ->check(CLI::IsMember({"text", "junit", "tap", "github"}))
        ->capture_default_str();
    verb.add_option("--report-file",
                    options->report_file,
                    "A report in a file as well, by its name: .json, .xml (JUnit), .tap or .txt")
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return verify(c, *options); }; });
}

} // namespace twinstep::tools
