// SPDX-License-Identifier: MIT
// Packed frames back into records; docs/recording-format.md, "Packed chunks".
#include "unpack_input.hpp"

#include "compression.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr auto packed_tag = static_cast<std::uint8_t>(RecordTag::packed);
constexpr auto trailer_tag = static_cast<std::uint8_t>(RecordTag::trailer);

Error bad_packed(const char* field, const char* why) {
    return Error(Errc::corrupt_record, field, why);
}

/// Receives what a Writer writes and keeps it until it is read.
class RecordBuffer final : public FileSink {
public:
    explicit RecordBuffer(std::shared_ptr<Bytes> target)
        : target_(std::move(target)) {}

    std::size_t write(ByteView bytes, std::error_code&) override {
        ByteWriter(*target_).bytes(bytes);
        return bytes.size();
    }

    std::error_code truncate(std::uint64_t) override { return {}; }

    std::error_code sync() override { return {}; }

    std::error_code close() override { return {}; }

private:
    std::shared_ptr<Bytes> target_;
};

/// True if the rest of a file holds what shows that a length is wrong and the file is not cut.
bool has_later_frame(ByteView rest) {
    constexpr std::size_t front_bytes_max = 12; // of the record that is cut
    constexpr std::size_t end_bytes = end_magic.size() + record_check_bytes;
    const ByteView tail = rest.last(std::min(rest.size(), end_bytes));
    const bool ends =
        tail.size() == end_bytes &&
        std::equal(end_magic.begin(), end_magic.end(), tail.begin(), [](auto a, auto b) {
            return a == static_cast<std::uint8_t>(b);
        });
    Bytes marker;
    ByteWriter(marker).u32(packed_marker);
    const ByteView after = rest.subspan(std::min(rest.size(), front_bytes_max));
    return ends ||
           std::search(after.begin(), after.end(), marker.begin(), marker.end()) != after.end();
}

Head open_head(const Head& packed) {
    Head head = packed;
    head.incompatible &= ~feature::packed;
    return head;
}

} // namespace

// --- the payload ---

std::uint64_t raw_bytes(std::uint64_t ticks, std::uint64_t chunks, const GoodHead& head) {
    const bool with_sections = (head.head.incompatible & feature::no_section_bytes) == 0;
    const std::uint64_t sections = head.sections.size();
    return ticks * (sizeof(std::uint32_t) + (with_sections ? sections : 0)) +
           chunks * sizeof(Hash128) * (1 + sections);
}

void encode_packed_front(const PackedFrame& frame, Bytes& target) {
    ByteWriter writer(target);
    writer.u32(packed_marker);
    writer.u8(static_cast<std::uint8_t>(frame.codec));
    writer.u8(static_cast<std::uint8_t>(frame.layout));
    writer.varint(frame.chunks);
    writer.varint(frame.ticks);
    writer.varint(frame.tail);
    writer.varint(frame.content_bytes);
}

Result<PackedFrame> decode_packed(ByteView payload, const GoodHead& head) {
    ByteReader reader(payload);
    PackedFrame frame;
    const std::uint32_t marker = reader.u32("packed.marker");
    const std::uint8_t codec = reader.u8("packed.codec");
    const std::uint8_t layout = reader.u8("packed.layout");
    // Every tick and chunk has bytes that are not compressed, every other record bytes that are.
    frame.chunks = static_cast<std::uint32_t>(reader.varint("packed.chunks", payload.size()));
    frame.ticks = reader.varint("packed.ticks", payload.size());
    frame.tail = static_cast<std::uint32_t>(reader.varint("packed.tail", packed_open_bytes_max));
    frame.content_bytes = static_cast<std::size_t>(reader.varint("packed.size", content_bytes_max));
    const bool with_sections = (head.head.incompatible & feature::no_section_bytes) == 0;
    frame.hashes = reader.bytes(frame.ticks * sizeof(std::uint32_t), "packed.hashes");
    frame.section_bytes =
        reader.bytes(with_sections ? frame.ticks * head.sections.size() : 0, "packed.sections");
    frame.chunk_hashes = reader.bytes(
        frame.chunks * sizeof(Hash128) * std::uint64_t{1 + head.sections.size()}, "packed.states");
    frame.content = reader.bytes(reader.remaining(), "packed.content");
    if (!reader.ok()) {
        const bool too_much = reader.error().code == SimErrc::limit_exceeded;
        return fail(as(too_much ? Errc::limit_exceeded : Errc::corrupt_record, reader.error()));
    }
    const bool known_codec = codec <= static_cast<std::uint8_t>(ContentCodec::zstd);
    const bool known_layout = layout <= static_cast<std::uint8_t>(ContentLayout::columns);
    if (marker != packed_marker || !known_codec || !known_layout) {
        return fail(bad_packed("packed.marker", "marker, codec or layout mean nothing").at(0));
    }
    frame.codec = static_cast<ContentCodec>(codec);
    frame.layout = static_cast<ContentLayout>(layout);
    if (frame.chunks == 0 && frame.tail == 0) {
        return fail(bad_packed("packed.tail", "nothing is in it").at(0));
    }
    if (frame.codec == ContentCodec::stored && frame.content.size() != frame.content_bytes) {
        return fail(bad_packed("packed.size", "not the bytes that are there").at(0));
    }
    return frame;
}

