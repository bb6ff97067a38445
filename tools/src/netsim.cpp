// SPDX-License-Identifier: MIT
// twinstep netsim: whole matches on virtual time, each from a seed, with everything going wrong.
#include "command.hpp"
#include "netsim_game.hpp"
#include "netsim_match.hpp"
#include "options.hpp"
#include "text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

using netsim::MatchReport;
using netsim::Plan;

struct NetsimOptions {
    std::string seeds = "1:20";
    unsigned jobs = 1;
    std::string game = "tally";
    std::uint64_t peers = 0;
    int spectators = -1;
    std::uint64_t ticks = 0;
    std::string faults = "all";
    bool log = false;
    bool keep_faults = false;
    std::string capture;
};

struct SeedRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

/// "A:B", both included, or one seed.
bool parse_seeds(const std::string& text, SeedRange& range) {
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, range.first);
    if (first.ec != std::errc{}) {
        return false;
    }
    range.last = range.first;
    if (first.ptr == end) {
        return true;
    }
    const auto last = std::from_chars(first.ptr + 1, end, range.last);
    return *first.ptr == ':' && last.ec == std::errc{} && last.ptr == end &&
           range.first <= range.last && range.last - range.first < 10'000'000;
}

/// What is kept of a seed: the whole report only if it failed.
struct Sum {
    std::uint64_t matches = 0;
    std::uint64_t ticks = 0;
    std::uint64_t frames_compared = 0;
    std::uint64_t hashes_compared = 0;
    std::uint64_t recording_hashes = 0;
    std::uint64_t packets = 0;
    std::uint64_t faults = 0;
    std::uint64_t named = 0;
    std::uint64_t digest = 0; ///< Of all matches, whatever the order in which they ended.
    std::vector<MatchReport> failed;

    void add(MatchReport report) {
        ++matches;
        ticks += report.ticks;
        frames_compared += report.frames_compared;
        hashes_compared += report.hashes_compared;
        recording_hashes += report.recording_hashes;
        packets += report.packets;
        faults += report.plan.faults.size();
        named += report.verdicts.size();
        digest += report.digest;
        if (!report.failures.empty()) {
            failed.push_back(std::move(report));
        }
    }
};

bool shows_progress() {
#if defined(_WIN32)
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

Sum run_seeds(const GameEntry& game,
              const SimulationInfo& info,
              const netsim::PlanOptions& plan_options,
              const SeedRange& range,
              unsigned jobs) {
    const std::uint64_t count = range.last - range.first + 1;
    std::atomic<std::uint64_t> next{0};
    std::uint64_t done = 0;
    Sum sum;
    std::mutex mutex;
    std::condition_variable wake;
    const auto work = [&] {
        for (std::uint64_t i = next++; i < count; i = next++) {
            const Plan plan = netsim::make_plan(range.first + i, info, plan_options);
            MatchReport report = netsim::run_match(game, plan);
            const std::lock_guard lock(mutex);
            sum.add(std::move(report));
            ++done;
            wake.notify_all();
        }
    };
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(jobs, count); ++i) {
        threads.emplace_back(work);
    }
    const bool visible = shows_progress();
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, std::chrono::milliseconds(500), [&] { return done == count; })) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        if (visible && elapsed.count() > 1.0) {
            fmt::print(stderr,
                       "\r{}/{} matches, {} failed, {:.1f} matches/s   ",
                       done,
                       count,
                       sum.failed.size(),
                       static_cast<double>(done) / elapsed.count());
        }
    }
    if (visible) {
        fmt::print(stderr, "\r{:60}\r", "");
    }
    lock.unlock();
    threads.clear();
    std::sort(sum.failed.begin(), sum.failed.end(), [](const auto& a, const auto& b) {
        return a.plan.seed < b.plan.seed;
    });
    return sum;
}

