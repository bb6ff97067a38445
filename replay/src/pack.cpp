// SPDX-License-Identifier: MIT
// Records into packed frames, and a packed file at a glance.
#include "twinstep/replay/pack.hpp"

#include "changes.hpp"
#include "columns.hpp"
#include "compression.hpp"
#include "unpack_input.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace twinstep::replay {

namespace {

/// Raw bytes at which a packed frame is written: what is left of a frame's limit is enough for
/// inputs of people, and the rare frame that does not fit is split.
constexpr std::uint64_t packed_raw_bytes_target = std::uint64_t{640} * 1024;

constexpr auto tick_tag = static_cast<std::uint8_t>(RecordTag::tick);
constexpr auto changes_tag = static_cast<std::uint8_t>(RecordTag::tick_changes);
constexpr auto chunk_end_tag = static_cast<std::uint8_t>(RecordTag::chunk_end);

/// A sink to which everything is written in order, whatever it takes.
class Output {
public:
    explicit Output(std::unique_ptr<FileSink> sink)
        : sink_(std::move(sink)) {
        TWINSTEP_ASSERT(sink_ != nullptr);
    }

    Result<void> write(ByteView bytes) {
        bytes_ += bytes.size();
        while (!bytes.empty()) {
            std::error_code error;
            const std::size_t count = sink_->write(bytes, error);
            const bool interrupted = error == std::errc::interrupted;
            if ((error && !interrupted) || (!error && count == 0) || count > bytes.size()) {
                return fail(Error(
                    Errc::io_error, "write", error ? error.message() : "nothing was written"));
            }
            bytes = bytes.subspan(count);
        }
        return {};
    }

    Result<void> close() {
        const std::error_code synced = sink_->sync();
        const std::error_code closed = sink_->close();
        if (synced || closed) {
            return fail(Error(
                Errc::io_error, synced ? "sync" : "close", (synced ? synced : closed).message()));
        }
        return {};
    }

    std::uint64_t bytes() const { return bytes_; }

private:
    std::unique_ptr<FileSink> sink_;
    std::uint64_t bytes_ = 0;
};

/// A record of a chunk that waits for its packed frame.
struct PendingRecord {
    std::uint8_t tag = 0;
    std::size_t begin = 0; ///< In the pool; of a tick without hash and section bytes.
    std::size_t size = 0;
    std::size_t input_bytes = 0; ///< Of a tick as columns.
};

/// How far the pending records were written.
struct PendingPlace {
    std::size_t record = 0;
    std::size_t hashes = 0;
    std::size_t section_bytes = 0;
    std::size_t chunk_hashes = 0;
    Tick tick;
    Bytes before; ///< Encoding of the tick before in the open chunk.
};

/// How much is pending.
struct PendingSize {
    std::uint64_t open_bytes = 0;
    std::uint64_t input_bytes = 0;
    std::uint64_t raw_bytes = 0;

    PendingSize operator+(const PendingSize& other) const {
        return {open_bytes + other.open_bytes,
                input_bytes + other.input_bytes,
                raw_bytes + other.raw_bytes};
    }

    bool fits() const {
        return open_bytes <= packed_open_bytes_max && input_bytes <= content_bytes_max &&
               raw_bytes <= packed_raw_bytes_target;
    }
};

/// Collects records, packs as many chunks as fit into a frame and passes on what is not packed.
class Packer {
public:
    Packer(Output& output, const Head& head, int level)
        : output_(output)
        , head_{head, *section_names(head.manifest), {}}
        , level_(level)
        , with_changes_((head.incompatible & feature::changes) != 0)
        , section_bytes_(
              (head.incompatible & feature::no_section_bytes) != 0 ? 0 : head_.sections.size()) {
        written_.tick = *first_tick(head);
    }

    Result<void> write_head();
    /// A record of the open form; `frame` of a tick.
    Result<void> add(const Record& record, std::uint8_t tag, ByteView payload);
    /// Writes what is pending.
    Result<void> flush();

    std::uint64_t packed_frames() const { return packed_frames_; }

