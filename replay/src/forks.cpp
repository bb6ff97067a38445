// SPDX-License-Identifier: MIT
// Counts forks in the child.
#include "forks.hpp"

#if !defined(_WIN32)
#include <pthread.h>

#include <atomic>
#endif

namespace twinstep::replay {

#if defined(_WIN32)

std::uint64_t fork_count() noexcept {
    return 0;
}

#else

namespace {

std::atomic<std::uint64_t> forks_seen{0};

} // namespace

std::uint64_t fork_count() noexcept {
    static const int registered = ::pthread_atfork(
        nullptr, nullptr, [] { forks_seen.fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(registered);
    return forks_seen.load(std::memory_order_relaxed);
}

#endif

} // namespace twinstep::replay
