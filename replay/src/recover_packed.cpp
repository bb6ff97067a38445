// SPDX-License-Identifier: MIT
// The same for packed files, whose frames each have a check of their own, and no chain but the
// last.
#include "recover_part.hpp"
#include "recover_run.hpp"
#include "unpack_input.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::array<std::uint8_t, 4> packed_marker_bytes{0xF6, 'P', 'A', 'K'};
/// Bytes that are hashed at most to find out which chunk a frame begins with.
constexpr std::uint64_t guess_bytes_max = std::uint64_t{1} << 30;
constexpr std::uint32_t guesses_max = 65'536;

/// A record behind damage that looks like a packed frame.
struct FoundFrame {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t chunks = 0;
    std::uint32_t tail = 0;
    std::optional<Hash128> state = {}; ///< Of its last chunk end; none: made of its sections.
    std::vector<Hash128> section_hashes = {}; ///< Of that chunk end.
};

/// True if the frame ends in this state.
bool ends_in(const FoundFrame& frame, const KeyframeInfo& info) {
    if (frame.chunks == 0) {
        return false;
    }
    return info.state ==
           (frame.state ? *frame.state : state_of_sections(info.tick, frame.section_hashes));
}

PackedScanner scan_packed(RecoverSource& source) {
    Window window(std::make_unique<SalvageInput>(source.bytes));
    static_cast<void>(window.seek(source.first_offset));
    return PackedScanner(std::move(window), source.head);
}

Defect packed_defect(const RecoverSource& source, const PackedScanner& scanner, Error error) {
    const Tick first = *first_tick(source.head.head);
    return {std::move(error).in(source.bytes.name()),
            first + scanner.position().ticks,
            scanner.position().chunk};
}

/// A packed file with gaps: what is sure from the front on, and what a keyframe leads to behind.
class PackedRecovery {
public:
    PackedRecovery(RecoverSource& source, const PartSinks& sinks, const RecoverOptions& options)
        : source_(source)
        , sinks_(sinks)
        , options_(options)
        , scanner_(scan_packed(source))
        , keyframes_(source, options, runs_, ends_)
        , first_(*first_tick(source.head.head)) {}

    Result<RecoverReport> recover();

private:
    Result<void> first_part();
    Result<bool> go_behind(RecoverCopy& copy);
    static FoundFrame
    found_frame(const PackedFrame& frame, std::uint64_t offset, std::uint64_t size);
    Result<void> find_frames(std::uint64_t from);
    Result<bool> is_at(const FoundFrame& frame, const Place& place);
    Result<std::optional<std::uint32_t>> chunk_of(const FoundFrame& frame, std::uint32_t from);
    Result<void> later_parts();
    Result<bool> later_part(const FoundFrame& frame, std::uint32_t chunk);
    void note(Defect defect);

    RecoverSource& source_;
    const PartSinks& sinks_;
    const RecoverOptions& options_;
    PackedScanner scanner_;
    std::vector<ChunkPlace> runs_;
    FoundEnds ends_;
    SourceKeyframes keyframes_;
    Tick first_;
    std::vector<FoundFrame> frames_;
    bool frames_found_ = false;
    bool has_moved_ = false;
    bool cut_only_ = true;
    std::uint64_t guessed_bytes_ = 0;
    std::uint64_t next_offset_ = 0; ///< In the source: everything before is dealt with.
    Tick next_tick_;
    std::uint32_t next_chunk_ = 0;
    std::size_t parts_asked_ = 0;
    Bytes scratch_;
    RecoverReport report_;
};

void PackedRecovery::note(Defect defect) {
    cut_only_ = cut_only_ && defect.error.code == Errc::truncated;
    report_.defects.push_back(std::move(defect));
}

