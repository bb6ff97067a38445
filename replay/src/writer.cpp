// SPDX-License-Identifier: MIT
// The writer: one record, one write.
#include "twinstep/replay/writer.hpp"

#include "changes.hpp"
#include "layout.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/assert.hpp"

#include <utility>
#include <vector>

namespace twinstep::replay {

struct Writer::Impl {
    std::unique_ptr<FileSink> sink;
    Place place;
    Hasher digest;
    Hash128 chain;
    Bytes record;
    Bytes scratch;
    Bytes before;  ///< Encoding of the last frame of this chunk.
    Bytes changes; ///< What differs from it.
    std::size_t section_count = 0;
    bool writes_changes = false;
    bool has_section_bytes = true;
    Tick first;
    std::uint64_t ticks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t chunk_ticks = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t last_chunk_end = 0;
    std::uint64_t frame_bytes = 0; ///< Of the frames since the last chunk end.
    std::uint32_t frames = 0;
    std::uint32_t last_check = 0;
    bool ended = false;
    std::optional<Error> error;
    std::function<void(ByteView)> tap;

    ByteWriter begin(RecordTag tag, std::size_t payload_bytes) {
        return begin(static_cast<std::uint8_t>(tag), payload_bytes);
    }

    ByteWriter begin(std::uint8_t tag, std::size_t payload_bytes) {
        record.clear();
        ByteWriter writer(record);
        writer.u8(tag);
        writer.varint(payload_bytes);
        return writer;
    }

    bool fits(std::size_t payload_bytes) const {
        std::size_t length_bytes = 1;
        for (std::size_t rest = payload_bytes >> 7; rest > 0; rest >>= 7) {
            ++length_bytes;
        }
        return payload_bytes <= record_payload_bytes_max &&
               chunk_bytes + 1 + length_bytes + payload_bytes + record_check_bytes <=
                   chunk_bytes_max;
    }

