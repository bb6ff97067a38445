// SPDX-License-Identifier: MIT
// One recording: recorded hashes, fork, round trip, twice.
#include "verification.hpp"

#include "recordings.hpp"

#include "twinstep/replay/difference.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace twinstep::tools {

namespace {

/// A second simulation that was loaded from the first one's snapshot and takes the same steps. What
/// a snapshot leaves out shows up as a difference.
class Fork final : public Observer {
public:
    Fork(Simulation& first, std::uint64_t every)
        : first_(first)
        , second_(first.make_another())
        , every_(every) {}

    void before(const TickBegin& begin) override {
        if (found_ || error_) {
            return;
        }
        if (begin.tick.value % every_ == 0) {
            keep(load());
        }
        if (!error_) {
            keep(second_->prepare(begin.frame));
        }
        if (!error_) {
            second_->step();
        }
    }

    void after(const StateHashes& hashes) override {
        if (!found_ && !error_ && second_->hash().state != hashes.state) {
            found_ = replay::compare_states(first_, *second_);
        }
    }

    const std::optional<Divergence>& found() const { return found_; }

    const std::optional<Error>& error() const { return error_; }

private:
    Result<void> load() {
        if (Result<void> reset = second_->reset(first_.setup()); !reset) {
            return reset;
        }
        first_.save(snapshot_);
        return second_->load(snapshot_);
    }

    void keep(Result<void> result) {
        if (!result) {
            error_ = std::move(result.error());
        }
    }

    Simulation& first_;
    std::unique_ptr<Simulation> second_;
    std::uint64_t every_;
    Bytes snapshot_;
    std::optional<Divergence> found_;
    std::optional<Error> error_;
};

/// Saves and loads in place; the hash must not move.
Result<std::optional<Divergence>> round_trip(Simulation& simulation, Bytes& snapshot) {
    const StateHashes before = simulation.hash();
    simulation.save(snapshot);
    if (Result<void> loaded = simulation.load(snapshot); !loaded) {
        return fail(loaded.error());
    }
    const StateHashes& after = simulation.hash();
    for (std::size_t i = 0; i < before.sections.size(); ++i) {
        if (before.sections[i].hash != after.sections[i].hash) {
            return Divergence{before.tick,
                              before.sections[i].name,
                              {},
                              to_hex(before.sections[i].hash),
                              to_hex(after.sections[i].hash)};
        }
    }
    return std::nullopt;
}

void diverge(Outcome& outcome, std::string_view check, const Divergence& divergence) {
    outcome.exit = Exit::divergence;
    outcome.divergence = divergence;
    outcome.failed_check = check;
}

/// Runs the driver to the end in batches, with a round trip after each.
Result<std::optional<Divergence>>
run_to_end(Driver& driver, const VerificationOptions& options, FileProgress& progress) {
    constexpr std::uint64_t batch_ticks = 256;
    const std::uint64_t batch =
        options.roundtrip_every != 0 ? std::min(options.roundtrip_every, batch_ticks) : batch_ticks;
    Bytes snapshot;
    for (;;) {
        const auto advance = driver.advance(batch);
        if (!advance) {
            return fail(advance.error());
        }
        progress.ticks += advance->ticks;
        const std::uint64_t tick = driver.simulation().tick().value;
        if (options.roundtrip_every != 0 && tick % options.roundtrip_every == 0) {
            auto found = round_trip(driver.simulation(), snapshot);
            if (!found || *found) {
                return found;
            }
        }
        if (advance->state != DriverState::running) {
            return std::nullopt;
        }
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
    std::optional<Fork> fork;
    if (options.fork_every != 0) {
        session->driver.add(fork.emplace(simulation, options.fork_every));
    }
    const auto round_trip_found = run_to_end(session->driver, options, progress);
    const Tick first = *replay::first_tick(reader.head());
    outcome.ticks += simulation.tick().value - first.value;
    outcome.hashes_checked += playback.verdict().hashes_checked;
    outcome.state = reader.state();
    outcome.loss = reader.loss();
    outcome.broken_tick = reader.next_tick();
    outcome.broken_chunk = reader.chunks();
    if (!round_trip_found) {
        return fail(located(round_trip_found.error(), outcome.path));
    }
    if (fork && fork->error()) {
        return fail(located(*fork->error(), outcome.path));
    }
    for (const replay::Defect& defect : reader.defects()) {
        outcome.remarks.push_back(to_string(defect.error));
    }
    if (playback.verdict().divergence) {
        diverge(outcome, "recorded hash", *playback.verdict().divergence);
    } else if (fork && fork->found()) {
        diverge(outcome, "fork", *fork->found());
    } else if (*round_trip_found) {
        diverge(outcome, "round trip", **round_trip_found);
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
    for (int pass = 0; pass < passes && !outcome.divergence; ++pass) {
        const Result<void> ran = options.segment_jobs != 0
                                     ? run_segments(context, outcome, options, progress)
                                     : run_pass(context, outcome, options, progress);
        if (!ran) {
            judge_error(outcome, ran.error());
            return outcome;
        }
    }
    if (outcome.divergence) {
        outcome.remarks.push_back(
            fmt::format("{}: {}: {}", path, outcome.failed_check, to_line(*outcome.divergence)));
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
