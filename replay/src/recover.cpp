// SPDX-License-Identifier: MIT
// Recovering: the provable prefix as it is, and behind damage what a keyframe leads to.
#include "twinstep/replay/recover.hpp"

#include "recover_part.hpp"
#include "recover_run.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t recover_defects_max = 64;

class Recovery {
public:
    Recovery(RecoverSource& source, const PartSinks& sinks, const RecoverOptions& options)
        : source_(source)
        , sinks_(sinks)
        , options_(options)
        , run_(source)
        , keyframes_(source, options, run_.keyframes(), ends_)
        , first_(run_.scanner().place().tick) {}

    Result<RecoverReport> recover();

private:
    Result<bool> has_start();
    Result<void> first_part();
    Result<void> copy_prefix(RecoverCopy& copy);
    Result<bool> go_behind(RecoverCopy& copy);
    Result<void> copy_trailer(RecoverCopy& copy);
    Result<void> find_ends();
    Result<void> later_parts();
    Result<std::optional<LatePart>> later_part(const StartState& start);
    void note(const Defect& defect);

    RecoverSource& source_;
    const PartSinks& sinks_;
    const RecoverOptions& options_;
    RecoverRun run_;
    FoundEnds ends_;
    bool ends_found_ = false;
    SourceKeyframes keyframes_;
    Tick first_;
    std::uint64_t tail_ticks_ = 0; ///< Of the first part, behind its last chunk end.
    Tick next_tick_;               ///< After the last one that is kept.
    std::uint32_t next_chunk_ = 0; ///< The first that is not kept whole.
    bool cut_only_ = true;         ///< No defect but that the end is missing.
    std::size_t parts_asked_ = 0;
    RecoverReport report_;
};

void Recovery::note(const Defect& defect) {
    cut_only_ = cut_only_ && defect.error.code == Errc::truncated;
    if (report_.defects.size() < recover_defects_max) {
        report_.defects.push_back(defect);
    }
}

Result<void> Recovery::find_ends() {
    if (ends_found_) {
        return {};
    }
    ends_found_ = true;
    return ends_.collect(source_.bytes, run_.scanner().finder(), run_.scanner().place().offset);
}

/// A late start is nothing without the state that it starts from.
Result<bool> Recovery::has_start() {
    if ((source_.head.head.incompatible & feature::late_start) == 0) {
        return true;
    }
    const auto state = keyframes_.at(run_.scanner().place(), first_);
    if (!state) {
        return fail(state.error());
    }
    return state->has_value() && !(*state)->info.base;
}

// --- the first part ---

/// The offset in the trailer counts what is no longer there, if something was left out.
Result<void> Recovery::copy_trailer(RecoverCopy& copy) {
    const ChunkScanner& scanner = run_.scanner();
    const ChunkPlace& place = scanner.place();
    const std::uint64_t start = place.offset - trailer_record_bytes;
    Trailer trailer = scanner.trailer();
    if (place.chunk > 0) {
        trailer.last_chunk_end = copy.bytes() - place.frame_bytes - scanner.finder().end_bytes();
    }
    if (trailer == scanner.trailer()) {
        copy.start(start);
        return copy.flush(place.offset);
    }
    Bytes record;
    ByteWriter writer(record);
    writer.u8(static_cast<std::uint8_t>(RecordTag::trailer));
    writer.varint(trailer_payload_bytes);
    encode_trailer(trailer, record);
    Bytes scratch;
    writer.u32(record_check({source_.head.head.session, place.chunk, 0}, record, scratch));
    return copy.add(record);
}

/// Goes on where the chain does, if that is anywhere behind damage.
Result<bool> Recovery::go_behind(RecoverCopy& copy) {
    if (auto found = find_ends(); !found) {
        return fail(found.error());
    }
    ChunkScanner& scanner = run_.scanner();
    for (auto end = ends_.with(scanner.place().chunk);
         end != ends_.all().end() && end->number == scanner.place().chunk;
         ++end) {
        if (!scanner.continues(*end)) {
            continue;
        }
        const Result<bool> taken = scanner.take(*end);
        if (!taken) {
            return fail(taken.error());
        }
        if (*taken) {
            copy.start(end->start());
            return true;
        }
    }
    const std::uint64_t size = source_.bytes.size();
    if (scanner.trailer_seen() || size < scanner.place().offset + trailer_record_bytes) {
        return false;
    }
    const Result<bool> taken = scanner.take_trailer(size - trailer_record_bytes);
    if (!taken || !*taken) {
        return taken;
    }
    if (auto copied = copy_trailer(copy); !copied) {
        return fail(copied.error());
    }
    return true;
}

