// SPDX-License-Identifier: MIT
// The tick frame's one encoding: golden bytes, round trips, and everything that is refused.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "hex.hpp"
#include "test_random.hpp"

#include "twinstep/sim/frame.hpp"

#include <catch2/catch.hpp>

#include <array>

using namespace twinstep;

namespace {

Bytes encoded(const TickFrame& frame) {
    Bytes bytes;
    encode_frame(frame, bytes);
    return bytes;
}

void fill_any(TestRandom& random, TickFrame& frame) {
    const std::size_t slots = random.below(2) == 0 ? random.below(5) : random.below(40);
    const std::size_t shift = 1 + random.below(63);
    frame.reset(Tick{random.bits() >> shift}, slots);
    for (std::size_t i = 0; i < slots; ++i) {
        if (random.below(4) != 0) {
            const Bytes input = random_bytes(random, random.below(input_bytes_max + 1));
            const bool substituted = random.below(3) == 0;
            frame.set_input(Slot{static_cast<std::uint16_t>(i)}, input, substituted);
        }
    }
    for (std::size_t i = random.below(4); i > 0; --i) {
        const auto kind = static_cast<EventKind>(1 + random.below(255));
        const Bytes payload = random_bytes(random, random.below(30));
        if (random.below(2) == 0) {
            frame.add_event(kind, payload);
        } else {
            frame.add_event(
                kind, Slot{static_cast<std::uint16_t>(random.below(slots_max))}, payload);
        }
    }
}

bool same(const TickFrame& a, const TickFrame& b) {
    if (a.tick() != b.tick() || a.slot_count() != b.slot_count() ||
        a.events().size() != b.events().size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.slot_count(); ++i) {
        const Slot slot{static_cast<std::uint16_t>(i)};
        if (a.at(slot).present != b.at(slot).present ||
            a.at(slot).substituted != b.at(slot).substituted ||
            to_hex_text(a.input(slot)) != to_hex_text(b.input(slot))) {
            return false;
        }
    }
    for (std::size_t i = 0; i < a.events().size(); ++i) {
        const Event& left = a.events()[i];
        const Event& right = b.events()[i];
        if (left.kind != right.kind || left.has_slot != right.has_slot || left.slot != right.slot ||
            to_hex_text(a.payload(left)) != to_hex_text(b.payload(right))) {
            return false;
        }
    }
    return true;
}

TickFrame small_frame() {
    TickFrame frame;
    frame.reset(Tick{300}, 3);
    frame.set_input(Slot{0}, from_hex_text("010203"));
    frame.set_input(Slot{2}, from_hex_text("ff"), true);
    frame.add_event(EventKind::marker, Slot{1}, from_hex_text("6869"));
    frame.add_event(EventKind::pause);
    return frame;
}

std::string decode_text(std::string_view hex) {
    TickFrame frame;
    return text_of(decode_frame(from_hex_text(hex), frame));
}

} // namespace

TEST_CASE("a frame has exactly the documented bytes", "[sim][golden]") {
    REQUIRE(to_hex_text(encoded(small_frame())) == "ac02"       // tick 300
                                                   "07"         // 3 slots, has events
                                                   "02"         // 2 events
                                                   "0602026869" // marker, slot 1, "hi"
                                                   "030000"     // pause, no slot, nothing
                                                   "0d010203"   // 3 bytes, present
                                                   "00"         // absent
                                                   "07ff");     // 1 byte, substituted, present
    TickFrame empty;
    empty.reset(Tick{0}, 0);
    REQUIRE(to_hex_text(encoded(empty)) == "0000");
}

TEST_CASE("a present input of no bytes is not an absent one", "[sim][unit]") {
    TickFrame frame;
    frame.reset(Tick{1}, 2);
    frame.set_input(Slot{1}, {});
    REQUIRE(to_hex_text(encoded(frame)) == "01040001");
    TickFrame decoded;
    REQUIRE(decode_frame(encoded(frame), decoded));
    REQUIRE_FALSE(decoded.at(Slot{0}).present);
    REQUIRE(decoded.at(Slot{1}).present);
}

