// SPDX-License-Identifier: MIT
// Larger things over datagrams: a paced sender with repair and a receiver that trusts nobody.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace twinstep::net {

/// Chunks that may be under way: beyond the first one that is missing, no receiver keeps more.
/// At 256 KiB/s that is about a second, far above any round trip. One acknowledgement tells of all.
inline constexpr std::uint32_t blob_window_chunks = 256;
static_assert(blob_window_chunks == 64 * wire::ack_words);

/// No transfer takes longer: closed ticks are kept for 120 s, and the rest is needed to catch up.
inline constexpr Micros blob_time_max = seconds(110);

/// Time that a transfer may take: its size at half the pace, and 5 s; never above blob_time_max.
Micros blob_time_allowed(std::size_t bytes, std::uint32_t bytes_per_s);

/// Bytes that may be sent: fills with time up to a burst. One may be shared by several senders.
class ByteBudget {
public:
    /// `burst_bytes` of 0: a twentieth of a second, at least two datagrams. Requires a rate.
    explicit ByteBudget(std::uint32_t bytes_per_s, std::uint32_t burst_bytes = 0);

    /// True if `bytes` may be sent now. Time that goes backwards is taken as standing still.
    bool has(Micros now, std::size_t bytes);

    /// Takes them; may go below zero.
    void take(std::size_t bytes);

    /// When `bytes` are there if nobody takes any.
    Micros ready_at(Micros now, std::size_t bytes) const;

    std::uint32_t bytes_per_s() const { return bytes_per_s_; }

private:
    std::int64_t level_ = 0; ///< In byte microseconds per second: 10^6 of them are a byte.
    std::int64_t burst_ = 0;
    std::uint32_t bytes_per_s_ = 0;
    Micros last_{};
    bool started_ = false;
};

/// Sends one blob: the offer until it is acknowledged, then chunks at a given pace, then again what
/// acknowledgements show to be missing. Pure. Nothing is allocated after start().
class BlobSender {
public:
    /// Begins to send `bytes`, which all senders of one snapshot may share. `offer.size` and
    /// `offer.digest` are filled in by make_blob_offer. Requires an id other than that of the blob
    /// before, and a pace.
    void start(Micros now,
               const wire::BlobOffer& offer,
               std::shared_ptr<const Bytes> bytes,
               std::uint32_t bytes_per_s);

    /// Forgets the blob.
    void stop();

    /// True from start() until everything has arrived.
    bool active() const { return bytes_ != nullptr; }

    /// True once everything has arrived.
    bool done() const { return done_; }

    const wire::BlobOffer& offer() const { return offer_; }

    /// Chunks that have arrived, all in a row, and chunks in all.
    std::uint32_t chunks_arrived() const { return next_; }

    std::uint32_t chunks() const { return chunks_; }

    /// Appends the frame that is due, if any, to `target`: an offer or a chunk of at most
    /// `room_bytes`. To be called until it says false. `shared`, if given, is a budget for all
    /// senders together.
    bool compose(Micros now, std::size_t room_bytes, ByteBudget* shared, Bytes& target);

    /// Takes an acknowledgement; one of another blob is ignored. Errors: malformed.
    Result<void> on_ack(Micros now, const wire::BlobAck& ack);

    /// True if the receiver took too long; time for which only the shared budget kept chunks back
    /// does not count, but blob_time_max holds.
    bool overdue(Micros now) const;

    /// When compose() or overdue() may say something else, with the same `shared`.
    Micros next_wake(Micros now, const ByteBudget* shared = nullptr) const;

    /// From a frame to its acknowledgement, smoothed; nothing before one that was sent once is
    /// acknowledged.
    std::optional<Micros> round_trip() const {
        return measured_ ? std::optional(round_trip_) : std::nullopt;
    }

    /// Chunks sent more than once.
    std::uint64_t chunks_repeated() const { return repeated_; }

private:
    struct Sent {
        Micros at{};
        std::uint8_t times = 0;
        bool arrived = false;
    };

    Sent& sent(std::uint32_t index) { return window_[index % blob_window_chunks]; }

    const Sent& sent(std::uint32_t index) const { return window_[index % blob_window_chunks]; }

    std::size_t chunk_bytes(std::uint32_t index) const;
    void mark_arrived(Micros now, std::uint32_t index);
    void measure(Micros round_trip);
    Micros hole_time() const;
    Micros tail_time() const;
    std::optional<std::uint32_t> choose(Micros now) const;
    bool pay(Micros now, std::size_t bytes, ByteBudget* shared);

