// SPDX-License-Identifier: MIT
// Games at the edge of what a game may be: exceptions, no input bytes, no state, no room left.
#include "assertion_of.hpp"
#include "hex.hpp"
#include "toy_game.hpp"

#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>
#include <utility>

using namespace twinstep;

namespace {

Bytes saved_by(Simulation& simulation) {
    Bytes snapshot;
    simulation.save(snapshot);
    return snapshot;
}

/// Throws where it is told to.
class ThrowingGame {
public:
    struct Input {};

    enum class Where { nowhere, check, reset, reset_int, saving };

    static constexpr std::string_view id = "throwing";
    static constexpr TickRate tick_rate{10};
    static inline Where where = Where::nowhere;

    static Result<void> check(const Setup&) {
        if (where == Where::check) {
            throw std::runtime_error("check threw");
        }
        return {};
    }

    void reset(const Setup& setup) {
        if (where == Where::reset) {
            throw std::length_error("reset threw");
        }
        if (where == Where::reset_int) {
            throw 5;
        }
        value_ = setup.seed;
    }

    void step(const Step<Input>&) { ++value_; }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("values", CEREAL_NVP(value_)));
        if (where == Where::saving) {
            archive.begin_section("half");
            throw std::runtime_error("saving threw");
        }
        archive(section("empty", CEREAL_NVP(nothing_)));
    }

private:
    std::uint64_t value_ = 0;
    std::vector<std::uint8_t> nothing_;
};

/// Sets a place where the game throws, for a scope.
class Throwing {
public:
    explicit Throwing(ThrowingGame::Where where) { ThrowingGame::where = where; }

    ~Throwing() { ThrowingGame::where = ThrowingGame::Where::nowhere; }

    Throwing(const Throwing&) = delete;
    Throwing& operator=(const Throwing&) = delete;
};

/// A game that has no state of its own.
class StatelessGame {
public:
    struct Input {};

    static constexpr std::string_view id = "stateless";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) {}

    void step(const Step<Input>&) {}

    template <class Archive>
    void serialize(Archive&) {}
};

/// A game with one section more than a state may have.
class ManySectionsGame {
public:
    struct Input {};

    static constexpr std::string_view id = "many";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) {}

    void step(const Step<Input>&) {}

    template <class Archive>
    void serialize(Archive& archive) {
        for (std::size_t i = 0; i < sections_max; ++i) {
            archive(section("s" + std::to_string(i), CEREAL_NVP(value_)));
        }
    }

private:
    std::uint8_t value_ = 0;
};

/// A game that changes a section's name while it runs.
class RenamingGame {
public:
    struct Input {};

    static constexpr std::string_view id = "renaming";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) {}

    void step(const Step<Input>&) { ++value_; }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section(value_ == 0 ? "good" : "not good", CEREAL_NVP(value_)));
    }

private:
    std::uint8_t value_ = 0;
};

/// A simulation that takes one step with an empty input.
template <class G>
std::string step_once(GameSimulation<G>& simulation) {
    TickFrame frame;
    frame.reset(simulation.tick(), simulation.setup().slots);
    frame.set_input(Slot{0}, {});
    if (Result<void> prepared = simulation.prepare(frame); !prepared) {
        return to_string(prepared.error());
    }
    simulation.step();
    return "ok";
}

} // namespace

TEST_CASE("a game that throws while it is set up leaves the session as it was", "[sim][fault]") {
    GameSimulation<ThrowingGame> simulation;
    REQUIRE(simulation.reset({3, 1, {}}));
    REQUIRE(step_once(simulation) == "ok");
    const Bytes before = saved_by(simulation);
    const auto refused = [&](ThrowingGame::Where where) {
        const Throwing throwing(where);
        const std::string text = text_of(simulation.reset({4, 1, {}}));
        const bool loaded = simulation.load(before).has_value();
        return std::pair(text, loaded);
    };
    const std::string what = ": the set-up is refused: ";
    CHECK(refused(ThrowingGame::Where::check) == std::pair("check" + what + "check threw", true));
    CHECK(refused(ThrowingGame::Where::reset) == std::pair("reset" + what + "reset threw", false));
    CHECK(refused(ThrowingGame::Where::reset_int) ==
          std::pair("reset" + what + "an exception that is no std::exception", false));
    CHECK(simulation.setup().seed == 3);
    CHECK(simulation.tick() == Tick{1});
    CHECK(saved_by(simulation) == before);
    CHECK(step_once(simulation) == "ok");
}

