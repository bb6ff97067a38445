// SPDX-License-Identifier: MIT
// One recording: recorded hashes, the checks beside them, twice.
#include "verification.hpp"

#include "other_program.hpp"
#include "parsed_number.hpp"
#include "recordings.hpp"
#include "verification_build.hpp"
#include "verification_checks.hpp"

#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/segments.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <utility>

namespace twinstep::tools {

namespace {

/// This program, for another process.
std::string own_program(const Context& context) {
    std::error_code error;
    const auto link = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? context.program() : link.string();
}

/// Notices the first state that has a NaN. Its hash is what it was, and still it is a fault.
class NanWatch final : public Observer {
public:
    explicit NanWatch(const Simulation& simulation)
        : simulation_(simulation) {}

    void before(const TickBegin& begin) override { look(begin.tick); }

    void after(const StateHashes& hashes) override { look(hashes.tick); }

    /// A remark, or nothing.
    const std::string& remark() const { return remark_; }

private:
    void look(Tick tick) {
        if (simulation_.has_nan() && remark_.empty()) {
            const auto place = find_nan(simulation_);
            remark_ = fmt::format(
                "NaN from tick {} on{}",
                tick.value,
                place ? fmt::format(": section {}, field {}", place->section, place->field)
                      : std::string());
        }
    }

