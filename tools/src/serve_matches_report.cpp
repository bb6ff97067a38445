// SPDX-License-Identifier: MIT
// What the matches say of themselves: counters, JSON, events of the log.
#include "serve_matches.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace twinstep::tools {

void add_counters(net::MatchStatus& sum, const net::MatchStatus& one) {
    sum.ticks_closed += one.ticks_closed;
    sum.substituted_late += one.substituted_late;
    sum.substituted_absent += one.substituted_absent;
    sum.overruns += one.overruns;
    sum.equivocations += one.equivocations;
    sum.out_of_range += one.out_of_range;
    sum.desyncs += one.desyncs;
    sum.snapshots_sent += one.snapshots_sent;
    sum.snapshot_bytes += one.snapshot_bytes;
}

MatchTotals Matches::totals() const {
    MatchTotals totals = past_;
    for (const auto& [id, open] : open_) {
        const net::Match* match = open->known ? host_->find_match(id) : nullptr;
        if (match == nullptr) {
            continue;
        }
        const net::MatchStatus& status = match->status();
        add_counters(totals.sum, status);
        totals.sum.players = static_cast<std::uint16_t>(totals.sum.players + status.players);
        totals.sum.spectators =
            static_cast<std::uint16_t>(totals.sum.spectators + status.spectators);
        std::uint64_t& count = status.ended     ? totals.ending
                               : status.paused  ? totals.paused
                               : status.started ? totals.running
                                                : totals.waiting;
        ++count;
        for (std::uint16_t slot = 0; slot < match->settings().slots; ++slot) {
            const net::PlayerState state = match->player_state(Slot{slot});
            ++totals.players_by_state[static_cast<std::size_t>(state)];
        }
    }
    return totals;
}

void Matches::sample_players(const net::Match& match) {
    for (std::uint16_t slot = 0; slot < match.settings().slots; ++slot) {
        if (match.player_state(Slot{slot}) != net::PlayerState::live) {
            continue;
        }
        if (const auto round_trip = match.round_trip(Slot{slot})) {
            round_trips_.add(round_trip->value);
        }
        if (const auto margin = match.input_margin(Slot{slot})) {
            input_margins_.add(margin->value);
        }
    }
}

Json Matches::json() const {
    Json list = Json::array();
    for (const auto& [id, open] : open_) {
        const net::Match* match = open->known ? host_->find_match(id) : nullptr;
        if (match == nullptr) {
            continue;
        }
        const net::MatchStatus& status = match->status();
        Json slots = Json::array();
        for (std::uint16_t slot = 0; slot < match->settings().slots; ++slot) {
            slots.push_back(net::to_string(match->player_state(Slot{slot})));
        }
        list.push_back({{"id", json_integer(id)},
                        {"state",
                         status.ended     ? "ended"
                         : status.paused  ? "paused"
                         : status.started ? "running"
                                          : "waiting"},
                        {"next_tick", json_integer(match->next_tick().value)},
                        {"slots", slots},
                        {"spectators", status.spectators},
                        {"substituted_late", json_integer(status.substituted_late)},
                        {"substituted_absent", json_integer(status.substituted_absent)},
                        {"desyncs", json_integer(status.desyncs)},
                        {"recording", open->recording},
                        {"recording_stopped", open->recording_stopped}});
    }
    return list;
}

void Matches::on_player(net::MatchId match, Slot slot, net::PlayerState state, Tick tick) {
    log_.info("player",
              {{"match", std::to_string(match)},
               {"slot", std::to_string(slot.value)},
               {"state", std::string(net::to_string(state))},
               {"tick", std::to_string(tick.value)}});
}

void Matches::on_verdict(net::MatchId match, const net::wire::Verdict& verdict) {
    const bool peer = verdict.blame == net::wire::Blame::peer;
    ++(peer ? past_.desyncs_peer : past_.desyncs_disputed);
    log_.error("desync",
               {{"match", std::to_string(match)},
                {"verdict", peer ? "peer" : "disputed"},
                {"slot", verdict.has_slot ? std::to_string(verdict.slot.value) : "none"},
                {"tick", std::to_string(verdict.tick)},
                {"section", std::string(verdict.section)}});
    if (!settings_.evidence_dir.empty()) {
        const std::string name = fmt::format("{}-server-{}.evidence", match, verdict.tick);
        const auto path = std::filesystem::path(settings_.evidence_dir) / name;
        workers_.write_evidence(match, Tick{verdict.tick}, path.string());
    }
}

void Matches::on_manifest(net::MatchId match, const Manifest& manifest) {
    const auto id = manifest.find("sim.id");
    log_.info(
        "session_proposed",
        {{"match", std::to_string(match)}, {"simulation", id == manifest.end() ? "" : id->second}});
}

void Matches::on_note(net::MatchId match, std::string_view event, std::string_view details) {
    log_.info(event, {{"match", std::to_string(match)}, {"details", std::string(details)}});
}

} // namespace twinstep::tools
