// SPDX-License-Identifier: MIT
// Counts the test program's allocations; alone in its file so that no caller inlines it.
#include "pile_support.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

// AddressSanitizer has its own operator new and pairs it with its own operator delete.
#if defined(__SANITIZE_ADDRESS__)
#define TWINSTEP_PILE_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TWINSTEP_PILE_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef TWINSTEP_PILE_COUNTS_ALLOCATIONS
#define TWINSTEP_PILE_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<std::uint64_t> calls{0};

} // namespace

std::uint64_t pile_test::allocation_count() {
    return calls.load();
}

bool pile_test::counts_allocations() {
    return TWINSTEP_PILE_COUNTS_ALLOCATIONS == 1;
}

#if TWINSTEP_PILE_COUNTS_ALLOCATIONS

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

#endif
