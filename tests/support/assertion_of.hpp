// SPDX-License-Identifier: MIT
// Runs code that must fail an assertion in a child process and yields the assertion's text.
#pragma once

#include "twinstep/sim/assert.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace assertion_detail {

inline int assertion_pipe = -1;
inline bool with_line = false;

} // namespace assertion_detail

/// The expression of the assertion that `body` failed. "no assertion" if it came to its end,
/// "no abort" if the process did not die of SIGABRT after the handler returned.
template <class Body>
std::string assertion_of(Body&& body) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        return "no pipe";
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        assertion_detail::assertion_pipe = ends[1];
        // The test framework's own handler would report the crash as the test's.
        std::signal(SIGABRT, SIG_DFL);
        twinstep::set_assertion_handler([](const twinstep::AssertionFailure& failure) {
            const ssize_t written = write(assertion_detail::assertion_pipe,
                                          failure.expression.data(),
                                          failure.expression.size());
            static_cast<void>(written);
            if (assertion_detail::with_line) {
                const std::string line = " in line " + std::to_string(failure.line);
                const ssize_t more =
                    write(assertion_detail::assertion_pipe, line.data(), line.size());
                static_cast<void>(more);
            }
        });
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 256> part{};
    for (;;) {
        const ssize_t got = read(ends[0], part.data(), part.size());
        if (got <= 0) {
            break;
        }
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (text.empty()) {
        return "no assertion";
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "no abort";
}

/// The same, with " in line N" behind it.
template <class Body>
std::string assertion_with_line_of(Body&& body) {
    assertion_detail::with_line = true;
    std::string text = assertion_of(std::forward<Body>(body));
    assertion_detail::with_line = false;
    return text;
}
