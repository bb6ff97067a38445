// SPDX-License-Identifier: MIT
// swarm's memory in the steady state. Built without the sanitizers only: they bring their own new.
#include "swarm_support.hpp"

#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__)

namespace {

std::size_t allocations = 0;

} // namespace

// GCC sees malloc behind new and free behind delete and cannot tell that they belong together.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) {
    ++allocations;
    void* const memory = std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

TEST_CASE("a step of swarm allocates nothing once it is under way", "[games][swarm][unit]") {
    SwarmRun run(5, 4, 1000);
    run.play(100);
    const std::size_t before = allocations;
    run.play(200);
    REQUIRE(allocations == before);
}

#endif
