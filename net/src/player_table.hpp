// SPDX-License-Identifier: MIT
// Who sits in a match: seats, which stay, and peers, which come and go.
#pragma once

#include "input_ring.hpp"
#include "redundancy.hpp"

#include "twinstep/net/blob.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// True if docs/lockstep-states.md lists the transition of a player.
constexpr bool may_follow(PlayerState from, PlayerState to) {
    using enum PlayerState;
    switch (from) {
    case empty:
        return to == joining || to == absent; // absent: taken over from an earlier process.
    case joining:
        return to == live || to == empty;
    case live:
        return to == lagging || to == absent || to == empty;
    case lagging:
        return to == live || to == absent || to == empty;
    case absent:
        return to == live || to == empty;
    }
    return false;
}

/// A name as it may be shown: valid UTF-8, at most 32 bytes, no control or bidi characters.
std::string clean_name(std::string_view name);

/// A bucket that limits how often something happens.
class Budget {
public:
    Budget(std::uint32_t burst, Micros each)
        : burst_(burst)
        , each_(each) {}

    /// Takes one if there is one.
    bool take(Micros now);

private:
    std::uint32_t burst_;
    Micros each_;
    bool used_ = false;
    Micros full_at_;
};

/// A slot of the session: its player may lose connections and keep it. What every packet and tick
/// touches comes first, so that it lies in few cache lines.
struct Seat {
    PlayerState state = PlayerState::empty;
    bool in_game = false;     ///< A JOIN is in the tick stream and no LEAVE.
    bool has_peer = false;    ///< A peer is connected for it.
    bool coming = false;      ///< A JOIN or a return at `owes_from` stands in the schedule.
    bool silent = false;      ///< The tick before was substituted.
    bool diverged = false;    ///< Was named in a verdict.
    bool withholding = false; ///< Owes reports.
    bool restored = false;    ///< From an earlier process: claimed by name, since tickets are gone.
    PeerIndex peer = 0;
    std::uint32_t generation = 0; ///< Counts its owners: a seat given away is not taken back.

    std::uint64_t input_next = 0;  ///< The tick whose input is needed next.
    std::uint64_t owes_from = 0;   ///< Inputs count from this tick on.
    std::uint64_t heard_below = 0; ///< All ticks below were measured for earliness.
    std::uint64_t verify_from = 0; ///< Reports count from this state on.
    std::uint64_t reported = 0;    ///< Newest state it spoke of.
    std::uint64_t reported_at = 0; ///< Tick that was open when it did so.
    std::uint64_t agreed_to = 0;   ///< Newest state at which it was right.
    InputRing inputs;
    MarginWindow margins;
    wire::InputValue last; ///< The last own input in a frame.

    Micros silent_since;
    std::uint64_t substituted_tick = 0; ///< The last one.
    Micros absent_since;
    std::string name;
    std::uint64_t player_id = 0;
    bool has_ticket = false;
    wire::Random16 ticket{};
    bool has_old_ticket = false; ///< Good until the connection with the new one stands.
    wire::Random16 old_ticket{};

    // Reports about states that the server has not reached yet wait in a small ring.
    static constexpr std::size_t reports_max = 64;

    struct Report {
        std::uint64_t tick_and_one = 0;
        std::uint32_t hash = 0;
    };

    std::array<Report, reports_max> reports{};

    int donations_failed = 0;
    bool had_snapshot = false;
    Micros snapshot_at;          ///< When it last began to get one.
    std::vector<Micros> resyncs; ///< When; at most 3 in 10 minutes.
    Budget requests{4, seconds(5)};
    Budget pauses{3, seconds(120)};
};

/// Where a connection stands.
enum class PeerPhase : std::uint8_t {
    free,
    admitted,  ///< Nothing was heard yet; kept for 3 s.
    loading,   ///< Connected: the manifest or a snapshot is on its way, the simulation is made.
    ready,     ///< Lobby: stands at tick 0.
    following, ///< Closed ticks flow.
    closing,   ///< To be taken out by next_to_close.
    closed,    ///< Taken out; `disconnected` frees it.
};

/// A connection. What every packet and tick touches comes first, as in Seat.
struct Peer {
    PeerPhase phase = PeerPhase::free;
    Role role = Role::player;
    bool stranger = false; ///< Another build: gets the manifest and is closed.
    bool has_slot = false;
    Slot slot;
    bool catching_up = false;
    std::uint8_t packets_left = 0; ///< TICKS packets to be composed now.
    bool played = false;           ///< Its inputs have counted in this connection.
    Micros next_send;              ///< When a packet is due without a new tick.
    std::uint64_t ack = 0;         ///< The tick it needs next.
    std::uint64_t cursor = 0;      ///< Next tick of the packets of this turn.
    Micros ack_moved;              ///< When `ack` moved last.
    std::uint64_t reached = 0;     ///< State its simulation has reached, as far as it says.
    std::uint64_t hash_sent = 0;   ///< State of the newest agreed hash in a TICKS to it.
    std::int64_t credit_bytes = 0;
    Micros credit_at;
    std::optional<Micros> acked_after; ///< From closing the tick before `ack` to this.
    Redundancy redundancy;
    std::unique_ptr<BlobSender> sender;
    std::unique_ptr<BlobReceiver> receiver;
    Bytes frames; ///< Small frames that wait for the next packet.

    std::uint32_t generation = 0; ///< Of its seat, when it was admitted.
    wire::Random16 ticket{};
    Hash128 build;
    Micros since;            ///< Of admission, then of connection.
    Micros round_trip;       ///< From admission to its first packet, or of its manifest if shorter.
    bool from_start = false; ///< Admitted before tick 0: begins there without a snapshot.
    CloseReason reason = CloseReason::none;
    std::string text;

    bool heard_progress = false;
    wire::Progress progress;

    std::uint32_t blob_id = 0;
    bool manifest_begun = false;
    bool manifest_done = false;
    bool wants_snapshot = false; ///< Closed ticks alone do not lead it to the edge.
    bool taking_snapshot = false;
    std::uint8_t snapshots = 0;
    bool had_snapshot = false;
    Micros snapshot_at;
    bool has_base = false;  ///< `base` is promised.
    std::uint64_t base = 0; ///< The first tick it needs.
};

} // namespace twinstep::net