    std::uint64_t content_bytes() const { return stored_content_bytes_; }

private:
    Result<void> add_chunk_end(const ChunkEnd& end);
    void add_data(const Record& record, std::uint8_t tag, ByteView payload);
    Result<void> write_up_to(std::size_t end);
    void forget();
    Result<bool> try_frame(std::size_t end);
    Result<void> fill(std::size_t end, PendingPlace& place, ColumnWriter* columns, RowWriter* rows);
    Result<void> store(ByteView content, PackedFrame& frame, Bytes& stored);
    Result<void> write_record(std::uint8_t tag, ByteView payload);
    std::size_t split(std::size_t end) const;

    Output& output_;
    GoodHead head_;
    int level_ = 0;
    bool with_changes_ = false;
    std::size_t section_bytes_ = 0;
    PackedPosition position_;
    std::vector<PendingRecord> records_;
    Bytes pool_;
    Bytes hashes_;
    Bytes tick_sections_;
    Bytes chunk_hashes_;
    std::size_t whole_records_ = 0; ///< Of the pending ones, those of whole chunks.
    PendingSize whole_size_;
    PendingSize open_size_; ///< Of the chunk that is not whole yet.
    PendingPlace written_;
    Bytes record_;
    Bytes scratch_;
    std::uint64_t packed_frames_ = 0;
    std::uint64_t stored_content_bytes_ = 0;
};

Result<void> Packer::write_head() {
    Head packed = head_.head;
    packed.incompatible |= feature::packed;
    Bytes encoded;
    encode_head(packed, encoded);
    return output_.write(encoded);
}

Result<void> Packer::add(const Record& record, std::uint8_t tag, ByteView payload) {
    if (record.kind == RecordKind::chunk_end) {
        return add_chunk_end(record.chunk_end);
    }
    if (record.kind == RecordKind::frame || record.kind == RecordKind::trailer) {
        if (auto flushed = flush(); !flushed) {
            return flushed;
        }
        return write_record(tag, payload);
    }
    add_data(record, tag, payload);
    return {};
}

void Packer::add_data(const Record& record, std::uint8_t tag, ByteView payload) {
    PendingRecord pending{tag, pool_.size(), payload.size(), 0};
    open_size_.open_bytes += payload.size() + record_bytes_max - record_payload_bytes_max;
    if (record.kind == RecordKind::tick) {
        const std::size_t raw = sizeof(std::uint32_t) + section_bytes_;
        ByteWriter(hashes_).bytes(payload.first(sizeof(std::uint32_t)));
        ByteWriter(tick_sections_).bytes(payload.subspan(sizeof(std::uint32_t), section_bytes_));
        payload = payload.subspan(raw);
        pending.size = payload.size();
        const TickFrame& frame = *record.tick.frame;
        for (std::size_t i = 0; i < frame.slot_count(); ++i) {
            pending.input_bytes += frame.at(Slot{static_cast<std::uint16_t>(i)}).size;
        }
        open_size_.raw_bytes += raw;
    } else {
        pending.input_bytes = payload.size();
    }
    open_size_.input_bytes += pending.input_bytes;
    ByteWriter(pool_).bytes(payload);
    records_.push_back(pending);
}

Result<void> Packer::add_chunk_end(const ChunkEnd& end) {
    const std::size_t bytes = sizeof(Hash128) * (1 + end.sections.size());
    open_size_.open_bytes += chunk_end_fixed_bytes + bytes;
    open_size_.raw_bytes += bytes;
    if (whole_records_ > 0 && !(whole_size_ + open_size_).fits()) {
        if (auto written = write_up_to(whole_records_); !written) {
            return written;
        }
        whole_size_ = {};
    }
    encode_hash(end.state, chunk_hashes_);
    for (const Hash128& section : end.sections) {
        encode_hash(section, chunk_hashes_);
    }
    records_.push_back({chunk_end_tag, pool_.size(), 0, 0});
    whole_records_ = records_.size();
    whole_size_ = whole_size_ + std::exchange(open_size_, {});
    return {};
}

Result<void> Packer::flush() {
    auto written = write_up_to(records_.size());
    whole_size_ = {};
    open_size_ = {};
    return written;
}

/// Writes the pending records up to `end`, in as few frames as it takes.
Result<void> Packer::write_up_to(std::size_t end) {
    while (written_.record < end) {
        std::size_t piece = end;
        while (true) {
            const Result<bool> fits = try_frame(piece);
            if (!fits) {
                return fail(fits.error());
            }
            if (*fits) {
                break;
            }
            if (piece - written_.record == 1) {
                return fail(Error(Errc::limit_exceeded, "pack", "a record does not fit a frame"));
            }
            piece = split(piece);
        }
    }
    forget();
    return {};
}

/// About half of what is to be written, if possible whole chunks.
std::size_t Packer::split(std::size_t end) const {
    const std::size_t half = written_.record + (end - written_.record) / 2;
    for (std::size_t i = half; i > written_.record + 1; --i) {
        if (records_[i - 1].tag == chunk_end_tag) {
            return i;
        }
    }
    return half;
}

/// Drops what was written.
void Packer::forget() {
    const std::size_t count = written_.record;
    const std::size_t pool = count < records_.size() ? records_[count].begin : pool_.size();
    const auto drop = [](Bytes& bytes, std::size_t size) {
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    };
    drop(pool_, pool);
    drop(hashes_, std::exchange(written_.hashes, 0));
    drop(tick_sections_, std::exchange(written_.section_bytes, 0));
    drop(chunk_hashes_, std::exchange(written_.chunk_hashes, 0));
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(count));
    for (PendingRecord& record : records_) {
        record.begin -= pool;
    }
    written_.record = 0;
    whole_records_ = 0;
}

