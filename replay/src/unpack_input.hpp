// SPDX-License-Identifier: MIT
// A packed file: its frames one after the other, and the open form that they stand for.
#pragma once

#include "columns.hpp"
#include "head.hpp"
#include "input.hpp"
#include "layout.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace twinstep::replay {

/// First in every packed frame: the bytes F6 'P' 'A' 'K'.
inline constexpr std::uint32_t packed_marker = 0x4B4150F6;
/// Most bytes of the open form that one packed frame stands for.
inline constexpr std::uint64_t packed_open_bytes_max = std::uint64_t{4} << 20;

/// How the content of a packed frame is stored.
enum class ContentCodec : std::uint8_t { stored = 0, zstd = 1 };

/// The payload of a packed frame, taken apart. Views are into the payload.
struct PackedFrame {
    ContentCodec codec = ContentCodec::zstd;
    ContentLayout layout = ContentLayout::rows;
    std::uint32_t chunks = 0;      ///< Chunk ends in it.
    std::uint64_t ticks = 0;       ///< Tick records in it.
    std::uint32_t tail = 0;        ///< Data records after its last chunk end.
    std::size_t content_bytes = 0; ///< Of the content when it is not compressed.
    ByteView hashes;               ///< Four bytes a tick.
    ByteView section_bytes;        ///< Of each tick.
    ByteView chunk_hashes;         ///< State and sections of each chunk end.
    ByteView content;
};

/// Bytes of a frame's part that is never compressed.
std::uint64_t raw_bytes(std::uint64_t ticks, std::uint64_t chunks, const GoodHead& head);

/// Appends everything of a payload that stands before the raw part.
void encode_packed_front(const PackedFrame& frame, Bytes& target);
/// Errors: corrupt_record, limit_exceeded, at an offset in the payload.
Result<PackedFrame> decode_packed(ByteView payload, const GoodHead& head);

/// Where packed frame after packed frame stands in the numbering of records.
struct PackedPosition {
    std::uint32_t chunk = 0;
    std::uint32_t tail = 0;   ///< Data records of the open chunk so far.
    std::uint32_t frames = 0; ///< Frames of other kinds since the last chunk end.
    std::uint64_t ticks = 0;  ///< Tick records so far.
    bool trailer_seen = false;

    /// Of the next record with this tag.
    Place place(const SessionId& session, std::uint8_t tag) const;
};

/// A record of a packed file whose check and place were found right.
struct PackedRecord {
    bool is_end = false; ///< There is none.
    std::uint8_t tag = 0;
    std::uint64_t offset = 0;
    ByteView payload;
    PackedFrame frame; ///< If the tag is RecordTag::packed.
};

/// Reads the records of a packed file and unpacks nothing. Memory: 2 x frame_record_bytes_max.
class PackedScanner {
public:
    /// Requires a window behind the head that it is given with.
    PackedScanner(Window window, const GoodHead& head);

    /// The next record; its views are valid until the next call. Errors: io_error, corrupt_record,
    /// limit_exceeded, truncated.
    Result<PackedRecord> next();

    std::error_code seek(std::uint64_t file_offset, const PackedPosition& position);

    const PackedPosition& position() const { return position_; }

    const GoodHead& head() const { return head_; }

    std::uint64_t file_position() const { return window_.position() + pending_; }

    std::uint64_t input_size() const { return window_.input_size(); }

private:
    Result<ByteView> view_record();
    Result<void> advance(PackedRecord& record);

    Window window_;
    GoodHead head_;
    PackedPosition position_;
    std::size_t pending_ = 0; ///< Bytes of the record that was handed out last.
    Bytes scratch_;
};

/// The open form of a packed file, without its head, record by record. After a defect it ends; the
/// owner asks for defect() then. Seeking works to offsets behind the origin that was set.
class UnpackInput final : public Input {
public:
    /// Requires a window behind the head that it is given with.
    UnpackInput(Window window, const GoodHead& head);

    std::size_t read(std::span<std::byte> target, std::error_code& error) override;
    std::error_code seek(std::uint64_t offset) override;
    std::uint64_t size() const override;

    /// Head of the open form, and its digest.
    const Head& head() const { return head_; }

    const Hash128& head_chain() const { return head_chain_; }

    /// What is wrong with the packed file, at an offset in it; io_error and unsupported_version
    /// too.
    const std::optional<Error>& defect() const { return defect_; }

    /// The last packed frame at or before an offset of the open form, of those that are not long
    /// past.
    PackedOrigin origin(std::uint64_t offset) const;

    /// Where the next seek() begins.
    void set_origin(const PackedOrigin& origin) { start_ = origin; }

private:
    void produce();
    Result<void> produce_record();
    Result<void> open_frame(const PackedRecord& record);
    Result<void> write_item();
    Result<void> write_tick(ByteView frame);
    Result<void> write_chunk_end();
    Result<void> finish_frame();
    void remember();

    PackedScanner scanner_;
    Head head_; ///< Of the open form.
    Hash128 head_chain_;
    bool with_changes_ = false;
    std::size_t section_count_ = 0;
    std::shared_ptr<Bytes> out_; ///< Records that nobody has read yet.
    std::size_t out_begin_ = 0;
    std::optional<Writer> writer_;
    std::optional<PackedRecord> open_; ///< The packed frame that is being unpacked.
    std::uint64_t open_start_ = 0;     ///< Offset of its first record in the open form.
    std::uint32_t open_chunks_ = 0;    ///< Chunk ends made of it.
    std::uint64_t open_ticks_ = 0;     ///< Ticks made of it.
    std::uint32_t open_tail_ = 0;
    Bytes content_;
    ContentReader reader_;
    Bytes before_; ///< Encoding of the tick before in the open chunk.
    std::vector<Hash128> section_hashes_;
    std::deque<PackedOrigin> origins_;
    PackedOrigin start_;
    bool ended_ = false;
    std::optional<Error> defect_;
};

} // namespace twinstep::replay
