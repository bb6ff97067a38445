// SPDX-License-Identifier: MIT
// Another build of the command, run as a program of its own.
#pragma once

#include "twinstep/sim/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace twinstep::tools {

/// How a program ended.
struct Ended {
    int exit = 0;         ///< Its exit code, or 128 and the signal that ended it.
    bool in_time = true;  ///< False: it was ended, because its time was over.
    std::string output;   ///< What it printed, at most 16 MiB.
    std::string problems; ///< The last line on its standard error.
};

/// Whether this system can run programs for us.
#if defined(_WIN32)
inline constexpr bool runs_programs = false;
#else
inline constexpr bool runs_programs = true;
#endif

/// Runs a program to its end, without standard input. What it prints goes through files in
/// `folder`. `limit` is what it may take; then it is ended. `environment`
/// is what is different in its environment: "NAME=value" each. No shell is involved. Errors:
/// io_error if it cannot be started.
Result<Ended> run_program(const std::string& program,
                          const std::vector<std::string>& arguments,
                          const std::string& folder,
                          std::chrono::milliseconds limit,
                          const std::vector<std::string>& environment = {});

/// A directory of this run's own, which goes away with its object.
class ScratchFolder {
public:
    /// Errors: io_error.
    static Result<ScratchFolder> create();
    ScratchFolder(ScratchFolder&&) noexcept;
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder();

    const std::string& path() const { return path_; }

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    explicit ScratchFolder(std::string path)
        : path_(std::move(path)) {}

    std::string path_;
};

} // namespace twinstep::tools
