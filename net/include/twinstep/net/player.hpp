// SPDX-License-Identifier: MIT
// A game in a lockstep match, ready to use: client, simulation, driver and pace in one.
#pragma once

#include "twinstep/net/client.hpp"
#include "twinstep/net/playback_pace.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace twinstep::net {

/// What a player is made of.
struct PlayerSettings {
    /// Whom to connect to, and how. `simulation` is filled in from the simulation.
    ClientSettings client;
    /// Gives the input of a tick: fills in `input`, which is empty. Called once per tick while the
    /// match wants inputs. Not needed by a spectator.
    std::function<void(Tick tick, Bytes& input)> sample;
    /// The simulation stands at its first tick, `simulation.tick()`: called before the first step,
    /// and again when a snapshot had to be loaded later. A recording may begin here. An error ends
    /// the match.
    std::function<Result<void>(Simulation& simulation, const Manifest& manifest)> started;
    PlaybackSettings playback;
};

/// One peer with its simulation. The loop of a game is:
///     while (open) { for (each datagram) player.receive(...); player.advance(now, out); draw(); }
/// Pure: time is given, datagrams go in and out. Thread: one owner.
class Player {
public:
    /// Errors: those of Client::create; bad_setting: a player without `sample`.
    static Result<Player>
    create(PlayerSettings settings, std::unique_ptr<Simulation> simulation, Entropy& entropy);
    Player(Player&&) noexcept;
    Player& operator=(Player&&) noexcept;
    ~Player();

    /// Adds a borrowed observer of every step, beside the one that reports hashes.
    void add(Observer& observer);

    void receive(Micros now, const Address& from, ByteView datagram, Outbox& out);

    /// Prepares the simulation when the match is loaded, samples inputs, steps the ticks that are
    /// due, donates snapshots, sends. Returns the steps taken. Errors: why the match is over for
    /// this player: the client's close_error(), or the simulation's; said once, then 0 steps.
    Result<std::uint64_t> advance(Micros now, Outbox& out);

    /// When advance has something to do, if no datagram comes before.
    Micros next_wake() const;

    /// Connects again after a loss, with the ticket: the simulation goes on where it stands if the
    /// server still has the ticks since, otherwise from a snapshot. Errors: those of
    /// Client::create; bad_setting before the first connection was accepted.
    Result<void> reconnect(Micros now);

    /// Says goodbye; the datagrams go out with the next advance calls.
    void leave(Micros now);

    /// True from the first call of `started` on.
    bool has_started() const;
    bool is_closed() const;
    /// Why it is over, once it is: what advance() said, or the client's close_error().
    const Error& error() const;
    /// Why nothing moves, for people; empty while ticks flow.
    std::string_view waiting_for() const;

    Client& client();
    const Client& client() const;
    Simulation& simulation();

private:
    struct Impl;
    explicit Player(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::net
