// SPDX-License-Identifier: MIT
// Segments of one recording on several threads, and how their answers become one.
#include "twinstep/replay/segments.hpp"

#include "keyframe_recording.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::uint64_t no_tick = UINT64_MAX;

/// A segment and what it came to, once it is known.
struct SegmentTask {
    Segment segment;
    std::optional<SegmentReport> report;

    bool is_open() const { return !report || report->stopped; }
};

/// One thread's own simulation and reader.
struct SegmentWorker {
    std::unique_ptr<Simulation> simulation;
    std::optional<KeyframedRecording> recording;
    bool build_differs = false;
};

/// The work on one recording. The first worker belongs to the thread that asks.
class SegmentedRun {
public:
    SegmentedRun(const SegmentFactory& factory, const VerifySegmentsOptions& options)
        : factory_(factory)
        , options_(options)
        , workers_(options.jobs) {}

    Result<SegmentedReport> run();

private:
    Result<void> open(SegmentWorker& worker) const;
    Result<void> open_again(SegmentWorker& worker);
    Result<void> make_simulation(SegmentWorker& worker) const;
    void cut();
    Result<void> work_off();
    void work(SegmentWorker& worker);
    void keep(std::size_t index, Result<SegmentReport> report);
    bool join_refused();
    std::size_t first_divergence() const;
    void one_pass();
    Result<SegmentedReport> answer();

    KeyframedRecording& recording() { return *workers_.front().recording; }

    const SegmentFactory& factory_;
    const VerifySegmentsOptions& options_;
    std::vector<SegmentWorker> workers_;
    std::vector<SegmentTask> tasks_;
    std::map<std::size_t, Error> refused_; ///< Keyframes, for the workers that did not find it.
    std::atomic<std::uint64_t> stop_from_{no_tick};

    std::mutex mutex_; ///< Of what follows, and of the reports in tasks_.
    std::size_t next_ = 0;
    std::optional<Error> error_;
    std::optional<Loss> loss_;
};

Result<void> SegmentedRun::open(SegmentWorker& worker) const {
    Result<Reader> reader = factory_.open_reader();
    if (!reader) {
        return fail(reader.error());
    }
    worker.simulation = factory_.make_simulation();
    // Asked first: what is wrong with the simulation is worth more than what is with the file.
    Result<bool> build_differs = prepare_simulation(*worker.simulation, *reader);
    if (!build_differs) {
        return fail(build_differs.error());
    }
    worker.build_differs = *build_differs;
    Result<KeyframedRecording> recording =
        KeyframedRecording::open(std::move(*reader), options_.keyframes);
    if (!recording) {
        return fail(recording.error());
    }
    worker.recording = std::move(*recording);
    return {};
}

/// Opens the files for a worker that takes over what the first one found: nobody may be at work.
Result<void> SegmentedRun::open_again(SegmentWorker& worker) {
    Result<Reader> reader = factory_.open_reader();
    if (!reader) {
        return fail(reader.error());
    }
    Result<KeyframedRecording> recording_again =
        recording().open_again(std::move(*reader), options_.keyframes);
    if (!recording_again) {
        return fail(recording_again.error());
    }
    worker.recording = std::move(*recording_again);
    return {};
}

/// Such a worker's simulation: what takes long is left to its own thread.
Result<void> SegmentedRun::make_simulation(SegmentWorker& worker) const {
    worker.simulation = factory_.make_simulation();
    if (const auto prepared = worker.recording->prepare(*worker.simulation); !prepared) {
        return fail(prepared.error());
    }
    return {};
}

void SegmentedRun::cut() {
    constexpr std::uint64_t segments_a_job = 32;
    const std::uint64_t ticks = recording().end_tick().value - recording().first_tick().value;
    if (options_.ticks_total != nullptr) {
        *options_.ticks_total = ticks;
    }
    const std::uint64_t least =
        options_.ticks_min != 0 ? options_.ticks_min : ticks / (segments_a_job * options_.jobs);
    for (const Segment& segment : make_segments(recording(), least)) {
        tasks_.push_back({segment, {}});
    }
}

void SegmentedRun::keep(std::size_t index, Result<SegmentReport> report) {
    const Segment& segment = tasks_[index].segment;
    if (!report) {
        error_ = report.error();
        stop_from_ = 0;
        return;
    }
    if (report->problem) {
        const bool begins = report->problem->tick == segment.begin;
        refused_.try_emplace(begins ? *segment.keyframe : *segment.end_keyframe,
                             report->problem->error);
    }
    if (report->divergence) {
        // Whatever comes after it is of no interest; what comes before may still diverge earlier.
        stop_from_ = std::min<std::uint64_t>(stop_from_, segment.begin.value + 1);
    }
    tasks_[index].report = std::move(*report);
}

void SegmentedRun::work(SegmentWorker& worker) {
    if (!worker.simulation) {
        if (Result<void> made = make_simulation(worker); !made) {
            const std::lock_guard lock(mutex_);
            error_ = made.error();
            stop_from_ = 0;
            return;
        }
    }
    KeyframedRecording& recording = *worker.recording;
    while (true) {
        std::unique_lock lock(mutex_);
        while (next_ < tasks_.size() && !tasks_[next_].is_open()) {
            ++next_;
        }
        if (next_ == tasks_.size() || tasks_[next_].segment.begin.value >= stop_from_) {
            return;
        }
        const std::size_t index = next_++;
        lock.unlock();
        Result<SegmentReport> report = verify_segment(*worker.simulation,
                                                      recording,
                                                      tasks_[index].segment,
                                                      {options_.ticks_done, &stop_from_});
        lock.lock();
        if (index + 1 == tasks_.size() && report && !report->stopped) {
            loss_ = recording.playback().reader().loss();
        }
        keep(index, std::move(report));
    }
}