FoundFrame
PackedRecovery::found_frame(const PackedFrame& frame, std::uint64_t offset, std::uint64_t size) {
    FoundFrame found{offset, size, frame.chunks, frame.tail};
    if (frame.chunks == 0) {
        return found;
    }
    ByteReader hashes(frame.chunk_hashes.last(frame.chunk_hashes.size() / frame.chunks));
    const auto next_hash = [&hashes] {
        Hash128 hash;
        hash.low = hashes.u64("packed.states");
        hash.high = hashes.u64("packed.states");
        return hash;
    };
    if (!frame.states_left_out) {
        found.state = next_hash();
    }
    while (hashes.remaining() > 0) {
        found.section_hashes.push_back(next_hash());
    }
    return found;
}

/// Collects what looks like packed frames behind an offset.
Result<void> PackedRecovery::find_frames(std::uint64_t from) {
    constexpr std::size_t window_bytes = std::size_t{1} << 20;
    if (std::exchange(frames_found_, true)) {
        return {};
    }
    while (from < source_.bytes.size()) {
        source_.bytes.release(from);
        const Result<ByteView> view =
            source_.bytes.view(from, frame_record_bytes_max + window_bytes);
        if (!view) {
            return fail(view.error());
        }
        const std::size_t reach = std::min(view->size(), window_bytes);
        for (std::size_t i = 0; i < reach; ++i) {
            const auto* hit =
                static_cast<const std::byte*>(std::memchr(view->data() + i, packed_tag, reach - i));
            if (hit == nullptr) {
                break;
            }
            i = static_cast<std::size_t>(hit - view->data());
            ByteReader reader(view->subspan(i));
            reader.u8("tag");
            const std::uint64_t length = reader.varint("length", frame_payload_bytes_max);
            const ByteView payload = reader.bytes(length, "payload");
            const ByteView check = reader.bytes(record_check_bytes, "check");
            if (!reader.ok() || check.empty() || payload.size() < packed_marker_bytes.size() ||
                std::memcmp(
                    payload.data(), packed_marker_bytes.data(), packed_marker_bytes.size()) != 0) {
                continue;
            }
            const Result<PackedFrame> frame = decode_packed(payload, source_.head);
            if (!frame) {
                continue;
            }
            frames_.push_back(found_frame(*frame, from + i, reader.offset()));
        }
        from += reach;
    }
    return {};
}

Result<bool> PackedRecovery::is_at(const FoundFrame& frame, const Place& place) {
    const Result<ByteView> record =
        source_.bytes.view(frame.offset, static_cast<std::size_t>(frame.size));
    if (!record) {
        return fail(record.error());
    }
    if (record->size() < frame.size) {
        return false;
    }
    guessed_bytes_ += frame.size;
    const std::uint32_t check = ByteReader(record->last(record_check_bytes)).u32("check");
    return check ==
           record_check(place, record->first(record->size() - record_check_bytes), scratch_);
}

/// Goes on where only what lies between two packed frames is damaged.
Result<bool> PackedRecovery::go_behind(RecoverCopy& copy) {
    const std::uint64_t offset = scanner_.file_position();
    if (auto found = find_frames(offset); !found) {
        return fail(found.error());
    }
    const PackedPosition position = scanner_.position();
    for (const FoundFrame& frame : frames_) {
        if (frame.offset <= offset) {
            continue;
        }
        const Result<bool> fits =
            is_at(frame, position.place(source_.head.head.session, packed_tag));
        if (!fits) {
            return fail(fits.error());
        }
        if (!*fits) {
            continue;
        }
        if (const std::error_code error = scanner_.seek(frame.offset, position)) {
            return fail(Error(Errc::io_error, "seek", error.message()).at(frame.offset));
        }
        copy.start(frame.offset);
        has_moved_ = true;
        return true;
    }
    return false;
}

