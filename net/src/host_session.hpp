// SPDX-License-Identifier: MIT
// What a host knows of one connection, and of one match.
#pragma once

#include "bucket.hpp"
#include "redundancy.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/match.hpp"

#include <cstdint>
#include <vector>

namespace twinstep::net {

/// Index into the host's table of peers.
using SessionSlot = std::uint16_t;

/// A match and who is in it.
struct HostedMatch final : WakeListener {
    HostedMatch(Match&& opened, std::vector<HostedMatch*>& moved_list)
        : match(std::move(opened))
        , moved(moved_list) {
        match.listen(this);
    }

    void on_wake_changed() override {
        if (!has_moved) {
            has_moved = true;
            moved.push_back(this);
        }
    }

    Match match;
    std::vector<HostedMatch*>& moved; ///< The host's: those whose wake-up is to be asked anew.
    bool has_moved = false;
    std::uint32_t number = 0;          ///< In the host's list and tree.
    std::uint32_t speed_per_mille = 0; ///< What the rates below were made for.
    BucketRate packets;                ///< Of each of its peers.
    BucketRate bytes;
    BucketRate upload;
    std::vector<SessionSlot> peers; ///< Connected and pending, in no order.
};

/// An address that a peer speaks from and has not proven yet.
struct PathProbe {
    Address address;
    std::uint64_t challenge = 0;
    Micros begun;
    Micros challenged;
    bool open = false;
};

enum class SessionPhase : std::uint8_t {
    unused,
    pending, ///< ACCEPT was sent; nothing has come under the keys.
    live,
    closing, ///< CLOSE is being repeated; the match knows nothing of it any more.
};

struct Session {
    Session()
        : opener(wire::Mode::plain, Key(), Direction::up)
        , sealer(wire::Mode::plain, Key(), Direction::down, 0) {}

    // What each datagram touches comes first.
    SessionPhase phase = SessionPhase::unused;
    std::uint16_t connection_id = 0;
    PeerIndex index = 0;
    Address address;
    HostedMatch* hosted = nullptr;
    Bucket packets;
    Bucket bytes;
    Bucket upload; ///< For what the match has asked the peer to send, on top of the two.
    Micros heard;
    Opener opener;
    Sealer sealer;

    LossReport loss_report;
    bool pong_due = false; ///< Waits for the next packet that goes out anyway.
    std::uint32_t pong_stamp = 0;
    Micros pong_since;

    Micros overflow_begun;
    Micros overflow_last;
    std::uint32_t timer_serial = 0; ///< Which of its timers counts.
    std::uint8_t closes_left = 0;
    bool ever_changed_path = false;
    Micros path_changed;
    PathProbe path;
    Address origin; ///< Where CONNECT came from.
    wire::Random16 client_random{};
    std::uint64_t cookie_tag = 0;
    Bytes stored; ///< The ACCEPT while pending, the CLOSE while closing: repeated byte by byte.
};

} // namespace twinstep::net
