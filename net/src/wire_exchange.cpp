// SPDX-License-Identifier: MIT
// What goes over the wire each tick: cutting packets into frames, INPUTS and TICKS.
#include "wire_detail.hpp"

#include "twinstep/net/wire.hpp"

#include <limits>

namespace twinstep::net::wire {

using namespace detail;

Result<bool> FrameReader::next(Frame& frame) {
    while (!rest_.empty()) {
        const std::size_t offset = size_ - rest_.size();
        ByteReader reader(rest_, offset);
        const unsigned head = reader.u8("type");
        const unsigned number = head & type_bits;
        const ByteView body = (head & reaches_to_end_bit) != 0
                                  ? reader.bytes(reader.remaining(), "body")
                                  : reader.bytes(reader.varint("length"), "body");
        const bool known = number >= static_cast<unsigned>(FrameType::inputs) &&
                           number <= static_cast<unsigned>(FrameType::loss);
        if (known && (head & may_be_skipped_bit) != 0) {
            reader.fail(SimErrc::malformed, "type");
        }
        if (!reader.ok()) {
            rest_ = {};
            return fail(reader.error());
        }
        rest_ = rest_.subspan(reader.offset());
        if (known) {
            frame.type = static_cast<FrameType>(number);
            frame.body = body;
            return true;
        }
        if ((head & may_be_skipped_bit) == 0) {
            rest_ = {};
            return fail(Error(NetErrc::unknown_frame, "type").at(offset));
        }
    }
    return false;
}

namespace {

constexpr unsigned inputs_hash_bit = 1;
constexpr unsigned inputs_hash_back_bit = 2;

constexpr std::uint64_t zigzag(std::int32_t value) {
    const auto wide = static_cast<std::int64_t>(value);
    return static_cast<std::uint64_t>(wide >= 0 ? wide * 2 : -wide * 2 - 1);
}

constexpr std::int32_t unzigzag(std::uint64_t value) {
    const auto half = static_cast<std::int64_t>(value >> 1U);
    return static_cast<std::int32_t>((value & 1U) != 0 ? -half - 1 : half);
}

static_assert(unzigzag(zigzag(std::numeric_limits<std::int32_t>::min())) ==
              std::numeric_limits<std::int32_t>::min());
static_assert(zigzag(std::numeric_limits<std::int32_t>::min()) == UINT32_MAX);

} // namespace

void encode_inputs(const Inputs& value, bool last, Bytes& target) {
    TWINSTEP_ASSERT(value.ack <= tick_max);
    TWINSTEP_ASSERT(value.first_tick <= tick_max);
    TWINSTEP_ASSERT(!value.has_hash || value.hash_tick <= value.ack);
    const FrameScope scope(target, FrameType::inputs, last);
    ByteWriter writer(target);
    const std::uint64_t back = value.has_hash ? value.ack - value.hash_tick : 0;
    writer.u8(static_cast<std::uint8_t>((value.has_hash ? inputs_hash_bit : 0) |
                                        (back != 0 ? inputs_hash_back_bit : 0)));
    writer.varint(value.ack);
    writer.varint(distance(value.ack, value.first_tick));
    if (back != 0) {
        writer.varint(back);
    }
    if (value.has_hash) {
        writer.u32(value.hash);
    }
    writer.bytes(value.runs);
}

Result<Inputs> decode_inputs(ByteView body) {
    ByteReader reader(body);
    Inputs value;
    const unsigned flags = reader.u8("flags");
    if (flags > (inputs_hash_bit | inputs_hash_back_bit) || flags == inputs_hash_back_bit) {
        reader.fail(SimErrc::malformed, "flags");
    }
    value.ack = reader.varint("ack", tick_max);
    value.first_tick = tick_at(reader, "first", value.ack);
    value.has_hash = (flags & inputs_hash_bit) != 0;
    if (value.has_hash) {
        value.hash_tick = value.ack;
    }
    if ((flags & inputs_hash_back_bit) != 0) {
        const std::uint64_t back = reader.varint("hash_back", value.ack);
        if (back == 0) {
            reader.fail(SimErrc::malformed, "hash_back");
        }
        value.hash_tick -= back;
    }
    if (value.has_hash) {
        value.hash = reader.u32("hash");
    }
    value.runs = reader.bytes(reader.remaining(), "runs");
    return finished(reader, std::move(value));
}

void encode_ticks(const Ticks& value, bool last, Bytes& target) {
    TWINSTEP_ASSERT(value.first_tick <= tick_max - window_ticks_max);
    TWINSTEP_ASSERT(value.count <= window_ticks_max);
    TWINSTEP_ASSERT(value.input_ack <= tick_max);
    TWINSTEP_ASSERT((value.count == 0) == value.body.empty());
    const FrameScope scope(target, FrameType::ticks, last);
    ByteWriter writer(target);
    writer.varint(value.first_tick);
    writer.u8(value.count);
    writer.varint(distance(value.first_tick, value.input_ack));
    writer.varint(zigzag(value.margin_ms) << 1U | (value.has_hash ? 1U : 0U));
    if (value.has_hash) {
        TWINSTEP_ASSERT(value.hash_tick <= tick_max);
        writer.varint(distance(value.hash_tick, value.first_tick));
        writer.u32(value.hash);
    }
    writer.bytes(value.body);
}

Result<Ticks> decode_ticks(ByteView body) {
    ByteReader reader(body);
    Ticks value;
    value.first_tick = reader.varint("first", tick_max - window_ticks_max);
    value.count = reader.u8("count");
    if (value.count > window_ticks_max) {
        reader.fail(SimErrc::limit_exceeded, "count");
    }
    value.input_ack = tick_at(reader, "input_ack", value.first_tick);
    const std::uint64_t timing = reader.varint("timing", (std::uint64_t{1} << 33U) - 1);
    value.margin_ms = unzigzag(timing >> 1U);
    value.has_hash = (timing & 1U) != 0;
    if (value.has_hash) {
        value.hash_tick = tick_at(reader, "hash_back", value.first_tick, true);
        value.hash = reader.u32("hash");
    }
    value.body = reader.bytes(reader.remaining(), "body");
    if (reader.ok() && (value.count == 0) != value.body.empty()) {
        reader.fail(value.count == 0 ? SimErrc::trailing_bytes : SimErrc::truncated, "body");
    }
    return finished(reader, std::move(value));
}

} // namespace twinstep::net::wire
