// SPDX-License-Identifier: MIT
// The one loop: who is called when, what the step sees, and how it stops.
#include "allocation_counter.hpp"
#include "hex.hpp"
#include "test_random.hpp"
#include "toy_game.hpp"

#include "twinstep/sim.hpp"

#include <catch2/catch.hpp>

#include <cfenv>
#include <functional>

using namespace twinstep;

namespace {

using Journal = std::vector<std::string>;

/// Forwards to a simulation and writes down prepare and step.
class Spy final : public Simulation {
public:
    Spy(Simulation& inner, Journal& journal)
        : inner_(inner)
        , journal_(journal) {}

    const SimulationInfo& info() const override { return inner_.info(); }

    Result<void> reset(const Setup& setup) override { return inner_.reset(setup); }

    const Setup& setup() const override { return inner_.setup(); }

    Tick tick() const override { return inner_.tick(); }

    Result<void> prepare(const TickFrame& frame) override {
        journal_.push_back("prepare " + std::to_string(frame.tick().value));
        return inner_.prepare(frame);
    }

    void step() override {
        journal_.push_back("step " + std::to_string(inner_.tick().value));
        inner_.step();
    }

    const StateHashes& hash() override {
        ++hashes;
        return inner_.hash();
    }

    void save(Bytes& target) override { inner_.save(target); }

    Result<void> load(ByteView snapshot) override { return inner_.load(snapshot); }

    void visit(FieldVisitor& visitor) const override { inner_.visit(visitor); }

    Result<void> visit_input(ByteView input, FieldVisitor& visitor) const override {
        return inner_.visit_input(input, visitor);
    }

    std::unique_ptr<Simulation> make_another() const override { return inner_.make_another(); }

    int hashes = 0;

private:
    Simulation& inner_;
    Journal& journal_;
};

/// Calls functions, so that each test says what its source does.
class FunctionSource : public Source {
public:
    using Function = std::function<Result<Supply>(Tick, TickFrame&)>;

    explicit FunctionSource(Function function)
        : function_(std::move(function)) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override { return function_(tick, frame); }

private:
    Function function_;
};

class FunctionObserver : public Observer {
public:
    std::function<void(const TickBegin&)> on_before;
    std::function<void(const StateHashes&)> on_after;

    void before(const TickBegin& begin) override {
        if (on_before) {
            on_before(begin);
        }
    }

    void after(const StateHashes& hashes) override {
        if (on_after) {
            on_after(hashes);
        }
    }
};

/// An input that loses precision on its way into bytes.
struct CoarseInput {
    float aim = 0.0F;

    template <class Archive>
    void serialize(Archive& archive) {
        auto coarse = static_cast<std::int8_t>(aim);
        archive(cereal::make_nvp("aim", coarse));
        if constexpr (Archive::is_loading::value) {
            aim = static_cast<float>(coarse);
        }
    }
};

/// Adds up its inputs and the first bytes of its events; an aim of 100 changes the rounding mode
/// inside the step.
class AimGame {
public:
    using Input = CoarseInput;
    static constexpr std::string_view id = "aim";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) {}

    void step(const Step<Input>& step) {
        const float aim = step.players[0].input.aim;
        if (aim == 100.0F) {
            std::fesetround(FE_UPWARD);
        }
        volatile float third = 1.0F;
        third = third / 3.0F;
        sum_ = sum_ + aim;
        for (const StepEvent& event : step.events) {
            sum_ = sum_ + static_cast<float>(event.payload[0]);
        }
        thirds_ = thirds_ + third;
    }

    float sum() const { return sum_; }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("aim", CEREAL_NVP(sum_), CEREAL_NVP(thirds_)));
    }

private:
    float sum_ = 0.0F;
    float thirds_ = 0.0F;
};

Supply fill_aim(Tick tick, TickFrame& frame, float aim) {
    Bytes bytes;
    encode_input(CoarseInput{aim}, bytes);
    frame.reset(tick, 1);
    frame.set_input(Slot{0}, bytes);
    return Supply::ready;
}

