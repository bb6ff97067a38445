// SPDX-License-Identifier: MIT
// The frames of sections in a snapshot.
#pragma once

#include "twinstep/sim/bytes.hpp"

#include <cstddef>
#include <string_view>

namespace twinstep::detail {

/// One section of a snapshot.
struct SectionFrame {
    std::string_view name;
    bool chunked = false; ///< Of a tracked vector.
    ByteView bytes;
};

/// Reads section `number`, from 0; it means something only if the reader is ok afterwards.
SectionFrame read_section(ByteReader& reader, std::size_t number);

} // namespace twinstep::detail
