// SPDX-License-Identifier: MIT
// Canonical bytes out, hostile bytes in, and the walk that names fields.
#include "allocation_counter.hpp"
#include "assertion_of.hpp"
#include "hex.hpp"
#include "state_forms.hpp"
#include "test_random.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <limits>

using namespace twinstep;

namespace {

template <class T>
std::string hex_of(const T& value) {
    return to_hex_text(bytes_of(value));
}

template <class T>
std::string load_text(std::string_view hex) {
    T value{};
    return text_of(load_from(from_hex_text(hex), value));
}

/// One of everything a state may be made of.
struct Everything {
    std::int8_t i8 = 0;
    std::uint16_t u16 = 0;
    std::int32_t i32 = 0;
    std::uint64_t u64 = 0;
    bool flag = false;
    float f32 = 0.0F;
    double f64 = 0.0;
    ToyMode mode = ToyMode::calm;
    std::string text;
    std::vector<std::uint32_t> numbers;
    std::vector<float> floats;
    std::vector<bool> flags;
    std::vector<ToyBody> bodies;
    std::vector<std::string> texts;
    std::array<std::int16_t, 3> triple{};
    std::array<bool, 2> pair{};
    std::optional<std::uint8_t> maybe;
    std::map<std::string, std::int32_t> named;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(i8), CEREAL_NVP(u16), CEREAL_NVP(i32), CEREAL_NVP(u64));
        archive(CEREAL_NVP(flag), CEREAL_NVP(f32), CEREAL_NVP(f64), CEREAL_NVP(mode));
        archive(CEREAL_NVP(text), CEREAL_NVP(numbers), CEREAL_NVP(floats), CEREAL_NVP(flags));
        archive(CEREAL_NVP(bodies), CEREAL_NVP(texts), CEREAL_NVP(triple), CEREAL_NVP(pair));
        archive(CEREAL_NVP(maybe), CEREAL_NVP(named));
    }
};

Everything an_everything() {
    Everything e;
    e.i8 = -2;
    e.u16 = 0x1234;
    e.i32 = -3;
    e.u64 = 0x0102030405060708;
    e.flag = true;
    e.f32 = 1.5F;
    e.f64 = -0.0;
    e.mode = ToyMode::angry;
    e.text = "abc";
    e.numbers = {1, 2};
    e.floats = {0.25F};
    e.flags = {true, false};
    e.bodies = {{1, -1, 2, 3}};
    e.texts = {"x", ""};
    e.triple = {1, -1, 300};
    e.pair = {false, true};
    e.maybe = 9;
    e.named = {{"a", 1}, {"b", -1}};
    return e;
}

struct Tree {
    std::vector<Tree> children;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(children));
    }
};

struct Thrower {
    std::int32_t value = 0;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(value));
        if (value == 666) {
            throw std::runtime_error("a value nobody wants");
        }
    }
};

} // namespace

TEST_CASE("values are little-endian, of fixed width, without padding", "[sim][golden]") {
    REQUIRE(hex_of(std::int8_t{-2}) == "fe");
    REQUIRE(hex_of(std::uint16_t{0x1234}) == "3412");
    REQUIRE(hex_of(std::int32_t{-3}) == "fdffffff");
    REQUIRE(hex_of(std::uint64_t{0x0102030405060708}) == "0807060504030201");
    REQUIRE(hex_of(true) == "01");
    REQUIRE(hex_of(1.5F) == "0000c03f");
    REQUIRE(hex_of(-2.0) == "00000000000000c0");
    REQUIRE(hex_of(ToyMode::angry) == "01");
    REQUIRE(hex_of(std::string("hi")) == "02000000000000006869");
    REQUIRE(hex_of(std::vector<std::uint16_t>{1, 2}) == "020000000000000001000200");
    REQUIRE(hex_of(std::optional<std::uint8_t>{}) == "01");
    REQUIRE(hex_of(std::optional<std::uint8_t>{7}) == "0007");
    REQUIRE(hex_of(std::map<std::uint8_t, bool>{{5, true}}) == "01000000000000000501");
    REQUIRE(hex_of(ToyBody{1, -1, 2, 3}) == "01000000ffffffff02000300");
    // A contiguous run is copied whole and means the same.
    REQUIRE(hex_of(std::vector<ToyBody>{{1, -1, 2, 3}}) ==
            "010000000000000001000000ffffffff02000300");
    REQUIRE(hex_of(std::array<ToyBody, 1>{{{1, -1, 2, 3}}}) == "01000000ffffffff02000300");
}