Result<void> PackedRecovery::first_part() {
    next_tick_ = first_;
    auto sink = sinks_(parts_asked_++, first_);
    if (!sink) {
        return fail(sink.error());
    }
    RecoverCopy copy(source_.bytes, std::move(*sink));
    bool closed = false;
    std::uint64_t good = scanner_.file_position();
    while (true) {
        const Result<PackedRecord> record = scanner_.next();
        if (!record && record.error().code == Errc::io_error) {
            return fail(record.error());
        }
        // Offsets in the trailer are those of the open form, with what was left out.
        const bool trailer = scanner_.position().trailer_seen;
        closed = trailer && !has_moved_;
        if (record && !record->is_end) {
            good = trailer && has_moved_ ? good : scanner_.file_position();
            if (record->tag == static_cast<std::uint8_t>(RecordTag::keyframe)) {
                ChunkPlace place;
                place.offset = record->offset;
                place.chunk = scanner_.position().chunk;
                place.tick = first_ + scanner_.position().ticks;
                place.frames = scanner_.position().frames - 1;
                if (place.frames == 0) {
                    runs_.push_back(place);
                }
            }
            continue;
        }
        if (auto flushed = copy.flush(good); !flushed) {
            return flushed;
        }
        if (record) {
            break;
        }
        note(packed_defect(source_, scanner_, record.error()));
        Result<bool> behind = trailer ? Result<bool>(false) : go_behind(copy);
        if (!behind) {
            return fail(behind.error());
        }
        if (!*behind) {
            break;
        }
        good = scanner_.file_position();
    }
    if (auto done = copy.close(options_.sync); !done) {
        return done;
    }
    next_offset_ = good;
    next_chunk_ = scanner_.position().chunk;
    next_tick_ = first_ + scanner_.position().ticks;
    if (next_tick_ > first_ || closed || report_.defects.empty()) {
        report_.parts.push_back({first_,
                                 scanner_.position().ticks,
                                 copy.bytes(),
                                 next_chunk_,
                                 closed ? FileState::closed : FileState::open,
                                 {},
                                 source_.head.head.session,
                                 0,
                                 copy.source_bytes()});
    }
    return {};
}

/// The chunk that a frame begins with, which only its check says: the numbers from `from` on are
/// tried.
Result<std::optional<std::uint32_t>> PackedRecovery::chunk_of(const FoundFrame& frame,
                                                              std::uint32_t from) {
    for (std::uint32_t more = 0; more < guesses_max && guessed_bytes_ < guess_bytes_max; ++more) {
        const Place place{source_.head.head.session, from + more, UINT32_MAX};
        const Result<bool> right = is_at(frame, place);
        if (!right) {
            return fail(right.error());
        }
        if (*right) {
            return from + more;
        }
    }
    return std::nullopt;
}

/// Writes what follows a frame if a keyframe does. True if something was kept.
Result<bool> PackedRecovery::later_part(const FoundFrame& frame, std::uint32_t chunk) {
    ChunkPlace place;
    place.offset = frame.offset + frame.size;
    place.chunk = chunk + frame.chunks;
    place.records = 1;
    Result<std::optional<StartState>> start = keyframes_.at(place, std::nullopt);
    if (!start) {
        return fail(start.error());
    }
    if (!*start || !ends_in(frame, (*start)->info) || (*start)->info.tick <= next_tick_) {
        return false;
    }
    StartState& state = **start;
    const Tick tick = state.info.tick;
    // How far it goes, and whether to the trailer, is known to the frames.
    PackedScanner scanner = scan_packed(source_);
    PackedPosition position;
    position.chunk = place.chunk;
    position.ticks = tick.value - first_.value;
    static_cast<void>(scanner.seek(place.offset, position));
    Result<PackedRecord> record = scanner.next();
    while (record && !record->is_end) {
        record = scanner.next();
    }
    Result<SessionId> session = options_.sessions ? options_.sessions() : make_session_id();
    if (!session) {
        return fail(session.error());
    }
    LatePartOptions options{*session, {}, std::nullopt, options_.sync};
    if (scanner.position().trailer_seen) {
        options.packed_end = first_ + scanner.position().ticks;
    }
    auto sink = sinks_(parts_asked_++, tick);
    if (!sink) {
        return fail(sink.error());
    }
    // Where it lies in the open form is not known; any place will do as long as both sides take it.
    state.place.offset = source_.first_offset;
    state.place.tick = tick;
    state.place.packed.file_offset = place.offset;
    state.place.packed.offset = state.place.offset;
    state.place.packed.chunk = place.chunk;
    state.place.packed.tick = tick;
    Result<LatePart> late = write_late_part(source_, state, ends_, std::move(*sink), options);
    if (!late) {
        if (late.error().code == Errc::io_error) {
            return fail(late.error());
        }
        note({late.error(), tick, place.chunk});
        return false;
    }
    if (late->part.ticks == 0) {
        return false;
    }
    late->part.source_offset = place.offset;
    late->part.source_bytes = scanner.file_position() - place.offset;
    report_.parts.push_back(late->part);
    next_tick_ = late->tick;
    next_chunk_ = late->chunk;
    next_offset_ = scanner.file_position();
    if (late->defect) {
        note(*late->defect);
    }
    return true;
}

