// SPDX-License-Identifier: MIT
// Seeds and random numbers of the timer's property tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace timer_test {

/// The seed from TWINSTEP_TEST_SEED, or a fixed one; printed so that a failure can be repeated.
inline std::uint64_t test_seed(const char* test_name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): tests run on one thread and set no variable.
    const char* const text = std::getenv("TWINSTEP_TEST_SEED");
    const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : 20260127U;
    std::fprintf(
        stderr, "%s: TWINSTEP_TEST_SEED=%llu\n", test_name, static_cast<unsigned long long>(seed));
    return seed;
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same on every machine.
class Random {
public:
    explicit Random(std::uint64_t seed)
        : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    /// 0..bound - 1. The bias of the remainder does not matter to a test.
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
    }

private:
    std::uint64_t state_;
};

/// The counter frequencies that every statement must hold for.
inline constexpr std::int64_t frequencies_hz[] = {
    3'579'545, 10'000'000, 14'318'180, 24'000'000, 1'000'000'000, 2'200'000'000};

} // namespace timer_test
