// SPDX-License-Identifier: MIT
// A peer of a match: handshake, inputs up, closed ticks down, hashes, joining, adaptive delay.
#pragma once

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/manifest.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace twinstep::net {

/// What is decided before connecting.
struct ClientSettings {
    Address server;
    wire::Mode mode = wire::Mode::room_key;
    Key key;                          ///< The room key.
    std::optional<SealedToken> token; ///< Mode::token: from the backend, with its keys.
    ConnectionKeys token_keys;
    Role role = Role::player;
    std::uint64_t match_id = 0; ///< 0: any.
    std::string name;
    std::optional<wire::Random16> ticket; ///< To come back to a slot.
    SimulationInfo simulation; ///< What this build is; compared with the match's manifest.
    Setup proposal;            ///< For a relay that knows no session yet: the session to be played.
    Bytes neutral;             ///< The neutral input of the proposal.
    /// To go on after a loss without a snapshot: the state that the simulation stands at, and the
    /// hash chain there (Client::chain). The server sends a snapshot all the same if it has no more
    /// ticks from there.
    std::optional<Tick> resume_from;
    std::uint64_t resume_chain = 0;
    /// Makes one input of two when the delay gets shorter: a button pressed in either should be
    /// pressed in `merged`, which is empty. Without it the later one counts.
    std::function<void(ByteView earlier, ByteView later, Bytes& merged)> merge;
    std::uint32_t snapshot_bytes_max = 64U << 20U; ///< A larger snapshot is refused.
    bool redundancy = true; ///< Send each tick's inputs twice while the server reports loss.
    Micros connect_timeout = seconds(10);
    Micros silence_timeout = seconds(10);
};

/// Where a client stands; docs/lockstep-states.md has the legal transitions.
enum class ClientState : std::uint8_t {
    connecting, ///< HELLO, CONNECT.
    loading,    ///< Connected; the manifest or a snapshot is on its way.
    preparing,  ///< manifest() or snapshot() is there: the game makes its simulation, then ready().
    waiting,    ///< Ready; the match has not begun, or its JOIN has not come.
    playing,    ///< Ticks flow. Inputs count if the role is player.
    closed,     ///< Over; close_reason() says why.
};

/// Numbers for people and logs.
struct ClientStatus {
    std::uint64_t ticks_received = 0;     ///< The tick needed next.
    std::uint64_t input_ack = 0;          ///< The tick whose input the server needs next.
    std::uint64_t stalls = 0;             ///< Times the next tick was not there when it was due.
    Micros stalled;                       ///< Time spent so.
    std::uint64_t substituted = 0;        ///< Own inputs that the server replaced.
    std::uint16_t delay_ticks = 0;        ///< Input delay now.
    std::uint32_t speed_per_mille = 1000; ///< Of the match, by its events.
    Micros round_trip;
    std::int32_t margin_ms = 0;
    std::uint64_t datagrams_sent = 0;
    std::uint64_t datagrams_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t datagrams_refused = 0; ///< Forged, damaged, seen before, or from elsewhere.
    std::uint64_t chain_differs = 0;     ///< Times the agreed hash chain was not our own.
    std::uint64_t snapshots_received = 0;
};

/// A snapshot to begin from.
struct JoinSnapshot {
    Tick tick;
    Bytes bytes;
};

/// Who is wrong after a desync, and where; Client::divergence has the same place with our own hash.
struct DesyncVerdict {
    wire::Blame blame = wire::Blame::disputed;
    Tick tick;                ///< First state that differs.
    std::optional<Slot> slot; ///< Whom the blame names.
    std::string section;      ///< Empty: not known.
    bool own = false;         ///< It names us.
};

/// The client: `(now, datagram) -> (datagrams, events, next wake-up)`. Pure; no clock, no socket.
/// Thread: one owner. Nothing is allocated per datagram in the steady state.
class Client {
public:
    /// Errors: bad_setting, not_built.
    static Result<Client> create(ClientSettings settings, Entropy& entropy);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    void receive(Micros now, const Address& from, ByteView datagram, Outbox& out);
    void advance(Micros now, Outbox& out);
    Micros next_wake() const;

    ClientState state() const;
    const ClientStatus& status() const;
    /// Why it is closed: the reason's error with the other side's text.
    const Error& close_error() const;
    CloseReason close_reason() const;
    /// Says goodbye; the datagrams go out with the next advance calls. `why` is for the server's
    /// log and for close_error().
    void leave(Micros now, std::string_view why = "left");

    /// From `preparing` on: the session's manifest, checked against this build.
    const Manifest& manifest() const;
    /// From `preparing` on: the state to begin from, or nothing for state 0. Its hash is compared
    /// with the agreed one by the caller's ready().
    const JoinSnapshot* snapshot() const;
    /// The simulation stands at its first tick: state 0, the snapshot's, or resume_from. Requires
    /// `preparing`. A client that plays goes back to `preparing` if the server sends a snapshot
    /// again, since its state was wrong or it fell too far behind.
    void ready(Micros now);
    /// The state that ready() speaks of.
    Tick first_tick() const;

    bool has_slot() const;
    Slot slot() const;
    std::uint16_t slots() const;
    TickRate tick_rate() const;
    /// As ACCEPT says: least and greatest delay, policy, authority, hash interval, input size.
    const wire::AcceptPayload& accepted() const;
    /// The match's neutral input.
    ByteView neutral() const;
    /// For a later connection after a loss: the newest ticket.
    const wire::Random16& ticket() const;

    /// Inputs that are due now: how many samples the game owes. 0 while 128 are unacknowledged, and
    /// while the match stands. To be asked after advance or receive with the same time.
    std::uint64_t inputs_wanted(Micros now) const;
    /// The tick the next given input is for.
    Tick input_tick() const;
    /// Gives one sample. Requires inputs_wanted() > 0 and at most the match's input size.
    void give_input(ByteView input);

    /// The frame of a closed tick, in order. Fits Source::next.
    Result<Supply> next(Tick tick, TickFrame& frame);
    /// Why next() said not_yet.
    std::string_view waiting_for() const;
    /// Closed ticks that wait to be played.
    std::uint64_t backlog() const;

    /// The simulation has reached this state; every state in order, each once.
    void report(const StateHashes& hashes);
    /// The hash chain at the newest state reported.
    std::uint64_t chain() const;
    /// A donor's answer to snapshot_wanted().
    void give_snapshot(Micros now, Tick tick, ByteView snapshot);
    /// A relay asks for a snapshot of this state or a later one.
    std::optional<Tick> snapshot_wanted() const;
    /// The server's verdict on a desync, once there is one.
    const std::optional<Divergence>& divergence() const;
    const std::optional<DesyncVerdict>& verdict() const;

    /// Asks for a pause, a resume, another speed. The answer is an event in the tick stream.
    void request(wire::RequestKind kind, std::uint32_t value = 0);

private:
    struct Impl;
    explicit Client(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The driver's source: closed ticks of a client.
class LockstepSource final : public Source {
public:
    explicit LockstepSource(Client& client)
        : client_(client) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override { return client_.next(tick, frame); }

    std::string_view waiting_for() const override { return client_.waiting_for(); }

    std::string_view name() const override { return "the lockstep source"; }

private:
    Client& client_;
};

/// The driver's observer: reports every state's hash to the server.
class HashReporter final : public Observer {
public:
    explicit HashReporter(Client& client)
        : client_(client) {}

    void after(const StateHashes& hashes) override { client_.report(hashes); }

    std::string_view name() const override { return "the hash reporter"; }

private:
    Client& client_;
};

} // namespace twinstep::net
