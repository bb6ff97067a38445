// SPDX-License-Identifier: MIT
// Counts heap allocations of the whole test program; link allocation_counter.cpp to get the counts.
#pragma once

#include <cstddef>
#include <cstdint>

/// Calls of operator new since the program started.
std::uint64_t allocation_count() noexcept;
/// Bytes asked for since the program started.
std::uint64_t allocated_bytes() noexcept;

/// What was allocated since construction.
class AllocationCounter {
public:
    AllocationCounter() noexcept
        : count_(allocation_count())
        , bytes_(allocated_bytes()) {}

    std::uint64_t count() const noexcept { return allocation_count() - count_; }

    std::uint64_t bytes() const noexcept { return allocated_bytes() - bytes_; }

private:
    std::uint64_t count_;
    std::uint64_t bytes_;
};