/// The hashes of states 1 to `ticks` of the toy game, advanced in pieces.
std::vector<Hash128> toy_hashes(const std::vector<std::uint64_t>& pieces) {
    auto simulation = make_simulation<ToyGame>();
    static_cast<void>(simulation->reset({3, 2, {}}));
    ToySource source(2);
    Driver driver(*simulation, source);
    std::vector<Hash128> hashes;
    FunctionObserver observer;
    observer.on_after = [&](const StateHashes& state) { hashes.push_back(state.state); };
    driver.add(observer);
    for (const std::uint64_t piece : pieces) {
        static_cast<void>(driver.advance(piece));
    }
    return hashes;
}

} // namespace

TEST_CASE("a tick is source, prepare, before, step, after", "[sim][unit]") {
    Journal journal;
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({1, 1, {}}));
    Spy spy(toy, journal);
    ToySource inner(1);
    FunctionSource source([&](Tick tick, TickFrame& frame) {
        journal.push_back("source " + std::to_string(tick.value));
        return inner.next(tick, frame);
    });
    FunctionObserver first;
    FunctionObserver second;
    first.on_before = [&](const TickBegin& begin) {
        journal.push_back("before " + std::to_string(begin.tick.value) + " state " +
                          std::to_string(begin.hashes.tick.value));
    };
    second.on_before = [&](const TickBegin&) { journal.emplace_back("before too"); };
    first.on_after = [&](const StateHashes& hashes) {
        journal.push_back("after " + std::to_string(hashes.tick.value));
    };
    Driver driver(spy, source);
    driver.add(first);
    driver.add(second);
    const auto advance = driver.advance(2);
    REQUIRE(advance);
    REQUIRE(advance->ticks == 2);
    REQUIRE(advance->state == DriverState::running);
    REQUIRE(journal == Journal{"source 0",
                               "prepare 0",
                               "before 0 state 0",
                               "before too",
                               "step 0",
                               "after 1",
                               "source 1",
                               "prepare 1",
                               "before 1 state 1",
                               "before too",
                               "step 1",
                               "after 2"});
}

TEST_CASE("without observers nothing is hashed", "[sim][unit]") {
    Journal journal;
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({1, 1, {}}));
    Spy spy(toy, journal);
    ToySource source(1);
    Driver driver(spy, source);
    REQUIRE(driver.advance(10));
    REQUIRE(spy.hashes == 0);
    REQUIRE(driver.advance(0)->ticks == 0);
}

TEST_CASE("an observer sees the encoding and the frame that it decodes to", "[sim][unit]") {
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({1, 2, {}}));
    ToySource source(2);
    Driver driver(toy, source);
    std::size_t seen = 0;
    FunctionObserver observer;
    observer.on_before = [&](const TickBegin& begin) {
        Bytes again;
        encode_frame(begin.frame, again);
        const bool same =
            std::equal(again.begin(), again.end(), begin.encoded.begin(), begin.encoded.end());
        seen += same && begin.frame.tick() == begin.tick ? 1U : 0U;
    };
    driver.add(observer);
    REQUIRE(driver.advance(60));
    REQUIRE(seen == 60);
}

TEST_CASE("the step consumes the decoded input, not the live one", "[sim][unit]") {
    GameSimulation<AimGame> aim;
    REQUIRE(aim.reset({1, 1, {}}));
    TickFrame* handed_out = nullptr;
    FunctionSource source([&](Tick tick, TickFrame& frame) {
        handed_out = &frame;
        fill_aim(tick, frame, 2.75F);
        frame.add_event(EventKind::marker, from_hex_text("05"));
        return Supply::ready;
    });
    Driver driver(aim, source);
    FunctionObserver observer;
    observer.on_before = [&](const TickBegin& begin) {
        // A source that goes on writing into its frame reaches nobody.
        fill_aim(begin.tick, *handed_out, 50.0F);
        handed_out->add_event(EventKind::marker, from_hex_text("63"));
    };
    driver.add(observer);
    REQUIRE(driver.advance(4));
    REQUIRE(aim.game().sum() == 4 * (2.0F + 5.0F));
}

