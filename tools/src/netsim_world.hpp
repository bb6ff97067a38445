// SPDX-License-Identifier: MIT
// What the nodes of a simulated match share: the network, the truth, and what was found wrong.
#pragma once

#include "netsim_plan.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/simulated_network.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/types.hpp"
#include "twinstep/tools/run.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools::netsim {

/// A fault planted on purpose, to prove that the checks find it.
enum class Plant : std::uint8_t {
    none,
    different_tick, ///< A peer gets another input in a tick than the others.
    skipped_input,  ///< A peer leaves out one slot's input when it steps.
    flipped_bit,    ///< One bit of a peer's state, after the step before the tick.
    dropped_record, ///< The recording loses a record.
    bad_snapshot,   ///< A joiner's snapshot has one bit wrong, and it goes on all the same.
    closed_twice,   ///< The server says twice that it closed a tick.
    false_blame,    ///< The server blames a peer that did nothing.
    no_blame,       ///< The server blames nobody, whoever lies.
    lost_peer,      ///< A peer that could be reached never comes back.
};

/// What a run may do beside the plan.
struct MatchOptions {
    std::size_t log_lines_max = 0;
    bool capture = false; ///< Keep every datagram of the match; plain mode is then used.
    Plant plant = Plant::none;
    std::uint16_t plant_peer = 1;
    Tick plant_tick;
    /// Sources of the players' inputs instead of the game's bot: bytes of the input of a tick.
    std::function<void(std::uint16_t peer, Tick tick, Bytes& target)> inputs;
    /// The links of all peers instead of the drawn ones; all clocks then run at one rate, so that
    /// what is measured is the network.
    std::optional<BaseLink> link;
    bool record = true; ///< Record the match and verify the recording.
};

/// What the server closed: the one truth that everybody is compared with.
struct Truth {
    std::vector<std::uint64_t> frames;  ///< Checksum of the encoding of each closed tick.
    std::vector<Hash128> states;        ///< Hash of each state.
    std::vector<net::Micros> closed_at; ///< True time.
};

/// Wall clock of the simulated world at its beginning, in Unix seconds.
inline constexpr std::uint64_t wall_clock_start = 1'700'000'000;

/// What a peer measured.
struct PeerNumbers {
    std::uint64_t frames_compared = 0;
    std::uint64_t hashes_compared = 0;
    std::uint64_t ticks_timed = 0;
    std::uint64_t late_50ms = 0; ///< From closed to there took 50 ms more than for the fastest.
    std::uint64_t late_50ms_since_due = 0; ///< The same from the time the tick was due.
    net::Micros latency_max;               ///< From closed at the server to there at the peer.
    std::uint64_t joins = 0;               ///< Times it came to play.
    net::Micros join_time_max;             ///< From the first HELLO to playing.
    std::uint64_t datagrams_up = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t substituted = 0;
    std::uint16_t delay_ticks = 0;
};

/// Somebody the server blamed.
struct Blamed {
    net::wire::Blame blame{};
    Tick tick;
    std::optional<Slot> slot;
    std::string section;
    net::Micros at;
};

/// The shared part of a match.
struct World {
    World(const GameEntry& entry, const Plan& match_plan, const MatchOptions& match_options)
        : game(entry)
        , plan(match_plan)
        , options(match_options)
        , network({match_plan.seed, 1U << 15U, match_options.log_lines_max}) {}

    /// Something is not as it must be.
    void fail(net::Micros at, const std::string& text) {
        constexpr std::size_t failures_max = 20;
        network.log().add(at, "FAILED " + text);
        if (failures.size() < failures_max) {
            failures.push_back(text);
        }
    }

    void note(net::Micros at, const std::string& text) { network.log().add(at, text); }

    const GameEntry& game;
    const Plan& plan;
    const MatchOptions& options;
    net::SimulatedNetwork network;
    Truth truth;
    std::vector<std::string> failures;
    TickRate rate;
    net::Key room_key;
    net::Address server;
    net::Micros server_frozen_until{-1};
    bool plant_fired = false; ///< The planted fault has happened.
};

inline Clock clock_in(const World& world, std::uint16_t number) {
    Clock clock = clock_of(world.plan.seed, number);
    clock.drift_ppm = world.options.link ? 0 : clock.drift_ppm;
    return clock;
}

/// A process on a machine: it runs when a datagram comes or when it wanted to wake, unless it is
/// frozen; then datagrams wait in its socket, as many as that holds.
class Node {
public:
    Node(World& shared, net::NodeIndex index, Clock clock)
        : world_(shared)
        , outbox_(shared.network, index)
        , index_(index)
        , clock_(clock) {}

    virtual ~Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    net::NodeIndex index() const { return index_; }

    /// A datagram has come.
    void deliver(net::Micros at, const net::Address& source, ByteView bytes) {
        if (at < frozen_until_) {
            constexpr std::size_t socket_datagrams = 256;
            if (inbox_.size() < socket_datagrams) {
                inbox_.push_back({source, Bytes(bytes.begin(), bytes.end())});
            }
            return;
        }
        outbox_.set_now(at);
        receive(at, source, bytes);
        plan_wake(at);
    }

    /// The time it wanted to run at has come.
    void wake(net::Micros at) {
        outbox_.set_now(at);
        while (!inbox_.empty()) {
            receive(at, inbox_.front().source, inbox_.front().bytes);
            inbox_.pop_front();
        }
        run(at);
        plan_wake(at);
    }

    net::Micros next_wake() const { return wake_; }

    void freeze(net::Micros at, net::Micros until) {
        world_.note(at, "node " + std::to_string(index_) + " freezes");
        frozen_until_ = std::max(frozen_until_, until);
        plan_wake(at);
    }

    /// Its clock leaps ahead.
    void jump(net::Micros at, net::Micros by) {
        world_.note(at, "clock of node " + std::to_string(index_) + " jumps");
        clock_.offset = clock_.offset + by;
        plan_wake(at);
    }

protected:
    virtual void receive(net::Micros at, const net::Address& source, ByteView bytes) = 0;
    virtual void run(net::Micros at) = 0;
    /// In true time.
    virtual net::Micros wanted_wake(net::Micros at) const = 0;

    void plan_wake(net::Micros at) {
        wake_ = std::max({wanted_wake(at), at, frozen_until_});
        if (wake_ == at && at == last_wake_ && ++idle_wakes_ == 10'000) {
            world_.fail(at,
                        "node " + std::to_string(index_) + " wakes again and again at one time");
            wake_ = at + net::milliseconds(10);
        }
        if (at != last_wake_) {
            idle_wakes_ = 0;
            last_wake_ = at;
        }
    }

    net::Micros local(net::Micros at) const { return clock_.local(at); }

    net::Micros true_time(net::Micros local_time) const {
        return local_time == net::never ? net::never : clock_.true_time(local_time);
    }

    World& world_;
    net::SimulatedOutbox outbox_;

private:
    struct Waiting {
        net::Address source;
        Bytes bytes;
    };

    net::NodeIndex index_;
    Clock clock_;
    net::Micros frozen_until_;
    net::Micros wake_;
    net::Micros last_wake_{-1};
    std::uint32_t idle_wakes_ = 0;
    std::deque<Waiting> inbox_;
};

} // namespace twinstep::tools::netsim
