// SPDX-License-Identifier: MIT
// What the admin port answers: health, readiness, metrics, matches, drain.
#pragma once

#include "serve_http_port.hpp"

#include "twinstep/net/match.hpp"

#include <functional>
#include <optional>
#include <string>

namespace twinstep::tools {

/// Where the answers come from. Called on the admin's thread; nothing means that the event loop did
/// not answer in time.
struct AdminHooks {
    std::function<bool()> healthy;
    std::function<bool()> ready;
    std::function<std::optional<std::string>()> metrics;
    std::function<std::optional<std::string>()> matches;  ///< JSON.
    std::function<bool()> drain;                          ///< False: not answered in time.
    std::function<std::optional<bool>(net::MatchId)> end; ///< False: no such match.
    std::string token; ///< Bearer token of everything but the two probes; empty: none is needed.
};

/// Answers one request.
HttpAnswer answer_admin(const HttpQuestion& question, const AdminHooks& hooks);

} // namespace twinstep::tools
