// SPDX-License-Identifier: MIT
// New hashes for old inputs, after a game changed on purpose.
#include "edit_copy.hpp"
#include "layout.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::replay {

namespace {

/// Without these the inputs of a recording would mean something else.
constexpr std::array<std::string_view, 3> input_keys{"sim.id", "sim.tick_rate", "input.schema"};

/// What is recorded plays on in this simulation, record by record.
class Replayed {
public:
    explicit Replayed(Simulation& simulation)
        : simulation_(simulation)
        , driver_(simulation, feed_) {}

    /// Goes to the first state. Errors: as plan_rebaseline.
    Result<void> start(Reader& reader, std::vector<ManifestDifference>* keys);

    Result<void> step(const TickFrame* frame) {
        feed_.set(frame);
        const Result<Advance> advance = driver_.advance(1);
        if (!advance) {
            return fail(advance.error());
        }
        return {};
    }

    void add(Observer& observer) { driver_.add(observer); }

private:
    Simulation& simulation_;
    FrameFeed feed_;
    Driver driver_;
};

Result<void> Replayed::start(Reader& reader, std::vector<ManifestDifference>* keys) {
    const Manifest& recorded = reader.manifest();
    const Result<Setup> setup = setup_of(recorded);
    if (!setup) {
        return fail(as(Errc::corrupt_head, setup.error()));
    }
    auto differences = incompatibilities(recorded, make_manifest(simulation_.info(), *setup));
    const bool late = (reader.head().incompatible & feature::late_start) != 0;
    for (const ManifestDifference& key : differences) {
        const bool input =
            std::find(input_keys.begin(), input_keys.end(), key.key) != input_keys.end();
        if (input || (late && key.key == "state.schema")) {
            return fail(
                Error(Errc::incompatible_simulation,
                      shown(key.key),
                      "the recording has '" + shown(key.expected) + "', this simulation has '" +
                          shown(key.actual) +
                          (input ? "': its inputs mean something else; record it again"
                                 : "': its first state cannot be loaded; record it again")));
        }
    }
    if (auto reset = simulation_.reset(*setup); !reset) {
        return reset;
    }
    if (keys != nullptr) {
        *keys = std::move(differences);
    }
    return late ? load_first_keyframe(simulation_, reader) : Result<void>{};
}

/// The first state that differs, and when it is found nothing more is looked at.
void compare_once(Rebaseline& plan, const StateHashes& hashes, const RecordedState& recorded) {
    if (!plan.difference) {
        bool checked = false;
        plan.difference = compare_recorded(hashes, recorded, checked);
    }
}

Head rebaselined_head(Head head,
                      Simulation& simulation,
                      const Rebaseline& plan,
                      std::string_view reason) {
    // Only good to know is what does not decide anything; the rest is this build's.
    std::erase_if(head.manifest, [](const auto& entry) {
        return must_be_equal(entry.first) || entry.first == "sim.source_digest";
    });
    for (auto& [key, value] : make_manifest(simulation.info(), simulation.setup())) {
        head.manifest[key] = value;
    }
    std::string names;
    for (const SectionHash& section : simulation.hash().sections) {
        names += names.empty() ? section.name : " " + section.name;
    }
    head.manifest[sections_key] = names;
    head.manifest[rebaseline_reason_key] = reason;
    head.manifest[rebaseline_old_chain_key] = twinstep::to_hex(plan.old_chain);
    head.manifest[rebaseline_new_hash_key] = twinstep::to_hex(plan.new_hash);
    if (plan.old_hash) {
        head.manifest[rebaseline_old_hash_key] = twinstep::to_hex(*plan.old_hash);
    } else {
        head.manifest.erase(rebaseline_old_hash_key);
    }
    return head;
}

/// Copies what stands between ticks, and the ticks with the hashes of this build.
class Rewriting {
public:
    Rewriting(Simulation& simulation, Writer& writer, EditReport& report)
        : simulation_(simulation)
        , writer_(writer)
        , ticks_(writer)
        , replayed_(simulation)
        , report_(report) {}

    Replayed& replayed() { return replayed_; }

    Result<void> run(Reader& reader) {
        replayed_.add(*this_observer());
        while (true) {
            const Result<Record> record = reader.next();
            if (!record) {
                return fail(record.error());
            }
            if (record->kind == RecordKind::end) {
                break;
            }
            if (auto taken = take(*record); !taken) {
                return taken;
            }
        }
        return writer_.chunk_ticks() > 0 ? end_chunk(writer_, simulation_.hash()) : Result<void>{};
    }

private:
    /// Chunks end where they did: only what comes before a tick is the observer's.
    class Before final : public Observer {
    public:
        explicit Before(TickWriter& ticks)
            : ticks_(ticks) {}

        void before(const TickBegin& begin) override { ticks_.before(begin); }

    private:
        TickWriter& ticks_;
    };

