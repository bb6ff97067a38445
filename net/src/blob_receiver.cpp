// SPDX-License-Identifier: MIT
// The receiving side of a blob, which may be sent by anybody.
#include "twinstep/net/blob.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace twinstep::net {

namespace {

constexpr const char* blob_domain = "twinstep.net.blob";

/// Acknowledgements are at least this far apart: a chunk can never cost more than it brings.
constexpr Micros ack_interval = milliseconds(15);

constexpr std::uint8_t replacements_max = 3;

bool same(const wire::BlobOffer& a, const wire::BlobOffer& b) {
    return a.id == b.id && a.kind == b.kind && a.tick == b.tick && a.size == b.size &&
           a.digest == b.digest && a.chain == b.chain;
}

/// Identifiers count up and may wrap.
bool is_older(std::uint32_t id, std::uint32_t than) {
    return static_cast<std::int32_t>(id - than) < 0;
}

} // namespace

Hash128 digest_of_blob(Tick tick, ByteView bytes) {
    return hash_bytes(blob_domain, tick, {}, bytes);
}

wire::BlobOffer make_blob_offer(
    std::uint32_t id, wire::BlobKind kind, Tick tick, ByteView bytes, std::uint64_t chain) {
    TWINSTEP_ASSERT(!bytes.empty());
    TWINSTEP_ASSERT(bytes.size() <= wire::blob_bytes_max(kind));
    wire::BlobOffer offer;
    offer.id = id;
    offer.kind = kind;
    offer.tick = tick.value;
    offer.size = static_cast<std::uint32_t>(bytes.size());
    offer.digest = digest_of_blob(tick, bytes);
    offer.chain = chain;
    return offer;
}

/// Frees everything but which blob was the last and how far it came: its duplicates are
/// acknowledged for as long as they arrive.
void BlobReceiver::forget() {
    state_ = State::idle;
    hasher_.reset();
    Bytes().swap(bytes_);
    window_ = {};
    bytes_arrived_ = 0;
    deadline_ = never;
    ack_at_ = never;
}

void BlobReceiver::expect(wire::BlobKind kind, std::size_t bytes_max, std::uint32_t bytes_per_s) {
    forget();
    state_ = State::expecting;
    kind_ = kind;
    bytes_max_ = std::min(bytes_max, wire::blob_bytes_max(kind));
    bytes_per_s_ = bytes_per_s;
    replaced_ = 0;
}

void BlobReceiver::stop() {
    forget();
}

Result<void> BlobReceiver::on_offer(Micros now, const wire::BlobOffer& offer) {
    if (offer_ && offer.id == offer_->id) {
        if (!same(offer, *offer_)) {
            return fail(Error(NetErrc::malformed, "blob offer"));
        }
        want_ack(now);
        return {};
    }
    if (offer_ && is_older(offer.id, offer_->id)) {
        return {};
    }
    if (state_ == State::idle || state_ == State::complete || offer.kind != kind_) {
        return fail(Error(NetErrc::refused, "blob offer", "not asked for"));
    }
    if (offer.size > bytes_max_ || offer.size == 0) {
        return fail(Error(NetErrc::limit_exceeded, "blob size"));
    }
    if (state_ == State::receiving && ++replaced_ > replacements_max) {
        return fail(Error(NetErrc::refused, "blob offer", "replaced too often"));
    }
    forget();
    state_ = State::receiving;
    offer_ = offer;
    chunks_ = static_cast<std::uint32_t>((offer.size + wire::chunk_bytes_max - 1) /
                                         wire::chunk_bytes_max);
    next_ = 0;
    hasher_.emplace();
    hasher_->begin(blob_domain, Tick{offer.tick}, {});
    deadline_ = now + blob_time_allowed(offer.size, bytes_per_s_);
    acked_at_.reset();
    want_ack(now);
    return {};
}

bool BlobReceiver::has(std::uint32_t index) const {
    const std::uint32_t bit = index % blob_window_chunks;
    return (window_[bit / 64] >> (bit % 64) & 1U) != 0;
}

