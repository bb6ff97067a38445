// SPDX-License-Identifier: MIT
// What a client consists of: handshake, session, inputs, ticks, hashes, blobs, and their timers.
#pragma once

#include "client_handshake.hpp"
#include "client_hashes.hpp"
#include "closed_ticks.hpp"
#include "input_feed.hpp"
#include "redundancy.hpp"

#include "twinstep/net/blob.hpp"
#include "twinstep/net/client.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace twinstep::net {

/// Pace of a donated snapshot, and of a proposed manifest, which the server has not asked for and
/// takes from the budget of ordinary packets.
inline constexpr std::uint32_t donation_bytes_per_s = 240 * 1024;
inline constexpr std::uint32_t proposal_bytes_per_s = 24 * 1024;
/// A transfer to us has until the server's patience ends; ours is the longest there is.
inline constexpr std::uint32_t slowest_bytes_per_s = 1024;

/// Frames that wait to be sent; each kind at most once.
struct ClientAnswers {
    std::optional<std::uint32_t> pong;
    std::optional<std::uint64_t> path;
    std::optional<wire::HashQuery> hashes;
    std::optional<std::uint64_t> sections;
};

/// A request that is sent until the stream shows its effect, or five times.
struct ClientRequest {
    wire::Request value;
    std::uint32_t sends_left = 0;
    Micros next_send;
};

/// The machine behind Client. Split over client.cpp (life), client_receive.cpp, client_frames.cpp
/// and client_send.cpp.
struct Client::Impl {
    Impl(ClientSettings given, Entropy& entropy);

    // Life.
    void advance(Micros now, Outbox& out);
    Micros next_wake() const;
    void accept(Micros now);
    void close_with(Micros now, CloseReason reason, Error error, bool tell);
    void take_manifest(Micros now, ByteView blob);
    bool take_session(Micros now, const Manifest& session);
    void configure_session(Micros now);
    void take_snapshot(Micros now, const wire::BlobOffer& offer, Bytes bytes);
    void begin_at(Micros now, std::uint64_t tick, std::uint64_t chain);
    void prepare_if_complete(Micros now);
    void play_if_due();
    void watch_arrivals(Micros now);
    void set_standing(Micros now);

    bool is_connected() const { return sealer.has_value() && state != ClientState::closed; }

    // Datagrams in.
    void receive(Micros now, const Address& from, ByteView datagram, Outbox& out);
    Result<void> take_packet(Micros now);
    Result<void> take_frame(Micros now, const wire::Frame& frame);
    Result<void> take_hash_frame(const wire::Frame& frame);
    Result<void> take_session_frame(Micros now, const wire::Frame& frame);
    Result<void> take_ticks(Micros now, const wire::Ticks& ticks);
    Result<void> take_bundle(Micros now, const wire::Ticks& ticks);
    Result<void> took_ticks(Micros now, std::uint64_t from);
    void took_tick(Micros now, const TickFrame& frame);
    void took_setting(Micros now, std::string_view text);
    void answered(wire::RequestKind kind);
    void take_stall(Micros now, const wire::Stall& stall);
    void take_verdict(const wire::Verdict& verdict);
    void take_pong(Micros now, std::uint32_t stamp);
    Result<void> take_offer(Micros now, const wire::BlobOffer& offer);
    Result<void> take_chunk(Micros now, const wire::BlobChunk& chunk);
    void donate(Micros now, Tick tick, ByteView bytes);
    std::string_view waiting_text();

    // Datagrams out.
    void send_due(Micros now, Outbox& out);
    void send_tick_packet(Micros now, Outbox& out);
    void send_inputs(Micros now, Outbox& out);
    void send_again(Micros now, Outbox& out);
    void send_answers(Micros now, Outbox& out);
    void send_blobs(Micros now, Outbox& out);
    void send_close(Micros now, Outbox& out);
    void add_small_frames(Micros now);
    std::uint64_t add_inputs(std::uint64_t first);
    void send_packet(Micros now, Outbox& out);
    Micros send_interval() const;
    Micros next_send() const;

    ClientSettings settings;
    Entropy& entropy;
    Manifest own;
    ClientHandshake handshake;
    std::uint16_t connection_id = 0;
    std::optional<Sealer> sealer;
    std::optional<Opener> opener;

    ClientState state = ClientState::connecting;
    CloseReason close_reason = CloseReason::none;
    Error close_error;
    ClientStatus status;
    std::string waiting;

    wire::AcceptPayload accepted;
    Bytes neutral;
    bool has_manifest = false;
    Manifest manifest;
    bool snapshot_awaited = false;
    std::optional<JoinSnapshot> snapshot;
    std::uint64_t first_tick = 0; ///< State that ready() speaks of.

    InputFeed feed;
    ClosedTicks closed;
    std::optional<wire::BundleReader> bundle;
    ClientHashes hashes;
    std::optional<BlobReceiver> blob_in;
    std::optional<BlobSender> blob_out;
    std::uint32_t next_blob_id = 1;

    ClientAnswers answers;
    ClientRequest request;
    std::optional<Tick> snapshot_wanted;
    std::optional<Divergence> divergence;
    std::optional<DesyncVerdict> verdict;

    LossReport loss_report;
    Redundancy redundancy;
    Micros again_at = never; ///< When the inputs of the last packet go out a second time.

    Micros last_heard;
    Micros last_sent{-1};
    Micros last_ping{-1};
    Micros next_progress;
    Micros last_arrival; ///< Of a new tick.
    bool stalling = false;
    bool given = false;  ///< An input waits to be sent.
    bool urgent = false; ///< Something else cannot wait for the next tick.
    bool paused = false;
    Micros stall_until{-1};
    std::uint64_t stalled_slots = 0;
    bool stall_paused = false;
    std::uint32_t closes_left = 0;
    Micros next_close;
    std::string close_text;

    bool newest = false; ///< Of the packet that is read.
    Bytes incoming;
    Bytes plaintext;
    Bytes runs;
    Bytes datagram;
    TickFrame scratch;
};

} // namespace twinstep::net