/// Puts the records up to `end` into a layout, and `place` behind them.
Result<void>
Packer::fill(std::size_t end, PendingPlace& place, ColumnWriter* columns, RowWriter* rows) {
    TickFrame frame;
    Bytes whole;
    for (; place.record < end; ++place.record) {
        const PendingRecord& record = records_[place.record];
        const ByteView payload = ByteView(pool_).subspan(record.begin, record.size);
        if (record.tag == chunk_end_tag) {
            columns != nullptr ? columns->chunk_end() : rows->chunk_end();
            place.chunk_hashes += sizeof(Hash128) * (1 + head_.sections.size());
            place.before.clear();
            continue;
        }
        if (rows != nullptr) {
            rows->record(record.tag, payload);
        }
        const bool is_changes = with_changes_ && record.tag == changes_tag;
        if (record.tag != tick_tag && !is_changes) {
            if (columns != nullptr) {
                columns->record(record.tag, payload);
            }
            continue;
        }
        if (!is_changes) {
            whole.assign(payload.begin(), payload.end());
        } else if (auto made = apply_changes(place.before, place.tick, payload, whole); !made) {
            return made;
        }
        if (columns != nullptr) {
            if (auto decoded = decode_frame(whole, frame); !decoded) {
                return decoded;
            }
            columns->tick(frame, whole);
        }
        std::swap(place.before, whole);
        place.hashes += sizeof(std::uint32_t);
        place.section_bytes += section_bytes_;
        ++place.tick.value;
    }
    return {};
}

/// Compresses content, if that is worth it and allowed.
Result<void> Packer::store(ByteView content, PackedFrame& frame, Bytes& stored) {
    stored.clear();
    if (level_ != 0) {
        if (auto done = compress(content, level_, stored); !done) {
            return done;
        }
    }
    const std::size_t raw =
        frame.hashes.size() + frame.section_bytes.size() + frame.chunk_hashes.size();
    frame.codec = ContentCodec::zstd;
    frame.content_bytes = content.size();
    if (level_ == 0 || stored.size() >= content.size() ||
        content.size() / expansion_max > stored.size() + raw) {
        frame.codec = ContentCodec::stored;
        stored.assign(content.begin(), content.end());
    }
    return {};
}