TEST_CASE("a driver waits for its source and goes on where it stopped", "[sim][unit]") {
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({3, 2, {}}));
    ToySource inner(2, 30);
    int calls = 0;
    FunctionSource source([&](Tick tick, TickFrame& frame) -> Result<Supply> {
        if (++calls % 3 != 0) {
            return Supply::not_yet;
        }
        return inner.next(tick, frame);
    });
    Driver driver(toy, source);
    std::uint64_t ticks = 0;
    DriverState state = DriverState::running;
    for (int i = 0; i < 200 && state != DriverState::ended; ++i) {
        const auto advance = driver.advance(5);
        REQUIRE(advance);
        ticks += advance->ticks;
        state = advance->state;
        REQUIRE(state != DriverState::running);
    }
    REQUIRE(state == DriverState::ended);
    REQUIRE(ticks == 30);
    REQUIRE(toy.tick() == Tick{30});
    REQUIRE(toy.hash().state == toy_hashes({30}).back());
    // The end is final.
    REQUIRE(driver.advance(1)->ticks == 0);
}

TEST_CASE("a source's error stops the driver and is handed on", "[sim][unit]") {
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({3, 1, {}}));
    ToySource inner(1);
    FunctionSource source([&](Tick tick, TickFrame& frame) -> Result<Supply> {
        if (tick.value == 4) {
            return fail(Error(SimErrc::malformed, "cable", "pulled").in("test"));
        }
        return inner.next(tick, frame);
    });
    Driver driver(toy, source);
    REQUIRE(text_of(driver.advance(10)) == "test: cable: the value is not valid: pulled");
    REQUIRE(toy.tick() == Tick{4});
}

TEST_CASE("a frame that cannot be taken is refused before anybody saw it", "[sim][fault]") {
    GameSimulation<ToyGame> toy;
    REQUIRE(toy.reset({3, 2, {}}));
    ToySource inner(2);
    std::function<void(TickFrame&)> spoil;
    FunctionSource source([&](Tick tick, TickFrame& frame) {
        auto supply = inner.next(tick, frame);
        if (tick.value == 3) {
            spoil(frame);
        }
        return supply;
    });
    Driver driver(toy, source);
    std::uint64_t begun = 0;
    FunctionObserver observer;
    observer.on_before = [&](const TickBegin&) { ++begun; };
    driver.add(observer);
    spoil = [](TickFrame& frame) { frame.set_input(Slot{1}, from_hex_text("0000000002")); };
    REQUIRE(text_of(driver.advance(10)) ==
            "tick 3: byte 5: slot 1 input bool: the value is not valid");
    const Hash128 before = toy.hash().state;
    spoil = [](TickFrame& frame) { frame.set_input(Slot{0}, from_hex_text("00")); };
    REQUIRE(text_of(driver.advance(10)) ==
            "tick 3: byte 1: slot 0 input value: the bytes end too early");
    spoil = [](TickFrame& frame) { frame.set_input(Slot{0}, from_hex_text("000000000000")); };
    REQUIRE(text_of(driver.advance(10)) == "tick 3: byte 5: slot 0 input end: bytes are left over");
    spoil = [](TickFrame& frame) { frame.reset(Tick{4}, 2); };
    REQUIRE(text_of(driver.advance(10)) == "tick 3: tick: wrong tick: 4 given, 3 is next");
    spoil = [](TickFrame& frame) { frame.reset(Tick{3}, 3); };
    REQUIRE(text_of(driver.advance(10)) ==
            "tick 3: slots: wrong number of slots: a frame of 3 in a session of 2");
    spoil = [](TickFrame& frame) { frame.add_event(static_cast<EventKind>(0)); };
    REQUIRE(code_of(driver.advance(10)) == SimErrc::malformed);
    spoil = [](TickFrame& frame) {
        frame.reset(Tick{3}, 2);
        const Bytes payload(event_bytes_max);
        for (int i = 0; i < 60; ++i) {
            frame.add_event(EventKind::marker, payload);
        }
    };
    REQUIRE(code_of(driver.advance(10)) == SimErrc::limit_exceeded);
    REQUIRE(begun == 3);
    REQUIRE(toy.tick() == Tick{3});
    REQUIRE(toy.hash().state == before);
    // Nothing is broken by the refusals.
    spoil = [](TickFrame&) {};
    REQUIRE(driver.advance(1));
    REQUIRE(toy.hash().state == toy_hashes({4}).back());
}

