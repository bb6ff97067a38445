// SPDX-License-Identifier: MIT
// Keyframes made by a verified pass, into a side file or a copy, and copies without them.
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"
#include "record_pass.hpp"

#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/driver.hpp"

#include <utility>

namespace twinstep::replay {

namespace {

/// Plays the ticks of a recording record by record and compares what is on record.
class VerifiedPass {
public:
    VerifiedPass(Simulation& simulation, KeyframesReport& report)
        : simulation_(simulation)
        , report_(report)
        , driver_(simulation, frame_) {}

    /// Compares the state before a tick. False at a divergence.
    bool before(const TickRecord& tick) {
        RecordedState recorded;
        recorded.hash = tick.hash;
        recorded.section_bytes.assign(tick.section_bytes.begin(), tick.section_bytes.end());
        return compare(recorded);
    }

    /// Compares the state after a chunk. False at a divergence.
    bool after(const ChunkEnd& end) {
        RecordedState recorded;
        recorded.whole = end.state;
        return compare(recorded);
    }

    /// Errors: the driver's.
    Result<void> step(const TickRecord& tick) {
        frame_.set(tick.frame);
        const Result<Advance> advance = driver_.advance(1);
        if (!advance) {
            return fail(advance.error());
        }
        report_.ticks += advance->ticks;
        return {};
    }

private:
    bool compare(const RecordedState& recorded) {
        bool checked = false;
        report_.divergence = compare_recorded(simulation_.hash(), recorded, checked);
        ++report_.hashes_checked;
        return !report_.divergence;
    }

    Simulation& simulation_;
    KeyframesReport& report_;
    OneFrame frame_;
    Driver driver_;
};

bool is_keyframe_record(const Record& record) {
    return record.kind == RecordKind::frame &&
           record.tag == static_cast<std::uint8_t>(RecordTag::keyframe);
}

Result<void> check_form(const Reader& reader, bool needs_frames) {
    // Its head() is that of the open form.
    if (reader.is_packed()) {
        return fail(Error(Errc::unsupported_version,
                          "features.incompatible",
                          "the recording is packed: unpack it first, or use a side file"));
    }
    if (needs_frames && (reader.head().incompatible & feature::changes) == 0) {
        return fail(Error(Errc::unsupported_version,
                          "features.incompatible",
                          "a recording of version 1.0 holds no keyframes: use a side file"));
    }
    return {};
}

/// Which keyframe frames a copy keeps: those of the first keyframe of a late start.
class FirstKeyframe {
public:
    explicit FirstKeyframe(const Head& head)
        : wanted_((head.incompatible & feature::late_start) != 0) {}

    /// True if the frame belongs to it. Requires a keyframe's frame.
    bool keeps(const Record& record) {
        if (wanted_ && started_ && is_first_part(record.payload)) {
            wanted_ = false;
        }
        started_ = true;
        return wanted_;
    }

