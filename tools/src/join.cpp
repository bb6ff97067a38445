// SPDX-License-Identifier: MIT
// twinstep join: plays in a match of a server, as somebody's recorded inputs or a bot, or watches.
#include "join_session.hpp"
#include "options.hpp"
#include "sources.hpp"
#include "text_file.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/errc.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t key_file_bytes_max = 4096;
/// Where a name has several addresses, each is tried for so long.
constexpr net::Micros try_address = net::seconds(3);

/// What a relay without a session is told: the session that the source was made for, or the least
/// one that two can play.
Setup proposal_of(const JoinOptions& options,
                  const OpenedSource* source,
                  const SimulationInfo& info) {
    const std::uint16_t two = std::max<std::uint16_t>(2, info.slots_min);
    Setup setup =
        source != nullptr && source->setup ? *source->setup : Setup{options.seed, two, {}};
    setup.slots = options.slots.value_or(std::max(setup.slots, two));
    return setup;
}

Result<net::ClientSettings> make_settings(const JoinOptions& options, const GameEntry& entry) {
    net::ClientSettings settings;
    settings.simulation = entry.make()->info();
    settings.neutral = entry.neutral;
    settings.role = options.spectate ? net::Role::spectator : net::Role::player;
    settings.match_id = options.match;
    settings.name = options.name;
    settings.connect_timeout = net::seconds(static_cast<std::int64_t>(options.connect_seconds));
    settings.proposal = proposal_of(options, nullptr, settings.simulation);
    if (options.from) {
        // Opened now, so that a source that cannot be read is known before anybody waits for us.
        const auto opened = open_source(entry, *options.from, settings.proposal.slots);
        if (!opened) {
            return fail(opened.error());
        }
        settings.proposal = proposal_of(options, &*opened, settings.simulation);
    }
    if (!options.key_file.empty()) {
        const auto text = read_text_file(options.key_file, key_file_bytes_max);
        if (!text) {
            return fail(text.error());
        }
        auto key = net::parse_key(*text);
        if (!key) {
            return fail(std::move(key.error()).in(options.key_file));
        }
        settings.key = *key;
    }
    if (!options.ticket_file.empty()) {
        auto ticket = read_ticket(options.ticket_file);
        if (!ticket) {
            return fail(ticket.error());
        }
        settings.ticket = *ticket;
    }
    return settings;
}

/// With a key, encrypted; without one, in plain, which never leaves this machine.
Result<net::wire::Mode> choose_mode(const JoinOptions& options, const net::Address& server) {
    if (!options.key_file.empty()) {
        return net::wire::Mode::room_key;
    }
    if (!net::is_loopback(server)) {
        return fail(Error(net::NetErrc::bad_setting,
                          "--key-file",
                          fmt::format("{} is another machine: give the room's key; plain "
                                      "connections exist on loopback only",
                                      to_string(server))));
    }
    return net::wire::Mode::plain;
}

Exit exit_for(const Error& error) {
    return error.code == net::NetErrc::different_simulation ? Exit::incompatible : Exit::failed;
}

Exit refuse_join(const JoinOptions& options, const Error& error) {
    Error located = error;
    if (located.where.empty()) {
        located.where = options.server;
    }
    Context::note(to_string(located));
    return exit_for(error);
}

Json join_json(const JoinOptions& options, const JoinReport& report, const net::Client& client) {
    const net::ClientStatus& status = client.status();
    Json divergences = Json::array();
    for (const Divergence& divergence : report.divergences) {
        divergences.push_back(to_json(divergence));
    }
    Json object{
        {"ticks", json_integer(report.ticks)},
        {"final_hash", report.final_hash},
        {"slot", client.has_slot() ? Json(client.slot().value) : Json()},
        {"stalls", json_integer(status.stalls)},
        {"stalled_ms", json_integer(static_cast<std::uint64_t>(status.stalled.value / 1000))},
        {"substituted", json_integer(status.substituted)},
        {"delay_ticks", status.delay_ticks},
        {"rtt_ms", static_cast<double>(status.round_trip.value) / 1000.0},
        {"bytes_sent", json_integer(status.bytes_sent)},
        {"bytes_received", json_integer(status.bytes_received)},
        {"closed", net::to_string(client.close_reason())},
        {"divergences", std::move(divergences)},
        {"evidence", report.evidence}};
    if (!options.output.empty()) {
        object["file"] = options.output;
        object["recorded"] = report.recording_error.empty();
    }
    return object;
}

/// True if the connection ended as it should.
bool ended_well(const JoinOptions& options, const JoinReport& report, net::CloseReason reason) {
    const bool said_goodbye =
        reason == net::CloseReason::leaving || reason == net::CloseReason::none;
    const bool over = reason == net::CloseReason::match_ended && !options.ticks;
    return report.reached || said_goodbye || over;
}