Result<void> Recovery::copy_prefix(RecoverCopy& copy) {
    const auto moved = [&](std::uint64_t offset) -> Result<void> {
        if (!run_.scanner().trailer_seen()) {
            return copy.good(offset);
        }
        if (auto flushed = copy.flush(offset - trailer_record_bytes); !flushed) {
            return flushed;
        }
        return copy_trailer(copy);
    };
    while (true) {
        if (auto done = run_.go_on(moved); !done) {
            return done;
        }
        const RecoverTail& tail = run_.tail();
        if (tail.defect) {
            note(*tail.defect);
        }
        const bool closed = run_.scanner().trailer_seen();
        if (!closed) {
            if (auto done = copy.flush(run_.scanner().place().offset); !done) {
                return done;
            }
        }
        if (closed || !tail.defect) {
            tail_ticks_ = tail.ticks;
            return closed ? Result<void>() : copy.flush(tail.end);
        }
        const Result<bool> behind = go_behind(copy);
        if (!behind) {
            return fail(behind.error());
        }
        if (!*behind && tail.is_contradicted()) {
            return {};
        }
        if (!*behind) {
            tail_ticks_ = tail.ticks;
            return copy.flush(tail.end);
        }
    }
}

Result<void> Recovery::first_part() {
    const Result<bool> start = has_start();
    if (!start) {
        return fail(start.error());
    }
    next_tick_ = first_;
    if (!*start) {
        Error error(Errc::corrupt_record, "keyframe", "the state that it starts from is damaged");
        note({std::move(error).at(source_.first_offset).in(source_.bytes.name()), first_, 0});
        return find_ends();
    }
    auto sink = sinks_(parts_asked_++, first_);
    if (!sink) {
        return fail(sink.error());
    }
    RecoverCopy copy(source_.bytes, std::move(*sink));
    if (auto done = copy_prefix(copy); !done) {
        return done;
    }
    if (auto closed = copy.close(options_.sync); !closed) {
        return closed;
    }
    ChunkScanner& scanner = run_.scanner();
    const bool closed = scanner.trailer_seen();
    next_chunk_ = scanner.place().chunk;
    next_tick_ = first_ + (run_.ticks() + (closed ? 0 : tail_ticks_));
    if (next_tick_ == first_ && !closed && !report_.defects.empty()) {
        return {};
    }
    report_.parts.push_back({first_,
                             next_tick_.value - first_.value,
                             copy.bytes(),
                             next_chunk_,
                             closed ? FileState::closed : FileState::open,
                             scanner.place().chain,
                             source_.head.head.session,
                             0,
                             copy.source_bytes()});
    return {};
}

// --- later parts ---

Result<std::optional<LatePart>> Recovery::later_part(const StartState& start) {
    Result<SessionId> session = options_.sessions ? options_.sessions() : make_session_id();
    if (!session) {
        return fail(session.error());
    }
    auto sink = sinks_(parts_asked_++, start.info.tick);
    if (!sink) {
        return fail(sink.error());
    }
    const LatePartOptions options{
        *session, run_.scanner().place().chain, std::nullopt, options_.sync};
    Result<LatePart> late = write_late_part(source_, start, ends_, std::move(*sink), options);
    if (!late) {
        if (late.error().code == Errc::io_error) {
            return fail(late.error());
        }
        note({late.error(), start.info.tick, start.place.chunk});
        return std::nullopt;
    }
    if (late->part.ticks == 0) {
        return std::nullopt;
    }
    return std::optional(std::move(*late));
}

Result<void> Recovery::later_parts() {
    for (const FoundEnd& end : ends_.all()) {
        const Tick after = end.last + 1;
        if (end.number < next_chunk_ || after <= next_tick_) {
            continue;
        }
        Result<std::optional<StartState>> start = keyframes_.behind(end);
        if (!start) {
            return fail(start.error());
        }
        if (!*start) {
            continue;
        }
        Result<std::optional<LatePart>> late = later_part(**start);
        if (!late) {
            return fail(late.error());
        }
        if (*late) {
            report_.parts.push_back((*late)->part);
            next_chunk_ = (*late)->chunk;
            next_tick_ = (*late)->tick;
            if ((*late)->defect) {
                note(*(*late)->defect);
            }
        }
    }
    return {};
}

Result<RecoverReport> Recovery::recover() {
    Result<void> done = first_part();
    if (done && options_.later_parts && !run_.scanner().trailer_seen()) {
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
    if (report_.defects.empty()) {
        report_.state = run_.scanner().trailer_seen() ? FileState::closed : FileState::open;
    } else {
        report_.state = cut_only_ ? FileState::truncated : FileState::damaged;
    }
    return std::move(report_);
}

Result<RecoverReport> recover_input(std::unique_ptr<Input> input,
                                    const std::string& name,
                                    const PartSinks& sinks,
                                    const RecoverOptions& options) {
    auto source = RecoverSource::open(std::move(input), name);
    if (!source) {
        return fail(source.error());
    }
    if (((*source)->head.head.incompatible & feature::packed) != 0) {
        return recover_packed(**source, sinks, options);
    }
    return Recovery(**source, sinks, options).recover();
}

} // namespace

Result<RecoverReport>
recover(const std::string& path, const PartSinks& sinks, const RecoverOptions& options) {
    Result<std::unique_ptr<Input>> input = open_input(path);
    if (!input) {
        return fail(input.error());
    }
    return recover_input(std::move(*input), path, sinks, options);
}

Result<RecoverReport>
recover(ByteView bytes, const PartSinks& sinks, const RecoverOptions& options, std::string name) {
    return recover_input(memory_input(bytes), name, sinks, options);
}

} // namespace twinstep::replay
