// SPDX-License-Identifier: MIT
// The body of a TICKS frame: closed ticks as shapes, events and one column of runs for each slot.
#include "wire_detail.hpp"

#include "twinstep/net/wire.hpp"

#include <algorithm>
#include <array>

namespace twinstep::net::wire {

namespace {

constexpr unsigned shapes_bit = 1;
constexpr unsigned events_bit = 2;
constexpr std::size_t events_in_bundle_max = 4096;

/// Which slots gave an input and which of these are substituted; bit i is slot i.
struct Shape {
    std::uint64_t present = 0;
    std::uint64_t substituted = 0;

    bool operator==(const Shape&) const = default;
};

/// Bits of slots 0 to slots - 1.
constexpr std::uint64_t all_slots(std::size_t slots) {
    return slots == 0 ? 0 : ~std::uint64_t{0} >> (64 - slots);
}

static_assert(match_slots_max == 64, "a shape's bitmaps are u64");

Shape shape_of(const TickFrame& frame) {
    Shape shape;
    for (std::size_t i = 0; i < frame.slot_count(); ++i) {
        const SlotInput& input = frame.at(Slot{static_cast<std::uint16_t>(i)});
        shape.present |= static_cast<std::uint64_t>(input.present) << i;
        shape.substituted |= static_cast<std::uint64_t>(input.substituted) << i;
    }
    return shape;
}

void put_bitmap(ByteWriter& writer, std::uint64_t bits, std::size_t slots) {
    for (std::size_t at = 0; at < slots; at += 8) {
        writer.u8(static_cast<std::uint8_t>(bits >> at));
    }
}

std::uint64_t get_bitmap(ByteReader& reader, const char* field, std::size_t slots) {
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < slots; at += 8) {
        bits |= std::uint64_t{reader.u8(field)} << at;
    }
    if ((bits & ~all_slots(slots)) != 0) {
        reader.fail(SimErrc::malformed, field);
    }
    return bits;
}

constexpr std::size_t varint_bytes(std::size_t value) {
    std::size_t bytes = 1;
    for (; value >= 0x80; value >>= 7U) {
        ++bytes;
    }
    return bytes;
}

/// Bytes of a counted list; nothing at all if it is empty.
constexpr std::size_t list_bytes(std::size_t count, const Bytes& list) {
    return count == 0 ? 0 : varint_bytes(count) + list.size();
}

void put_events(const TickFrame& frame, std::size_t index, Bytes& target) {
    ByteWriter writer(target);
    for (const Event& event : frame.events()) {
        writer.u8(static_cast<std::uint8_t>(index));
        writer.u8(static_cast<std::uint8_t>(event.kind));
        writer.varint(event.has_slot ? event.slot.value + 1U : 0U);
        writer.text(detail::as_text(frame.payload(event)));
    }
}

} // namespace

struct BundleWriter::Progress {
    std::size_t slots = 0;
    std::size_t shape_count = 0;
    std::size_t event_count = 0;
    std::uint64_t present = 0;
    std::uint64_t substituted = 0;
};

/// Appends frame_ to the lists and columns; false, with everything as before, if that is too much.
bool BundleWriter::add(std::size_t index, Progress& progress, std::size_t bytes_max) {
    const Progress before = progress;
    const std::size_t shapes_size = shapes_.size();
    const std::size_t events_size = events_.size();
    const Shape shape = shape_of(frame_);
    if (shape != Shape{progress.present, progress.substituted}) {
        ByteWriter writer(shapes_);
        writer.u8(static_cast<std::uint8_t>(index));
        put_bitmap(writer, shape.present, progress.slots);
        put_bitmap(writer, shape.substituted, progress.slots);
        progress.present = shape.present;
        progress.substituted = shape.substituted;
        ++progress.shape_count;
    }
    put_events(frame_, index, events_);
    progress.event_count += frame_.events().size();
    std::size_t size =
        1 + list_bytes(progress.shape_count, shapes_) + list_bytes(progress.event_count, events_);
    for (std::size_t i = 0; i < progress.slots; ++i) {
        RunWriter& column = writers_[i];
        marks_[i] = {columns_[i].size(), column.repeats_};
        if ((shape.present >> i & 1U) != 0) {
            column.add(frame_.input(Slot{static_cast<std::uint16_t>(i)}));
        }
        size += column.finished_bytes();
    }
    if (size <= bytes_max && progress.event_count <= events_in_bundle_max) {
        return true;
    }
    shapes_.resize(shapes_size);
    events_.resize(events_size);
    for (std::size_t i = 0; i < progress.slots; ++i) {
        writers_[i].roll_back(marks_[i].size, marks_[i].repeats);
    }
    progress = before;
    return false;
}

