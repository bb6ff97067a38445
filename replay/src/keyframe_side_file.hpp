// SPDX-License-Identifier: MIT
// The side file: its head and its frames, read one by one.
#pragma once

#include "input.hpp"
#include "layout.hpp"

#include <cstdint>
#include <memory>

namespace twinstep::replay {

/// Frames of a side file say in their check that they are in chunk 2^32 - 1, which no recording
/// has.
inline constexpr std::uint32_t side_file_chunk = 0xFFFFFFFF;

/// Reads a side file forward. Thread: one owner at a time.
class SideFileReader {
public:
    /// Where a frame begins.
    struct At {
        std::uint64_t offset = 0;
        std::uint32_t record = 0;
    };

    /// Reads the head. Errors: not_a_recording, truncated, corrupt_head, unsupported_version,
    /// incompatible_simulation (another session's), io_error.
    static Result<SideFileReader> open(std::unique_ptr<Input> input, const SessionId& session);

    /// Payload of the next frame, valid until the next call; empty at the end. Errors: truncated,
    /// corrupt_record, limit_exceeded, io_error.
    Result<ByteView> next();

    At at() const { return {window_.position(), place_.record}; }

    /// Goes to where at() was. Errors: io_error.
    Result<void> go(const At& at);

private:
    SideFileReader(std::unique_ptr<Input> input, const SessionId& session);

    Window window_;
    Place place_;
    Bytes scratch_;
};

} // namespace twinstep::replay
