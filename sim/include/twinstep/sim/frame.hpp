// SPDX-License-Identifier: MIT
// The tick frame: everything that enters the simulation at one tick, and its one encoding.
#pragma once

#include "twinstep/sim/assert.hpp"
#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace twinstep {

/// Limits of a frame, checked when it is built and again when it is decoded; the length of the
/// whole encoding only when it is decoded, which the driver does with every frame.
inline constexpr std::size_t input_bytes_max = 256;       ///< Bytes of one slot's input.
inline constexpr std::size_t slots_max = 4096;            ///< Slots in a session.
inline constexpr std::size_t events_max = 256;            ///< Events at one tick.
inline constexpr std::size_t event_bytes_max = 1024;      ///< Bytes of one event's payload.
inline constexpr std::size_t frame_bytes_max = 60 * 1024; ///< Encoded frame; fits one record.

/// What an event means. 128 and above are the game's own.
enum class EventKind : std::uint8_t {
    join = 1,    ///< The slot is taken from this tick on. Payload: free.
    leave = 2,   ///< The slot is empty from this tick on. Payload: free.
    pause = 3,   ///< The session pauses before this tick. Payload: empty.
    resume = 4,  ///< The session goes on at this tick. Payload: empty.
    setting = 5, ///< A setting changes at this tick. Payload: "key=value".
    marker = 6,  ///< A named place in the recording; no effect. Payload: text.
    application = 128,
};

/// Something that happens at a tick beside the inputs.
struct Event {
    EventKind kind = EventKind::marker;
    bool has_slot = false;
    Slot slot;                ///< Whom it concerns, if has_slot.
    std::uint32_t offset = 0; ///< Of the payload in the frame's pool.
    std::uint32_t size = 0;   ///< Bytes of the payload.
};

/// One slot's part of a frame.
struct SlotInput {
    bool present = false;     ///< False: the slot gave no input (it is empty or not heard).
    bool substituted = false; ///< True: not the player's own, the session filled it in.
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
};

/// Tick, events and the inputs of all slots. Reused from tick to tick: `reset` keeps the memory, so
/// nothing is allocated in the steady state.
class TickFrame {
public:
    /// Empties the frame. Requires slot_count <= slots_max.
    void reset(Tick tick, std::size_t slot_count);

    /// Sets a slot's input. The bytes may be another input of this frame. Requires a slot below
    /// slot_count() and at most input_bytes_max bytes.
    void set_input(Slot slot, ByteView bytes, bool substituted = false);

    /// Appends an event. Requires at most events_max events and event_bytes_max payload bytes.
    void add_event(EventKind kind, ByteView payload = {});
    void add_event(EventKind kind, Slot slot, ByteView payload = {});

    Tick tick() const { return tick_; }

    std::size_t slot_count() const { return slots_.size(); }

    /// Requires a slot below slot_count().
    const SlotInput& at(Slot slot) const {
        TWINSTEP_ASSERT(slot.value < slots_.size());
        return slots_[slot.value];
    }

    /// The input's bytes, valid until the frame changes; empty if not present.
    ByteView input(Slot slot) const { return pool(at(slot).offset, at(slot).size); }

    std::span<const Event> events() const { return events_; }

    ByteView payload(const Event& event) const { return pool(event.offset, event.size); }

private:
    ByteView pool(std::uint32_t offset, std::uint32_t size) const {
        return ByteView(pool_).subspan(offset, size);
    }

    std::uint32_t store(ByteView bytes);

    Tick tick_;
    std::vector<SlotInput> slots_;
    std::vector<Event> events_;
    Bytes pool_;
};

/// Appends the frame's encoding to `target`; docs/recording-format.md, "Tick frame". This encoding
/// is the only one: the same bytes are sent, recorded and decoded for the step. Determinism: pure.
void encode_frame(const TickFrame& frame, Bytes& target);

/// Decodes exactly one frame; any byte left over is an error. On failure the frame is emptied.
/// Errors: truncated, malformed, limit_exceeded, trailing_bytes.
Result<void> decode_frame(ByteView bytes, TickFrame& frame);

} // namespace twinstep
