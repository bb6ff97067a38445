// SPDX-License-Identifier: MIT
// The reader: nothing is handed out before its check, its place and its content were found right.
#include "twinstep/replay/reader.hpp"

#include "changes.hpp"
#include "head.hpp"
#include "layout.hpp"
#include "unpack_input.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t record_head_bytes_max = 4; // a tag and a length of up to 1 MiB

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
    UnpackInput* packed = nullptr; ///< What the window looks through, if the file is packed.
    ReadMode mode;
    std::string name;
    Head head;
    std::vector<std::string> sections;
    std::vector<Hash128> section_hashes;
    TickFrame frame;
    Bytes before;  ///< Encoding of the last frame of this chunk.
    Bytes rebuilt; ///< Encoding of a frame that was written as changes.
    bool has_changes = false;
    std::size_t section_bytes = 0; ///< Of a tick record.
    Tick first;
    Place place;
    std::uint32_t frames = 0;      ///< Since the last chunk end.
    std::uint64_t frame_bytes = 0; ///< Theirs.
    Hasher digest;
    Hash128 chain;
    Bytes scratch;
    std::uint64_t ticks = 0;
    std::uint64_t records = 0;
    std::uint64_t good_bytes = 0;
    std::uint64_t chunk_ticks = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t last_chunk_end = 0;
    std::optional<Loss> loss;
    bool trailer_seen = false;
    bool ended = false;
    FileState state = FileState::open;
    std::optional<Error> failure;
    std::vector<Defect> defects;

    Result<void> start();
    Result<Record> read_record();
    Result<ByteView> view_record();
    Result<std::size_t> measure(ByteView view) const;
    bool is_frame(std::uint8_t tag) const;
    Result<void> accept(Record& record, ByteView bytes);
    Result<void> accept_tick(Record& record);
    Result<void> rebuild(Record& record, std::uint64_t content_offset);
    Result<void> accept_frame(const Record& record);
    Result<void> accept_loss(const Record& record);
    Result<void> accept_chunk_end(Record& record, ByteView bytes);
    Result<void> accept_trailer(const Record& record);
    Result<void> accept_data(const Record& record, ByteView bytes);
    void start_chunk();
    Result<Record> meet(Error error);
    Error cut_or_corrupt(ByteView rest) const;
};

