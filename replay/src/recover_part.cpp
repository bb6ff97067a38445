// SPDX-License-Identifier: MIT
// Chunk ends and keyframes behind damage, and the recordings that are made of what follows them.
#include "recover_part.hpp"

#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"
#include "keyframe_recording.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t copy_bytes = std::size_t{512} * 1024;
/// Chunks behind damage that are looked at: 120 days of play at 60 ticks a second.
constexpr std::size_t found_ends_max = std::size_t{1} << 20;

} // namespace

// --- RecoverCopy ---

RecoverCopy::RecoverCopy(SalvageBytes& source, std::unique_ptr<FileSink> sink)
    : source_(source)
    , sink_(std::move(sink)) {}

Result<void> RecoverCopy::good(std::uint64_t offset) {
    source_.release(next_);
    return offset - next_ < copy_bytes ? Result<void>() : flush(offset);
}

Result<void> RecoverCopy::flush(std::uint64_t offset) {
    while (next_ < offset) {
        const auto piece =
            static_cast<std::size_t>(std::min<std::uint64_t>(offset - next_, 2 * copy_bytes));
        const Result<ByteView> view = source_.view(next_, piece);
        if (!view) {
            return fail(view.error());
        }
        if (view->size() < piece) {
            return fail(Error(Errc::io_error, "read", "the file has changed meanwhile").at(next_));
        }
        if (auto written = add(*view); !written) {
            return written;
        }
        source_bytes_ += piece;
        next_ += piece;
    }
    source_.release(next_);
    return {};
}

Result<void> RecoverCopy::add(ByteView bytes) {
    bytes_ += bytes.size();
    return write_all(*sink_, bytes);
}

Result<void> RecoverCopy::close() {
    std::error_code error = sink_->sync();
    if (!error) {
        error = sink_->close();
    }
    return error ? Result<void>(fail(Error(Errc::io_error, "close", error.message())))
                 : Result<void>();
}

// --- FoundEnds ---

Result<void> FoundEnds::collect(SalvageBytes& source, EndFinder& finder, std::uint64_t from) {
    constexpr std::size_t window_bytes = std::size_t{1} << 20;
    while (from < source.size() && ends_.size() < found_ends_max) {
        source.release(from);
        const Result<ByteView> view = source.view(from, window_bytes);
        if (!view) {
            return fail(view.error());
        }
        std::size_t index = 0;
        while (ends_.size() < found_ends_max) {
            const std::optional<FoundEnd> end = finder.find(*view, from, index);
            if (!end) {
                break;
            }
            ends_.push_back(*end);
        }
        if (view->size() < window_bytes) {
            break;
        }
        // What may be the beginning of one is looked at again, with what follows it.
        from += index;
    }
    std::stable_sort(ends_.begin(), ends_.end(), [](const FoundEnd& a, const FoundEnd& b) {
        return a.number < b.number;
    });
    return {};
}

std::vector<FoundEnd>::const_iterator FoundEnds::with(std::uint32_t number) const {
    return std::lower_bound(
        ends_.begin(), ends_.end(), number, [](const FoundEnd& end, std::uint32_t wanted) {
            return end.number < wanted;
        });
}

ChunkPlace place_behind(const FoundEnd& end) {
    ChunkPlace place;
    place.offset = end.end();
    place.chunk = end.number + 1;
    place.tick = end.last + 1;
    place.records = 1; // Never a recording's first: a late start's keyframe is looked for there.
    place.last_chunk_end = end.offset;
    place.chain = end.digest;
    return place;
}

// --- SourceKeyframes ---

