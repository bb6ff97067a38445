// SPDX-License-Identifier: MIT
// What a host knows of one connection, and of one match.
#pragma once

#include "budget.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/match.hpp"

#include <cstdint>
#include <vector>

namespace twinstep::net {

/// Index into the host's table of peers.
using PeerSlot = std::uint16_t;

/// A match and who is in it.
struct Seat {
    explicit Seat(Match&& opened)
        : match(std::move(opened)) {}

    Match match;
    MatchId id = 0;
    Micros wake = never;         ///< Match::next_wake, as last asked.
    Rate packets;                ///< Of each of its peers.
    std::vector<PeerSlot> peers; ///< Connected and pending, in no order.
};

/// An address that a peer speaks from and has not proven yet.
struct Path {
    Address address;
    std::uint64_t challenge = 0;
    std::int64_t received_bytes = 0;
    std::int64_t sent_bytes = 0;
    Micros begun;
    Micros challenged;
    bool open = false;
};

enum class PeerPhase : std::uint8_t {
    unused,
    pending, ///< ACCEPT was sent; nothing has come under the keys.
    live,
    closing, ///< CLOSE is being repeated; the match knows nothing of it any more.
};

struct Peer {
    Peer()
        : opener(wire::Mode::plain, Key(), Direction::up)
        , sealer(wire::Mode::plain, Key(), Direction::down, 0) {}

    // What each datagram touches comes first.
    PeerPhase phase = PeerPhase::unused;
    std::uint16_t connection_id = 0;
    PeerIndex index = 0;
    Address address;
    Seat* seat = nullptr;
    Budget packets;
    Budget bytes;
    Micros heard;
    Opener opener;
    Sealer sealer;

    Micros overflow_begun;
    Micros overflow_last;
    std::uint32_t timer_serial = 0; ///< Which of its timers counts.
    std::uint8_t closes_left = 0;
    bool ever_changed_path = false;
    Micros path_changed;
    Path path;
    bool has_slot = false;
    Slot slot;
    Address origin; ///< Where CONNECT came from.
    wire::Random16 client_random{};
    std::uint64_t cookie_tag = 0;
    Bytes stored; ///< The ACCEPT while pending, the CLOSE while closing: repeated byte by byte.
};

} // namespace twinstep::net
