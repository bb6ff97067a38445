// SPDX-License-Identifier: MIT
// Collects records and writes them as packed frames.
#pragma once

#include "columns.hpp"
#include "head.hpp"
#include "packed_frame.hpp"
#include "whole_output.hpp"

#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace twinstep::replay {

/// Raw bytes at which a packed frame is written: what is left of a frame's limit is enough for
/// inputs of people, and the rare frame that does not fit is split.
inline constexpr std::uint64_t packed_raw_bytes_target = std::uint64_t{640} * 1024;

/// A record of a chunk that waits for its packed frame.
struct PendingRecord {
    std::uint8_t tag = 0;
    std::size_t begin = 0; ///< In the pool; of a tick without hash and section bytes.
    std::size_t size = 0;
    std::size_t input_bytes = 0; ///< Of a tick as columns.
    bool state_is_made = false;  ///< Of a chunk end: its state hash follows from its sections'.
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
    Packer(WholeOutput& output, const Head& head, int level)
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
    PackedFrame measure(std::size_t end, std::uint64_t& input_bytes) const;
    void leave_states_out(PackedFrame& frame);
    void forget();
    Result<bool> try_frame(std::size_t end);
    Result<void> fill(std::size_t end, PendingPlace& place, ColumnWriter* columns, RowWriter* rows);
    Result<void> store(ByteView content, PackedFrame& frame, Bytes& stored);
    Result<void> write_record(std::uint8_t tag, ByteView payload);
    std::size_t split(std::size_t end) const;

    WholeOutput& output_;
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
    Bytes section_hashes_;          ///< Of a frame whose state hashes are left out.
    std::size_t whole_records_ = 0; ///< Of the pending ones, those of whole chunks.
    PendingSize whole_size_;
    PendingSize open_size_; ///< Of the chunk that is not whole yet.
    PendingPlace written_;
    Bytes record_;
    Bytes scratch_;
    std::uint64_t packed_frames_ = 0;
    std::uint64_t stored_content_bytes_ = 0;
};

} // namespace twinstep::replay
