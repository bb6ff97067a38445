// SPDX-License-Identifier: MIT
// The lockstep protocol's bytes: docs/lockstep-protocol.md is the authority, this is its codec.
#pragma once

#include "twinstep/net/errc.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/frame.hpp"
#include "twinstep/sim/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace twinstep::net::wire {

inline constexpr std::uint8_t version_major = 1;
inline constexpr std::uint8_t version_minor = 0;
inline constexpr std::size_t datagram_bytes_max = 1200; ///< On every path, both directions.
inline constexpr std::size_t data_header_bytes = 7;     ///< Flags, connection id, sequence.
inline constexpr std::uint8_t data_flags = 0x40;        ///< First byte of a data packet.
inline constexpr std::size_t tag_bytes = 16;            ///< Of the AEAD; absent in plain mode.
inline constexpr std::size_t plaintext_bytes_max =
    datagram_bytes_max - data_header_bytes - tag_bytes; ///< Frames of one data packet.
inline constexpr std::size_t window_ticks_max = 128;    ///< Ticks in one INPUTS or TICKS frame.
inline constexpr std::uint32_t loss_window = 128;       ///< Packets that a LOSS frame speaks of.
inline constexpr std::size_t name_bytes_max = 32;
inline constexpr std::size_t close_text_bytes_max = 512;
inline constexpr std::size_t neutral_bytes_max = 128;
inline constexpr std::size_t match_slots_max = 64;   ///< Slots of a match; bits of a bitmap.
inline constexpr std::size_t chunk_bytes_max = 1100; ///< Payload of one BLOB_CHUNK.
inline constexpr std::size_t manifest_bytes_max = std::size_t{1} << 20U;  ///< Of a manifest blob.
inline constexpr std::size_t snapshot_bytes_max = std::size_t{64} << 20U; ///< Of a snapshot blob.
inline constexpr std::uint32_t chunks_max =
    (snapshot_bytes_max + chunk_bytes_max - 1) / chunk_bytes_max;
inline constexpr std::size_t connect_handshake_bytes_max = datagram_bytes_max - 35;
inline constexpr std::size_t accept_bytes_max = 700; ///< Whole packet.
inline constexpr std::size_t accept_handshake_bytes_max = accept_bytes_max - 27;
inline constexpr std::uint32_t speed_per_mille_min = 100;
inline constexpr std::uint32_t speed_per_mille_max = 4000;

using Random16 = std::array<std::byte, 16>; ///< Client random, ticket.

// ---- Handshake packets, in clear -------------------------------------------------------------

enum class PacketType : std::uint8_t { hello = 0x81, cookie, connect, accept, refuse };

/// How a connection is protected.
enum class Mode : std::uint8_t { plain = 0, room_key = 1, token = 2 };

struct Hello {
    Random16 client_random{};
    std::uint8_t major = version_major;
    std::uint8_t minor = version_minor;
};

struct Cookie {
    Random16 client_random{};
    std::uint8_t secret_index = 0;
    std::uint64_t tag = 0; ///< Keyed hash over address, client random and version.
    std::uint8_t minor = version_minor;
    /// Decoding takes any, as for HELLO: only so can a client say which version the server speaks.
    std::uint8_t major = version_major;
};

struct Connect {
    Random16 client_random{};
    std::uint8_t secret_index = 0;
    std::uint64_t tag = 0;
    Mode mode = Mode::plain;
    std::uint8_t minor = version_minor;
    ByteView handshake; ///< Plain: a ConnectPayload. Otherwise what crypto.hpp makes of it.
};

struct Accept {
    Random16 client_random{};
    std::uint16_t connection_id = 0;
    ByteView handshake; ///< Plain: an AcceptPayload. Otherwise what crypto.hpp makes of it.
    std::uint8_t minor = version_minor;
};

struct Refuse {
    Random16 client_random{};
    CloseReason reason = CloseReason::none;
    std::uint8_t minor = version_minor;
};

