// SPDX-License-Identifier: MIT
// Random numbers as a pure function of seed, tick, stream and draw number.
#pragma once

#include "twinstep/sim/types.hpp"

#include <array>
#include <cstdint>

namespace twinstep {

/// Name of the algorithm in manifests; a recording made with another one is refused.
inline constexpr const char* random_algorithm = "philox4x32-10/1";

/// The Philox4x32 block function with ten rounds.
/// Determinism: pure. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
/// 2, 3", SC 2011.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A stream of draws. Two streams with the same seed, tick and stream number are equal; any other
/// two are independent, so a draw too many in one place cannot shift another.
/// Write one draw per statement: the order in which a call's arguments are evaluated is not
/// defined.
class Random {
public:
    Random(std::uint64_t seed, Tick tick, std::uint32_t stream = 0)
        : seed_(seed)
        , tick_(tick)
        , stream_(stream) {}

    /// 64 fresh bits.
    std::uint64_t bits();

    /// Uniform in [0, bound), without bias. Requires bound >= 1.
    std::uint32_t below(std::uint32_t bound);

    /// Uniform in [low, high], without bias. Requires low <= high.
    std::int32_t between(std::int32_t low, std::int32_t high);

    std::uint64_t seed() const { return seed_; }

    Tick tick() const { return tick_; }

    /// How many times bits() was drawn.
    std::uint64_t draws() const { return draws_; }

private:
    std::uint64_t seed_;
    Tick tick_;
    std::uint32_t stream_;
    std::uint64_t draws_ = 0;
    std::array<std::uint32_t, 4> block_{};
};

} // namespace twinstep
