// SPDX-License-Identifier: MIT
// Files as input.
#include "input.hpp"
#include "path.hpp"

#include "twinstep/replay/errc.hpp"

#include <cerrno>
#include <cstdio>
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

} // namespace twinstep::replay
