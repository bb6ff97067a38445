// SPDX-License-Identifier: MIT
// From chunk to chunk by digests, and by records through what no digest covers.
#include "recover_run.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

Result<std::unique_ptr<RecoverSource>> RecoverSource::open(std::unique_ptr<Input> input,
                                                           const std::string& name) {
    SalvageBytes bytes(std::move(input), name);
    Window window(std::make_unique<SalvageInput>(bytes));
    Result<GoodHead> head = read_head(window);
    if (!head) {
        return fail(std::move(head.error()).in(name));
    }
    const std::uint64_t first_offset = window.position();
    return std::make_unique<RecoverSource>(
        RecoverSource{std::move(bytes), std::move(*head), first_offset});
}

Result<Reader> RecoverSource::reader() {
    return Reader::from_input(
        std::make_unique<SalvageInput>(bytes), ReadMode::prefix, bytes.name());
}

RecoverRun::RecoverRun(RecoverSource& source)
    : source_(source)
    , scanner_(source.bytes, source.head, source.first_offset)
    , first_(scanner_.place().tick) {}

Result<void> RecoverRun::go_on(const Moved& moved) {
    while (true) {
        const ChunkPlace before = scanner_.place();
        const Result<ScanStep> step = scanner_.next();
        if (!step) {
            return fail(step.error());
        }
        if (*step == ScanStep::end) {
            tail_ = {before.offset,
                     0,
                     scanner_.trailer_seen() ? FileState::closed : FileState::open,
                     {}};
            return {};
        }
        if (*step == ScanStep::frame && before.frames == 0 &&
            scanner_.frame_tag() == static_cast<std::uint8_t>(RecordTag::keyframe)) {
            keyframes_.push_back(before);
        }
        if (*step == ScanStep::unproved) {
            const Result<bool> went_on = read_chunk();
            if (!went_on) {
                return fail(went_on.error());
            }
            if (!*went_on) {
                return {};
            }
        }
        if (auto done = moved(scanner_.place().offset); !done) {
            return done;
        }
    }
}

/// Reads record by record where the scanner stands. True if a whole chunk was right all the same;
/// else tail_ is what there is.
Result<bool> RecoverRun::read_chunk() {
    const ChunkPlace start = scanner_.place();
    if (scanner_.trailer_seen() || scanner_.loss()) {
        // A reader that seeks forgets both.
        const bool trailer = scanner_.trailer_seen();
        Error error(Errc::corrupt_record,
                    trailer ? "trailer" : "loss",
                    trailer ? "bytes follow the trailer" : "only a trailer may follow a loss");
        tail_ = {start.offset,
                 0,
                 FileState::damaged,
                 Defect{std::move(error).at(start.offset).in(source_.bytes.name()),
                        start.tick,
                        start.chunk}};
        return false;
    }
    if (!reader_) {
        Result<Reader> reader = source_.reader();
        if (!reader) {
            return fail(reader.error());
        }
        reader_.emplace(std::move(*reader));
    }
    if (auto gone = reader_->seek(start); !gone) {
        return fail(gone.error());
    }
    while (true) {
        const Result<Record> record = reader_->next();
        if (!record) {
            return fail(record.error());
        }
        const std::optional<ChunkPlace> place = reader_->chunk_place();
        if (record->kind == RecordKind::end) {
            tail_ = {reader_->bytes(),
                     reader_->next_tick().value - start.tick.value,
                     reader_->state(),
                     {}};
            if (!reader_->defects().empty()) {
                tail_.defect = reader_->defects().front();
            }
            return false;
        }
        if (place) {
            scanner_.go(*place);
            return true;
        }
    }
}

Result<void> write_all(FileSink& sink, ByteView bytes) {
    while (!bytes.empty()) {
        std::error_code error;
        const std::size_t count = sink.write(bytes, error);
        if (error == std::errc::interrupted) {
            continue;
        }
        if (error || count == 0) {
            return fail(Error(Errc::io_error, "write", error.message()));
        }
        bytes = bytes.subspan(count);
    }
    return {};
}

// --- prove ---

namespace {

Result<ProvedFile> prove_source(RecoverSource& source) {
    if ((source.head.head.incompatible & feature::packed) != 0) {
        return prove_packed(source);
    }
    RecoverRun run(source);
    const auto moved = [&source](std::uint64_t offset) -> Result<void> {
        source.bytes.release(offset);
        return {};
    };
    if (auto done = run.go_on(moved); !done) {
        return fail(done.error());
    }
    ProvedFile proved;
    proved.state = run.tail().state;
    proved.bytes = source.bytes.size();
    proved.good_bytes = run.tail().end;
    proved.ticks = run.ticks() + run.tail().ticks;
    proved.chunks = run.scanner().place().chunk;
    proved.chain = run.scanner().place().chain;
    if (run.tail().defect) {
        proved.defects.push_back(*run.tail().defect);
    }
    return proved;
}

Result<ProvedFile> prove_input(std::unique_ptr<Input> input, const std::string& name) {
    auto source = RecoverSource::open(std::move(input), name);
    if (!source) {
        return fail(source.error());
    }
    return prove_source(**source);
}

} // namespace

Result<ProvedFile> prove(const std::string& path) {
    Result<std::unique_ptr<Input>> input = open_input(path);
    if (!input) {
        return fail(input.error());
    }
    return prove_input(std::move(*input), path);
}

Result<ProvedFile> prove(ByteView bytes, std::string name) {
    return prove_input(memory_input(bytes), name);
}

} // namespace twinstep::replay
