// SPDX-License-Identifier: MIT
// What the JSON of a state says of numbers that JSON's own do not hold exactly.
#include "state_tree.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

namespace {

/// A number of each kind.
class Numbers {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "numbers";
    static constexpr TickRate tick_rate{50};

    void reset(const Setup&) {}

    void step(const Step<Input>&) {}

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("numbers",
                        CEREAL_NVP(narrow_),
                        CEREAL_NVP(wide_),
                        CEREAL_NVP(single_),
                        CEREAL_NVP(pair_),
                        CEREAL_NVP(small_),
                        CEREAL_NVP(large_)));
    }

private:
    Q16x16 narrow_ = Q16x16::from_raw(-0x18000);
    Q32x32 wide_ = Q32x32::from_raw(0x180000000);
    float single_ = 0.1F;
    double pair_ = -0.1;
    std::int32_t small_ = -7;
    std::int64_t large_ = -7;
};

} // namespace

TEST_CASE("a state's JSON has the bits of what is no integer, and long integers as text",
          "[tools][unit]") {
    GameSimulation<Numbers> simulation;
    REQUIRE(simulation.reset({1, 1, {}}));
    const tools::Json tree = tools::state_tree(simulation).at("numbers");
    REQUIRE(tree.at("narrow").dump() == R"({"value":-1.5,"bits":"fffe8000"})");
    REQUIRE(tree.at("wide").dump() == R"({"value":1.5,"bits":"0000000180000000"})");
    REQUIRE(tree.at("single").dump() == R"({"value":0.10000000149011612,"bits":"3dcccccd"})");
    REQUIRE(tree.at("pair").dump() == R"({"value":-0.1,"bits":"bfb999999999999a"})");
    REQUIRE(tree.at("small").dump() == "-7");
    REQUIRE(tree.at("large").dump() == R"("-7")");
}
