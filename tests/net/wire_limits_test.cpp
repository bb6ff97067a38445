// SPDX-License-Identifier: MIT
// Each limit and each "one spelling only" of the page, one case each.
#include "hex.hpp"
#include "wire_check.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace twinstep;
using namespace twinstep::net;
using namespace twinstep::net::wire;

namespace {

/// The result for one frame with this type and body, in hexadecimal.
Result<void> body(FrameType type, std::string_view hex, const WireContext& context = {}) {
    const Bytes bytes = from_hex_text(hex);
    return check_frame({type, bytes}, context);
}

Result<void> runs(std::string_view hex, const WireContext& context = {}) {
    return check_runs(from_hex_text(hex), context);
}

/// A bundle of `count` ticks from tick 1000 on.
Result<void> bundle(unsigned count, std::string_view hex, const WireContext& context = {}) {
    const Bytes bytes = from_hex_text(hex);
    Ticks ticks;
    ticks.first_tick = 1000;
    ticks.count = static_cast<std::uint8_t>(count);
    ticks.body = bytes;
    return check_bundle(ticks, context);
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) {
        all += text;
    }
    return all;
}

} // namespace

TEST_CASE("runs are refused in any spelling but the shortest", "[net]") {
    CHECK(runs(""));
    CHECK(runs("80"));
    CHECK(runs("ff"));
    CHECK(code_of(runs("8080")) == SimErrc::malformed);          // Two repetitions for one.
    CHECK(code_of(runs("ff80")) == SimErrc::limit_exceeded);     // 129 values.
    CHECK(code_of(runs("0004 01020304")) == SimErrc::malformed); // A difference is shorter.
    CHECK(runs("0f 01020304"));
    CHECK(runs("0003 010203"));
    CHECK(runs("0000 80"));
    CHECK(code_of(runs("0000 0000")) == SimErrc::malformed);
    CHECK(code_of(runs("0000 01")) == SimErrc::malformed); // No group in nothing.
    CHECK(code_of(runs("01 00")) == SimErrc::malformed);   // Differs in nothing.
    CHECK(code_of(runs("03 0100")) == SimErrc::malformed);
    CHECK(code_of(runs("10 01")) == SimErrc::malformed); // A group beyond four bytes.
    CHECK(code_of(runs("03 01")) == SimErrc::truncated);
    CHECK(code_of(runs("00")) == SimErrc::truncated);
    CHECK(code_of(runs("0003 0102")) == SimErrc::truncated);
    CHECK(code_of(runs("008102")) == SimErrc::limit_exceeded); // 257 bytes.
    CHECK(code_of(runs("00 8300 010203")) == SimErrc::malformed);
    WireContext context;
    context.input_bytes_max = 4;
    CHECK(code_of(runs("0005 0102030405", context)) == SimErrc::limit_exceeded);
    CHECK(code_of(runs(repeated("01 01", 129))) == SimErrc::limit_exceeded);
    CHECK(runs(repeated("01 01", 128)));
}

TEST_CASE("the groups of a difference cover values of every size", "[net]") {
    for (std::size_t size = 1; size <= input_bytes_max; ++size) {
        const Bytes neutral(size, std::byte{0x55});
        const std::size_t width = (size + 6) / 7;
        for (std::size_t at = 0; at < size; ++at) {
            Bytes value = neutral;
            value[at] ^= std::byte{0x80};
            Bytes out;
            RunWriter writer(out, neutral);
            writer.add(value);
            writer.finish();
            REQUIRE(std::to_integer<unsigned>(out[0]) == 1U << at / width);
            REQUIRE(out.size() == 1 + std::min(width, size - at / width * width));
            RunReader reader(out, neutral, size);
            REQUIRE(to_hex_text(*reader.next()) == to_hex_text(value));
        }
    }
}

TEST_CASE("try_add stops in front of the limit and the runs stay whole", "[net]") {
    const Bytes neutral(4);
    for (std::size_t limit = 0; limit < 40; ++limit) {
        Bytes out;
        RunWriter writer(out, neutral);
        std::size_t taken = 0;
        Bytes value = neutral;
        while (taken < 100) {
            value[0] = static_cast<std::byte>(taken / 3);
            if (!writer.try_add(value, limit)) {
                break;
            }
            ++taken;
        }
        writer.finish();
        REQUIRE(out.size() <= limit);
        RunReader reader(out, neutral, 4);
        for (std::size_t i = 0; i < taken; ++i) {
            REQUIRE(std::to_integer<std::size_t>((*reader.next())[0]) == i / 3);
        }
        REQUIRE(reader.at_end());
        REQUIRE((limit == 0) == (taken == 0));
    }
}

