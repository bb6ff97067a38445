// SPDX-License-Identifier: MIT
// The stored form of a state: as it is or as a difference from another, and then compressed.
#pragma once

#include "twinstep/replay/keyframes.hpp"

#include <cstdint>

namespace twinstep::replay {

/// Replaces `target` with the compressed bytes. Errors: unsupported_version if the codec is not in
/// this build.
Result<void> compress_keyframe(KeyframeCodec codec, ByteView raw, Bytes& target);

/// Replaces `target` with exactly `raw_bytes` bytes, which the caller has found plausible. Errors:
/// corrupt_record, unsupported_version.
Result<void>
decompress_keyframe(KeyframeCodec codec, ByteView stored, std::uint64_t raw_bytes, Bytes& target);

/// Changes bytes to their difference from `base` and back. What is beyond the base stays.
void xor_keyframe(std::span<std::byte> bytes, ByteView base);

/// Makes stored forms, each whole one the base of those that follow. Keeps one state.
class KeyframeEncoder {
public:
    explicit KeyframeEncoder(const KeyframeFileWriter::Options& options)
        : options_(options) {}

    /// Fills in the stored form of a state. It is valid until the next call. Errors:
    /// unsupported_version, limit_exceeded.
    Result<ByteView> encode(Tick tick, const Hash128& state, ByteView snapshot, KeyframeInfo& info);

private:
    KeyframeFileWriter::Options options_;
    std::uint64_t count_ = 0;
    Tick base_tick_;
    Bytes base_;
    Bytes delta_;
    Bytes stored_;
};

} // namespace twinstep::replay