Result<void> Reader::Impl::start() {
    Result<GoodHead> good = read_head(window);
    if (!good) {
        return fail(std::move(good.error()).in(name));
    }
    if ((good->head.incompatible & feature::packed) != 0) {
        const std::uint64_t start = window.position();
        auto input = std::make_unique<UnpackInput>(std::move(window), *good);
        packed = input.get();
        good->head = packed->head();
        good->digest = packed->head_chain();
        window = Window(std::move(input));
        static_cast<void>(window.seek(start));
    }
    head = std::move(good->head);
    sections = std::move(good->sections);
    chain = good->digest;
    has_changes = (head.incompatible & feature::changes) != 0;
    section_bytes = (head.incompatible & feature::no_section_bytes) != 0 ? 0 : sections.size();
    first = *first_tick(head);
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

bool Reader::Impl::is_frame(std::uint8_t tag) const {
    return has_changes && is_frame_tag(tag);
}

/// The size of the record at the front of `view`; of a frame no more than its head need be there.
Result<std::size_t> Reader::Impl::measure(ByteView view) const {
    const ByteView front = view.first(std::min(view.size(), record_head_bytes_max));
    ByteReader reader(front, window.position());
    const bool frame_tag = is_frame(reader.u8("tag"));
    const std::uint64_t length =
        reader.varint("length", frame_tag ? frame_payload_bytes_max : record_payload_bytes_max);
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
    if (size > view.size() && (size <= record_bytes_max || view.size() < record_bytes_max)) {
        return fail(cut_or_corrupt(view));
    }
    return size;
}

/// The whole next record, empty at the end of the file.
Result<ByteView> Reader::Impl::view_record() {
    const Result<ByteView> near = peek(window, record_bytes_max);
    if (near && near->empty() && packed != nullptr && packed->defect()) {
        return fail(*packed->defect());
    }
    if (!near || near->empty()) {
        return near;
    }
    if (trailer_seen) {
        return fail(Error(Errc::corrupt_record, "trailer", "bytes follow the trailer")
                        .at(window.position()));
    }
    const Result<std::size_t> size = measure(*near);
    if (!size) {
        return fail(size.error());
    }
    if (*size <= near->size()) {
        return near->first(*size);
    }
    const Result<ByteView> far = peek(window, *size);
    if (far && far->size() < *size) {
        return fail(cut_or_corrupt(*far));
    }
    return far;
}

Result<Record> Reader::Impl::read_record() {
    Record record;
    record.offset = window.position();
    const Result<ByteView> view = view_record();
    if (!view) {
        return fail(view.error());
    }
    if (view->empty()) {
        ended = true;
        state = trailer_seen ? FileState::closed : FileState::open;
        return record;
    }
    const ByteView bytes = *view;
    const ByteView checked = bytes.first(bytes.size() - record_check_bytes);
    record.tag = static_cast<std::uint8_t>(bytes[0]);
    Place actual = place;
    if (is_frame(record.tag)) {
        actual.record = frame_record_first + frames;
    }
    record.check = ByteReader(bytes.last(record_check_bytes)).u32("check");
    if (record.check != record_check(actual, checked, scratch)) {
        return fail(Error(Errc::corrupt_record, "check", "the check is wrong").at(record.offset));
    }
    record.size = bytes.size();
    ByteReader reader(checked);
    reader.u8("tag");
    record.payload = reader.bytes(reader.varint("length"), "payload");
    if (auto accepted = accept(record, bytes); !accepted) {
        return fail(accepted.error());
    }
    window.skip(bytes.size());
    good_bytes = window.position();
    ++records;
    return record;
}

Result<void> Reader::Impl::accept(Record& record, ByteView bytes) {
    if (is_frame(record.tag)) {
        record.kind = RecordKind::frame;
        return accept_frame(record);
    }
    if (!is_known_tag(record.tag, has_changes)) {
        record.kind = RecordKind::unknown;
        return accept_data(record, bytes);
    }
    switch (static_cast<RecordTag>(record.tag)) {
    case RecordTag::tick:
    case RecordTag::tick_changes:
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
    default:
        return fail(Error(Errc::corrupt_record, "tag", "0 is no tag").at(record.offset));
    }
}

Result<void> Reader::Impl::accept_frame(const Record& record) {
    if (place.record != 0) {
        return fail(
            Error(Errc::corrupt_record, "tag", "a frame stands inside a chunk").at(record.offset));
    }
    if (record.tag == static_cast<std::uint8_t>(RecordTag::packed)) {
        return fail(
            Error(Errc::corrupt_record, "tag", "a packed frame in a file that is not packed")
                .at(record.offset));
    }
    if (frames == frame_record_first - 1) {
        return fail(Error(Errc::limit_exceeded, "frames").at(record.offset));
    }
    if (static_cast<RecordTag>(record.tag) == RecordTag::loss) {
        if (auto read = accept_loss(record); !read) {
            return read;
        }
    }
    ++frames;
    frame_bytes += record.size;
    return {};
}

Result<void> Reader::Impl::accept_loss(const Record& record) {
    Result<Loss> decoded = decode_loss(record.payload);
    if (!decoded) {
        const std::uint64_t offset = decoded.error().offset.value_or(0);
        return fail(std::move(decoded.error())
                        .at(record.offset + record.size - record_check_bytes -
                            record.payload.size() + offset));
    }
    if (decoded->first != first + ticks || loss) {
        return fail(Error(Errc::corrupt_record, "loss.first", "not the tick after the last")
                        .at(record.offset));
    }
    loss = *decoded;
    return {};
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
    record.tick.section_bytes = reader.bytes(section_bytes, "tick.sections");
    record.tick.encoded = reader.bytes(reader.remaining(), "tick.frame");
    const std::uint64_t payload_offset =
        record.offset + record.size - record_check_bytes - record.payload.size();
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()).at(payload_offset));
    }
    const std::uint64_t content_offset =
        payload_offset + record.payload.size() - record.tick.encoded.size();
    const bool is_changes = static_cast<RecordTag>(record.tag) == RecordTag::tick_changes;
    if (is_changes) {
        if (auto whole = rebuild(record, content_offset); !whole) {
            return whole;
        }
    }
    if (auto decoded = decode_frame(record.tick.encoded, frame); !decoded) {
        const std::uint64_t offset = is_changes ? 0 : decoded.error().offset.value_or(0);
        return fail(as(Errc::corrupt_record, decoded.error()).at(content_offset + offset));
    }
    const Tick expected = first + ticks;
    if (frame.tick() != expected) {
        return fail(Error(Errc::corrupt_record,
                          "tick",
                          "tick " + std::to_string(frame.tick().value) + " where tick " +
                              std::to_string(expected.value) + " belongs")
                        .at(payload_offset));
    }
    if (has_changes && !is_changes && chunk_ticks > 0 && is_change(before, record.tick.encoded)) {
        return fail(Error(Errc::corrupt_record, "tag", "the tick must be written as changes")
                        .at(record.offset));
    }
    if (has_changes) {
        before.assign(record.tick.encoded.begin(), record.tick.encoded.end());
    }
    if (loss) {
        return fail(Error(Errc::corrupt_record, "tick", "a tick follows a loss").at(record.offset));
    }
    record.tick.tick = frame.tick();
    record.tick.frame = &frame;
    return {};
}

