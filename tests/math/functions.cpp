// SPDX-License-Identifier: MIT
// The functions of sim/math by name, and the digest of a block of results.
#include "functions.hpp"

#include "twinstep/sim/math.hpp"

#include <array>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace math_sweep {

namespace {

namespace math = twinstep::math;

template <float (*Of)(float)>
void compute_one(Block& block) {
    for (std::size_t i = 0; i < block.x.size(); ++i) {
        block.result[i] = Of(block.x[i]);
    }
}

template <float (*Of)(float, float)>
void compute_two(Block& block) {
    for (std::size_t i = 0; i < block.x.size(); ++i) {
        block.result[i] = Of(block.x[i], block.y[i]);
    }
}

constexpr std::array functions{
    Function{"acos", Shape::monotone, compute_one<math::acos>},
    Function{"asin", Shape::odd_monotone, compute_one<math::asin>},
    Function{"atan", Shape::odd_monotone, compute_one<math::atan>},
    Function{"atan2", Shape::two_arguments, compute_two<math::atan2>},
    Function{"cbrt", Shape::odd_monotone, compute_one<math::cbrt>},
    Function{"cos", Shape::even, compute_one<math::cos>},
    Function{"cosh", Shape::even_monotone, compute_one<math::cosh>},
    Function{"exp", Shape::monotone, compute_one<math::exp>},
    Function{"exp10", Shape::monotone, compute_one<math::exp10>},
    Function{"exp2", Shape::monotone, compute_one<math::exp2>},
    Function{"expm1", Shape::monotone, compute_one<math::expm1>},
    Function{"hypot", Shape::two_arguments, compute_two<math::hypot>},
    Function{"log", Shape::monotone, compute_one<math::log>},
    Function{"log10", Shape::monotone, compute_one<math::log10>},
    Function{"log1p", Shape::monotone, compute_one<math::log1p>},
    Function{"log2", Shape::monotone, compute_one<math::log2>},
    Function{"pow", Shape::two_arguments, compute_two<math::pow>},
    Function{"rsqrt", Shape::monotone, compute_one<math::rsqrt>},
    Function{"sin", Shape::odd, compute_one<math::sin>},
    Function{"sinh", Shape::odd_monotone, compute_one<math::sinh>},
    Function{"sqrt", Shape::monotone, compute_one<math::sqrt>},
    Function{"tan", Shape::odd, compute_one<math::tan>},
    Function{"tanh", Shape::odd_monotone, compute_one<math::tanh>},
};

} // namespace

std::span<const Function> all_functions() {
    return functions;
}

const Function* find_function(std::string_view name) {
    for (const Function& function : functions) {
        if (function.name == name) {
            return &function;
        }
    }
    return nullptr;
}

std::uint32_t digest_of(const Block& block) {
    const std::size_t size = block.result.size() * sizeof(float);
    if constexpr (std::endian::native == std::endian::little) {
        return static_cast<std::uint32_t>(XXH3_64bits(block.result.data(), size));
    }
    std::vector<std::uint8_t> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(block.result[i / 4]);
        bytes[i] = static_cast<std::uint8_t>(bits >> (8 * (i % 4)));
    }
    return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), size));
}

} // namespace math_sweep
