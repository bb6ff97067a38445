// SPDX-License-Identifier: MIT
// The side file; docs/recording-format.md, "Side file".
#include "keyframe_side_file.hpp"

#include "head.hpp"
#include "keyframe_codec.hpp"
#include "keyframe_part.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::array<std::uint8_t, 8> side_magic{0x89, 'T', 'W', 'K', 0x0D, 0x0A, 0x1A, 0x0A};
constexpr std::size_t side_check_offset = 56;

void encode_side_head(const SessionId& session, Bytes& target) {
    ByteWriter writer(target);
    writer.bytes(std::as_bytes(std::span(side_magic)));
    writer.u16(1);
    writer.u16(0);
    writer.u32(static_cast<std::uint32_t>(preamble_bytes));
    writer.u64(0);
    writer.u64(0);
    writer.bytes(session);
    writer.u64(0);
    writer.u64(checksum64(target));
}

Result<void> check_side_head(ByteView bytes, const SessionId& session) {
    const std::size_t compared = std::min(bytes.size(), side_magic.size());
    if (std::memcmp(bytes.data(), side_magic.data(), compared) != 0) {
        return fail(Error(Errc::not_a_recording, "magic", "not a side file of keyframes").at(0));
    }
    if (bytes.size() < preamble_bytes) {
        return fail(
            Error(Errc::truncated, "preamble", "not even the head is whole").at(bytes.size()));
    }
    ByteReader check(bytes.subspan(side_check_offset));
    if (check.u64("preamble.check") != checksum64(bytes.first(side_check_offset))) {
        return fail(Error(Errc::corrupt_head, "preamble.check", "the check is wrong")
                        .at(side_check_offset));
    }
    ByteReader major(bytes.subspan(side_magic.size()));
    if (major.u16("major") != 1) {
        return fail(Error(Errc::unsupported_version, "major", "this program reads 1")
                        .at(side_magic.size()));
    }
    ByteReader features(bytes.subspan(24));
    if (features.u32("features.incompatible") != 0) {
        return fail(Error(Errc::unsupported_version, "features.incompatible").at(24));
    }
    SessionId found;
    std::memcpy(found.data(), bytes.data() + 32, found.size());
    if (found != session) {
        return fail(Error(Errc::incompatible_simulation,
                          "session",
                          "the keyframes are of session " + to_hex(found) + ", the recording is " +
                              to_hex(session))
                        .at(32));
    }
    Bytes expected;
    encode_side_head(session, expected);
    // Version and features may grow; everything else has one value.
    constexpr std::size_t minor_offset = 10;
    constexpr std::size_t compatible_offset = 16;
    for (std::size_t i = 0; i < side_check_offset; ++i) {
        const bool free =
            (i >= minor_offset && i < minor_offset + 2) || (i >= compatible_offset && i < 24);
        if (!free && bytes[i] != expected[i]) {
            return fail(Error(Errc::corrupt_head, "preamble", "not what it must be").at(i));
        }
    }
    return {};
}

} // namespace

SideFileReader::SideFileReader(std::unique_ptr<Input> input, const SessionId& session)
    : window_(std::move(input)) {
    place_.session = session;
    place_.chunk = side_file_chunk;
}

Result<SideFileReader> SideFileReader::open(std::unique_ptr<Input> input,
                                            const SessionId& session) {
    SideFileReader reader(std::move(input), session);
    const Result<ByteView> head = peek(reader.window_, preamble_bytes);
    if (!head) {
        return fail(head.error());
    }
    if (head->empty()) {
        return fail(Error(Errc::truncated, "preamble", "the file is empty").at(0));
    }
    if (auto checked = check_side_head(*head, session); !checked) {
        return fail(checked.error());
    }
    reader.window_.skip(preamble_bytes);
    return reader;
}

Result<ByteView> SideFileReader::next() {
    const auto wrong = [this](Errc code, const char* field, const char* why) {
        return fail(Error(code, field, why).at(window_.position()));
    };
    const Result<ByteView> view = peek(window_, frame_record_bytes_max);
    if (!view || view->empty()) {
        return view;
    }
    ByteReader reader(*view);
    const std::uint8_t tag = reader.u8("tag");
    const std::uint64_t length = reader.varint("length", frame_payload_bytes_max);
    const ByteView payload = reader.bytes(length, "payload");
    const std::size_t checked_bytes = reader.offset();
    const std::uint32_t check = reader.u32("check");
    if (!reader.ok()) {
        const bool cut = reader.error().code == SimErrc::truncated;
        return wrong(cut ? Errc::truncated : Errc::corrupt_record,
                     "record",
                     cut ? "the last record is not whole" : "the length is wrong");
    }
    if (check != record_check(place_, view->first(checked_bytes), scratch_)) {
        return wrong(Errc::corrupt_record, "check", "the check is wrong");
    }
    if (tag != static_cast<std::uint8_t>(RecordTag::keyframe)) {
        return wrong(Errc::corrupt_record, "tag", "a side file holds keyframes only");
    }
    if (place_.record == UINT32_MAX) {
        return wrong(Errc::limit_exceeded, "frames", "too many");
    }
    window_.skip(reader.offset());
    ++place_.record;
    return payload;
}

