// SPDX-License-Identifier: MIT
// Draws of entities: golden bits, what is made of them, counts in the state, two in an expression.
#include "assertion_of.hpp"
#include "test_random.hpp"
#include "toy_game.hpp"

#include "twinstep/sim/draws.hpp"
#include "twinstep/sim/game.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace twinstep;

namespace {

/// Draws of any entity with a count of their own.
struct Dice {
    explicit Dice(std::uint64_t entity, std::uint64_t seed = 42, Tick tick = Tick{100})
        : draws(DrawStream(seed, tick, 7), entity, count) {}

    DrawCount count;
    Draws draws;
};

} // namespace

TEST_CASE("a draw is philox of its key", "[sim][golden]") {
    // Computed by the definition in another language.
    REQUIRE(draw_bits({}) == 0x4CA3C60AAB02424C);
    REQUIRE(draw_bits({0, 0, 0, Tick{0}, 1}) == 0x044BBD569621C040);
    REQUIRE(draw_bits({42, 7, 3, Tick{100}, 0}) == 0x261529B926E97D39);
    REQUIRE(draw_bits({42, 7, 3, Tick{100}, 1}) == 0xB2FACABED0BB8149);
    REQUIRE(draw_bits({42, 7, 3, Tick{100}, 2}) == 0xB20063B31F31FB4E);
    REQUIRE(draw_bits({UINT64_MAX, UINT32_MAX, UINT64_MAX, Tick{tick_max}, UINT32_MAX}) ==
            0x9E37F9858C8A90B1);
    REQUIRE(draw_bits({0x0123456789ABCDEF,
                       0xFEDCBA98,
                       0x1122334455667788,
                       Tick{0x7766554433221100},
                       0x89ABCDEF}) == 0xE7E3647BC8F75EF3);
    REQUIRE(assertion_of([] {
                draw_bits({0, 0, 0, Tick{tick_max + 1}, 0});
            }) == "tick.value <= tick_max");
}

TEST_CASE("an entity's draws are those of its keys, one after the other", "[sim][unit]") {
    Dice dice(3);
    for (std::uint32_t n = 0; n < 9; ++n) {
        REQUIRE(dice.draws.bits() == draw_bits({42, 7, 3, Tick{100}, n}));
    }
    REQUIRE(dice.draws.draws() == 9);
    REQUIRE(dice.count.count == 9);
    // Of a step's random numbers: seed and tick are theirs, their draws are not touched.
    Random random(42, Tick{100});
    DrawCount count;
    Draws draws(DrawStream(random, 7), 3, count);
    REQUIRE(draws.bits() == draw_bits({42, 7, 3, Tick{100}, 0}));
    REQUIRE(random.draws() == 0);
}

TEST_CASE("no two keys of a game share their draws", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    std::set<std::uint64_t> seen;
    std::size_t keys = 0;
    for (std::uint64_t seed :
         {test_seed(), test_seed() + 1, test_seed() + (std::uint64_t{1} << 32)}) {
        for (std::uint64_t tick : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
            for (std::uint32_t stream : {0U, 1U, 0x80000000U}) {
                Random random(seed, Tick{tick}, stream);
                for (std::uint32_t draw = 0; draw < 4; ++draw, ++keys) {
                    seen.insert(random.bits());
                }
                for (std::uint64_t entity = 0; entity < 40; ++entity) {
                    for (std::uint32_t draw = 0; draw < 8; ++draw, keys += 2) {
                        seen.insert(draw_bits({seed, stream, entity, Tick{tick}, draw}));
                        seen.insert(
                            draw_bits({seed, stream, entity << 32 | 1U << 31, Tick{tick}, draw}));
                    }
                }
            }
        }
    }
    REQUIRE(keys > 17000);
    REQUIRE(seen.size() == keys);
}

TEST_CASE("bounded draws of an entity are those of Random from the same bits", "[sim][golden]") {
    // Computed by the definition in another language, as is the shuffle below.
    Dice dice(5);
    std::vector<std::int64_t> values;
    for (int i = 0; i < 4; ++i) {
        values.push_back(dice.draws.below(6));
        values.push_back(dice.draws.between(-100, 100));
        const bool hit = chance(dice.draws, 1, 3);
        values.push_back(hit ? 1 : 0);
    }
    REQUIRE(values == std::vector<std::int64_t>{3, 4, 0, 4, -8, 0, 2, 75, 1, 1, -96, 0});
    REQUIRE(assertion_of([&] { dice.draws.below(0); }) == "bound >= 1");
    REQUIRE(assertion_of([&] { dice.draws.between(1, 0); }) == "low <= high");
    REQUIRE(assertion_of([&] { below(dice.draws, 0); }) == "bound >= 1");
}

