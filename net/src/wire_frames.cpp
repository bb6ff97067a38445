// SPDX-License-Identifier: MIT
// Small frames: ping, close, paths, blobs, progress, pace; docs/lockstep-protocol.md, "Frames".
#include "wire_detail.hpp"

#include "twinstep/net/wire.hpp"

namespace twinstep::net::wire {

using namespace detail;

void encode_stamp(FrameType ping_or_pong, std::uint32_t stamp, Bytes& target) {
    TWINSTEP_ASSERT(ping_or_pong == FrameType::ping || ping_or_pong == FrameType::pong);
    const FrameScope scope(target, ping_or_pong);
    ByteWriter(target).u32(stamp);
}

Result<std::uint32_t> decode_stamp(ByteView body) {
    ByteReader reader(body);
    std::uint32_t stamp = reader.u32("stamp");
    return finished(reader, std::move(stamp));
}

void encode_path(FrameType challenge_or_response, std::uint64_t value, Bytes& target) {
    TWINSTEP_ASSERT(challenge_or_response == FrameType::path_challenge ||
                    challenge_or_response == FrameType::path_response);
    const FrameScope scope(target, challenge_or_response);
    ByteWriter(target).u64(value);
}

Result<std::uint64_t> decode_path(ByteView body) {
    ByteReader reader(body);
    std::uint64_t value = reader.u64("path");
    return finished(reader, std::move(value));
}

void encode_close(CloseReason reason, std::string_view text, Bytes& target) {
    TWINSTEP_ASSERT(text.size() <= close_text_bytes_max);
    const FrameScope scope(target, FrameType::close);
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>(reason));
    writer.bytes(std::as_bytes(std::span(text)));
}

Result<std::pair<CloseReason, std::string_view>> decode_close(ByteView body) {
    ByteReader reader(body);
    const auto reason = enumerator(reader, "reason", CloseReason::none, CloseReason::going_down);
    const std::string_view text = as_text(rest(reader, "text", close_text_bytes_max));
    return finished(reader, std::pair{reason, text});
}

void encode(const BlobOffer& value, Bytes& target) {
    const FrameScope scope(target, FrameType::blob_offer);
    ByteWriter writer(target);
    writer.u32(value.id);
    writer.u8(static_cast<std::uint8_t>(value.kind));
    writer.varint(value.tick);
    writer.u32(value.size);
    put_hash(writer, value.digest);
    writer.u64(value.chain);
}

Result<BlobOffer> decode_blob_offer(ByteView body) {
    ByteReader reader(body);
    BlobOffer value;
    value.id = reader.u32("id");
    value.kind = enumerator(reader, "kind", BlobKind::manifest, BlobKind::snapshot);
    value.tick = reader.varint("tick", value.kind == BlobKind::manifest ? 0 : tick_max);
    value.size = reader.u32("size");
    if (value.size > blob_bytes_max(value.kind)) {
        reader.fail(SimErrc::limit_exceeded, "size");
    } else if (reader.ok() && value.size == 0) {
        reader.fail(SimErrc::malformed, "size");
    }
    value.digest = get_hash(reader, "digest");
    value.chain = reader.u64("chain");
    return finished(reader, std::move(value));
}

void encode(const BlobChunk& value, Bytes& target) {
    TWINSTEP_ASSERT(value.index < chunks_max);
    TWINSTEP_ASSERT(!value.bytes.empty());
    TWINSTEP_ASSERT(value.bytes.size() <= chunk_bytes_max);
    const FrameScope scope(target, FrameType::blob_chunk);
    ByteWriter writer(target);
    writer.u32(value.id);
    writer.varint(value.index);
    writer.bytes(value.bytes);
}

Result<BlobChunk> decode_blob_chunk(ByteView body) {
    ByteReader reader(body);
    BlobChunk value;
    value.id = reader.u32("id");
    value.index = static_cast<std::uint32_t>(reader.varint("index", chunks_max - 1));
    value.bytes = rest(reader, "bytes", chunk_bytes_max);
    if (reader.ok() && value.bytes.empty()) {
        reader.fail(SimErrc::truncated, "bytes");
    }
    return finished(reader, std::move(value));
}

