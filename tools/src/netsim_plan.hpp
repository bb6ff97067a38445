// SPDX-License-Identifier: MIT
// What a simulated match is to be: peers, links and a list of faults, all from one seed.
#pragma once

#include "twinstep/net/simulated_network.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/tools/run.hpp"

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools::netsim {

/// What goes wrong. The comment says what `amount` is.
enum class FaultKind : std::uint8_t {
    delay,      ///< The peer's link, both ways: ms more.
    jitter,     ///< ms, packets overtake each other.
    loss,       ///< Per mille, each packet for itself.
    burst,      ///< Per mille, in bursts of four on average.
    duplicate,  ///< Per mille.
    reorder,    ///< Per mille.
    rate,       ///< KiB/s.
    mtu,        ///< Bytes, headers included.
    corrupt,    ///< Per mille.
    cut,        ///< 0 both ways, 1 up only, 2 down only.
    rebind,     ///< At once; no amount.
    freeze,     ///< The process stands still; peer 0 is the server.
    jump,       ///< The peer's clock leaps ahead: ms.
    crash,      ///< 0 comes back without its ticket, 1 with it, 2 stays away.
    leave,      ///< Says goodbye; 1 comes back, 2 does not.
    late,       ///< Is not there at the start but comes at that time.
    lie,        ///< Reports wrong hashes from then on.
    equivocate, ///< A rogue in a slot of its own: two inputs for one tick.
    flood,      ///< A rogue: packets a second.
    garbage,    ///< A rogue: authentic packets with frames that mean nothing.
    future,     ///< A rogue: inputs for ticks far ahead and long past.
    silence,    ///< A rogue: connects, takes a slot, never says a word.
    count_
};

inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(FaultKind::count_);

std::string_view to_string(FaultKind kind);

/// True for faults that are a node of their own, which speaks the protocol but lies in it.
constexpr bool is_rogue(FaultKind kind) {
    return kind >= FaultKind::equivocate;
}

/// One thing that goes wrong; a value, so that a list of them can be cut down.
struct Fault {
    FaultKind kind{};
    std::uint16_t peer = 1; ///< From 1; players first, then spectators. Of a rogue: its number.
    net::Micros at;
    net::Micros length;
    std::uint32_t amount = 0;

    bool operator==(const Fault&) const = default;
};

/// "burst/3/1200/5000/150": kind, peer, ms from the start, ms, amount.
std::string to_string(const Fault& fault);
/// Errors: bad_setup.
Result<Fault> parse_fault(std::string_view text);

/// What the command line may fix; everything else is drawn.
struct PlanOptions {
    std::uint16_t peers = 0; ///< 0: 2 to 16, or what the game takes.
    int spectators = -1;     ///< -1: 0 to 2.
    std::uint64_t ticks = 0; ///< 0: 60 s.
    std::bitset<fault_kinds> kinds{~0ULL >> (64 - fault_kinds)};
    bool has_faults = false; ///< `faults` is the list; nothing is drawn.
    std::vector<Fault> faults;
};

/// Reads --faults: kinds ("loss,burst"), "all", "none", or faults as to_string spells them.
/// Errors: bad_setup.
Result<void> parse_faults(std::string_view text, PlanOptions& options);

/// A whole match.
struct Plan {
    std::uint64_t seed = 1;
    std::uint16_t peers = 2;
    std::uint16_t spectators = 0;
    std::uint16_t slots = 2;
    std::uint64_t ticks = 3'600;
    net::wire::Mode mode = net::wire::Mode::room_key;
    net::Policy policy = net::Policy::deadline;
    net::Authority authority = net::Authority::simulation;
    net::Filler filler = net::Filler::repeat_last;
    net::Micros grace = net::milliseconds(50);
    std::uint8_t hash_interval_ticks = 16;
    net::Micros spectator_delay;
    Setup setup;
    std::vector<Fault> faults;
};

/// Time at the end without faults, in which everybody finds back.
inline constexpr net::Micros settle_time = net::seconds(14);

/// Draws a match. Whatever belongs to a peer is drawn from a stream of its own: without the last
/// peer, the others stay what they were.
Plan make_plan(std::uint64_t seed, const SimulationInfo& info, const PlanOptions& options);

/// The link of a peer when nothing is wrong: up and down.
struct BaseLink {
    net::LinkConditions up;
    net::LinkConditions down;
};

BaseLink base_link(std::uint64_t seed, std::uint16_t peer);

/// The link at a time, with all faults of the peer that act then.
BaseLink link_at(const Plan& plan, std::uint16_t peer, net::Micros at);

/// A peer's clock: where it starts, and how much faster it runs than the true one.
struct Clock {
    net::Micros offset;
    std::int64_t drift_ppm = 0;

    net::Micros local(net::Micros at) const {
        return offset + at + net::Micros{at.value * drift_ppm / 1'000'000};
    }

    /// The first true time at which the clock shows `local_time` or more.
    net::Micros true_time(net::Micros local_time) const;
};

Clock clock_of(std::uint64_t seed, std::uint16_t peer);

/// The first tick that a time belongs to, and the time a tick begins, counted from the first tick.
net::Micros tick_time(TickRate rate, std::uint64_t tick);

} // namespace twinstep::tools::netsim