void BundleWriter::start(std::size_t slots, ByteView neutral) {
    shapes_.clear();
    events_.clear();
    if (columns_.size() < slots) {
        columns_.resize(slots);
        marks_.resize(slots);
    }
    writers_.clear();
    for (std::size_t i = 0; i < slots; ++i) {
        columns_[i].clear();
        writers_.emplace_back(columns_[i], neutral);
    }
}

Result<std::size_t> BundleWriter::encode(std::span<const ByteView> frames,
                                         ByteView neutral,
                                         std::size_t bytes_max,
                                         Bytes& target) {
    target.clear();
    Progress progress;
    std::size_t taken = 0;
    Tick first;
    for (; taken < frames.size() && taken < window_ticks_max; ++taken) {
        if (Result<void> decoded = decode_frame(frames[taken], frame_); !decoded) {
            return fail(std::move(decoded.error()));
        }
        if (taken == 0) {
            if (frame_.slot_count() > match_slots_max) {
                return fail(Error(SimErrc::limit_exceeded, "slots"));
            }
            first = frame_.tick();
            progress.slots = frame_.slot_count();
            progress.present = all_slots(progress.slots);
            start(progress.slots, neutral);
        } else if (frame_.tick() != first + taken) {
            return fail(Error(SimErrc::wrong_tick, "tick"));
        } else if (frame_.slot_count() != progress.slots) {
            return fail(Error(SimErrc::wrong_slots, "slots"));
        }
        if (!add(taken, progress, bytes_max)) {
            break;
        }
    }
    if (taken == 0) {
        return taken;
    }
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>((progress.shape_count != 0 ? shapes_bit : 0) |
                                        (progress.event_count != 0 ? events_bit : 0)));
    if (progress.shape_count != 0) {
        writer.varint(progress.shape_count);
        writer.bytes(shapes_);
    }
    if (progress.event_count != 0) {
        writer.varint(progress.event_count);
        writer.bytes(events_);
    }
    for (std::size_t i = 0; i < progress.slots; ++i) {
        writers_[i].finish();
        writer.bytes(columns_[i]);
    }
    return taken;
}

