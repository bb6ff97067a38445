// SPDX-License-Identifier: MIT
// Recordings that start behind damage: every record proved by its old check before it is written.
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"
#include "recover_part.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace twinstep::replay {

namespace {

/// Records of the source on their way into a recording of their own.
class LatePartWriter {
public:
    LatePartWriter(Reader& reader, const FoundEnds& ends, Writer& writer)
        : reader_(reader)
        , ends_(ends)
        , writer_(writer)
        , parts_(false, keyframe_bytes_max) {}

    /// Errors: those of Reader and Writer.
    Result<void> run(const StartState& start, LatePart& late);

private:
    /// A data record of a chunk whose end has not proved it yet.
    struct Held {
        bool is_tick = false;
        std::uint8_t tag = 0;
        std::uint32_t hash = 0;
        Bytes section_bytes;
        Bytes content; ///< The frame's encoding, or the payload.
    };

    void hold(const Record& record);
    Result<void> write_held();
    Result<bool> take(const Record& record);
    Result<void> take_frame(const Record& record);
    Result<bool> jump();

    Reader& reader_;
    const FoundEnds& ends_;
    Writer& writer_;
    PartAssembler parts_;
    std::vector<Held> held_;
    std::vector<Bytes> keyframe_; ///< Payloads of a keyframe that is not whole yet.
    std::set<Tick> whole_;        ///< Ticks of whole keyframes that were written.
    Tick last_keyframe_;
    ChunkPlace place_; ///< The last between two chunks.
    std::uint64_t dropped_ = 0;
    bool closed_ = false;
};

Result<void> LatePartWriter::take_frame(const Record& record) {
    if (static_cast<RecordTag>(record.tag) == RecordTag::loss) {
        return writer_.write_frame(record.tag, record.payload);
    }
    // Signatures vouch for another chain; what later versions have in frames is not known here.
    if (!is_keyframe(record)) {
        dropped_ += record.size;
        return {};
    }
    if (is_first_part(record.payload)) {
        keyframe_.clear();
    }
    keyframe_.emplace_back(record.payload.begin(), record.payload.end());
    const Result<bool> whole = parts_.add(record.payload);
    if (!whole) {
        keyframe_.clear();
    }
    if (!whole || !*whole) {
        return {};
    }
    const KeyframeInfo& info = parts_.info();
    const bool usable = info.tick > last_keyframe_ && (!info.base || whole_.contains(*info.base));
    for (const Bytes& payload : keyframe_) {
        if (usable) {
            if (auto written = writer_.write_frame(record.tag, payload); !written) {
                return written;
            }
        }
    }
    keyframe_.clear();
    if (usable) {
        last_keyframe_ = info.tick;
        if (!info.base) {
            whole_.insert(info.tick);
        }
    }
    return {};
}

void LatePartWriter::hold(const Record& record) {
    Held& held = held_.emplace_back();
    held.is_tick = record.kind == RecordKind::tick;
    held.tag = record.tag;
    const ByteView content = held.is_tick ? record.tick.encoded : record.payload;
    held.content.assign(content.begin(), content.end());
    if (held.is_tick) {
        const ByteView sections = record.tick.section_bytes;
        held.hash = record.tick.hash;
        held.section_bytes.assign(sections.begin(), sections.end());
    }
}

Result<void> LatePartWriter::write_held() {
    for (const Held& held : std::exchange(held_, {})) {
        auto written = held.is_tick
                           ? writer_.write_tick(held.hash, held.section_bytes, held.content)
                           : writer_.write_record(held.tag, held.content);
        if (!written) {
            return written;
        }
    }
    return {};
}

/// False at the end.
Result<bool> LatePartWriter::take(const Record& record) {
    Result<void> done;
    switch (record.kind) {
    case RecordKind::tick:
    case RecordKind::unknown:
        hold(record);
        break;
    case RecordKind::chunk_end:
        done = write_held();
        if (done) {
            done = writer_.write_chunk_end(record.chunk_end.state, record.chunk_end.sections);
        }
        break;
    case RecordKind::frame:
        done = take_frame(record);
        break;
    case RecordKind::trailer:
        closed_ = true;
        done = writer_.write_trailer();
        break;
    case RecordKind::end:
        return false;
    }
    if (!done) {
        return fail(done.error());
    }
    return !closed_;
}

/// Goes on with the next chunk if it lies elsewhere; requires that no chunk is begun.
Result<bool> LatePartWriter::jump() {
    for (auto end = ends_.with(place_.chunk);
         end != ends_.all().end() && end->number == place_.chunk;
         ++end) {
        if (end->previous != place_.chain || end->start() <= place_.offset) {
            continue;
        }
        ChunkPlace place = place_;
        place.offset = end->start();
        place.frames = 0;
        place.frame_bytes = 0;
        place.last_chunk_end = end->start() - end->size;
        if (auto gone = reader_.seek(place); !gone) {
            return fail(gone.error());
        }
        place_ = place;
        return true;
    }
    return false;
}

Result<void> LatePartWriter::run(const StartState& start, LatePart& late) {
    place_ = start.place;
    last_keyframe_ = start.info.tick;
    whole_.insert(start.info.tick);
    if (auto gone = reader_.seek(place_); !gone) {
        return gone;
    }
    std::uint64_t counted = place_.offset;
    bool goes_on = true;
    while (goes_on) {
        const Result<Record> record = reader_.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::tick && record->tick.tick == start.info.tick &&
            record->tick.hash != short_hash(start.info.state)) {
            // Chunk end and keyframe agree, the inputs met another state: nothing is to be had.
            return fail(Error(Errc::corrupt_record, "tick.hash", "not the keyframe's"));
        }
        const Result<bool> taken = take(*record);
        if (!taken) {
            return fail(taken.error());
        }
        goes_on = *taken;
        if (const auto place = reader_.chunk_place()) {
            place_ = *place;
        }
        if (!goes_on) {
            late.part.source_bytes += reader_.bytes() - counted;
            if (!reader_.defects().empty()) {
                late.defect = reader_.defects().front();
            }
            if (late.defect && !closed_ && held_.empty()) {
                const Result<bool> jumped = jump();
                if (!jumped) {
                    return fail(jumped.error());
                }
                goes_on = *jumped;
                counted = place_.offset;
            }
        }
    }
    if (RecoverTail::contradicts(late.defect)) {
        dropped_ += reader_.bytes() - place_.offset;
        held_.clear();
    }
    if (auto written = write_held(); !written) {
        return written;
    }
    late.part.source_bytes -= std::min(dropped_, late.part.source_bytes);
    late.part.state = closed_ ? FileState::closed : FileState::open;
    late.chunk =
        reader_.chunks() > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(reader_.chunks());
    late.tick = writer_.next_tick();
    return {};
}

