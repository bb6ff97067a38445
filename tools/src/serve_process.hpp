// SPDX-License-Identifier: MIT
// The server's process: opens everything, runs, drains, ends.
#pragma once

#include "command.hpp"
#include "serve_log.hpp"
#include "serve_settings.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/tools/run.hpp"

#include <map>
#include <string>

namespace twinstep::tools {

/// Settings, and what the files they name hold: nothing can be wrong with them any more.
struct ServePlan {
    ServeSettings settings;
    const GameEntry* entry = nullptr; ///< Nothing: a relay.
    std::map<std::string, std::string> game_config;
    net::wire::Mode mode = net::wire::Mode::plain;
    net::Key key;
    std::string admin_token;
};

/// Reads the files, asks the game. Errors: bad_setting, io_error. Opens no socket.
Result<ServePlan> make_serve_plan(const Context& context, ServeSettings settings);

/// Runs until drained.
Exit serve(const Context& context, const ServePlan& plan, Log& log);

} // namespace twinstep::tools
