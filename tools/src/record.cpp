// SPDX-License-Identifier: MIT
// twinstep record: runs a session through the real loop and records it.
#include "command.hpp"
#include "config_file.hpp"
#include "frame_loop.hpp"
#include "options.hpp"
#include "sources.hpp"

#include "twinstep/replay/names.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/replay/signature.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t default_seconds = 60;

struct RecordOptions {
    std::string game;
    std::string output;
    std::string from = "bot:1";
    std::string config;
    std::string frames = "unlimited";
    std::optional<std::uint64_t> seed;
    std::optional<std::uint16_t> slots;
    std::optional<std::uint64_t> ticks;
    replay::Durability durability = replay::Durability::chunk;
    std::uint64_t free_bytes_min = 0;
    std::string sign_key_file;
};

/// The session's set-up: the source's own, or the options'. An option that contradicts the source
/// is refused rather than ignored.
Result<Setup> decide_setup(const RecordOptions& options,
                           const OpenedSource& opened,
                           std::uint16_t default_slots) {
    Setup setup = opened.setup.value_or(Setup{1, options.slots.value_or(default_slots), {}});
    if (options.slots && *options.slots != setup.slots) {
        return fail(Error(SimErrc::wrong_slots,
                          fmt::format("--slots {}", *options.slots),
                          fmt::format("the source has {}; leave the option out", setup.slots)));
    }
    setup.seed = options.seed.value_or(setup.seed);
    if (!options.config.empty()) {
        auto config = read_config_file(options.config);
        if (!config) {
            return fail(config.error());
        }
        for (auto& [key, value] : *config) {
            setup.config[key] = std::move(value);
        }
    }
    return setup;
}

/// Everything a recording session owns.
struct Session {
    std::unique_ptr<Simulation> simulation;
    OpenedSource opened;
    Cadence cadence;
    std::uint64_t ticks_max = 0;
};

Result<Session> open_session(const Context& context, const RecordOptions& options) {
    const auto entry = context.find_game(options.game);
    if (!entry) {
        return fail(entry.error());
    }
    Session session;
    session.simulation = (*entry)->make();
    const SimulationInfo& info = session.simulation->info();
    auto opened = open_source(**entry, options.from, options.slots.value_or(info.slots_min));
    if (!opened) {
        return fail(opened.error());
    }
    session.opened = std::move(*opened);
    auto cadence = Cadence::parse(options.frames);
    if (!cadence) {
        return fail(cadence.error());
    }
    session.cadence = std::move(*cadence);
    const auto setup = decide_setup(options, session.opened, info.slots_min);
    if (!setup) {
        return fail(setup.error());
    }
    if (Result<void> reset = session.simulation->reset(*setup); !reset) {
        return fail(reset.error());
    }
    const std::uint64_t endless = default_seconds * info.tick_rate.num / info.tick_rate.den;
    session.ticks_max = options.ticks.value_or(session.opened.ticks.value_or(endless));
    return session;
}

Exit finish(Context& context,
            const std::string& path,
            Session& session,
            replay::Recorder& recorder,
            const LoopReport& loop) {
    const Result<void> closed = recorder.close();
    const replay::RecorderStatus status = recorder.status();
    if (!closed) {
        return Context::refuse(closed.error());
    }
    const std::string final_hash = to_hex(session.simulation->hash().state);
    context.print({{"file", path},
                   {"ticks", json_integer(status.ticks)},
                   {"final_hash", final_hash},
                   {"chain", to_hex(status.chain)},
                   {"bytes", json_integer(status.bytes)},
                   {"frames", json_integer(loop.frames)},
                   {"dropped_ticks", json_integer(loop.dropped_ticks)},
                   {"loss", session.opened.loss}});
    context.say(fmt::format(
        "{}: {} ticks, {} bytes, {} frames, {} ticks dropped by the timer, final hash {}",
        path,
        status.ticks,
        status.bytes,
        loop.frames,
        loop.dropped_ticks,
        final_hash));
    if (!session.opened.remark.empty()) {
        Context::note(session.opened.remark);
    }
    if (!session.opened.loss.empty()) {
        Context::note(session.opened.loss);
        return Exit::loss;
    }
    if (status.ticks == 0) {
        Context::note(fmt::format("{}: no tick was recorded", path));
        return Exit::nothing_checked;
    }
    return Exit::done;
}

/// No key without a file for it.
Result<std::shared_ptr<const replay::SigningKey>> read_signing_key(const std::string& path) {
    if (path.empty()) {
        return std::shared_ptr<const replay::SigningKey>();
    }
    auto key = replay::SigningKey::read(path);
    if (!key) {
        return fail(key.error());
    }
    return std::make_shared<const replay::SigningKey>(std::move(*key));
}