/// The head of a later part.
Head late_head(const Head& source, const StartState& start, const LatePartOptions& options) {
    Head head = source;
    head.minor = std::max(head.minor, format_minor);
    head.incompatible &= ~feature::packed;
    head.incompatible |= feature::late_start;
    head.session = options.session;
    head.manifest[first_tick_key] = std::to_string(start.info.tick.value);
    head.manifest[recovered_from_key] =
        to_hex(source.session) + " " + twinstep::to_hex(options.source_chain);
    head.manifest[remark_key] =
        "starts behind damage, at the keyframe of tick " + std::to_string(start.info.tick.value);
    return head;
}

/// Writes the state as the recording's first frames.
Result<void> write_start(Writer& writer, const StartState& start) {
    KeyframeEncoder encoder({start.info.codec, 1});
    KeyframeInfo info;
    const Result<ByteView> stored =
        encoder.encode(start.info.tick, start.info.state, start.snapshot, info);
    if (!stored) {
        return fail(stored.error());
    }
    return write_parts(info, *stored, [&writer](ByteView payload) {
        return writer.write_frame(static_cast<std::uint8_t>(RecordTag::keyframe), payload);
    });
}

} // namespace

Result<LatePart> write_late_part(RecoverSource& source,
                                 const StartState& start,
                                 const FoundEnds& ends,
                                 std::unique_ptr<FileSink> sink,
                                 const LatePartOptions& options) {
    Result<Reader> reader = source.reader();
    if (!reader) {
        return fail(reader.error());
    }
    Result<Writer> writer =
        Writer::create(std::move(sink), late_head(reader->head(), start, options));
    if (!writer) {
        return fail(writer.error());
    }
    LatePart late;
    late.part.first = start.info.tick;
    late.part.session = options.session;
    late.part.source_offset = start.place.offset;
    if (auto written = write_start(*writer, start); !written) {
        return fail(written.error());
    }
    LatePartWriter copy(*reader, ends, *writer);
    if (auto done = copy.run(start, late); !done) {
        return fail(done.error());
    }
    if (options.packed_end == late.tick && late.part.state != FileState::closed &&
        writer->chunk_records() == 0) {
        if (auto written = writer->write_trailer(); !written) {
            return fail(written.error());
        }
        late.part.state = FileState::closed;
        late.defect.reset();
    }
    Result<void> closed = options.sync ? writer->sync() : Result<void>();
    if (closed) {
        closed = writer->close();
    }
    if (!closed) {
        return fail(closed.error());
    }
    late.part.ticks = writer->ticks();
    late.part.bytes = writer->bytes();
    late.part.chunks = writer->chunks();
    late.part.chain = writer->chain();
    return late;
}

} // namespace twinstep::replay