void BlobReceiver::mark(std::uint32_t index, bool value) {
    const std::uint32_t bit = index % blob_window_chunks;
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    window_[bit / 64] = value ? window_[bit / 64] | mask : window_[bit / 64] & ~mask;
}

/// Makes the buffer reach to `end`, at least doubling it: an offer alone costs nothing, and bytes
/// that arrive cost at most twice their number and the window.
void BlobReceiver::make_room(std::size_t end) {
    if (bytes_.capacity() < end) {
        bytes_.reserve(std::min<std::size_t>(offer_->size, std::max(end, 2 * bytes_.capacity())));
    }
    if (bytes_.size() < end) {
        bytes_.resize(end);
    }
}

/// Moves over the chunks that are there in a row, and hashes them on the way so that no call has to
/// hash everything.
void BlobReceiver::move_on() {
    const std::size_t from = std::size_t{next_} * wire::chunk_bytes_max;
    while (next_ < chunks_ && has(next_)) {
        mark(next_, false);
        ++next_;
    }
    const std::size_t end =
        std::min<std::size_t>(offer_->size, std::size_t{next_} * wire::chunk_bytes_max);
    hasher_->update(ByteView(bytes_).subspan(from, end - from));
}

Result<bool> BlobReceiver::on_chunk(Micros now, const wire::BlobChunk& chunk) {
    if (!offer_ || chunk.id != offer_->id) {
        return false;
    }
    if (state_ != State::receiving) {
        want_ack(now); // The last acknowledgement was lost.
        return false;
    }
    const std::size_t from = std::size_t{chunk.index} * wire::chunk_bytes_max;
    if (chunk.index >= chunks_ ||
        chunk.bytes.size() != std::min(wire::chunk_bytes_max, offer_->size - from)) {
        return fail(Error(NetErrc::malformed, "blob chunk"));
    }
    want_ack(now);
    if (chunk.index < next_ || chunk.index - next_ >= blob_window_chunks || has(chunk.index)) {
        return false;
    }
    make_room(from + chunk.bytes.size());
    std::memcpy(bytes_.data() + from, chunk.bytes.data(), chunk.bytes.size());
    mark(chunk.index, true);
    bytes_arrived_ += chunk.bytes.size();
    if (chunk.index != next_) {
        return false;
    }
    move_on();
    if (next_ < chunks_) {
        return false;
    }
    const bool genuine = hasher_->finish() == offer_->digest;
    hasher_.reset();
    deadline_ = never;
    if (!genuine) {
        forget();
        next_ = 0;
        return fail(Error(NetErrc::not_authentic, "blob digest"));
    }
    state_ = State::complete;
    return true;
}

Bytes BlobReceiver::take() {
    TWINSTEP_ASSERT(complete());
    state_ = State::idle;
    return std::exchange(bytes_, Bytes());
}

void BlobReceiver::want_ack(Micros now) {
    const Micros due = acked_at_ ? std::max(now, *acked_at_ + ack_interval) : now;
    ack_at_ = std::min(ack_at_, due);
}

bool BlobReceiver::compose_ack(Micros now, Bytes& target) {
    if (ack_at_ == never || now < ack_at_) {
        return false;
    }
    ack_at_ = never;
    acked_at_ = now;
    wire::BlobAck ack;
    ack.id = offer_->id;
    ack.next = next_;
    for (std::uint32_t bit = 0; bit < blob_window_chunks - 1; ++bit) {
        if (has(next_ + 1 + bit)) {
            ack.bitmap[bit / 64] |= std::uint64_t{1} << bit % 64;
        }
    }
    wire::encode(ack, target);
    return true;
}

Result<void> BlobReceiver::advance(Micros now) {
    if (now < deadline_) {
        return {};
    }
    forget();
    return fail(Error(NetErrc::timed_out, "blob"));
}

Micros BlobReceiver::next_wake() const {
    return std::min(deadline_, ack_at_);
}

} // namespace twinstep::net
