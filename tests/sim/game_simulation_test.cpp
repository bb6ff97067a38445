// SPDX-License-Identifier: MIT
// The typed adapter: reset, prepare, step, save, load, and that failures change nothing.
#include "assertion_of.hpp"
#include "hex.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>

using namespace twinstep;

namespace {

/// Another game with the same shape of input; refuses some set-ups and some bytes.
class PickyGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "picky";
    static constexpr TickRate tick_rate{60000, 1001};
    static constexpr std::uint32_t version = 3;
    static constexpr std::string_view source_digest = "abc123";

    static Result<void> check(const Setup& setup) {
        if (setup.config.contains("forbidden")) {
            return fail(Error(SimErrc::bad_setup, "config.forbidden", "not here"));
        }
        return {};
    }

    void reset(const Setup& setup) { seed_ = setup.seed; }

    void step(const Step<Input>& step) {
        const PlayerInput<Input>& player = step.players[0];
        heard_ = player.present ? 1 : 0;
        filled_in_ = player.substituted ? 1 : 0;
        fire_ = player.input.fire ? 1 : 0;
        events_ = 0;
        for (const StepEvent& event : step.events) {
            events_ += static_cast<std::uint32_t>(event.kind) + (event.has_slot ? 1000U : 0U) +
                       event.slot.value * 10000U +
                       static_cast<std::uint32_t>(event.payload.size()) * 100000U;
        }
        for (std::uint64_t i = 0; i < step.tick.value % 4; ++i) {
            random_sum_ += step.random.bits();
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("all", CEREAL_NVP(seed_), CEREAL_NVP(heard_), CEREAL_NVP(filled_in_)),
                section("rest", CEREAL_NVP(fire_), CEREAL_NVP(events_), CEREAL_NVP(random_sum_)));
        if (fire_ > 1) {
            throw std::runtime_error("fire is 0 or 1");
        }
    }

    std::uint64_t seed_ = 0;
    std::uint8_t heard_ = 0;
    std::uint8_t filled_in_ = 0;
    std::uint8_t fire_ = 0;
    std::uint32_t events_ = 0;
    std::uint64_t random_sum_ = 0;
};

struct Run {
    std::unique_ptr<Simulation> simulation = make_simulation<ToyGame>();
    ToySource source{2};
    Driver driver{*simulation, source};

    explicit Run(std::uint64_t ticks) {
        static_cast<void>(simulation->reset({7, 2, {{"map", "small"}}}));
        static_cast<void>(driver.advance(ticks));
    }
};

Bytes snapshot_of(Simulation& simulation) {
    Bytes bytes;
    simulation.save(bytes);
    return bytes;
}

} // namespace

TEST_CASE("a simulation says what it is", "[sim][unit]") {
    const auto picky = make_simulation<PickyGame>();
    REQUIRE(picky->info().id == "picky");
    REQUIRE(picky->info().version == 3);
    REQUIRE(picky->info().source_digest == "abc123");
    REQUIRE(to_string(picky->info().tick_rate) == "60000/1001");
    REQUIRE(picky->info().slots_min == 1);
    REQUIRE(picky->info().slots_max == 1);
    const auto toy = make_simulation<ToyGame>();
    REQUIRE(toy->info().version == 1);
    REQUIRE(toy->info().source_digest == "unknown");
    REQUIRE(toy->info().slots_max == 4);
}

