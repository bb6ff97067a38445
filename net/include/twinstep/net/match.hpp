// SPDX-License-Identifier: MIT
// A match on the server: closes ticks, keeps them, says who is there and whose hash is right.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// Names a match in a process; never 0.
using MatchId = std::uint64_t;
/// Names a peer in a match: an index into its bounded table.
using PeerIndex = std::uint16_t;

/// What is decided when a match is made. Everything is checked by Match::create.
struct MatchSettings {
    MatchId id = 1;
    TickRate tick_rate{60};
    std::uint16_t slots = 2;         ///< 1 to 64.
    std::uint16_t start_players = 2; ///< Ready players with whom tick 0 begins; at most `slots`.
    std::uint16_t spectators_max = 16;
    std::uint16_t input_bytes_max = 64; ///< 1 to 256; slots * (input_bytes_max + 2) <= 1,000.
    Policy policy = Policy::deadline;
    Authority authority = Authority::simulation;
    Filler filler = Filler::repeat_last;
    Micros grace = milliseconds(50);     ///< deadline: 0 to 1 s.
    Micros stall_max = seconds(2);       ///< wait: 0 to 60 s.
    Micros absent_after = seconds(2);    ///< Of substitution.
    Micros rejoin_window = seconds(120); ///< An absent player's slot is kept this long.
    Micros ring = seconds(120);          ///< Closed ticks that are kept for joiners.
    Micros spectator_delay = seconds(10);
    std::uint8_t delay_ticks_min = 1;
    std::uint8_t delay_ticks_max = 30;
    bool equal_delay = false;              ///< One delay for all players, the greatest wanted.
    bool pace_median = false;              ///< Stretch the tick by up to 10 % if most are behind.
    std::uint8_t hash_interval_ticks = 16; ///< 1 to 64.
    std::uint32_t join_bytes_per_s = 256 * 1024;      ///< Of a snapshot, to each joiner.
    std::uint32_t join_bytes_per_s_all = 2048 * 1024; ///< To all joiners together.
    std::uint32_t snapshot_bytes_max = 64U << 20U;
    std::uint32_t spectator_bytes_per_s = 64 * 1024; ///< To each spectator.
    Bytes neutral; ///< The neutral input, at most wire::neutral_bytes_max bytes.
    /// Says whether the game can decode an input; empty: everything is taken. Asked once for each
    /// new input; false ends the connection. Must be pure.
    std::function<bool(ByteView)> accepts_input;
    bool redundancy = true;      ///< Send each tick twice to a player who reports loss.
    bool player_requests = true; ///< Players may pause, resume and change speed and policy.
    Manifest manifest; ///< Of the session; empty in a relay until the first player brings it.
    /// Closed ticks of an earlier process, to be offered again: the match goes on after the last.
    std::vector<Bytes> history;
};

/// Who wants in, after its key or token was found good.
struct Admission {
    Role role = Role::player;
    Hash128 build;
    bool has_ticket = false;
    wire::Random16 ticket{};
    std::string_view name;
    std::uint64_t player_id = 0; ///< From a token; 0: none.
};

/// A peer that was let in.
struct Admitted {
    PeerIndex peer = 0;
    bool has_slot = false;
    Slot slot;
    bool manifest_wanted = false;
    wire::Random16 ticket{};
};

/// What a match tells its owner, from inside its own calls; views are valid during the call. An
/// owner overrides what it needs.
class MatchEvents {
public:
    virtual ~MatchEvents() = default;

    /// A tick is closed. `late` is how long after its due time.
    virtual void on_closed(MatchId match, Tick tick, ByteView frame, Micros late) {
        static_cast<void>(match);
        static_cast<void>(tick);
        static_cast<void>(frame);
        static_cast<void>(late);
    }

    /// Authority::simulation: a snapshot of any state from `tick` on is wanted; see
    /// Match::give_snapshot.
    virtual void on_snapshot_wanted(MatchId match, Tick tick) {
        static_cast<void>(match);
        static_cast<void>(tick);
    }

    virtual void on_player(MatchId match, Slot slot, PlayerState state, Tick tick) {
        static_cast<void>(match);
        static_cast<void>(slot);
        static_cast<void>(state);
        static_cast<void>(tick);
    }

    virtual void on_verdict(MatchId match, const wire::Verdict& verdict) {
        static_cast<void>(match);
        static_cast<void>(verdict);
    }

    /// A relay has its session.
    virtual void on_manifest(MatchId match, const Manifest& manifest) {
        static_cast<void>(match);
        static_cast<void>(manifest);
    }

    /// One line for the log: a snake_case event and its details.
    virtual void on_note(MatchId match, std::string_view event, std::string_view details) {
        static_cast<void>(match);
        static_cast<void>(event);
        static_cast<void>(details);
    }
};

