// SPDX-License-Identifier: MIT
// twinstep verify: simulates recordings again and compares every recorded hash.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include "command.hpp"
#include "options.hpp"
#include "verification.hpp"

namespace twinstep::tools {

namespace {

namespace fs = std::filesystem;

struct VerifyOptions {
    std::vector<std::string> paths;
    unsigned jobs = 1;
    std::string shard;
    std::string report = "text";
    VerificationOptions checks;
};

bool on_a_terminal() {
#if defined(_WIN32)
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

/// What the paths lead to.
struct Found {
    std::vector<std::string> files;  ///< Sorted, each once.
    std::vector<Outcome> unreadable; ///< Directories that cannot be listed.
};

/// Adds everything named .twin in a directory and below. Links to directories are not followed, so
/// that no loop is walked. What is no regular file is kept: its turn ends with an error.
void search(const std::string& root, Found& found) {
    std::vector<fs::path> open{root};
    while (!open.empty()) {
        const fs::path directory = std::move(open.back());
        open.pop_back();
        std::error_code error;
        auto entry = fs::directory_iterator(directory, error);
        for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
            std::error_code ignored;
            if (fs::is_directory(entry->symlink_status(ignored))) {
                open.push_back(entry->path());
            } else if (entry->path().extension() == ".twin") {
                found.files.push_back(entry->path().string());
            }
        }
        if (error) {
            Outcome& outcome = found.unreadable.emplace_back();
            outcome.path = directory.string();
            outcome.remarks.push_back(
                fmt::format("{}: cannot be searched: {}", outcome.path, error.message()));
        }
    }
}

/// All .twin files under the paths. A path that does not exist stays in the list: its turn ends
/// with an error that names it.
Found collect(const std::vector<std::string>& paths) {
    Found found;
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (fs::is_directory(path, ignored)) {
            search(path, found);
        } else {
            found.files.push_back(path);
        }
    }
    std::sort(found.files.begin(), found.files.end());
    found.files.erase(std::unique(found.files.begin(), found.files.end()), found.files.end());
    return found;
}

/// Verifies one file; whatever a game throws ends its file, not the others.
Outcome verify_guarded(const Context& context,
                       const std::string& path,
                       const VerificationOptions& options,
                       std::atomic<std::uint64_t>& ticks) {
    try {
        return verify_recording(context, path, options, ticks);
    } catch (const std::exception& exception) {
        Outcome outcome;
        outcome.path = path;
        outcome.remarks.push_back(fmt::format("{}: {}", path, exception.what()));
        return outcome;
    }
}

/// Keeps every N-th file for "K/N", K from 1.
bool keep_shard(std::vector<std::string>& files, const std::string& text) {
    std::size_t index = 0;
    std::size_t count = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, index);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '/') {
        return false;
    }
    const auto second = std::from_chars(first.ptr + 1, end, count);
    if (second.ec != std::errc{} || second.ptr != end || index == 0 || index > count) {
        return false;
    }
    std::vector<std::string> kept;
    for (std::size_t i = index - 1; i < files.size(); i += count) {
        kept.push_back(files[i]);
    }
    files = std::move(kept);
    return true;
}

/// A bar on standard error, on a terminal only, and only for work longer than a second.
class Progress {
public:
    explicit Progress(std::size_t total)
        : total_(total)
        , visible_(on_a_terminal()) {}

    void draw(std::size_t files, std::uint64_t ticks) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
        if (!visible_ || elapsed.count() < 1.0) {
            return;
        }
        drawn_ = true;
        const double left = files == 0 ? 0.0
                                       : elapsed.count() * static_cast<double>(total_ - files) /
                                             static_cast<double>(files);
        fmt::print(stderr,
                   "\r{}/{} files, {:.0f} ticks/s, {:.0f} s left   ",
                   files,
                   total_,
                   static_cast<double>(ticks) / elapsed.count(),
                   left);
    }

    void finish() const {
        if (drawn_) {
            fmt::print(stderr, "\r{:60}\r", "");
        }
    }

private:
    std::size_t total_;
    bool visible_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Verifies the files on `jobs` threads; the outcomes keep the order of the files.