/// What a client asks for, inside CONNECT.
struct ConnectPayload {
    Role role = Role::player;
    Hash128 build; ///< Digest of the manifest keys that name the build; see digest_of_build.
    std::uint64_t match_id = 0; ///< 0: any.
    bool has_ticket = false;
    Random16 ticket{};     ///< Of an earlier connection, to come back to its slot.
    std::string_view name; ///< At most name_bytes_max bytes; shown to people, never trusted.
};

/// What a client is given, inside ACCEPT.
struct AcceptPayload {
    std::uint64_t match_id = 0;
    bool has_slot = false;
    Slot slot;
    std::uint16_t slots = 0;
    TickRate tick_rate;
    std::uint64_t next_tick = 0; ///< The tick the server closes next.
    std::uint8_t delay_ticks_min = 1;
    std::uint8_t delay_ticks_max = 30;
    Policy policy = Policy::deadline;
    Authority authority = Authority::simulation;
    std::uint16_t grace_ms = 50;
    std::uint8_t hash_interval_ticks = 16;
    std::uint16_t input_bytes_max = 64;
    bool manifest_wanted = false; ///< A relay that knows no session yet: this client brings it.
    Random16 ticket{};            ///< Replaces every earlier one.
    ByteView neutral;             ///< The neutral input, at most neutral_bytes_max bytes.
};

// ---- Frames, inside data packets -------------------------------------------------------------

enum class FrameType : std::uint8_t {
    inputs = 1,         ///< Up: every unacknowledged input, acknowledgement, hash.
    ticks = 2,          ///< Down: every unacknowledged closed tick, acknowledgement, margin, hash.
    ping = 3,           ///< u32 stamp; answered by pong.
    pong = 4,           ///< The stamp.
    close = 5,          ///< u8 reason, text: the rest.
    path_challenge = 6, ///< 8 bytes, to be sent back from a new address.
    path_response = 7,
    blob_offer = 8, ///< A larger thing is to be sent: manifest, snapshot.
    blob_chunk = 9,
    blob_ack = 10,
    progress = 11,    ///< Up: how far a joiner is.
    hash_query = 12,  ///< Down: which hashes had these ticks?
    hash_answer = 13, ///< Up: 16 bytes a tick.
    section_query = 14,
    section_answer = 15, ///< Up: 4 bytes a section.
    verdict = 16,        ///< Down: first wrong tick and section, and who is wrong.
    request = 17,        ///< Up: pause, resume, speed, snapshot.
    stall = 18,          ///< Down: who is waited for.
    snapshot_query = 19, ///< Down, relay: please donate a snapshot of a tick.
    loss = 20,           ///< How many of the last loss_window packets did not arrive.
};

/// True if a server may be sent this frame; the page's column "way".
constexpr bool goes_up(FrameType type) {
    switch (type) {
    case FrameType::ticks:
    case FrameType::hash_query:
    case FrameType::section_query:
    case FrameType::verdict:
    case FrameType::stall:
    case FrameType::snapshot_query:
        return false;
    default:
        return true;
    }
}

/// True if a client may be sent this frame.
constexpr bool goes_down(FrameType type) {
    switch (type) {
    case FrameType::inputs:
    case FrameType::progress:
    case FrameType::hash_answer:
    case FrameType::section_answer:
    case FrameType::request:
        return false;
    default:
        return true;
    }
}

/// A frame whose body is not decoded yet.
struct Frame {
    FrameType type{};
    ByteView body;
};

/// Cuts a packet's plaintext into frames; frames of unknown type that may be ignored are skipped.
class FrameReader {
public:
    explicit FrameReader(ByteView plaintext)
        : rest_(plaintext)
        , size_(plaintext.size()) {}

    /// The next frame; false at the end. After an error nothing is left. Errors: ByteReader's;
    /// NetErrc::unknown_frame.
    Result<bool> next(Frame& frame);

private:
    ByteView rest_;
    std::size_t size_ = 0;
};

/// An input as bytes with room for the longest.
struct InputValue {
    std::array<std::byte, input_bytes_max> bytes{};
    std::uint16_t size = 0;

    ByteView view() const { return ByteView(bytes).first(size); }
};

/// Appends values as runs: full, XOR difference to the one before, or repeated. The value before
/// the first is the neutral input, so no run refers to another packet. Each sequence has one
/// encoding.
class RunWriter {
public:
    /// Requires that the target outlives the writer, and a neutral input of at most
    /// input_bytes_max bytes.
    RunWriter(Bytes& target, ByteView neutral);