TEST_CASE("every kind of value loads as it was saved", "[sim][unit]") {
    const Bytes bytes = bytes_of(an_everything());
    Everything loaded;
    REQUIRE(text_of(load_from(bytes, loaded)) == "ok");
    REQUIRE(to_hex_text(bytes_of(loaded)) == to_hex_text(bytes));
    REQUIRE(loaded.named == an_everything().named);
    REQUIRE(loaded.texts == an_everything().texts);
    REQUIRE(loaded.pair == an_everything().pair);
    REQUIRE(loaded.flags == an_everything().flags);
    // Loading over other contents leaves none of them.
    Everything other = an_everything();
    other.numbers.assign(50, 7);
    other.bodies.assign(50, {});
    other.texts.assign(50, "old");
    other.named["zzz"] = 1;
    REQUIRE(load_from(bytes, other));
    REQUIRE(bytes_of(other) == bytes);
}

TEST_CASE("a state cut at any byte is refused at or before that byte", "[sim][fault]") {
    const Bytes bytes = bytes_of(an_everything());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Everything loaded;
        const auto result = load_from(ByteView(bytes).first(size), loaded);
        CAPTURE(size);
        REQUIRE(code_of(result) == SimErrc::truncated);
        REQUIRE(result.error().offset <= size);
    }
}

TEST_CASE("bytes left over after a state are refused", "[sim][fault]") {
    Bytes bytes = bytes_of(an_everything());
    const std::size_t size = bytes.size();
    bytes.push_back(std::byte{0});
    Everything loaded;
    const auto result = load_from(bytes, loaded);
    REQUIRE(code_of(result) == SimErrc::trailing_bytes);
    REQUIRE(result.error().offset == size);
}

TEST_CASE("a state with any bit flipped is refused or saves to exactly those bytes",
          "[sim][fault][property]") {
    Everything loaded;
    REQUIRE(refused_bits(bytes_of(an_everything()), loaded) > 100);
}

TEST_CASE("a count beyond the bytes that are left is refused before anything is allocated",
          "[sim][fault]") {
    // 2^63, and one more than there is.
    for (const char* count : {"0000000000000080", "ffffffffffffffff", "0300000000000000"}) {
        const Bytes bytes = from_hex_text(std::string(count) + "0101");
        std::vector<std::uint8_t> numbers;
        std::vector<ToyBody> bodies;
        std::vector<std::string> texts;
        std::vector<bool> flags;
        std::map<std::uint8_t, std::uint8_t> map;
        std::string text;
        CAPTURE(count);
        const AllocationCounter counter;
        const std::array<std::error_code, 6> codes{code_of(load_from(bytes, numbers)),
                                                   code_of(load_from(bytes, bodies)),
                                                   code_of(load_from(bytes, texts)),
                                                   code_of(load_from(bytes, flags)),
                                                   code_of(load_from(bytes, map)),
                                                   code_of(load_from(bytes, text))};
        // Archives own a few small tables; the point is that nothing follows the count.
        REQUIRE(counter.bytes() < 4096);
        for (const std::error_code& code : codes) {
            REQUIRE(code == SimErrc::truncated);
        }
    }
}

TEST_CASE("a count that fits as bytes but not as elements makes no memory", "[sim][fault]") {
    // A million bytes of zeros behind a count of a million: enough for bytes, not for the elements.
    constexpr std::size_t size = 1000000;
    Bytes bytes = bytes_of(std::uint64_t{size});
    bytes.resize(bytes.size() + size, std::byte{0xFF});
    std::vector<std::uint64_t> numbers;
    std::vector<Everything> large;
    const AllocationCounter counter;
    REQUIRE(code_of(load_from(bytes, numbers)) == SimErrc::truncated);
    REQUIRE_FALSE(load_from(bytes, large));
    REQUIRE(counter.bytes() < 16384);
}

TEST_CASE("a type that contains itself is refused when its layout is spelled", "[sim][fault]") {
    // Its depth would be the sender's choice.
    REQUIRE(assertion_of([] { static_cast<void>(schema_of(Tree{})); }) ==
            "text_.size() < schema_bytes_max");
}

