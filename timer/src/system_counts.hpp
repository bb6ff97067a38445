// SPDX-License-Identifier: MIT
// The one place that reads the machine's counter; inline, because GameTimer::tick() is made of it.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <time.h>
#endif

namespace twinstep::timer {

#if defined(_WIN32)

inline std::int64_t system_counts() noexcept {
    LARGE_INTEGER counts;
    counts.QuadPart = 0;
    QueryPerformanceCounter(&counts);
    return counts.QuadPart;
}

inline std::int64_t system_frequency_hz() noexcept {
    LARGE_INTEGER frequency;
    frequency.QuadPart = 0;
    return QueryPerformanceFrequency(&frequency) != 0 ? frequency.QuadPart : 0;
}

#else

inline std::int64_t system_counts() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::int64_t>(now.tv_nsec);
}

inline std::int64_t system_frequency_hz() noexcept {
    timespec now{};
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? 1'000'000'000 : 0;
}

#endif

} // namespace twinstep::timer
