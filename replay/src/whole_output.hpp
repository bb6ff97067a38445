// SPDX-License-Identifier: MIT
// A file that is written in order and whole, or not at all.
#pragma once

#include "twinstep/replay/file_sink.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <memory>

namespace twinstep::replay {

/// A sink to which everything is written in order, whatever it takes.
class WholeOutput {
public:
    explicit WholeOutput(std::unique_ptr<FileSink> sink);

    /// Errors: io_error; what was written is then of no use.
    Result<void> write(ByteView bytes);
    /// Errors: io_error.
    Result<void> close();

    std::uint64_t bytes() const { return bytes_; }

private:
    std::unique_ptr<FileSink> sink_;
    std::uint64_t bytes_ = 0;
};

} // namespace twinstep::replay