/// True if a file in this directory is meant, whose name is ours to choose.
bool names_directory(const std::string& output) {
    std::error_code ignored;
    return output.empty() || output.ends_with('/') ||
           std::filesystem::is_directory(std::u8string(output.begin(), output.end()), ignored);
}

/// A recorder and where it records to.
struct OpenedRecorder {
    std::string path;
    replay::Recorder recorder;
};

/// Errors: those of Recorder::create and create_named_recording.
Result<OpenedRecorder> create_recorder(const RecordOptions& options, Simulation& simulation) {
    const auto now =
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    auto signing_key = read_signing_key(options.sign_key_file);
    if (!signing_key) {
        return fail(signing_key.error());
    }
    replay::RecorderOptions wanted{
        .notes = {{"record.created_utc", fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(now))},
                  {"record.source", options.from}},
        .durability = options.durability,
        .when_full = replay::WhenFull::wait, // No clock drives this session.
        .free_bytes_min = options.free_bytes_min,
        .signing_key = std::move(*signing_key)};
    std::string path = options.output;
    Result<replay::Recorder> recorder = fail(Error());
    if (names_directory(options.output)) {
        auto named = replay::create_named_recording(options.output, now.time_since_epoch().count());
        if (!named) {
            return fail(named.error());
        }
        path = named->path;
        wanted.session = named->session;
        recorder = replay::Recorder::create(std::move(named->sink), path, simulation, wanted);
        if (!recorder) {
            std::error_code ignored;
            std::filesystem::remove(std::u8string(path.begin(), path.end()), ignored);
        }
    } else {
        recorder = replay::Recorder::create(path, simulation, wanted);
    }
    if (!recorder) {
        return fail(recorder.error());
    }
    return OpenedRecorder{std::move(path), std::move(*recorder)};
}

Exit record(Context& context, const RecordOptions& options) {
    auto session = open_session(context, options);
    if (!session) {
        return Context::refuse_option(session.error());
    }
    auto opened = create_recorder(options, *session->simulation);
    if (!opened) {
        return Context::refuse(opened.error());
    }
    replay::Recorder& recorder = opened->recorder;
    Driver driver(*session->simulation, *session->opened.source);
    driver.add(recorder);
    const auto loop = run_loop(driver, session->cadence, {.ticks_max = session->ticks_max});
    if (!loop) {
        static_cast<void>(recorder.close());
        return Context::refuse(loop.error());
    }
    return finish(context, opened->path, *session, recorder, *loop);
}

/// All forms of sources that any of the games takes.
std::string source_forms(const std::vector<GameEntry>& games) {
    std::string forms = "bot:SEED, ndjson:FILE";
    for (const GameEntry& entry : games) {
        for (const std::string& form : entry.source_forms) {
            forms += ", " + form;
        }
    }
    return forms;
}

} // namespace

void declare_record(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "record",
                                  "Run a session and record it",
                                  "twinstep record marine -o bot.twin --from bot:7 --ticks 2100");
    auto options = std::make_shared<RecordOptions>();
    verb.add_option("game", options->game, "Game id; see the verb games")->required();
    verb.add_option("-o,--output",
                    options->output,
                    "File to create, which must not exist, or a directory, where it gets a name of "
                    "its time and session; default: the current one")
        ->check(not_empty());
    verb.add_option("--from",
                    options->from,
                    fmt::format("Source of the inputs: {}", source_forms(context.games())))
        ->capture_default_str();
    verb.add_option("--seed", options->seed, "Seed of the session; default: the source's, or 1")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--slots", options->slots, "Slots; default: the source's, or the game's least")
        ->transform(whole_number(0, UINT16_MAX));
    verb.add_option(
            "--ticks", options->ticks, "Stop after N ticks; default: the source's end, or 60 s")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--config", options->config, "File of key = value lines for the game")
        ->check(not_empty());
    verb.add_option("--frames",
                    options->frames,
                    "When frames are drawn: N, unlimited, jitter:SEED, counts:FILE")
        ->capture_default_str();
    const std::map<std::string, replay::Durability> levels{{"process", replay::Durability::process},
                                                           {"chunk", replay::Durability::chunk},
                                                           {"tick", replay::Durability::tick}};
    verb.add_option(
            "--durability",
            options->durability,
            "What survives a loss of power: process (what the system wrote), chunk (all but "
            "the last ten seconds), tick")
        ->transform(CLI::Transformer(levels).description("{process,chunk,tick}"));
    verb.add_option("--min-free",
                    options->free_bytes_min,
                    "Stop recording, not the session, when fewer bytes are free on the disk")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--sign-key-file",
                    options->sign_key_file,
                    "Secret key, as keygen makes it: sign each chunk as it ends")
        ->check(not_empty());
    verb.callback(
        [&action, options] { action = [options](Context& c) { return record(c, *options); }; });
}

} // namespace twinstep::tools
