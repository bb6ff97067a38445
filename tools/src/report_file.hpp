// SPDX-License-Identifier: MIT
// A report that becomes a file: whole, or not at all.
#pragma once

#include "beside.hpp"

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/sim/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// Thread: one owner at a time.
class ReportFile {
public:
    /// The path is UTF-8, of a file that must not exist.
    explicit ReportFile(std::string path);

    /// Begins it, before the work whose report it will be, so that hours of work do not end at a
    /// name that is taken. Errors: already_exists, io_error.
    Result<void> begin();

    /// Writes the text and gives the file its name. Requires begin. Errors: as begin; the file then
    /// goes away.
    Result<void> end(std::string_view text);

private:
    std::string path_;
    Beside beside_;
    std::unique_ptr<replay::FileSink> sink_;
};

} // namespace twinstep::tools
