// SPDX-License-Identifier: MIT
// The host's tables and what its files share.
#pragma once

#include "bucket.hpp"
#include "host_session.hpp"
#include "token_gate.hpp"
#include "wake_tree.hpp"

#include "twinstep/net/host.hpp"

#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace twinstep::net {

/// Everything a host does; Host is its door.
struct HostCore {
    HostCore(HostSettings settings, MatchEvents& events, Entropy& entropy);

    // host.cpp: time
    void advance(Micros now, Outbox& out);
    Micros next_wake();
    /// Asks those matches for their wake-up that have said it changed.
    void ask_moved();
    void run_match(Micros now, HostedMatch& hosted, Outbox& out);
    void run_timer(Micros now, SessionSlot slot, Outbox& out);
    /// What the peers of a match may send.
    void set_rates(HostedMatch& hosted) const;
    std::size_t memory_bytes() const;

    // host_handshake.cpp: from a stranger to a peer
    void on_hello(Micros now, const Address& from, ByteView datagram, Outbox& out);
    void on_connect(Micros now, const Address& from, ByteView datagram, Outbox& out);

    // host_data.cpp: packets of peers
    void on_data(Micros now, const Address& from, ByteView datagram, Outbox& out);
    void after_packet(Micros now, SessionSlot slot, HostedMatch& hosted, Outbox& out);
    void flush(Micros now, Session& peer, Outbox& out);
    void drain_closes(Micros now, HostedMatch& hosted, Outbox& out);

    // host_sessions.cpp: slots, timers, ends
    SessionSlot new_peer();
    void free_peer(SessionSlot slot);
    /// The match forgets the peer, which keeps its keys and id for now.
    void detach(Micros now, SessionSlot slot, CloseReason reason);
    void begin_close(
        Micros now, SessionSlot slot, CloseReason reason, std::string_view text, Outbox& out);
    void schedule(SessionSlot slot, Micros at);
    void send(Outbox& out, const Address& to, ByteView datagram);
    /// Seals `plaintext` and sends it where the peer is known to be.
    void send_sealed(Session& peer, ByteView plaintext, Outbox& out);

    void drop(Drop reason) { ++status.dropped[static_cast<std::size_t>(reason)]; }

    std::uint64_t random_u64();

    struct Timer {
        Micros at;
        std::uint32_t serial = 0;
        SessionSlot slot = 0;

        /// A heap's top is its greatest: the earliest here.
        bool operator<(const Timer& other) const { return at > other.at; }
    };

    HostSettings settings;
    MatchEvents& events;
    Entropy& entropy;
    HostStatus status;
    bool draining = false;

    BucketRate unknown_rate;
    BucketRate handshake_rate;
    PrefixBuckets prefixes;
    Bucket handshakes;
    CookieJar cookies;
    TokenGate tokens;
    NoiseRoom room;

    /// Where a slot's peer is in its match: what Host::expect needs, in few cache lines for all.
    struct Place {
        const Match* match = nullptr;
        PeerIndex index = 0;
    };

    std::vector<std::unique_ptr<Session>> peers;
    std::vector<Place> places;              ///< By slot; no match: pending or closing.
    std::vector<SessionSlot> unused;        ///< Slots of `peers`.
    std::vector<SessionSlot> slot_plus_one; ///< By connection id; 0: none.
    std::vector<SessionSlot> pending;
    std::unordered_map<std::uint64_t, SessionSlot>
        by_tag;                ///< Cookie tag of pending and live peers.
    std::vector<Timer> timers; ///< A heap.
    std::map<MatchId, std::unique_ptr<HostedMatch>> hosted_by_id;
    std::vector<HostedMatch*> hosted_list; ///< The same, in the order of their numbers.
    WakeTree wakes;                        ///< Of matches, by number.
    std::vector<HostedMatch*> moved;       ///< Their wake-up is not in the tree yet.
    std::vector<std::uint32_t> due;        ///< Scratch of advance.

    // Scratch; each is replaced by its next use.
    Bytes opened;   ///< Plaintext of the packet being read.
    Bytes control;  ///< Answers of the host itself to that packet.
    Bytes composed; ///< Plaintext that a match wants sent.
    Bytes pong;     ///< One frame, to be put in front of a packet: a PONG, a LOSS.
    Bytes datagram; ///< What is sent.
};

struct Host::Impl : HostCore {
    using HostCore::HostCore;
};

} // namespace twinstep::net
