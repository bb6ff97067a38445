// SPDX-License-Identifier: MIT
// The routes of the admin port.
#include "serve_admin.hpp"

#include "parsed_number.hpp"

#include <string_view>

namespace twinstep::tools {

namespace {

HttpAnswer text(unsigned status, std::string body) {
    return {status, "text/plain; charset=utf-8", std::move(body) + "\n"};
}

HttpAnswer silent() {
    return text(503, "the event loop does not answer");
}

/// Takes as long for a wrong token as for the right one.
bool same(std::string_view given, std::string_view wanted) {
    unsigned differs = given.size() == wanted.size() ? 0 : 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const char letter = i < given.size() ? given[i] : '\0';
        differs |= static_cast<unsigned char>(letter ^ wanted[i]);
    }
    return differs == 0;
}

bool admitted(const HttpQuestion& question, const AdminHooks& hooks) {
    constexpr std::string_view scheme = "Bearer ";
    return hooks.token.empty() || (question.authorization.starts_with(scheme) &&
                                   same(question.authorization.substr(scheme.size()), hooks.token));
}

HttpAnswer get(std::string_view path, const AdminHooks& hooks) {
    if (path == "/metrics") {
        std::optional<std::string> body = hooks.metrics();
        return body ? HttpAnswer{200, "text/plain; version=0.0.4; charset=utf-8", std::move(*body)}
                    : silent();
    }
    std::optional<std::string> body = hooks.matches();
    return body ? HttpAnswer{200, "application/json", std::move(*body) + "\n"} : silent();
}

/// The id in "/matches/ID/end".
std::optional<net::MatchId> match_of(std::string_view path) {
    constexpr std::string_view front = "/matches/";
    constexpr std::string_view back = "/end";
    if (!path.starts_with(front) || !path.ends_with(back) ||
        path.size() <= front.size() + back.size()) {
        return std::nullopt;
    }
    const std::string_view digits =
        path.substr(front.size(), path.size() - front.size() - back.size());
    return parsed_number<net::MatchId>(digits);
}

HttpAnswer post(std::string_view path, const AdminHooks& hooks) {
    if (path == "/drain") {
        return hooks.drain() ? text(202, "draining") : silent();
    }
    const std::optional<bool> ended = hooks.end(*match_of(path));
    return !ended ? silent() : *ended ? text(202, "ending") : text(404, "no such match");
}

} // namespace

HttpAnswer answer_admin(const HttpQuestion& question, const AdminHooks& hooks) {
    const std::string_view path = question.path;
    const bool probe = path == "/healthz" || path == "/readyz";
    const bool reads = probe || path == "/metrics" || path == "/matches";
    const bool writes = path == "/drain" || match_of(path).has_value();
    if (!reads && !writes) {
        return text(404,
                    "there are /healthz, /readyz, /metrics, /matches, /drain, /matches/ID/end");
    }
    if (question.method != (reads ? "GET" : "POST")) {
        return text(405, reads ? "use GET" : "use POST");
    }
    if (question.from_page) {
        return text(403, "not from a web page");
    }
    if (!probe && !admitted(question, hooks)) {
        return text(401, "a bearer token is needed");
    }
    if (path == "/healthz") {
        return hooks.healthy() ? text(200, "healthy") : text(503, "stuck");
    }
    if (path == "/readyz") {
        return hooks.ready() ? text(200, "ready") : text(503, "not ready");
    }
    return reads ? get(path, hooks) : post(path, hooks);
}

} // namespace twinstep::tools