TEST_CASE("only 0 and 1 are booleans, wherever they stand", "[sim][fault]") {
    REQUIRE(load_text<bool>("02") == "byte 1: bool: the value is not valid");
    REQUIRE(load_text<std::vector<bool>>("0100000000000000 ff") ==
            "byte 9: bool: the value is not valid");
    REQUIRE(load_text<std::array<bool, 2>>("00 02") == "byte 2: bool: the value is not valid");
    REQUIRE(load_text<std::optional<std::uint8_t>>("02 07") ==
            "byte 1: bool: the value is not valid");
    REQUIRE(load_text<std::optional<std::uint8_t>>("01 07") == "byte 1: end: bytes are left over");
}

TEST_CASE("the keys of a map come in order and once", "[sim][fault]") {
    using Map = std::map<std::uint8_t, std::uint8_t>;
    REQUIRE(load_text<Map>("0200000000000000 0100 0200") == "ok");
    REQUIRE(load_text<Map>("0200000000000000 0200 0100") ==
            "byte 12: map.key: the value is not valid");
    REQUIRE(load_text<Map>("0200000000000000 0100 0100") ==
            "byte 12: map.key: the value is not valid");
}

TEST_CASE("every NaN is saved as one NaN, and no other is loaded", "[sim][unit]") {
    const float quiet = std::bit_cast<float>(std::uint32_t{0xFFC01234});
    const double other = std::bit_cast<double>(std::uint64_t{0xFFF8000000000001});
    REQUIRE(hex_of(quiet) == "0000c07f");
    REQUIRE(hex_of(other) == "000000000000f87f");
    REQUIRE(hex_of(std::vector<float>{quiet, 1.0F}) == "02000000000000000000c07f0000803f");
    REQUIRE(hex_of(std::array<double, 1>{other}) == "000000000000f87f");
    REQUIRE(load_text<float>("0000c07f") == "ok");
    REQUIRE(load_text<float>("0000c0ff") == "byte 4: nan: the value is not valid");
    REQUIRE(load_text<float>("0100c07f") == "byte 4: nan: the value is not valid");
    REQUIRE(load_text<float>("0100807f") == "byte 4: nan: the value is not valid");
    REQUIRE(load_text<double>("000000000000f87f") == "ok");
    REQUIRE(load_text<double>("000000000000f8ff") == "byte 8: nan: the value is not valid");
    REQUIRE(load_text<std::vector<float>>("0100000000000000 0000c0ff") ==
            "byte 12: nan: the value is not valid");
    REQUIRE(load_text<float>("0000807f") == "ok"); // infinity
}

TEST_CASE("minus zero is another value than zero and stays so", "[sim][unit]") {
    REQUIRE(hex_of(-0.0F) == "00000080");
    REQUIRE(hex_of(-0.0) == "0000000000000080");
    float value = 1.0F;
    REQUIRE(load_from(from_hex_text("00000080"), value));
    REQUIRE(std::bit_cast<std::uint32_t>(value) == 0x80000000);
}

TEST_CASE("an exception from a serialize becomes an error", "[sim][fault]") {
    REQUIRE(load_text<Thrower>("01000000") == "ok");
    REQUIRE(load_text<Thrower>("9a020000") ==
            "value: the value is not valid: a value nobody wants");
}

TEST_CASE("a section is loaded by name, in order, and to its last byte", "[sim][fault]") {
    std::uint16_t a = 7;
    std::uint8_t b = 9;
    const Bytes bytes = bytes_of(section("aa", a), section("b", b));
    REQUIRE(to_hex_text(bytes) == "026161"
                                  "0200000000000000"
                                  "0700"
                                  "0162"
                                  "0100000000000000"
                                  "09");
    const auto load = [](ByteView source, auto&&... sections) {
        InArchive archive(source);
        archive(sections...);
        return text_of(archive.finish());
    };
    REQUIRE(load(bytes, section("aa", a), section("b", b)) == "ok");
    REQUIRE(load(bytes, section("ab", a), section("b", b)) ==
            "byte 3: section.name: another layout is expected");
    REQUIRE(load(bytes, section("b", b), section("aa", a)) ==
            "byte 3: section.name: another layout is expected");
    REQUIRE(load(bytes, section("aa", a)) == "byte 13: end: bytes are left over");
    REQUIRE(load(bytes, section("aa", b), section("b", b)) ==
            "byte 12: section.size: another layout is expected");
    std::uint32_t wide = 0;
    REQUIRE(load(bytes, section("aa", wide), section("b", b)) ==
            "byte 15: section.size: another layout is expected");
    Bytes huge = bytes;
    huge[10] = std::byte{0xFF};
    REQUIRE(load(huge, section("aa", a), section("b", b)) ==
            "byte 11: section.size: the bytes end too early");
}
