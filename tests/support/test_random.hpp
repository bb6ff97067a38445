// SPDX-License-Identifier: MIT
// Random numbers for property tests: one seed a run, taken from the environment, shown on failure.
#pragma once

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

/// The seed of this run: TWINSTEP_TEST_SEED, or 1.
inline std::uint64_t test_seed() {
    const char* text = std::getenv("TWINSTEP_TEST_SEED");
    return text != nullptr ? std::stoull(text) : 1;
}

/// Shows how to repeat the run if the test fails.
#define TWINSTEP_SHOW_SEED() INFO("repeat with TWINSTEP_TEST_SEED=" << test_seed())

/// SplitMix64: small, and independent of the code under test.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class TestRandom {
public:
    explicit TestRandom(std::uint64_t seed = test_seed())
        : state_(seed) {}

    std::uint64_t bits() {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    /// In [0, bound); the small bias does not matter here.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(bits() % bound); }

private:
    std::uint64_t state_;
};

inline std::vector<std::byte> random_bytes(TestRandom& random, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random.bits());
    }
    return bytes;
}
