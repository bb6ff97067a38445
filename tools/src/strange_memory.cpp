// SPDX-License-Identifier: MIT
// An operator new that asks the thread's rule, if there is one.
#include "strange_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TWINSTEP_SANITIZED_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TWINSTEP_SANITIZED_HEAP 1
#endif
#endif

namespace twinstep::tools {

namespace {

thread_local constinit HeapRule* heap_rule = nullptr;

/// Below the frame of the caller, where a step's own frames will lie.
[[gnu::noinline]] void paint_stack(std::uint8_t pattern) {
    // Called through a pointer that could change: nobody may leave out what is never read.
    static void* (*const volatile fill)(void*, int, std::size_t) = std::memset;
    std::array<std::uint8_t, std::size_t{64} << 10> painted; // Only ever written.
    fill(painted.data(), pattern, painted.size());
}

} // namespace

void PoisonedMemory::enter() {
    heap_rule = this;
    paint_stack(pattern_);
}

void PoisonedMemory::leave() {
    heap_rule = nullptr;
}

void* PoisonedMemory::allocate(std::size_t size) noexcept {
    void* const memory = std::malloc(size);
    if (memory != nullptr) {
        std::memset(memory, pattern_, size);
    }
    return memory;
}

ShuffledMemory::~ShuffledMemory() {
    for (const auto& of_size : spare_) {
        for (void* const block : of_size) {
            std::free(block);
        }
    }
}

void ShuffledMemory::enter() {
    heap_rule = this;
}

void ShuffledMemory::leave() {
    heap_rule = nullptr;
}

void* ShuffledMemory::allocate(std::size_t size) noexcept {
    const std::size_t number = (size - 1) / grain;
    if (number >= classes) {
        return std::malloc(size);
    }
    const std::size_t rounded = (number + 1) * grain;
    auto& of_size = spare_[number];
    if (of_size.front() == nullptr) {
        for (void*& block : of_size) {
            block = std::malloc(rounded);
        }
    }
    void*& chosen = of_size[random_.below(spares)];
    return std::exchange(chosen, std::malloc(rounded));
}

bool heap_has_rules() {
    class Asked final : public HeapRule {
    public:
        void* allocate(std::size_t size) noexcept override {
            asked = true;
            return std::malloc(size);
        }

        bool asked = false;
    } rule;

    HeapRule* const before = std::exchange(heap_rule, &rule);
    // Called by name: a new-expression may be left out.
    ::operator delete(::operator new(1));
    heap_rule = before;
    return rule.asked;
}

} // namespace twinstep::tools

// Weak, so that a game may have its own. libstdc++'s and libc++'s array and nothrow forms call this
// one, and their delete is free().
#if defined(__ELF__) && !defined(TWINSTEP_SANITIZED_HEAP)

[[gnu::weak]] void* operator new(std::size_t size) {
    const std::size_t wanted = size != 0 ? size : 1;
    for (;;) {
        twinstep::tools::HeapRule* const rule = twinstep::tools::heap_rule;
        void* const memory = rule == nullptr ? std::malloc(wanted) : rule->allocate(wanted);
        if (memory != nullptr) {
            return memory;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

[[gnu::weak]] void operator delete(void* memory) noexcept {
    std::free(memory);
}

[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept {
    ::operator delete(memory); // Perhaps a game's own.
}

#endif
