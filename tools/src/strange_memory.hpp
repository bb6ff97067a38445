// SPDX-License-Identifier: MIT
// Memory as another run might find it: fresh memory that was filled, addresses in another order.
#pragma once

#include "twinstep/replay/checks.hpp"
#include "twinstep/sim/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinstep::tools {

/// True if `operator new` of this program asks a rule: not with sanitizers, on Windows, or where
/// the program has one of its own.
bool heap_has_rules();

/// What becomes of the memory that a thread gets from `operator new`.
class HeapRule {
public:
    HeapRule() = default;
    virtual ~HeapRule() = default;
    HeapRule(const HeapRule&) = delete;
    HeapRule& operator=(const HeapRule&) = delete;

    /// Memory for std::free, or null.
    virtual void* allocate(std::size_t size) noexcept = 0;
};

/// Fills with a byte: what `operator new` hands out, and the stack below the call, before each of a
/// companion's steps.
class PoisonedMemory final : public replay::Circumstance, HeapRule {
public:
    explicit PoisonedMemory(std::uint8_t pattern)
        : pattern_(pattern) {}

    void enter() override;
    void leave() override;

private:
    void* allocate(std::size_t size) noexcept override;

    std::uint8_t pattern_;
};

/// Hands out blocks of up to 1 KiB in an order of addresses that a seed permutes.
class ShuffledMemory final : public replay::Circumstance, HeapRule {
public:
    explicit ShuffledMemory(std::uint64_t seed)
        : random_(seed, Tick{0}, 0x7E57'0002) {}

    ~ShuffledMemory() override;

    void enter() override;
    void leave() override;

private:
    static constexpr std::size_t grain = 16; ///< Sizes are rounded up to multiples of it.
    static constexpr std::size_t classes = 64;
    static constexpr std::size_t spares = 32;

    void* allocate(std::size_t size) noexcept override;

    Random random_;
    std::array<std::array<void*, spares>, classes> spare_{};
};

} // namespace twinstep::tools
