// SPDX-License-Identifier: MIT
// Big pieces of a file, and what was not released of them.
#include "salvage_bytes.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::replay {

namespace {

/// Large enough that a call costs nothing, small enough to stay in the processor's cache.
constexpr std::size_t salvage_piece_bytes = std::size_t{1} << 20;

} // namespace

SalvageBytes::SalvageBytes(std::unique_ptr<Input> input, std::string name)
    : input_(std::move(input))
    , name_(std::move(name))
    , size_(input_->size()) {}

Result<ByteView> SalvageBytes::view(std::uint64_t offset, std::size_t size) {
    const auto available = [&] {
        const std::uint64_t left = offset < size_ ? size_ - offset : 0;
        return static_cast<std::size_t>(std::min<std::uint64_t>(size, left));
    };
    const bool inside = offset >= start_ && offset + available() <= start_ + filled_;
    if (!inside) {
        if (offset < start_ || offset > start_ + filled_) {
            start_ = offset;
            filled_ = 0;
        }
        const std::uint64_t keep = std::clamp(released_, start_, offset);
        const auto dropped = static_cast<std::size_t>(keep - start_);
        filled_ -= dropped;
        if (filled_ > 0) {
            std::memmove(buffer_.data(), buffer_.data() + dropped, filled_);
        }
        start_ = keep;
        const std::size_t wanted = static_cast<std::size_t>(offset - start_) + available();
        if (const std::error_code error = fill(std::max(wanted, salvage_piece_bytes))) {
            return fail(Error(Errc::io_error, "read", error.message()).at(offset).in(name_));
        }
    }
    return ByteView(buffer_).subspan(static_cast<std::size_t>(offset - start_), available());
}

std::error_code SalvageBytes::fill(std::size_t wanted) {
    const std::uint64_t left = size_ > start_ ? size_ - start_ : 0;
    wanted = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, left));
    buffer_.resize(std::max(buffer_.size(), wanted));
    const std::uint64_t from = start_ + filled_;
    if (input_at_ != from) {
        if (const std::error_code error = input_->seek(from)) {
            return error;
        }
    }
    std::error_code error;
    while (filled_ < wanted && !error) {
        const std::size_t count =
            input_->read(std::span(buffer_).subspan(filled_, wanted - filled_), error);
        filled_ += count;
        if (count == 0) {
            // Somebody cut the file meanwhile.
            size_ = start_ + filled_;
            break;
        }
    }
    input_at_ = start_ + filled_;
    return error;
}

std::size_t
SalvageBytes::read(std::uint64_t offset, std::span<std::byte> target, std::error_code& error) {
    if (offset >= size_) {
        return 0;
    }
    if (input_at_ != offset) {
        error = input_->seek(offset);
    }
    const std::uint64_t left = size_ - offset;
    const std::size_t count = error
                                  ? 0
                                  : input_->read(target.first(static_cast<std::size_t>(
                                                     std::min<std::uint64_t>(target.size(), left))),
                                                 error);
    input_at_ = offset + count;
    return count;
}

std::size_t SalvageInput::read(std::span<std::byte> target, std::error_code& error) {
    const std::size_t count = bytes_.read(at_, target, error);
    at_ += count;
    return count;
}

std::error_code SalvageInput::seek(std::uint64_t offset) {
    at_ = offset;
    return {};
}

} // namespace twinstep::replay
