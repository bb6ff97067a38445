// SPDX-License-Identifier: MIT
// The signals that ask a verb which runs until told otherwise to come to its end.
#pragma once

namespace twinstep::tools {

/// Calls `handler` for SIGINT, SIGTERM and, unless it is ignored as under nohup, SIGHUP.
void handle_stop_signals(void (*handler)(int));

} // namespace twinstep::tools