    wire::BlobOffer offer_;
    std::shared_ptr<const Bytes> bytes_;
    std::optional<ByteBudget> budget_;
    std::array<Sent, blob_window_chunks> window_{};
    std::uint32_t chunks_ = 0;
    std::uint32_t next_ = 0;    ///< All before it have arrived.
    std::uint32_t unsent_ = 0;  ///< First that was never sent.
    std::uint32_t highest_ = 0; ///< One after the last that is known to have arrived.
    std::uint64_t repeated_ = 0;
    std::uint8_t quiet_ = 0; ///< Timeouts since something arrived; each doubles the wait.
    Micros quiet_at_{};      ///< When quiet_ was raised last.
    std::uint32_t offers_ = 0;
    bool offer_taken_ = false;
    bool done_ = false;
    Micros started_{};
    Micros offered_at_{};
    std::optional<Micros> held_since_; ///< Since when only the shared budget has kept chunks back.
    Micros held_{};
    Micros round_trip_{};
    Micros round_trip_spread_{};
    bool measured_ = false;
};

/// Receives one blob at a time, only of a kind that was asked for. Memory grows with what has
/// arrived, at most twice of it and a window. Pure.
class BlobReceiver {
public:
    /// Lets the other side send a blob of this kind with at most `bytes_max` bytes. The pace, of
    /// which half must be reached, gives the deadline. Replaces what was expected before.
    void expect(wire::BlobKind kind, std::size_t bytes_max, std::uint32_t bytes_per_s);

    /// Expects nothing from now on and frees the memory.
    void stop();

    /// True if an offer of this kind would be taken.
    bool expects(wire::BlobKind kind) const {
        return kind == kind_ && (state_ == State::expecting || state_ == State::receiving);
    }

    /// Takes an offer. Older ones are ignored. A newer one replaces the blob under way, at most
    /// three times. Errors: refused (not asked for; replaced too often); limit_exceeded (larger
    /// than allowed); malformed (the same id for something else).
    Result<void> on_offer(Micros now, const wire::BlobOffer& offer);

    /// Takes a chunk; true when the last one has arrived and the digest fits. Chunks of another
    /// blob, duplicates and chunks far ahead are ignored. Errors: malformed (a number or a length
    /// that does not fit); not_authentic (another digest: the blob is forgotten).
    Result<bool> on_chunk(Micros now, const wire::BlobChunk& chunk);

    /// Appends an acknowledgement to `target` if one is due.
    bool compose_ack(Micros now, Bytes& target);

    /// Errors: timed_out, once the deadline has passed; the blob is then forgotten.
    Result<void> advance(Micros now);

    /// When compose_ack() or advance() may have something to do.
    Micros next_wake() const;

    /// True while a blob is under way.
    bool active() const { return state_ == State::receiving; }

    /// True once the blob is whole, until take(), stop() or expect().
    bool complete() const { return state_ == State::complete; }

    /// The blob under way or the last one. Requires that there was one.
    const wire::BlobOffer& offer() const { return *offer_; }

    std::uint64_t bytes_arrived() const { return bytes_arrived_; }

    /// The bytes. Requires complete().
    ByteView bytes() const { return bytes_; }

    /// Hands the bytes over. Requires complete().
    Bytes take();

    std::size_t memory_bytes() const { return bytes_.capacity(); }

private:
    enum class State : std::uint8_t { idle, expecting, receiving, complete };

    static constexpr std::uint32_t words = blob_window_chunks / 64;

    bool has(std::uint32_t index) const;
    void mark(std::uint32_t index, bool value);
    void make_room(std::size_t end);
    void move_on();
    void want_ack(Micros now);
    void forget();

    State state_ = State::idle;
    wire::BlobKind kind_{};
    std::size_t bytes_max_ = 0;
    std::uint32_t bytes_per_s_ = 1;
    std::uint8_t replaced_ = 0;
    std::optional<wire::BlobOffer> offer_;
    std::optional<Hasher> hasher_; ///< Of the bytes before next_.
    Bytes bytes_;
    std::array<std::uint64_t, words> window_{}; ///< Bit of a chunk's number modulo the window.
    std::uint32_t chunks_ = 0;
    std::uint32_t next_ = 0;
    std::uint64_t bytes_arrived_ = 0;
    Micros deadline_ = never;
    Micros ack_at_ = never; ///< When an acknowledgement is due.
    std::optional<Micros> acked_at_;
};

/// The offer for these bytes, with size and digest. Requires 1 to blob_bytes_max(kind) bytes.
wire::BlobOffer make_blob_offer(
    std::uint32_t id, wire::BlobKind kind, Tick tick, ByteView bytes, std::uint64_t chain);

/// Digest of a blob; docs/lockstep-protocol.md, "Blobs". Determinism: pure.
Hash128 digest_of_blob(Tick tick, ByteView bytes);

} // namespace twinstep::net
