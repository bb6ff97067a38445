// SPDX-License-Identifier: MIT
// The inside of a match: what its parts share. Each match_*.cpp holds one concern.
#pragma once

#include "desync_search.hpp"
#include "hash_votes.hpp"
#include "player_table.hpp"
#include "tick_ring.hpp"
#include "tick_timeline.hpp"

#include "twinstep/net/blob.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/sim/frame.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// Something that becomes an event of a tick. Text is a copy: the cause may be gone by then.
struct ScheduledEvent {
    enum class What : std::uint8_t {
        join,
        leave,
        absent,
        present,
        pause,
        resume,
        speed,
        policy,
        delay,
        end
    };

    std::uint64_t tick = 0; ///< Earliest.
    What what{};
    std::uint16_t slot = 0;
    std::uint32_t value = 0;
};

/// When a tick was closed.
struct Closing {
    std::uint64_t tick_and_one = 0;
    Micros at;
};

/// A frame that goes out several times, since nobody acknowledges it.
struct Announcement {
    Bytes frame;
    std::uint8_t left = 0;
};

/// A snapshot that joiners may share.
struct HeldSnapshot {
    std::uint64_t tick = 0;
    bool has_chain = false; ///< Not before the hashes of that state were given.
    std::uint64_t chain = 0;
    std::shared_ptr<const Bytes> bytes;
};

/// A relay's way to a snapshot: one player gives it, the others vouch for it.
struct Donation {
    bool active = false;
    PeerIndex donor = 0;
    std::uint64_t wanted = 0; ///< State that is asked for.
    Micros until = never;     ///< Patience for the offer, later for the vouchers.
    Micros ask_at = never;
    bool offered = false;
    std::uint64_t tick = 0; ///< State of the offer.
    std::uint64_t chain = 0;
    bool has_state = false;
    Hash128 state; ///< Of the bytes that have arrived.
    std::shared_ptr<const Bytes> bytes;
    std::uint64_t owing = 0;
    std::uint64_t answered = 0;
    std::vector<Hash128> answers;
};

/// What is adapted to the players.
struct Pace {
    std::uint32_t delay = 0; ///< equal_delay: of all players.
    Micros changed;
    std::uint64_t settled_at = 0; ///< Margins of before the change do not count.
    Micros behind_since = never;  ///< pace_median: most are behind.
};

/// Checks everything a match can be given. Errors: bad_setting with the key and what is allowed.
Result<void> check_settings(const MatchSettings& settings);

struct Match::Impl {
    using What = ScheduledEvent::What;

    static constexpr Micros seat_kept = seconds(3);
    static constexpr Micros keep_alive = milliseconds(100);
    static constexpr std::uint64_t closes_max = 4;       ///< Ticks in one advance.
    static constexpr std::uint64_t join_lead_ticks = 8;  ///< On top of the greatest delay.
    static constexpr std::uint64_t near_ticks = 4;       ///< A joiner so near is through.
    static constexpr std::uint64_t recovered_ticks = 64; ///< lagging -> live.

    Impl(MatchSettings given, MatchEvents& owner, Entropy& random);

    // match_session.cpp: what is played
    /// Sizes everything for a session of `count` slots.
    void begin_session(std::uint16_t count);
    /// Empties the ring; `next` is closed next.
    void configure_ring(std::uint64_t next);
    void take_history();
    /// A relay's session from a player's proposal. False: it is not usable.
    bool take_manifest(Micros now, const Hash128& bringer, ByteView blob);
    void replay_event(const TickFrame& past, const Event& event);

    // match_peers.cpp: admission, seats, connections
    tl::expected<Admitted, CloseReason> admit(Micros now, const Admission& admission);
    tl::expected<std::uint16_t, CloseReason> seat_for(const Admission& admission);
    wire::AcceptPayload accept_payload(const Admitted& admitted) const;
    void connected(Micros now, PeerIndex index);
    void disconnected(Micros now, PeerIndex index, CloseReason reason);
    void close_peer(Peer& peer, CloseReason reason, std::string_view text = {});
    void lose_seat(Micros now, Seat& seat, std::uint16_t slot, CloseReason reason);
    void check_peers(Micros now);
    void set_state(std::uint16_t slot, PlayerState state);
    void empty_seat(std::uint16_t slot);
    bool next_to_close(PeerIndex& index, CloseReason& reason, std::string& text);

