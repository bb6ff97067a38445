// SPDX-License-Identifier: MIT
// HTTP with Boost.Beast. Nothing else is in this file, for Beast is slow to compile.
#if defined(_WIN32) && !defined(_WIN32_WINNT)
#define _WIN32_WINNT 0x0A00
#endif
#include "serve_http_port.hpp"

#include "twinstep/net/errc.hpp"
#include "twinstep/net/udp_port.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace twinstep::tools {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using BoostError = boost::system::error_code;

constexpr std::size_t connections_max = 32;
constexpr std::uint32_t header_bytes_max = 4096;
constexpr std::uint64_t body_bytes_max = 1024;
constexpr std::uint64_t answer_bytes_max = 65536;
constexpr std::chrono::seconds request_timeout{5};

Error io_error(const BoostError& error, std::string what, std::string where) {
    return Error(net::NetErrc::io_error, std::move(what), error.message()).in(where);
}

struct Shared {
    HttpServer::Handler handler;
    std::size_t connections = 0;
};

/// One connection. It keeps itself alive through the handlers that wait for it.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(tcp::socket socket, Shared& shared)
        : stream_(std::move(socket))
        , shared_(shared) {
        ++shared_.connections;
    }

    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    ~Connection() { --shared_.connections; }

    void read() {
        parser_.emplace();
        parser_->header_limit(header_bytes_max);
        parser_->body_limit(body_bytes_max);
        stream_.expires_after(request_timeout);
        http::async_read(stream_,
                         buffer_,
                         *parser_,
                         [self = shared_from_this()](const BoostError& error, std::size_t) {
                             self->answer(error);
                         });
    }

private:
    void answer(const BoostError& error) {
        answer_ = {};
        answer_.version(11);
        if (error == http::error::header_limit || error == http::error::body_limit ||
            error == http::error::buffer_overflow) {
            answer_.result(http::status::payload_too_large);
            answer_.keep_alive(false);
        } else if (error) {
            return; // Gone, silent for too long, or no HTTP at all.
        } else {
            const auto& asked = parser_->get();
            const std::string_view target(asked.target().data(), asked.target().size());
            const auto method = asked.method_string();
            const auto authorization = asked[http::field::authorization];
            const HttpAnswer made = shared_.handler(
                {{method.data(), method.size()},
                 target.substr(0, target.find('?')),
                 {authorization.data(), authorization.size()},
                 asked.count(http::field::origin) != 0 || asked.count("Sec-Fetch-Site") != 0});
            answer_.result(made.status);
            answer_.set(http::field::content_type, made.content_type);
            answer_.set(http::field::cache_control, "no-store");
            answer_.body() = made.body;
            answer_.keep_alive(asked.keep_alive());
        }
        answer_.prepare_payload();
        stream_.expires_after(request_timeout);
        http::async_write(
            stream_, answer_, [self = shared_from_this()](const BoostError& failed, std::size_t) {
                self->written(failed);
            });
    }

    void written(const BoostError& error) {
        if (error || !answer_.keep_alive()) {
            BoostError ignored;
            stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
            return;
        }
        read();
    }

    beast::tcp_stream stream_;
    Shared& shared_;
    beast::basic_flat_buffer<std::allocator<char>> buffer_{header_bytes_max + body_bytes_max};
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> answer_;
};

} // namespace

struct HttpServer::Impl {
    Shared shared;
    asio::io_context context{1};
    tcp::acceptor acceptor{context};
    std::string local;
    std::thread thread;

    ~Impl() {
        if (thread.joinable()) {
            asio::post(context, [this] { context.stop(); });
            thread.join();
        }
    }

    void accept() {
        acceptor.async_accept([this](const BoostError& error, tcp::socket socket) {
            if (error == asio::error::operation_aborted) {
                return;
            }
            // Beyond the limit a connection is closed at once; what is open ends by its timeout.
            if (!error && shared.connections < connections_max) {
                std::make_shared<Connection>(std::move(socket), shared)->read();
            }
            if (error) {
                // Out of descriptors, say: do not spin.
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
            }
            accept();
        });
    }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::open(const std::string& address, Handler handler) {
    const Result<net::HostPort> parsed = net::parse_host_port(address, 9600);
    if (!parsed) {
        return fail(parsed.error());
    }
    auto impl = std::make_unique<Impl>();
    impl->shared.handler = std::move(handler);
    BoostError error;
    const auto ip = asio::ip::make_address(parsed->host, error);
    const tcp::endpoint endpoint(ip, parsed->port);
    tcp::acceptor& acceptor = impl->acceptor;
    if (!error && !acceptor.open(endpoint.protocol(), error)) {
#if !defined(_WIN32)
        // There it would let another program take the port.
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
#endif
        if (!acceptor.bind(endpoint, error)) {
            acceptor.listen(asio::socket_base::max_listen_connections, error);
        }
    }
    if (error) {
        return fail(io_error(error, "admin-listen", address));
    }
    const tcp::endpoint bound = acceptor.local_endpoint(error);
    const bool v6 = bound.address().is_v6();
    impl->local = (v6 ? "[" : "") + bound.address().to_string() + (v6 ? "]:" : ":") +
                  std::to_string(bound.port());
    impl->accept();
    impl->thread = std::thread([raw = impl.get()] { raw->context.run(); });
    return HttpServer(std::move(impl));
}

const std::string& HttpServer::local() const {
    return impl_->local;
}

Result<HttpAnswer> http_request(const HttpRequest& request) {
    asio::io_context context;
    beast::tcp_stream stream(context);
    stream.expires_after(std::chrono::milliseconds(request.timeout_ms));
    http::request<http::string_body> question(
        http::string_to_verb(request.method), request.path, 11);
    question.set(http::field::host, "localhost:" + std::to_string(request.port));
    question.set(http::field::content_type, "application/json");
    question.keep_alive(false);
    question.body() = request.body;
    question.prepare_payload();
    beast::flat_buffer buffer(answer_bytes_max + header_bytes_max);
    http::response_parser<http::string_body> parser;
    parser.header_limit(header_bytes_max);
    parser.body_limit(answer_bytes_max);
    BoostError result = asio::error::timed_out;
    const auto read = [&](const BoostError& error, std::size_t) { result = error; };
    const auto written = [&](const BoostError& error, std::size_t) {
        result = error;
        if (!error) {
            http::async_read(stream, buffer, parser, read);
        }
    };
    const tcp::endpoint to(asio::ip::address_v4::loopback(), request.port);
    stream.async_connect(to, [&](const BoostError& error) {
        result = error;
        if (!error) {
            http::async_write(stream, question, written);
        }
    });
    context.run();
    if (result) {
        return fail(io_error(result, request.path, "127.0.0.1:" + std::to_string(request.port)));
    }
    return HttpAnswer{parser.get().result_int(), {}, parser.get().body()};
}

} // namespace twinstep::tools
