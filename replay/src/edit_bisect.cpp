// SPDX-License-Identifier: MIT
// Delta debugging over the inputs of a recording.
#include "edit_bisect.hpp"

#include "twinstep/replay/playback.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace twinstep::replay {

namespace {

bool equal_input(ByteView left, ByteView right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

/// Frames of a choice for a driver.
class ChoiceSource final : public Source {
public:
    explicit ChoiceSource(const InputChoice& choice)
        : choice_(choice) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        if (tick >= choice_.until()) {
            return Supply::end;
        }
        if (auto made = choice_.frame(tick, frame); !made) {
            return fail(made.error());
        }
        return Supply::ready;
    }

private:
    const InputChoice& choice_;
};

Result<void> keep_frame(RecordedInputs::Impl& impl, const TickRecord& tick) {
    if (impl.frames.size() + tick.encoded.size() > bisect_bytes_max) {
        return fail(Error(Errc::limit_exceeded,
                          "frames",
                          "more than " + std::to_string(bisect_bytes_max) +
                              " bytes of inputs: trim the recording first"));
    }
    impl.frames.insert(impl.frames.end(), tick.encoded.begin(), tick.encoded.end());
    impl.offsets.push_back(impl.frames.size());
    const TickFrame& frame = *tick.frame;
    if (!frame.events().empty()) {
        impl.atoms.push_back({tick.tick, true, {}});
    }
    for (std::uint16_t i = 0; i < frame.slot_count(); ++i) {
        const SlotInput& input = frame.at(Slot{i});
        const bool idle = !input.substituted && equal_input(frame.input(Slot{i}), impl.neutral);
        if (input.present && !idle) {
            impl.atoms.push_back({tick.tick, false, Slot{i}});
        }
    }
    return {};
}

/// Counts the bytes of an input's fields.
class FieldPlaces final : public FieldVisitor {
public:
    bool begin_section(std::string_view) override { return true; }

    void end_section() override {}

    void begin_object(std::string_view, bool list) override { fixed_ = fixed_ && !list; }

    void end_object() override {}

    void field(std::string_view, const FieldValue& value) override {
        constexpr std::size_t byte_bits = 8;
        const std::size_t bytes = value.width / byte_bits;
        fixed_ = fixed_ && bytes > 0;
        places_.push_back({size_, bytes});
        size_ += bytes;
    }

    /// Nothing if the fields do not make up all the bytes: then something in it varies.
    std::vector<FieldPlace> take(std::size_t input_bytes) {
        return fixed_ && size_ == input_bytes ? std::move(places_) : std::vector<FieldPlace>();
    }

private:
    bool fixed_ = true;
    std::size_t size_ = 0;
    std::vector<FieldPlace> places_;
};

/// More inputs than anybody reads are not looked at field by field.
constexpr std::size_t simplified_inputs_max = 1000;

/// The search: what is kept so far, and what is tried next.
class Search {
public:
    Search(const RecordedInputs& inputs, const ChoiceTest& test, const BisectOptions& options)
        : inputs_(inputs)
        , test_(test)
        , options_(options) {
        report_.until = inputs.end();
    }

    Result<BisectReport> run() {
        const InputChoice whole(inputs_);
        ++report_.runs;
        const Result<std::optional<Divergence>> found = test_(whole);
        if (!found) {
            return fail(found.error());
        }
        if (!*found) {
            report_.minimal = true;
            return std::move(report_);
        }
        accept(whole.kept(), **found);
        report_.inputs_before = report_.kept.size();
        if (!try_these({})) {
            drop_slots();
            split();
            simplify();
        }
        report_.minimal = !stopped_;
        return std::move(report_);
    }

private:
    /// Inputs of the first wrong state's tick and later ones came too late to matter.
    void accept(std::vector<std::size_t> kept, const Divergence& divergence) {
        report_.until = std::min(report_.until, divergence.tick);
        std::erase_if(
            kept, [this](std::size_t atom) { return inputs_.atoms()[atom].tick >= report_.until; });
        report_.kept = std::move(kept);
        std::erase_if(report_.replaced, [this](const auto& replaced) {
            return inputs_.atoms()[replaced.first].tick >= report_.until;
        });
        report_.divergence = divergence;
    }

    /// True if it still goes wrong; it is then what is kept.
    bool try_these(std::vector<std::size_t> kept, ReplacedInputs replaced = {}) {
        stopped_ = stopped_ || report_.runs >= options_.runs_max ||
                   (options_.goes_on && !options_.goes_on(report_.runs, report_.kept.size()));
        if (stopped_) {
            return false;
        }
        const InputChoice choice(inputs_, kept, report_.until, replaced);
        ++report_.runs;
        const Result<std::optional<Divergence>> found = test_(choice);
        if (!found) {
            ++report_.failed_runs;
            return false;
        }
        if (!*found) {
            return false;
        }
        report_.replaced = std::move(replaced);
        accept(std::move(kept), **found);
        return true;
    }

