// SPDX-License-Identifier: MIT
// Assertions for programmer errors: always on, also in release builds.
#pragma once

#include <string_view>

namespace twinstep {

/// What is known about a failed assertion when the handler is called.
struct AssertionFailure {
    std::string_view expression; ///< The source text of the condition that was false.
    std::string_view file;       ///< File name as the compiler spells it.
    int line = 0;                ///< Line in that file.
    std::string_view function;   ///< Enclosing function.
};

/// Where a function was called from; the default of a last parameter.
struct CallPlace {
    const char* file;
    int line;

    static constexpr CallPlace here(const char* of_file = __builtin_FILE(),
                                    int of_line = __builtin_LINE()) {
        return {of_file, of_line};
    }
};

/// Receives a failed assertion. It should not return; if it does, the process is aborted.
using AssertionHandler = void (*)(const AssertionFailure& failure);

/// Replaces the handler and returns the previous one. The default writes one line to standard
/// error. Thread: safe to call from any thread, affects all of them.
AssertionHandler set_assertion_handler(AssertionHandler handler) noexcept;

/// Calls the handler, then aborts.
[[noreturn]] void assertion_failed(const AssertionFailure& failure) noexcept;

} // namespace twinstep

/// Stops the program when a caller broke a documented requirement. Never used on bytes that come
/// from outside: those are refused with a Result. One condition per assertion.
#define TWINSTEP_ASSERT(condition)                                                                 \
    do {                                                                                           \
        if (!(condition)) [[unlikely]] {                                                           \
            ::twinstep::assertion_failed({#condition, __FILE__, __LINE__, __func__});              \
        }                                                                                          \
    } while (false)

/// Like TWINSTEP_ASSERT, for checks that cost O(n); on in debug, test and CI builds only.
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
#define TWINSTEP_VALIDATE(condition) TWINSTEP_ASSERT(condition)
#else
#define TWINSTEP_VALIDATE(condition)                                                               \
    do {                                                                                           \
    } while (false)
#endif
