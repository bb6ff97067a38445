// SPDX-License-Identifier: MIT
// Chunks of a tracked vector: marks, digests, and the search for writes that were not marked.
#include "twinstep/sim/tracked.hpp"

#include "chunk_flags.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <string>

namespace twinstep::detail {

namespace {

/// Ends the program by way of the handler: a write that nobody marked has made hashes and snapshots
/// wrong since, and nobody can say for how long.
[[noreturn]] void
missed_write(const ChunkedContent& content, std::string_view name, std::size_t chunk) {
    const std::size_t begin = chunk * chunk_bytes;
    const std::size_t end = std::min(begin + chunk_bytes, content.size);
    const std::string text =
        "section " + std::string(name) + ": elements " +
        std::to_string(begin / content.element_bytes) + " to " +
        std::to_string((end - 1) / content.element_bytes) + " (chunk " + std::to_string(chunk) +
        ") were written without a mark: through a reference kept since before the last hash";
    assertion_failed({text, __FILE__, __LINE__, __func__});
}

} // namespace

ChunkDigest digest_of(ByteView chunk) {
    const Hash128 hash = hash_chunk(chunk);
    return {little_endian(hash.low), little_endian(hash.high)};
}

ByteView ChunkedContent::chunk(std::size_t index, ChunkBuffer& buffer) const {
    const std::size_t first = index * chunk_bytes;
    const std::size_t bytes = std::min(chunk_bytes, size - first);
    if (memory != nullptr) {
        return {memory + first, bytes};
    }
    encode(values, first, std::span(buffer).first(bytes));
    return ByteView(buffer).first(bytes);
}

void ChunkTracker::reserve(std::size_t bytes) {
    flags_.reserve(chunks_of(bytes));
    digests_.reserve(chunks_of(bytes));
}

void ChunkTracker::resize(std::size_t before, std::size_t after) {
    const std::size_t chunks = chunks_of(after);
    if (chunks != flags_.size()) {
        flags_.resize(chunks, written);
        digests_.resize(chunks);
    }
    if (after > before) {
        mark_bytes(before, after);
    } else if (after < before && after % chunk_bytes != 0) {
        mark(chunks - 1);
    }
}

void ChunkTracker::loaded_anew(std::size_t bytes) {
    flags_.assign(chunks_of(bytes), written | loaded);
    digests_.resize(flags_.size());
    cursor_ = 0;
    store_.reset();
}

void ChunkTracker::adopt(std::size_t chunk, const ChunkDigest& digest) {
    digests_[chunk] = digest;
    flags_[chunk] &= static_cast<std::uint8_t>(~unhashed);
}

void ChunkTracker::refresh(const ChunkedContent& content,
                           std::string_view name,
                           std::uint32_t period) {
    TWINSTEP_ASSERT(flags_.size() == content.chunks());
    // First, because what is computed anew cannot be wrong.
    recheck(content, name, period);
    ChunkBuffer buffer;
    take_flagged(flags_, unhashed, [&](std::size_t chunk) {
        digests_[chunk] = digest_of(content.chunk(chunk, buffer));
    });
}

void ChunkTracker::recheck(const ChunkedContent& content,
                           std::string_view name,
                           std::uint32_t period) {
    const std::size_t chunks = flags_.size();
    std::size_t due = chunks / period + (chunks % period != 0 ? 1 : 0);
    ChunkBuffer buffer;
    for (; due > 0; --due) {
        cursor_ = cursor_ < chunks ? cursor_ : 0;
        const bool known = (flags_[cursor_] & unhashed) == 0;
        if (known && digest_of(content.chunk(cursor_, buffer)) != digests_[cursor_]) {
            missed_write(content, name, cursor_);
        }
        ++cursor_;
    }
}

} // namespace twinstep::detail
