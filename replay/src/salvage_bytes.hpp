// SPDX-License-Identifier: MIT
// The bytes of a file anywhere in it, read in big pieces.
#pragma once

#include "input.hpp"

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace twinstep::replay {

/// Views of an input. Reading on from view to view costs one pass; what was not released stays in
/// memory. Thread: one owner at a time.
class SalvageBytes {
public:
    SalvageBytes(std::unique_ptr<Input> input, std::string name);

    const std::string& name() const { return name_; }

    /// Size of the input when it was opened, or less if it turned out to be shorter.
    std::uint64_t size() const { return size_; }

    /// Up to `size` bytes from an offset on, fewer only at the end. Valid until the next call.
    /// Errors: io_error.
    Result<ByteView> view(std::uint64_t offset, std::size_t size);

    /// What is in front of an offset is not needed any more.
    void release(std::uint64_t offset) { released_ = offset; }

    /// Copies up to `target.size()` bytes from an offset on. Views are then no longer valid.
    std::size_t read(std::uint64_t offset, std::span<std::byte> target, std::error_code& error);

private:
    std::error_code fill(std::size_t wanted);

    std::unique_ptr<Input> input_;
    std::string name_;
    std::uint64_t size_;
    std::uint64_t input_at_ = 0;
    std::uint64_t released_ = 0;
    std::uint64_t start_ = 0; ///< Offset of the buffer's first byte.
    std::size_t filled_ = 0;
    Bytes buffer_;
};

/// The same bytes as an input of a reader. Borrows.
class SalvageInput final : public Input {
public:
    explicit SalvageInput(SalvageBytes& bytes)
        : bytes_(bytes) {}

    std::size_t read(std::span<std::byte> target, std::error_code& error) override;
    std::error_code seek(std::uint64_t offset) override;

    std::uint64_t size() const override { return bytes_.size(); }

private:
    SalvageBytes& bytes_;
    std::uint64_t at_ = 0;
};

} // namespace twinstep::replay