/// Writes the records up to `end` as one frame; false, and nothing written, if they do not fit.
Result<bool> Packer::try_frame(std::size_t end) {
    std::uint64_t input_bytes = 0;
    PackedFrame frame;
    for (std::size_t i = written_.record; i < end; ++i) {
        const bool is_end = records_[i].tag == chunk_end_tag;
        input_bytes += records_[i].input_bytes;
        frame.chunks += is_end ? 1 : 0;
        frame.tail = is_end ? 0 : frame.tail + 1;
    }
    ColumnWriter columns;
    RowWriter rows;
    const bool in_columns = input_bytes <= content_bytes_max;
    PendingPlace place = written_;
    const Result<void> filled =
        fill(end, place, in_columns ? &columns : nullptr, in_columns ? nullptr : &rows);
    if (!filled) {
        return fail(filled.error());
    }
    frame.ticks = place.tick.value - written_.tick.value;
    frame.layout = in_columns ? ContentLayout::columns : ContentLayout::rows;
    const auto between = [](const Bytes& bytes, std::size_t from, std::size_t to) {
        return ByteView(bytes).subspan(from, to - from);
    };
    frame.hashes = between(hashes_, written_.hashes, place.hashes);
    frame.section_bytes = between(tick_sections_, written_.section_bytes, place.section_bytes);
    frame.chunk_hashes = between(chunk_hashes_, written_.chunk_hashes, place.chunk_hashes);
    const Bytes& content = in_columns ? columns.finish() : rows.finish();
    Bytes stored;
    if (content.size() > content_bytes_max) {
        return false;
    }
    if (auto done = store(content, frame, stored); !done) {
        return fail(done.error());
    }
    Bytes payload;
    encode_packed_front(frame, payload);
    for (const ByteView part :
         {frame.hashes, frame.section_bytes, frame.chunk_hashes, ByteView(stored)}) {
        ByteWriter(payload).bytes(part);
    }
    if (payload.size() > frame_payload_bytes_max) {
        return false;
    }
    if (auto done = write_record(static_cast<std::uint8_t>(RecordTag::packed), payload); !done) {
        return fail(done.error());
    }
    position_.chunk += frame.chunks;
    position_.tail = (frame.chunks > 0 ? 0 : position_.tail) + frame.tail;
    position_.frames = frame.chunks > 0 ? 0 : position_.frames;
    ++packed_frames_;
    stored_content_bytes_ += stored.size();
    written_ = std::move(place);
    return true;
}

Result<void> Packer::write_record(std::uint8_t tag, ByteView payload) {
    record_.clear();
    ByteWriter writer(record_);
    writer.u8(tag);
    writer.varint(payload.size());
    writer.bytes(payload);
    writer.u32(record_check(position_.place(head_.head.session, tag), record_, scratch_));
    if (is_frame_tag(tag) && tag != static_cast<std::uint8_t>(RecordTag::packed)) {
        ++position_.frames;
    }
    return output_.write(record_);
}

/// Keeps the last record that a Writer wrote.
class LastRecord final : public FileSink {
public:
    explicit LastRecord(std::shared_ptr<Bytes> target)
        : target_(std::move(target)) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        target_->assign(bytes.begin(), bytes.end());
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    std::shared_ptr<Bytes> target_;
};

/// The records of a recording without their section bytes.
class WithoutSections {
public:
    static Result<WithoutSections> create(const Head& head) {
        auto last = std::make_shared<Bytes>();
        Result<Writer> writer = Writer::create(std::make_unique<LastRecord>(last), head);
        if (!writer) {
            return fail(writer.error());
        }
        return WithoutSections(std::move(last), std::move(*writer));
    }

    /// The payload that a record has now; `tag` becomes its tag.
    Result<ByteView> convert(const Record& record, std::uint8_t& tag) {
        if (auto written = write(record); !written) {
            return fail(written.error());
        }
        ByteReader reader(ByteView(*last_).first(last_->size() - record_check_bytes));
        tag = reader.u8("tag");
        return reader.bytes(reader.varint("length"), "payload");
    }

    const Hash128& chain() const { return writer_.chain(); }

private:
    WithoutSections(std::shared_ptr<Bytes> last, Writer writer)
        : last_(std::move(last))
        , writer_(std::move(writer)) {}

    Result<void> write(const Record& record) {
        switch (record.kind) {
        case RecordKind::tick:
            return writer_.write_tick(record.tick.hash, {}, record.tick.encoded);
        case RecordKind::chunk_end:
            return writer_.write_chunk_end(record.chunk_end.state, record.chunk_end.sections);
        case RecordKind::trailer:
            return writer_.write_trailer();
        case RecordKind::frame:
            return writer_.write_frame(record.tag, record.payload);
        default:
            return writer_.write_record(record.tag, record.payload);
        }
    }

    std::shared_ptr<Bytes> last_;
    Writer writer_;
};

/// The next record; RecordKind::end only behind a recording without a defect.
Result<Record> next_whole(Reader& reader) {
    Result<Record> record = reader.next();
    if (record && record->kind == RecordKind::end && !reader.defects().empty()) {
        return fail(reader.defects().front().error);
    }
    return record;
}

