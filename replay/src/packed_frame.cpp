// SPDX-License-Identifier: MIT
// The bytes of a packed frame; docs/recording-format.md, "Packed chunks".
#include "packed_frame.hpp"

#include "twinstep/replay/errc.hpp"

#include <cstdint>

namespace twinstep::replay {

namespace {

Error bad_frame(const char* field, const char* why) {
    return Error(Errc::corrupt_record, field, why);
}

/// In the byte of the layout.
constexpr std::uint8_t states_left_out_bit = 2;

std::uint64_t tick_section_bytes(const GoodHead& head) {
    return (head.head.incompatible & feature::no_section_bytes) != 0 ? 0 : head.sections.size();
}

std::uint64_t chunk_hash_bytes(const PackedFrame& frame, const GoodHead& head) {
    return sizeof(Hash128) * ((frame.states_left_out ? 0U : 1U) + head.sections.size());
}

} // namespace

std::uint64_t raw_bytes(const PackedFrame& frame, const GoodHead& head) {
    return frame.ticks * (sizeof(std::uint32_t) + tick_section_bytes(head)) +
           frame.chunks * chunk_hash_bytes(frame, head);
}

void encode_packed_front(const PackedFrame& frame, Bytes& target) {
    ByteWriter writer(target);
    writer.u32(packed_marker);
    writer.u8(static_cast<std::uint8_t>(frame.codec));
    writer.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(frame.layout) |
                                        (frame.states_left_out ? states_left_out_bit : 0)));
    writer.varint(frame.chunks);
    writer.varint(frame.ticks);
    writer.varint(frame.tail);
    writer.varint(frame.content_bytes);
}

Result<PackedFrame> decode_packed(ByteView payload, const GoodHead& head) {
    ByteReader reader(payload);
    PackedFrame frame;
    const std::uint32_t marker = reader.u32("packed.marker");
    const std::uint8_t codec = reader.u8("packed.codec");
    const std::uint8_t layout = reader.u8("packed.layout");
    frame.states_left_out = (layout & states_left_out_bit) != 0;
    // Every tick and chunk has bytes that are not compressed, every other record bytes that are.
    frame.chunks = static_cast<std::uint32_t>(reader.varint("packed.chunks", payload.size()));
    frame.ticks = reader.varint("packed.ticks", payload.size());
    frame.tail = static_cast<std::uint32_t>(reader.varint("packed.tail", packed_open_bytes_max));
    frame.content_bytes = static_cast<std::size_t>(reader.varint("packed.size", content_bytes_max));
    frame.hashes = reader.bytes(frame.ticks * sizeof(std::uint32_t), "packed.hashes");
    frame.section_bytes = reader.bytes(frame.ticks * tick_section_bytes(head), "packed.sections");
    frame.chunk_hashes =
        reader.bytes(frame.chunks * chunk_hash_bytes(frame, head), "packed.states");
    frame.content = reader.bytes(reader.remaining(), "packed.content");
    if (!reader.ok()) {
        const bool too_much = reader.error().code == SimErrc::limit_exceeded;
        return fail(as(too_much ? Errc::limit_exceeded : Errc::corrupt_record, reader.error()));
    }
    const bool known_codec = codec <= static_cast<std::uint8_t>(ContentCodec::zstd);
    const auto columns = static_cast<std::uint8_t>(ContentLayout::columns);
    const bool known_layout = layout <= (columns | states_left_out_bit);
    if (marker != packed_marker || !known_codec || !known_layout) {
        return fail(bad_frame("packed.marker", "marker, codec or layout mean nothing").at(0));
    }
    frame.codec = static_cast<ContentCodec>(codec);
    frame.layout = static_cast<ContentLayout>(layout & columns);
    if (frame.chunks == 0 && frame.tail == 0) {
        return fail(bad_frame("packed.tail", "nothing is in it").at(0));
    }
    if (frame.codec == ContentCodec::stored && frame.content.size() != frame.content_bytes) {
        return fail(bad_frame("packed.size", "not the bytes that are there").at(0));
    }
    return frame;
}

Hash128 state_of_sections(Tick tick, std::span<const Hash128> sections) {
    std::vector<SectionHash> named;
    for (const Hash128& hash : sections) {
        named.push_back({{}, hash});
    }
    return combine_sections(tick, named);
}

Place PackedPosition::place(const SessionId& session, std::uint8_t tag) const {
    if (tag == static_cast<std::uint8_t>(RecordTag::packed)) {
        // From the other end, so that they never meet the numbers of other frames.
        return {session, chunk, UINT32_MAX - tail};
    }
    return {session, chunk, is_frame_tag(tag) ? frame_record_first + frames : 0};
}

} // namespace twinstep::replay