TEST_CASE("a set-up that is refused leaves the session as it was", "[sim][fault]") {
    Run run(20);
    const Bytes before = snapshot_of(*run.simulation);
    const auto refused = [&](const Setup& setup) {
        const std::string text = text_of(run.simulation->reset(setup));
        REQUIRE(run.simulation->setup().seed == 7);
        REQUIRE(run.simulation->setup().slots == 2);
        REQUIRE(run.simulation->tick() == Tick{20});
        REQUIRE(snapshot_of(*run.simulation) == before);
        return text;
    };
    REQUIRE(refused({1, 0, {}}) == "slots: wrong number of slots: 0 given, toy takes 1 to 4");
    REQUIRE(refused({1, 5, {}}) == "slots: wrong number of slots: 5 given, toy takes 1 to 4");
    REQUIRE(refused({1, 1, {{"", "x"}}}) == "config.: the set-up is refused: bad length");
    REQUIRE(refused({1, 1, {{"k", std::string(config_text_bytes_max + 1, 'x')}}}) ==
            "config.k: the set-up is refused: bad length");
    Setup many{1, 1, {}};
    for (std::size_t i = 0; i <= config_entries_max; ++i) {
        many.config["key" + std::to_string(i)] = "x";
    }
    REQUIRE(refused(many) == "config: the set-up is refused: too many entries");
    Setup large{1, 1, {}};
    for (std::size_t i = 0; i <= config_bytes_max / config_text_bytes_max; ++i) {
        large.config["key" + std::to_string(i)] = std::string(config_text_bytes_max, 'x');
    }
    REQUIRE(refused(large) == "config: the set-up is refused: too many bytes");
    REQUIRE(run.driver.advance(5));

    const auto picky = make_simulation<PickyGame>();
    REQUIRE(picky->reset({5, 1, {}}));
    REQUIRE(text_of(picky->reset({6, 1, {{"forbidden", ""}}})) ==
            "config.forbidden: the set-up is refused: not here");
    REQUIRE(picky->setup().seed == 5);
}

TEST_CASE("reset starts the same session anew", "[sim][unit]") {
    Run run(0);
    const Bytes first = snapshot_of(*run.simulation);
    REQUIRE(run.driver.advance(30));
    const Bytes thirty = snapshot_of(*run.simulation);
    REQUIRE(thirty != first);
    REQUIRE(run.simulation->reset(Setup(run.simulation->setup())));
    REQUIRE(run.simulation->tick() == Tick{0});
    REQUIRE(snapshot_of(*run.simulation) == first);
    REQUIRE(run.driver.advance(30));
    REQUIRE(snapshot_of(*run.simulation) == thirty);
}

TEST_CASE("prepare refuses frames of another tick or session and changes nothing", "[sim][fault]") {
    Run run(10);
    const Hash128 before = run.simulation->hash().state;
    TickFrame frame;
    frame.reset(Tick{11}, 2);
    REQUIRE(text_of(run.simulation->prepare(frame)) == "tick: wrong tick: 11 given, 10 is next");
    frame.reset(Tick{10}, 1);
    REQUIRE(code_of(run.simulation->prepare(frame)) == SimErrc::wrong_slots);
    frame.reset(Tick{10}, 2);
    frame.set_input(Slot{1}, from_hex_text("01"));
    REQUIRE(code_of(run.simulation->prepare(frame)) == SimErrc::truncated);
    REQUIRE(run.simulation->hash().state == before);
    REQUIRE(run.simulation->tick() == Tick{10});
}

TEST_CASE("a step without a prepared frame is a programmer's error", "[sim][unit]") {
    Run run(3);
    TickFrame frame;
    frame.reset(Tick{3}, 2);
    REQUIRE(assertion_of([&] { run.simulation->step(); }) == "prepared_");
    REQUIRE(assertion_of([&] {
                static_cast<void>(run.simulation->prepare(frame));
                run.simulation->step();
            }) == "no assertion");
    REQUIRE(assertion_of([&] {
                static_cast<void>(run.simulation->prepare(frame));
                run.simulation->step();
                run.simulation->step();
            }) == "prepared_");
    // A refused frame, a reset and a load each take the prepared one back.
    REQUIRE(assertion_of([&] {
                static_cast<void>(run.simulation->prepare(frame));
                TickFrame wrong;
                static_cast<void>(run.simulation->prepare(wrong));
                run.simulation->step();
            }) == "prepared_");
    REQUIRE(assertion_of([&] {
                static_cast<void>(run.simulation->prepare(frame));
                static_cast<void>(run.simulation->load(snapshot_of(*run.simulation)));
                run.simulation->step();
            }) == "prepared_");
}

