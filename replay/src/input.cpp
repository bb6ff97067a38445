// SPDX-License-Identifier: MIT
// Files and memory as input.
#include "input.hpp"

#include "path.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace twinstep::replay {

namespace {

class FileInput final : public Input {
public:
    FileInput(std::FILE* file, std::uint64_t size)
        : file_(file)
        , size_(size) {
        // The window is the buffer.
        std::setvbuf(file_, nullptr, _IONBF, 0);
    }

    ~FileInput() override { std::fclose(file_); }

    FileInput(const FileInput&) = delete;
    FileInput& operator=(const FileInput&) = delete;

    std::size_t read(std::span<std::byte> target, std::error_code& error) override {
        errno = 0;
        const std::size_t count = std::fread(target.data(), 1, target.size(), file_);
        if (count < target.size() && std::ferror(file_) != 0) {
            error = {errno != 0 ? errno : EIO, std::generic_category()};
        }
        return count;
    }

    std::error_code seek(std::uint64_t offset) override {
        errno = 0;
#if defined(_WIN32)
        const bool done = ::_fseeki64(file_, static_cast<std::int64_t>(offset), SEEK_SET) == 0;
#else
        const bool done = ::fseeko(file_, static_cast<::off_t>(offset), SEEK_SET) == 0;
#endif
        return done ? std::error_code{}
                    : std::error_code(errno != 0 ? errno : EIO, std::generic_category());
    }

    std::uint64_t size() const override {
        return size_;
    }

private:
    std::FILE* file_;
    std::uint64_t size_;
};

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

Result<std::unique_ptr<Input>> open_plain_input(const std::string& path) {
    std::error_code status_error;
    if (std::filesystem::is_directory(native_path(path), status_error)) {
        return fail(Error(Errc::io_error, {}, "it is a directory").in(path));
    }
    errno = 0;
#if defined(_WIN32)
    std::FILE* file = ::_wfopen(native_path(path).c_str(), L"rb");
#else
    std::FILE* file = std::fopen(path.c_str(), "rb");
#endif
    if (file == nullptr) {
        const std::error_code code(errno, std::generic_category());
        return fail(Error(Errc::io_error, {}, code.message()).in(path));
    }
    const std::uintmax_t size = std::filesystem::file_size(native_path(path), status_error);
    return std::make_unique<FileInput>(file, status_error ? 0 : std::uint64_t{size});
}

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