Json json_of(const Context& context, const NetsimOptions& options, const MatchReport& report) {
    Json faults = Json::array();
    for (const netsim::Fault& fault : report.plan.faults) {
        faults.push_back(to_string(fault));
    }
    return {{"seed", json_integer(report.plan.seed)},
            {"failures", report.failures},
            {"peers", report.plan.peers},
            {"ticks", json_integer(report.plan.ticks)},
            {"faults", faults},
            {"digest", to_hex(report.digest)},
            {"command", netsim::command_for(report.plan, context.program(), options.game)}};
}

/// Shows a failing seed; the first ones are cut down, within a budget of runs.
Json explain(const Context& context,
             const NetsimOptions& options,
             const GameEntry& game,
             const MatchReport& report,
             bool cut_down) {
    Json json = json_of(context, options, report);
    Context::note(fmt::format("seed {} failed: {}",
                              report.plan.seed,
                              report.failures.empty() ? "?" : report.failures.front()));
    Context::note("  repeat: " + json["command"].get<std::string>());
    if (cut_down) {
        constexpr unsigned runs_max = 200;
        const Plan small =
            netsim::shrink(game, report.plan, [](unsigned runs) { return runs <= runs_max; });
        const MatchReport again = netsim::run_match(game, small);
        json["shrunk"] = json_of(context, options, again);
        Context::note(fmt::format("  shrunk to {} faults, {} peers, {} ticks: {}",
                                  small.faults.size(),
                                  small.peers,
                                  small.ticks,
                                  again.failures.empty() ? "?" : again.failures.front()));
        Context::note("  repeat: " + json["shrunk"]["command"].get<std::string>());
    }
    return json;
}

Exit report_all(Context& context, const NetsimOptions& options, const GameEntry& game, Sum& sum) {
    constexpr std::size_t explained_max = 20;
    constexpr std::size_t shrunk_max = 3;
    Json seeds = Json::array();
    Json details = Json::array();
    for (std::size_t i = 0; i < sum.failed.size(); ++i) {
        seeds.push_back(json_integer(sum.failed[i].plan.seed));
        if (i < explained_max) {
            details.push_back(explain(
                context, options, game, sum.failed[i], i < shrunk_max && !options.keep_faults));
        }
    }
    context.print({{"matches", sum.matches},
                   {"failed_seeds", seeds},
                   {"ticks", json_integer(sum.ticks)},
                   {"frames_compared", json_integer(sum.frames_compared)},
                   {"hashes_compared", json_integer(sum.hashes_compared)},
                   {"recording_hashes_checked", json_integer(sum.recording_hashes)},
                   {"packets", json_integer(sum.packets)},
                   {"faults", json_integer(sum.faults)},
                   {"peers_named", json_integer(sum.named)},
                   {"digest", to_hex(sum.digest)},
                   {"failures", details}});
    context.say(fmt::format("{} matches, {} failed; {} ticks, {} frames and {} hashes compared, {} "
                            "packets, {} faults, digest {}",
                            sum.matches,
                            sum.failed.size(),
                            sum.ticks,
                            sum.frames_compared,
                            sum.hashes_compared,
                            sum.packets,
                            sum.faults,
                            to_hex(sum.digest)));
    if (!sum.failed.empty()) {
        return Exit::divergence;
    }
    return sum.hashes_compared == 0 ? Exit::nothing_checked : Exit::done;
}

/// One seed with its event log, its capture, or both.
Exit show_one(Context& context,
              const NetsimOptions& options,
              const GameEntry& game,
              const Plan& plan) {
    netsim::MatchOptions match_options;
    match_options.log_lines_max = options.log ? 1'000'000 : 0;
    match_options.capture = !options.capture.empty();
    Plan shown = plan;
    if (match_options.capture) {
        shown.mode = net::wire::Mode::plain;
    }
    const MatchReport report = netsim::run_match(game, shown, match_options);
    if (!options.capture.empty()) {
        std::FILE* const file = std::fopen(options.capture.c_str(), "wbx");
        if (file == nullptr) {
            Context::note(options.capture + ": cannot be created; it must not exist yet");
            return Exit::failed;
        }
        std::string head =
            "# twinstep netsim capture 1, slots " + std::to_string(shown.slots) + ", neutral ";
        for (const std::byte byte : game.neutral) {
            head += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
        }
        std::fputs((head + "\n").c_str(), file);
        for (const std::string& line : report.capture) {
            std::fputs((line + "\n").c_str(), file);
        }
        if (std::fclose(file) != 0) {
            Context::note(options.capture + ": cannot be written");
            return Exit::failed;
        }
    }
    std::string text;
    for (const std::string& line : report.log) {
        text += line + "\n";
    }
    Sum sum;
    sum.add(report);
    if (!context.json) {
        Context::data(text);
    }
    return report_all(context, options, game, sum);
}

