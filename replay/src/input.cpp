// SPDX-License-Identifier: MIT
// Memory as input, and the window through which any input is read.
#include "input.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>

namespace twinstep::replay {

namespace {

class MemoryInput final : public Input {
public:
    explicit MemoryInput(ByteView bytes)
        : all_(bytes)
        , rest_(bytes) {}

    std::size_t read(std::span<std::byte> target, std::error_code&) override {
        const std::size_t count = std::min(target.size(), rest_.size());
        if (count > 0) {
            std::memcpy(target.data(), rest_.data(), count);
        }
        rest_ = rest_.subspan(count);
        return count;
    }

    std::error_code seek(std::uint64_t offset) override {
        rest_ =
            all_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(offset, all_.size())));
        return {};
    }

    std::uint64_t size() const override { return all_.size(); }

    ByteView in_memory() const override { return all_; }

private:
    ByteView all_;
    ByteView rest_;
};

} // namespace

std::unique_ptr<Input> memory_input(ByteView bytes) {
    return std::make_unique<MemoryInput>(bytes);
}

Window::Window(std::unique_ptr<Input> input)
    : input_(std::move(input))
    , memory_(input_->in_memory())
    , buffer_(memory_.empty() ? 2 * record_bytes_max : 0) {}

ByteView Window::peek(std::size_t size, std::error_code& error) {
    TWINSTEP_ASSERT(size <= frame_record_bytes_max);
    if (!memory_.empty()) {
        const auto start =
            static_cast<std::size_t>(std::min<std::uint64_t>(position_, memory_.size()));
        return memory_.subspan(start, std::min(size, memory_.size() - start));
    }
    if (end_ - begin_ < size && !exhausted_) {
        // No further ahead than small records need: what was read is then looked at while it is in
        // the processor's cache. As much as is moved is read at least, so that all is linear.
        const std::size_t kept = end_ - begin_;
        const std::size_t wanted = std::max({size, 2 * kept, 2 * record_bytes_max});
        if (buffer_.size() < wanted) {
            buffer_.resize(wanted);
        }
        std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
        end_ = kept;
        begin_ = 0;
        while (end_ < wanted && !error) {
            const std::size_t count =
                input_->read(std::span(buffer_).subspan(end_, wanted - end_), error);
            end_ += count;
            if (count == 0) {
                exhausted_ = true;
                break;
            }
        }
    }
    return ByteView(buffer_).subspan(begin_, std::min(size, end_ - begin_));
}

std::error_code Window::seek(std::uint64_t position) {
    begin_ = 0;
    end_ = 0;
    exhausted_ = false;
    position_ = position;
    return input_->seek(position);
}

void Window::skip(std::size_t size) {
    position_ += size;
    if (memory_.empty()) {
        TWINSTEP_ASSERT(size <= end_ - begin_);
        begin_ += size;
    } else {
        TWINSTEP_ASSERT(position_ <= memory_.size());
    }
}

} // namespace twinstep::replay
