// SPDX-License-Identifier: MIT
// Reports are written beside their name first: half a report must not be joined with others.
#include "report_file.hpp"

#include "twinstep/replay/errc.hpp"

#include <span>
#include <system_error>
#include <utility>

namespace twinstep::tools {

ReportFile::ReportFile(std::string path)
    : path_(std::move(path))
    , beside_(path_) {}

Result<void> ReportFile::begin() {
    auto sink = beside_.create();
    if (!sink) {
        return fail(sink.error());
    }
    sink_ = std::move(*sink);
    return {};
}

Result<void> ReportFile::end(std::string_view text) {
    ByteView rest = std::as_bytes(std::span(text));
    std::error_code error;
    while (!rest.empty() && (!error || error == std::errc::interrupted)) {
        error.clear();
        const std::size_t written = sink_->write(rest, error);
        if (written == 0 && !error) {
            error = std::make_error_code(std::errc::io_error);
        }
        rest = rest.subspan(written);
    }
    const std::error_code closed = sink_->close();
    if (!rest.empty() || closed) {
        const std::error_code reason = rest.empty() ? closed : error;
        return fail(Error(replay::Errc::io_error, {}, reason.message()).in(path_));
    }
    return beside_.rename();
}

} // namespace twinstep::tools