    void prepare(std::unique_ptr<FileSink> target, const Head& head);
    Result<void> commit();
    Result<void> commit_data();
    Result<void> put(ByteView data);
    void stop(Error reason);
    Result<void> refuse_if_stopped() const;
    void start_chunk();
};

void Writer::Impl::prepare(std::unique_ptr<FileSink> target, const Head& head) {
    TWINSTEP_ASSERT(target != nullptr);
    sink = std::move(target);
    place.session = head.session;
    section_count = section_names(head.manifest)->size();
    writes_changes = (head.incompatible & feature::changes) != 0;
    has_section_bytes = (head.incompatible & feature::no_section_bytes) == 0;
    first = *first_tick(head);
    record.reserve(record_bytes_max);
    scratch.reserve(record_bytes_max + sizeof(Place));
}

void Writer::Impl::stop(Error reason) {
    error = std::move(reason).at(bytes);
    // If this fails too the file ends in a cut record, which a reader knows how to drop.
    static_cast<void>(sink->truncate(bytes));
}

Result<void> Writer::Impl::put(ByteView data) {
    const std::uint64_t size = data.size();
    while (!data.empty()) {
        std::error_code failure;
        const std::size_t written = sink->write(data, failure);
        const bool interrupted = failure == std::errc::interrupted;
        if ((failure && !interrupted) || (!failure && written == 0) || written > data.size()) {
            stop(Error(
                Errc::io_error, "write", failure ? failure.message() : "nothing was written"));
            return fail(*error);
        }
        data = data.subspan(written);
    }
    bytes += size;
    return {};
}

Result<void> Writer::Impl::commit() {
    last_check = record_check(place, record, scratch);
    ByteWriter(record).u32(last_check);
    return put(record);
}

/// The same for a record of a chunk.
Result<void> Writer::Impl::commit_data() {
    if (auto written = commit(); !written) {
        return written;
    }
    digest.update(record);
    if (tap) {
        tap(record);
    }
    chunk_bytes += record.size();
    ++place.record;
    return {};
}

Result<void> Writer::Impl::refuse_if_stopped() const {
    if (error) {
        return fail(Error(Errc::recorder_stopped, {}, to_string(*error)));
    }
    return {};
}

void Writer::Impl::start_chunk() {
    place.record = 0;
    chunk_ticks = 0;
    chunk_bytes = 0;
    frame_bytes = 0;
    frames = 0;
    begin_chunk_digest(digest, place.chunk);
}

Writer::Writer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Writer::~Writer() {
    if (impl_) {
        static_cast<void>(close());
    }
}

Result<Writer> Writer::create(std::unique_ptr<FileSink> sink, const Head& head) {
    if (auto checked = check_manifest(head); !checked) {
        return fail(checked.error());
    }
    Bytes manifest;
    encode_manifest(head.manifest, manifest);
    if (manifest.size() > manifest_bytes_max || head.manifest.size() > manifest_entries_max) {
        return fail(Error(Errc::limit_exceeded, "manifest", "too many or too long entries"));
    }
    Bytes encoded;
    encode_head(head, encoded);
    auto impl = std::make_unique<Impl>();
    impl->prepare(std::move(sink), head);
    impl->chain = head_digest(encoded);
    if (auto written = impl->put(encoded); !written) {
        return fail(written.error());
    }
    impl->start_chunk();
    return Writer(std::move(impl));
}

Writer Writer::resume(std::unique_ptr<FileSink> sink, const Head& head, const ChunkPlace& place) {
    auto impl = std::make_unique<Impl>();
    impl->prepare(std::move(sink), head);
    TWINSTEP_ASSERT(place.tick >= impl->first);
    impl->place.chunk = place.chunk;
    impl->start_chunk();
    impl->chain = place.chain;
    impl->ticks = place.tick.value - impl->first.value;
    impl->bytes = place.offset;
    impl->last_chunk_end = place.last_chunk_end;
    impl->frame_bytes = place.frame_bytes;
    impl->frames = place.frames;
    return Writer(std::move(impl));
}

Result<void> Writer::write_tick(std::uint32_t hash, ByteView section_bytes, ByteView frame) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(section_bytes.size() == tick_section_bytes());
    TWINSTEP_ASSERT(!impl.ended);
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    TWINSTEP_ASSERT(!impl.writes_changes || ByteReader(frame).varint("tick") == next_tick().value);
    impl.changes.clear();
    const bool changed = impl.writes_changes && impl.chunk_ticks > 0 &&
                         encode_changes(impl.before, frame, impl.changes);
    const ByteView content = changed ? ByteView(impl.changes) : frame;
    const std::size_t size = sizeof(hash) + section_bytes.size() + content.size();
    if (!impl.fits(size)) {
        return fail(Error(Errc::limit_exceeded, "frame"));
    }
    ByteWriter writer = impl.begin(changed ? RecordTag::tick_changes : RecordTag::tick, size);
    writer.u32(hash);
    writer.bytes(section_bytes);
    writer.bytes(content);
    if (auto written = impl.commit_data(); !written) {
        return written;
    }
    if (impl.writes_changes) {
        impl.before.assign(frame.begin(), frame.end());
    }
    ++impl.chunk_ticks;
    ++impl.ticks;
    return {};
}

Result<void> Writer::write_record(std::uint8_t tag, ByteView payload) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(!is_known_tag(tag, impl.writes_changes));
    TWINSTEP_ASSERT(!impl.writes_changes || !is_frame_tag(tag));
    TWINSTEP_ASSERT(!impl.ended);
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    if (!impl.fits(payload.size())) {
        return fail(Error(Errc::limit_exceeded, "payload"));
    }
    impl.begin(tag, payload.size()).bytes(payload);
    return impl.commit_data();
}

Result<void> Writer::write_frame(std::uint8_t tag, ByteView payload) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(impl.writes_changes && is_frame_tag(tag));
    TWINSTEP_ASSERT(impl.place.record == 0);
    TWINSTEP_ASSERT(!impl.ended);
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    if (payload.size() > frame_payload_bytes_max || impl.frames == frame_record_first - 1) {
        return fail(Error(Errc::limit_exceeded, "payload"));
    }
    impl.begin(tag, payload.size()).bytes(payload);
    impl.place.record = frame_record_first + impl.frames;
    const Result<void> written = impl.commit();
    impl.place.record = 0;
    if (written) {
        ++impl.frames;
        impl.frame_bytes += impl.record.size();
    }
    return written;
}

void Writer::set_tap(std::function<void(ByteView record)> tap) {
    impl_->tap = std::move(tap);
}

bool Writer::chunk_due() const {
    return impl_->chunk_ticks >= chunk_ticks_target || impl_->chunk_bytes >= chunk_bytes_target;
}