TEST_CASE("any frame decodes to itself and encodes to the same bytes again", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    TickFrame frame;
    TickFrame decoded;
    for (int round = 0; round < 2000; ++round) {
        fill_any(random, frame);
        const Bytes bytes = encoded(frame);
        REQUIRE(text_of(decode_frame(bytes, decoded)) == "ok");
        REQUIRE(same(frame, decoded));
        REQUIRE(encoded(decoded) == bytes);
    }
}

TEST_CASE("a frame cut at any byte is refused and leaves an empty frame", "[sim][fault]") {
    const Bytes bytes = encoded(small_frame());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        TickFrame frame = small_frame();
        const auto result = decode_frame(ByteView(bytes).first(size), frame);
        CAPTURE(size);
        REQUIRE(code_of(result) == SimErrc::truncated);
        REQUIRE(result.error().offset <= size);
        REQUIRE(frame.slot_count() == 0);
        REQUIRE(frame.events().empty());
        REQUIRE(frame.tick() == Tick{0});
    }
}

TEST_CASE("a frame with any bit flipped is refused or is the frame of exactly those bytes",
          "[sim][fault][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::size_t refused = 0;
    std::size_t accepted = 0;
    for (int round = 0; round < 20; ++round) {
        TickFrame frame = small_frame();
        if (round > 0) {
            fill_any(random, frame);
        }
        Bytes bytes = encoded(frame);
        for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
            const auto mask = static_cast<std::byte>(1U << (bit % 8));
            bytes[bit / 8] ^= mask;
            TickFrame decoded;
            if (decode_frame(bytes, decoded)) {
                ++accepted;
                if (encoded(decoded) != bytes) {
                    FAIL("bit " << bit << " of " << to_hex_text(bytes));
                }
            } else {
                ++refused;
            }
            bytes[bit / 8] ^= mask;
        }
    }
    REQUIRE(refused > 0);
    REQUIRE(accepted > 0);
}

TEST_CASE("random bytes are refused or canonical", "[sim][fault][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    TickFrame frame;
    std::size_t accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random.below(24));
        for (std::byte& byte : bytes) {
            const std::uint64_t mask = random.below(2) == 0 ? 0x07U : 0xFFU;
            byte = static_cast<std::byte>(random.bits() & mask);
        }
        if (decode_frame(bytes, frame)) {
            ++accepted;
            REQUIRE(to_hex_text(encoded(frame)) == to_hex_text(bytes));
        }
    }
    REQUIRE(accepted > 10);
}

TEST_CASE("each limit of a frame is refused with its field", "[sim][fault]") {
    // Tick 2^63 - 1 is the last one.
    REQUIRE(decode_text("ffffffffffffffff7f 00") == "ok");
    REQUIRE(decode_text("80808080808080808001 00") == "byte 0: tick: a limit is exceeded");
    // 4097 slots.
    REQUIRE(decode_text("00 8240") == "byte 1: slots: a limit is exceeded");
    // 4096 slots in a few bytes: refused before room is made for them.
    REQUIRE(decode_text("00 8040 00") == "byte 3: slots: the bytes end too early");
    // The flag says events, the count says none.
    REQUIRE(decode_text("00 01 00") == "byte 3: events: the value is not valid");
    REQUIRE(decode_text("00 01 8102") == "byte 2: events: a limit is exceeded");
    REQUIRE(decode_text("00 01 01 00 00 00") == "byte 6: event.kind: the value is not valid");
    REQUIRE(decode_text("00 01 01 06 8120 00") == "byte 4: event.slot: a limit is exceeded");
    REQUIRE(decode_text("00 01 01 06 00 8108") == "byte 5: event.size: a limit is exceeded");
    REQUIRE(decode_text("00 01 01 06 00 02 61") ==
            "byte 6: event.payload: the bytes end too early");
    // 257 bytes of input.
    REQUIRE(decode_text("00 02 8508") == "byte 2: input.size: a limit is exceeded");
    // Absent, but substituted or with bytes.
    REQUIRE(decode_text("00 02 02") == "byte 3: input.size: the value is not valid");
    REQUIRE(decode_text("00 02 04 61") == "byte 4: input.size: the value is not valid");
    REQUIRE(decode_text("00 00 00") == "byte 2: frame: bytes are left over");
}

