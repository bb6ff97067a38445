// SPDX-License-Identifier: MIT
// Products and sums of non-negative 64-bit numbers that say when they do not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace twinstep::timer {

/// a * b, or nothing when it leaves 63 bits. Requires a >= 0 and b >= 0.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_mul(std::int64_t a,
                                                                std::int64_t b) noexcept {
    if (a != 0 && b > std::numeric_limits<std::int64_t>::max() / a) {
        return std::nullopt;
    }
    return a * b;
}

/// a + b, or nothing when it leaves 63 bits. Requires a >= 0 and b >= 0.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_add(std::int64_t a,
                                                                std::int64_t b) noexcept {
    if (a > std::numeric_limits<std::int64_t>::max() - b) {
        return std::nullopt;
    }
    return a + b;
}

} // namespace twinstep::timer