TEST_CASE("bundles are refused outside of their limits and in another spelling", "[net]") {
    CHECK(bundle(1, "00 80 80"));
    CHECK(code_of(bundle(0, "00")) == SimErrc::trailing_bytes);
    CHECK(code_of(bundle(1, "")) == SimErrc::truncated);
    CHECK(code_of(bundle(1, "04 80 80")) == SimErrc::malformed);
    CHECK(code_of(bundle(1, "00 80")) == SimErrc::truncated);
    CHECK(code_of(bundle(1, "00 81 80")) == SimErrc::trailing_bytes); // One more than ticks.
    CHECK(code_of(bundle(1, "00 80 80 80")) == SimErrc::trailing_bytes);
    // Shapes: number, offset, present, substituted.
    CHECK(bundle(2, "01 01 00 01 00 81"));
    CHECK(bundle(2, "01 01 01 03 01 81 81"));
    CHECK(code_of(bundle(2, "01 00 81 81")) == SimErrc::malformed);         // None.
    CHECK(code_of(bundle(2, "01 03 00 01 00")) == SimErrc::limit_exceeded); // More than ticks.
    CHECK(code_of(bundle(2, "01 01 02 01 00 81")) == SimErrc::malformed);   // Offset.
    CHECK(code_of(bundle(2, "01 02 01 01 00 01 03 00 81 80")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "01 02 01 01 00 00 03 00 81 80")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "01 01 00 03 00 81 81")) == SimErrc::malformed); // As before.
    CHECK(code_of(bundle(2, "01 01 00 01 02 81")) == SimErrc::malformed);    // Not present.
    CHECK(code_of(bundle(2, "01 01 00 05 00 81")) == SimErrc::malformed);    // No such slot.
    // Events: number, offset, kind, slot, payload.
    CHECK(bundle(2, "02 01 00 06 00 00 81 81"));
    CHECK(code_of(bundle(2, "02 00 81 81")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "02 01 02 06 00 00 81 81")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "02 01 00 00 00 00 81 81")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "02 02 01 06 0000 00 06 0000 81 81")) == SimErrc::malformed);
    CHECK(code_of(bundle(2, "02 01 00 06 8120 00 81 81")) == SimErrc::limit_exceeded);
    CHECK(bundle(2, "02 01 00 06 8020 00 81 81"));
    CHECK(code_of(bundle(2, "02 8120" + repeated("00060000", 4097))) == SimErrc::limit_exceeded);
    CHECK(code_of(bundle(2, "02 8102" + repeated("00060000", 257) + "8181")) ==
          SimErrc::limit_exceeded);
    CHECK(bundle(2, "02 8002" + repeated("00060000", 256) + "8181"));
    WireContext none;
    none.slots = 0;
    CHECK(bundle(128, "00", none));
    WireContext most;
    most.slots = 64;
    CHECK(bundle(128, "00" + repeated("ff", 64), most));
}

TEST_CASE("the longest bundle a packet can hold is bounded work", "[net]") {
    // 64 slots, 128 ticks, the largest neutral input: 1 MiB from 65 bytes, and no more than that.
    WireContext context;
    context.slots = match_slots_max;
    context.neutral = Bytes(neutral_bytes_max, std::byte{1});
    REQUIRE(bundle(128, "00" + repeated("ff", 64), context));
}

