// SPDX-License-Identifier: MIT
// What looks after the process: systemd's notifications and the Agones sidecar, both tied to
// health.
#pragma once

#include "serve_log.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace twinstep::tools {

/// Says a word to systemd, as sd_notify(3) does: a datagram to $NOTIFY_SOCKET. False: nobody wants
/// to hear, or the system refused.
bool notify_systemd(std::string_view message);

/// Sends WATCHDOG=1 at half of $WATCHDOG_USEC, as long as `healthy` says so: a stuck worker makes
/// systemd restart the service. Nothing happens without the variable.
class Watchdog {
public:
    explicit Watchdog(std::function<bool()> healthy);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    ~Watchdog();

private:
    std::function<bool()> healthy_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

/// The port of the Agones sidecar, if there is one: $AGONES_SDK_HTTP_PORT.
std::optional<std::uint16_t> agones_port();

/// Tells the sidecar that the server is ready, every 2 s that it is healthy as long as it is, on
/// the first player that it is allocated, and at the end that it may go.
class Agones {
public:
    struct Settings {
        std::uint16_t port = 0;
        std::function<bool()> healthy;
        /// The sidecar did not answer within 30 s. Called on the thread of this class.
        std::function<void()> unreachable;
    };

    Agones(Settings settings, Log& log);
    Agones(const Agones&) = delete;
    Agones& operator=(const Agones&) = delete;
    ~Agones();

    /// The first player is there. Thread: any.
    void allocate() { allocated_ = true; }

    /// Ends the thread, then asks for the end of the server.
    void shut_down();

private:
    void run();
    bool tell(std::string_view path);
    std::optional<std::string> state() const;
    bool wait_for_sidecar();
    void become_ready();
    /// Sleeps in short pieces; false once the thread is to end.
    bool pause(std::int64_t ms) const;

    Settings settings_;
    Log& log_;
    std::atomic<bool> allocated_ = false;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace twinstep::tools
