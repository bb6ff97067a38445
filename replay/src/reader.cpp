// SPDX-License-Identifier: MIT
// The reader: nothing is handed out before its check, its place and its content were found right.
#include "twinstep/replay/reader.hpp"

#include "head.hpp"
#include "layout.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t record_head_bytes_max = 4; // a tag and a length of up to 64 KiB

bool is_cut(const Error& error) {
    return error.code == Errc::truncated;
}

} // namespace

struct Reader::Impl {
    Impl(std::unique_ptr<Input> input, ReadMode read_mode, std::string file_name)
        : window(std::move(input))
        , mode(read_mode)
        , name(std::move(file_name)) {}

    Window window;
    ReadMode mode;
    std::string name;
    Head head;
    std::vector<std::string> sections;
    std::vector<Hash128> section_hashes;
    TickFrame frame;
    Place place;
    Hasher digest;
    Hash128 chain;
    Bytes scratch;
    std::uint64_t ticks = 0;
    std::uint64_t records = 0;
    std::uint64_t good_bytes = 0;
    std::uint64_t chunk_ticks = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t last_chunk_end = 0;
    bool trailer_seen = false;
    bool ended = false;
    FileState state = FileState::open;
    std::optional<Error> failure;
    std::vector<Defect> defects;

    Result<void> start();
    Result<Record> read_record();
    Result<std::size_t> measure(ByteView view) const;
    Result<void> accept(Record& record, ByteView bytes);
    Result<void> accept_tick(Record& record);
    Result<void> accept_chunk_end(Record& record, ByteView bytes);
    Result<void> accept_trailer(const Record& record);
    Result<void> accept_data(const Record& record, ByteView bytes);
    Result<Record> meet(Error error);
    Error cut_or_corrupt(ByteView rest) const;
};

Result<void> Reader::Impl::start() {
    Result<GoodHead> good = read_head(window);
    if (!good) {
        return fail(std::move(good.error()).in(name));
    }
    head = std::move(good->head);
    sections = std::move(good->sections);
    chain = good->digest;
    place.session = head.session;
    good_bytes = window.position();
    begin_chunk_digest(digest, 0);
    return {};
}

// --- records ---

Error Reader::Impl::cut_or_corrupt(ByteView rest) const {
    if (has_later_structure(rest)) {
        return Error(Errc::corrupt_record, "length", "the length is wrong").at(window.position());
    }
    return Error(Errc::truncated, "record", "the last record is not whole").at(window.position());
}

/// The size of the record at the front of `view`, all of which is there.
Result<std::size_t> Reader::Impl::measure(ByteView view) const {
    const ByteView front = view.first(std::min(view.size(), record_head_bytes_max));
    ByteReader reader(front, window.position());
    reader.u8("tag");
    const std::uint64_t length = reader.varint("length", record_payload_bytes_max);
    if (!reader.ok()) {
        const Error error = reader.error();
        if (error.code == SimErrc::truncated && view.size() < record_head_bytes_max) {
            return fail(cut_or_corrupt(view));
        }
        const bool too_long = error.code == SimErrc::limit_exceeded;
        return fail(as(too_long ? Errc::limit_exceeded : Errc::corrupt_record, error));
    }
    const std::size_t size =
        reader.offset() + static_cast<std::size_t>(length) + record_check_bytes;
    if (size > view.size()) {
        return fail(cut_or_corrupt(view));
    }
    return size;
}

Result<Record> Reader::Impl::read_record() {
    const Result<ByteView> view = peek(window, record_bytes_max);
    if (!view) {
        return fail(view.error());
    }
    Record record;
    record.offset = window.position();
    if (view->empty()) {
        ended = true;
        state = trailer_seen ? FileState::closed : FileState::open;
        return record;
    }
    if (trailer_seen) {
        return fail(
            Error(Errc::corrupt_record, "trailer", "bytes follow the trailer").at(record.offset));
    }
    const Result<std::size_t> size = measure(*view);
    if (!size) {
        return fail(size.error());
    }
    const ByteView bytes = view->first(*size);
    const ByteView checked = bytes.first(*size - record_check_bytes);
    record.check = ByteReader(bytes.last(record_check_bytes)).u32("check");
    if (record.check != record_check(place, checked, scratch)) {
        return fail(Error(Errc::corrupt_record, "check", "the check is wrong").at(record.offset));
    }
    record.size = *size;
    record.tag = static_cast<std::uint8_t>(bytes[0]);
    ByteReader reader(checked);
    reader.u8("tag");
    record.payload = reader.bytes(reader.varint("length"), "payload");
    if (auto accepted = accept(record, bytes); !accepted) {
        return fail(accepted.error());
    }
    window.skip(*size);
    good_bytes = window.position();
    ++records;
    return record;
}