TEST_CASE("INPUTS and TICKS keep to the ticks there are", "[net]") {
    const std::string last = "ffffffffffffffff7f"; // tick_max
    CHECK(body(FrameType::inputs, "00 05 00"));
    CHECK(code_of(body(FrameType::inputs, "04 05 00")) == SimErrc::malformed);
    CHECK(code_of(body(FrameType::inputs, "02 05 00")) == SimErrc::malformed);
    CHECK(code_of(body(FrameType::inputs, "00 05 0b")) == SimErrc::limit_exceeded); // Tick -1.
    CHECK(body(FrameType::inputs, "00 05 09"));
    CHECK(body(FrameType::inputs, "00 " + last + " 00"));
    CHECK(code_of(body(FrameType::inputs, "00 " + last + " 02")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(FrameType::inputs, "00 80808080808080808001 00")) ==
          SimErrc::limit_exceeded);
    CHECK(body(FrameType::inputs, "03 05 00 05 01020304"));
    CHECK(code_of(body(FrameType::inputs, "03 05 00 06 01020304")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(FrameType::inputs, "03 05 00 00 01020304")) == SimErrc::malformed);
    CHECK(body(FrameType::ticks, "05 00 00 00"));
    CHECK(code_of(body(FrameType::ticks, "05 00 00 00 00")) == SimErrc::trailing_bytes);
    CHECK(code_of(body(FrameType::ticks, "05 01 00 00")) == SimErrc::truncated);
    CHECK(code_of(body(FrameType::ticks, "05 81 00 00 00 ff ff")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(FrameType::ticks, last + " 01 00 00 00 80 80")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(FrameType::ticks, "05 00 0b 00")) == SimErrc::limit_exceeded);
    CHECK(body(FrameType::ticks, "05 00 00 01 0a 01020304")); // State 0.
    CHECK(code_of(body(FrameType::ticks, "05 00 00 01 0c 01020304")) == SimErrc::limit_exceeded);
    CHECK(body(FrameType::ticks, "05 00 00 fe ff ff ff 1f")); // The least margin there is.
    CHECK(code_of(body(FrameType::ticks, "05 00 00 80 80 80 80 20")) == SimErrc::limit_exceeded);
}

TEST_CASE("frames are cut at their lengths and only there", "[net]") {
    const auto packet = [](std::string_view hex) {
        return check_plaintext(true, from_hex_text(hex), {});
    };
    CHECK(packet(""));
    CHECK(packet("03 04 01020304 04 04 01020304"));
    CHECK(packet("43 01020304"));
    CHECK(code_of(packet("43 01020304 03")) == SimErrc::trailing_bytes);
    CHECK(code_of(packet("03")) == SimErrc::truncated);
    CHECK(code_of(packet("03 05 01020304")) == SimErrc::truncated);
    CHECK(code_of(packet("03 8400 01020304")) == SimErrc::malformed);
    CHECK(code_of(packet("03 ffffffffffffffffff01 01020304")) == SimErrc::truncated);
    CHECK(code_of(packet("3f 00")) == NetErrc::unknown_frame);
    CHECK(code_of(packet("00 00")) == NetErrc::unknown_frame);
    CHECK(code_of(packet("7f")) == NetErrc::unknown_frame);
    CHECK(packet("bf 00"));
    CHECK(packet("bf 02 0000 03 04 01020304"));
    CHECK(packet("ff 0000"));
    CHECK(packet("80 00"));
    CHECK(code_of(packet("bf 03 0000")) == SimErrc::truncated);
    CHECK(code_of(packet("83 04 01020304")) == SimErrc::malformed); // Known: bit 7 is not its.
}

