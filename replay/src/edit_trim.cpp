// SPDX-License-Identifier: MIT
// A part of a recording, and a branch of one.
#include "edit_copy.hpp"

#include "twinstep/replay/player.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

/// A part of a recording on its way into a writer: the states that are needed come from a player.
class PartEdit {
public:
    PartEdit(Simulation* simulation, const ReadableRecording& source, const EditOptions& options)
        : simulation_(simulation)
        , source_(source)
        , options_(options) {}

    /// Decides what is copied. `until` may be the first tick only where `may_be_empty`.
    Result<void> plan(std::optional<Tick> from, std::optional<Tick> until, bool may_be_empty);

    /// Writes head, first state and ticks; false at a divergence.
    Result<bool> copy(std::unique_ptr<FileSink> sink, std::string_view verb);

    /// Goes to the end of what was copied and proves the state there; false at a divergence.
    Result<bool> prove_end();

    /// Plays on with other inputs.
    Result<bool> play_on(const ForkInputs& inputs);

    Result<EditReport> finish();

    EditReport& report() { return report_; }

private:
    Result<void> need_player(Tick tick);
    Result<bool> go(Tick tick);

    Simulation* simulation_;
    const ReadableRecording& source_;
    const EditOptions& options_;
    Survey survey_;
    RangeCopy::Range range_;
    std::optional<Player> player_;
    std::optional<Writer> writer_;
    RecordedState recorded_until_;
    EditReport report_;
};

Result<void>
PartEdit::plan(std::optional<Tick> from, std::optional<Tick> until, bool may_be_empty) {
    Result<Survey> survey = survey_recording(source_);
    if (!survey) {
        return fail(survey.error());
    }
    survey_ = std::move(*survey);
    range_.from = from.value_or(survey_.first);
    range_.until = until.value_or(survey_.end);
    range_.from_start = range_.from == survey_.first;
    range_.to_end = range_.until == survey_.end;
    range_.keep_first = range_.from_start;
    report_.first = range_.from;
    report_.source_state = survey_.state;
    report_.source_defects = survey_.defects;
    const bool empty =
        range_.from >= range_.until && !(may_be_empty && range_.from == range_.until);
    if (empty || range_.from < survey_.first || range_.until > survey_.end) {
        return fail(Error(Errc::wrong_tick,
                          "tick",
                          std::to_string(range_.from.value) + " to " +
                              std::to_string(range_.until.value) +
                              " is no part of it: it has the ticks from " +
                              std::to_string(survey_.first.value) + " to before " +
                              std::to_string(survey_.end.value))
                        .in(source_.name));
    }
    return {};
}

Result<void> PartEdit::need_player(Tick tick) {
    if (player_) {
        return {};
    }
    if (simulation_ == nullptr) {
        return fail(
            Error(Errc::incompatible_simulation,
                  "sim.id",
                  "the state at tick " + std::to_string(tick.value) +
                      " is not on record; computing it takes the game, which is unknown here")
                .in(source_.name));
    }
    Result<Reader> reader = source_.open();
    if (!reader) {
        return fail(reader.error());
    }
    PlayerOptions options;
    options.keyframes.side_file = options_.side_file;
    options.budget_bytes = 0; // The way leads forwards only.
    Result<Player> player = Player::open(*simulation_, std::move(*reader), options);
    if (!player) {
        return fail(player.error());
    }
    player_.emplace(std::move(*player));
    return {};
}

/// Goes to a tick from the nearest state that is proved; false at a divergence on the way.
Result<bool> PartEdit::go(Tick tick) {
    if (auto ready = need_player(tick); !ready) {
        return fail(ready.error());
    }
    // The nearest state at hand first, then in steps, so that progress can be told.
    Tick next = player_->tick();
    if (const auto keyframe = player_->recording().find(tick, next)) {
        next = player_->recording().keyframes()[*keyframe].tick;
    }
    while (true) {
        constexpr std::uint64_t batch_ticks = 4096;
        if (auto near = player_->seek(next); !near) {
            return fail(near.error());
        }
        report_.simulated_ticks = player_->statistics().steps;
        if (options_.progress) {
            options_.progress(report_.simulated_ticks);
        }
        if (next == tick || player_->verdict().divergence) {
            break;
        }
        next = Tick{std::min(tick.value, next.value + batch_ticks)};
    }
    report_.divergence = player_->verdict().divergence;
    return !report_.divergence;
}