    /// Requires at most input_bytes_max bytes.
    void add(ByteView value);

    /// Adds the value unless the target would then have more than `bytes_max` bytes when finished;
    /// after false the writer takes no further value.
    bool try_add(ByteView value, std::size_t bytes_max);

    /// Writes the open repetition; the writer is then done.
    void finish();

    /// Size of the target after finish().
    std::size_t finished_bytes() const { return target_->size() + (repeats_ != 0 ? 1 : 0); }

private:
    Bytes* target_;
    InputValue last_;
    std::uint8_t repeats_ = 0;
};

/// Reads runs back, one value at a time, at most window_ticks_max of them. After an error nothing
/// is left.
class RunReader {
public:
    RunReader(ByteView runs, ByteView neutral, std::size_t value_bytes_max);
    /// The next value, valid until the next call. Errors: malformed, limit_exceeded, truncated.
    Result<ByteView> next();

    /// True if no value is left.
    bool at_end() const { return repeats_ == 0 && at_ == runs_.size(); }

    /// True if the last value is to be repeated, without reading more bytes.
    bool in_repetition() const { return repeats_ != 0; }

    /// Bytes not consumed yet.
    ByteView rest() const { return runs_.subspan(at_); }

private:
    Result<void> read_full();
    Result<void> read_difference(unsigned mask);
    tl::unexpected<Error> stop(SimErrc code, const char* field);

    ByteView runs_;
    std::size_t at_ = 0;
    std::size_t value_bytes_max_ = 0;
    std::size_t values_ = 0;
    InputValue last_;
    std::uint8_t repeats_ = 0;
    bool open_repeat_ = false; ///< The run before was a repetition that could have been longer.
};

/// INPUTS without its runs.
struct Inputs {
    std::uint64_t ack = 0;        ///< The tick this client needs next; all before it have arrived.
    std::uint64_t first_tick = 0; ///< Of the first input in `runs`.
    bool has_hash = false;
    std::uint64_t hash_tick = 0; ///< State whose chain is reported; at most ack.
    std::uint32_t hash = 0;      ///< Low 32 bits of the hash chain at hash_tick.
    ByteView runs;
};

/// TICKS without its body.
struct Ticks {
    std::uint64_t first_tick = 0;
    std::uint8_t count = 0;      ///< 0: only acknowledgement and timing.
    std::uint64_t input_ack = 0; ///< The tick whose input the server needs next from this client.
    std::int32_t margin_ms = 0;  ///< How early its inputs were, least over the last 128 ticks.
    bool has_hash = false;
    std::uint64_t hash_tick = 0;
    std::uint32_t hash = 0; ///< Low 32 bits of the agreed hash chain at hash_tick.
    ByteView body;          ///< `count` ticks, as BundleWriter writes them; empty if 0.
};

/// Encodes consecutive closed ticks into the body of a TICKS frame. The result is the same for
/// every peer with the same neutral input and may be kept and copied. Memory is kept from call to
/// call.
class BundleWriter {
public:
    /// Takes all memory that bodies of at most `bytes_max` bytes will need, for so many slots with
    /// values of at most `value_bytes_max` bytes: nothing is allocated for frames without events.
    void reserve(std::size_t slots, std::size_t value_bytes_max, std::size_t bytes_max);
    std::size_t memory_bytes() const;

    /// Encodes frames (in their one encoding) into `target`, replacing it; takes as many as fit
    /// into `bytes_max`, at most window_ticks_max, and returns how many that were: 0, and an empty
    /// target, if the first does not fit. Errors: those of decode_frame; limit_exceeded for more
    /// than match_slots_max slots; wrong_tick and wrong_slots if the frames do not belong together.
    Result<std::size_t> encode(std::span<const ByteView> frames,
                               ByteView neutral,
                               std::size_t bytes_max,
                               Bytes& target);

private:
    struct State;