Exit finish(Context& context,
            const JoinOptions& options,
            const JoinReport& report,
            const net::Client& client) {
    context.print(join_json(options, report, client));
    const net::ClientStatus& status = client.status();
    context.say(
        fmt::format("{}: {} ticks, {} stalls, delay {} ticks, round trip {} ms, final hash {}",
                    options.server,
                    report.ticks,
                    status.stalls,
                    status.delay_ticks,
                    status.round_trip.value / 1000,
                    report.final_hash));
    for (const Divergence& divergence : report.divergences) {
        Context::note(fmt::format("desync: {}", to_line(divergence)));
    }
    for (const std::string& path : report.evidence) {
        Context::note(fmt::format("{}: this side's state; compare it with the server's: {} diff",
                                  path,
                                  context.program()));
    }
    if (!report.recording_error.empty()) {
        Context::note(fmt::format("{}: {}", options.output, report.recording_error));
    }
    if (!report.divergences.empty()) {
        return Exit::divergence;
    }
    if (!ended_well(options, report, client.close_reason())) {
        return refuse_join(options, client.close_error());
    }
    if (report.ticks == 0) {
        Context::note(fmt::format("{}: no tick was played", options.server));
        return Exit::nothing_checked;
    }
    return report.recording_error.empty() ? Exit::done : Exit::loss;
}

/// Every address of the server in turn, until one answers.
Exit join(Context& context, const JoinOptions& options) {
    const auto entry = context.find_game(options.game);
    if (!entry) {
        return Context::refuse_option(entry.error());
    }
    auto settings = make_settings(options, **entry);
    if (!settings) {
        return Context::refuse_option(settings.error());
    }
    if (!options.output.empty() && std::filesystem::exists(options.output)) {
        return Context::refuse(Error(replay::Errc::already_exists).in(options.output));
    }
    const auto addresses = net::resolve(options.server);
    if (!addresses) {
        const Exit exit = Context::refuse(addresses.error());
        return addresses.error().code == net::NetErrc::bad_setting ? Exit::usage : exit;
    }
    heed_stop_signals();
    for (std::size_t i = 0; i < addresses->size(); ++i) {
        const bool last = i + 1 == addresses->size();
        settings->server = (*addresses)[i];
        const auto mode = choose_mode(options, settings->server);
        if (!mode) {
            Context::note(to_string(mode.error()));
            return Exit::usage;
        }
        settings->mode = *mode;
        net::ClientSettings attempt = *settings;
        attempt.connect_timeout =
            last ? attempt.connect_timeout : std::min(attempt.connect_timeout, try_address);
        auto port = net::UdpPort::open({{net::local_for(settings->server)}});
        auto client = net::Client::create(std::move(attempt), net::system_entropy());
        if (!port || !client) {
            return refuse_join(options, port ? client.error() : port.error());
        }
        JoinSession session(options, **entry, std::move(*port), std::move(*client));
        const auto report = session.run();
        if (!report) {
            return Context::refuse(report.error());
        }
        const bool silent = session.client().close_reason() == net::CloseReason::timed_out &&
                            session.client().status().datagrams_received == 0;
        if (!silent || last) {
            return session.client().status().datagrams_received == 0 || report->final_hash.empty()
                       ? refuse_join(options, session.client().close_error())
                       : finish(context, options, *report, session.client());
        }
    }
    return Exit::failed;
}

void add_options(CLI::App& verb, JoinOptions& options) {
    verb.add_option("server", options.server, "HOST[:PORT]; default port 7777")
        ->required()
        ->check(not_empty());
    verb.add_option("game", options.game, "Game id; see the verb games")->required();
    CLI::Option* from =
        verb.add_option("--from", options.from, "Play the inputs of a SOURCE; see record");
    CLI::Option* bot =
        verb.add_option("--bot", options.bot, "Play as a bot with this seed; default: 1")
            ->transform(whole_number(0, UINT64_MAX));
    CLI::Option* spectate = verb.add_flag("--spectate", options.spectate, "Only watch");
    from->excludes(bot)->excludes(spectate);
    bot->excludes(spectate);
    verb.add_option("--ticks", options.ticks, "Leave after N ticks; default: the source's end")
        ->transform(whole_number(1, UINT64_MAX));
    verb.add_option(
            "--key-file", options.key_file, "File with the room's key, 64 hexadecimal digits")
        ->check(not_empty());
    verb.add_flag("--insecure-loopback",
                  options.insecure_loopback,
                  "In plain, to a server on this machine; the default there without a key")
        ->excludes("--key-file");
    verb.add_option("-o,--output", options.output, "Recording to create; it must not exist")
        ->check(not_empty());
    verb.add_option("--match", options.match, "Match to join; default: any")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--name", options.name, "Name that the others see, at most 32 bytes");
    verb.add_option(
            "--ticket-file", options.ticket_file, "Keeps the ticket by which one comes back")
        ->check(not_empty());
    verb.add_option("--evidence-dir",
                    options.evidence_dir,
                    "Folder for this side's state at the tick of a desync")
        ->check(CLI::ExistingDirectory);
    verb.add_option("--seed", options.seed, "Seed, where a relay has no session yet")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--slots", options.slots, "Slots, where a relay has no session yet")
        ->transform(whole_number(1, net::wire::match_slots_max));
    verb.add_option("--connect-seconds", options.connect_seconds, "How long to try to connect")
        ->transform(whole_number(1, 600))
        ->capture_default_str();
    // Not in the help: it breaks what it is given.
    verb.add_option("--plant-fault", options.plant_fault, "")
        ->transform(whole_number(1, UINT64_MAX))
        ->group("");
}

} // namespace

void declare_join(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "join",
                                  "Play in a match of a server, or watch it",
                                  "twinstep join localhost marine --bot 7 --ticks 2100");
    auto options = std::make_shared<JoinOptions>();
    add_options(verb, *options);
    verb.callback(
        [&action, options] { action = [options](Context& c) { return join(c, *options); }; });
}

} // namespace twinstep::tools
