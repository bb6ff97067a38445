// SPDX-License-Identifier: MIT
// Recording source and verifier over one pass of a reader.
#include "twinstep/replay/playback.hpp"

#include "keyframe_recording.hpp"
#include "layout.hpp"

#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace twinstep::replay {

struct Playback::Impl final : Source, Observer {
    explicit Impl(Reader recording)
        : reader(std::move(recording)) {}

    Reader reader;
    bool stop_at_divergence = false;
    Verdict verdict;

    // What was read ahead: the next tick, and the chunk end in front of it.
    bool has_next = false;
    bool ended = false;
    std::optional<Error> failure;
    TickRecord next_tick;
    bool has_chunk_end = false;
    Tick chunk_end_tick;
    Hash128 chunk_state;
    std::vector<Hash128> chunk_sections;

    // What was recorded of the tick that was handed out last.
    bool has_current = false;
    Tick current;
    std::uint32_t current_hash = 0;
    Bytes current_sections;

    void look_ahead();
    void skip_to(Tick tick);
    Result<Supply> next(Tick tick, TickFrame& frame) override;
    void compare_tick(const StateHashes& hashes, std::uint32_t hash, ByteView section_bytes);
    void before(const TickBegin& begin) override;
    void after(const StateHashes& hashes) override;

    std::string_view name() const override { return "the recording"; }

    void diverge(Tick tick, std::string section, std::string expected, std::string actual);
};

void Playback::Impl::look_ahead() {
    while (!has_next && !ended && !failure) {
        const Result<Record> record = reader.next();
        if (!record) {
            failure = record.error();
        } else if (record->kind == RecordKind::tick) {
            has_next = true;
            next_tick = record->tick;
        } else if (record->kind == RecordKind::chunk_end) {
            has_chunk_end = true;
            chunk_end_tick = record->chunk_end.last + 1;
            chunk_state = record->chunk_end.state;
            chunk_sections.assign(record->chunk_end.sections.begin(),
                                  record->chunk_end.sections.end());
        } else if (record->kind == RecordKind::end) {
            ended = true;
        }
    }
}

/// Reads ahead to the record of a tick, or to the end.
void Playback::Impl::skip_to(Tick tick) {
    look_ahead();
    while (has_next && next_tick.tick < tick) {
        has_next = false;
        look_ahead();
    }
}

Result<Supply> Playback::Impl::next(Tick tick, TickFrame& frame) {
    if (stop_at_divergence && verdict.divergence) {
        return Supply::end;
    }
    skip_to(tick);
    if (failure) {
        return fail(*failure);
    }
    if (ended) {
        return Supply::end;
    }
    if (next_tick.tick != tick) {
        return fail(Error(Errc::wrong_tick,
                          "tick",
                          "tick " + std::to_string(tick.value) + " has passed already"));
    }
    frame = *next_tick.frame;
    has_current = true;
    current = tick;
    current_hash = next_tick.hash;
    current_sections.assign(next_tick.section_bytes.begin(), next_tick.section_bytes.end());
    has_next = false;
    return Supply::ready;
}

void Playback::Impl::diverge(Tick tick,
                             std::string section,
                             std::string expected,
                             std::string actual) {
    if (!verdict.divergence) {
        verdict.divergence =
            Divergence{tick, std::move(section), {}, std::move(expected), std::move(actual)};
    }
}

void Playback::Impl::compare_tick(const StateHashes& hashes,
                                  std::uint32_t hash,
                                  ByteView section_bytes) {
    ++verdict.hashes_checked;
    const std::vector<SectionHash>& sections = hashes.sections;
    const bool has_bytes = !section_bytes.empty(); // They may have been left out.
    const std::size_t count = std::min(sections.size(), section_bytes.size());
    for (std::size_t i = 0; i < count; ++i) {
        const std::byte actual = section_byte(sections[i].hash);
        if (actual != section_bytes[i]) {
            diverge(hashes.tick,
                    sections[i].name,
                    to_hex(section_bytes.subspan(i, 1)),
                    to_hex(ByteView(&actual, 1)));
            return;
        }
    }
    const std::uint32_t actual = short_hash(hashes.state);
    if (actual != hash || (has_bytes && sections.size() != section_bytes.size())) {
        constexpr std::size_t short_digits = 8;
        diverge(hashes.tick,
                {},
                twinstep::to_hex(std::uint64_t{hash}).substr(short_digits),
                twinstep::to_hex(std::uint64_t{actual}).substr(short_digits));
    }
}

void Playback::Impl::before(const TickBegin& begin) {
    if (has_current && begin.tick == current) {
        compare_tick(begin.hashes, current_hash, current_sections);
    }
}

