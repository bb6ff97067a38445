// SPDX-License-Identifier: MIT
// The frames of a packed file, one after the other, without unpacking them.
#pragma once

#include "head.hpp"
#include "input.hpp"
#include "packed_frame.hpp"

#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace twinstep::replay {

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

} // namespace twinstep::replay
