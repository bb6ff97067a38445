// SPDX-License-Identifier: MIT
// Short writes and interruptions; everything else ends it.
#include "whole_output.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/assert.hpp"

#include <system_error>
#include <utility>

namespace twinstep::replay {

WholeOutput::WholeOutput(std::unique_ptr<FileSink> sink)
    : sink_(std::move(sink)) {
    TWINSTEP_ASSERT(sink_ != nullptr);
}

Result<void> WholeOutput::write(ByteView bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
        std::error_code error;
        const std::size_t count = sink_->write(bytes, error);
        const bool interrupted = error == std::errc::interrupted;
        if ((error && !interrupted) || (!error && count == 0) || count > bytes.size()) {
            return fail(
                Error(Errc::io_error, "write", error ? error.message() : "nothing was written"));
        }
        bytes = bytes.subspan(count);
    }
    return {};
}

Result<void> WholeOutput::close() {
    const std::error_code synced = sink_->sync();
    const std::error_code closed = sink_->close();
    if (synced || closed) {
        return fail(
            Error(Errc::io_error, synced ? "sync" : "close", (synced ? synced : closed).message()));
    }
    return {};
}

} // namespace twinstep::replay
