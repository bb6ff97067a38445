// SPDX-License-Identifier: MIT
// Where a writer's bytes go: the seam between a recording and the operating system.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <memory>
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
};

/// Creates a file that must not exist yet; others may read it while it grows. `path` is UTF-8.
/// Errors: already_exists, io_error.
Result<std::unique_ptr<FileSink>> create_file(const std::string& path);

} // namespace twinstep::replay
