// SPDX-License-Identifier: MIT
// The pieces of runs that columns of a bundle share with RunWriter.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace twinstep::net::wire::detail {

inline constexpr unsigned repeat_base = 0x7F; ///< Byte of a repetition, minus how often.
inline constexpr std::uint8_t repeats_max = 128;
inline constexpr std::size_t groups = 7;

constexpr std::size_t group_bytes(std::size_t size) {
    return (size + groups - 1) / groups;
}

inline bool same_value(ByteView a, ByteView b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Appends a value that is not the same as the one before.
void put_changed(Bytes& target, ByteView last, ByteView value);

} // namespace twinstep::net::wire::detail