    // match_receive.cpp: frames of peers
    void expect(PeerIndex index) const;
    Result<void> receive(Micros now, PeerIndex index, const wire::Frame& frame);
    Result<void> on_inputs(Micros now, Peer& peer, ByteView body);
    Result<void> on_runs(Micros now, Peer& peer, const wire::Inputs& inputs);
    Result<void> on_input(Micros now, std::uint16_t slot, std::uint64_t tick, ByteView value);
    Result<void> on_request(Micros now, Peer& peer, ByteView body);

    // match_ticks.cpp: closing
    void advance(Micros now);
    void begin(Micros now);
    void open_tick();
    std::uint64_t missing() const;
    bool owes(const Seat& seat, std::uint64_t tick) const;
    Micros closing_time(std::uint64_t missing_slots) const;
    void close_due(Micros now);
    void close_tick(Micros now);
    /// Nobody has spoken in this seat yet: repeating the last input means the neutral one.
    void hold_neutral(Seat& seat);
    void fill_slot(Micros now, std::uint16_t slot);
    void after_close(Micros now);
    void check_seats(Micros now, std::uint64_t closed);
    bool deserted() const;
    void check_standing(Micros now);
    /// Waited for beyond the grace; 0: nobody.
    std::uint64_t stalled_slots(Micros now) const;
    void check_stall(Micros now);

    // match_events.cpp: the schedule
    void schedule(What what, std::uint64_t tick, std::uint16_t slot = 0, std::uint32_t value = 0);
    bool cancel(What what, std::uint16_t slot);
    bool scheduled(What what, std::uint16_t slot) const;
    /// Moves the events that are due into the open frame, as far as it has room.
    void apply_events();
    void apply(const ScheduledEvent& event);
    bool write(const ScheduledEvent& event);
    void request_pause(Micros now);
    void request_resume(Micros now);
    void end(Micros now, CloseReason reason);

    // match_pace.cpp: what a tick is worth
    void begin_pace(Micros now);
    void look_at_pace(Micros now);
    void adapt_delay(Micros now);
    void adapt_stretch(Micros now);
    void set_delay(Micros now, std::uint32_t ticks);

    // match_joins.cpp: how a peer gets to the edge
    void settle(Micros now, Peer& peer);
    bool give_base(Micros now, Peer& peer);
    void follow(Micros now, Peer& peer);
    void try_join(Micros now, Peer& peer);

    void need_snapshot(Peer& peer);
    void resync(Micros now, Peer& peer);

    // match_snapshots.cpp: what joiners begin from
    void send_blob(Micros now,
                   Peer& peer,
                   wire::BlobKind kind,
                   std::uint64_t tick,
                   std::uint64_t chain,
                   std::shared_ptr<const Bytes> bytes);
    void serve_snapshot(Micros now, Peer& peer);
    bool is_usable(const Peer& peer) const;
    void want_snapshot(Micros now);
    void give_snapshot(Tick tick, ByteView bytes);
    void check_transfer(Micros now, Peer& peer);
    void check_upload(Micros now, Peer& peer);
    Result<void> on_blob(Micros now, Peer& peer, const wire::Frame& in);
    void on_blob_complete(Micros now, Peer& peer);

    // match_donors.cpp: a relay's snapshots
    void ask_donor(Micros now);
    void advance_donation(Micros now);
    void on_donor_hash(std::uint16_t slot, const wire::HashAnswer& answer);
    bool take_donation(Micros now);
    void refuse_donation(std::string_view why);
    std::uint64_t voters() const;

    // match_hashes.cpp: reports and verdicts
    void on_report(Micros now, std::uint16_t slot, std::uint64_t tick, std::uint32_t hash);
    void compare(Micros now, std::uint16_t slot, std::uint64_t tick, std::uint32_t hash);
    std::uint64_t owing_reports(std::uint64_t tick) const;
    void count_votes(Micros now, VoteTable::Entry& entry, std::uint16_t slot);
    void give_hashes(const StateHashes& hashes);
    Result<void> on_hash_answer(Peer& peer, ByteView body);
    Result<void> on_section_answer(Peer& peer, ByteView body);
    void advance_search(Micros now);
    void conclude(const Finding& finding);
    void announce(const wire::Verdict& verdict);
    void repeat_announcements(Micros now);
    void check_silence();

