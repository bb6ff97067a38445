// SPDX-License-Identifier: MIT
// Draws of entities: keys, blocks and the normal distribution.
#include "twinstep/sim/draws.hpp"

#include "draw_parts.hpp"

#include "twinstep/sim/math/logarithm.hpp"
#include "twinstep/sim/math/root.hpp"
#include "twinstep/sim/math/trigonometric.hpp"

#include <string>

namespace twinstep {

namespace {

/// Keeps the blocks that make keys apart from those of Random, whose third word is the upper half
/// of a tick: no tick has this bit.
constexpr std::uint32_t no_tick = std::uint32_t{1} << 31;

std::array<std::uint32_t, 2> key_of(std::uint64_t seed, Tick tick, std::uint32_t stream) {
    TWINSTEP_ASSERT(tick.value <= tick_max);
    const auto block =
        philox4x32({0, low_half(tick.value), high_half(tick.value) | no_tick, stream},
                   {low_half(seed), high_half(seed)});
    return {block[0], block[1]};
}

} // namespace

DrawStream::DrawStream(std::uint64_t seed, Tick tick, std::uint32_t stream)
    : key_(key_of(seed, tick, stream)) {}

std::array<std::uint32_t, 4> DrawStream::block(std::uint64_t entity, std::uint32_t index) const {
    return philox4x32({index, low_half(entity), high_half(entity), 0}, key_);
}

std::uint64_t draw_bits(const DrawKey& key) {
    const DrawStream stream(key.seed, key.tick, key.stream);
    return half_of(stream.block(key.entity, key.draw / 2), key.draw);
}

std::uint64_t Draws::next() {
    TWINSTEP_ASSERT(draw_ < UINT32_MAX);
    if (draw_ % 2 == 0) {
        block_ = stream_.block(entity_, draw_ / 2);
    }
    const std::uint64_t value = half_of(block_, draw_);
    ++draw_;
    ++count_.count;
    return value;
}

std::uint32_t Draws::next_below(std::uint32_t bound) {
    return bounded_below([this] { return next(); }, bound);
}

std::int32_t Draws::next_between(std::int32_t low, std::int32_t high) {
    return bounded_between([this] { return next(); }, low, high);
}

void Draws::second_draw(CallPlace place) {
    assertion_failed({"a second random draw in one expression: the order of the two is the "
                      "compiler's choice; keep the first in a variable",
                      place.file,
                      place.line,
                      __func__});
}

float detail::normal_from(std::uint64_t bits) {
    // share is in [0, 1); the exponential number -ln(1 - share) is taken from the side on which a
    // float has all its digits.
    const std::uint32_t share = high_half(bits);
    constexpr std::uint32_t half = std::uint32_t{1} << 31;
    const float exponential =
        share < half ? -math::log1p(-0x1p-32F * static_cast<float>(share))
                     : -math::log(0x1p-32F * static_cast<float>((half - share) + half));
    // A full turn around 0.
    constexpr double turn = 0x1.921fb54442d18p+2;
    const auto place = static_cast<std::int32_t>(low_half(bits));
    const auto angle = static_cast<float>(static_cast<double>(place) * (0x1p-32 * turn));
    return math::sqrt(2.0F * exponential) * math::cos(angle);
}

} // namespace twinstep