TEST_CASE("a frame above its size limit is refused, the largest one is not", "[sim][fault]") {
    TickFrame frame;
    frame.reset(Tick{1}, 237);
    const Bytes input(input_bytes_max, std::byte{7});
    for (std::uint16_t slot = 0; slot < 237; ++slot) {
        frame.set_input(Slot{slot}, input);
    }
    Bytes bytes = encoded(frame);
    REQUIRE(bytes.size() <= frame_bytes_max);
    TickFrame decoded;
    REQUIRE(decode_frame(bytes, decoded));
    bytes.resize(frame_bytes_max + 1);
    REQUIRE(text_of(decode_frame(bytes, decoded)) == "byte 0: frame: a limit is exceeded");
}

TEST_CASE("a decoder allocates no more than the bytes could hold", "[sim][fault]") {
    TickFrame frame;
    const Bytes hostile = from_hex_text("00 8040 00 00 00");
    const AllocationCounter counter;
    REQUIRE_FALSE(decode_frame(hostile, frame));
    REQUIRE(counter.bytes() < 1024);
}

TEST_CASE("a frame that is used again allocates nothing", "[sim][unit]") {
    TickFrame frame;
    TickFrame decoded;
    Bytes bytes;
    const Bytes input = from_hex_text("0102030405060708");
    std::uint64_t allocations = 0;
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
        const AllocationCounter counter;
        frame.reset(Tick{tick}, 8);
        for (std::uint16_t slot = 0; slot < 8; ++slot) {
            frame.set_input(Slot{slot}, input);
        }
        frame.add_event(EventKind::marker, input);
        bytes.clear();
        encode_frame(frame, bytes);
        const bool decoded_well = decode_frame(bytes, decoded).has_value();
        allocations = counter.count();
        REQUIRE(decoded_well);
    }
    REQUIRE(allocations == 0);
}

TEST_CASE("building a frame beyond its limits is a programmer's error", "[sim][unit]") {
    const Bytes large(event_bytes_max + 1);
    REQUIRE(assertion_of([] { TickFrame().reset(Tick{0}, slots_max + 1); }) ==
            "slot_count <= slots_max");
    REQUIRE(assertion_of([] { TickFrame().reset(Tick{tick_max} + 1, 1); }) ==
            "tick.value <= tick_max");
    REQUIRE(assertion_of([] { small_frame().set_input(Slot{3}, {}); }) ==
            "slot.value < slots_.size()");
    REQUIRE(assertion_of([&] {
                small_frame().set_input(Slot{0}, ByteView(large).first(input_bytes_max + 1));
            }) == "bytes.size() <= input_bytes_max");
    REQUIRE(assertion_of([&] { small_frame().add_event(EventKind::marker, large); }) ==
            "payload.size() <= event_bytes_max");
    REQUIRE(assertion_of([] {
                TickFrame frame;
                for (std::size_t i = 0; i <= events_max; ++i) {
                    frame.add_event(EventKind::marker);
                }
            }) == "events_.size() < events_max");
    REQUIRE(assertion_of([] {
                small_frame().add_event(EventKind::join, Slot{slots_max}, ByteView{});
            }) == "slot.value < slots_max");
    REQUIRE(assertion_of([] { static_cast<void>(small_frame()); }) == "no assertion");
}