/// Runs all tasks that are open, up to the first divergence. Errors: the first one of a worker.
Result<void> SegmentedRun::work_off() {
    next_ = 0;
    stop_from_ = no_tick;
    for (const SegmentTask& task : tasks_) {
        if (task.report && task.report->divergence) {
            stop_from_ = std::min<std::uint64_t>(stop_from_, task.segment.begin.value + 1);
        }
    }
    {
        const std::size_t open_tasks = static_cast<std::size_t>(std::count_if(
            tasks_.begin(), tasks_.end(), [](const SegmentTask& task) { return task.is_open(); }));
        const std::size_t busy = std::min(workers_.size(), open_tasks);
        for (std::size_t i = 1; i < busy; ++i) {
            if (workers_[i].recording) {
                continue;
            }
            if (Result<void> opened = open_again(workers_[i]); !opened) {
                return opened;
            }
        }
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < busy; ++i) {
            threads.emplace_back([this, i] { work(workers_[i]); });
        }
        work(workers_.front());
    }
    if (error_) {
        return fail(*error_);
    }
    return {};
}

/// Makes one segment of those that a refused keyframe parts. True if there were any.
bool SegmentedRun::join_refused() {
    std::vector<SegmentTask> joined;
    bool any = false;
    for (SegmentTask& task : tasks_) {
        if (!task.segment.keyframe || !refused_.contains(*task.segment.keyframe)) {
            joined.push_back(std::move(task));
            continue;
        }
        any = true;
        joined.back().segment.end = task.segment.end;
        joined.back().segment.end_keyframe = task.segment.end_keyframe;
        joined.back().report.reset();
    }
    tasks_ = std::move(joined);
    return any;
}

/// The first task that found a divergence, or the number of tasks.
std::size_t SegmentedRun::first_divergence() const {
    const auto first = std::find_if(tasks_.begin(), tasks_.end(), [](const SegmentTask& task) {
        return task.report && task.report->divergence;
    });
    return static_cast<std::size_t>(first - tasks_.begin());
}

void SegmentedRun::one_pass() {
    tasks_ = {{{recording().first_tick(), recording().end_tick(), {}, {}}, {}}};
    if (options_.ticks_done != nullptr) {
        *options_.ticks_done = 0;
    }
}

Result<SegmentedReport> SegmentedRun::answer() {
    SegmentedReport report;
    report.segments = tasks_.size();
    for (const SegmentTask& task : tasks_) {
        TWINSTEP_ASSERT(!task.is_open() && !task.report->problem);
        report.ticks += task.report->ticks;
        report.hashes_checked += task.report->hashes_checked - task.report->ends_checked;
        report.final_hash = task.report->final_hash;
        if (task.report->divergence) {
            report.divergence = task.report->divergence;
            break;
        }
        if (task.report->ticks != task.segment.end.value - task.segment.begin.value) {
            return fail(file_changed());
        }
    }
    report.build_differs = workers_.front().build_differs;
    report.state = recording().state();
    report.loss = loss_;
    report.defects = recording().defects();
    report.problems = recording().problems();
    report.problems_left_out = recording().problems_left_out();
    return report;
}

Result<SegmentedReport> SegmentedRun::run() {
    if (Result<void> opened = open(workers_.front()); !opened) {
        return fail(opened.error());
    }
    cut();
    // Each round plays at most the whole recording; whoever forges keyframes gets no more of them.
    constexpr int rounds_max = 3;
    for (int round = 0;; ++round) {
        if (Result<void> done = work_off(); !done) {
            return fail(done.error());
        }
        for (const auto& [index, error] : refused_) {
            if (!recording().is_refused(index)) {
                recording().refuse(index, error);
            }
        }
        if (!join_refused()) {
            break;
        }
        if (round + 1 == rounds_max) {
            one_pass();
        }
    }
    const std::size_t diverged = first_divergence();
    // Found in the first segment it is one pass already, unless its end found it: one pass takes
    // the step that follows before it stops.
    if (diverged == tasks_.size() || (diverged == 0 && tasks_[0].report->ends_checked == 0)) {
        return answer();
    }
    const Tick found = tasks_[diverged].report->divergence->tick;
    one_pass();
    if (Result<void> done = work_off(); !done) {
        return fail(done.error());
    }
    const std::optional<Divergence>& straight = tasks_.front().report->divergence;
    Result<SegmentedReport> report = answer();
    if (report && (!straight || straight->tick != found)) {
        report->problems.push_back(
            {found,
             Error(Errc::corrupt_record,
                   "keyframe",
                   "from a keyframe before tick " + std::to_string(found.value) +
                       " the game goes another way than from the start: does its serialize miss "
                       "a field?")});
    }
    return report;
}

} // namespace

Result<SegmentedReport> verify_segments(const SegmentFactory& factory,
                                        const VerifySegmentsOptions& options) {
    TWINSTEP_ASSERT(options.jobs > 0);
    return SegmentedRun(factory, options).run();
}

} // namespace twinstep::replay