std::vector<Outcome> run_jobs(const Context& context,
                              const std::vector<std::string>& files,
                              const VerifyOptions& options) {
    std::vector<Outcome> outcomes(files.size());
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> finished{0};
    std::atomic<std::uint64_t> ticks{0};
    std::mutex mutex;
    std::condition_variable wake;
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size(); i = next++) {
            outcomes[i] = verify_guarded(context, files[i], options.checks, ticks);
            ++finished;
            const std::lock_guard lock(mutex);
            wake.notify_all();
        }
    };
    const std::size_t wanted = std::min<std::size_t>(std::max(1U, options.jobs), files.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < wanted; ++i) {
        threads.emplace_back(work);
    }
    Progress progress(files.size());
    std::unique_lock lock(mutex);
    while (!wake.wait_for(
        lock, std::chrono::milliseconds(250), [&] { return finished == files.size(); })) {
        progress.draw(finished, ticks);
    }
    progress.finish();
    return outcomes;
}

/// The gravest exit of all files. Divergence comes first: it is what verify is for.
Exit overall(const std::vector<Outcome>& outcomes) {
    constexpr std::array order{
        Exit::divergence, Exit::incompatible, Exit::failed, Exit::loss, Exit::nothing_checked};
    for (const Exit exit : order) {
        if (std::any_of(outcomes.begin(), outcomes.end(), [exit](const Outcome& outcome) {
                return outcome.exit == exit;
            })) {
            return exit;
        }
    }
    return outcomes.empty() ? Exit::nothing_checked : Exit::done;
}

Json summary(const std::vector<Outcome>& outcomes) {
    std::uint64_t ticks = 0;
    std::uint64_t hashes = 0;
    Json divergences = Json::array();
    Json failures = Json::array();
    for (const Outcome& outcome : outcomes) {
        ticks += outcome.ticks;
        hashes += outcome.hashes_checked;
        if (outcome.divergence) {
            Json entry{{"file", outcome.path}};
            entry.update(to_json(*outcome.divergence));
            entry["check"] = outcome.failed_check;
            divergences.push_back(entry);
        } else if (outcome.exit != Exit::done) {
            failures.push_back({{"file", outcome.path},
                                {"exit", static_cast<int>(outcome.exit)},
                                {"remarks", outcome.remarks}});
        }
    }
    return {{"files", outcomes.size()},
            {"ticks", json_integer(ticks)},
            {"hashes_checked", json_integer(hashes)},
            {"divergences", divergences},
            {"failures", failures}};
}

Exit verify(Context& context, const VerifyOptions& options) {
    Found found = collect(options.paths);
    const std::size_t all = found.files.size();
    if (!options.shard.empty() && !keep_shard(found.files, options.shard)) {
        Context::note(fmt::format("--shard {}: use K/N with 1 <= K <= N", options.shard));
        return Exit::usage;
    }
    std::vector<Outcome> outcomes = run_jobs(context, found.files, options);
    outcomes.insert(outcomes.end(), found.unreadable.begin(), found.unreadable.end());
    context.print(summary(outcomes));
    if (!context.json) {
        Context::data(format_report(outcomes, options.report));
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
        Context::note(all == 0
                          ? "nothing was checked: no .twin file was found"
                          : fmt::format("nothing was checked: --shard {} holds none of {} files",
                                        options.shard,
                                        all));
    }
    return overall(outcomes);
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
    verb.add_option("--jobs", options->jobs, "Files that are verified at once")
        ->transform(whole_number(1, 256))
        ->capture_default_str();
    verb.add_flag("--twice", options->checks.twice, "Verify each file twice in this process");
    verb.add_option("--fork-every",
                    options->checks.fork_every,
                    "Every K ticks, load the state into a second simulation and run both")
        ->transform(whole_number(1, UINT64_MAX));
    verb.add_option("--roundtrip-every",
                    options->checks.roundtrip_every,
                    "Every K ticks, save the state and load it again")
        ->transform(whole_number(1, UINT64_MAX));
    verb.add_option("--shard", options->shard, "Verify only part K of N of the files: K/N");
    verb.add_option("--report", options->report, "Format of the report")
        ->check(CLI::IsMember({"text", "junit", "tap", "github"}))
        ->capture_default_str();
    verb.callback(
        [&action, options] { action = [options](Context& c) { return verify(c, *options); }; });
}

} // namespace twinstep::tools
