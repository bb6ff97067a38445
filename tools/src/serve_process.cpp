// SPDX-License-Identifier: MIT
// The life of a server: opening, running, draining, the end.
#include "serve_process.hpp"

#include "serve_admin.hpp"
#include "serve_matches.hpp"
#include "serve_metrics_text.hpp"
#include "serve_supervisor.hpp"
#include "stop_signals.hpp"
#include "version.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/udp_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>
#include <vector>

namespace twinstep::tools {

namespace {

constexpr net::Micros maintenance = net::milliseconds(100);
constexpr net::Micros stuck_after = net::seconds(2);
/// Time for the farewells to be sent again before the sockets close.
constexpr net::Micros goodbye = net::milliseconds(600);
/// How long the recordings' last ticks may take after the matches have ended.
constexpr net::Micros closing_patience = net::seconds(30);

/// Signals so far. A handler may do nothing more than count.
std::atomic<int> signals = 0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void count_signal(int number) {
    std::signal(number, count_signal); // Windows forgets the handler.
#if defined(SIGHUP)
    if (number == SIGHUP) {
        // A terminal that closes may say so twice, itself and by its shell: still one wish.
        int none = 0;
        signals.compare_exchange_strong(none, 1);
        return;
    }
#endif
    signals.fetch_add(1);
}

enum class Stage : std::uint8_t { starting, running, draining, closing, flushing, over };

const char* to_string(Stage stage) {
    constexpr const char* names[] = {
        "starting", "running", "draining", "closing", "flushing", "over"};
    return names[static_cast<std::size_t>(stage)];
}

/// Everything of a running server. The network's thread is the one that calls run().
class Process final : public net::Machine {
public:
    Process(const Context& context, const ServePlan& plan, Log& log)
        : context_(context)
        , plan_(plan)
        , settings_(plan.settings)
        , log_(log) {}

    Exit run() {
        if (Result<void> opened = open(); !opened) {
            return Context::refuse(opened.error());
        }
        announce();
        port_->run(*this);
        return close();
    }

    void receive(net::Micros now,
                 const net::Address& from,
                 ByteView datagram,
                 net::Outbox& out) override {
        host_->receive(now, from, datagram, out);
    }

    void advance(net::Micros now, net::Outbox& out) override {
        beat_.store(now.value, std::memory_order_relaxed);
        host_->advance(now, out);
        if (now >= next_maintenance_) {
            next_maintenance_ = now + maintenance;
            maintain(now, out);
            host_->advance(now, out);
        }
    }

    net::Micros next_wake() const override {
        return std::min(host_->next_wake(), next_maintenance_);
    }

private:
    // ---- opening ---------------------------------------------------------------------------
    Result<void> open();
    Result<void> open_port();
    Result<void> open_admin();
    Result<void> open_matches();
    /// Goes on with what an earlier process left; false if there is nothing.
    bool resume_matches();
    void announce();
    AdminHooks hooks();

    // ---- running ---------------------------------------------------------------------------
    void maintain(net::Micros now, net::Outbox& out);
    void drain(net::Micros now, std::string_view why);
    void begin_close(net::Micros now, std::string_view why);
    bool empty_for_good() const;
    bool healthy() const;
    std::string metrics() const;

    // ---- the end ---------------------------------------------------------------------------
    Exit close();
    [[noreturn]] void end_at_once();

    /// Asks the network's thread, for at most a second.
    template <class T>
    std::optional<T> ask(std::function<T()> question) {
        auto promise = std::make_shared<std::promise<T>>();
        std::future<T> answer = promise->get_future();
        port_->post([promise, question = std::move(question)] { promise->set_value(question()); });
        if (answer.wait_for(std::chrono::seconds(1)) != std::future_status::ready) {
            return std::nullopt;
        }
        return answer.get();
    }

    const Context& context_;
    const ServePlan& plan_;
    const ServeSettings& settings_;
    Log& log_;