TEST_CASE("small frames refuse numbers that mean nothing", "[net]") {
    using enum FrameType;
    const std::string zeros24 = repeated("00", 24);
    CHECK(body(close, "10"));
    CHECK(code_of(body(close, "11")) == SimErrc::malformed);
    CHECK(body(close, "01" + repeated("61", 512)));
    CHECK(code_of(body(close, "01" + repeated("61", 513))) == SimErrc::limit_exceeded);
    CHECK(body(blob_offer, "01000000 01 00 00001000" + zeros24));
    CHECK(code_of(body(blob_offer, "01000000 01 01 01000000" + zeros24)) ==
          SimErrc::limit_exceeded);
    CHECK(code_of(body(blob_offer, "01000000 01 00 01001000" + zeros24)) ==
          SimErrc::limit_exceeded);
    CHECK(body(blob_offer, "01000000 02 01 00000004" + zeros24));
    CHECK(code_of(body(blob_offer, "01000000 02 01 01000004" + zeros24)) ==
          SimErrc::limit_exceeded);
    CHECK(code_of(body(blob_offer, "01000000 02 01 00000000" + zeros24)) == SimErrc::malformed);
    CHECK(code_of(body(blob_offer, "01000000 03 01 01000000" + zeros24)) == SimErrc::malformed);
    CHECK(code_of(body(blob_chunk, "01000000 00")) == SimErrc::truncated);
    CHECK(body(blob_chunk, "01000000 d0dc03 00"));
    CHECK(code_of(body(blob_chunk, "01000000 d1dc03 00")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(blob_chunk, "01000000 00" + repeated("00", 1101))) ==
          SimErrc::limit_exceeded);
    CHECK(body(blob_ack, "01000000 00"));
    CHECK(code_of(body(blob_ack, "01000000 00 0100")) == SimErrc::malformed);
    CHECK(body(blob_ack, "01000000 00" + repeated("00", 31) + "80"));
    CHECK(code_of(body(blob_ack, "01000000 00" + repeated("00", 32) + "80")) ==
          SimErrc::limit_exceeded);
    CHECK(code_of(body(progress, "00 02")) == SimErrc::malformed);
    CHECK(body(hash_query, "00 3f"));
    CHECK(code_of(body(hash_query, "00 40")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(hash_query, "ffffffffffffffff7f 01")) == SimErrc::limit_exceeded);
    CHECK(body(hash_answer, "00 40" + repeated("00", 1024)));
    CHECK(code_of(body(hash_answer, "00 41" + repeated("00", 1040))) == SimErrc::limit_exceeded);
    CHECK(code_of(body(hash_answer, "00 01" + repeated("00", 15))) == SimErrc::truncated);
    CHECK(body(section_answer, "00 0001" + repeated("00", 1024)));
    CHECK(code_of(body(section_answer, "00 0101" + repeated("00", 1028))) ==
          SimErrc::limit_exceeded);
    CHECK(body(verdict, "01 05 40"));
    CHECK(code_of(body(verdict, "01 05 41")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(verdict, "03 05 00")) == SimErrc::malformed);
    CHECK(code_of(body(verdict, "02 05 00" + repeated("61", 64))) == SimErrc::limit_exceeded);
    CHECK(code_of(body(request, "00 00")) == SimErrc::malformed);
    CHECK(code_of(body(request, "06 00")) == SimErrc::malformed);
    CHECK(body(request, "03 64"));
    CHECK(code_of(body(request, "03 63")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(request, "03 a11f")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(request, "05 04")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(stall, "00 00000000 02 0000000000000000")) == SimErrc::malformed);
    CHECK(body(loss, "01"));
    CHECK(body(loss, "80"));
    CHECK(code_of(body(loss, "00")) == SimErrc::malformed); // Silence says so.
    CHECK(code_of(body(loss, "81")) == SimErrc::limit_exceeded);
    CHECK(code_of(body(loss, "")) == SimErrc::truncated);
    CHECK(code_of(body(loss, "0101")) == SimErrc::trailing_bytes);
}

TEST_CASE("ACCEPT is refused with any setting that cannot work", "[net]") {
    const auto with = [](const std::function<void(Bytes&)>& change) {
        AcceptPayload payload;
        payload.match_id = 1;
        payload.slots = 2;
        payload.tick_rate = TickRate(60);
        Bytes bytes;
        encode(payload, bytes);
        change(bytes);
        return check_accept_payload(bytes);
    };
    const auto byte = [&](std::size_t at, unsigned value) {
        return with([&](Bytes& bytes) { bytes[at] = static_cast<std::byte>(value); });
    };
    CHECK(byte(0, 1));
    CHECK(byte(8, 2));
    CHECK_FALSE(byte(8, 3));  // A slot beyond the slots.
    CHECK_FALSE(byte(10, 0)); // No slot at all.
    CHECK(byte(10, 64));
    CHECK_FALSE(byte(10, 65));
    CHECK_FALSE(byte(12, 0));   // 0 ticks
    CHECK_FALSE(byte(16, 0));   // in 0 seconds
    CHECK_FALSE(byte(27, 128)); // beyond the last tick
    CHECK_FALSE(byte(28, 31));  // least delay above the greatest
    CHECK_FALSE(byte(29, 128));
    CHECK_FALSE(byte(30, 0));
    CHECK_FALSE(byte(30, 4));
    CHECK_FALSE(byte(31, 3));
    CHECK_FALSE(byte(34, 0));
    CHECK_FALSE(byte(34, 65));
    CHECK_FALSE(byte(35, 0));
    CHECK_FALSE(byte(36, 2));
    CHECK_FALSE(byte(37, 2));
    CHECK_FALSE(byte(54, 1));
    CHECK_FALSE(with([](Bytes& bytes) { // A neutral input that no player may give.
        bytes[35] = std::byte{4};
        bytes[54] = std::byte{5};
        bytes.resize(bytes.size() + 5);
    }));
    CHECK(with([](Bytes& bytes) {
        bytes[54] = std::byte{5};
        bytes.resize(bytes.size() + 5);
    }));
}
