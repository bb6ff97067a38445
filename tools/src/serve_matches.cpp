// SPDX-License-Identifier: MIT
// Opens, feeds and ends the matches of a server.
#include "serve_matches.hpp"

#include "twinstep/net/udp_port.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/sim/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

namespace twinstep::tools {

namespace {

/// An ended match is kept for so long, so that the last datagrams reach everybody.
constexpr net::Micros farewell = net::seconds(2);
constexpr net::Micros sample_period = net::seconds(1);

/// A round trip over a continent is below 0.1 s; beyond 0.3 s the input delay reaches its end.
constexpr std::array<std::int64_t, 12> round_trip_bounds_ms{
    5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000};
/// What is late by less than the grace, 50 ms unless set, is not substituted.
constexpr std::array<std::int64_t, 13> input_margin_bounds_ms{
    -200, -100, -50, -20, -10, 0, 5, 10, 20, 50, 100, 200, 500};

std::uint64_t unix_seconds() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

std::uint64_t drawn_seed() {
    std::array<std::byte, 8> bytes{};
    net::system_entropy().fill(bytes);
    std::uint64_t seed = 0;
    for (const std::byte byte : bytes) {
        seed = seed << 8U | static_cast<std::uint64_t>(byte);
    }
    return seed;
}

} // namespace

Matches::Matches(const ServeSettings& settings,
                 const GameEntry* entry,
                 std::map<std::string, std::string> game_config,
                 Recordings* recordings,
                 Workers& workers,
                 Log& log)
    : settings_(settings)
    , entry_(entry)
    , game_config_(std::move(game_config))
    , recordings_(recordings)
    , workers_(workers)
    , log_(log)
    // Ids of a later process are greater, so a client that comes back cannot meet another match.
    , next_id_(unix_seconds() << 20U)
    , round_trips_(round_trip_bounds_ms)
    , input_margins_(input_margin_bounds_ms) {}

Matches::~Matches() = default;

net::MatchSettings Matches::match_settings(const Open& open) const {
    net::MatchSettings match = settings_.match;
    match.id = open.id;
    if (entry_ != nullptr) {
        match.neutral = entry_->neutral;
        match.accepts_input = entry_->accepts;
    }
    return match;
}

Result<std::unique_ptr<SimulatedMatch>>
Matches::simulate(Open& open, const Setup& setup, const Manifest* expected, Manifest& manifest) {
    std::unique_ptr<Simulation> simulation = entry_->make();
    if (Result<void> reset = simulation->reset(setup); !reset) {
        return fail(reset.error());
    }
    manifest = make_manifest(simulation->info(), simulation->setup());
    if (expected != nullptr) {
        if (const auto differences = incompatibilities(*expected, manifest); !differences.empty()) {
            const ManifestDifference& first = differences.front();
            return fail(
                Error(net::NetErrc::different_simulation,
                      first.key,
                      fmt::format("recorded {}, this build has {}", first.expected, first.actual)));
        }
    }
    const bool must_record = settings_.record_required || expected != nullptr;
    std::optional<replay::Recorder> recorder;
    if (recordings_ != nullptr) {
        Result<NewRecording> file = recordings_->create();
        Result<replay::Recorder> made =
            file ? replay::Recorder::create(std::move(file->sink),
                                            file->path,
                                            *simulation,
                                            {file->session,
                                             {{"record.match_id", std::to_string(open.id)},
                                              {"record.source", "twinstep serve"}}})
                 : fail(file.error());
        if (made) {
            open.recording = file->path;
            recorder = std::move(*made);
        } else if (must_record) {
            return fail(made.error());
        } else {
            ++past_.recordings_stopped;
            log_.error("recording_not_started",
                       {{"match", std::to_string(open.id)}, {"error", to_string(made.error())}});
        }
    }
    open.simulated = true;
    return std::make_unique<SimulatedMatch>(
        std::move(simulation),
        SimulatedMatch::Options{std::move(recorder),
                                !settings_.evidence_dir.empty(),
                                settings_.match.authority == net::Authority::simulation});
}

Result<void> Matches::start(std::unique_ptr<Open> open,
                            std::unique_ptr<SimulatedMatch> simulation,
                            net::MatchSettings settings) {
    const Tick next{settings.history.size()};
    if (Result<net::Match*> match = host_->open_match(std::move(settings)); !match) {
        simulation.reset();
        if (!open->recording.empty()) {
            recordings_->discard(open->recording);
        }
        return fail(match.error());
    }
    open->known = true;
    log_.info("match_opened",
              {{"match", std::to_string(open->id)},
               {"tick", std::to_string(next.value)},
               {"recording", open->recording}});
    if (simulation) {
        workers_.add(open->id, std::move(simulation));
    }
    ++past_.opened;
    open_.emplace(open->id, std::move(open));
    return {};
}

Result<void> Matches::open() {
    auto open = std::make_unique<Open>();
    open->id = ++next_id_;
    net::MatchSettings match = match_settings(*open);
    const net::MatchId id = open->id;
    StateHashes beginning;
    std::unique_ptr<SimulatedMatch> simulation;
    if (entry_ != nullptr) {
        const Setup setup{
            settings_.seed ? *settings_.seed : drawn_seed(), settings_.slots, game_config_};
        auto made = simulate(*open, setup, nullptr, match.manifest);
        if (!made) {
            return fail(made.error());
        }
        simulation = std::move(*made);
        beginning = simulation->hashes();
    }
    const bool has_hashes = simulation && match.authority == net::Authority::simulation;
    if (Result<void> started = start(std::move(open), std::move(simulation), std::move(match));
        !started) {
        return started;
    }
    if (has_hashes) {
        host_->find_match(id)->give_hashes(beginning);
    }
    return {};
}

namespace {

/// The ticks of a recording, stepped through the simulation again, every hash compared.
Result<void> play_again(replay::Reader& reader,
                        SimulatedMatch& simulation,
                        std::vector<Bytes>& history,
                        std::vector<Hash128>& hashes) {
    while (true) {
        const Result<replay::Record> record = reader.next();
        if (!record) {
            return fail(record.error());
        }
        if (record->kind == replay::RecordKind::end) {
            return {};
        }
        if (record->kind != replay::RecordKind::tick) {
            continue;
        }
        if (record->tick.hash != replay::short_hash(simulation.hashes().state)) {
            return fail(Error(SimErrc::malformed,
                              fmt::format("tick {}", record->tick.tick.value),
                              "the simulation's hash is not the recorded one"));
        }
        const ByteView encoded = record->tick.encoded;
        history.emplace_back(encoded.begin(), encoded.end());
        if (Result<void> stepped = simulation.step(encoded); !stepped) {
            return stepped;
        }
        hashes.push_back(simulation.hashes().state);
    }
}

} // namespace

Result<void> Matches::resume(const std::string& part_path) {
    Result<replay::Reader> reader = replay::Reader::open(part_path, replay::ReadMode::prefix);
    if (!reader) {
        return fail(reader.error());
    }
    const Manifest& recorded = reader->manifest();
    const Result<Setup> setup = setup_of(recorded);
    if (!setup) {
        return fail(Error(setup.error()).in(part_path));
    }
    auto open = std::make_unique<Open>();
    open->id = ++next_id_;
    if (const auto id = recorded.find("record.match_id"); id != recorded.end()) {
        open->id = std::strtoull(id->second.c_str(), nullptr, 10);
    }
    open->resumed_from = part_path;
    net::MatchSettings match = match_settings(*open);
    match.slots = setup->slots;
    match.start_players = std::min(match.start_players, match.slots);
    auto simulation = simulate(*open, *setup, &recorded, match.manifest);
    if (!simulation) {
        return fail(Error(simulation.error()).in(part_path));
    }
    const std::string recording = open->recording;
    std::vector<Hash128> hashes{(*simulation)->hashes().state};
    if (Result<void> played = play_again(*reader, **simulation, match.history, hashes); !played) {
        simulation->reset();
        recordings_->discard(recording);
        return fail(Error(played.error()).in(part_path));
    }
    const std::uint64_t ticks = match.history.size();
    const StateHashes last = (*simulation)->hashes();
    const net::MatchId id = open->id;
    if (Result<void> started = start(std::move(open), std::move(*simulation), std::move(match));
        !started) {
        return started;
    }
    net::Match& resumed = *host_->find_match(id);
    for (std::uint64_t tick = 0; tick <= ticks; ++tick) {
        StateHashes state = tick == ticks ? last : StateHashes{};
        state.tick = Tick{tick};
        state.state = hashes[tick];
        resumed.give_hashes(state);
    }
    log_.info("match_resumed",
              {{"match", std::to_string(id)},
               {"ticks", std::to_string(ticks)},
               {"from", part_path},
               {"state", replay::to_string(reader->state())}});
    return recordings_->set_aside(part_path);
}

void Matches::finish(Open& open) {
    if (!open.finishing) {
        open.finishing = true;
        if (open.simulated) {
            workers_.finish(open.id);
        } else {
            open.finished = true;
        }
    }
}

void Matches::on_work() {
    done_.clear();
    workers_.take(done_);
    for (WorkDone& done : done_) {
        on_done(done);
    }
}

void Matches::on_done(WorkDone& done) {
    const auto found = open_.find(done.match);
    if (found == open_.end()) {
        return;
    }
    Open& open = *found->second;
    const std::string id = std::to_string(done.match);
    net::Match* match = open.known ? host_->find_match(done.match) : nullptr;
    switch (done.kind) {
    case WorkDone::Kind::stepped:
        step_duration_.add(done.took.value);
        if (match != nullptr && settings_.match.authority == net::Authority::simulation) {
            match->give_hashes(done.hashes);
        }
        break;
    case WorkDone::Kind::snapshot:
        if (match != nullptr) {
            match->give_snapshot(net::monotonic_now(), done.hashes.tick, done.snapshot);
        }
        break;
    case WorkDone::Kind::evidence:
        if (done.error.code) {
            log_.warn("evidence_not_written", {{"match", id}, {"error", to_string(done.error)}});
        } else {
            log_.info("evidence_written", {{"match", id}, {"file", done.path}});
        }
        break;
    case WorkDone::Kind::recording_stopped:
        ++past_.recordings_stopped;
        open.recording_stopped = true;
        open.end_wanted = open.end_wanted || settings_.record_required;
        log_.error("recording_stopped", {{"match", id}, {"error", to_string(done.error)}});
        break;
    case WorkDone::Kind::failed:
        ++past_.simulations_failed;
        open.lost = true;
        open.end_wanted = true;
        log_.error("simulation_failed", {{"match", id}, {"error", to_string(done.error)}});
        break;
    case WorkDone::Kind::finished:
        open.finished = true;
        if (done.error.code && !open.recording_stopped) {
            log_.error("recording_stopped", {{"match", id}, {"error", to_string(done.error)}});
        }
        if (!open.recording.empty() && done.hashes.tick == Tick{0}) {
            // Nobody came: a file without a tick proves nothing.
            recordings_->discard(open.recording);
            open.recording.clear();
        } else if (!open.recording.empty()) {
            const Result<std::string> named = recordings_->finish(open.recording);
            log_.info("recording_closed",
                      {{"match", id},
                       {"recording", named ? *named : open.recording},
                       {"final_hash", to_hex(done.hashes.state)}});
            open.recording = named ? *named : open.recording;
        }
        break;
    }
}

bool Matches::has_room(net::MatchId id) const {
    const net::Match* match = host_->find_match(id);
    if (match == nullptr || match->status().ended) {
        return false;
    }
    for (std::uint16_t slot = 0; slot < match->settings().slots; ++slot) {
        if (match->player_state(Slot{slot}) == net::PlayerState::empty) {
            return true;
        }
    }
    return false;
}

void Matches::maintain(net::Micros now, bool may_open) {
    const bool sampling = now - sampled_at_ >= sample_period;
    sampled_at_ = sampling ? now : sampled_at_;
    std::size_t alive = 0;
    bool room = false;
    for (auto at = open_.begin(); at != open_.end();) {
        Open& open = *at->second;
        net::Match* match = open.known ? host_->find_match(open.id) : nullptr;
        if (match != nullptr && open.end_wanted && !match->status().ended) {
            match->end(now, net::CloseReason::going_down);
            open.end_wanted = false;
        }
        if (sampling && match != nullptr && match->status().started && !match->status().paused) {
            sample_players(*match);
        }
        if (match != nullptr && match->status().ended && !open.ended_at) {
            open.ended_at = now;
            ++past_.ended;
            log_.info("match_ended",
                      {{"match", std::to_string(open.id)},
                       {"ticks", std::to_string(match->status().ticks_closed)}});
            finish(open);
        }
        if (match != nullptr && open.ended_at && now - *open.ended_at >= farewell) {
            add_counters(past_.sum, match->status());
            host_->close_match(open.id);
            open.known = false;
        }
        if (!open.known && open.finished) {
            at = open_.erase(at);
            continue;
        }
        alive += open.ended_at ? 0U : 1U;
        room = room || has_room(open.id);
        ++at;
    }
    const bool last = settings_.exit_when_empty && past_.ended != 0;
    const bool more = !last && (settings_.matches == 0 || past_.opened < settings_.matches);
    if (may_open && !room && alive < settings_.max_matches && more) {
        if (Result<void> opened = open(); !opened) {
            log_.error("match_not_opened", {{"error", to_string(opened.error())}});
        }
    }
}

void Matches::end(net::Micros now, bool all, net::CloseReason reason) {
    for (auto& [id, open] : open_) {
        net::Match* match = open->known ? host_->find_match(id) : nullptr;
        if (match != nullptr && !match->status().ended && (all || !match->status().started)) {
            match->end(now, reason);
        }
    }
}

bool Matches::end(net::Micros now, net::MatchId id) {
    const auto found = open_.find(id);
    net::Match* match =
        found != open_.end() && found->second->known ? host_->find_match(id) : nullptr;
    if (match == nullptr || match->status().ended) {
        return false;
    }
    log_.info("match_end_ordered", {{"match", std::to_string(id)}});
    match->end(now, net::CloseReason::match_ended);
    return true;
}

void Matches::finish_all() {
    for (auto& [id, open] : open_) {
        finish(*open);
    }
}

bool Matches::none_running() const {
    return std::all_of(open_.begin(), open_.end(), [](const auto& entry) {
        return entry.second->ended_at.has_value();
    });
}

bool Matches::all_over() const {
    return std::all_of(
        open_.begin(), open_.end(), [](const auto& entry) { return entry.second->finished; });
}

void Matches::on_closed(net::MatchId match, Tick, ByteView frame, net::Micros late) {
    lateness_.add(late.value);
    const auto found = open_.find(match);
    if (found == open_.end() || !found->second->simulated) {
        return;
    }
    Open& open = *found->second;
    if (!open.finishing && !open.lost && !workers_.push(match, frame)) {
        open.lost = true;
        open.end_wanted = true;
        log_.error("simulation_too_slow", {{"match", std::to_string(match)}});
    }
}

void Matches::on_snapshot_wanted(net::MatchId match, Tick tick) {
    workers_.want_snapshot(match, tick);
}

} // namespace twinstep::tools
