// SPDX-License-Identifier: MIT
// Changes between two frames; docs/recording-format.md, "Tick, changes only".
#include "changes.hpp"

#include "layout.hpp"

#include "twinstep/replay/errc.hpp"
#include "twinstep/sim/frame.hpp"

#include <algorithm>

namespace twinstep::replay {

namespace {

/// The slots of an encoded frame, one after the other.
class EncodedSlots {
public:
    explicit EncodedSlots(ByteView frame)
        : frame_(frame)
        , reader_(frame) {
        reader_.varint("tick");
        const std::uint64_t shape = reader_.varint("shape");
        count_ = static_cast<std::size_t>(shape / 2);
        if (shape % 2 != 0) {
            has_events_ = true;
            skip_events();
        }
    }

    std::size_t count() const { return count_; }

    bool has_events() const { return has_events_; }

    /// The encoding of the next slot's input.
    ByteView next() {
        const std::size_t start = reader_.offset();
        reader_.bytes(reader_.varint("input") >> 2, "input");
        return frame_.subspan(start, reader_.offset() - start);
    }

private:
    void skip_events() {
        for (std::uint64_t left = reader_.varint("events"); left > 0 && reader_.ok(); --left) {
            reader_.u8("event.kind");
            reader_.varint("event.slot");
            reader_.bytes(reader_.varint("event.size"), "event.payload");
        }
    }

    ByteView frame_;
    ByteReader reader_;
    std::size_t count_ = 0;
    bool has_events_ = false;
};

std::size_t bitmap_bytes(std::size_t slots) {
    return (slots + 7) / 8;
}

bool equal(ByteView left, ByteView right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

bool has_bit(ByteView bitmap, std::size_t slot) {
    return (static_cast<std::uint8_t>(bitmap[slot / 8]) >> (slot % 8) & 1U) != 0;
}

Error wrong(const char* field, const char* why, std::size_t offset) {
    return Error(Errc::corrupt_record, field, why).at(offset);
}

} // namespace

bool is_change(ByteView before, ByteView frame) {
    const EncodedSlots now(frame);
    return !now.has_events() && now.count() == EncodedSlots(before).count();
}

bool encode_changes(ByteView before, ByteView frame, Bytes& target) {
    EncodedSlots old(before);
    EncodedSlots now(frame);
    if (now.has_events() || now.count() != old.count()) {
        return false;
    }
    const std::size_t start = target.size();
    target.resize(start + bitmap_bytes(now.count()));
    bool any = false;
    for (std::size_t slot = 0; slot < now.count(); ++slot) {
        const ByteView input = now.next();
        if (!equal(old.next(), input)) {
            any = true;
            target[start + slot / 8] |= static_cast<std::byte>(1U << (slot % 8));
            ByteWriter(target).bytes(input);
        }
    }
    if (!any) {
        target.resize(start);
    }
    return true;
}

Result<void> apply_changes(ByteView before, Tick tick, ByteView changes, Bytes& frame) {
    EncodedSlots old(before);
    const std::size_t slots = old.count();
    ByteReader reader(changes);
    const ByteView bitmap =
        changes.empty() ? ByteView() : reader.bytes(bitmap_bytes(slots), "tick.changed");
    if (!reader.ok()) {
        return fail(as(Errc::corrupt_record, reader.error()));
    }
    frame.clear();
    ByteWriter writer(frame);
    writer.varint(tick.value);
    writer.varint(2 * std::uint64_t{slots});
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const ByteView kept = old.next();
        if (changes.empty() || !has_bit(bitmap, slot)) {
            writer.bytes(kept);
            continue;
        }
        const std::size_t start = reader.offset();
        const std::uint64_t head =
            reader.varint("tick.input", 4 * std::uint64_t{input_bytes_max} + 3);
        reader.bytes(head >> 2, "tick.input");
        if (!reader.ok()) {
            return fail(as(Errc::corrupt_record, reader.error()));
        }
        const ByteView input = changes.subspan(start, reader.offset() - start);
        // Otherwise two files could mean the same thing.
        if (equal(kept, input)) {
            return fail(wrong("tick.input", "an unchanged input is written again", start));
        }
        writer.bytes(input);
    }
    const std::size_t tail_bits = bitmap.empty() ? 0 : slots % 8;
    const bool stray = tail_bits != 0 && (static_cast<unsigned>(bitmap.back()) >> tail_bits) != 0;
    const bool none = !bitmap.empty() && std::all_of(bitmap.begin(), bitmap.end(), [](auto byte) {
        return byte == std::byte{0};
    });
    if (stray || none) {
        return fail(wrong("tick.changed", "a bit is set for no slot, or none at all", 0));
    }
    if (reader.remaining() != 0) {
        return fail(wrong("tick.changed", "bytes are left over", reader.offset()));
    }
    return {};
}

} // namespace twinstep::replay