Result<void> PackedRecovery::later_parts() {
    std::uint32_t lowest = next_chunk_;
    for (const FoundFrame& frame : frames_) {
        if (frame.offset < next_offset_ || frame.tail != 0) {
            continue;
        }
        const auto chunk = chunk_of(frame, std::max(lowest, next_chunk_));
        if (!chunk) {
            return fail(chunk.error());
        }
        if (!*chunk) {
            continue;
        }
        lowest = **chunk + frame.chunks;
        if (const auto kept = later_part(frame, **chunk); !kept) {
            return fail(kept.error());
        }
    }
    return {};
}

Result<RecoverReport> PackedRecovery::recover() {
    Result<void> done = first_part();
    if (done && options_.later_parts && frames_found_) {
        done = later_parts();
    }
    if (!done) {
        return fail(done.error());
    }
    report_.bytes = source_.bytes.size();
    std::uint64_t kept = 0;
    for (const RecoveredPart& part : report_.parts) {
        report_.kept_ticks += part.ticks;
        kept += part.source_bytes;
    }
    report_.lost_bytes = report_.bytes - std::min(kept, report_.bytes);
    const bool closed = !report_.parts.empty() && report_.parts.front().state == FileState::closed;
    report_.state = report_.defects.empty()
                        ? (closed ? FileState::closed : FileState::open)
                        : (cut_only_ ? FileState::truncated : FileState::damaged);
    return std::move(report_);
}

} // namespace

Result<ProvedFile> prove_packed(RecoverSource& source) {
    PackedScanner scanner = scan_packed(source);
    ProvedFile proved;
    proved.packed = true;
    while (true) {
        proved.good_bytes = scanner.file_position();
        const Result<PackedRecord> record = scanner.next();
        if (!record && record.error().code == Errc::io_error) {
            return fail(record.error());
        }
        proved.bytes = source.bytes.size();
        proved.ticks = scanner.position().ticks;
        proved.chunks = scanner.position().chunk;
        if (!record) {
            const bool cut = record.error().code == Errc::truncated;
            proved.state = cut ? FileState::truncated : FileState::damaged;
            proved.defects.push_back(packed_defect(source, scanner, record.error()));
            return proved;
        }
        if (record->is_end) {
            const bool closed = scanner.position().trailer_seen;
            proved.state = closed ? FileState::closed : FileState::open;
            return proved;
        }
        if (record->tag == static_cast<std::uint8_t>(RecordTag::trailer)) {
            proved.chain = decode_trailer(record->payload)->chain;
        }
    }
}

Result<RecoverReport>
recover_packed(RecoverSource& source, const PartSinks& sinks, const RecoverOptions& options) {
    return PackedRecovery(source, sinks, options).recover();
}

} // namespace twinstep::replay
