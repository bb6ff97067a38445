// SPDX-License-Identifier: MIT
// The assertion handler and its default.
#include "twinstep/sim/assert.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace twinstep {

namespace {

void write_and_abort(const AssertionFailure& failure) {
    std::fprintf(stderr,
                 "%.*s:%d: %.*s: assertion failed: %.*s\n",
                 static_cast<int>(failure.file.size()),
                 failure.file.data(),
                 failure.line,
                 static_cast<int>(failure.function.size()),
                 failure.function.data(),
                 static_cast<int>(failure.expression.size()),
                 failure.expression.data());
    std::abort();
}

std::atomic<AssertionHandler> current_handler{write_and_abort};

} // namespace

AssertionHandler set_assertion_handler(AssertionHandler handler) noexcept {
    return current_handler.exchange(handler != nullptr ? handler : write_and_abort);
}

void assertion_failed(const AssertionFailure& failure) noexcept {
    current_handler.load()(failure);
    std::abort();
}

} // namespace twinstep
