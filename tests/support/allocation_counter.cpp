// SPDX-License-Identifier: MIT
// Replaces operator new and delete with counting ones.
#include "allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> bytes_asked{0};

void* counted(std::size_t size, std::size_t alignment) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes_asked.fetch_add(size, std::memory_order_relaxed);
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded != 0 ? rounded : alignment);
    if (memory == nullptr) {
        std::abort(); // A test program has no better answer, and nothrow forms may not throw.
    }
    return memory;
}

constexpr std::size_t usual_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

} // namespace

std::uint64_t allocation_count() noexcept {
    return calls.load(std::memory_order_relaxed);
}

std::uint64_t allocated_bytes() noexcept {
    return bytes_asked.load(std::memory_order_relaxed);
}

// Every form is replaced: a sanitizer's own forms would not match the ones here.

void* operator new(std::size_t size) {
    return counted(size, usual_alignment);
}

void* operator new[](std::size_t size) {
    return counted(size, usual_alignment);
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted(size, usual_alignment);
}

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted(size, usual_alignment);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    return counted(size, static_cast<std::size_t>(alignment));
}

void* operator new[](std::size_t size, std::align_val_t alignment) {
    return counted(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete[](void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
