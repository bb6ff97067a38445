// SPDX-License-Identifier: MIT
// The sending side of a blob: pace, window, repair.
#include "twinstep/net/blob.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <bit>

namespace twinstep::net {

namespace {

constexpr std::int64_t unit = 1'000'000; ///< Parts of a byte in a budget.

/// What a chunk costs beside its bytes: frame, packet and UDP over IPv4. The pace is that of the
/// line and not only of the payload.
constexpr std::size_t overhead_bytes = 10 + wire::data_header_bytes + wire::tag_bytes + 28;

constexpr std::size_t offer_frame_bytes_max = 2 + 4 + 1 + 9 + 4 + 16 + 8;
constexpr std::size_t chunk_frame_bytes_max = 3 + 4 + 3; ///< Without the chunk itself.

constexpr Micros offer_again = milliseconds(250);
constexpr Micros round_trip_guess = milliseconds(200);
constexpr Micros hole_time_min = milliseconds(10);
constexpr Micros tail_time_min = milliseconds(100);
constexpr Micros tail_time_max = seconds(2);
/// Backing off further protects no line, as the pace bounds what is sent.
constexpr unsigned quiet_max = 2;
/// So few chunks are repeated without backing off: they are no load, but a short blob or the end of
/// a long one would miss its deadline.
constexpr std::uint32_t few_chunks = 16;

/// One more than the number of the last bit that is set.
std::uint32_t used_bits(const wire::BlobAck& ack) {
    for (std::uint32_t word = wire::ack_words; word > 0; --word) {
        if (ack.bitmap[word - 1] != 0) {
            return 64 * word - static_cast<std::uint32_t>(std::countl_zero(ack.bitmap[word - 1]));
        }
    }
    return 0;
}

} // namespace

Micros blob_time_allowed(std::size_t bytes, std::uint32_t bytes_per_s) {
    const std::uint64_t pace = std::max<std::uint64_t>(1, bytes_per_s / 2);
    const std::uint64_t transfer_us = std::uint64_t{bytes} * 1'000'000 / pace;
    if (transfer_us > static_cast<std::uint64_t>(blob_time_max.value)) {
        return blob_time_max;
    }
    return std::min(blob_time_max, Micros{static_cast<std::int64_t>(transfer_us)} + seconds(5));
}

ByteBudget::ByteBudget(std::uint32_t bytes_per_s, std::uint32_t burst_bytes)
    : bytes_per_s_(bytes_per_s) {
    TWINSTEP_ASSERT(bytes_per_s > 0);
    const std::int64_t burst =
        burst_bytes != 0 ? std::int64_t{burst_bytes}
                         : std::max<std::int64_t>(bytes_per_s / 20, 2 * wire::datagram_bytes_max);
    burst_ = burst * unit;
    level_ = burst_;
}

bool ByteBudget::has(Micros now, std::size_t bytes) {
    if (!started_ || now > last_) {
        if (started_) {
            // A second fills any burst that matters, and bounds the product.
            const std::int64_t passed = std::min<std::int64_t>((now - last_).value, 60 * unit);
            level_ = std::min(burst_, level_ + passed * std::int64_t{bytes_per_s_});
        }
        started_ = true;
        last_ = now;
    }
    return level_ >= static_cast<std::int64_t>(bytes) * unit;
}

void ByteBudget::take(std::size_t bytes) {
    level_ -= static_cast<std::int64_t>(bytes) * unit;
}

Micros ByteBudget::ready_at(Micros now, std::size_t bytes) const {
    const std::int64_t missing = static_cast<std::int64_t>(bytes) * unit - level_;
    if (missing <= 0) {
        return now;
    }
    const Micros from = started_ ? last_ : now;
    return std::max(now, from + Micros{(missing + bytes_per_s_ - 1) / bytes_per_s_});
}

void BlobSender::start(Micros now,
                       const wire::BlobOffer& offer,
                       std::shared_ptr<const Bytes> bytes,
                       std::uint32_t bytes_per_s) {
    TWINSTEP_ASSERT(bytes != nullptr);
    TWINSTEP_ASSERT(!bytes->empty());
    TWINSTEP_ASSERT(bytes->size() == offer.size);
    TWINSTEP_ASSERT(bytes->size() <= wire::blob_bytes_max(offer.kind));
    *this = BlobSender();
    offer_ = offer;
    bytes_ = std::move(bytes);
    budget_.emplace(bytes_per_s);
    chunks_ = static_cast<std::uint32_t>((bytes_->size() + wire::chunk_bytes_max - 1) /
                                         wire::chunk_bytes_max);
    started_ = now;
    offered_at_ = now - offer_again;
    round_trip_ = round_trip_guess;
    round_trip_spread_ = Micros{round_trip_guess.value / 2};
}

void BlobSender::stop() {
    bytes_.reset();
}

std::size_t BlobSender::chunk_bytes(std::uint32_t index) const {
    const std::size_t from = std::size_t{index} * wire::chunk_bytes_max;
    return std::min(wire::chunk_bytes_max, bytes_->size() - from);
}

/// RFC 6298, without its granularity.
void BlobSender::measure(Micros round_trip) {
    if (!measured_) {
        measured_ = true;
        round_trip_ = round_trip;
        round_trip_spread_.value = round_trip.value / 2;
        return;
    }
    const std::int64_t error = round_trip.value - round_trip_.value;
    round_trip_spread_.value += ((error < 0 ? -error : error) - round_trip_spread_.value) / 4;
    round_trip_.value += error / 8;
}

/// Age at which a chunk is lost if a later one has arrived: a packet that is overtaken is not.
Micros BlobSender::hole_time() const {
    return round_trip_ + std::max(hole_time_min, Micros{2 * round_trip_spread_.value});
}

/// Age at which a chunk is lost though nothing later has arrived.
Micros BlobSender::tail_time() const {
    const Micros once = std::max(tail_time_min, round_trip_ + Micros{4 * round_trip_spread_.value});
    return std::min(tail_time_max, Micros{once.value << quiet_});
}

/// The chunk to send now, whatever it costs: a lost one first, then a new one.
std::optional<std::uint32_t> BlobSender::choose(Micros now) const {
    const Micros hole = hole_time();
    const Micros tail = tail_time();
    for (std::uint32_t index = next_; index < unsent_; ++index) {
        const Sent& chunk = sent(index);
        if (!chunk.arrived && now - chunk.at >= (index < highest_ ? hole : tail)) {
            return index;
        }
    }
    if (unsent_ < std::min(chunks_, next_ + blob_window_chunks)) {
        return unsent_;
    }
    return std::nullopt;
}

bool BlobSender::pay(Micros now, std::size_t bytes, ByteBudget* shared) {
    const std::size_t cost = bytes + overhead_bytes;
    if (!budget_->has(now, cost)) {
        return false;
    }
    if (shared != nullptr && !shared->has(now, cost)) {
        held_since_ = held_since_.value_or(now);
        return false;
    }
    if (held_since_) {
        held_ = held_ + (now - *held_since_);
        held_since_.reset();
    }
    budget_->take(cost);
    if (shared != nullptr) {
        shared->take(cost);
    }
    return true;
}

bool BlobSender::compose(Micros now, std::size_t room_bytes, ByteBudget* shared, Bytes& target) {
    if (!active()) {
        return false;
    }
    if (!offer_taken_) {
        if (now - offered_at_ < offer_again || room_bytes < offer_frame_bytes_max) {
            return false;
        }
        offered_at_ = now;
        ++offers_;
        wire::encode(offer_, target);
        return true;
    }
    const std::optional<std::uint32_t> index = choose(now);
    if (!index) {
        return false;
    }
    const std::size_t size = chunk_bytes(*index);
    if (room_bytes < size + chunk_frame_bytes_max || !pay(now, size, shared)) {
        return false;
    }
    Sent& chunk = sent(*index);
    if (*index == unsent_) {
        chunk = Sent{};
        ++unsent_;
    } else {
        ++repeated_;
        if (*index >= highest_ && unsent_ - next_ > few_chunks && now - quiet_at_ >= round_trip_) {
            // Once for all chunks that timed out together.
            quiet_ = static_cast<std::uint8_t>(std::min(quiet_ + 1U, quiet_max));
            quiet_at_ = now;
        }
    }
    chunk.at = now;
    chunk.times = static_cast<std::uint8_t>(std::min<unsigned>(chunk.times + 1U, 2));
    const ByteView bytes =
        ByteView(*bytes_).subspan(std::size_t{*index} * wire::chunk_bytes_max, size);
    wire::encode(wire::BlobChunk{offer_.id, *index, bytes}, target);
    return true;
}

void BlobSender::mark_arrived(Micros now, std::uint32_t index) {
    Sent& chunk = sent(index);
    if (!chunk.arrived) {
        chunk.arrived = true;
        quiet_ = 0;
        if (chunk.times == 1) {
            measure(now - chunk.at); // Karn: what was sent twice measures nothing.
        }
    }
    highest_ = std::max(highest_, index + 1);
}

Result<void> BlobSender::on_ack(Micros now, const wire::BlobAck& ack) {
    if (!active() || ack.id != offer_.id) {
        return {};
    }
    // Everything may be there without having been sent: the receiver had it from before.
    const bool had_before = !offer_taken_ && ack.next == chunks_;
    const std::uint32_t bits = used_bits(ack);
    if (!had_before && (ack.next > unsent_ || (bits != 0 && ack.next + bits >= unsent_))) {
        return fail(Error(NetErrc::malformed, "blob ack"));
    }
    if (!offer_taken_) {
        offer_taken_ = true;
        if (offers_ == 1) {
            measure(now - offered_at_);
        }
    }
    if (ack.next == chunks_) {
        next_ = chunks_;
        done_ = true;
        bytes_.reset();
        return {};
    }
    if (ack.next < next_) {
        return {}; // Overtaken by a newer one.
    }
    for (std::uint32_t index = next_; index < ack.next; ++index) {
        mark_arrived(now, index);
    }
    next_ = ack.next;
    for (std::uint32_t bit = 0; bit < bits; ++bit) {
        if (ack.has(bit)) {
            mark_arrived(now, next_ + 1 + bit);
        }
    }
    return {};
}

bool BlobSender::overdue(Micros now) const {
    if (!active()) {
        return false;
    }
    const Micros held = held_since_ ? held_ + (now - *held_since_) : held_;
    const Micros allowed = blob_time_allowed(offer_.size, budget_->bytes_per_s()) + held;
    return now - started_ > std::min(allowed, blob_time_max);
}

Micros BlobSender::next_wake(Micros now, const ByteBudget* shared) const {
    if (!active()) {
        return never;
    }
    const Micros end = started_ + blob_time_max;
    if (!offer_taken_) {
        return std::min(end, std::max(now, offered_at_ + offer_again));
    }
    Micros wake = end;
    if (unsent_ < std::min(chunks_, next_ + blob_window_chunks)) {
        wake = now;
    }
    for (std::uint32_t index = next_; index < unsent_ && wake > now; ++index) {
        const Sent& chunk = sent(index);
        if (!chunk.arrived) {
            wake = std::min(wake, chunk.at + (index < highest_ ? hole_time() : tail_time()));
        }
    }
    constexpr std::size_t cost = wire::chunk_bytes_max + overhead_bytes;
    wake = std::max(wake, budget_->ready_at(now, cost));
    if (shared != nullptr) {
        wake = std::max(wake, shared->ready_at(now, cost));
    }
    return std::min(end, wake);
}

} // namespace twinstep::net