TEST_CASE("a step sees presence, substitution, inputs and events", "[sim][unit]") {
    GameSimulation<PickyGame> picky;
    REQUIRE(picky.reset({1, 1, {}}));
    Bytes fire;
    encode_input(ToyInput{0, 0, 0, true}, fire);
    TickFrame frame;
    frame.reset(Tick{0}, 1);
    frame.set_input(Slot{0}, fire, true);
    frame.add_event(EventKind::join, Slot{3}, from_hex_text("aabb"));
    REQUIRE(picky.prepare(frame));
    picky.step();
    REQUIRE(picky.game().heard_ == 1);
    REQUIRE(picky.game().filled_in_ == 1);
    REQUIRE(picky.game().fire_ == 1);
    REQUIRE(picky.game().events_ == 1 + 1000 + 30000 + 200000);
    // Nobody speaks: the input is a new one, not the last one.
    frame.reset(Tick{1}, 1);
    REQUIRE(picky.prepare(frame));
    picky.step();
    REQUIRE(picky.game().heard_ == 0);
    REQUIRE(picky.game().filled_in_ == 0);
    REQUIRE(picky.game().fire_ == 0);
    REQUIRE(picky.game().events_ == 0);
}

TEST_CASE("the state counts the draws of its random numbers", "[sim][unit]") {
    GameSimulation<PickyGame> picky;
    REQUIRE(picky.reset({0x0102030405060708, 1, {}}));
    TickFrame frame;
    std::uint64_t expected = 0;
    for (std::uint64_t tick = 0; tick < 10; ++tick) {
        frame.reset(Tick{tick}, 1);
        REQUIRE(picky.prepare(frame));
        picky.step();
        expected += tick % 4;
    }
    // Head of 14 bytes, then "random" with seed and count.
    const Bytes snapshot = snapshot_of(picky);
    REQUIRE(to_hex_text(ByteView(snapshot).subspan(14, 31)) == "0672616e646f6d"
                                                               "1000000000000000"
                                                               "0807060504030201"
                                                               "0d00000000000000");
    REQUIRE(expected == 0x0D);
}

TEST_CASE("a snapshot loads to the same state, hash and future", "[sim][unit]") {
    for (const std::uint64_t ticks : {0U, 1U, 14U, 100U}) {
        Run run(ticks);
        const Bytes snapshot = snapshot_of(*run.simulation);
        const Hash128 hash = run.simulation->hash().state;
        const auto fork = run.simulation->make_another();
        REQUIRE(fork->reset(run.simulation->setup()));
        REQUIRE(text_of(fork->load(snapshot)) == "ok");
        REQUIRE(fork->tick() == Tick{ticks});
        REQUIRE(fork->hash().state == hash);
        REQUIRE(snapshot_of(*fork) == snapshot);
        ToySource source(2);
        Driver driver(*fork, source);
        for (int i = 0; i < 100; ++i) {
            REQUIRE(run.driver.advance(1));
            REQUIRE(driver.advance(1));
            REQUIRE(fork->hash().state == run.simulation->hash().state);
        }
    }
}

TEST_CASE("loading goes back in time", "[sim][unit]") {
    Run run(20);
    const Bytes twenty = snapshot_of(*run.simulation);
    REQUIRE(run.driver.advance(30));
    const Bytes fifty = snapshot_of(*run.simulation);
    REQUIRE(run.simulation->load(twenty));
    REQUIRE(run.simulation->tick() == Tick{20});
    REQUIRE(run.driver.advance(30));
    REQUIRE(snapshot_of(*run.simulation) == fifty);
}