void Playback::Impl::after(const StateHashes& hashes) {
    look_ahead();
    if (!has_chunk_end || chunk_end_tick != hashes.tick) {
        return;
    }
    has_chunk_end = false;
    ++verdict.hashes_checked;
    const std::size_t count = std::min(hashes.sections.size(), chunk_sections.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (hashes.sections[i].hash != chunk_sections[i]) {
            diverge(hashes.tick,
                    hashes.sections[i].name,
                    twinstep::to_hex(chunk_sections[i]),
                    twinstep::to_hex(hashes.sections[i].hash));
            return;
        }
    }
    if (hashes.state != chunk_state || hashes.sections.size() != chunk_sections.size()) {
        diverge(hashes.tick, {}, twinstep::to_hex(chunk_state), twinstep::to_hex(hashes.state));
    }
}

Playback::Playback(Reader reader)
    : impl_(std::make_unique<Impl>(std::move(reader))) {}

Playback::Playback(Playback&&) noexcept = default;
Playback& Playback::operator=(Playback&&) noexcept = default;
Playback::~Playback() = default;

Source& Playback::source() {
    return *impl_;
}

Observer& Playback::verifier() {
    return *impl_;
}

void Playback::stop_at_divergence(bool stop) {
    impl_->stop_at_divergence = stop;
}

const Verdict& Playback::verdict() const {
    return impl_->verdict;
}

void Playback::clear_verdict() {
    impl_->verdict = {};
}

Reader& Playback::reader() {
    return impl_->reader;
}

Result<bool> Playback::compare(const StateHashes& hashes) {
    Impl& impl = *impl_;
    const std::uint64_t checked = impl.verdict.hashes_checked;
    impl.skip_to(hashes.tick);
    if (impl.failure) {
        return fail(*impl.failure);
    }
    impl.after(hashes);
    if (impl.has_next && impl.next_tick.tick == hashes.tick) {
        impl.compare_tick(hashes, impl.next_tick.hash, impl.next_tick.section_bytes);
    }
    return impl.verdict.hashes_checked > checked;
}

Result<void> Playback::seek(const ChunkPlace& place) {
    Impl& impl = *impl_;
    impl.has_next = false;
    impl.ended = false;
    impl.failure.reset();
    impl.has_chunk_end = false;
    impl.has_current = false;
    return impl.reader.seek(place);
}

// --- verification in one call ---

Result<bool> prepare_simulation(Simulation& simulation, Reader& reader) {
    const Manifest& recorded = reader.manifest();
    const Result<Setup> setup = setup_of(recorded);
    if (!setup) {
        Error error = setup.error();
        error.code = Errc::corrupt_head;
        return fail(std::move(error));
    }
    // Compared before the reset: another game's set-up is refused for the wrong reason.
    const Manifest actual = make_manifest(simulation.info(), *setup);
    const auto differences = incompatibilities(recorded, actual);
    if (!differences.empty()) {
        const ManifestDifference& first = differences.front();
        return fail(Error(Errc::incompatible_simulation,
                          shown(first.key),
                          "the recording has '" + shown(first.expected) +
                              "', this simulation has '" + shown(first.actual) + "'"));
    }
    if (auto reset = simulation.reset(*setup); !reset) {
        return fail(reset.error());
    }
    if ((reader.head().incompatible & feature::late_start) != 0) {
        if (auto loaded = load_first_keyframe(simulation, reader); !loaded) {
            return fail(loaded.error());
        }
    }
    const auto digest = recorded.find("sim.source_digest");
    return digest == recorded.end() || digest->second != simulation.info().source_digest;
}

Result<VerifyReport> verify(Simulation& simulation, Reader reader, const VerifyOptions& options) {
    VerifyReport report;
    const Result<bool> build_differs = prepare_simulation(simulation, reader);
    if (!build_differs) {
        return fail(build_differs.error());
    }
    report.build_differs = *build_differs;
    Playback playback(std::move(reader));
    playback.stop_at_divergence(options.stop_at_divergence);
    Driver driver(simulation, playback.source());
    driver.add(playback.verifier());
    DriverState state = DriverState::running;
    while (state == DriverState::running) {
        constexpr std::uint64_t batch_ticks = 1024;
        const Result<Advance> advance = driver.advance(batch_ticks);
        if (!advance) {
            return fail(advance.error());
        }
        report.ticks += advance->ticks;
        state = advance->state;
    }
    report.hashes_checked = playback.verdict().hashes_checked;
    report.divergence = playback.verdict().divergence;
    report.state = playback.reader().state();
    report.defects = playback.reader().defects();
    report.chain = playback.reader().chain();
    report.final_hash = simulation.hash().state;
    return report;
}

Result<VerifyReport>
verify_file(Simulation& simulation, const std::string& path, const VerifyOptions& options) {
    Result<Reader> reader = Reader::open(path, options.mode);
    if (!reader) {
        return fail(reader.error());
    }
    Result<VerifyReport> report = verify(simulation, std::move(*reader), options);
    if (!report && report.error().where != path) {
        Error error = report.error();
        error.where = error.where.empty() ? path : path + ": " + error.where;
        return fail(std::move(error));
    }
    return report;
}

} // namespace twinstep::replay