std::uint64_t Writer::chunk_ticks() const {
    return impl_->chunk_ticks;
}

std::uint64_t Writer::chunk_records() const {
    return impl_->place.record;
}

Result<void> Writer::write_chunk_end(const Hash128& state, std::span<const Hash128> sections) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(sections.size() == impl.section_count);
    TWINSTEP_ASSERT(impl.chunk_ticks > 0);
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    const std::uint64_t offset = impl.bytes;
    ChunkEnd end;
    end.number = impl.place.chunk;
    end.first = impl.first + (impl.ticks - impl.chunk_ticks);
    end.last = impl.first + (impl.ticks - 1);
    end.ticks = static_cast<std::uint32_t>(impl.chunk_ticks);
    end.records = impl.place.record;
    end.chunk_bytes = static_cast<std::uint32_t>(impl.chunk_bytes);
    end.back_offset =
        impl.last_chunk_end == 0 ? 0 : offset - impl.last_chunk_end - impl.frame_bytes;
    end.previous = impl.chain;
    end.state = state;
    end.sections = sections;
    impl.begin(RecordTag::chunk_end, chunk_end_fixed_bytes + sections.size() * sizeof(Hash128));
    const std::size_t start = impl.record.size();
    encode_chunk_end(end, impl.record);
    impl.digest.update(ByteView(impl.record).subspan(start));
    const Hash128 digest = impl.digest.finish();
    encode_hash(digest, impl.record);
    if (auto written = impl.commit(); !written) {
        return written;
    }
    if (impl.tap) {
        impl.tap(impl.record);
    }
    impl.chain = digest;
    impl.last_chunk_end = offset;
    ++impl.place.chunk;
    impl.start_chunk();
    return {};
}

Result<void> Writer::write_trailer() {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(impl.place.record == 0);
    TWINSTEP_ASSERT(!impl.ended);
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    impl.begin(RecordTag::trailer, trailer_payload_bytes);
    encode_trailer({impl.last_chunk_end, impl.ticks, impl.place.chunk, impl.chain}, impl.record);
    if (auto written = impl.commit(); !written) {
        return written;
    }
    impl.ended = true;
    return {};
}

bool Writer::has_room(std::size_t bytes) const {
    return impl_->sink && impl_->sink->room() >= bytes;
}

Result<void> Writer::sync() {
    Impl& impl = *impl_;
    if (auto running = impl.refuse_if_stopped(); !running) {
        return running;
    }
    if (const std::error_code failure = impl.sink->sync()) {
        impl.error = Error(Errc::io_error, "sync", failure.message());
        return fail(*impl.error);
    }
    return {};
}

Result<void> Writer::close() {
    Impl& impl = *impl_;
    if (!impl.sink) {
        return {};
    }
    const std::error_code synced = impl.sink->sync();
    const std::error_code closed = impl.sink->close();
    impl.sink.reset();
    if ((synced || closed) && !impl.error) {
        impl.error =
            Error(Errc::io_error, synced ? "sync" : "close", (synced ? synced : closed).message());
        return fail(*impl.error);
    }
    return {};
}

const std::optional<Error>& Writer::error() const {
    return impl_->error;
}

ChunkPlace Writer::chunk_place() const {
    const Impl& impl = *impl_;
    TWINSTEP_ASSERT(impl.place.record == 0);
    ChunkPlace place;
    place.offset = impl.bytes;
    place.chunk = impl.place.chunk;
    place.tick = next_tick();
    place.last_chunk_end = impl.last_chunk_end;
    place.frame_bytes = impl.frame_bytes;
    place.frames = impl.frames;
    place.chain = impl.chain;
    return place;
}

std::uint64_t Writer::ticks() const {
    return impl_->ticks;
}

Tick Writer::next_tick() const {
    return impl_->first + impl_->ticks;
}

std::size_t Writer::tick_section_bytes() const {
    return impl_->has_section_bytes ? impl_->section_count : 0;
}

std::uint64_t Writer::bytes() const {
    return impl_->bytes;
}

std::size_t Writer::section_count() const {
    return impl_->section_count;
}

const Hash128& Writer::chain() const {
    return impl_->chain;
}

std::uint32_t Writer::last_check() const {
    return impl_->last_check;
}

std::uint64_t Writer::chunks() const {
    return impl_->place.chunk;
}

} // namespace twinstep::replay
