// SPDX-License-Identifier: MIT
// The fine sine table, computed by the compiler from a power series in integers.
#include "marine/fixed.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace twinstep::games::marine {

namespace {

inline constexpr std::size_t quarter_steps = 2048;
/// Bits of an Angle below one of the 8,192 steps.
inline constexpr unsigned step_bits = 19;

/// Sine of (2 * step + 1) / 8192 half turns: Taylor series with 30 bits of fraction, of which the
/// last terms are below 2^-30 for every argument up to a quarter turn.
constexpr Fixed sine_of_step(std::int64_t step) {
    constexpr std::int64_t pi_q40 = 3454217652358; // pi * 2^40, rounded
    const std::int64_t x = ((2 * step + 1) * pi_q40 / 8192) >> 10;
    const std::int64_t square = (x * x) >> 30;
    std::int64_t term = x;
    std::int64_t sum = x;
    for (std::int64_t k = 1; k <= 7; ++k) {
        term = -((term * square) >> 30) / ((2 * k) * (2 * k + 1));
        sum += term;
    }
    return static_cast<Fixed>((sum + (1 << 13)) >> 14);
}

constexpr std::array<Fixed, quarter_steps> make_quarter() {
    std::array<Fixed, quarter_steps> table{};
    for (std::size_t i = 0; i < quarter_steps; ++i) {
        table[i] = sine_of_step(static_cast<std::int64_t>(i));
    }
    return table;
}

constexpr std::array<Fixed, quarter_steps> quarter = make_quarter();

} // namespace

Fixed fine_sine(Angle angle) {
    const std::size_t step = angle >> step_bits;
    const std::size_t within = step % quarter_steps;
    const std::size_t part = step / quarter_steps;
    const Fixed value = quarter[part % 2 == 0 ? within : quarter_steps - 1 - within];
    return part < 2 ? value : -value;
}

namespace {

/// The highest bit that the root can have.
std::uint64_t first_bit(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return width == 0 ? 0 : std::uint64_t{1} << ((width - 1) / 2);
}

} // namespace

std::uint32_t integer_sqrt(std::uint64_t value) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = first_bit(value); bit != 0; bit >>= 1) {
        const std::uint64_t candidate = root | bit;
        if (candidate * candidate <= value) {
            root = candidate;
        }
    }
    return static_cast<std::uint32_t>(root);
}

namespace {

std::uint64_t squared(std::int64_t value) {
    return static_cast<std::uint64_t>(value * value);
}

/// Halves both until the sum of their squares fits; returns by how much they shrank. The bits that
/// are lost are below one in 2^31.
std::uint64_t shrink(std::int64_t& dx, std::int64_t& dy) {
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    std::uint64_t scale = 1;
    while (dx >= limit || dx <= -limit || dy >= limit || dy <= -limit) {
        dx /= 2;
        dy /= 2;
        scale *= 2;
    }
    return scale;
}

} // namespace

Vector with_length(std::int64_t dx, std::int64_t dy, Fixed length) {
    shrink(dx, dy);
    const auto size = static_cast<std::int64_t>(integer_sqrt(squared(dx) + squared(dy)));
    if (size == 0) {
        return {};
    }
    return {static_cast<Fixed>(dx * length / size), static_cast<Fixed>(dy * length / size)};
}

std::uint32_t distance(Vector a, Vector b) {
    std::int64_t dx = std::int64_t{a.x} - b.x;
    std::int64_t dy = std::int64_t{a.y} - b.y;
    const std::uint64_t scale = shrink(dx, dy);
    const std::uint64_t length = integer_sqrt(squared(dx) + squared(dy)) * scale;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, UINT32_MAX));
}

bool is_within(Vector a, Vector b, Fixed range) {
    const std::int64_t dx = std::int64_t{a.x} - b.x;
    const std::int64_t dy = std::int64_t{a.y} - b.y;
    if (dx >= range || dx <= -range || dy >= range || dy <= -range) {
        return false;
    }
    return squared(dx) + squared(dy) < squared(range);
}

} // namespace twinstep::games::marine
