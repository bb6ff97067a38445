// SPDX-License-Identifier: MIT
// Packed frames back into records; docs/recording-format.md, "Packed chunks".
#include "unpack_input.hpp"

#include "compression.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/hash.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

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

Head open_head(const Head& packed) {
    Head head = packed;
    head.incompatible &= ~feature::packed;
    return head;
}

} // namespace

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

std::uint64_t UnpackInput::good_file_bytes(std::uint64_t offset) const {
    if (offset < writer_->bytes()) {
        return origin(offset).file_offset;
    }
    if (defect_) {
        return defect_start_;
    }
    return open_ ? open_->offset : scanner_.file_position();
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
        defect_start_ = offset;
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
    const PackedFrame& open = open_->frame;
    const std::size_t bytes = open.chunk_hashes.size() / open.chunks;
    ByteReader reader(open.chunk_hashes.subspan(open_chunks_ * bytes, bytes));
    const auto read_hash = [&reader] {
        const std::uint64_t low = reader.u64("packed.states");
        const std::uint64_t high = reader.u64("packed.states");
        return Hash128{low, high};
    };
    Hash128 state = open.states_left_out ? Hash128{} : read_hash();
    section_hashes_.clear();
    for (std::size_t i = 0; i < section_count_; ++i) {
        section_hashes_.push_back(read_hash());
    }
    if (open.states_left_out) {
        state = state_of_sections(writer_->next_tick(), section_hashes_);
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