// --- PackedScanner ---

Place PackedPosition::place(const SessionId& session, std::uint8_t tag) const {
    if (tag == packed_tag) {
        // From the other end, so that they never meet the numbers of other frames.
        return {session, chunk, UINT32_MAX - tail};
    }
    return {session, chunk, is_frame_tag(tag) ? frame_record_first + frames : 0};
}

PackedScanner::PackedScanner(Window window, const GoodHead& head)
    : window_(std::move(window))
    , head_(head) {}

std::error_code PackedScanner::seek(std::uint64_t file_offset, const PackedPosition& position) {
    pending_ = 0;
    position_ = position;
    return window_.seek(file_offset);
}

Result<ByteView> PackedScanner::view_record() {
    constexpr std::size_t front_bytes_max = 4; // a tag and a length of up to 1 MiB
    const Result<ByteView> front = peek(window_, front_bytes_max);
    if (!front || front->empty()) {
        return front;
    }
    const auto cut = [this](ByteView rest) {
        const std::uint64_t offset = window_.position();
        if (has_later_frame(rest)) {
            return fail(bad_packed("length", "the length is wrong").at(offset));
        }
        return fail(Error(Errc::truncated, "record", "the last record is not whole").at(offset));
    };
    ByteReader reader(*front, window_.position());
    const bool is_frame = is_frame_tag(reader.u8("tag"));
    const std::uint64_t length =
        reader.varint("length", is_frame ? frame_payload_bytes_max : record_payload_bytes_max);
    if (!reader.ok()) {
        const Error error = reader.error();
        if (error.code == SimErrc::truncated && front->size() < front_bytes_max) {
            return cut(*front);
        }
        const bool too_long = error.code == SimErrc::limit_exceeded;
        return fail(as(too_long ? Errc::limit_exceeded : Errc::corrupt_record, error));
    }
    const std::size_t size =
        reader.offset() + static_cast<std::size_t>(length) + record_check_bytes;
    const Result<ByteView> whole = peek(window_, size);
    if (whole && whole->size() < size) {
        return cut(*whole);
    }
    return whole;
}

Result<PackedRecord> PackedScanner::next() {
    window_.skip(std::exchange(pending_, 0));
    PackedRecord record;
    record.offset = window_.position();
    const Result<ByteView> view = view_record();
    if (!view) {
        return fail(view.error());
    }
    record.is_end = view->empty();
    if (record.is_end) {
        return record;
    }
    const ByteView checked = view->first(view->size() - record_check_bytes);
    record.tag = static_cast<std::uint8_t>(checked[0]);
    const std::uint32_t check = ByteReader(view->last(record_check_bytes)).u32("check");
    const Place place = position_.place(head_.head.session, record.tag);
    if (position_.trailer_seen) {
        return fail(bad_packed("trailer", "bytes follow the trailer").at(record.offset));
    }
    if (check != record_check(place, checked, scratch_)) {
        return fail(bad_packed("check", "the check is wrong").at(record.offset));
    }
    ByteReader reader(checked);
    reader.u8("tag");
    record.payload = reader.bytes(reader.varint("length"), "payload");
    if (auto advanced = advance(record); !advanced) {
        Error error = advanced.error();
        const std::uint64_t offset =
            record.offset + checked.size() - record.payload.size() + error.offset.value_or(0);
        return fail(std::move(error).at(offset));
    }
    pending_ = view->size();
    return record;
}