Result<void> SideFileReader::go(const At& at) {
    if (const std::error_code error = window_.seek(at.offset)) {
        return fail(Error(Errc::io_error, "seek", error.message()).at(at.offset));
    }
    place_.record = at.record;
    return {};
}

// --- writing ---

struct KeyframeFileWriter::Impl {
    explicit Impl(const Options& options)
        : encoder(options) {}

    std::unique_ptr<FileSink> sink;
    KeyframeEncoder encoder;
    Place place;
    Bytes record;
    Bytes scratch;
    std::uint64_t bytes = 0;
    std::optional<Tick> last;
    std::optional<Error> error;

    Result<void> put(ByteView data);
    Result<void> write_frame(ByteView payload);
};

Result<void> KeyframeFileWriter::Impl::put(ByteView data) {
    const std::uint64_t whole = bytes + data.size();
    while (!data.empty()) {
        std::error_code failure;
        const std::size_t written = sink->write(data, failure);
        const bool interrupted = failure == std::errc::interrupted;
        if ((failure && !interrupted) || (!failure && written == 0) || written > data.size()) {
            error =
                Error(Errc::io_error, "write", failure ? failure.message() : "nothing was written")
                    .at(bytes);
            // If this fails too the file ends in a cut record, which a reader knows how to drop.
            static_cast<void>(sink->truncate(bytes));
            return fail(*error);
        }
        data = data.subspan(written);
    }
    bytes = whole;
    return {};
}

Result<void> KeyframeFileWriter::Impl::write_frame(ByteView payload) {
    record.clear();
    ByteWriter writer(record);
    writer.u8(static_cast<std::uint8_t>(RecordTag::keyframe));
    writer.varint(payload.size());
    writer.bytes(payload);
    writer.u32(record_check(place, record, scratch));
    if (auto written = put(record); !written) {
        return written;
    }
    ++place.record;
    return {};
}

std::string side_file_of(const std::string& recording) {
    constexpr std::string_view ending = ".twin";
    const bool usual = recording.size() > ending.size() && recording.ends_with(ending);
    return recording.substr(0, recording.size() - (usual ? ending.size() : 0)) + ".kf";
}

KeyframeFileWriter::KeyframeFileWriter(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

KeyframeFileWriter::KeyframeFileWriter(KeyframeFileWriter&&) noexcept = default;
KeyframeFileWriter& KeyframeFileWriter::operator=(KeyframeFileWriter&&) noexcept = default;

KeyframeFileWriter::~KeyframeFileWriter() {
    if (impl_) {
        static_cast<void>(close());
    }
}

Result<KeyframeFileWriter> KeyframeFileWriter::create(std::unique_ptr<FileSink> sink,
                                                      const SessionId& session,
                                                      const Options& options) {
    TWINSTEP_ASSERT(sink != nullptr);
    auto impl = std::make_unique<Impl>(options);
    impl->sink = std::move(sink);
    impl->place.session = session;
    impl->place.chunk = side_file_chunk;
    Bytes head;
    encode_side_head(session, head);
    if (auto written = impl->put(head); !written) {
        return fail(written.error());
    }
    return KeyframeFileWriter(std::move(impl));
}

Result<void> KeyframeFileWriter::add(Tick tick, const Hash128& state, ByteView snapshot) {
    Impl& impl = *impl_;
    TWINSTEP_ASSERT(impl.sink != nullptr);
    TWINSTEP_ASSERT(!impl.last || *impl.last < tick);
    if (impl.error) {
        return fail(*impl.error);
    }
    KeyframeInfo info;
    const Result<ByteView> stored = impl.encoder.encode(tick, state, snapshot, info);
    if (!stored) {
        return fail(stored.error());
    }
    impl.last = tick;
    return write_parts(
        info, *stored, [&impl](ByteView payload) { return impl.write_frame(payload); });
}

Result<void> KeyframeFileWriter::close() {
    Impl& impl = *impl_;
    if (!impl.sink) {
        return {};
    }
    const std::error_code synced = impl.sink->sync();
    const std::error_code closed = impl.sink->close();
    impl.sink.reset();
    if (impl.error) {
        return fail(*impl.error);
    }
    if (synced || closed) {
        return fail(
            Error(Errc::io_error, synced ? "sync" : "close", (synced ? synced : closed).message()));
    }
    return {};
}

std::uint64_t KeyframeFileWriter::bytes() const {
    return impl_->bytes;
}

} // namespace twinstep::replay
