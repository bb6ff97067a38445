// SPDX-License-Identifier: MIT
// The tick frame and its encoding.
#include "twinstep/sim/frame.hpp"

#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace twinstep {

void TickFrame::reset(Tick tick, std::size_t slot_count) {
    TWINSTEP_ASSERT(slot_count <= slots_max);
    TWINSTEP_ASSERT(tick.value <= tick_max);
    tick_ = tick;
    slots_.assign(slot_count, SlotInput{});
    events_.clear();
    pool_.clear();
}

std::uint32_t TickFrame::store(ByteView bytes) {
    const std::size_t offset = pool_.size();
    TWINSTEP_ASSERT(bytes.size() <= UINT32_MAX - offset);
    const std::less<const std::byte*> before;
    const bool own =
        !before(bytes.data(), pool_.data()) && before(bytes.data(), pool_.data() + pool_.size());
    if (own) {
        // The pool may move while it grows; the place within it stays.
        const std::ptrdiff_t place = bytes.data() - pool_.data();
        pool_.resize(offset + bytes.size());
        std::copy_n(pool_.begin() + place, bytes.size(), pool_.end() - std::ssize(bytes));
    } else {
        pool_.insert(pool_.end(), bytes.begin(), bytes.end());
    }
    return static_cast<std::uint32_t>(offset);
}

void TickFrame::set_input(Slot slot, ByteView bytes, bool substituted) {
    TWINSTEP_ASSERT(slot.value < slots_.size());
    TWINSTEP_ASSERT(bytes.size() <= input_bytes_max);
    const std::uint32_t offset = store(bytes);
    slots_[slot.value] = {true, substituted, offset, static_cast<std::uint32_t>(bytes.size())};
}

void TickFrame::add_event(EventKind kind, ByteView payload) {
    TWINSTEP_ASSERT(events_.size() < events_max);
    TWINSTEP_ASSERT(payload.size() <= event_bytes_max);
    const std::uint32_t offset = store(payload);
    events_.push_back({kind, false, Slot{}, offset, static_cast<std::uint32_t>(payload.size())});
}

void TickFrame::add_event(EventKind kind, Slot slot, ByteView payload) {
    TWINSTEP_ASSERT(slot.value < slots_max);
    add_event(kind, payload);
    events_.back().has_slot = true;
    events_.back().slot = slot;
}

void encode_frame(const TickFrame& frame, Bytes& target) {
    ByteWriter writer(target);
    const auto events = frame.events();
    writer.varint(frame.tick().value);
    writer.varint((static_cast<std::uint64_t>(frame.slot_count()) << 1) |
                  (events.empty() ? 0U : 1U));
    if (!events.empty()) {
        writer.varint(events.size());
        for (const Event& event : events) {
            writer.u8(static_cast<std::uint8_t>(event.kind));
            writer.varint(event.has_slot ? event.slot.value + 1U : 0U);
            writer.varint(event.size);
            writer.bytes(frame.payload(event));
        }
    }
    for (std::size_t i = 0; i < frame.slot_count(); ++i) {
        const Slot slot{static_cast<std::uint16_t>(i)};
        const SlotInput& input = frame.at(slot);
        writer.varint((std::uint64_t{input.size} << 2) | (input.substituted ? 2U : 0U) |
                      (input.present ? 1U : 0U));
        writer.bytes(frame.input(slot));
    }
}

namespace {

void decode_events(ByteReader& reader, TickFrame& frame) {
    const std::uint64_t count = reader.varint("events", events_max);
    if (reader.ok() && count == 0) {
        reader.fail(SimErrc::malformed, "events");
    }
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        const auto kind = static_cast<EventKind>(reader.u8("event.kind"));
        const std::uint64_t slot = reader.varint("event.slot", slots_max);
        const std::uint64_t size = reader.varint("event.size", event_bytes_max);
        const ByteView payload = reader.bytes(size, "event.payload");
        if (!reader.ok()) {
            return;
        }
        if (static_cast<std::uint8_t>(kind) == 0) {
            reader.fail(SimErrc::malformed, "event.kind");
        } else if (slot == 0) {
            frame.add_event(kind, payload);
        } else {
            frame.add_event(kind, Slot{static_cast<std::uint16_t>(slot - 1)}, payload);
        }
    }
}

void decode_inputs(ByteReader& reader, TickFrame& frame) {
    for (std::size_t i = 0; i < frame.slot_count() && reader.ok(); ++i) {
        const std::uint64_t head = reader.varint("input.size", (input_bytes_max << 2) | 3U);
        const ByteView bytes = reader.bytes(head >> 2, "input");
        if (!reader.ok()) {
            return;
        }
        if ((head & 1U) != 0) {
            frame.set_input(Slot{static_cast<std::uint16_t>(i)}, bytes, (head & 2U) != 0);
        } else if (head != 0) {
            reader.fail(SimErrc::malformed, "input.size");
        }
    }
}

} // namespace

Result<void> decode_frame(ByteView bytes, TickFrame& frame) {
    ByteReader reader(bytes);
    frame.reset(Tick{0}, 0);
    if (bytes.size() > frame_bytes_max) {
        reader.fail(SimErrc::limit_exceeded, "frame");
    }
    const std::uint64_t tick = reader.varint("tick", tick_max);
    const std::uint64_t shape = reader.varint("slots", (slots_max << 1) | 1U);
    // Every slot takes a byte at least, so the bytes that are there bound what is allocated.
    if ((shape >> 1) > reader.remaining()) {
        reader.fail(SimErrc::truncated, "slots");
    }
    if (reader.ok()) {
        frame.reset(Tick{tick}, static_cast<std::size_t>(shape >> 1));
        if ((shape & 1U) != 0) {
            decode_events(reader, frame);
        }
        decode_inputs(reader, frame);
        reader.finish("frame");
    }
    if (!reader.ok()) {
        frame.reset(Tick{0}, 0);
        return fail(reader.error());
    }
    return {};
}

} // namespace twinstep