/// Finds a record's place right and goes on to the next one's.
Result<void> PackedScanner::advance(PackedRecord& record) {
    PackedPosition& now = position_;
    if (record.tag == packed_tag) {
        Result<PackedFrame> decoded = decode_packed(record.payload, head_);
        if (!decoded) {
            return fail(decoded.error());
        }
        record.frame = *decoded;
        if (record.frame.chunks > UINT32_MAX - now.chunk ||
            record.frame.tail > frame_record_first / 2 - now.tail) {
            return fail(Error(Errc::limit_exceeded, "packed.chunks"));
        }
        const bool ends_chunk = record.frame.chunks > 0;
        now.chunk += record.frame.chunks;
        now.tail = (ends_chunk ? 0 : now.tail) + record.frame.tail;
        now.frames = ends_chunk ? 0 : now.frames;
        now.ticks += record.frame.ticks;
        return {};
    }
    const bool with_changes = (head_.head.incompatible & feature::changes) != 0;
    const bool is_frame = with_changes && is_frame_tag(record.tag);
    if ((!is_frame && record.tag != trailer_tag) || now.tail != 0) {
        return fail(bad_packed("tag", "this record cannot stand here"));
    }
    if (is_frame) {
        // As many as fit between the numbers of frames and those of packed frames.
        if (now.frames == frame_record_first / 2) {
            return fail(Error(Errc::limit_exceeded, "frames"));
        }
        ++now.frames;
        return {};
    }
    const Result<Trailer> trailer = decode_trailer(record.payload);
    if (!trailer) {
        return fail(trailer.error());
    }
    if (trailer->ticks != now.ticks || trailer->chunks != now.chunk) {
        return fail(Error(Errc::corrupt_chunk, "trailer", "the file is not what its trailer says"));
    }
    now.trailer_seen = true;
    return {};
}

// --- UnpackInput ---

UnpackInput::UnpackInput(Window window, const GoodHead& head)
    : scanner_(std::move(window), head)
    , head_(open_head(head.head))
    , with_changes_((head.head.incompatible & feature::changes) != 0)
    , section_count_(head.sections.size())
    , out_(std::make_shared<Bytes>()) {
    Bytes encoded;
    encode_head(head_, encoded);
    head_chain_ = head_digest(encoded);
    // One bit differs, so both heads have the same size.
    start_.file_offset = encoded.size();
    start_.offset = encoded.size();
    start_.tick = *first_tick(head_);
    start_.chain = head_chain_;
}

std::uint64_t UnpackInput::size() const {
    return scanner_.input_size();
}

std::size_t UnpackInput::read(std::span<std::byte> target, std::error_code&) {
    std::size_t count = 0;
    while (count < target.size()) {
        if (out_begin_ == out_->size()) {
            out_->clear();
            out_begin_ = 0;
            if (ended_ || defect_) {
                break;
            }
            produce();
            continue;
        }
        const std::size_t piece = std::min(target.size() - count, out_->size() - out_begin_);
        std::copy_n(out_->data() + out_begin_, piece, target.data() + count);
        out_begin_ += piece;
        count += piece;
    }
    return count;
}

std::error_code UnpackInput::seek(std::uint64_t offset) {
    out_->clear();
    out_begin_ = 0;
    open_.reset();
    origins_.clear();
    before_.clear();
    ended_ = false;
    defect_.reset();
    ChunkPlace place;
    place.offset = start_.offset;
    place.chunk = start_.chunk;
    place.tick = start_.tick;
    place.last_chunk_end = start_.last_chunk_end;
    place.frame_bytes = start_.frame_bytes;
    place.frames = start_.frames;
    place.chain = start_.chain;
    writer_.emplace(Writer::resume(std::make_unique<RecordBuffer>(out_), head_, place));
    PackedPosition position;
    position.chunk = start_.chunk;
    position.frames = start_.frames;
    position.ticks = start_.tick.value - first_tick(head_)->value;
    if (const std::error_code error = scanner_.seek(start_.file_offset, position)) {
        return error;
    }
    while (writer_->bytes() < offset && !ended_ && !defect_) {
        out_->clear();
        produce();
    }
    out_begin_ =
        out_->size() - static_cast<std::size_t>(std::min<std::uint64_t>(
                           out_->size(), writer_->bytes() - std::min(offset, writer_->bytes())));
    return {};
}

PackedOrigin UnpackInput::origin(std::uint64_t offset) const {
    PackedOrigin found = start_;
    for (const PackedOrigin& origin : origins_) {
        if (origin.offset <= offset) {
            found = origin;
        }
    }
    return found;
}

void UnpackInput::remember() {
    // A reader's window holds no more than this, so it has left what ends before.
    constexpr std::uint64_t window_bytes_max = 2 * std::uint64_t{frame_record_bytes_max};
    const ChunkPlace place = writer_->chunk_place();
    while (origins_.size() > 1 && origins_[1].offset + window_bytes_max <= place.offset) {
        origins_.pop_front();
    }
    origins_.push_back({open_->offset,
                        place.offset,
                        place.chunk,
                        place.tick,
                        place.last_chunk_end,
                        place.frame_bytes,
                        place.frames,
                        place.chain});
}

/// Appends a record to out_, or notes the end or a defect.
void UnpackInput::produce() {
    const std::size_t good = out_->size();
    const std::uint64_t offset = open_ ? open_->offset : scanner_.file_position();
    Result<void> produced = open_ ? write_item() : produce_record();
    if (!produced) {
        out_->resize(good);
        Error error = std::move(produced.error());
        if (open_ || !error.offset) {
            error.offset = offset;
        }
        defect_ = std::move(error);
    }
}