/// Puts the frame's one encoding in the place of its changes.
Result<void> Reader::Impl::rebuild(Record& record, std::uint64_t content_offset) {
    if (chunk_ticks == 0) {
        return fail(Error(Errc::corrupt_record, "tag", "a chunk cannot begin with changes")
                        .at(record.offset));
    }
    auto applied = apply_changes(before, first + ticks, record.tick.encoded, rebuilt);
    if (!applied) {
        Error error = applied.error();
        const std::uint64_t offset = content_offset + error.offset.value_or(0);
        return fail(std::move(error).at(offset));
    }
    record.tick.encoded = rebuilt;
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
    const std::uint64_t back =
        last_chunk_end == 0 ? 0 : record.offset - last_chunk_end - frame_bytes;
    const Tick next = first + ticks;
    const std::array<std::pair<const char*, bool>, 9> claims{{
        {"chunk_end.number", end.number == place.chunk},
        {"chunk_end.ticks", chunk_ticks > 0 && end.ticks == chunk_ticks},
        {"chunk_end.first", end.first.value + chunk_ticks == next.value},
        {"chunk_end.last", end.last.value + 1 == next.value},
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
    start_chunk();
    return {};
}

void Reader::Impl::start_chunk() {
    place.record = 0;
    frames = 0;
    frame_bytes = 0;
    chunk_ticks = 0;
    chunk_bytes = 0;
    begin_chunk_digest(digest, place.chunk);
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
    // Neither says that the file is at fault.
    if (error.code == Errc::io_error || error.code == Errc::unsupported_version) {
        failure = error;
        return fail(std::move(error));
    }
    if (!error.detail.empty()) {
        error.detail += "; ";
    }
    error.detail += std::to_string(ticks) + " ticks before it are good";
    state = is_cut(error) ? FileState::truncated : FileState::damaged;
    defects.push_back({error, first + ticks, place.chunk});
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
    return from_input(std::move(*input), mode, path);
}

Result<Reader> Reader::from_memory(ByteView bytes, ReadMode mode, std::string name) {
    return from_input(memory_input(bytes), mode, std::move(name));
}

Result<Reader> Reader::from_input(std::unique_ptr<Input> input, ReadMode mode, std::string name) {
    auto impl = std::make_unique<Impl>(std::move(input), mode, std::move(name));
    if (auto started = impl->start(); !started) {
        return fail(started.error());
    }
    return Reader(std::move(impl));
}

const Head& Reader::head() const {
    return impl_->head;
}

bool Reader::is_packed() const {
    return impl_->packed != nullptr;
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

std::optional<ChunkPlace> Reader::chunk_place() const {
    const Impl& impl = *impl_;
    if (impl.place.record != 0 || impl.trailer_seen || impl.failure || impl.ended) {
        return std::nullopt;
    }
    return ChunkPlace{impl.window.position(),
                      impl.place.chunk,
                      next_tick(),
                      impl.records,
                      impl.last_chunk_end,
                      impl.frame_bytes,
                      impl.frames,
                      impl.chain,
                      impl.packed != nullptr ? impl.packed->origin(impl.window.position())
                                             : PackedOrigin{}};
}

Result<void> Reader::seek(const ChunkPlace& place) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(place.tick >= impl.first);
    if (impl.failure) {
        return fail(*impl.failure);
    }
    if (impl.packed != nullptr) {
        impl.packed->set_origin(place.packed);
    }
    if (const std::error_code error = impl.window.seek(place.offset)) {
        return fail(Error(Errc::io_error, "seek", error.message()).at(place.offset).in(impl.name));
    }
    impl.place.chunk = place.chunk;
    impl.start_chunk();
    impl.frames = place.frames;
    impl.frame_bytes = place.frame_bytes;
    impl.chain = place.chain;
    impl.last_chunk_end = place.last_chunk_end;
    impl.ticks = place.tick.value - impl.first.value;
    impl.records = place.records;
    impl.good_bytes = place.offset;
    impl.loss.reset();
    impl.trailer_seen = false;
    impl.ended = false;
    impl.state = FileState::open;
    impl.defects.clear();
    return {};
}

Result<void> Reader::refresh() {
    Impl& impl = *impl_;
    if (impl.failure || impl.state == FileState::closed || impl.state == FileState::damaged) {
        return {};
    }
    if (impl.packed != nullptr) {
        impl.packed->set_origin(impl.packed->origin(impl.good_bytes));
    }
    // What was read of a record that was cut may have been cut back since.
    if (const std::error_code error = impl.window.seek(impl.good_bytes)) {
        return fail(
            Error(Errc::io_error, "seek", error.message()).at(impl.good_bytes).in(impl.name));
    }
    impl.ended = false;
    impl.state = FileState::open;
    impl.defects.clear();
    return {};
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

Tick Reader::next_tick() const {
    return impl_->first + impl_->ticks;
}

const std::optional<Loss>& Reader::loss() const {
    return impl_->loss;
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

std::uint64_t Reader::good_file_bytes() const {
    return impl_->packed != nullptr ? impl_->packed->good_file_bytes(impl_->good_bytes)
                                    : impl_->good_bytes;
}

const Hash128& Reader::chain() const {
    return impl_->chain;
}

std::uint64_t Reader::file_bytes() const {
    return impl_->window.input_size();
}

std::string verdict(const Defect& defect) {
    if (is_cut(defect.error)) {
        return defect.tick ? "truncated at tick " + std::to_string(defect.tick->value)
                           : "truncated";
    }
    return defect.chunk ? "corrupt chunk " + std::to_string(*defect.chunk) : "damaged";
}

std::string to_string(const Defect& defect) {
    return verdict(defect) + ": " + to_string(defect.error);
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