/// Who calls the match when it wants to be called.
class WakeListener {
public:
    virtual ~WakeListener() = default;
    /// next_wake() may say something else from now on; it is to be asked after the match's call.
    virtual void on_wake_changed() = 0;
};

/// How a match is doing; counters only grow.
struct MatchStatus {
    std::uint64_t ticks_closed = 0;
    std::uint64_t substituted_late = 0;   ///< Inputs of players that were heard too late.
    std::uint64_t substituted_absent = 0; ///< Inputs of players that were not heard at all.
    std::uint64_t overruns = 0;           ///< Ticks closed in one go beyond the four allowed.
    std::uint64_t equivocations = 0;      ///< Different inputs for one tick; the first counts.
    std::uint64_t out_of_range = 0;       ///< Inputs for ticks that nobody may speak of yet.
    std::uint64_t inputs_refused = 0;     ///< Inputs that MatchSettings::accepts_input refused.
    std::uint64_t desyncs = 0;            ///< Verdicts.
    std::uint64_t reports_withheld = 0;   ///< Times a player owed hash reports for too long.
    std::uint64_t requests_refused = 0;   ///< Requests beyond a player's budget.
    std::uint64_t snapshots_refused = 0;  ///< Donations whose hash was not the agreed one.
    std::uint64_t snapshots_sent = 0;
    std::uint64_t snapshot_bytes = 0;
    std::uint16_t players = 0; ///< Live or lagging.
    std::uint16_t spectators = 0;
    std::uint32_t speed_per_mille = 1000; ///< Of the tick rate.
    bool started = false;
    bool paused = false;
    bool ended = false;
};

/// The match. Pure: time is given, datagrams are frames in and plaintext out.
/// Thread: one owner. Nothing is allocated per tick or frame in the steady state.
class Match {
public:
    /// Errors: bad_setting, with the key.
    static Result<Match> create(MatchSettings settings, MatchEvents& events, Entropy& entropy);
    Match(Match&&) noexcept;
    Match& operator=(Match&&) noexcept;
    ~Match();

    /// Lets a peer in, or says why not. The seat is kept for 3 s until `connected`.
    tl::expected<Admitted, CloseReason> admit(Micros now, const Admission& admission);
    /// Fills in what ACCEPT says about the match.
    wire::AcceptPayload accept_payload(const Admitted& admitted) const;
    /// The first valid packet of the peer has come: it answers what `admit` allowed.
    void connected(Micros now, PeerIndex peer);
    /// The transport of the peer is gone.
    void disconnected(Micros now, PeerIndex peer, CloseReason reason);

    /// One frame of a peer. Errors: what the peer must be closed for.
    Result<void> receive(Micros now, PeerIndex peer, const wire::Frame& frame);

    /// A hint that a frame of this peer is received soon: fetches its state. Changes nothing.
    void expect(PeerIndex peer) const;

    /// Closes the ticks that are due, moves states and timers on.
    void advance(Micros now);
    /// When advance has something to do.
    Micros next_wake() const;
    /// `listener` is told of every change of next_wake(), whoever makes it; null: nobody. It
    /// outlives the match.
    void listen(WakeListener* listener);

    /// Replaces `plaintext` by the frames of the next packet for this peer; false: nothing is to be
    /// sent now. To be called after advance and after receive until it says false.
    bool compose(Micros now, PeerIndex peer, Bytes& plaintext);
    /// A peer the match wants closed: taken out one by one until none is left.
    bool next_to_close(PeerIndex& peer, CloseReason& reason, std::string& text);

    /// The server's simulation has reached this state. In order, each once.
    void give_hashes(const StateHashes& hashes);
    /// A snapshot that was wanted.
    void give_snapshot(Micros now, Tick tick, ByteView snapshot);

    /// Ends the match with a last tick; peers are closed with `reason`.
    void end(Micros now, CloseReason reason);
    /// An operator's word; events in the tick stream.
    void pause(Micros now);
    void resume(Micros now);

    const MatchSettings& settings() const;
    const MatchStatus& status() const;
    /// The tick that is closed next.
    Tick next_tick() const;
    PlayerState player_state(Slot slot) const;
    /// From the closing of the newest tick that the slot's player has acknowledged to the
    /// acknowledgement: there, back, and up to a tick until its next packet. Nothing if its
    /// connection has acknowledged none of the newest 128.
    std::optional<Micros> round_trip(Slot slot) const;
    /// By how much the player's inputs were early, least of the last 128 ticks; below zero: late.
    /// Nothing if none came.
    std::optional<Micros> input_margin(Slot slot) const;
    /// True until the peer's simulation stands: it may be silent for longer.
    bool is_loading(PeerIndex peer) const;
    /// True while the peer sends a manifest or a snapshot that was asked for, at most
    /// join_bytes_per_s.
    bool expects_upload(PeerIndex peer) const;
    /// Bytes this match holds.
    std::size_t memory_bytes() const;

private:
    struct Impl;
    explicit Match(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::net