    const Simulation& simulation_;
    std::string remark_;
};

void diverge(Outcome& outcome, std::string_view check, const Divergence& divergence) {
    outcome.exit = Exit::divergence;
    outcome.divergence = divergence;
    outcome.failed_check = check;
}

/// Runs the driver to the end in batches, each of which ends where a check is due.
Result<void> run_to_end(Driver& driver, PassChecks& checks, FileProgress& progress) {
    constexpr std::uint64_t batch_ticks = 256;
    bool at_end = false;
    for (;;) {
        const Result<bool> goes_on = checks.arrive(at_end);
        if (!goes_on) {
            return fail(goes_on.error());
        }
        if (!*goes_on || at_end) {
            return {};
        }
        const auto advance = driver.advance(checks.ticks_to_next(batch_ticks));
        if (!advance) {
            return fail(advance.error());
        }
        progress.ticks += advance->ticks;
        at_end = advance->state != DriverState::running;
    }
}

/// One pass over the file. Errors: whatever keeps the file from being read or simulated.
Result<void> run_pass(const Context& context,
                      Outcome& outcome,
                      const VerificationOptions& options,
                      FileProgress& progress) {
    auto session = start_replay(context, outcome.path);
    if (!session) {
        return fail(session.error());
    }
    outcome.other_build = session->other_build;
    Simulation& simulation = *session->simulation;
    replay::Playback& playback = session->playback;
    const replay::Reader& reader = playback.reader();
    playback.stop_at_divergence(true);
    NanWatch nan(simulation);
    session->driver.add(nan);
    auto checks = PassChecks::start(session->driver, options);
    if (!checks) {
        return fail(located(checks.error(), outcome.path));
    }
    const Result<void> ran = run_to_end(session->driver, **checks, progress);
    const Tick first = *replay::first_tick(reader.head());
    outcome.ticks += simulation.tick().value - first.value;
    outcome.hashes_checked += playback.verdict().hashes_checked;
    outcome.state = reader.state();
    outcome.loss = reader.loss();
    outcome.broken_tick = reader.next_tick();
    outcome.broken_chunk = reader.chunks();
    if (!ran) {
        return fail(located(ran.error(), outcome.path));
    }
    for (const std::string& remark : (*checks)->remarks()) {
        outcome.remarks.push_back(fmt::format("{}: {}", outcome.path, remark));
    }
    if (!nan.remark().empty()) {
        outcome.remarks.push_back(fmt::format("{}: {}", outcome.path, nan.remark()));
    }
    const auto found = (*checks)->outcome();
    if (!found) {
        return fail(located(found.error(), outcome.path));
    }
    for (const replay::Defect& defect : reader.defects()) {
        outcome.remarks.push_back(to_string(defect.error));
    }
    const auto& recorded = playback.verdict().divergence;
    // A run that differs from itself is the cause, and its check knows the field.
    if (*found && (!recorded || (*found)->divergence.tick <= recorded->tick)) {
        diverge(outcome, (*found)->check, (*found)->divergence);
        outcome.again = (*found)->options;
    } else if (recorded) {
        diverge(outcome, "recorded hash", *recorded);
    }
    return {};
}

/// The same over segments. Errors: those of verify_segments.
Result<void> run_segments(const Context& context,
                          Outcome& outcome,
                          const VerificationOptions& options,
                          FileProgress& progress) {
    auto opened = open_recording(context, outcome.path);
    if (!opened) {
        return fail(opened.error());
    }
    const Simulation& example = *opened->simulation;
    const replay::SegmentFactory factory{[&example] { return example.make_another(); },
                                         [&outcome] { return open_reader(outcome.path); }};
    replay::VerifySegmentsOptions how;
    how.jobs = options.segment_jobs;
    how.keyframes.side_file = found_side_file(outcome.path);
    how.ticks_done = &progress.ticks;
    how.ticks_total = &progress.ticks_total;
    const auto report = replay::verify_segments(factory, how);
    if (!report) {
        return fail(located(report.error(), outcome.path));
    }
    outcome.other_build = report->build_differs;
    outcome.ticks += report->ticks;
    outcome.hashes_checked += report->hashes_checked;
    outcome.segments += report->segments;
    outcome.state = report->state;
    outcome.loss = report->loss;
    for (const replay::KeyframeProblem& problem : report->problems) {
        outcome.remarks.push_back(fmt::format(
            "{}: keyframe{} not used: {}",
            outcome.path,
            problem.tick ? fmt::format(" of tick {}", problem.tick->value) : std::string(),
            to_string(problem.error)));
    }
    if (report->problems_left_out != 0) {
        outcome.remarks.push_back(
            fmt::format("{}: {} more keyframes not used", outcome.path, report->problems_left_out));
    }
    if (report->divergence) {
        diverge(outcome, "recorded hash", *report->divergence);
        return {};
    }
    for (const replay::Defect& defect : report->defects) {
        outcome.remarks.push_back(to_string(defect.error));
        outcome.broken_tick = defect.tick;
    }
    return {};
}

/// Verifies the file once more by a process of its own, which has nothing left from this one,
/// and another time zone.
/// Errors: io_error if there is none to be had, or what it says is not a report of this file.
Result<void> run_fresh(const Context& context, Outcome& outcome, std::uint64_t hashes) {
    auto folder = ScratchFolder::create();
    if (!folder) {
        return fail(folder.error());
    }
    constexpr std::chrono::hours limit{24};
    // In whichever zone this one is, it is not 13 hours and 45 minutes east of Greenwich.
    const std::string time_zone = "TZ=TWIN-13:45";
    const auto ended = run_program(own_program(context),
                                   {"verify", outcome.path, "--json"},
                                   folder->path(),
                                   limit,
                                   {time_zone});
    if (!ended) {
        return fail(ended.error());
    }
    const Json report = Json::parse(ended->output, nullptr, false);
    const auto refuse = [&](std::string why) {
        return fail(Error(replay::Errc::io_error, "--fresh", std::move(why)).in(outcome.path));
    };
    if (!report.is_object() || !report.contains("divergences")) {
        return refuse("the other process said nothing: " + ended->problems);
    }
    const Json& divergences = report["divergences"];
    if (!divergences.empty()) {
        const Json& first = divergences.front();
        const auto text = [&](const char* key) { return first.value(key, std::string()); };
        const auto tick = parsed_number<std::uint64_t>(text("tick"));
        diverge(outcome,
                "fresh process",
                {Tick{tick.value_or(0)},
                 text("section"),
                 text("field"),
                 text("expected"),
                 text("actual")});
        outcome.again = "--fresh";
    } else if (report.value("hashes_checked", std::string()) != json_integer(hashes)) {
        return refuse("the other process checked another number of hashes");
    }
    return {};
}

/// Plays the file's inputs in another build. Where that parts from this one no later than the
/// recorded hashes do, it is what there is to say: it knows the field. Errors: those of
/// compare_builds.
Result<void> run_other_build(const Context& context, Outcome& outcome, const std::string& program) {
    const auto found = compare_builds(context, outcome.path, program);
    if (!found) {
        return fail(found.error());
    }
    if (*found && (!outcome.divergence || (*found)->tick <= outcome.divergence->tick)) {
        diverge(outcome, "other build", **found);
        outcome.again = fmt::format("--bisect-build {}", program);
    }
    return {};
}

/// What is wrong with a file that could be simulated, and does not diverge.
void judge_file(Outcome& outcome) {
    const std::string& path = outcome.path;
    if (outcome.hashes_checked == 0) {
        outcome.exit = Exit::nothing_checked;
        outcome.remarks.push_back(fmt::format("{}: no hash was checked", path));
    } else if (outcome.loss) {
        outcome.exit = Exit::loss;
        outcome.remarks.push_back(fmt::format("{}: {}", path, loss_line(*outcome.loss)));
    } else if (outcome.state != replay::FileState::closed) {
        outcome.exit = Exit::loss;
        outcome.remarks.push_back(fmt::format(
            "{}: {} at tick {}: good up to there{}",
            path,
            replay::to_string(outcome.state),
            outcome.broken_tick ? outcome.broken_tick->value : outcome.ticks,
            outcome.state == replay::FileState::open
                ? "; it has no trailer: it is still being written, or its writer was killed"
                : ""));
    }
}

/// Keeps an error, and says in which chunk it is if it is in one.
void judge_error(Outcome& outcome, const Error& error) {
    outcome.exit = Context::exit_for(error);
    outcome.error = error;
    outcome.remarks.push_back(to_string(error));
    if (verdict_of(outcome) == "damaged" && outcome.broken_tick && outcome.broken_chunk) {
        outcome.remarks.push_back(fmt::format("{}: corrupt chunk {}: good up to tick {}",
                                              outcome.path,
                                              *outcome.broken_chunk,
                                              outcome.broken_tick->value));
    }
}

/// Only for a progress bar: what a pass over the file says, an error included, comes again.
std::uint64_t count_ticks(const std::string& path) {
    const auto summary = replay::summarise(path);
    return summary ? summary->ticks : 0;
}

} // namespace

bool has_keyframes(const std::string& path) {
    auto reader = open_reader(path);
    if (!reader) {
        return false;
    }
    replay::KeyframedOptions options;
    options.side_file = found_side_file(path);
    const auto recording = replay::KeyframedRecording::open(std::move(*reader), options);
    return recording && (!recording->keyframes().empty() || !recording->problems().empty());
}

Outcome verify_recording(const Context& context,
                         const std::string& path,
                         const VerificationOptions& options,
                         FileProgress& progress) {
    Outcome outcome;
    outcome.path = path;
    outcome.exit = Exit::done;
    const int passes = options.twice ? 2 : 1;
    if (progress.total_wanted && options.segment_jobs == 0) {
        progress.ticks_total = count_ticks(path) * static_cast<std::uint64_t>(passes);
    }
    VerificationOptions now = options;
    for (int pass = 0; pass < passes && !outcome.divergence; ++pass) {
        const Result<void> ran = options.segment_jobs != 0
                                     ? run_segments(context, outcome, now, progress)
                                     : run_pass(context, outcome, now, progress);
        if (!ran) {
            judge_error(outcome, ran.error());
            return outcome;
        }
        // The other checks are of one pass; that there is a second one is a check of its own.
        now = {};
        now.segment_jobs = options.segment_jobs;
    }
    if (options.fresh && !outcome.divergence) {
        const std::uint64_t hashes = outcome.hashes_checked / static_cast<std::uint64_t>(passes);
        if (Result<void> ran = run_fresh(context, outcome, hashes); !ran) {
            judge_error(outcome, ran.error());
            return outcome;
        }
    }
    if (!options.other_build.empty()) {
        if (Result<void> ran = run_other_build(context, outcome, options.other_build); !ran) {
            judge_error(outcome, ran.error());
            return outcome;
        }
    }
    if (outcome.divergence) {
        outcome.remarks.push_back(
            fmt::format("{}: {}: {}", path, outcome.failed_check, to_line(*outcome.divergence)));
        if (!outcome.again.empty()) {
            outcome.again = fmt::format("{} verify {} {}", context.program(), path, outcome.again);
            outcome.remarks.push_back("again with: " + outcome.again);
        }
    } else {
        judge_file(outcome);
    }
    if (outcome.other_build) {
        outcome.remarks.push_back(
            fmt::format("{}: made by another build: sim.source_digest differs", path));
    }
    return outcome;
}

} // namespace twinstep::tools
