// SPDX-License-Identifier: MIT
// Counts the test program's allocations; alone in its file so that no caller inlines it.
#include "pile_support.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> calls{0};

} // namespace

std::uint64_t pile_test::allocation_count() {
    return calls.load();
}

void* operator new(std::size_t size) {
    calls.fetch_add(1);
    void* memory = std::malloc(size != 0 ? size : 1);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t size) noexcept {
    static_cast<void>(size);
    std::free(memory);
}