TEST_CASE("bounds beyond 32 bits are without bias", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    Dice dice(1, test_seed());
    // Of 2^64 values, a bound of 3 * 2^62 would hit the lowest third twice as often as the others.
    std::array<int, 3> thirds{};
    for (int i = 0; i < 9000; ++i) {
        const std::uint64_t value = below(dice.draws, std::uint64_t{3} << 62);
        ++thirds.at(static_cast<std::size_t>(value >> 62));
    }
    for (const int count : thirds) {
        REQUIRE(count > 2600);
        REQUIRE(count < 3400);
    }
    REQUIRE(dice.count.count > 11000); // those that were rejected count
    Random random(test_seed(), Tick{0});
    for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{7}, UINT64_MAX}) {
        for (int i = 0; i < 100; ++i) {
            REQUIRE(below(random, bound) < bound);
        }
    }
}

TEST_CASE("a chance is what it says", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    Dice dice(2, test_seed());
    int hits = 0;
    for (int i = 0; i < 9000; ++i) {
        hits += chance(dice.draws, 1, 3) ? 1 : 0;
        REQUIRE_FALSE(chance(dice.draws, 0, 5));
        REQUIRE(chance(dice.draws, 5, 5));
    }
    REQUIRE(hits > 2700);
    REQUIRE(hits < 3300);
}

namespace {

/// Gives the bits it is told to.
struct Puppet {
    std::uint64_t value = 0;

    std::uint64_t bits() const { return value; }
};

} // namespace

TEST_CASE("fractions are exact multiples below 1, reach both ends and are even", "[sim][unit]") {
    Puppet all{UINT64_MAX};
    Puppet none{0};
    Puppet low{0x000000FFFFFFFFFF};
    REQUIRE(unit<float>(all) == 1.0F - 0x1p-24F);
    REQUIRE(unit<double>(all) == 1.0 - 0x1p-53);
    REQUIRE(unit<Q16x16>(all).raw() == 0xFFFF);
    REQUIRE(unit<Q32x32>(all).raw() == 0xFFFFFFFF);
    REQUIRE(unit<float>(none) == 0.0F);
    REQUIRE(unit<float>(low) == 0.0F);
    Puppet one{std::uint64_t{1} << 40};
    REQUIRE(unit<float>(one) == 0x1p-24F);
    Puppet least{std::uint64_t{1} << 11};
    REQUIRE(unit<double>(least) == 0x1p-53);
    Dice dice(9, test_seed());
    TWINSTEP_SHOW_SEED();
    std::array<int, 16> floats{};
    std::array<int, 16> fixed{};
    for (int i = 0; i < 32000; ++i) {
        const auto single = unit<float>(dice.draws);
        REQUIRE(single * 0x1p24F == std::floor(single * 0x1p24F));
        ++floats.at(static_cast<std::size_t>(single * 16.0F));
        const auto share = unit<Q16x16>(dice.draws);
        ++fixed.at(static_cast<std::size_t>((share * 16).floor()));
    }
    for (std::size_t i = 0; i < 16; ++i) {
        REQUIRE(std::abs(floats[i] - 2000) < 350);
        REQUIRE(std::abs(fixed[i] - 2000) < 350);
    }
}

TEST_CASE("normal draws are golden, ends included", "[sim][golden]") {
    // Computed by the definition with decimals of 60 digits, each step rounded to a float.
    const auto normal_of = [](std::uint64_t bits) {
        Puppet puppet{bits};
        return std::bit_cast<std::uint32_t>(normal(puppet));
    };
    REQUIRE(normal_of(0) == 0);                           // the centre
    REQUIRE(normal_of(UINT64_MAX << 32) == 0x40D5224D);   // the greatest: sqrt(64 ln 2)
    REQUIRE(normal_of(0xFFFFFFFF80000000) == 0xC0D5224D); // the least
    REQUIRE(normal_of(std::uint64_t{1} << 32) == 0x37B504F3);
    REQUIRE(normal_of(0x8000000000000000) == 0x3F96B55F); // sqrt(2 ln 2)
    REQUIRE(normal_of(0x7FFFFFFF00000000) == 0x3F96B55F);
    REQUIRE(normal_of(0x123456789ABCDEF0) == 0xBE9BCF90);
    REQUIRE(normal_of(0xFEDCBA9876543210) == 0xC04CBB91);
}

TEST_CASE("normal draws are distributed normally", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    Dice dice(11, test_seed());
    constexpr std::size_t count = 100000;
    std::vector<double> values(count);
    for (double& value : values) {
        value = static_cast<double>(normal(dice.draws));
    }
    REQUIRE(dice.count.count == count);
    std::sort(values.begin(), values.end());
    // Kolmogorov and Smirnov's distance; 2.2 / sqrt(n) is exceeded once in 10,000 runs.
    double distance = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double below = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
        distance = std::max(distance, std::fabs(below - static_cast<double>(i) / count));
        sum += values[i];
        squares += values[i] * values[i];
    }
    REQUIRE(distance < 2.2 / std::sqrt(static_cast<double>(count)));
    REQUIRE(std::fabs(sum / count) < 0.016);
    REQUIRE(std::fabs(squares / count - 1.0) < 0.025);
    // Beyond three deviations there are 27 of 10,000.
    const auto tail = std::count_if(
        values.begin(), values.end(), [](double value) { return std::fabs(value) > 3.0; });
    REQUIRE(tail > 190);
    REQUIRE(tail < 350);
}

