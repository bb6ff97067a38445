// SPDX-License-Identifier: MIT
// The functions of sim/math by name, and for each the cases that a sweep goes through, in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace math_sweep {

/// Each function has so many blocks of cases; each block has one digest.
inline constexpr std::uint32_t block_count = 4096;

/// The cases of a block and their results. For functions of one number `y` is empty.
struct Block {
    std::vector<float> x;
    std::vector<float> y;
    std::vector<float> result;
};

/// What is known of a function as such. An even one is the same for x and -x, an odd one has the
/// other sign; a monotone one rises or falls all the way on each side of 0, where it has a value.
enum class Shape : std::uint8_t { monotone, odd, even, odd_monotone, even_monotone, two_arguments };

struct Function {
    std::string_view name;
    Shape shape = Shape::monotone;
    void (*compute)(Block& block) = nullptr;

    bool has_two_arguments() const { return shape == Shape::two_arguments; }

    bool is_odd() const { return shape == Shape::odd || shape == Shape::odd_monotone; }

    bool is_even() const { return shape == Shape::even || shape == Shape::even_monotone; }

    bool is_monotone() const {
        return shape == Shape::monotone || shape == Shape::odd_monotone ||
               shape == Shape::even_monotone;
    }
};

/// In the order of their names.
std::span<const Function> all_functions();

/// Null if there is none of that name.
const Function* find_function(std::string_view name);

/// Fills in the cases. For one argument block b holds the 2^20 floats whose bits begin at b * 2^20,
/// so that 4,096 blocks are all floats. For two it holds 2^18 made cases: see cases.cpp.
/// With a stride above 1 only about one case in so many.
void make_cases(const Function& function, std::uint32_t block, std::uint64_t stride, Block& into);

/// 32 bits of the XXH3 of the results' bits, little-endian.
std::uint32_t digest_of(const Block& block);

} // namespace math_sweep