    std::atomic<Stage> stage_ = Stage::starting;
    std::atomic<std::int64_t> beat_{net::monotonic_now().value};
    net::Micros next_maintenance_;
    net::Micros deadline_ = net::never; ///< Of the stage.
    bool desync_ = false;

    std::optional<Recordings> recordings_;
    std::optional<net::UdpPort> port_;
    std::optional<Workers> workers_;
    std::optional<Matches> matches_;
    std::optional<net::Host> host_;
    std::optional<Agones> agones_;
    std::optional<HttpServer> admin_;
    std::optional<Watchdog> watchdog_;
};

Result<void> Process::open_port() {
    net::UdpSettings udp;
    for (const std::string& text : settings_.listen) {
        udp.local.push_back(*net::parse_address(text));
    }
    Result<net::UdpPort> port = net::UdpPort::open(udp);
    if (!port && settings_.listen_is_default) {
        // The default names both families; a machine may have one of them only.
        udp.local.pop_back();
        log_.warn("listen_without_ipv6", {{"error", twinstep::to_string(port.error())}});
        port = net::UdpPort::open(udp);
    }
    if (!port) {
        return fail(port.error());
    }
    const net::UdpStatus& granted = port->status();
    if (granted.receive_buffer_bytes < udp.receive_buffer_bytes) {
        log_.warn("socket_buffer_small",
                  {{"wanted", std::to_string(udp.receive_buffer_bytes)},
                   {"granted", std::to_string(granted.receive_buffer_bytes)},
                   {"remedy", "net.core.rmem_max"}});
    }
    port_.emplace(std::move(*port));
    return {};
}

Result<void> Process::open_matches() {
    net::HostSettings host;
    host.mode = plan_.mode;
    host.key = plan_.key;
    host.server_id = settings_.server_id;
    host.accept_older_tokens = settings_.accept_older_tokens;
    host.peers_max = settings_.max_peers;
    host.started_unix_s =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    matches_.emplace(settings_,
                     plan_.entry,
                     plan_.game_config,
                     recordings_ ? &*recordings_ : nullptr,
                     *workers_,
                     log_);
    Result<net::Host> made = net::Host::create(host, *matches_, net::system_entropy());
    if (!made) {
        return fail(made.error());
    }
    host_.emplace(std::move(*made));
    matches_->attach(*host_);
    return resume_matches() ? Result<void>{} : matches_->open();
}

bool Process::resume_matches() {
    const std::vector<std::string> unfinished =
        recordings_ ? recordings_->unfinished() : std::vector<std::string>{};
    std::size_t resumed = 0;
    std::size_t left = 0;
    for (const std::string& file : unfinished) {
        if (!settings_.resume || resumed == settings_.max_matches) {
            ++left;
        } else if (const Result<void> again = matches_->resume(file); again) {
            ++resumed;
        } else {
            // One that cannot go on, of another game say, keeps nobody from playing. It stays.
            log_.error("match_not_resumed", {{"file", file}, {"error", to_string(again.error())}});
        }
    }
    if (left > 0) {
        log_.warn("unfinished_recordings",
                  {{"files", std::to_string(left)},
                   {"oldest", unfinished.back()},
                   {"remedy", settings_.resume ? "--max-matches" : "--resume"}});
    }
    return resumed != 0;
}

AdminHooks Process::hooks() {
    using Text = std::optional<std::string>;
    AdminHooks hooks;
    hooks.token = plan_.admin_token;
    hooks.healthy = [this] { return healthy(); };
    hooks.ready = [this] { return stage_ == Stage::running; };
    hooks.metrics = [this]() -> Text { return ask<std::string>([this] { return metrics(); }); };
    hooks.matches = [this]() -> Text {
        return ask<std::string>([this] {
            return to_text({{"state", to_string(stage_)}, {"matches", matches_->json()}}, -1);
        });
    };
    hooks.drain = [this] {
        return ask<bool>([this] {
                   drain(net::monotonic_now(), "POST /drain");
                   return true;
               })
            .has_value();
    };
    hooks.end = [this](net::MatchId id) {
        return ask<bool>([this, id] { return matches_->end(net::monotonic_now(), id); });
    };
    return hooks;
}

Result<void> Process::open_admin() {
    if (settings_.admin_listen == "off") {
        return {};
    }
    Result<HttpServer> server =
        HttpServer::open(settings_.admin_listen, [hooks = hooks()](const HttpQuestion& question) {
            return answer_admin(question, hooks);
        });
    if (!server) {
        return fail(server.error());
    }
    admin_.emplace(std::move(*server));
    return {};
}

Result<void> Process::open() {
    handle_stop_signals(count_signal);
    if (!settings_.record_dir.empty()) {
        Result<Recordings> recordings = Recordings::open(
            settings_.record_dir, {settings_.record_quota, settings_.record_match_max});
        if (!recordings) {
            return fail(recordings.error());
        }
        recordings_.emplace(std::move(*recordings));
    }
    if (Result<void> opened = open_port(); !opened) {
        return opened;
    }
    workers_.emplace(settings_.workers, [this] { port_->post([this] { matches_->on_work(); }); });
    if (Result<void> opened = open_admin(); !opened) {
        return opened;
    }
    // Last, because it creates a file.
    if (Result<void> opened = open_matches(); !opened) {
        return opened;
    }
    beat_ = net::monotonic_now().value;
    watchdog_.emplace([this] { return healthy(); });
    stage_ = Stage::running;
    if (const auto port = agones_port(); port && settings_.agones) {
        agones_.emplace(
            Agones::Settings{*port, [this] { return healthy(); }, [] { count_signal(SIGTERM); }},
            log_);
    }
    return {};
}

void Process::announce() {
    Json ready{{"listen", Json::array()}, {"admin", nullptr}};
    std::string all;
    for (const net::Address& local : port_->local()) {
        ready["listen"].push_back(net::to_string(local));
        all += (all.empty() ? "" : " ") + net::to_string(local);
    }
    if (admin_) {
        ready["admin"] = admin_->local();
    }
    context_.say(fmt::format(
        "serving {} on {}{}",
        plan_.entry == nullptr ? "as a relay" : settings_.game,
        all,
        plan_.mode == net::wire::Mode::plain ? "; without a key, for this machine only" : ""));
    context_.print(ready);
    std::fflush(stdout);
    if (!settings_.ready_file.empty()) {
        // Whoever waits for the file never sees half of it.
        const std::string temporary = settings_.ready_file + ".part";
        std::error_code error;
        {
            std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
            file << to_text(ready, -1) << '\n';
        }
        std::filesystem::rename(temporary, settings_.ready_file, error);
        if (error) {
            log_.error("ready_file", {{"file", settings_.ready_file}, {"error", error.message()}});
        }
    }
    log_.info("ready", {{"listen", all}, {"version", version_text}});
    notify_systemd("READY=1\nSTATUS=serving");
}

bool Process::healthy() const {
    const net::Micros now = net::monotonic_now();
    // Until everything is open there is no loop that could be stuck.
    return (stage_ == Stage::starting || now - net::Micros{beat_.load()} < stuck_after) &&
           workers_->heartbeat_age(now) < stuck_after;
}

void Process::drain(net::Micros now, std::string_view why) {
    if (stage_ != Stage::running) {
        return;
    }
    stage_ = Stage::draining;
    deadline_ = now + settings_.drain_timeout;
    log_.info("draining", {{"why", std::string(why)}});
    notify_systemd("STOPPING=1\nSTATUS=draining");
    host_->drain();
    matches_->end(now, false, net::CloseReason::going_down);
}

void Process::begin_close(net::Micros now, std::string_view why) {
    stage_ = Stage::closing;
    deadline_ = now + goodbye;
    log_.info("closing", {{"why", std::string(why)}});
    matches_->end(now, true, net::CloseReason::going_down);
}

bool Process::empty_for_good() const {
    const MatchTotals totals = matches_->totals();
    const bool enough = settings_.matches != 0 && totals.ended >= settings_.matches;
    const bool deserted =
        settings_.exit_when_empty && totals.ended != 0 && host_->status().peers == 0;
    return enough || deserted;
}

void Process::maintain(net::Micros now, net::Outbox& out) {
    host_->set_wall_clock(
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count()));
    matches_->maintain(now, stage_ == Stage::running);
    const MatchTotals totals = matches_->totals();
    if (agones_ && totals.sum.players != 0) {
        agones_->allocate();
    }
    if (settings_.fail_on_desync && !desync_ && totals.sum.desyncs != 0) {
        desync_ = true;
        drain(now, "a desync, and --fail-on-desync");
        deadline_ = now + net::seconds(1); // The verdict still has to reach the players.
    }
    if (signals > 1) {
        end_at_once();
    }
    if (stage_ == Stage::running && (signals > 0 || empty_for_good())) {
        drain(now, signals > 0 ? "signal" : "enough matches");
    }
    if (stage_ == Stage::draining && (matches_->none_running() || now >= deadline_)) {
        begin_close(now, now >= deadline_ ? "drain-timeout" : "no match runs");
    }
    const bool told = matches_->none_running() && host_->status().peers == 0;
    if (stage_ == Stage::closing && (told || now >= deadline_)) {
        host_->shut_down(now, out);
        matches_->finish_all();
        stage_ = Stage::flushing;
        deadline_ = now + closing_patience;
    }
    if (stage_ == Stage::flushing && (matches_->all_over() || now >= deadline_)) {
        stage_ = Stage::over;
        port_->stop();
    }
}

Exit Process::close() {
    if (agones_) {
        agones_->shut_down();
    }
    admin_.reset();
    watchdog_.reset();
    const bool flushed = matches_->all_over();
    if (!flushed) {
        log_.error("recordings_not_closed", {{"remedy", "they are whole up to their last tick"}});
    }
    const MatchTotals totals = matches_->totals();
    context_.print({{"matches", json_integer(totals.opened)},
                    {"ticks", json_integer(totals.sum.ticks_closed)},
                    {"desyncs", json_integer(totals.sum.desyncs)}});
    log_.info("stopped",
              {{"matches", std::to_string(totals.opened)},
               {"ticks", std::to_string(totals.sum.ticks_closed)},
               {"desyncs", std::to_string(totals.sum.desyncs)}});
    log_.flush();
    if (!flushed && !workers_->stop(net::seconds(1))) {
        std::_Exit(static_cast<int>(Exit::failed)); // A step that never ends cannot be waited for.
    }
    if (settings_.fail_on_desync && totals.sum.desyncs != 0) {
        return Exit::divergence;
    }
    return flushed ? Exit::done : Exit::failed;
}

void Process::end_at_once() {
    log_.warn("ending_at_once", {{"why", "second signal"}});
    const bool stopped = workers_->stop(net::seconds(1));
    matches_->on_work();
    log_.info("stopped", {{"recordings", stopped ? "closed" : "cut off"}});
    log_.flush();
    std::_Exit(static_cast<int>(Exit::failed));
}

std::string Process::metrics() const {
    const net::Micros left = deadline_ - net::monotonic_now();
    const bool draining = stage_ == Stage::draining && left > net::Micros{};
    return metrics_text({*matches_,
                         *workers_,
                         *host_,
                         port_->status(),
                         recordings_ ? recordings_->bytes() : 0,
                         plan_.entry == nullptr ? "none" : settings_.game,
                         draining ? static_cast<double>(left.value) / 1e6 : 0.0});
}

} // namespace

Exit serve(const Context& context, const ServePlan& plan, Log& log) {
    return Process(context, plan, log).run();
}

} // namespace twinstep::tools
