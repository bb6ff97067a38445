// SPDX-License-Identifier: MIT
// Philox4x32-10 and the draws made from it.
#include "twinstep/sim/random.hpp"

#include "draw_parts.hpp"

namespace twinstep {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
    // Multipliers and Weyl constants of the published function.
    constexpr std::uint64_t multiplier0 = 0xD2511F53;
    constexpr std::uint64_t multiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t weyl0 = 0x9E3779B9;
    constexpr std::uint32_t weyl1 = 0xBB67AE85;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = multiplier0 * counter[0];
        const std::uint64_t product1 = multiplier1 * counter[2];
        counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
                   static_cast<std::uint32_t>(product1),
                   static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
                   static_cast<std::uint32_t>(product0)};
        key[0] += weyl0;
        key[1] += weyl1;
    }
    return counter;
}

std::uint64_t Random::bits() {
    // A block holds two draws.
    if (draws_ % 2 == 0) {
        block_ = philox4x32(
            {low_half(draws_ / 2), low_half(tick_.value), high_half(tick_.value), stream_},
            {low_half(seed_), high_half(seed_)});
    }
    return half_of(block_, draws_++);
}

std::uint32_t Random::below(std::uint32_t bound) {
    return bounded_below([this] { return bits(); }, bound);
}

std::int32_t Random::between(std::int32_t low, std::int32_t high) {
    return bounded_between([this] { return bits(); }, low, high);
}

} // namespace twinstep