Result<bool> PartEdit::copy(std::unique_ptr<FileSink> sink, std::string_view verb) {
    const bool late = !range_.from_start;
    StateHashes hashes;
    if (late) {
        const Result<bool> there = go(range_.from);
        if (!there || !*there) {
            return there;
        }
        hashes = simulation_->hash();
        range_.from_hashes = &hashes;
    }
    Result<Head> head = child_head({&survey_, 1}, {&range_.until, 1}, verb, options_);
    if (!head) {
        return fail(head.error());
    }
    if (late) {
        start_late(*head, range_.from);
    }
    range_.changes = (head->incompatible & feature::changes) != 0;
    Result<Writer> writer = Writer::create(std::move(sink), *head);
    if (!writer) {
        return fail(writer.error());
    }
    writer_.emplace(std::move(*writer));
    if (late) {
        if (auto written = write_first_keyframe(*writer_, *simulation_); !written) {
            return fail(written.error());
        }
        ++report_.keyframes;
    }
    Result<Reader> reader = source_.open();
    if (!reader) {
        return fail(reader.error());
    }
    RangeCopy range(*writer_, report_, range_);
    if (range_.from < range_.until || range_.keep_first) {
        if (auto copied = range.run(*reader); !copied) {
            return fail(copied.error());
        }
    }
    recorded_until_ = range.recorded_until();
    return !report_.divergence;
}

Result<bool> PartEdit::prove_end() {
    const Result<bool> there = go(range_.until);
    if (!there || !*there) {
        return there;
    }
    if (report_.final_hash) {
        recorded_until_.whole = report_.final_hash;
    }
    bool checked = false;
    report_.divergence = compare_recorded(simulation_->hash(), recorded_until_, checked);
    return !report_.divergence;
}

Result<bool> PartEdit::play_on(const ForkInputs& inputs) {
    Driver driver(*simulation_, *inputs.source);
    TickWriter recorder(*writer_);
    driver.add(recorder);
    constexpr std::uint64_t batch_ticks = 1024;
    std::uint64_t left = inputs.ticks;
    while (left > 0) {
        const std::uint64_t count = std::min(left, batch_ticks);
        const Result<Advance> advance = driver.advance(count);
        if (!advance) {
            return fail(advance.error());
        }
        if (recorder.error()) {
            return fail(*recorder.error());
        }
        report_.simulated_ticks += advance->ticks;
        if (options_.progress) {
            options_.progress(report_.simulated_ticks);
        }
        left -= advance->ticks;
        if (advance->ticks < count) {
            break;
        }
    }
    report_.final_hash = simulation_->hash().state;
    return true;
}

Result<EditReport> PartEdit::finish() {
    if (!report_.divergence && writer_) {
        if (writer_->chunk_ticks() > 0) {
            if (auto ended = end_chunk(*writer_, simulation_->hash()); !ended) {
                return fail(ended.error());
            }
            report_.final_hash = simulation_->hash().state;
        }
        if (auto finished = finish_edit(*writer_, report_); !finished) {
            return fail(finished.error());
        }
    }
    return std::move(report_);
}

} // namespace

Result<EditReport> trim(Simulation* simulation,
                        const ReadableRecording& source,
                        std::optional<Tick> from,
                        std::optional<Tick> until,
                        std::unique_ptr<FileSink> sink,
                        const EditOptions& options) {
    PartEdit edit(simulation, source, options);
    if (auto planned = edit.plan(from, until, false); !planned) {
        return fail(planned.error());
    }
    const Result<bool> copied = edit.copy(std::move(sink), "trim");
    if (!copied) {
        return fail(copied.error());
    }
    if (*copied && !edit.report().final_hash) {
        if (const Result<bool> proved = edit.prove_end(); !proved) {
            return fail(proved.error());
        }
    }
    return edit.finish();
}

Result<EditReport> fork_at(Simulation& simulation,
                           const ReadableRecording& source,
                           Tick at,
                           const ForkInputs& inputs,
                           std::unique_ptr<FileSink> sink,
                           const EditOptions& options) {
    PartEdit edit(&simulation, source, options);
    if (auto planned = edit.plan(std::nullopt, at, inputs.source != nullptr); !planned) {
        return fail(planned.error());
    }
    Result<bool> goes_on = edit.copy(std::move(sink), "fork");
    if (goes_on && *goes_on) {
        goes_on = edit.prove_end();
    }
    if (goes_on && *goes_on && inputs.source != nullptr) {
        goes_on = edit.play_on(inputs);
    }
    if (!goes_on) {
        return fail(goes_on.error());
    }
    return edit.finish();
}

} // namespace twinstep::replay
