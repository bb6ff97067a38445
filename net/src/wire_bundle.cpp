// SPDX-License-Identifier: MIT
// The body of a TICKS frame: closed ticks as shapes, events and one column of runs for each slot.
#include "wire_detail.hpp"
#include "wire_runs.hpp"

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

/// Writes the repetition that is open.
void flush(Bytes& target, std::uint8_t& repeats) {
    if (repeats != 0) {
        target.push_back(static_cast<std::byte>(detail::repeat_base + repeats));
        repeats = 0;
    }
}

/// A varint that mostly has one byte.
std::uint64_t
short_varint(ByteReader& reader, ByteView source, const char* field, std::uint64_t limit) {
    if (reader.remaining() != 0) {
        const auto first = std::to_integer<unsigned>(source[reader.offset()]);
        if (first < 0x80 && first <= limit) {
            return reader.u8(field);
        }
    }
    return reader.varint(field, limit);
}

} // namespace

struct BundleWriter::State {
    std::size_t slots = 0;
    std::uint64_t first_tick = 0;
    std::size_t shape_count = 0;
    std::size_t event_count = 0;
    std::size_t events_size = 0; ///< Before the tick that is being added.
    Shape held;                  ///< The shape that holds.
    Shape shape;                 ///< Of the tick that is being added.
    std::size_t events_more = 0; ///< Of the tick that is being added.
};

void BundleWriter::reserve(std::size_t slots, std::size_t value_bytes_max, std::size_t bytes_max) {
    TWINSTEP_ASSERT(slots <= match_slots_max);
    columns_.resize(std::max(columns_.size(), slots));
    // A value, what says how it differs, a repetition; the last value may be one too many.
    const std::size_t each = value_bytes_max + (value_bytes_max + 7) / 8 + 4;
    const std::size_t column = std::min(window_ticks_max * each, bytes_max + each);
    for (std::size_t i = 0; i < slots; ++i) {
        columns_[i].bytes.reserve(column);
    }
    // A change in each tick: its place in the bundle and two bitmaps.
    shapes_.reserve(window_ticks_max * (1 + 2 * ((slots + 7) / 8)));
}

std::size_t BundleWriter::memory_bytes() const {
    std::size_t bytes =
        shapes_.capacity() + events_.capacity() + columns_.capacity() * sizeof(Column);
    for (const Column& column : columns_) {
        bytes += column.bytes.capacity();
    }
    return bytes;
}

void BundleWriter::start(std::size_t slots, ByteView neutral) {
    shapes_.clear();
    if (columns_.size() < slots) {
        columns_.resize(slots);
    }
    for (std::size_t i = 0; i < slots; ++i) {
        columns_[i].bytes.clear();
        columns_[i].last = neutral;
        columns_[i].repeats = 0;
    }
}

/// Events as decode_frame takes them, appended to events_ as they are.
void BundleWriter::parse_events(ByteReader& reader, std::size_t index, State& state) {
    const std::uint64_t count = reader.varint("events", events_max);
    if (reader.ok() && count == 0) {
        reader.fail(SimErrc::malformed, "events");
    }
    ByteWriter writer(events_);
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        const std::uint8_t kind = reader.u8("event.kind");
        const std::uint64_t slot = reader.varint("event.slot", slots_max);
        const std::string_view payload = reader.text("event.payload", event_bytes_max);
        if (reader.ok() && kind == 0) {
            reader.fail(SimErrc::malformed, "event.kind");
        }
        writer.u8(static_cast<std::uint8_t>(index));
        writer.u8(kind);
        writer.varint(slot);
        writer.text(payload);
    }
    state.events_more = count;
}