Result<PackedSummary> check_window(Window window, const std::string& name) {
    const Result<GoodHead> head = read_head(window);
    if (!head) {
        Error error = head.error();
        return fail(std::move(error).in(name));
    }
    if ((head->head.incompatible & feature::packed) == 0) {
        return fail(
            Error(Errc::not_a_recording, "features.incompatible", "it is not packed").in(name));
    }
    PackedScanner scanner(std::move(window), *head);
    PackedSummary summary;
    while (true) {
        summary.good_bytes = scanner.file_position();
        const Result<PackedRecord> record = scanner.next();
        if (!record) {
            Error error = record.error();
            error.where = name;
            if (error.code == Errc::io_error) {
                return fail(std::move(error));
            }
            summary.state =
                error.code == Errc::truncated ? FileState::truncated : FileState::damaged;
            summary.defect = std::move(error);
            return summary;
        }
        if (record->is_end) {
            const bool closed = scanner.position().trailer_seen;
            summary.state = closed ? FileState::closed : FileState::open;
            return summary;
        }
        summary.ticks = scanner.position().ticks;
        summary.chunks = scanner.position().chunk;
        summary.packed_frames += record->tag == static_cast<std::uint8_t>(RecordTag::packed);
    }
}

} // namespace

Result<PackReport>
pack(Reader& reader, std::unique_ptr<FileSink> sink, const PackOptions& options) {
    TWINSTEP_ASSERT(reader.records() == 0);
    Output output(std::move(sink));
    PackReport report;
    Head head = reader.head();
    report.section_bytes_dropped =
        !options.section_bytes && (head.incompatible & feature::no_section_bytes) == 0;
    std::optional<WithoutSections> converter;
    if (report.section_bytes_dropped) {
        head.incompatible |= feature::no_section_bytes;
        Result<WithoutSections> created = WithoutSections::create(head);
        if (!created) {
            return fail(created.error());
        }
        converter.emplace(std::move(*created));
    }
    Packer packer(output, head, options.level);
    Result<void> done = packer.write_head();
    while (done) {
        const Result<Record> record = next_whole(reader);
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        std::uint8_t tag = record->tag;
        ByteView payload = record->payload;
        if (converter) {
            if (tag == static_cast<std::uint8_t>(RecordTag::signature) &&
                record->kind == RecordKind::frame) {
                ++report.signatures_dropped;
                continue;
            }
            const Result<ByteView> converted = converter->convert(*record, tag);
            if (!converted) {
                return fail(converted.error());
            }
            payload = *converted;
        }
        done = packer.add(*record, tag, payload);
    }
    if (done) {
        done = packer.flush();
    }
    if (done) {
        done = output.close();
    }
    if (!done) {
        return fail(done.error());
    }
    report.ticks = reader.ticks();
    report.chunks = reader.chunks();
    report.bytes = output.bytes();
    report.source_bytes = reader.file_bytes();
    report.packed_frames = packer.packed_frames();
    report.content_bytes = packer.content_bytes();
    report.chain = converter ? converter->chain() : reader.chain();
    return report;
}

Result<PackReport> unpack(Reader& reader, std::unique_ptr<FileSink> sink) {
    TWINSTEP_ASSERT(reader.records() == 0);
    Output output(std::move(sink));
    Bytes bytes;
    encode_head(reader.head(), bytes);
    Result<void> done = output.write(bytes);
    while (done) {
        const Result<Record> record = next_whole(reader);
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == RecordKind::end) {
            break;
        }
        bytes.clear();
        ByteWriter writer(bytes);
        writer.u8(record->tag);
        writer.varint(record->payload.size());
        writer.bytes(record->payload);
        writer.u32(record->check);
        done = output.write(bytes);
    }
    if (done) {
        done = output.close();
    }
    if (!done) {
        return fail(done.error());
    }
    PackReport report;
    report.ticks = reader.ticks();
    report.chunks = reader.chunks();
    report.bytes = output.bytes();
    report.source_bytes = reader.file_bytes();
    report.chain = reader.chain();
    return report;
}

Result<PackedSummary> check_packed(const std::string& path) {
    Result<std::unique_ptr<Input>> input = open_input(path);
    if (!input) {
        return fail(input.error());
    }
    return check_window(Window(std::move(*input)), path);
}

Result<PackedSummary> check_packed(ByteView bytes, std::string name) {
    return check_window(Window(memory_input(bytes)), name);
}

} // namespace twinstep::replay
