// SPDX-License-Identifier: MIT
// Signals that end serve and join.
#include "stop_signals.hpp"

#include <csignal>

namespace twinstep::tools {

void handle_stop_signals(void (*handler)(int)) {
    std::signal(SIGINT, handler);
    std::signal(SIGTERM, handler);
#if defined(SIGHUP)
    // Who was started to outlive its terminal (nohup) does.
    if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) {
        std::signal(SIGHUP, handler);
    }
#endif
}

} // namespace twinstep::tools
