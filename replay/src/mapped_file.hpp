// SPDX-License-Identifier: MIT
// A new file of fixed size that is written through memory.
#pragma once

#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace twinstep::replay {

/// A file in the address space. What was stored stays when the process is killed, because it lies
/// in the system's page cache. All its room is allocated first, so that no store can fail.
class MappedFile {
public:
    /// Creates a file of zeros that must not exist yet. `path` is UTF-8. Errors: already_exists,
    /// io_error (also where files cannot be mapped).
    static Result<MappedFile> create(const std::string& path, std::size_t bytes);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    /// Unmaps. The file stays.
    ~MappedFile();

    /// Asks the system to make all pages present and writable; does nothing where it cannot.
    void populate() const;

    std::span<std::byte> bytes() const { return {data_, size_}; }

private:
    MappedFile(std::byte* data, std::size_t size)
        : data_(data)
        , size_(size) {}

    std::byte* data_;
    std::size_t size_;
};

} // namespace twinstep::replay