Exit netsim_verb(Context& context, const NetsimOptions& options) {
    SeedRange range;
    if (!parse_seeds(options.seeds, range)) {
        Context::note(fmt::format("--seeds {}: use A:B with A <= B, or one seed", options.seeds));
        return Exit::usage;
    }
    netsim::PlanOptions plan_options;
    plan_options.peers = static_cast<std::uint16_t>(options.peers);
    plan_options.spectators = options.spectators;
    plan_options.ticks = options.ticks;
    if (const Result<void> parsed = netsim::parse_faults(options.faults, plan_options); !parsed) {
        return Context::refuse_option(parsed.error());
    }
    const GameEntry tally = entry_for<netsim::Tally>();
    const GameEntry* game = &tally;
    if (options.game != netsim::Tally::id) {
        const auto found = context.find_game(options.game);
        if (!found) {
            return Context::refuse_option(found.error());
        }
        game = *found;
    }
    const SimulationInfo info = game->make()->info();
    if (options.peers > info.slots_max) {
        Context::note(fmt::format(
            "--peers {}: {} takes at most {}", options.peers, options.game, info.slots_max));
        return Exit::usage;
    }
    if (options.log || !options.capture.empty()) {
        return show_one(
            context, options, *game, netsim::make_plan(range.first, info, plan_options));
    }
    Sum sum = run_seeds(*game, info, plan_options, range, options.jobs);
    return report_all(context, options, *game, sum);
}

} // namespace

void declare_netsim(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "netsim",
                                  "Play seeded matches over a simulated bad network",
                                  "twinstep netsim --seeds 1:100 --jobs 2 --game marine");
    auto options = std::make_shared<NetsimOptions>();
    verb.add_option("--seeds", options->seeds, "Seeds A to B, one match each, or a single seed")
        ->capture_default_str();
    verb.add_option("--jobs", options->jobs, "Matches that are played at once")
        ->transform(whole_number(1, 256))
        ->capture_default_str();
    verb.add_option("--game",
                    options->game,
                    "Game id; tally is a tiny game of netsim's own in which every input counts")
        ->capture_default_str();
    verb.add_option("--peers", options->peers, "Players; default: 2 to 16, by the seed")
        ->transform(whole_number(1, 64));
    verb.add_option("--spectators", options->spectators, "Spectators; default: 0 to 2, by the seed")
        ->transform(whole_number(0, 64));
    verb.add_option("--ticks", options->ticks, "Ticks of a match; default: 60 s of the game")
        ->transform(whole_number(1, 10'000'000));
    verb.add_option("--faults",
                    options->faults,
                    "all, none, kinds (loss,burst,crash,...), or a list of faults "
                    "KIND/PEER/AT_MS/FOR_MS/AMOUNT as failing seeds print them")
        ->capture_default_str();
    verb.add_flag("--log", options->log, "Print the event log of the first seed's match");
    verb.add_flag("--keep-faults", options->keep_faults, "Do not cut failing matches down");
    verb.add_option("--capture",
                    options->capture,
                    "Play the first seed without encryption and write its datagrams to a new file")
        ->check(not_empty());
    verb.callback([&action, options] {
        action = [options](Context& c) { return netsim_verb(c, *options); };
    });
}

} // namespace twinstep::tools
