// SPDX-License-Identifier: MIT
// The file behind a recording: POSIX and Windows.
#include "twinstep/replay/file_sink.hpp"

#include "path.hpp"

#include "twinstep/replay/errc.hpp"

#include <cerrno>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <algorithm>
#include <windows.h>
#else
#include <algorithm>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#endif

namespace twinstep::replay {

namespace {

#if defined(_WIN32)

std::error_code last_error() {
    return {static_cast<int>(GetLastError()), std::system_category()};
}

class SystemFile final : public FileSink {
public:
    SystemFile(HANDLE handle, std::filesystem::path folder)
        : handle_(handle)
        , folder_(std::move(folder)) {}

    ~SystemFile() override { close(); }

    std::size_t write(ByteView bytes, std::error_code& error) override {
        constexpr std::size_t write_bytes_max = std::size_t{1} << 30;
        DWORD written = 0;
        const auto size = static_cast<DWORD>(std::min(bytes.size(), write_bytes_max));
        if (WriteFile(handle_, bytes.data(), size, &written, nullptr) == 0) {
            error = last_error();
        }
        return written;
    }

    std::error_code truncate(std::uint64_t size) override {
        LARGE_INTEGER position;
        position.QuadPart = static_cast<LONGLONG>(size);
        const bool done = SetFilePointerEx(handle_, position, nullptr, FILE_BEGIN) != 0 &&
                          SetEndOfFile(handle_) != 0;
        return done ? std::error_code{} : last_error();
    }

    std::error_code sync() override {
        return FlushFileBuffers(handle_) != 0 ? std::error_code{} : last_error();
    }

    std::error_code close() override {
        const HANDLE handle = handle_;
        handle_ = INVALID_HANDLE_VALUE;
        if (handle == INVALID_HANDLE_VALUE || CloseHandle(handle) != 0) {
            return {};
        }
        return last_error();
    }

    std::optional<std::uint64_t> free_bytes() override {
        ULARGE_INTEGER free;
        const bool told = GetDiskFreeSpaceExW(folder_.c_str(), &free, nullptr, nullptr) != 0;
        return told ? std::optional<std::uint64_t>(free.QuadPart) : std::nullopt;
    }

private:
    HANDLE handle_;
    std::filesystem::path folder_;
};

#else

std::error_code last_error() {
    return {errno, std::generic_category()};
}

class SystemFile final : public FileSink {
public:
    explicit SystemFile(int descriptor)
        : descriptor_(descriptor) {
        struct ::rlimit limit {};

        if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            bytes_max_ = limit.rlim_cur;
        }
    }

    ~SystemFile() override { close(); }

    std::size_t write(ByteView bytes, std::error_code& error) override {
        // A write beyond the process's limit would be answered by a signal that ends the game.
        const std::uint64_t room = bytes_max_ - std::min(bytes_, bytes_max_);
        if (room == 0 && !bytes.empty()) {
            error = std::make_error_code(std::errc::file_too_large);
            return 0;
        }
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), room));
        const ::ssize_t written = ::write(descriptor_, bytes.data(), size);
        if (written < 0) {
            error = last_error();
            return 0;
        }
        bytes_ += static_cast<std::uint64_t>(written);
        return static_cast<std::size_t>(written);
    }

    std::error_code truncate(std::uint64_t size) override {
        const auto offset = static_cast<::off_t>(size);
        const bool done =
            ::ftruncate(descriptor_, offset) == 0 && ::lseek(descriptor_, offset, SEEK_SET) >= 0;
        if (!done) {
            return last_error();
        }
        bytes_ = size;
        return {};
    }

    std::error_code sync() override {
#if defined(__APPLE__)
        const int result = ::fsync(descriptor_);
#else
        const int result = ::fdatasync(descriptor_);
#endif
        // Pipes and some devices cannot be synchronised; what was asked for does not apply to them.
        const bool done = result == 0 || errno == EINVAL || errno == ENOTSUP;
        return done ? std::error_code{} : last_error();
    }

    std::error_code close() override {
        const int descriptor = descriptor_;
        descriptor_ = -1;
        if (descriptor >= 0 && is_removed(descriptor)) {
            ::close(descriptor);
            return std::make_error_code(std::errc::no_such_file_or_directory);
        }
        // After EINTR the descriptor is gone on Linux; closing again could hit somebody else's.
        if (descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR) {
            return {};
        }
        return last_error();
    }

    std::optional<std::uint64_t> free_bytes() override {
        struct ::statvfs status {};

        if (::fstatvfs(descriptor_, &status) != 0) {
            return std::nullopt;
        }
        return std::uint64_t{status.f_bavail} * status.f_frsize;
    }

private:
    /// Nobody will ever read a file that has no name any more; whoever wrote it has to hear of it.
    static bool is_removed(int descriptor) {
        struct ::stat status {};

        return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
    }

    int descriptor_;
    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_max_ = UINT64_MAX; ///< What the process may write into one file.
};

#endif

} // namespace

Result<std::unique_ptr<FileSink>> create_file(const std::string& path) {
#if defined(_WIN32)
    const HANDLE handle = CreateFileW(native_path(path).c_str(),
                                      GENERIC_WRITE,
                                      FILE_SHARE_READ,
                                      nullptr,
                                      CREATE_NEW,
                                      FILE_ATTRIBUTE_NORMAL,
                                      nullptr);
    if (handle != INVALID_HANDLE_VALUE) {
        const std::filesystem::path folder =
            std::filesystem::absolute(native_path(path)).parent_path();
        return std::make_unique<SystemFile>(handle, folder);
    }
    const bool exists = GetLastError() == ERROR_FILE_EXISTS;
#else
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0) {
        return std::make_unique<SystemFile>(descriptor);
    }
    const bool exists = errno == EEXIST;
#endif
    const std::string reason = last_error().message();
    if (exists) {
        return fail(Error(Errc::already_exists, {}, "choose another name").in(path));
    }
    return fail(Error(Errc::io_error, {}, reason).in(path));
}

} // namespace twinstep::replay