    Observer* this_observer() { return &before_; }

    Result<void> take(const Record& record) {
        switch (record.kind) {
        case RecordKind::tick:
            if (auto stepped = replayed_.step(record.tick.frame); !stepped) {
                return stepped;
            }
            ++report_.simulated_ticks;
            return ticks_.error() ? Result<void>(fail(*ticks_.error())) : Result<void>{};
        case RecordKind::chunk_end:
            return end_chunk(writer_, simulation_.hash());
        case RecordKind::unknown:
            return writer_.write_record(record.tag, record.payload);
        case RecordKind::frame:
            return take_frame(record);
        case RecordKind::trailer:
        case RecordKind::end:
            break;
        }
        return {};
    }

    Result<void> take_frame(const Record& record) {
        if (record.tag == static_cast<std::uint8_t>(RecordTag::loss)) {
            return writer_.write_frame(record.tag, record.payload);
        }
        if (record.tag == static_cast<std::uint8_t>(RecordTag::signature)) {
            ++report_.signatures_dropped;
        } else {
            ++report_.frames_dropped; // Keyframes are states of the old behaviour.
        }
        return {};
    }

    Simulation& simulation_;
    Writer& writer_;
    TickWriter ticks_;
    Before before_{ticks_};
    Replayed replayed_;
    EditReport& report_;
};

} // namespace

bool is_format_corpus(const Manifest& manifest) {
    const auto found = manifest.find(corpus_key);
    return found != manifest.end() && found->second == "format";
}

Result<Rebaseline> plan_rebaseline(Simulation& simulation, const ReadableRecording& source) {
    Result<Reader> reader = source.open();
    if (!reader) {
        return fail(reader.error());
    }
    Rebaseline plan;
    Replayed replayed(simulation);
    if (auto started = replayed.start(*reader, &plan.keys); !started) {
        return fail(started.error());
    }
    while (true) {
        const Result<Record> record = reader->next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        RecordedState recorded;
        if (record->kind == RecordKind::tick) {
            plan.old_hash.reset();
            if (!plan.difference) {
                recorded.hash = record->tick.hash;
                recorded.section_bytes.assign(record->tick.section_bytes.begin(),
                                              record->tick.section_bytes.end());
                compare_once(plan, simulation.hash(), recorded);
            }
            if (auto stepped = replayed.step(record->tick.frame); !stepped) {
                return fail(stepped.error());
            }
            ++plan.ticks;
        } else if (record->kind == RecordKind::chunk_end) {
            plan.old_hash = record->chunk_end.state;
            recorded.whole = plan.old_hash;
            compare_once(plan, simulation.hash(), recorded);
        }
    }
    plan.old_chain = reader->chain();
    plan.state = reader->state();
    plan.new_hash = simulation.hash().state;
    return plan;
}

Result<EditReport> rebaseline(Simulation& simulation,
                              const ReadableRecording& source,
                              const Rebaseline& plan,
                              std::string_view reason,
                              std::unique_ptr<FileSink> sink,
                              const EditOptions& options) {
    TWINSTEP_ASSERT(!reason.empty());
    const Result<Survey> survey = survey_recording(source);
    if (!survey) {
        return fail(survey.error());
    }
    if (is_format_corpus(survey->head.manifest)) {
        return fail(Error(Errc::unsupported_version,
                          corpus_key,
                          "it belongs to the format corpus: its bytes are what is tested")
                        .in(source.name));
    }
    Result<Reader> reader = source.open();
    if (!reader) {
        return fail(reader.error());
    }
    Replayed first(simulation);
    if (auto started = first.start(*reader, nullptr); !started) {
        return fail(started.error());
    }
    Result<Head> head = child_head({&*survey, 1}, {&survey->first, 1}, "rebaseline", options);
    if (!head) {
        return fail(head.error());
    }
    Result<Writer> writer = Writer::create(
        std::move(sink), rebaselined_head(std::move(*head), simulation, plan, reason));
    if (!writer) {
        return fail(writer.error());
    }
    EditReport report;
    report.first = survey->first;
    report.source_state = survey->state;
    report.source_defects = survey->defects;
    if ((survey->head.incompatible & feature::late_start) != 0) {
        if (auto written = write_first_keyframe(*writer, simulation); !written) {
            return fail(written.error());
        }
        ++report.keyframes;
    }
    Rewriting rewriting(simulation, *writer, report);
    if (auto ran = rewriting.run(*reader); !ran) {
        return fail(ran.error());
    }
    report.final_hash = simulation.hash().state;
    if (*report.final_hash != plan.new_hash) {
        return fail(
            Error(Errc::corrupt_record,
                  "state",
                  "two runs of this build end in different states: it is not deterministic; "
                  "see verify --twice")
                .in(source.name));
    }
    if (auto finished = finish_edit(*writer, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

} // namespace twinstep::replay
