// SPDX-License-Identifier: MIT
// What happens when a caller breaks a documented requirement of the timer module.
#pragma once

namespace twinstep::timer {

/// Called once with the broken condition and where it stands. It must not return: end the process,
/// or (in a test) throw. When it does return, the process is aborted.
using ContractHandler = void (*)(const char* condition, const char* file, int line);

/// Replaces the handler and returns the one before it. The first handler writes one line to
/// standard error and aborts. A null handler puts that first one back.
/// Thread: call it before other threads use the module.
ContractHandler set_contract_handler(ContractHandler handler) noexcept;

/// Reports a broken contract to the handler, then aborts.
[[noreturn]] void contract_broken(const char* condition, const char* file, int line);

} // namespace twinstep::timer

/// Checks a requirement in every build, release included.
#define TWINSTEP_TIMER_ASSERT(condition)                                                           \
    (static_cast<bool>(condition)                                                                  \
         ? static_cast<void>(0)                                                                    \
         : ::twinstep::timer::contract_broken(#condition, __FILE__, __LINE__))
