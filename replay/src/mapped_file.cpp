// SPDX-License-Identifier: MIT
// Mapped files: POSIX and Windows.
#include "mapped_file.hpp"

#include "path.hpp"

#include "twinstep/replay/errc.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace twinstep::replay {

namespace {

Error refused(const std::string& path, const std::error_code& code, bool exists) {
    if (exists) {
        return Error(Errc::already_exists, {}, "choose another name").in(path);
    }
    return Error(Errc::io_error, "map", code.message()).in(path);
}

#if defined(_WIN32)

/// Errors: the system's.
std::byte* map_new_file(const std::string& path, std::size_t bytes, Error& error) {
    const HANDLE file = CreateFileW(native_path(path).c_str(),
                                    GENERIC_READ | GENERIC_WRITE,
                                    FILE_SHARE_READ | FILE_SHARE_DELETE,
                                    nullptr,
                                    CREATE_NEW,
                                    FILE_ATTRIBUTE_NORMAL,
                                    nullptr);
    if (file == INVALID_HANDLE_VALUE) {
        const DWORD code = GetLastError();
        error = refused(
            path, {static_cast<int>(code), std::system_category()}, code == ERROR_FILE_EXISTS);
        return nullptr;
    }
    const std::uint64_t size = bytes;
    const HANDLE mapping = CreateFileMappingW(file,
                                              nullptr,
                                              PAGE_READWRITE,
                                              static_cast<DWORD>(size >> 32),
                                              static_cast<DWORD>(size),
                                              nullptr);
    void* view = mapping != nullptr ? MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, bytes) : nullptr;
    if (view == nullptr) {
        error = refused(path, {static_cast<int>(GetLastError()), std::system_category()}, false);
    }
    if (mapping != nullptr) {
        CloseHandle(mapping);
    }
    CloseHandle(file);
    if (view == nullptr) {
        remove_created(path);
    }
    return static_cast<std::byte*>(view);
}

void unmap(std::byte* data, std::size_t) {
    UnmapViewOfFile(data);
}

#else

std::error_code last_error_of_map() {
    return {errno, std::generic_category()};
}

/// Writing more than the process may into one file would be answered by a signal that ends it.
bool may_be_so_large(std::size_t bytes) {
    struct ::rlimit limit {};

    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= bytes;
}

/// Zeros that are written, not promised: a store into a page without room on the disk would kill
/// the process.
bool fill_with_zeros(int descriptor, std::size_t bytes) {
    const std::vector<std::byte> zeros(std::size_t{64} * 1024);
    while (bytes > 0) {
        const ::ssize_t written = ::write(descriptor, zeros.data(), std::min(bytes, zeros.size()));
        if (written > 0) {
            bytes -= static_cast<std::size_t>(written);
        } else if (written == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

std::byte* map_new_file(const std::string& path, std::size_t bytes, Error& error) {
    if (!may_be_so_large(bytes)) {
        error = refused(path, std::make_error_code(std::errc::file_too_large), false);
        return nullptr;
    }
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        error = refused(path, last_error_of_map(), errno == EEXIST);
        return nullptr;
    }
    void* data = MAP_FAILED;
    if (fill_with_zeros(descriptor, bytes)) {
        data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (data == MAP_FAILED) {
        error = refused(path, last_error_of_map(), false);
        remove_created(path);
    }
    ::close(descriptor);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

void unmap(std::byte* data, std::size_t size) {
    ::munmap(data, size);
}

#endif

} // namespace

Result<MappedFile> MappedFile::create(const std::string& path, std::size_t bytes) {
    Error error;
    std::byte* data = map_new_file(path, bytes, error);
    if (data == nullptr) {
        return fail(std::move(error));
    }
    return MappedFile(data, bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr))
    , size_(std::exchange(other.size_, 0)) {}

void MappedFile::populate() const {
#if defined(MADV_POPULATE_WRITE)
    static_cast<void>(::madvise(data_, size_, MADV_POPULATE_WRITE));
#endif
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) {
        unmap(data_, size_);
    }
}

} // namespace twinstep::replay