    /// Most faults need one player only.
    void drop_slots() {
        std::vector<std::uint16_t> slots;
        for (const std::size_t atom : report_.kept) {
            const InputAtom& input = inputs_.atoms()[atom];
            if (!input.is_events) {
                slots.push_back(input.slot.value);
            }
        }
        std::sort(slots.begin(), slots.end());
        slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
        for (const std::uint16_t slot : slots) {
            std::vector<std::size_t> rest = report_.kept;
            std::erase_if(rest, [this, slot](std::size_t atom) {
                const InputAtom& input = inputs_.atoms()[atom];
                return !input.is_events && input.slot.value == slot;
            });
            if (slots.size() > 1 && rest.size() < report_.kept.size()) {
                static_cast<void>(try_these(std::move(rest)));
            }
        }
    }

    /// One part of `parts` of what is kept, or all but that one.
    std::vector<std::size_t> part(std::size_t index, std::size_t parts, bool complement) const {
        const std::vector<std::size_t>& kept = report_.kept;
        const std::size_t begin = kept.size() * index / parts;
        const std::size_t end = kept.size() * (index + 1) / parts;
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            if ((i >= begin && i < end) != complement) {
                chosen.push_back(kept[i]);
            }
        }
        return chosen;
    }

    bool try_parts(std::size_t parts, bool complement) {
        for (std::size_t i = 0; i < parts && !stopped_; ++i) {
            if (try_these(part(i, parts, complement))) {
                return true;
            }
        }
        return false;
    }

    void split() {
        std::size_t parts = 2;
        while (report_.kept.size() > 1 && !stopped_) {
            parts = std::min(parts, report_.kept.size());
            if (try_parts(parts, false)) {
                parts = 2;
            } else if (parts > 2 && try_parts(parts, true)) {
                parts = std::max<std::size_t>(parts - 1, 2);
            } else if (parts == report_.kept.size()) {
                return;
            } else {
                parts *= 2;
            }
        }
    }

    /// Takes fields away from what is left, one by one.
    void simplify() {
        const RecordedInputs::Impl& impl = inputs_.impl();
        const std::vector<std::size_t> left = report_.kept;
        if (left.size() > simplified_inputs_max) {
            return;
        }
        for (const std::size_t atom : left) {
            const InputAtom& input = inputs_.atoms()[atom];
            TickFrame frame;
            if (input.is_events || !decode_frame(impl.frame(input.tick), frame)) {
                continue;
            }
            const ByteView recorded = frame.input(input.slot);
            Bytes bytes(recorded.begin(), recorded.end());
            for (const FieldPlace& place : impl.layout) {
                const auto from = static_cast<std::ptrdiff_t>(place.offset);
                Bytes simpler = bytes;
                if (simpler.size() != impl.neutral.size()) {
                    break;
                }
                std::copy_n(impl.neutral.begin() + from, place.bytes, simpler.begin() + from);
                if (simpler == bytes) {
                    continue;
                }
                ReplacedInputs replaced = report_.replaced;
                replaced[atom] = simpler;
                if (try_these(report_.kept, std::move(replaced))) {
                    bytes = std::move(simpler);
                }
            }
        }
    }

    const RecordedInputs& inputs_;
    const ChoiceTest& test_;
    const BisectOptions& options_;
    BisectReport report_;
    bool stopped_ = false;
};

} // namespace

// --- what is searched ---

RecordedInputs::RecordedInputs(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

RecordedInputs::RecordedInputs(RecordedInputs&&) noexcept = default;
RecordedInputs& RecordedInputs::operator=(RecordedInputs&&) noexcept = default;
RecordedInputs::~RecordedInputs() = default;

Result<RecordedInputs>
RecordedInputs::read(Simulation& simulation, const ReadableRecording& source, ByteView neutral) {
    Result<Survey> survey = survey_recording(source);
    if (!survey) {
        return fail(survey.error());
    }
    Result<Reader> reader = source.open();
    if (!reader) {
        return fail(reader.error());
    }
    const Result<bool> build_differs = prepare_simulation(simulation, *reader);
    if (!build_differs) {
        return fail(build_differs.error());
    }
    auto impl = std::make_unique<Impl>();
    impl->survey = std::move(*survey);
    impl->setup = simulation.setup();
    impl->neutral.assign(neutral.begin(), neutral.end());
    FieldPlaces places;
    if (simulation.visit_input(neutral, places)) {
        impl->layout = places.take(neutral.size());
    }
    impl->build_differs = *build_differs;
    impl->offsets.push_back(0);
    if ((impl->survey.head.incompatible & feature::late_start) != 0) {
        simulation.save(impl->start);
    }
    while (true) {
        const Result<Record> record = reader->next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            return RecordedInputs(std::move(impl));
        }
        if (record->kind == RecordKind::tick) {
            if (auto kept = keep_frame(*impl, record->tick); !kept) {
                return fail(kept.error());
            }
        }
    }
}

Tick RecordedInputs::first() const {
    return impl_->survey.first;
}

Tick RecordedInputs::end() const {
    return impl_->survey.first + (impl_->offsets.size() - 1);
}

