// SPDX-License-Identifier: MIT
// The parts that a keyframe is stored in: encoded, decoded and put together again.
#pragma once

#include "twinstep/replay/keyframes.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace twinstep::replay {

/// Bytes of a part in front of its data.
inline constexpr std::size_t keyframe_head_bytes = 64;
/// Data of every part but the last.
inline constexpr std::size_t keyframe_part_bytes = frame_payload_bytes_max - keyframe_head_bytes;
/// A state may be as many times larger than its stored form, and so many bytes more. A delta may be
/// larger by its base. What is allocated is thus never more than what is there can account for.
inline constexpr std::uint64_t keyframe_ratio_max = 1024;
inline constexpr std::uint64_t keyframe_bytes_free = std::uint64_t{64} * 1024;

/// True if the stored bytes can account for the size of the state; `base_bytes` is that of a
/// delta's base.
bool is_plausible(const KeyframeInfo& info, std::uint64_t base_bytes);

/// Takes the payload of one frame.
using PayloadSink = std::function<Result<void>(ByteView payload)>;

/// Hands out the payloads of a keyframe with this stored form. Errors: those of `sink`.
Result<void> write_parts(const KeyframeInfo& info, ByteView stored, const PayloadSink& sink);

/// Puts parts together. Allocates for nothing but data that has arrived.
class PartAssembler {
public:
    /// Without data only sizes and order are checked.
    PartAssembler(bool keeps_data, std::uint64_t state_bytes_max)
        : keeps_data_(keeps_data)
        , state_bytes_max_(state_bytes_max) {}

    /// Takes the next part; true if the keyframe is whole. Errors: corrupt_record, limit_exceeded;
    /// it then begins anew.
    Result<bool> add(ByteView payload);

    /// Forgets what has arrived.
    void reset();

    /// True if parts are missing.
    bool is_open() const { return parts_ > 0 && part_ < parts_; }

    /// Requires that a part has arrived.
    const KeyframeInfo& info() const { return info_; }

    const Bytes& stored() const { return stored_; }

private:
    Result<void> check_claims(const KeyframeInfo& info, std::uint32_t parts) const;

    bool keeps_data_;
    std::uint64_t state_bytes_max_;
    KeyframeInfo info_;
    std::uint32_t part_ = 0;  ///< The one that comes next.
    std::uint32_t parts_ = 0; ///< 0: none has arrived.
    Bytes stored_;
};

/// True if a payload says that it is a keyframe's first part.
bool is_first_part(ByteView payload);

} // namespace twinstep::replay