namespace {

using Shapes = std::array<Shape, window_ticks_max>;

/// Reads the list of shapes and says for each tick which one holds.
void get_shapes(ByteReader& reader, std::size_t slots, std::size_t count, Shapes& shapes) {
    const std::uint64_t number = reader.varint("shapes", count);
    if (reader.ok() && number == 0) {
        reader.fail(SimErrc::malformed, "shapes");
    }
    Shape shape{all_slots(slots), 0};
    std::size_t next = 0; // The first tick that has no shape yet.
    for (std::uint64_t i = 0; i < number && reader.ok(); ++i) {
        const std::size_t offset = reader.u8("shape.offset");
        if (offset >= count || (i != 0 && offset < next)) {
            reader.fail(SimErrc::malformed, "shape.offset");
            return;
        }
        while (next < offset) {
            shapes[next++] = shape;
        }
        const Shape before = shape;
        shape.present = get_bitmap(reader, "shape.present", slots);
        shape.substituted = get_bitmap(reader, "shape.filled", slots);
        if ((shape.substituted & ~shape.present) != 0 || shape == before) {
            reader.fail(SimErrc::malformed, "shape");
        }
        shapes[next++] = shape;
    }
    while (next < count) {
        shapes[next++] = shape;
    }
}

void get_events(ByteReader& reader, std::span<TickFrame> frames) {
    const std::uint64_t number = reader.varint("events", events_in_bundle_max);
    if (reader.ok() && number == 0) {
        reader.fail(SimErrc::malformed, "events");
    }
    std::size_t least = 0;
    for (std::uint64_t i = 0; i < number && reader.ok(); ++i) {
        const std::size_t offset = reader.u8("event.offset");
        const std::uint8_t kind = reader.u8("event.kind");
        const std::uint64_t slot = reader.varint("event.slot", slots_max);
        const std::string_view text = reader.text("event.payload", event_bytes_max);
        if (!reader.ok()) {
            return;
        }
        if (offset >= frames.size() || offset < least || kind == 0) {
            reader.fail(SimErrc::malformed, kind == 0 ? "event.kind" : "event.offset");
        } else if (frames[offset].events().size() == events_max) {
            reader.fail(SimErrc::limit_exceeded, "events");
        } else if (slot == 0) {
            frames[offset].add_event(static_cast<EventKind>(kind), std::as_bytes(std::span(text)));
        } else {
            frames[offset].add_event(static_cast<EventKind>(kind),
                                     Slot{static_cast<std::uint16_t>(slot - 1)},
                                     std::as_bytes(std::span(text)));
        }
        least = offset;
    }
}

struct Columns {
    std::span<TickFrame> frames;
    const Shapes& shapes;
    std::uint16_t slots = 0;
    std::size_t value_bytes_max = 0;
};

Result<void>
get_columns(ByteView body, std::size_t start, ByteView neutral, const Columns& columns) {
    ByteView rest = body.subspan(start);
    for (std::uint16_t slot = 0; slot < columns.slots; ++slot) {
        RunReader column(rest, neutral, columns.value_bytes_max);
        for (std::size_t i = 0; i < columns.frames.size(); ++i) {
            const Shape& shape = columns.shapes[i];
            if ((shape.present >> slot & 1U) == 0) {
                continue;
            }
            Result<ByteView> value = column.next();
            if (!value) {
                return fail(std::move(value.error()));
            }
            columns.frames[i].set_input(Slot{slot}, *value, (shape.substituted >> slot & 1U) != 0);
        }
        if (column.in_repetition()) {
            return fail(Error(SimErrc::trailing_bytes, "repeat"));
        }
        rest = column.rest();
    }
    if (!rest.empty()) {
        return fail(Error(SimErrc::trailing_bytes, "body").at(body.size() - rest.size()));
    }
    return {};
}

} // namespace

BundleReader::BundleReader(std::uint16_t slots, std::size_t value_bytes_max)
    : slots_(slots)
    , value_bytes_max_(value_bytes_max) {
    TWINSTEP_ASSERT(slots <= match_slots_max);
}

Result<void> BundleReader::decode(const Ticks& ticks, ByteView neutral) {
    const std::size_t count = ticks.count;
    TWINSTEP_ASSERT(count <= window_ticks_max);
    count_ = 0;
    ByteReader reader(ticks.body);
    if (count == 0) {
        return detail::finished_void(reader);
    }
    if (frames_.size() < count) {
        frames_.resize(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        frames_[i].reset(Tick{ticks.first_tick + i}, slots_);
    }
    const unsigned flags = reader.u8("body.flags");
    if (flags > (shapes_bit | events_bit)) {
        reader.fail(SimErrc::malformed, "body.flags");
    }
    Shapes shapes;
    if ((flags & shapes_bit) != 0) {
        get_shapes(reader, slots_, count, shapes);
    } else {
        std::fill_n(shapes.begin(), count, Shape{all_slots(slots_), 0});
    }
    if ((flags & events_bit) != 0) {
        get_events(reader, std::span(frames_).first(count));
    }
    if (!reader.ok()) {
        return fail(reader.error());
    }
    const std::size_t start = reader.offset();
    Result<void> columns =
        get_columns(ticks.body,
                    start,
                    neutral,
                    {std::span(frames_).first(count), shapes, slots_, value_bytes_max_});
    if (columns) {
        count_ = count;
    }
    return columns;
}

} // namespace twinstep::net::wire