    /// What one slot's inputs have come to.
    struct Column {
        Bytes bytes;
        ByteView last;            ///< In the frames given, or the neutral input.
        std::uint8_t repeats = 0; ///< Of `last`, not written yet.
        std::size_t size_before = 0;
        std::uint8_t repeats_before = 0; ///< Both before the tick that is being added.
    };

    void start(std::size_t slots, ByteView neutral);
    Result<void> parse(ByteView frame, std::size_t index, State& state);
    void parse_events(ByteReader& reader, std::size_t index, State& state);
    bool add(std::size_t index, State& state, std::size_t bytes_max);
    void finish(const State& state, Bytes& target);

    Bytes shapes_;
    Bytes events_;
    std::vector<Column> columns_;
    std::array<ByteView, match_slots_max> inputs_{}; ///< Of the tick that is being added.
};

/// Decodes the body of a TICKS frame tick by tick. Memory is kept from bundle to bundle.
class BundleReader {
public:
    /// Requires at most match_slots_max slots. `value_bytes_max` is what ACCEPT says.
    explicit BundleReader(std::uint16_t slots, std::size_t value_bytes_max = input_bytes_max);

    /// Checks the whole body; then `frame(i)` for i < count is valid until the next decode. After
    /// an error no frame is. Work and memory: at most count x slots inputs.
    /// Errors: malformed, limit_exceeded, truncated, trailing_bytes.
    Result<void> decode(const Ticks& ticks, ByteView neutral);

    /// Requires an index below the count of the last bundle, which was decoded without an error.
    const TickFrame& frame(std::size_t index) const {
        TWINSTEP_ASSERT(index < count_);
        return frames_[index];
    }

private:
    std::uint16_t slots_ = 0;
    std::size_t value_bytes_max_ = 0;
    std::size_t count_ = 0;
    std::vector<TickFrame> frames_;
};

enum class BlobKind : std::uint8_t { manifest = 1, snapshot = 2 };

/// What the protocol allows for a blob of this kind.
constexpr std::size_t blob_bytes_max(BlobKind kind) {
    return kind == BlobKind::manifest ? manifest_bytes_max : snapshot_bytes_max;
}

struct BlobOffer {
    std::uint32_t id = 0;
    BlobKind kind{};
    std::uint64_t tick = 0;  ///< Of a snapshot.
    std::uint32_t size = 0;  ///< 1 to blob_bytes_max(kind).
    Hash128 digest;          ///< hash_bytes("twinstep.net.blob", Tick{tick}, {}, bytes).
    std::uint64_t chain = 0; ///< Hash chain at `tick`, from which the receiver goes on.
};

struct BlobChunk {
    std::uint32_t id = 0;
    std::uint32_t index = 0; ///< Offset / chunk_bytes_max.
    ByteView bytes;
};

inline constexpr std::size_t ack_words = 4;

struct BlobAck {
    std::uint32_t id = 0;
    std::uint32_t next = 0; ///< All chunks before it have arrived.
    /// Bit i: chunk next + 1 + i has arrived.
    std::array<std::uint64_t, ack_words> bitmap{};

    bool has(std::uint32_t bit) const { return (bitmap[bit / 64] >> (bit % 64) & 1U) != 0; }
};

struct Progress {
    std::uint64_t tick = 0; ///< State the joiner's simulation has reached.
    bool loading = true;    ///< False: the manifest is taken and the simulation stands.
};

struct HashQuery {
    std::uint64_t first = 0; ///< States first .. last; at most hash_answer_max of them.
    std::uint64_t last = 0;
};

inline constexpr std::size_t hash_answer_max = 64;
inline constexpr std::size_t section_answer_max = 256;

struct HashAnswer {
    std::uint64_t first = 0;
    std::uint8_t count = 0;
    std::array<Hash128, hash_answer_max> hashes{};
};

struct SectionAnswer {
    std::uint64_t tick = 0;
    std::uint16_t count = 0;
    std::array<std::uint32_t, section_answer_max> sections{}; ///< Low 32 bits of each.
};

/// Who is right.
enum class Blame : std::uint8_t {
    peer = 1,     ///< The slot named differs from the reference.
    disputed = 2, ///< No strict majority: nobody is blamed, the recording is the judge.
};

