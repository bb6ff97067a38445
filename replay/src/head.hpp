// SPDX-License-Identifier: MIT
// Reads what is in front of the first record.
#pragma once

#include "input.hpp"

#include "twinstep/replay/format.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <string>
#include <vector>

namespace twinstep::replay {

/// A head that was found right.
struct GoodHead {
    Head head;
    std::vector<std::string> sections; ///< That the manifest lists.
    Hash128 digest;                    ///< Of preamble and manifest: the first of the chain.
};

/// Reads preamble and manifest and leaves the window at the first record. Memory: at most the bytes
/// that are there. Errors: those of Reader::open.
Result<GoodHead> read_head(Window& window);

/// Window::peek with its error as a value. Errors: io_error.
Result<ByteView> peek(Window& window, std::size_t size);

} // namespace twinstep::replay
