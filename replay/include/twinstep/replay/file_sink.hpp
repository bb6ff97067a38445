// SPDX-License-Identifier: MIT
// Where a writer's bytes go: the seam between a recording and the operating system.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace twinstep::replay {

/// A file that is only ever appended to. Implement it to put recordings elsewhere or to inject
/// faults. Nothing may be allocated where nothing fails.
class FileSink {
public:
    virtual ~FileSink() = default;

    /// Appends some or all of `bytes` in one system call and says how many. Zero without an error
    /// is taken as a failure. After std::errc::interrupted the caller goes on with the rest.
    virtual std::size_t write(ByteView bytes, std::error_code& error) = 0;
    /// Cuts the file to `size` bytes; the next write goes there.
    virtual std::error_code truncate(std::uint64_t size) = 0;
    /// Makes what was written survive a loss of power.
    virtual std::error_code sync() = 0;
    /// Closes the file; nothing is written afterwards.
    virtual std::error_code close() = 0;

    /// Bytes that write would take now; a sink that has no bound says SIZE_MAX.
    virtual std::size_t room() const { return SIZE_MAX; }

    /// Bytes that are free on the disk, if that can be told.
    virtual std::optional<std::uint64_t> free_bytes() { return std::nullopt; }
};

/// Creates a file that must not exist yet; others may read it while it grows. `path` is UTF-8.
/// Errors: already_exists, io_error.
Result<std::unique_ptr<FileSink>> create_file(const std::string& path);

} // namespace twinstep::replay
