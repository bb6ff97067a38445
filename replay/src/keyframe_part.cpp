// SPDX-License-Identifier: MIT
// Parts of keyframes; docs/recording-format.md, "Keyframe".
#include "keyframe_part.hpp"

#include "layout.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::replay {

namespace {

constexpr std::size_t part_number_offset = 32;

struct PartHead {
    KeyframeInfo info;
    std::uint32_t part = 0;
    std::uint32_t parts = 0;
};

std::uint64_t parts_of(std::uint64_t stored_bytes) {
    return (stored_bytes + keyframe_part_bytes - 1) / keyframe_part_bytes;
}

Error wrong_part(const char* field, const char* why) {
    return Error(Errc::corrupt_record, field, why);
}

void encode_part_head(const PartHead& head, Bytes& target) {
    ByteWriter writer(target);
    writer.u64(head.info.tick.value);
    writer.u64(head.info.base.value_or(Tick{}).value);
    writer.u64(head.info.raw_bytes);
    writer.u64(head.info.stored_bytes);
    writer.u32(head.part);
    writer.u32(head.parts);
    encode_hash(head.info.state, target);
    writer.u8(static_cast<std::uint8_t>(head.info.codec));
    writer.u8(head.info.base ? 1 : 0);
    writer.u16(0);
    writer.u32(0);
}

Result<PartHead> decode_part_head(ByteReader& reader) {
    PartHead head;
    KeyframeInfo& info = head.info;
    info.tick = Tick{reader.u64("keyframe.tick")};
    const Tick base{reader.u64("keyframe.base")};
    info.raw_bytes = reader.u64("keyframe.raw_bytes");
    info.stored_bytes = reader.u64("keyframe.stored_bytes");
    head.part = reader.u32("keyframe.part");
    head.parts = reader.u32("keyframe.parts");
    info.state.low = reader.u64("keyframe.state");
    info.state.high = reader.u64("keyframe.state");
    const std::uint8_t codec = reader.u8("keyframe.codec");
    const std::uint8_t is_delta = reader.u8("keyframe.delta");
    const std::uint16_t reserved = reader.u16("keyframe.reserved");
    const std::uint32_t reserved_tail = reader.u32("keyframe.reserved");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    if (info.tick.value > tick_max) {
        return fail(wrong_part("keyframe.tick", "must be at most 2^63 - 1"));
    }
    if (is_delta > 1 || (is_delta == 0 && base != Tick{}) || (is_delta == 1 && base >= info.tick)) {
        return fail(wrong_part("keyframe.base", "must be an earlier tick, and only of a delta"));
    }
    if (codec > static_cast<std::uint8_t>(KeyframeCodec::zstd)) {
        return fail(wrong_part("keyframe.codec", "not known here"));
    }
    if (reserved != 0 || reserved_tail != 0) {
        return fail(wrong_part("keyframe.reserved", "must be zero"));
    }
    info.codec = static_cast<KeyframeCodec>(codec);
    if (is_delta == 1) {
        info.base = base;
    }
    return head;
}

bool same(const KeyframeInfo& left, const KeyframeInfo& right) {
    return left.tick == right.tick && left.state == right.state &&
           left.raw_bytes == right.raw_bytes && left.stored_bytes == right.stored_bytes &&
           left.codec == right.codec && left.base == right.base;
}

} // namespace

Result<void> write_parts(const KeyframeInfo& info, ByteView stored, const PayloadSink& sink) {
    TWINSTEP_ASSERT(!stored.empty() && stored.size() == info.stored_bytes);
    PartHead head{info, 0, static_cast<std::uint32_t>(parts_of(stored.size()))};
    Bytes payload;
    while (head.part < head.parts) {
        const ByteView data = stored.first(std::min(stored.size(), keyframe_part_bytes));
        payload.clear();
        encode_part_head(head, payload);
        ByteWriter(payload).bytes(data);
        if (auto written = sink(payload); !written) {
            return written;
        }
        stored = stored.subspan(data.size());
        ++head.part;
    }
    return {};
}

bool is_plausible(const KeyframeInfo& info, std::uint64_t base_bytes) {
    return info.raw_bytes <=
           info.stored_bytes * keyframe_ratio_max + keyframe_bytes_free + base_bytes;
}

bool is_first_part(ByteView payload) {
    ByteReader reader(payload);
    reader.bytes(part_number_offset, "keyframe");
    return reader.u32("keyframe.part") == 0 && reader.ok();
}

void PartAssembler::reset() {
    part_ = 0;
    parts_ = 0;
    stored_.clear();
}

Result<void> PartAssembler::check_claims(const KeyframeInfo& info, std::uint32_t parts) const {
    if (info.raw_bytes > state_bytes_max_) {
        return fail(Error(Errc::limit_exceeded,
                          "keyframe.raw_bytes",
                          "the state has " + std::to_string(info.raw_bytes) + " bytes, at most " +
                              std::to_string(state_bytes_max_) + " are allowed"));
    }
    // A form that is larger than the state is not used, so `raw_bytes` bounds everything.
    const bool fits = info.codec == KeyframeCodec::raw && !info.base
                          ? info.stored_bytes == info.raw_bytes
                          : info.stored_bytes <= info.raw_bytes;
    if (info.stored_bytes == 0 || !fits) {
        return fail(wrong_part("keyframe.stored_bytes", "does not fit the size of the state"));
    }
    // Of a delta its base is taken into account where the base is known.
    if (!info.base && !is_plausible(info, 0)) {
        return fail(wrong_part("keyframe.raw_bytes", "more than the stored bytes can hold"));
    }
    if (parts != parts_of(info.stored_bytes)) {
        return fail(wrong_part("keyframe.parts", "does not fit the stored bytes"));
    }
    return {};
}

Result<bool> PartAssembler::add(ByteView payload) {
    ByteReader reader(payload);
    Result<PartHead> head = decode_part_head(reader);
    if (head && part_ == parts_) {
        reset();
    }
    if (head && parts_ == 0) {
        if (auto checked = check_claims(head->info, head->parts); !checked) {
            return fail(checked.error());
        }
        info_ = head->info;
        parts_ = head->parts;
    } else if (head && (!same(head->info, info_) || head->parts != parts_)) {
        head = fail(wrong_part("keyframe", "a part belongs to another keyframe"));
    }
    if (head && head->part != part_) {
        head = fail(wrong_part("keyframe.part", "parts are missing or out of order"));
    }
    if (!head) {
        reset();
        return fail(head.error());
    }
    const std::uint64_t before = std::uint64_t{part_} * keyframe_part_bytes;
    const std::uint64_t expected =
        std::min<std::uint64_t>(info_.stored_bytes - before, keyframe_part_bytes);
    const ByteView data = reader.bytes(reader.remaining(), "keyframe.data");
    if (data.size() != expected) {
        reset();
        return fail(wrong_part("keyframe.data", "not as many bytes as the part must have"));
    }
    if (keeps_data_) {
        stored_.insert(stored_.end(), data.begin(), data.end());
    }
    ++part_;
    return part_ == parts_;
}

} // namespace twinstep::replay
