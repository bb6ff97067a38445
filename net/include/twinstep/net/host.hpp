// SPDX-License-Identifier: MIT
// The server without its sockets: gates, handshakes, sessions, budgets, and the matches behind.
#pragma once

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/errc.hpp"
#include "twinstep/net/match.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// What is decided when a host is made.
struct HostSettings {
    wire::Mode mode = wire::Mode::room_key;
    Key key;                          ///< Room key or token key.
    std::uint64_t server_id = 0;      ///< Audience of tokens; 0: any.
    std::uint64_t started_unix_s = 0; ///< Older tokens are refused.
    bool accept_older_tokens = false;
    std::uint16_t peers_max = 4096;       ///< At most 65,000.
    std::uint16_t pending_max = 256;      ///< Handshakes that are not yet connected, in all.
    std::uint16_t pending_prefix_max = 8; ///< The same for an IPv4 /32 or IPv6 /64.
    std::uint32_t handshakes_per_s = 200; ///< Public-key work, in all; spent by holders of the key.
    std::uint32_t unknown_per_s = 64;     ///< Datagrams of strangers, per IPv4 /32 or IPv6 /64.
    std::uint32_t unknown_burst = 256;
    std::uint32_t token_ids_max = 65'536;  ///< Used tokens that are remembered.
    std::uint32_t packets_burst = 128;     ///< Per peer, on top of four packets a tick, or two
                                           ///< in a match without redundancy.
    std::uint32_t bytes_per_s = 32 * 1024; ///< Per peer.
    std::uint32_t bytes_burst = 64 * 1024;
    Micros pending_timeout = seconds(3);
    Micros silence_live = seconds(10); ///< Then the transport counts as lost.
    Micros silence_loading = seconds(60);
};

/// Why a datagram was dropped. The order is the order of the gates.
enum class Drop : std::uint8_t {
    size,
    type,
    malformed,
    version,
    flood_unknown,
    cookie,
    handshake_budget,
    not_admitted,
    table_full,
    unknown_connection,
    replayed,
    not_authentic,
    flood_peer,
    frame,
    count_
};

std::string_view to_string(Drop reason);

/// Counters that only grow.
struct HostStatus {
    std::uint64_t datagrams_received = 0;
    std::uint64_t datagrams_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(Drop::count_)> dropped{};
    std::uint64_t handshakes_accepted = 0;
    std::uint64_t handshakes_refused = 0;
    std::uint64_t path_changes = 0;
    std::uint32_t peers = 0;   ///< Connected now.
    std::uint32_t pending = 0; ///< Handshakes under way.
};

/// The server: `(now, datagram) -> (datagrams, events, next wake-up)`. Pure; no clock, no socket.
/// Thread: one owner. Nothing is allocated per datagram in the steady state, and nothing at all
/// before a sender's address is proven.
class Host {
public:
    /// Errors: bad_setting; not_built.
    static Result<Host> create(HostSettings settings, MatchEvents& events, Entropy& entropy);
    Host(Host&&) noexcept;
    Host& operator=(Host&&) noexcept;
    ~Host();

    /// Errors: bad_setting; resource_exhausted.
    Result<Match*> open_match(MatchSettings settings);
    Match* find_match(MatchId id);
    /// Forgets a match that has ended and whose peers are gone.
    void close_match(MatchId id);

    /// A hint that this datagram is received soon: fetches its peer's state. Changes nothing.
    void expect(ByteView datagram) const;
    /// Takes one datagram. Wall clock seconds are needed for tokens only.
    void receive(Micros now, const Address& from, ByteView datagram, Outbox& out);
    /// Runs timers and matches; sends what is due.
    void advance(Micros now, Outbox& out);
    Micros next_wake() const;

    /// For tokens: the wall clock, in Unix seconds, whenever the owner likes to say it.
    void set_wall_clock(std::uint64_t unix_s);
    /// Nobody new is let in from now on.
    void drain();
    /// Ends every match and connection.
    void shut_down(Micros now, Outbox& out);

    const HostStatus& status() const;
    /// Bytes held for peers and tables.
    std::size_t memory_bytes() const;

private:
    struct Impl;
    explicit Host(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::net
