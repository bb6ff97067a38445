// SPDX-License-Identifier: MIT
// HTTP for operations: a small bounded server, and a client that gives up in time.
#pragma once

#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// What was asked. Views are valid during the call.
struct HttpQuestion {
    std::string_view method; ///< "GET", "POST", ...
    std::string_view path;   ///< Without the query.
    std::string_view authorization;
    bool from_page = false; ///< A browser's page asks (Origin or Sec-Fetch-Site is there).
};

struct HttpAnswer {
    unsigned status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
};

/// Answers requests on a thread of its own. At most 32 connections, 4 KiB of header, 1 KiB of body,
/// 5 s for a request.
class HttpServer {
public:
    using Handler = std::function<HttpAnswer(const HttpQuestion&)>;

    /// Binds to "ADDRESS:PORT" and begins. The handler is called on the server's thread. Errors:
    /// io_error with the address as `where`.
    static Result<HttpServer> open(const std::string& address, Handler handler);
    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) noexcept;
    /// Stops, and waits for the thread.
    ~HttpServer();

    /// "127.0.0.1:9600", as bound.
    const std::string& local() const;

private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Asks 127.0.0.1 and waits for the answer, at most `timeout_ms` in all. Errors: io_error.
struct HttpRequest {
    std::uint16_t port = 0;
    std::string method = "GET";
    std::string path = "/";
    std::string body;
    std::uint32_t timeout_ms = 1000;
};

Result<HttpAnswer> http_request(const HttpRequest& request);

} // namespace twinstep::tools