    // match_compose.cpp: packets
    bool compose(Micros now, PeerIndex index, Bytes& plaintext);
    void start_turn(Micros now, Peer& peer);
    void send_again();
    bool is_sent_twice(Micros now, const Peer& peer) const;
    void add_ticks(Micros now, Peer& peer, Bytes& plaintext);
    void add_stall(Micros now, const Peer& peer, Bytes& plaintext) const;
    std::uint64_t edge_of(const Peer& peer) const;
    /// The cached time, or a new look at everybody. Too early is harmless, too late is not: every
    /// change makes it stale but a plain INPUTS, which can only make the open tick complete.
    Micros next_wake() const;
    Micros find_wake() const;

    /// The time of the wake-up is not known any more.
    void touch() {
        if (!wake_stale) {
            wake_stale = true;
            tell_listener();
        }
    }

    void tell_listener() const {
        if (listener != nullptr) {
            listener->on_wake_changed();
        }
    }

    Result<void> receive_counted(Micros now, PeerIndex index, const wire::Frame& in);
    std::size_t memory_bytes() const;

    /// Appends a small frame to the peer's next packet, if it has room.
    template <class Encode>
    void push(Peer& peer, Encode&& encode) {
        const std::size_t before = peer.frames.size();
        encode(peer.frames);
        if (peer.frames.size() > wire::plaintext_bytes_max) {
            peer.frames.resize(before); // It is asked or said again.
        }
    }

    std::uint64_t next() const { return timeline.next().value; }

    Seat* seat_of(const Peer& peer) { return peer.has_slot ? &seats[peer.slot.value] : nullptr; }

    const Seat* seat_of(const Peer& peer) const {
        return peer.has_slot ? &seats[peer.slot.value] : nullptr;
    }

    bool is_following(const Peer& peer) const { return peer.phase == PeerPhase::following; }

    MatchSettings settings;
    MatchEvents& events;
    Entropy& entropy;
    MatchStatus status;

    bool has_session = false;
    std::uint16_t slots = 0;
    Hash128 build;
    std::shared_ptr<const Bytes> manifest_blob; ///< Neutral input and encoded manifest.

    TickTimeline timeline;
    TickRing ring;
    std::array<Closing, wire::window_ticks_max> closings{}; ///< Of the newest ticks, by number.
    BundleCache cache;
    std::vector<Seat> seats;
    std::vector<Peer> peers;
    std::size_t to_close = 0; ///< Peers that next_to_close has not taken out yet.

    TickFrame frame; ///< The open tick: events are in it, inputs come when it is closed.
    Bytes encoded;
    std::size_t event_bytes = 0;     ///< Of the open frame.
    std::size_t event_bytes_max = 0; ///< What a TICKS body has room for.
    std::vector<ScheduledEvent> agenda;

    // Joins.
    ByteBudget join_budget;
    std::optional<HeldSnapshot> held;
    bool snapshot_asked = false;
    Micros snapshot_asked_at;
    Donation donation;

    // Hashes.
    static constexpr std::size_t announcements_max = 32;
    HashHistory history;
    VoteTable votes;
    DesyncSearch search;
    bool has_agreed = false;
    std::uint64_t agreed_tick = 0;
    std::uint32_t agreed_hash = 0;
    bool disputed = false;
    std::uint64_t disputed_by = 0; ///< Who owed reports at the last dispute.
    std::vector<Announcement> announcements;
    Micros announce_at = never;

    Pace pace;
    Micros again_at = never; ///< When those who are sent each tick twice get it again.
    WakeListener* listener = nullptr;
    mutable bool wake_stale = true;
    mutable Micros wake = never;
    Micros now_;              ///< Of the call that is under way.
    bool clock_known = false; ///< There was a first advance.
    Policy policy = Policy::deadline;
    bool pause_wanted = false; ///< The open tick is the last before a pause.
    bool stalling = false;     ///< Players are waited for beyond the grace, and know it.
    bool standing = false;     ///< Nobody is there, or paused: the clock has stopped.
    Micros standing_since;
    bool ending = false; ///< The open tick is the last one.
    CloseReason end_reason = CloseReason::none;
    Micros ended_at;
};

} // namespace twinstep::net
