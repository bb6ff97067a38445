// SPDX-License-Identifier: MIT
// Fetching memory ahead of its use: with hundreds of peers hardly anything is in the nearest cache.
#pragma once

#include <cstddef>

namespace twinstep::net {

/// Asks for `bytes` from `address` on. A hint: it reads nothing and may do nothing.
inline void prefetch(const void* address, std::size_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
    constexpr std::size_t line_bytes = 64;
    const char* const begin = static_cast<const char*>(address);
    for (std::size_t at = 0; at < bytes; at += line_bytes) {
        __builtin_prefetch(begin + at);
    }
#else
    static_cast<void>(address);
    static_cast<void>(bytes);
#endif
}

} // namespace twinstep::net