TEST_CASE("a game that throws while it is hashed can be hashed again", "[sim][fault]") {
    GameSimulation<ThrowingGame> simulation;
    REQUIRE(simulation.reset({3, 1, {}}));
    const Hash128 expected = hash_snapshot(saved_by(simulation))->state;
    {
        const Throwing throwing(ThrowingGame::Where::saving);
        REQUIRE_THROWS_AS(simulation.hash(), std::runtime_error);
    }
    CHECK(simulation.hash().state == expected);
    CHECK(simulation.hash().sections.size() == 3);
}

TEST_CASE("a snapshot of another seed is refused and changes nothing", "[sim][fault]") {
    auto source = make_simulation<ToyGame>();
    auto target = make_simulation<ToyGame>();
    REQUIRE(source->reset({8, 2, {}}));
    REQUIRE(target->reset({7, 2, {}}));
    const Bytes before = saved_by(*target);
    const Result<void> loaded = target->load(saved_by(*source));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == SimErrc::bad_setup);
    CHECK(text_of(loaded) == "random.draws.seed: the set-up is refused: the snapshot is of seed 8, "
                             "this session has 7");
    CHECK(saved_by(*target) == before);
}

TEST_CASE("an input of no bytes is an input", "[sim][unit]") {
    GameSimulation<ThrowingGame> simulation;
    REQUIRE(simulation.reset({3, 1, {}}));
    Bytes bytes;
    encode_input(ThrowingGame::Input{}, bytes);
    CHECK(bytes.empty());
    CHECK(simulation.info().input_schema == "{}");
    CHECK(step_once(simulation) == "ok");
    TickFrame frame;
    frame.reset(simulation.tick(), 1);
    frame.set_input(Slot{0}, std::as_bytes(std::span("x", 1)));
    CHECK(text_of(simulation.prepare(frame)).find("bytes are left over") != std::string::npos);
}

TEST_CASE("a section may be empty, and a game may have no state of its own", "[sim][unit]") {
    GameSimulation<StatelessGame> simulation;
    REQUIRE(simulation.reset({3, 1, {}}));
    CHECK(simulation.info().state_schema.starts_with("random={"));
    CHECK(simulation.hash().sections.size() == 1);
    const Bytes snapshot = saved_by(simulation);
    CHECK(hash_snapshot(snapshot)->state == simulation.hash().state);
    CHECK(simulation.load(snapshot));
}

TEST_CASE("the last tick there is has no step", "[sim][fault]") {
    GameSimulation<StatelessGame> simulation;
    REQUIRE(simulation.reset({3, 1, {}}));
    Bytes snapshot = saved_by(simulation);
    constexpr std::size_t tick_offset = 6;
    for (std::size_t i = 0; i < 8; ++i) {
        snapshot[tick_offset + i] = static_cast<std::byte>(i < 7 ? 0xFF : 0x7F);
    }
    snapshot[tick_offset] = std::byte{0xFE};
    REQUIRE(simulation.load(snapshot));
    REQUIRE(simulation.tick() == Tick{tick_max - 1});
    CHECK(step_once(simulation) == "ok");
    CHECK(simulation.load(saved_by(simulation)));
    CHECK(step_once(simulation).starts_with("tick: a limit is exceeded"));
    CHECK(simulation.tick() == Tick{tick_max});
}

TEST_CASE("what a game must not be stops the program with its reason", "[sim][fault]") {
    CHECK(assertion_of([] {
              GameSimulation<ManySectionsGame> simulation;
              static_cast<void>(simulation.reset({3, 1, {}}));
              static_cast<void>(simulation.hash());
          }) == "section_count_ < sections_max");
    CHECK(assertion_of([] {
              GameSimulation<RenamingGame> simulation;
              static_cast<void>(simulation.reset({3, 1, {}}));
              static_cast<void>(simulation.hash());
              static_cast<void>(step_once(simulation));
              static_cast<void>(simulation.hash());
          }) == "is_section_name(name)");
    CHECK(assertion_of([] {
              GameSimulation<StatelessGame> simulation;
              TickFrame frame;
              frame.reset(Tick{0}, 1);
              static_cast<void>(simulation.prepare(frame));
          }) == "started_");
    CHECK(assertion_of([] {
              GameSimulation<StatelessGame> simulation;
              static_cast<void>(simulation.load({}));
          }) == "started_");
}

TEST_CASE("one input may be copied to another slot of its own frame", "[sim][unit]") {
    TickFrame frame;
    frame.reset(Tick{0}, slots_max);
    Bytes input(input_bytes_max);
    for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = static_cast<std::byte>(i);
    }
    frame.set_input(Slot{0}, input);
    for (std::uint16_t slot = 1; slot < 200; ++slot) {
        frame.set_input(Slot{slot}, frame.input(Slot{static_cast<std::uint16_t>(slot - 1)}), true);
    }
    const ByteView last = frame.input(Slot{199});
    CHECK(std::equal(last.begin(), last.end(), input.begin(), input.end()));
}
