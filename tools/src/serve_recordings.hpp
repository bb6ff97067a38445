// SPDX-License-Identifier: MIT
// The directory of a server's recordings: names, limits, and what an earlier process left behind.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/replay/format.hpp"
#include "twinstep/sim/result.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// Limits of a directory and of each file in it.
struct RecordingLimits {
    std::uint64_t directory_bytes_max = 0;
    std::uint64_t file_bytes_max = 0;
};

/// A recording that was created.
struct NewRecording {
    std::string path; ///< While it is written; it ends with ".part".
    replay::SessionId session{};
    std::unique_ptr<replay::FileSink> sink; ///< Refuses what would exceed a limit.
};

/// Names are made here, of the time and a random id, and of nothing that anybody sends. A file is
/// "TIME-ID.twin.part" while it is written and "TIME-ID.twin" afterwards; it is a valid recording
/// at each moment. One process at a time.
class Recordings {
public:
    /// Takes the directory, which must exist. Errors: io_error, also if another server has it.
    static Result<Recordings> open(const std::string& directory, RecordingLimits limits);
    Recordings(Recordings&&) noexcept;
    Recordings& operator=(Recordings&&) noexcept;
    ~Recordings();

    /// Creates the next file. Errors: io_error; limit_exceeded if the directory is full already.
    Result<NewRecording> create();
    /// Gives a file that is closed its final name and returns it. Errors: io_error.
    Result<std::string> finish(const std::string& part_path);
    /// Sets a file aside whose match goes on in another one. Errors: io_error.
    Result<void> set_aside(const std::string& part_path);

    /// Removes a file of this process that holds nothing worth keeping.
    void discard(const std::string& part_path);

    /// The files that an earlier process did not finish, the newest first.
    std::vector<std::string> unfinished() const;

    /// Bytes of all recordings in the directory. Thread: any.
    std::uint64_t bytes() const;

private:
    struct Impl;
    explicit Recordings(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::tools