Result<void> UnpackInput::produce_record() {
    const Result<PackedRecord> record = scanner_.next();
    if (!record) {
        return fail(record.error());
    }
    if (record->is_end) {
        ended_ = true;
        return {};
    }
    if (record->tag == packed_tag) {
        return open_frame(*record);
    }
    if (record->tag != trailer_tag) {
        return writer_->write_frame(record->tag, record->payload);
    }
    if (auto written = writer_->write_trailer(); !written) {
        return written;
    }
    const ByteView made = ByteView(*out_)
                              .last(record_check_bytes + trailer_payload_bytes)
                              .first(trailer_payload_bytes);
    if (!std::equal(made.begin(), made.end(), record->payload.begin(), record->payload.end())) {
        return fail(Error(Errc::corrupt_chunk, "trailer", "the file is not what its trailer says")
                        .at(record->offset));
    }
    return {};
}

Result<void> UnpackInput::open_frame(const PackedRecord& record) {
    open_ = record;
    open_start_ = writer_->bytes();
    open_chunks_ = 0;
    open_ticks_ = 0;
    open_tail_ = 0;
    const PackedFrame& frame = record.frame;
    ByteView content = frame.content;
    if (frame.codec == ContentCodec::zstd) {
        const Expansion expansion{frame.content_bytes, content_bytes_max, record.payload.size()};
        if (auto done = decompress(frame.content, expansion, content_); !done) {
            return done;
        }
        content = content_;
    }
    if (writer_->chunk_records() == 0) {
        remember();
    }
    return reader_.open(
        content, {frame.layout, with_changes_, frame.chunks, frame.ticks, writer_->next_tick()});
}

Result<void> UnpackInput::write_item() {
    const Result<ContentItem> item = reader_.next(before_);
    if (!item) {
        return fail(item.error());
    }
    Result<void> written;
    switch (item->kind) {
    case ContentKind::end:
        return finish_frame();
    case ContentKind::tick:
        written = write_tick(item->bytes);
        break;
    case ContentKind::chunk_end:
        written = write_chunk_end();
        break;
    case ContentKind::record:
        if (is_known_tag(item->tag, with_changes_) || (with_changes_ && is_frame_tag(item->tag))) {
            return fail(bad_packed("packed.tag", "no data of a chunk has this tag"));
        }
        written = writer_->write_record(item->tag, item->bytes);
        ++open_tail_;
        break;
    }
    if (written && writer_->bytes() - open_start_ > packed_open_bytes_max) {
        return fail(Error(Errc::limit_exceeded, "packed.content"));
    }
    return written;
}

Result<void> UnpackInput::write_tick(ByteView frame) {
    const PackedFrame& open = open_->frame;
    if (open_ticks_ == open.ticks) {
        return fail(bad_packed("packed.ticks", "more ticks than are declared"));
    }
    const std::size_t sections = writer_->tick_section_bytes();
    const auto tick = static_cast<std::size_t>(open_ticks_);
    const std::uint32_t hash =
        ByteReader(open.hashes.subspan(tick * sizeof(std::uint32_t))).u32("packed.hashes");
    const ByteView section_bytes = open.section_bytes.subspan(tick * sections, sections);
    if (auto written = writer_->write_tick(hash, section_bytes, frame); !written) {
        return written;
    }
    before_.assign(frame.begin(), frame.end());
    ++open_ticks_;
    ++open_tail_;
    return {};
}

Result<void> UnpackInput::write_chunk_end() {
    if (open_chunks_ == open_->frame.chunks || writer_->chunk_ticks() == 0) {
        return fail(bad_packed("packed.chunks", "a chunk end that cannot be"));
    }
    const std::size_t bytes = sizeof(Hash128) * (1 + section_count_);
    ByteReader reader(open_->frame.chunk_hashes.subspan(open_chunks_ * bytes, bytes));
    const auto read_hash_of = [&reader] {
        const std::uint64_t low = reader.u64("packed.states");
        const std::uint64_t high = reader.u64("packed.states");
        return Hash128{low, high};
    };
    const Hash128 state = read_hash_of();
    section_hashes_.clear();
    for (std::size_t i = 0; i < section_count_; ++i) {
        section_hashes_.push_back(read_hash_of());
    }
    ++open_chunks_;
    open_tail_ = 0;
    before_.clear();
    return writer_->write_chunk_end(state, section_hashes_);
}

Result<void> UnpackInput::finish_frame() {
    const PackedFrame& frame = open_->frame;
    if (open_chunks_ != frame.chunks || open_ticks_ != frame.ticks || open_tail_ != frame.tail) {
        return fail(bad_packed("packed.ticks", "not the records that are declared"));
    }
    open_.reset();
    return {};
}

} // namespace twinstep::replay
