// SPDX-License-Identifier: MIT
// The writer's bytes and the sticky reader's refusals.
#include "hex.hpp"
#include "test_random.hpp"

#include "twinstep/sim/bytes.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

namespace {

Bytes varint_of(std::uint64_t value) {
    Bytes bytes;
    ByteWriter(bytes).varint(value);
    return bytes;
}

/// What reading one varint from the bytes gives: its value, or the error.
std::string read_varint(std::string_view hex, std::uint64_t limit = UINT64_MAX) {
    const Bytes bytes = from_hex_text(hex);
    ByteReader reader(bytes);
    const std::uint64_t value = reader.varint("n", limit);
    return reader.ok() ? std::to_string(value) : to_string(reader.error());
}

} // namespace

TEST_CASE("the writer puts little-endian bytes in the order of the calls", "[sim][unit]") {
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.u8(0x01);
    writer.u16(0x0302);
    writer.u32(0x07060504);
    writer.u64(0x0F0E0D0C0B0A0908);
    writer.varint(300);
    writer.text("hi");
    writer.bytes(from_hex_text("ff"));
    REQUIRE(to_hex_text(bytes) == "0102030405060708090a0b0c0d0e0f"
                                  "ac02"
                                  "026869"
                                  "ff");
    ByteReader reader(bytes);
    REQUIRE(reader.u8("a") == 0x01);
    REQUIRE(reader.u16("b") == 0x0302);
    REQUIRE(reader.u32("c") == 0x07060504);
    REQUIRE(reader.u64("d") == 0x0F0E0D0C0B0A0908);
    REQUIRE(reader.varint("e") == 300);
    REQUIRE(reader.text("f", 2) == "hi");
    REQUIRE(reader.remaining() == 1);
    REQUIRE(reader.u8("g") == 0xFF);
    reader.finish("end");
    REQUIRE(reader.ok());
}

TEST_CASE("a varint takes one byte for every seven bits and reads back", "[sim][unit]") {
    for (unsigned bits = 0; bits <= 64; ++bits) {
        const std::uint64_t largest = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
        const Bytes bytes = varint_of(largest);
        CAPTURE(bits);
        REQUIRE(bytes.size() == std::max<std::size_t>(1, (bits + 6) / 7));
        REQUIRE(bytes.size() <= varint_bytes_max);
        ByteReader reader(bytes);
        REQUIRE(reader.varint("n") == largest);
        reader.finish("end");
        REQUIRE(reader.ok());
    }
}

TEST_CASE("any varint that is accepted is the shortest spelling", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    std::size_t accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes;
        for (std::size_t i = 0; i < 1 + random.below(11); ++i) {
            // Mostly continuation bytes, many of them zero groups.
            const std::uint64_t draw = random.bits();
            bytes.push_back(static_cast<std::byte>((draw & 1U) != 0 ? 0x80U : (draw >> 8) & 0xFFU));
        }
        ByteReader reader(bytes);
        const std::uint64_t value = reader.varint("n");
        if (reader.ok()) {
            ++accepted;
            bytes.resize(reader.offset());
            REQUIRE(to_hex_text(varint_of(value)) == to_hex_text(bytes));
        }
    }
    REQUIRE(accepted > 1000);
}

TEST_CASE("a varint that is too long, too large or cut is refused where it starts",
          "[sim][fault]") {
    REQUIRE(read_varint("00") == "0");
    REQUIRE(read_varint("7f") == "127");
    REQUIRE(read_varint("8000") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("8100") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("ff8000") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("ffffffffffffffffff01") == std::to_string(UINT64_MAX));
    REQUIRE(read_varint("ffffffffffffffffff02") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("ffffffffffffffffff81") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("ffffffffffffffffff8100") == "byte 0: n: the value is not valid");
    REQUIRE(read_varint("ac02", 300) == "300");
    REQUIRE(read_varint("ac02", 299) == "byte 0: n: a limit is exceeded");
    REQUIRE(read_varint("80") == "byte 1: n: the bytes end too early");
    REQUIRE(read_varint("") == "byte 0: n: the bytes end too early");
}

TEST_CASE("a reader's first failure sticks, with offset and field", "[sim][fault]") {
    const Bytes bytes = from_hex_text("0102030405");
    ByteReader reader(bytes, 1000);
    REQUIRE(reader.u16("first") == 0x0201);
    REQUIRE(reader.u32("second") == 0);
    REQUIRE_FALSE(reader.ok());
    REQUIRE(to_string(reader.error()) == "byte 1002: second: the bytes end too early");
    // The three bytes that are left would satisfy each of these.
    REQUIRE(reader.u8("third") == 0);
    REQUIRE(reader.varint("fourth") == 0);
    REQUIRE(reader.bytes(1, "fifth").empty());
    REQUIRE(reader.text("sixth", 10).empty());
    REQUIRE(reader.remaining() == 0);
    reader.fail(SimErrc::malformed, "seventh");
    reader.finish("eighth");
    REQUIRE(to_string(reader.error()) == "byte 1002: second: the bytes end too early");
}

TEST_CASE("a reader never yields bytes past the end", "[sim][fault]") {
    const Bytes bytes = from_hex_text("010203");
    for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{1} << 32, UINT64_MAX}) {
        ByteReader reader(bytes);
        REQUIRE(reader.bytes(count, "run").empty());
        REQUIRE(reader.error().code == SimErrc::truncated);
    }
    ByteReader whole(bytes);
    REQUIRE(whole.bytes(3, "run").size() == 3);
    REQUIRE(whole.ok());
}

TEST_CASE("a text is bounded by its limit before its bytes", "[sim][fault]") {
    const Bytes bytes = from_hex_text("03616263");
    ByteReader short_limit(bytes);
    REQUIRE(short_limit.text("t", 2).empty());
    REQUIRE(short_limit.error().code == SimErrc::limit_exceeded);
    const Bytes cut = from_hex_text("046162");
    ByteReader reader(cut);
    REQUIRE(reader.text("t", 100).empty());
    REQUIRE(to_string(reader.error()) == "byte 1: t: the bytes end too early");
}

TEST_CASE("bytes left over are an error at the first of them", "[sim][fault]") {
    const Bytes bytes = from_hex_text("0102");
    ByteReader reader(bytes);
    REQUIRE(reader.u8("a") == 1);
    reader.finish("end");
    REQUIRE(to_string(reader.error()) == "byte 1: end: bytes are left over");
}

TEST_CASE("little_endian is its own inverse and keeps single bytes", "[sim][unit]") {
    STATIC_REQUIRE(detail::little_endian(std::uint8_t{0x12}) == 0x12);
    STATIC_REQUIRE(detail::little_endian(detail::little_endian(
                       std::uint64_t{0x0102030405060708})) == 0x0102030405060708);
}
