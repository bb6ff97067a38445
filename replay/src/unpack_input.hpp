// SPDX-License-Identifier: MIT
// The open form that a packed file stands for, as something to read from.
#pragma once

#include "columns.hpp"
#include "input.hpp"
#include "packed_scanner.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace twinstep::replay {

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

    /// Bytes of the packed file up to the last frame that was read whole, for a reader that has
    /// used all before `offset` of the open form; up to the frame's origin if it has not used all.
    std::uint64_t good_file_bytes(std::uint64_t offset) const;

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
    std::uint64_t defect_start_ = 0; ///< Of the record of the packed file that has the defect.
};

} // namespace twinstep::replay