TEST_CASE("a shuffle is golden and takes a draw for each element but one", "[sim][golden]") {
    Dice dice(6);
    std::vector<int> list(10);
    std::iota(list.begin(), list.end(), 0);
    shuffle(dice.draws, list);
    REQUIRE(list == std::vector<int>{8, 0, 5, 3, 1, 4, 6, 7, 2, 9});
    REQUIRE(dice.count.count == 9);
    std::array<int, 1> single{5};
    shuffle(dice.draws, single);
    shuffle(dice.draws, std::span(list).first(0));
    REQUIRE(dice.count.count == 9);
}

TEST_CASE("every order of a shuffled list is as likely", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    std::map<std::array<int, 4>, int> orders;
    Random random(test_seed(), Tick{5});
    for (int i = 0; i < 24000; ++i) {
        std::array<int, 4> list{1, 2, 3, 4};
        shuffle(random, list);
        ++orders[list];
    }
    REQUIRE(orders.size() == 24);
    for (const auto& [order, count] : orders) {
        REQUIRE(std::abs(count - 1000) < 250);
    }
}

TEST_CASE("a second draw in one expression stops the program", "[sim][unit]") {
    const std::string message = "a second random draw in one expression: the order of the two is "
                                "the compiler's choice; keep the first in a variable";
    Dice dice(4);
    Draws& draws = dice.draws;
    const auto use = [](auto...) {};
    REQUIRE(assertion_of([&] { use(draws.below(6), draws.below(6)); }) == message);
    const int line = __LINE__ + 1;
    const auto both = [&] { use(draws.below(6), below(draws, 9)); };
    REQUIRE(assertion_with_line_of(both) == message + " in line " + std::to_string(line));
    REQUIRE(assertion_of([&] { use(draws.bits() - draws.bits()); }) == message);
    REQUIRE(assertion_of([&] { use(unit<float>(draws), normal(draws)); }) == message);
    REQUIRE(assertion_of([&] { use(chance(draws, 1, 2), draws.between(1, 2)); }) == message);
    REQUIRE(assertion_of([&] { use(below(draws, 9), unit<Q16x16>(draws)); }) == message);
    const auto draw_inside = [&draws](std::uint64_t bits) { return bits + draws.bits(); };
    REQUIRE(assertion_of([&] { draw_inside(draws.bits()); }) == message);
    // In their own expressions they are fine, and so are those of different entities.
    Dice other(5);
    REQUIRE(assertion_of([&] {
                const std::uint32_t first = draws.below(6);
                const std::uint32_t second = draws.below(6);
                use(first, second);
                if (draws.below(2) == 0) {
                    use(draws.below(2));
                }
                for (std::uint32_t i = 0; i < draws.below(5); ++i) {
                    use(normal(draws));
                }
                use(draws.below(2) == 0 ? 1 : 2);
                std::array<int, 5> list{};
                shuffle(draws, list);
                use(draws.below(6), other.draws.below(6));
            }) == "no assertion");
}

namespace {

/// Units with dice; the last may roll once too often and forget what came.
template <bool rolls_too_often>
class DiceGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "dice";
    static constexpr TickRate tick_rate{50};

    struct Unit {
        std::uint32_t points = 0;
        DrawCount draws;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(points), CEREAL_NVP(draws));
        }
    };

    void reset(const Setup&) { units_.assign(500, {}); }

    void step(const Step<Input>& step) {
        const DrawStream stream(step.random, 1);
        step.workers.parallel_for(500, 64, [&](std::uint32_t begin, std::uint32_t end) {
            for (std::uint32_t i = begin; i < end; ++i) {
                Draws draws(stream, i, units_[i].draws);
                units_[i].points = (units_[i].points + draws.below(6)) % 100;
                if (rolls_too_often && i == 499 && step.tick.value == 3) {
                    draws.below(6);
                }
            }
        });
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("units", CEREAL_NVP(units_)));
    }

private:
    std::vector<Unit> units_;
};

template <class Game>
std::vector<Hash128> hashes_of(std::uint64_t ticks) {
    GameSimulation<Game> simulation;
    REQUIRE(simulation.reset({5, 1, {}}));
    ToySource source(1);
    TickFrame frame;
    std::vector<Hash128> hashes;
    for (std::uint64_t i = 0; i < ticks; ++i) {
        REQUIRE(source.next(simulation.tick(), frame));
        REQUIRE(simulation.prepare(frame));
        simulation.step();
        hashes.push_back(simulation.hash().sections.at(1).hash);
    }
    return hashes;
}

} // namespace

TEST_CASE("a draw too many is in the state's hash at its tick, whatever came", "[sim][unit]") {
    const auto right = hashes_of<DiceGame<false>>(6);
    const auto wrong = hashes_of<DiceGame<true>>(6);
    REQUIRE(std::equal(right.begin(), right.begin() + 3, wrong.begin()));
    REQUIRE(right[3] != wrong[3]);
    REQUIRE(right[5] != wrong[5]);
    DiceGame<false> game;
    REQUIRE(schema_of(game) == "{units={units:[{points:u32,draws:{count:u64}}]}}");
}
