// SPDX-License-Identifier: MIT
// The one place that knows zstd, and the bounds within which it is used.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>

namespace twinstep::replay {

/// Most bytes that may come out for each byte that is stored.
inline constexpr std::size_t expansion_max = 1000;

/// What a decompression may yield. All of it is known before anything is allocated.
struct Expansion {
    std::size_t bytes = 0;        ///< Exactly what must come out, as the file declares it.
    std::size_t bytes_max = 0;    ///< Limit of `bytes`.
    std::size_t stored_bytes = 0; ///< What the file holds for it; expansion_max counts from here.
};

/// True if this build has zstd.
bool has_compression();

/// Appends `bytes` as one zstd frame. `level` from 1 to 22; others are taken for the nearest.
/// Errors: unsupported_version without zstd, io_error if memory runs out. Thread: any.
Result<void> compress(ByteView bytes, int level, Bytes& target);

/// Replaces `target` with what one zstd frame holds. Memory: `expansion.bytes` and a fixed part.
/// Errors: unsupported_version without zstd; limit_exceeded, before anything is allocated;
/// corrupt_record if it is not one whole frame of that many bytes. Thread: any.
Result<void> decompress(ByteView packed, const Expansion& expansion, Bytes& target);

} // namespace twinstep::replay
