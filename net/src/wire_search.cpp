// SPDX-License-Identifier: MIT
// Frames of the search for the first wrong tick and section.
#include "wire_detail.hpp"

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/hash.hpp"

namespace twinstep::net::wire {

using namespace detail;

void encode(const HashQuery& value, Bytes& target) {
    TWINSTEP_ASSERT(value.first <= value.last);
    TWINSTEP_ASSERT(value.last - value.first < hash_answer_max);
    TWINSTEP_ASSERT(value.last <= tick_max);
    const FrameScope scope(target, FrameType::hash_query);
    ByteWriter writer(target);
    writer.varint(value.first);
    writer.varint(value.last - value.first);
}

Result<HashQuery> decode_hash_query(ByteView body) {
    ByteReader reader(body);
    HashQuery value;
    value.first = reader.varint("first", tick_max);
    const std::uint64_t more = reader.varint("count", hash_answer_max - 1);
    if (more > tick_max - value.first) {
        reader.fail(SimErrc::limit_exceeded, "count");
    }
    value.last = value.first + more;
    return finished(reader, std::move(value));
}

void encode(const HashAnswer& value, Bytes& target) {
    TWINSTEP_ASSERT(value.count <= hash_answer_max);
    TWINSTEP_ASSERT(value.first <= tick_max);
    const FrameScope scope(target, FrameType::hash_answer);
    ByteWriter writer(target);
    writer.varint(value.first);
    writer.u8(value.count);
    for (std::size_t i = 0; i < value.count; ++i) {
        put_hash(writer, value.hashes[i]);
    }
}

Result<HashAnswer> decode_hash_answer(ByteView body) {
    ByteReader reader(body);
    HashAnswer value;
    value.first = reader.varint("first", tick_max);
    value.count = reader.u8("count");
    if (value.count > hash_answer_max || value.count > tick_max - value.first + 1) {
        reader.fail(SimErrc::limit_exceeded, "count");
        value.count = 0;
    }
    for (std::size_t i = 0; i < value.count && reader.ok(); ++i) {
        value.hashes[i] = get_hash(reader, "hash");
    }
    return finished(reader, std::move(value));
}

void encode_tick_query(FrameType section_or_snapshot_query, std::uint64_t tick, Bytes& target) {
    TWINSTEP_ASSERT(section_or_snapshot_query == FrameType::section_query ||
                    section_or_snapshot_query == FrameType::snapshot_query);
    TWINSTEP_ASSERT(tick <= tick_max);
    const FrameScope scope(target, section_or_snapshot_query);
    ByteWriter(target).varint(tick);
}

Result<std::uint64_t> decode_tick_query(ByteView body) {
    ByteReader reader(body);
    std::uint64_t tick = reader.varint("tick", tick_max);
    return finished(reader, std::move(tick));
}

void encode(const SectionAnswer& value, Bytes& target) {
    TWINSTEP_ASSERT(value.count <= section_answer_max);
    TWINSTEP_ASSERT(value.tick <= tick_max);
    const FrameScope scope(target, FrameType::section_answer);
    ByteWriter writer(target);
    writer.varint(value.tick);
    writer.u16(value.count);
    for (std::size_t i = 0; i < value.count; ++i) {
        writer.u32(value.sections[i]);
    }
}

Result<SectionAnswer> decode_section_answer(ByteView body) {
    ByteReader reader(body);
    SectionAnswer value;
    value.tick = reader.varint("tick", tick_max);
    value.count = reader.u16("count");
    if (value.count > section_answer_max) {
        reader.fail(SimErrc::limit_exceeded, "count");
        value.count = 0;
    }
    for (std::size_t i = 0; i < value.count && reader.ok(); ++i) {
        value.sections[i] = reader.u32("section");
    }
    return finished(reader, std::move(value));
}

void encode(const Verdict& value, Bytes& target) {
    TWINSTEP_ASSERT(value.tick <= tick_max);
    TWINSTEP_ASSERT(!value.has_slot || value.slot.value < match_slots_max);
    TWINSTEP_ASSERT(value.section.size() <= section_name_bytes_max);
    const FrameScope scope(target, FrameType::verdict);
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>(value.blame));
    writer.varint(value.tick);
    writer.varint(value.has_slot ? value.slot.value + 1U : 0U);
    writer.bytes(std::as_bytes(std::span(value.section)));
}

Result<Verdict> decode_verdict(ByteView body) {
    ByteReader reader(body);
    Verdict value;
    value.blame = enumerator(reader, "blame", Blame::peer, Blame::disputed);
    value.tick = reader.varint("tick", tick_max);
    const std::uint64_t slot = reader.varint("slot", match_slots_max);
    value.has_slot = slot != 0;
    value.slot.value = static_cast<std::uint16_t>(value.has_slot ? slot - 1 : 0);
    value.section = as_text(rest(reader, "section", section_name_bytes_max));
    return finished(reader, std::move(value));
}

} // namespace twinstep::net::wire