void encode(const BlobAck& value, Bytes& target) {
    TWINSTEP_ASSERT(value.next <= chunks_max);
    const FrameScope scope(target, FrameType::blob_ack);
    ByteWriter writer(target);
    writer.u32(value.id);
    writer.varint(value.next);
    for (const std::uint64_t word : value.bitmap) {
        writer.u64(word);
    }
    for (std::size_t i = 0; i < 8 * ack_words && target.back() == std::byte{0}; ++i) {
        target.pop_back();
    }
}

Result<BlobAck> decode_blob_ack(ByteView body) {
    ByteReader reader(body);
    BlobAck value;
    value.id = reader.u32("id");
    value.next = static_cast<std::uint32_t>(reader.varint("next", chunks_max));
    const ByteView bitmap = rest(reader, "bitmap", 8 * ack_words);
    if (!bitmap.empty() && bitmap.back() == std::byte{0}) {
        reader.fail(SimErrc::malformed, "bitmap");
    }
    for (std::size_t i = 0; i < bitmap.size(); ++i) {
        value.bitmap[i / 8] |= std::to_integer<std::uint64_t>(bitmap[i]) << 8 * (i % 8);
    }
    return finished(reader, std::move(value));
}

void encode(const Progress& value, Bytes& target) {
    TWINSTEP_ASSERT(value.tick <= tick_max);
    const FrameScope scope(target, FrameType::progress);
    ByteWriter writer(target);
    writer.varint(value.tick);
    writer.u8(value.loading ? 1 : 0);
}

Result<Progress> decode_progress(ByteView body) {
    ByteReader reader(body);
    Progress value;
    value.tick = reader.varint("tick", tick_max);
    value.loading = flag(reader, "loading");
    return finished(reader, std::move(value));
}

void encode(const Request& value, Bytes& target) {
    const FrameScope scope(target, FrameType::request);
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>(value.kind));
    writer.varint(value.value);
}

Result<Request> decode_request(ByteView body) {
    ByteReader reader(body);
    Request value;
    value.kind = enumerator(reader, "kind", RequestKind::pause, RequestKind::policy);
    value.value = static_cast<std::uint32_t>(reader.varint("value", UINT32_MAX));
    const bool speed_fits =
        value.value >= speed_per_mille_min && value.value <= speed_per_mille_max;
    const bool policy_fits = value.value >= static_cast<std::uint32_t>(Policy::deadline) &&
                             value.value <= static_cast<std::uint32_t>(Policy::strict);
    if ((value.kind == RequestKind::speed && !speed_fits) ||
        (value.kind == RequestKind::policy && !policy_fits)) {
        reader.fail(SimErrc::limit_exceeded, "value");
    }
    return finished(reader, std::move(value));
}

void encode(const Stall& value, Bytes& target) {
    TWINSTEP_ASSERT(value.tick <= tick_max);
    const FrameScope scope(target, FrameType::stall);
    ByteWriter writer(target);
    writer.varint(value.tick);
    writer.u32(value.for_ms);
    writer.u8(value.paused ? 1 : 0);
    writer.u64(value.slots);
}

Result<Stall> decode_stall(ByteView body) {
    ByteReader reader(body);
    Stall value;
    value.tick = reader.varint("tick", tick_max);
    value.for_ms = reader.u32("for_ms");
    value.paused = flag(reader, "paused");
    value.slots = reader.u64("slots");
    return finished(reader, std::move(value));
}

void encode_loss(std::uint8_t lost, Bytes& target) {
    TWINSTEP_ASSERT(lost >= 1);
    TWINSTEP_ASSERT(lost <= loss_window);
    const FrameScope scope(target, FrameType::loss);
    ByteWriter(target).u8(lost);
}

Result<std::uint8_t> decode_loss(ByteView body) {
    ByteReader reader(body);
    std::uint8_t lost = reader.u8("lost");
    if (lost > loss_window) {
        reader.fail(SimErrc::limit_exceeded, "lost");
    } else if (reader.ok() && lost == 0) {
        reader.fail(SimErrc::malformed, "lost");
    }
    return finished(reader, std::move(lost));
}

} // namespace twinstep::net::wire