    void end() { wanted_ = false; }

private:
    bool wanted_;
    bool started_ = false;
};

/// Writes a keyframe as frames.
Result<void> put_keyframe(Writer& writer, Simulation& simulation, KeyframeEncoder& encoder) {
    Bytes snapshot;
    simulation.save(snapshot);
    KeyframeInfo info;
    const Result<ByteView> stored =
        encoder.encode(simulation.tick(), simulation.hash().state, snapshot, info);
    if (!stored) {
        return fail(stored.error());
    }
    return write_parts(info, *stored, [&writer](ByteView payload) {
        return writer.write_frame(static_cast<std::uint8_t>(RecordTag::keyframe), payload);
    });
}

/// Ends a copy. A copy whose digests differ from the recording's would be another recording.
Result<void> finish_copy(Writer& writer, const Reader& reader, KeyframesReport& report) {
    report.bytes = writer.bytes();
    report.defects = reader.defects();
    if (!report.divergence && writer.chain() != reader.chain()) {
        return fail(Error(Errc::corrupt_chunk, "chain", "the copy is not the same recording"));
    }
    return writer.close();
}

} // namespace

Result<KeyframesReport> write_side_file(Simulation& simulation,
                                        Reader reader,
                                        std::unique_ptr<FileSink> sink,
                                        const AddKeyframesOptions& options) {
    TWINSTEP_ASSERT(options.every_ticks > 0);
    if (auto prepared = prepare_simulation(simulation, reader); !prepared) {
        return fail(prepared.error());
    }
    Result<KeyframeFileWriter> writer =
        KeyframeFileWriter::create(std::move(sink), reader.head().session, options.form);
    if (!writer) {
        return fail(writer.error());
    }
    KeyframesReport report;
    VerifiedPass pass(simulation, report);
    const Tick first = reader.next_tick();
    Bytes snapshot;
    const auto take = [&](const Record& record) -> Result<bool> {
        if (record.kind == RecordKind::chunk_end) {
            return pass.after(record.chunk_end);
        }
        if (record.kind != RecordKind::tick) {
            return true;
        }
        if (!pass.before(record.tick)) {
            return false;
        }
        const Tick tick = record.tick.tick;
        if (tick > first && (tick.value - first.value) % options.every_ticks == 0) {
            simulation.save(snapshot);
            if (auto added = writer->add(tick, simulation.hash().state, snapshot); !added) {
                return fail(added.error());
            }
            ++report.keyframes;
        }
        if (auto stepped = pass.step(record.tick); !stepped) {
            return fail(stepped.error());
        }
        return true;
    };
    if (auto done = for_each_record(reader, take); !done) {
        return fail(done.error());
    }
    report.bytes = writer->bytes();
    report.defects = reader.defects();
    if (auto closed = writer->close(); !closed) {
        return fail(closed.error());
    }
    return report;
}

Result<KeyframesReport> add_keyframes(Simulation& simulation,
                                      Reader reader,
                                      std::unique_ptr<FileSink> sink,
                                      const AddKeyframesOptions& options) {
    TWINSTEP_ASSERT(options.every_ticks > 0);
    if (auto checked = check_form(reader, true); !checked) {
        return fail(checked.error());
    }
    if (auto prepared = prepare_simulation(simulation, reader); !prepared) {
        return fail(prepared.error());
    }
    Result<Writer> writer = Writer::create(std::move(sink), reader.head());
    if (!writer) {
        return fail(writer.error());
    }
    KeyframesReport report;
    VerifiedPass pass(simulation, report);
    KeyframeEncoder encoder(options.form);
    FirstKeyframe first(reader.head());
    Tick last = reader.next_tick();
    const auto take = [&](const Record& record) -> Result<bool> {
        if (is_keyframe_record(record)) {
            if (!first.keeps(record)) {
                return true;
            }
        } else {
            first.end();
        }
        if ((record.kind == RecordKind::tick && !pass.before(record.tick)) ||
            (record.kind == RecordKind::chunk_end && !pass.after(record.chunk_end))) {
            return false;
        }
        Result<void> done = copy_record(*writer, record);
        if (done && record.kind == RecordKind::tick) {
            done = pass.step(record.tick);
        }
        if (done && record.kind == RecordKind::chunk_end &&
            simulation.tick().value - last.value >= options.every_ticks) {
            last = simulation.tick();
            ++report.keyframes;
            done = put_keyframe(*writer, simulation, encoder);
        }
        if (!done) {
            return fail(done.error());
        }
        return true;
    };
    if (auto done = for_each_record(reader, take); !done) {
        return fail(done.error());
    }
    if (auto finished = finish_copy(*writer, reader, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

Result<KeyframesReport> strip_keyframes(Reader reader, std::unique_ptr<FileSink> sink) {
    if (auto checked = check_form(reader, false); !checked) {
        return fail(checked.error());
    }
    Result<Writer> writer = Writer::create(std::move(sink), reader.head());
    if (!writer) {
        return fail(writer.error());
    }
    KeyframesReport report;
    FirstKeyframe first(reader.head());
    const auto take = [&](const Record& record) -> Result<bool> {
        if (is_keyframe_record(record)) {
            if (!first.keeps(record)) {
                report.keyframes += is_first_part(record.payload) ? 1U : 0U;
                return true;
            }
        } else {
            first.end();
        }
        report.ticks += record.kind == RecordKind::tick ? 1U : 0U;
        if (auto copied = copy_record(*writer, record); !copied) {
            return fail(copied.error());
        }
        return true;
    };
    if (auto done = for_each_record(reader, take); !done) {
        return fail(done.error());
    }
    if (auto finished = finish_copy(*writer, reader, report); !finished) {
        return fail(finished.error());
    }
    return report;
}

} // namespace twinstep::replay
