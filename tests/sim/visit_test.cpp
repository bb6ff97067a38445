// SPDX-License-Identifier: MIT
// The named tree of a state and the text of its layout.
#include "assertion_of.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace twinstep;

namespace {

/// Writes the tree as one line.
class Scribe : public FieldVisitor {
public:
    explicit Scribe(std::string skipped = {})
        : skipped_(std::move(skipped)) {}

    bool begin_section(std::string_view name) override {
        if (name == skipped_) {
            return false;
        }
        text += std::string(name) + "=<";
        return true;
    }

    void end_section() override { text += ">"; }

    void begin_object(std::string_view name, bool list) override {
        text += std::string(name) + (list ? "[" : "{");
    }

    void end_object() override { text += "/"; }

    void field(std::string_view name, const FieldValue& value) override {
        text +=
            std::string(name) + ":" + to_string(value) + "'" + std::to_string(value.width) + " ";
    }

    std::string text;

private:
    std::string skipped_;
};

struct Private {
    std::int16_t count_ = -5;
    std::vector<std::uint8_t> list_{1, 2};

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(count_), CEREAL_NVP(list_));
    }
};

template <class T>
std::string visited(const T& value) {
    Scribe scribe;
    VisitArchive archive(scribe);
    archive(value);
    return scribe.text;
}

FieldValue number(FieldValue::Type type, std::uint64_t bits) {
    FieldValue value;
    value.type = type;
    value.bits = bits;
    return value;
}

} // namespace

TEST_CASE("a visitor sees names without the underscore, values and widths", "[sim][unit]") {
    REQUIRE(visited(Private{}) == "{count:-5'16 list[:1'8 :2'8 //");
    REQUIRE(visited(ToyInput{-1, 2, 3, true}) == "{dx:-1'8 dy:2'8 turn:3'16 fire:true'8 /");
    REQUIRE(visited(std::string("hi")) == ":hi'0 ");
}

TEST_CASE("a visitor sees the whole state, and can be spared a section", "[sim][unit]") {
    const auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->reset({7, 1, {}}));
    Scribe all;
    simulation->visit(all);
    REQUIRE(all.text.starts_with("random=<draws{seed:7'64 count:0'64 />"
                                 "bodies=<bodies[{x:0'32 y:0'32 angle:0'16 shots:0'16 //>"
                                 "world=<cells["));
    Scribe some("bodies");
    simulation->visit(some);
    REQUIRE(some.text.starts_with("random=<draws{seed:7'64 count:0'64 />world=<cells["));
    REQUIRE(some.text.ends_with(">"));
}

TEST_CASE("a visitor sees an input, or why its bytes are none", "[sim][unit]") {
    const auto simulation = make_simulation<ToyGame>();
    Bytes bytes;
    encode_input(ToyInput{1, 2, 3, false}, bytes);
    Scribe scribe;
    REQUIRE(simulation->visit_input(bytes, scribe));
    REQUIRE(scribe.text == "input{dx:1'8 dy:2'8 turn:3'16 fire:false'8 /");
    bytes.pop_back();
    REQUIRE_FALSE(simulation->visit_input(bytes, scribe));
}

TEST_CASE("values are shown exactly", "[sim][unit]") {
    using Type = FieldValue::Type;
    REQUIRE(to_string(number(Type::boolean, 1)) == "true");
    REQUIRE(to_string(number(Type::unsigned_integer, UINT64_MAX)) == "18446744073709551615");
    REQUIRE(to_string(number(Type::signed_integer, UINT64_MAX)) == "-1");
    REQUIRE(to_string(number(Type::float32, 0x3DCCCCCD)) == "0.1");
    REQUIRE(to_string(number(Type::float32, 0x80000000)) == "-0");
    REQUIRE(to_string(number(Type::float64, 0x3FB999999999999A)) == "0.1");
}

TEST_CASE("the schema text spells every kind of field", "[sim][golden]") {
    REQUIRE(schema_of(ToyInput{}) == "{dx:i8,dy:i8,turn:u16,fire:bool}");
    REQUIRE(schema_of(Private{}) == "{count:i16,list:[u8]}");
    REQUIRE(schema_of(std::map<std::int32_t, std::vector<ToyBody>>{}) ==
            "map[i32,[{x:i32,y:i32,angle:u16,shots:u16}]]");
    REQUIRE(schema_of(std::array<std::optional<double>, 2>{}) == "2*[optional[f64]]");
    REQUIRE(schema_of(std::vector<bool>{}) != schema_of(std::vector<std::uint8_t>{}));
    const auto simulation = make_simulation<ToyGame>();
    REQUIRE(simulation->info().input_schema == schema_of(ToyInput{}));
    REQUIRE(simulation->info().state_schema ==
            "random={draws:{seed:u64,count:u64}},"
            "bodies={bodies:[{x:i32,y:i32,angle:u16,shots:u16}]},"
            "world={cells:[u32],heat:f32,mode:u8,last:optional[i16],log:map[i32,text]}");
}

TEST_CASE("a section's name is unique in its state", "[sim][fault]") {
    REQUIRE(assertion_of([] {
                std::uint8_t value = 0;
                SchemaArchive archive;
                archive(section("a", value), section("b", value), section("a", value));
            }) == "!repeated");
}