Result<void> Reader::Impl::accept(Record& record, ByteView bytes) {
    switch (static_cast<RecordTag>(record.tag)) {
    case RecordTag::tick:
        record.kind = RecordKind::tick;
        if (auto accepted = accept_tick(record); !accepted) {
            return accepted;
        }
        return accept_data(record, bytes);
    case RecordTag::chunk_end:
        record.kind = RecordKind::chunk_end;
        return accept_chunk_end(record, bytes);
    case RecordTag::trailer:
        record.kind = RecordKind::trailer;
        return accept_trailer(record);
    }
    if (record.tag == 0) {
        return fail(Error(Errc::corrupt_record, "tag", "0 is no tag").at(record.offset));
    }
    record.kind = RecordKind::unknown;
    return accept_data(record, bytes);
}

Result<void> Reader::Impl::accept_data(const Record& record, ByteView bytes) {
    if (chunk_bytes + bytes.size() > chunk_bytes_max) {
        return fail(Error(Errc::limit_exceeded, "chunk", "no chunk end in time").at(record.offset));
    }
    digest.update(bytes);
    chunk_bytes += bytes.size();
    ++place.record;
    if (record.kind == RecordKind::tick) {
        ++chunk_ticks;
        ++ticks;
    }
    return {};
}

Result<void> Reader::Impl::accept_tick(Record& record) {
    ByteReader reader(record.payload);
    record.tick.hash = reader.u32("tick.hash");
    record.tick.section_bytes = reader.bytes(sections.size(), "tick.sections");
    record.tick.encoded = reader.bytes(reader.remaining(), "tick.frame");
    const std::uint64_t payload_offset =
        record.offset + record.size - record_check_bytes - record.payload.size();
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()).at(payload_offset));
    }
    if (auto decoded = decode_frame(record.tick.encoded, frame); !decoded) {
        const std::uint64_t skipped = record.payload.size() - record.tick.encoded.size();
        const std::uint64_t offset = decoded.error().offset.value_or(0);
        return fail(
            as(Errc::corrupt_record, decoded.error()).at(payload_offset + skipped + offset));
    }
    if (frame.tick().value != ticks) {
        return fail(Error(Errc::corrupt_record,
                          "tick",
                          "tick " + std::to_string(frame.tick().value) + " where tick " +
                              std::to_string(ticks) + " belongs")
                        .at(payload_offset));
    }
    record.tick.tick = frame.tick();
    record.tick.frame = &frame;
    return {};
}

Result<void> Reader::Impl::accept_chunk_end(Record& record, ByteView bytes) {
    const std::uint64_t payload_offset =
        record.offset + bytes.size() - record_check_bytes - record.payload.size();
    std::size_t covered = 0;
    Result<ChunkEnd> decoded =
        decode_chunk_end(record.payload, sections.size(), section_hashes, covered);
    if (!decoded) {
        return fail(
            std::move(decoded.error()).at(payload_offset + decoded.error().offset.value_or(0)));
    }
    const ChunkEnd& end = record.chunk_end = *decoded;
    digest.update(record.payload.first(covered));
    const std::uint64_t back = last_chunk_end == 0 ? 0 : record.offset - last_chunk_end;
    const std::array<std::pair<const char*, bool>, 9> claims{{
        {"chunk_end.number", end.number == place.chunk},
        {"chunk_end.ticks", chunk_ticks > 0 && end.ticks == chunk_ticks},
        {"chunk_end.first", end.first.value + chunk_ticks == ticks},
        {"chunk_end.last", end.last.value + 1 == ticks},
        {"chunk_end.records", end.records == place.record},
        {"chunk_end.bytes", end.chunk_bytes == chunk_bytes},
        {"chunk_end.back_offset", end.back_offset == back},
        {"chunk_end.previous", end.previous == chain},
        {"chunk_end.digest", end.digest == digest.finish()},
    }};
    for (const auto& [field, holds] : claims) {
        if (!holds) {
            return fail(Error(Errc::corrupt_chunk,
                              field,
                              "chunk " + std::to_string(place.chunk) + " is not what its end says")
                            .at(payload_offset));
        }
    }
    chain = end.digest;
    last_chunk_end = record.offset;
    ++place.chunk;
    place.record = 0;
    chunk_ticks = 0;
    chunk_bytes = 0;
    begin_chunk_digest(digest, place.chunk);
    return {};
}