TEST_CASE("the states do not depend on how the calls are cut", "[sim][property]") {
    TWINSTEP_SHOW_SEED();
    TestRandom random;
    const std::vector<Hash128> whole = toy_hashes({200});
    REQUIRE(whole.size() == 200);
    for (int round = 0; round < 10; ++round) {
        std::vector<std::uint64_t> pieces;
        std::uint64_t left = 200;
        while (left > 0) {
            const std::uint64_t piece = random.below(static_cast<std::size_t>(left) + 1);
            pieces.push_back(piece);
            left -= piece;
        }
        REQUIRE(toy_hashes(pieces) == whole);
    }
}

TEST_CASE("a step that changes the floating-point mode is reported with its tick", "[sim][fault]") {
    GameSimulation<AimGame> aim;
    REQUIRE(aim.reset({1, 1, {}}));
    FunctionSource source([&](Tick tick, TickFrame& frame) {
        return fill_aim(tick, frame, tick.value == 5 ? 100.0F : 1.0F);
    });
    Driver driver(aim, source);
    const auto result = driver.advance(10);
    const int mode = std::fegetround();
    std::fesetround(FE_TONEAREST);
    REQUIRE(text_of(result) == "tick 5: control register: floating point is not exact here: "
                               "changed inside the step");
    // What the step did to the thread ends with the call.
    REQUIRE(read_float_control() == exact_float_control());
    static_cast<void>(mode);
}

TEST_CASE("a mode that was changed outside reaches no step and is put back", "[sim][unit]") {
    const auto run = [](int outer_mode, int source_mode, int observer_mode) {
        GameSimulation<AimGame> aim;
        static_cast<void>(aim.reset({1, 1, {}}));
        FunctionSource source([&](Tick tick, TickFrame& frame) {
            std::fesetround(source_mode);
            return fill_aim(tick, frame, 1.0F);
        });
        FunctionObserver observer;
        observer.on_before = [&](const TickBegin&) { std::fesetround(observer_mode); };
        observer.on_after = [&](const StateHashes&) { std::fesetround(observer_mode); };
        Driver driver(aim, source);
        driver.add(observer);
        std::fesetround(outer_mode);
        const FloatControl before = read_float_control();
        const bool advanced = driver.advance(20).has_value();
        const bool put_back = read_float_control() == before;
        std::fesetround(FE_TONEAREST);
        REQUIRE(advanced);
        REQUIRE(put_back);
        return aim.hash().state;
    };
    const Hash128 expected = run(FE_TONEAREST, FE_TONEAREST, FE_TONEAREST);
    REQUIRE(run(FE_UPWARD, FE_UPWARD, FE_UPWARD) == expected);
    REQUIRE(run(FE_TONEAREST, FE_UPWARD, FE_TONEAREST) == expected);
    REQUIRE(run(FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO) == expected);
    REQUIRE(run(FE_DOWNWARD, FE_TONEAREST, FE_TONEAREST) == expected);
    // The game does compute otherwise in another mode, or nothing was shown here.
    volatile float third = 1.0F;
    std::fesetround(FE_UPWARD);
    const volatile float up = third / 3.0F;
    std::fesetround(FE_DOWNWARD);
    const volatile float down = third / 3.0F;
    std::fesetround(FE_TONEAREST);
    REQUIRE(up != down);
}

TEST_CASE("a tick allocates nothing in the steady state", "[sim][unit]") {
    GameSimulation<AimGame> aim;
    REQUIRE(aim.reset({1, 1, {}}));
    const Bytes payload = from_hex_text("0102030405060708090a0b0c0d0e0f101112");
    Bytes input;
    FunctionSource source([&](Tick tick, TickFrame& frame) {
        input.clear();
        encode_input(CoarseInput{3.0F}, input);
        frame.reset(tick, 1);
        frame.set_input(Slot{0}, input);
        frame.add_event(EventKind::marker, payload);
        return Supply::ready;
    });
    Driver driver(aim, source);
    FunctionObserver observer;
    std::uint64_t seen = 0;
    observer.on_before = [&](const TickBegin& begin) { seen += begin.encoded.size(); };
    observer.on_after = [&](const StateHashes& hashes) { seen += hashes.sections.size(); };
    driver.add(observer);
    REQUIRE(driver.advance(10));
    const AllocationCounter counter;
    const bool advanced = driver.advance(1000).has_value();
    const std::uint64_t allocations = counter.count();
    REQUIRE(advanced);
    REQUIRE(allocations == 0);
    REQUIRE(seen > 1010);
}