const std::vector<InputAtom>& RecordedInputs::atoms() const {
    return impl_->atoms;
}

bool RecordedInputs::build_differs() const {
    return impl_->build_differs;
}

Result<std::unique_ptr<Simulation>> RecordedInputs::make(const Simulation& kind) const {
    std::unique_ptr<Simulation> simulation = kind.make_another();
    if (auto reset = simulation->reset(impl_->setup); !reset) {
        return fail(reset.error());
    }
    if (!impl_->start.empty()) {
        if (auto loaded = simulation->load(impl_->start); !loaded) {
            return fail(loaded.error());
        }
    }
    return simulation;
}

InputChoice::InputChoice(const RecordedInputs& inputs)
    : inputs_(&inputs)
    , kept_(inputs.atoms().size())
    , until_(inputs.end()) {
    std::iota(kept_.begin(), kept_.end(), std::size_t{0});
}

InputChoice::InputChoice(const RecordedInputs& inputs,
                         std::vector<std::size_t> kept,
                         Tick until,
                         ReplacedInputs replaced)
    : inputs_(&inputs)
    , kept_(std::move(kept))
    , until_(until)
    , replaced_(std::move(replaced)) {
    TWINSTEP_ASSERT(until <= inputs.end());
    TWINSTEP_VALIDATE(std::is_sorted(kept_.begin(), kept_.end()));
}

std::unique_ptr<Source> InputChoice::open() const {
    return std::make_unique<ChoiceSource>(*this);
}

Result<void> InputChoice::frame(Tick tick, TickFrame& frame) const {
    const RecordedInputs::Impl& impl = inputs_->impl();
    TickFrame recorded;
    if (auto decoded = decode_frame(impl.frame(tick), recorded); !decoded) {
        return decoded;
    }
    auto atom = std::lower_bound(kept_.begin(), kept_.end(), tick, [&](std::size_t i, Tick wanted) {
        return impl.atoms[i].tick < wanted;
    });
    const auto keeps = [&](bool events, Slot slot) {
        const bool kept = atom != kept_.end() && impl.atoms[*atom].tick == tick &&
                          impl.atoms[*atom].is_events == events &&
                          (events || impl.atoms[*atom].slot == slot);
        atom += kept ? 1 : 0;
        return kept;
    };
    frame.reset(tick, recorded.slot_count());
    if (keeps(true, {})) {
        for (const Event& event : recorded.events()) {
            if (event.has_slot) {
                frame.add_event(event.kind, event.slot, recorded.payload(event));
            } else {
                frame.add_event(event.kind, recorded.payload(event));
            }
        }
    }
    for (std::uint16_t i = 0; i < recorded.slot_count(); ++i) {
        const SlotInput& input = recorded.at(Slot{i});
        if (!input.present) {
            continue;
        }
        if (keeps(false, Slot{i})) {
            const auto replaced = replaced_.find(*std::prev(atom));
            frame.set_input(Slot{i},
                            replaced == replaced_.end() ? recorded.input(Slot{i})
                                                        : ByteView(replaced->second),
                            input.substituted);
        } else {
            frame.set_input(Slot{i}, impl.neutral);
        }
    }
    return {};
}

Result<BisectReport>
find_inputs(const RecordedInputs& inputs, const ChoiceTest& test, const BisectOptions& options) {
    return Search(inputs, test, options).run();
}

Result<EditReport> record_choice(const Simulation& kind,
                                 const InputChoice& choice,
                                 std::unique_ptr<FileSink> sink,
                                 const EditOptions& options) {
    const RecordedInputs::Impl& impl = choice.inputs().impl();
    Result<std::unique_ptr<Simulation>> simulation = choice.inputs().make(kind);
    if (!simulation) {
        return fail(simulation.error());
    }
    Result<Head> head = child_head({&impl.survey, 1}, {&impl.survey.first, 1}, "bisect", options);
    if (!head) {
        return fail(head.error());
    }
    Result<Writer> writer = Writer::create(std::move(sink), *head);
    if (!writer) {
        return fail(writer.error());
    }
    EditReport report;
    report.first = impl.survey.first;
    if (!impl.start.empty()) {
        if (auto written = write_first_keyframe(*writer, **simulation); !written) {
            return fail(written.error());
        }
        ++report.keyframes;
    }
    const std::unique_ptr<Source> source = choice.open();
    Driver driver(**simulation, *source);
    TickWriter recorder(*writer);
    driver.add(recorder);
    const Result<Advance> advance = driver.advance(UINT64_MAX);
    if (!advance) {
        return fail(advance.error());
    }
    if (recorder.error()) {
        return fail(*recorder.error());
    }
    report.simulated_ticks = advance->ticks;
    report.final_hash = (*simulation)->hash().state;
    if (writer->chunk_ticks() > 0) {
        if (auto ended = end_chunk(*writer, (*simulation)->hash()); !ended) {
            return fail(ended.error());
        }
    }
    if (auto finished = finish_edit(*writer, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

} // namespace twinstep::replay
