// SPDX-License-Identifier: MIT
// A window of fixed size over a file or over memory.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

namespace twinstep::replay {

/// Where bytes come from.
class Input {
public:
    virtual ~Input() = default;
    /// Reads up to `target.size()` bytes; zero at the end.
    virtual std::size_t read(std::span<std::byte> target, std::error_code& error) = 0;
    /// Goes to an offset; the next read starts there.
    virtual std::error_code seek(std::uint64_t offset) = 0;
    /// Size of the whole, if it can be told.
    virtual std::uint64_t size() const = 0;

    /// All of it, if it lies in memory already; else nothing.
    virtual ByteView in_memory() const { return {}; }
};

/// A file as it is. Errors: io_error.
Result<std::unique_ptr<Input>> open_plain_input(const std::string& path);
/// A recording's file, and after its end what its journal still holds of it. Errors: io_error.
Result<std::unique_ptr<Input>> open_input(const std::string& path);
std::unique_ptr<Input> memory_input(ByteView bytes);

/// The bytes from a position on, a bounded number at a time. Linear: a byte is moved at most once
/// for every byte read, and never if it lies in memory.
class Window {
public:
    explicit Window(std::unique_ptr<Input> input);

    /// Up to `size` bytes from the position on, fewer only at the end of the input. Valid until the
    /// next call. Requires size <= frame_record_bytes_max; memory grows to twice the largest size,
    /// and only while there are bytes to fill it.
    ByteView peek(std::size_t size, std::error_code& error);

    /// Goes to another position of the input.
    std::error_code seek(std::uint64_t position);

    /// Moves the position over bytes that were peeked.
    void skip(std::size_t size);

    std::uint64_t position() const { return position_; }

    std::uint64_t input_size() const { return input_->size(); }

private:
    std::unique_ptr<Input> input_;
    ByteView memory_; ///< Of the input, if it lies there; the buffer is then empty.
    Bytes buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t position_ = 0;
    bool exhausted_ = false;
};

} // namespace twinstep::replay
