// SPDX-License-Identifier: MIT
// Whether this process is still the one that began something.
#pragma once

#include <cstdint>

namespace twinstep::replay {

/// How many times the memory of this process has passed through a fork to become a child's: another
/// number than before means that this process is a copy, without the threads of the original. A
/// load; 0 where there is no fork. Thread: any.
std::uint64_t fork_count() noexcept;

} // namespace twinstep::replay