Result<void> Reader::Impl::accept_trailer(const Record& record) {
    const std::uint64_t payload_offset =
        record.offset + record.size - record_check_bytes - record.payload.size();
    Result<Trailer> decoded = decode_trailer(record.payload);
    if (!decoded) {
        return fail(
            std::move(decoded.error()).at(payload_offset + decoded.error().offset.value_or(0)));
    }
    if (place.record != 0 || *decoded != Trailer{last_chunk_end, ticks, place.chunk, chain}) {
        return fail(Error(Errc::corrupt_chunk, "trailer", "the file is not what its trailer says")
                        .at(payload_offset));
    }
    trailer_seen = true;
    return {};
}

Result<Record> Reader::Impl::meet(Error error) {
    error.where = name;
    if (error.code == Errc::io_error) {
        failure = error;
        return fail(std::move(error));
    }
    if (!error.detail.empty()) {
        error.detail += "; ";
    }
    error.detail += std::to_string(ticks) + " ticks before it are good";
    state = is_cut(error) ? FileState::truncated : FileState::damaged;
    defects.push_back({error, Tick{ticks}});
    const bool goes_on = mode == ReadMode::prefix || (mode == ReadMode::tail && is_cut(error));
    if (goes_on) {
        ended = true;
        Record end;
        end.offset = good_bytes;
        return end;
    }
    failure = error;
    return fail(std::move(error));
}

// --- Reader ---

Reader::Reader(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& path, ReadMode mode) {
    Result<std::unique_ptr<Input>> input = open_input(path);
    if (!input) {
        return fail(input.error());
    }
    auto impl = std::make_unique<Impl>(std::move(*input), mode, path);
    if (auto started = impl->start(); !started) {
        return fail(started.error());
    }
    return Reader(std::move(impl));
}

Result<Reader> Reader::from_memory(ByteView bytes, ReadMode mode, std::string name) {
    auto impl = std::make_unique<Impl>(memory_input(bytes), mode, std::move(name));
    if (auto started = impl->start(); !started) {
        return fail(started.error());
    }
    return Reader(std::move(impl));
}

const Head& Reader::head() const {
    return impl_->head;
}

const std::vector<std::string>& Reader::sections() const {
    return impl_->sections;
}

Result<Record> Reader::next() {
    if (impl_->failure) {
        return fail(*impl_->failure);
    }
    if (impl_->ended) {
        Record end;
        end.offset = impl_->good_bytes;
        return end;
    }
    Result<Record> record = impl_->read_record();
    if (!record) {
        return impl_->meet(std::move(record.error()));
    }
    return record;
}

FileState Reader::state() const {
    return impl_->state;
}

const std::vector<Defect>& Reader::defects() const {
    return impl_->defects;
}

std::uint64_t Reader::ticks() const {
    return impl_->ticks;
}

std::uint64_t Reader::records() const {
    return impl_->records;
}

std::uint64_t Reader::chunks() const {
    return impl_->place.chunk;
}

std::uint64_t Reader::bytes() const {
    return impl_->good_bytes;
}

const Hash128& Reader::chain() const {
    return impl_->chain;
}

std::uint64_t Reader::file_bytes() const {
    return impl_->window.input_size();
}

const char* to_string(FileState state) {
    switch (state) {
    case FileState::closed:
        return "closed";
    case FileState::open:
        return "open";
    case FileState::truncated:
        return "truncated";
    case FileState::damaged:
        return "damaged";
    }
    return "unknown";
}

} // namespace twinstep::replay
