// SPDX-License-Identifier: MIT
// The loop of a joined match.
#include "join_session.hpp"

#include "planted_fault.hpp"
#include "sources.hpp"
#include "stop_signals.hpp"
#include "text_file.hpp"

#include "twinstep/replay/errc.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>
#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

using net::ClientState;
using net::Micros;

/// Simulating without a pause keeps the network waiting no longer than this.
constexpr Micros play_budget = net::milliseconds(10);
/// How long a goodbye may take.
constexpr Micros leave_budget = net::seconds(1);
constexpr std::uint64_t ticket_file_bytes_max = 256;

volatile std::sig_atomic_t stop_wanted = 0;

void want_stop(int) {
    stop_wanted = 1;
}

bool on_terminal() {
#if defined(_WIN32)
    return _isatty(_fileno(stderr)) != 0;
#else
    return isatty(STDERR_FILENO) != 0;
#endif
}

std::string ticket_text(const net::wire::Random16& ticket) {
    std::string text;
    for (const std::byte byte : ticket) {
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return text;
}

} // namespace

void heed_stop_signals() {
    handle_stop_signals(want_stop);
}

Result<std::optional<net::wire::Random16>> read_ticket(const std::string& path) {
    if (!std::filesystem::exists(path)) {
        return std::nullopt;
    }
    const auto text = read_text_file(path, ticket_file_bytes_max);
    if (!text) {
        return fail(text.error());
    }
    net::wire::Random16 ticket{};
    const std::string_view digits = std::string_view(*text).substr(0, text->find_first_of(" \r\n"));
    for (std::size_t i = 0; i < ticket.size(); ++i) {
        unsigned value = 0;
        const char* begin = digits.data() + 2 * i;
        if (digits.size() != 2 * ticket.size() ||
            std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) {
            return fail(
                Error(SimErrc::malformed, "ticket", "remove the file to join anew").in(path));
        }
        ticket[i] = static_cast<std::byte>(value);
    }
    return ticket;
}

JoinSession::JoinSession(const JoinOptions& options,
                         const GameEntry& entry,
                         net::UdpPort port,
                         net::Client client)
    : options_(options)
    , entry_(entry)
    , port_(std::move(port))
    , client_(std::move(client))
    , source_(client_)
    , reporter_(client_) {}

Result<JoinReport> JoinSession::run() {
    auto driven = net::drive(client_);
    while (client_.state() != ClientState::closed) {
        const Micros now = net::monotonic_now();
        if (const Result<void> turned = turn(now); !turned) {
            client_.leave(now);
            port_.step(driven, now);
            return fail(turned.error());
        }
        show_progress(now);
        const bool done = ended_ || report_.reached || stop_wanted != 0;
        if (done && !leaving_since_) {
            leaving_since_ = now;
            client_.leave(now);
        }
        if (leaving_since_ && now - *leaving_since_ > leave_budget) {
            break;
        }
        port_.step(driven, std::min(client_.next_wake(), now + net::milliseconds(5)));
        take_verdict();
    }
    take_verdict();
    if (simulation_) {
        report_.ticks = simulation_->tick().value;
        report_.final_hash = to_hex(simulation_->hash().state);
    }
    if (recorder_) {
        if (const Result<void> closed = recorder_->close(); !closed) {
            report_.recording_error = to_string(closed.error());
        }
    }
    return std::move(report_);
}

Result<void> JoinSession::turn(Micros now) {
    keep_ticket();
    switch (client_.state()) {
    case ClientState::preparing:
        return prepare(now);
    case ClientState::waiting:
    case ClientState::playing:
        if (const Result<void> given = give_inputs(now); !given) {
            return given;
        }
        return leaving_since_ ? Result<void>{} : play(now);
    case ClientState::connecting:
    case ClientState::loading:
    case ClientState::closed:
        break;
    }
    return {};
}

Result<void> JoinSession::prepare(Micros now) {
    const bool again = driver_.has_value();
    if (!again) {
        simulation_ = entry_.make();
        if (options_.plant_fault) {
            simulation_ =
                std::make_unique<PlantedFault>(std::move(simulation_), Tick{*options_.plant_fault});
        }
        const auto setup = setup_of(client_.manifest());
        if (!setup) {
            return fail(setup.error());
        }
        if (const Result<void> reset = simulation_->reset(*setup); !reset) {
            return reset;
        }
    }
    if (const net::JoinSnapshot* snapshot = client_.snapshot()) {
        if (const Result<void> loaded = simulation_->load(snapshot->bytes); !loaded) {
            return loaded;
        }
    }
    if (!again) {
        driver_.emplace(*simulation_, source_);
        driver_->add(reporter_);
        if (!options_.evidence_dir.empty()) {
            driver_->add(evidence_.emplace(*simulation_));
        }
        if (const Result<void> started = start_recording(); !started) {
            return started;
        }
    }
    client_.ready(now);
    return {};
}