/// Reads a frame's one encoding without copying it: this runs for each tick in each packet, where
/// decode_frame into a TickFrame would cost more than all the rest. Refuses what decode_frame does.
Result<void> BundleWriter::parse(ByteView frame, std::size_t index, State& state) {
    ByteReader reader(frame);
    if (frame.size() > frame_bytes_max) {
        reader.fail(SimErrc::limit_exceeded, "frame");
    }
    const std::uint64_t tick = reader.varint("tick", tick_max);
    const std::uint64_t head = reader.varint("slots", (match_slots_max << 1U) | 1U);
    const auto slots = static_cast<std::size_t>(head >> 1U);
    if (reader.ok() && index != 0 && tick != state.first_tick + index) {
        reader.fail(SimErrc::wrong_tick, "tick");
    } else if (reader.ok() && index != 0 && slots != state.slots) {
        reader.fail(SimErrc::wrong_slots, "slots");
    }
    state.slots = index == 0 ? slots : state.slots;
    state.first_tick = index == 0 ? tick : state.first_tick;
    state.events_size = events_.size();
    state.events_more = 0;
    state.shape = {};
    if ((head & 1U) != 0) {
        parse_events(reader, index, state);
    }
    for (std::size_t i = 0; i < slots && reader.ok(); ++i) {
        const std::uint64_t input =
            short_varint(reader, frame, "input.size", (input_bytes_max << 2U) | 3U);
        if ((input & 1U) == 0 && input != 0) {
            reader.fail(SimErrc::malformed, "input.size");
        }
        inputs_[i] = reader.bytes(input >> 2U, "input");
        state.shape.present |= (input & 1U) << i;
        state.shape.substituted |= (input >> 1U & 1U) << i;
    }
    return detail::finished_void(reader);
}

/// Appends the tick that was parsed to lists and columns; false, with everything as before, if that
/// is too much.
bool BundleWriter::add(std::size_t index, State& state, std::size_t bytes_max) {
    const std::size_t shapes_size = shapes_.size();
    const bool new_shape = state.shape != state.held;
    if (new_shape) {
        ByteWriter writer(shapes_);
        writer.u8(static_cast<std::uint8_t>(index));
        put_bitmap(writer, state.shape.present, state.slots);
        put_bitmap(writer, state.shape.substituted, state.slots);
    }
    std::size_t columns_size = 0;
    for (std::size_t i = 0; i < state.slots; ++i) {
        Column& column = columns_[i];
        column.size_before = column.bytes.size();
        column.repeats_before = column.repeats;
        if ((state.shape.present >> i & 1U) != 0) {
            if (detail::same_value(column.last, inputs_[i])) {
                ++column.repeats; // At most as often as there are ticks.
            } else {
                flush(column.bytes, column.repeats);
                detail::put_changed(column.bytes, column.last, inputs_[i]);
                column.last = inputs_[i];
            }
        }
        columns_size += column.bytes.size() + (column.repeats != 0 ? 1 : 0);
    }
    const std::size_t shape_count = state.shape_count + (new_shape ? 1 : 0);
    const std::size_t event_count = state.event_count + state.events_more;
    const std::size_t size =
        1 + list_bytes(shape_count, shapes_) + list_bytes(event_count, events_) + columns_size;
    if (size <= bytes_max && event_count <= events_in_bundle_max) {
        state.shape_count = shape_count;
        state.event_count = event_count;
        state.held = state.shape;
        return true;
    }
    shapes_.resize(shapes_size);
    events_.resize(state.events_size);
    for (std::size_t i = 0; i < state.slots; ++i) {
        columns_[i].bytes.resize(columns_[i].size_before);
        columns_[i].repeats = columns_[i].repeats_before;
    }
    return false;
}

void BundleWriter::finish(const State& state, Bytes& target) {
    ByteWriter writer(target);
    writer.u8(static_cast<std::uint8_t>((state.shape_count != 0 ? shapes_bit : 0) |
                                        (state.event_count != 0 ? events_bit : 0)));
    if (state.shape_count != 0) {
        writer.varint(state.shape_count);
        writer.bytes(shapes_);
    }
    if (state.event_count != 0) {
        writer.varint(state.event_count);
        writer.bytes(events_);
    }
    for (std::size_t i = 0; i < state.slots; ++i) {
        writer.bytes(columns_[i].bytes);
        flush(target, columns_[i].repeats);
    }
}

Result<std::size_t> BundleWriter::encode(std::span<const ByteView> frames,
                                         ByteView neutral,
                                         std::size_t bytes_max,
                                         Bytes& target) {
    TWINSTEP_ASSERT(neutral.size() <= input_bytes_max);
    target.clear();
    events_.clear();
    State state;
    std::size_t taken = 0;
    for (; taken < frames.size() && taken < window_ticks_max; ++taken) {
        if (Result<void> parsed = parse(frames[taken], taken, state); !parsed) {
            return fail(std::move(parsed.error()));
        }
        if (taken == 0) {
            start(state.slots, neutral);
            state.held.present = all_slots(state.slots);
        }
        if (!add(taken, state, bytes_max)) {
            break;
        }
    }
    if (taken != 0) {
        finish(state, target);
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
