// SPDX-License-Identifier: MIT
// The matches of a server: opened, simulated, recorded, ended; what they say goes to the log.
#pragma once

#include "command.hpp"
#include "serve_log.hpp"
#include "serve_metrics.hpp"
#include "serve_recordings.hpp"
#include "serve_settings.hpp"
#include "serve_workers.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/tools/run.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// What all matches together have done; counters only grow, also when a match is forgotten.
struct MatchTotals {
    net::MatchStatus sum; ///< Counters of all; players and spectators of those that are open.
    std::uint64_t opened = 0;
    std::uint64_t ended = 0;
    std::uint64_t waiting = 0; ///< Open, not begun.
    std::uint64_t running = 0;
    std::uint64_t paused = 0;
    std::uint64_t ending = 0;               ///< Over, not forgotten yet.
    std::uint64_t players_by_state[5] = {}; ///< Indexed by PlayerState.
    std::uint64_t desyncs_peer = 0;
    std::uint64_t desyncs_disputed = 0;
    std::uint64_t recordings_stopped = 0;
    std::uint64_t simulations_failed = 0;
};

/// Adds the counters of one match.
void add_counters(net::MatchStatus& sum, const net::MatchStatus& one);

/// Everything is called on the network's thread.
class Matches final : public net::MatchEvents {
public:
    /// All are borrowed. Without an entry matches are relays; without recordings nothing is
    /// written.
    Matches(const ServeSettings& settings,
            const GameEntry* entry,
            std::map<std::string, std::string> game_config,
            Recordings* recordings,
            Workers& workers,
            Log& log);
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    ~Matches() override;

    /// The host exists only after the matches, which hear its events.
    void attach(net::Host& host) { host_ = &host; }

    /// Opens the next match. Errors: the host's, the game's, and the directory's if a recording is
    /// required.
    Result<void> open();
    /// Simulates an unfinished recording again and offers its match. Errors: the reader's, the
    /// driver's; malformed if the hashes are others.
    Result<void> resume(const std::string& part_path);

    /// Takes what the workers have done.
    void on_work();
    /// Moves ended matches on; opens another if none has room and `may_open`.
    void maintain(net::Micros now, bool may_open);
    /// Ends those that have not begun, or all.
    void end(net::Micros now, bool all, net::CloseReason reason);
    /// Ends one. False: there is no such match.
    bool end(net::Micros now, net::MatchId match);

    /// No more ticks come; every recording is to be closed.
    void finish_all();

    /// All matches have ended.
    bool none_running() const;
    /// All recordings are closed.
    bool all_over() const;

    MatchTotals totals() const;
    Json json() const;

    const Histogram& lateness() const { return lateness_; }

    const Histogram& step_duration() const { return step_duration_; }

    /// Of each live player once a second.
    const Histogram& round_trips() const { return round_trips_; }

    const Histogram& input_margins() const { return input_margins_; }

    // MatchEvents
    void on_closed(net::MatchId match, Tick tick, ByteView frame, net::Micros late) override;
    void on_snapshot_wanted(net::MatchId match, Tick tick) override;
    void on_player(net::MatchId match, Slot slot, net::PlayerState state, Tick tick) override;
    void on_verdict(net::MatchId match, const net::wire::Verdict& verdict) override;
    void on_manifest(net::MatchId match, const Manifest& manifest) override;
    void on_note(net::MatchId match, std::string_view event, std::string_view details) override;

private:
    /// A match that the host knows, or whose recording is not closed yet.
    struct Open {
        net::MatchId id = 0;
        bool simulated = false;
        bool known = false;      ///< To the host.
        bool finishing = false;  ///< The worker was told that no more ticks come.
        bool finished = false;   ///< It has closed the recording.
        bool end_wanted = false; ///< Something went wrong inside a callback.
        bool lost = false;       ///< The simulation cannot follow any more.
        std::optional<net::Micros> ended_at;
        std::string recording; ///< Path of the file, as it is now; empty: none.
        bool recording_stopped = false;
        std::string resumed_from;
    };

    Result<std::unique_ptr<SimulatedMatch>>
    simulate(Open& open, const Setup& setup, const Manifest* expected, Manifest& manifest);
    Result<void> start(std::unique_ptr<Open> open,
                       std::unique_ptr<SimulatedMatch> simulation,
                       net::MatchSettings settings);
    net::MatchSettings match_settings(const Open& open) const;
    void finish(Open& open);
    void sample_players(const net::Match& match);
    void on_done(WorkDone& done);
    bool has_room(net::MatchId match) const;

    const ServeSettings& settings_;
    const GameEntry* entry_;
    std::map<std::string, std::string> game_config_;
    Recordings* recordings_;
    Workers& workers_;
    Log& log_;
    net::Host* host_ = nullptr;
    std::map<net::MatchId, std::unique_ptr<Open>> open_;
    net::MatchId next_id_ = 0;
    MatchTotals past_; ///< Counters of forgotten matches, and of everything that is not a match's.
    Histogram lateness_;
    Histogram step_duration_;
    Histogram round_trips_;
    Histogram input_margins_;
    net::Micros sampled_at_; ///< When the two were added to last.
    std::vector<WorkDone> done_;
};

} // namespace twinstep::tools