struct Verdict {
    Blame blame{};
    std::uint64_t tick = 0; ///< First state that differs.
    bool has_slot = false;
    Slot slot;
    std::string_view section; ///< Empty: not known.
};

enum class RequestKind : std::uint8_t {
    pause = 1,
    resume = 2,
    speed = 3,
    snapshot = 4,
    policy = 5
};

struct Request {
    RequestKind kind{};
    std::uint32_t value = 0; ///< speed: per mille, 100 to 4000. policy: the Policy.
};

struct Stall {
    std::uint64_t tick = 0;   ///< The tick that cannot be closed.
    std::uint32_t for_ms = 0; ///< How long it has been due.
    bool paused = false;      ///< The match pauses; nobody is waited for.
    std::uint64_t slots = 0;  ///< Bit i: slot i is waited for (slots 0 to 63).
};

// encode_*: append a whole handshake packet, or a whole frame (type, length, body), to `target`.
// `last` leaves the length out: the frame then reaches to the end of the packet.
void encode(const Hello& value, Bytes& target);
void encode(const Cookie& value, Bytes& target);
void encode(const Connect& value, Bytes& target);
void encode(const Accept& value, Bytes& target);
void encode(const Refuse& value, Bytes& target);
void encode(const ConnectPayload& value, Bytes& target);
void encode(const AcceptPayload& value, Bytes& target);
void encode_inputs(const Inputs& value, bool last, Bytes& target);
void encode_ticks(const Ticks& value, bool last, Bytes& target);
void encode_stamp(FrameType ping_or_pong, std::uint32_t stamp, Bytes& target);
void encode_path(FrameType challenge_or_response, std::uint64_t value, Bytes& target);
void encode_close(CloseReason reason, std::string_view text, Bytes& target);
void encode(const BlobOffer& value, Bytes& target);
void encode(const BlobChunk& value, Bytes& target);
void encode(const BlobAck& value, Bytes& target);
void encode(const Progress& value, Bytes& target);
void encode(const HashQuery& value, Bytes& target);
void encode(const HashAnswer& value, Bytes& target);
void encode_tick_query(FrameType section_or_snapshot_query, std::uint64_t tick, Bytes& target);
void encode(const SectionAnswer& value, Bytes& target);
void encode(const Verdict& value, Bytes& target);
void encode(const Request& value, Bytes& target);
void encode(const Stall& value, Bytes& target);
/// Requires 1 to loss_window.
void encode_loss(std::uint8_t lost, Bytes& target);

// decode_*: a whole packet (handshake) or a frame's body; bytes left over are an error. Views point
// into the bytes given. Errors: ByteReader's (SimErrc). What decodes is the one encoding of its
// value.
Result<Hello> decode_hello(ByteView packet);
Result<Cookie> decode_cookie(ByteView packet);
Result<Connect> decode_connect(ByteView packet);
Result<Accept> decode_accept(ByteView packet);
Result<Refuse> decode_refuse(ByteView packet);
Result<ConnectPayload> decode_connect_payload(ByteView bytes);
Result<AcceptPayload> decode_accept_payload(ByteView bytes);
Result<Inputs> decode_inputs(ByteView body);
Result<Ticks> decode_ticks(ByteView body);
Result<std::uint32_t> decode_stamp(ByteView body);
Result<std::uint64_t> decode_path(ByteView body);
Result<std::pair<CloseReason, std::string_view>> decode_close(ByteView body);
Result<BlobOffer> decode_blob_offer(ByteView body);
Result<BlobChunk> decode_blob_chunk(ByteView body);
Result<BlobAck> decode_blob_ack(ByteView body);
Result<Progress> decode_progress(ByteView body);
Result<HashQuery> decode_hash_query(ByteView body);
Result<HashAnswer> decode_hash_answer(ByteView body);
Result<std::uint64_t> decode_tick_query(ByteView body);
Result<SectionAnswer> decode_section_answer(ByteView body);
Result<Verdict> decode_verdict(ByteView body);
Result<Request> decode_request(ByteView body);
Result<Stall> decode_stall(ByteView body);
Result<std::uint8_t> decode_loss(ByteView body);

} // namespace twinstep::net::wire
