// SPDX-License-Identifier: MIT
// systemd and Agones: https://www.freedesktop.org/software/systemd/man/sd_notify.html and
// https://agones.dev/site/docs/guides/client-sdks/rest/
#include "serve_supervisor.hpp"

#include "command.hpp"
#include "parsed_number.hpp"
#include "serve_http_port.hpp"

#include "twinstep/net/udp_port.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#if !defined(_WIN32)
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

/// The environment is read once, before any thread exists that could change it.
std::string variable(const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

std::uint64_t number_in(const std::string& text) {
    return parsed_number<std::uint64_t>(text).value_or(0);
}

void sleep_ms(std::int64_t ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

} // namespace

bool notify_systemd(std::string_view message) {
#if defined(_WIN32)
    static_cast<void>(message);
    return false;
#else
    const std::string path = variable("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
        return false;
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (path.front() == '@') {
        address.sun_path[0] = '\0'; // The abstract name space.
    }
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        return false;
    }
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    const ssize_t sent = ::sendto(socket,
                                  message.data(),
                                  message.size(),
                                  MSG_NOSIGNAL | MSG_DONTWAIT,
                                  reinterpret_cast<const sockaddr*>(&address),
                                  length);
    ::close(socket);
    return sent == static_cast<ssize_t>(message.size());
#endif
}

Watchdog::Watchdog(std::function<bool()> healthy)
    : healthy_(std::move(healthy)) {
    const std::uint64_t period_us = number_in(variable("WATCHDOG_USEC"));
    if (period_us == 0) {
        return;
    }
    thread_ = std::thread([this, half = net::Micros{static_cast<std::int64_t>(period_us / 2)}] {
        net::Micros next = net::monotonic_now();
        while (!stopping_) {
            if (net::monotonic_now() >= next) {
                if (healthy_()) {
                    notify_systemd("WATCHDOG=1");
                }
                next = next + half;
            }
            sleep_ms(20);
        }
    });
}

Watchdog::~Watchdog() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

std::optional<std::uint16_t> agones_port() {
    const std::uint64_t port = number_in(variable("AGONES_SDK_HTTP_PORT"));
    return port == 0 || port > 65535 ? std::nullopt
                                     : std::optional(static_cast<std::uint16_t>(port));
}

Agones::Agones(Settings settings, Log& log)
    : settings_(std::move(settings))
    , log_(log)
    , thread_([this] { run(); }) {}

Agones::~Agones() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool Agones::pause(std::int64_t ms) const {
    for (; ms > 0 && !stopping_; ms -= 20) {
        sleep_ms(20);
    }
    return !stopping_;
}

bool Agones::tell(std::string_view path) {
    const Result<HttpAnswer> answer =
        http_request({settings_.port, "POST", std::string(path), "{}", 1000});
    if (!answer || answer->status != 200) {
        log_.warn("agones_refused",
                  {{"path", std::string(path)},
                   {"error", answer ? std::to_string(answer->status) : to_string(answer.error())}});
        return false;
    }
    return true;
}

std::optional<std::string> Agones::state() const {
    const Result<HttpAnswer> answer =
        http_request({settings_.port, "GET", "/gameserver", {}, 1000});
    if (!answer || answer->status != 200) {
        return std::nullopt;
    }
    const Json object = Json::parse(answer->body, nullptr, false);
    const Json::json_pointer path("/status/state");
    if (object.is_discarded() || !object.contains(path) || !object.at(path).is_string()) {
        return std::string{};
    }
    return object.at(path).get<std::string>();
}

bool Agones::wait_for_sidecar() {
    const net::Micros end = net::monotonic_now() + net::seconds(30);
    while (!state()) {
        if (net::monotonic_now() >= end) {
            log_.error("agones_unreachable", {{"port", std::to_string(settings_.port)}});
            settings_.unreachable();
            return false;
        }
        if (!pause(500)) {
            return false;
        }
    }
    return true;
}

void Agones::become_ready() {
    // Health first: the sidecar counts from the moment the server is ready.
    for (std::int64_t wait_ms = 100; pause(0); wait_ms = wait_ms < 2000 ? wait_ms * 2 : wait_ms) {
        if (settings_.healthy() && tell("/health") && tell("/ready")) {
            const std::string reached = state().value_or("");
            if (reached != "" && reached != "Starting" && reached != "Scheduled" &&
                reached != "RequestReady") {
                log_.info("agones_ready", {{"state", reached}});
                return;
            }
        }
        if (!pause(wait_ms)) {
            return;
        }
    }
}

void Agones::run() {
    if (!wait_for_sidecar()) {
        return;
    }
    become_ready();
    bool told = false;
    net::Micros next = net::monotonic_now();
    while (pause(100)) {
        if (allocated_ && !told) {
            told = tell("/allocate");
        }
        if (net::monotonic_now() < next) {
            continue;
        }
        if (settings_.healthy()) {
            tell("/health");
        } else {
            log_.warn("unhealthy");
        }
        next = next + net::seconds(2);
    }
}

void Agones::shut_down() {
    stopping_ = true;
    if (thread_.joinable()) {
        thread_.join();
        tell("/shutdown");
    }
}

} // namespace twinstep::tools