TEST_CASE("save replaces what was in its buffer and uses its memory again", "[sim][unit]") {
    Run run(20);
    const Bytes expected = snapshot_of(*run.simulation);
    Bytes buffer(100000, std::byte{0xEE});
    const std::byte* memory = buffer.data();
    run.simulation->save(buffer);
    REQUIRE(buffer == expected);
    REQUIRE(buffer.data() == memory);
}

TEST_CASE("a damaged snapshot changes nothing, or is another state's own snapshot",
          "[sim][fault]") {
    Run run(60);
    const Bytes snapshot = snapshot_of(*run.simulation);
    const auto target = run.simulation->make_another();
    REQUIRE(target->reset(run.simulation->setup()));
    const Hash128 before = target->hash().state;
    for (std::size_t size = 0; size < snapshot.size(); ++size) {
        const auto result = target->load(ByteView(snapshot).first(size));
        CAPTURE(size);
        REQUIRE(code_of(result) == SimErrc::truncated);
        REQUIRE(result.error().offset <= size);
        REQUIRE(target->tick() == Tick{0});
    }
    REQUIRE(target->hash().state == before);
    Bytes longer = snapshot;
    longer.push_back(std::byte{0});
    REQUIRE(code_of(target->load(longer)) == SimErrc::trailing_bytes);

    std::size_t refused = 0;
    Bytes flipped = snapshot;
    for (std::size_t bit = 0; bit < snapshot.size() * 8; ++bit) {
        const auto mask = static_cast<std::byte>(1U << (bit % 8));
        flipped[bit / 8] ^= mask;
        if (target->load(flipped)) {
            if (snapshot_of(*target) != flipped) {
                FAIL("bit " << bit << " loads as another snapshot");
            }
            static_cast<void>(target->reset(run.simulation->setup()));
        } else {
            ++refused;
            if (target->hash().state != before) {
                FAIL("bit " << bit << " was refused and changed the state");
            }
        }
        flipped[bit / 8] ^= mask;
    }
    REQUIRE(refused > 400);
}

TEST_CASE("a snapshot of another game is refused by its sections", "[sim][fault]") {
    Run run(5);
    const auto picky = make_simulation<PickyGame>();
    REQUIRE(picky->reset({9, 1, {}}));
    const Hash128 before = picky->hash().state;
    REQUIRE(text_of(picky->load(snapshot_of(*run.simulation))) ==
            "byte 52: section.name: another layout is expected");
    REQUIRE(picky->hash().state == before);
    REQUIRE(code_of(run.simulation->load(snapshot_of(*picky))) == SimErrc::schema_mismatch);
    REQUIRE(run.simulation->tick() == Tick{5});
}

TEST_CASE("an exception of a game's serialize is an error of the snapshot", "[sim][fault]") {
    const auto picky = make_simulation<PickyGame>();
    REQUIRE(picky->reset({9, 1, {}}));
    Bytes snapshot = snapshot_of(*picky);
    const Bytes before = snapshot;
    const std::string_view text(reinterpret_cast<const char*>(snapshot.data()), snapshot.size());
    snapshot[text.find("rest") + 4 + 8] = std::byte{2};
    REQUIRE(text_of(picky->load(snapshot)) == "value: the value is not valid: fire is 0 or 1");
    REQUIRE(snapshot_of(*picky) == before);
}

TEST_CASE("an input is encoded and decoded by its own serialize", "[sim][golden]") {
    Bytes bytes;
    encode_input(ToyInput{-1, 2, 0x1234, true}, bytes);
    REQUIRE(to_hex_text(bytes) == "ff02341201");
    ToyInput input;
    REQUIRE(decode_input(bytes, input));
    REQUIRE(input.turn == 0x1234);
    encode_input(ToyInput{}, bytes);
    REQUIRE(to_hex_text(bytes) == "ff023412010000000000");
    REQUIRE(text_of(decode_input(bytes, input)) == "byte 5: end: bytes are left over");
}