Result<std::optional<StartState>> SourceKeyframes::at(const ChunkPlace& place,
                                                      std::optional<Tick> tick) {
    scanner_.go(place);
    PartAssembler parts(true, keyframe_bytes_max);
    while (true) {
        source_.bytes.release(scanner_.place().offset);
        const Result<ScanStep> step = scanner_.next();
        if (!step) {
            return fail(step.error());
        }
        if (*step != ScanStep::frame) {
            return std::nullopt;
        }
        if (scanner_.frame_tag() != static_cast<std::uint8_t>(RecordTag::keyframe)) {
            parts.reset();
            continue;
        }
        const Result<bool> complete = parts.add(scanner_.frame_payload());
        if (!complete || !*complete || (tick && parts.info().tick != *tick)) {
            continue;
        }
        StartState state{parts.info(), {}, place};
        const KeyframeInfo info = parts.info();
        if (!decompress_keyframe(info.codec, parts.stored(), info.raw_bytes, state.snapshot)) {
            return std::nullopt;
        }
        if (info.base && is_base_) {
            return std::nullopt;
        }
        if (info.base) {
            const Result<std::optional<Bytes>> whole_base = base(*info.base);
            if (!whole_base) {
                return fail(whole_base.error());
            }
            if (!*whole_base || !is_plausible(info, (*whole_base)->size())) {
                return std::nullopt;
            }
            xor_keyframe(state.snapshot, **whole_base);
        }
        return check_snapshot(info, state.snapshot) ? std::optional(std::move(state))
                                                    : std::nullopt;
    }
}

Result<std::optional<StartState>> SourceKeyframes::behind(const FoundEnd& end) {
    Result<std::optional<StartState>> state = at(place_behind(end), end.last + 1);
    if (state && *state && (*state)->info.state != end.state) {
        return std::nullopt;
    }
    return state;
}

/// The bytes of a whole keyframe that others differ from.
Result<std::optional<Bytes>> SourceKeyframes::base(Tick tick) {
    std::vector<ChunkPlace> places;
    for (const ChunkPlace& place : before_) {
        if (place.tick == tick) {
            places.push_back(place);
        }
    }
    for (const FoundEnd& end : behind_.all()) {
        if (end.last + 1 == tick) {
            places.push_back(place_behind(end));
        }
    }
    for (const ChunkPlace& place : places) {
        is_base_ = true;
        Result<std::optional<StartState>> state = at(place, tick);
        is_base_ = false;
        if (!state) {
            return fail(state.error());
        }
        if (*state) {
            return std::optional(std::move((*state)->snapshot));
        }
    }
    return std::nullopt;
}

// --- later parts ---

namespace {

/// Records of the source on their way into a recording of their own.
class LatePartWriter {
public:
    LatePartWriter(RecoverSource& source, Reader& reader, const FoundEnds& ends, Writer& writer)
        : source_(source)
        , reader_(reader)
        , ends_(ends)
        , writer_(writer)
        , parts_(false, keyframe_bytes_max) {}

    /// Errors: those of Reader and Writer.
    Result<void> run(const StartState& start, LatePart& late);

private:
    Result<bool> take(const Record& record);
    Result<void> take_frame(const Record& record);
    Result<bool> jump();

    RecoverSource& source_;
    Reader& reader_;
    const FoundEnds& ends_;
    Writer& writer_;
    PartAssembler parts_;
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

/// False at the end.
Result<bool> LatePartWriter::take(const Record& record) {
    Result<void> done;
    switch (record.kind) {
    case RecordKind::tick:
        done = writer_.write_tick(record.tick.hash, record.tick.section_bytes, record.tick.encoded);
        break;
    case RecordKind::unknown:
        done = writer_.write_record(record.tag, record.payload);
        break;
    case RecordKind::chunk_end:
        done = writer_.write_chunk_end(record.chunk_end.state, record.chunk_end.sections);
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
            if (late.defect && !closed_ && writer_.chunk_records() == 0) {
                const Result<bool> jumped = jump();
                if (!jumped) {
                    return fail(jumped.error());
                }
                goes_on = *jumped;
                counted = place_.offset;
            }
        }
    }
    late.part.source_bytes -= std::min(dropped_, late.part.source_bytes);
    late.part.state = closed_ ? FileState::closed : FileState::open;
    late.chunk =
        reader_.chunks() > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(reader_.chunks());
    late.tick = reader_.next_tick();
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
    LatePartWriter copy(source, *reader, ends, *writer);
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
    Result<void> closed = writer->sync();
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