Result<void> JoinSession::start_recording() {
    if (options_.output.empty()) {
        return {};
    }
    if (simulation_->tick().value != 0) {
        report_.recording_error =
            fmt::format("joined at tick {}: a recording begins at tick 0, nothing was recorded",
                        simulation_->tick().value);
        return {};
    }
    const auto now =
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    auto recorder = replay::Recorder::create(
        options_.output,
        *simulation_,
        {{},
         {{"record.created_utc", fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(now))},
          {"record.source", fmt::format("join {}", options_.server)}}});
    if (!recorder) {
        return fail(recorder.error());
    }
    driver_->add(recorder_.emplace(std::move(*recorder)));
    return {};
}

Result<void> JoinSession::give_inputs(Micros now) {
    if (!client_.has_slot()) {
        return {};
    }
    if (!inputs_) {
        const std::string from =
            options_.from.value_or(fmt::format("bot:{}", options_.bot.value_or(1)));
        auto opened = open_source(entry_, from, client_.slots());
        if (!opened) {
            return fail(opened.error());
        }
        const ByteView neutral = client_.neutral();
        inputs_.emplace(std::move(*opened), client_.slot(), Bytes(neutral.begin(), neutral.end()));
    }
    while (client_.inputs_wanted(now) > 0) {
        const auto input = inputs_->sample(client_.input_tick());
        if (!input) {
            return fail(input.error());
        }
        client_.give_input(*input);
    }
    return {};
}

std::uint64_t JoinSession::target() const {
    const std::optional<std::uint64_t> of_source = inputs_ ? inputs_->ticks() : std::nullopt;
    return options_.ticks.value_or(of_source.value_or(UINT64_MAX));
}

Result<void> JoinSession::play(Micros now) {
    if (!driver_) {
        return {};
    }
    while (simulation_->tick().value < target() && net::monotonic_now() - now < play_budget) {
        const auto advance = driver_->advance(1);
        if (!advance) {
            return fail(advance.error());
        }
        ended_ = ended_ || advance->state == DriverState::ended;
        if (advance->ticks == 0) {
            break;
        }
        donate(now);
    }
    report_.reached = simulation_->tick().value >= target();
    return {};
}

void JoinSession::donate(Micros now) {
    const std::optional<Tick> wanted = client_.snapshot_wanted();
    if (wanted && simulation_->tick() >= *wanted) {
        simulation_->save(snapshot_);
        client_.give_snapshot(now, simulation_->tick(), snapshot_);
    }
}

void JoinSession::keep_ticket() {
    const ClientState state = client_.state();
    if (options_.ticket_file.empty() || state == ClientState::connecting ||
        state == ClientState::closed) {
        return;
    }
    std::string text = ticket_text(client_.ticket());
    if (text == ticket_text_) {
        return;
    }
    // Written beside and renamed: a ticket is there whole, or the one before it.
    const std::string fresh = options_.ticket_file + ".new";
    std::error_code error;
    {
        std::ofstream file(fresh, std::ios::trunc);
        std::filesystem::permissions(
            fresh, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
        file << text << '\n';
        file.close();
        if (!file) {
            error = std::make_error_code(std::errc::io_error);
        }
    }
    if (!error) {
        std::filesystem::rename(fresh, options_.ticket_file, error);
    }
    if (error) {
        Context::note(fmt::format(
            "{}: the ticket cannot be written: {}", options_.ticket_file, error.message()));
    }
    ticket_text_ = std::move(text);
}

void JoinSession::take_verdict() {
    const auto& divergence = client_.divergence();
    const auto& verdict = client_.verdict();
    // Somebody else's wrong state is the server's matter; it says so to them, and in its log.
    const bool concerns_us =
        verdict && (verdict->own || verdict->blame == net::wire::Blame::disputed);
    if (!divergence || !concerns_us) {
        return;
    }
    const bool known =
        std::any_of(report_.divergences.begin(),
                    report_.divergences.end(),
                    [&](const Divergence& other) { return other.tick == divergence->tick; });
    if (known) {
        return;
    }
    report_.divergences.push_back(*divergence);
    if (!evidence_) {
        return;
    }
    std::string side =
        client_.has_slot() ? fmt::format("slot-{}", client_.slot().value) : "spectator";
    const std::string path = (std::filesystem::path(options_.evidence_dir) /
                              fmt::format("{}-tick-{}.evidence", side, divergence->tick.value))
                                 .string();
    if (const Result<void> written = evidence_->write(path, divergence->tick); !written) {
        Context::note(to_string(written.error()));
        return;
    }
    report_.evidence.push_back(path);
}

void JoinSession::show_progress(Micros now) {
    if (!on_terminal() || now - shown_ < net::seconds(1)) {
        return;
    }
    shown_ = now;
    const net::ClientStatus& status = client_.status();
    const std::string line =
        client_.state() == ClientState::playing
            ? fmt::format("tick {}, delay {} ticks, round trip {} ms, {} stalls",
                          status.ticks_received,
                          status.delay_ticks,
                          status.round_trip.value / 1000,
                          status.stalls)
            : fmt::format("{}", client_.waiting_for());
    fmt::print(stderr, "\r\x1b[K{}", printable(line));
    std::fflush(stderr);
}

} // namespace twinstep::tools
