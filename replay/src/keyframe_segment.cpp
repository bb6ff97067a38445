// SPDX-License-Identifier: MIT
// A recording in segments between keyframes: each proves the state that the next one starts from.
#include "keyframe_recording.hpp"

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/driver.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace twinstep::replay {

namespace {

/// Compares the state that a segment ended in with the keyframe that is said to be there. The
/// playback's verifier has not seen it: it looks before a step, and there is none.
Result<void> compare_end(const StateHashes& hashes,
                         KeyframedRecording& recording,
                         std::size_t keyframe,
                         SegmentReport& report) {
    const KeyframeInfo& info = recording.keyframes()[keyframe];
    const Result<RecordedState> on_record = recorded_state(recording, info.tick);
    if (!on_record) {
        return fail(on_record.error());
    }
    bool checked = false;
    report.divergence = compare_recorded(hashes, *on_record, checked);
    report.ends_checked = checked ? 1U : 0U;
    report.hashes_checked += report.ends_checked;
    if (report.divergence || (hashes.tick == info.tick && hashes.state == info.state)) {
        return {};
    }
    Error error(Errc::corrupt_record,
                "keyframe.state",
                "the recording leads to state " + twinstep::to_hex(hashes.state));
    report.problem = KeyframeProblem{info.tick, error};
    recording.refuse(keyframe, std::move(error));
    return {};
}

/// Plays to the end of the segment, or as far as the source and the watch let it.
Result<void> play_watched(Driver& driver,
                          const Segment& segment,
                          const SegmentWatch& watch,
                          SegmentReport& report) {
    constexpr std::uint64_t batch_ticks = 64;
    const std::uint64_t wanted = segment.end.value - segment.begin.value;
    while (report.ticks < wanted) {
        if (watch.stop_from != nullptr && segment.begin.value >= *watch.stop_from) {
            report.stopped = true;
            return {};
        }
        const Result<Advance> advance =
            driver.advance(std::min(batch_ticks, wanted - report.ticks));
        if (!advance) {
            return fail(advance.error());
        }
        report.ticks += advance->ticks;
        if (watch.ticks_done != nullptr) {
            *watch.ticks_done += advance->ticks;
        }
        if (advance->state != DriverState::running) {
            return {};
        }
    }
    return {};
}

/// Tells a wrong keyframe from a recording that diverges: a straight run does not need it.
Result<void> judge(Simulation& simulation,
                   KeyframedRecording& recording,
                   const Segment& segment,
                   const Divergence& divergence,
                   std::optional<SegmentReport>& straight) {
    if (!straight) {
        const Segment whole{recording.first_tick(), recording.end_tick(), {}, {}};
        Result<SegmentReport> run = verify_segment(simulation, recording, whole);
        if (!run) {
            return fail(run.error());
        }
        straight = *run;
    }
    if (!straight->divergence || straight->divergence->tick > divergence.tick) {
        std::string where = "tick " + std::to_string(divergence.tick.value);
        if (!divergence.section.empty()) {
            where += ", section " + divergence.section;
        }
        recording.refuse(*segment.keyframe,
                         Error(Errc::corrupt_record,
                               "keyframe",
                               "from here the game goes another way than it did, seen at " + where +
                                   ": does its serialize miss a field?"));
    }
    return {};
}

} // namespace

std::vector<Segment> make_segments(const KeyframedRecording& recording, std::uint64_t ticks_min) {
    std::vector<Segment> segments;
    Segment segment{recording.first_tick(), recording.end_tick(), {}, {}};
    const std::vector<KeyframeInfo>& keyframes = recording.keyframes();
    const std::uint64_t least = ticks_min == 0 ? 1 : ticks_min;
    for (std::size_t i = 0; i < keyframes.size(); ++i) {
        const Tick tick = keyframes[i].tick;
        // One at the end or beyond proves nothing: the end is compared with the recording.
        const bool useful = tick > segment.begin && tick < recording.end_tick() &&
                            tick.value - segment.begin.value >= least;
        if (!useful || recording.is_refused(i)) {
            continue;
        }
        segment.end = tick;
        segment.end_keyframe = i;
        segments.push_back(segment);
        segment = {tick, recording.end_tick(), i, {}};
    }
    segments.push_back(segment);
    return segments;
}

Result<SegmentReport> verify_segment(Simulation& simulation,
                                     KeyframedRecording& recording,
                                     const Segment& segment,
                                     const SegmentWatch& watch) {
    SegmentReport report;
    if (segment.keyframe) {
        if (auto loaded = recording.load(simulation, *segment.keyframe); !loaded) {
            report.problem = KeyframeProblem{segment.begin, loaded.error()};
            return report;
        }
    } else if (auto prepared = recording.prepare(simulation); !prepared) {
        return fail(prepared.error());
    }
    TWINSTEP_ASSERT(simulation.tick() == segment.begin && segment.begin <= segment.end);
    if (auto gone = recording.go(segment.begin); !gone) {
        return fail(gone.error());
    }
    Playback& playback = recording.playback();
    playback.clear_verdict();
    playback.stop_at_divergence(true);
    Driver driver(simulation, playback.source());
    driver.add(playback.verifier());
    const Result<void> played = play_watched(driver, segment, watch, report);
    playback.stop_at_divergence(false);
    if (!played) {
        return fail(played.error());
    }
    report.hashes_checked = playback.verdict().hashes_checked;
    report.divergence = playback.verdict().divergence;
    const StateHashes& hashes = simulation.hash();
    report.final_hash = hashes.state;
    if (!report.divergence && !report.stopped && segment.end_keyframe) {
        if (auto done = compare_end(hashes, recording, *segment.end_keyframe, report); !done) {
            return fail(done.error());
        }
    }
    return report;
}

Result<KeyframesReport> check_keyframes(Simulation& simulation, KeyframedRecording& recording) {
    KeyframesReport report;
    if (auto prepared = recording.prepare(simulation); !prepared) {
        return fail(prepared.error());
    }
    for (std::size_t i = 0; i < recording.keyframes().size(); ++i) {
        // What is wrong becomes one of the recording's problems.
        static_cast<void>(recording.load(simulation, i));
    }
    std::optional<SegmentReport> straight;
    for (const Segment& segment : make_segments(recording)) {
        const Result<SegmentReport> checked = verify_segment(simulation, recording, segment);
        if (!checked) {
            return fail(checked.error());
        }
        report.ticks += checked->ticks;
        report.hashes_checked += checked->hashes_checked;
        if (!checked->divergence) {
            continue;
        }
        if (!segment.keyframe) {
            report.divergence = checked->divergence;
            break;
        }
        if (auto judged = judge(simulation, recording, segment, *checked->divergence, straight);
            !judged) {
            return fail(judged.error());
        }
        if (straight->divergence) {
            report.divergence = straight->divergence;
        }
    }
    for (std::size_t i = 0; i < recording.keyframes().size(); ++i) {
        report.keyframes += recording.is_refused(i) ? 0U : 1U;
    }
    report.defects = recording.defects();
    report.problems = recording.problems();
    return report;
}

} // namespace twinstep::replay
