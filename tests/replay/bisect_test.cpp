// SPDX-License-Identifier: MIT
// Searches for the inputs that matter, and new hashes for a game that changed on purpose.
#include "edit_support.hpp"

#include "twinstep/replay/bisect.hpp"
#include "twinstep/replay/inputs.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// A game with planted faults, each of which needs two inputs.
class FaultyGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "faulty";
    static constexpr TickRate tick_rate{50};
    static constexpr std::uint16_t slots_max = 4;
    static inline std::int32_t leak = 0; ///< State of the process, not of the session.
    static inline std::int32_t version_step = 0;

    void reset(const Setup&) {
        score_ = 0;
        armed_ = false;
    }

    void step(const Step<Input>& step) {
        for (const auto& player : step.players) {
            score_ += player.input.turn + version_step;
            // Armed by dx 7, and only then seen by dy 9: what `serialize` misses is lost by a load.
            armed_ = armed_ || player.input.dx == 7;
            if (armed_ && player.input.dy == 9) {
                score_ += 1'000'000;
            }
            if (player.input.fire && player.input.dx == 7) {
                score_ += leak++;
            }
        }
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("game", CEREAL_NVP(score_)));
    }

private:
    std::int32_t score_ = 0;
    bool armed_ = false;
};

/// A session of three slots with many inputs, of which a few matter.
class FaultySource final : public Source {
public:
    using Inputs = std::map<std::pair<std::uint64_t, std::uint16_t>, ToyInput>;

    FaultySource(std::uint64_t ticks, Inputs inputs, bool idle)
        : ticks_(ticks)
        , inputs_(std::move(inputs))
        , idle_(idle) {}

    Result<Supply> next(Tick tick, TickFrame& frame) override {
        if (tick.value >= ticks_) {
            return Supply::end;
        }
        frame.reset(tick, 3);
        for (std::uint16_t slot = 0; slot < 3; ++slot) {
            const auto special = inputs_.find({tick.value, slot});
            const ToyInput noise{1, 2, static_cast<std::uint16_t>(tick.value % 5), false};
            Bytes bytes;
            encode_input(special != inputs_.end() ? special->second
                         : idle_                  ? ToyInput{}
                                                  : noise,
                         bytes);
            frame.set_input(Slot{slot}, bytes);
        }
        return Supply::ready;
    }

private:
    std::uint64_t ticks_;
    Inputs inputs_;
    bool idle_; ///< All others do nothing.
};

Bytes record_faulty(std::uint64_t ticks, const FaultySource::Inputs& inputs, bool idle = false) {
    FaultyGame::leak = 0;
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = make_simulation<FaultyGame>();
    REQUIRE(simulation->reset({1, 3, {}}));
    FaultySource source(ticks, inputs, idle);
    Driver driver(*simulation, source);
    auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
    REQUIRE(recorder);
    driver.add(*recorder);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    return plan->file;
}

Bytes neutral_input() {
    Bytes bytes;
    encode_input(ToyInput{}, bytes);
    return bytes;
}

struct Searched {
    Result<BisectReport> report;
    std::vector<std::pair<std::uint64_t, unsigned>> kept; ///< Ticks and slots.
    Bytes file;
};

Searched
search(const Bytes& bytes, const DivergenceCheck& check, const BisectOptions& options = {}) {
    auto simulation = make_simulation<FaultyGame>();
    const auto inputs = RecordedInputs::read(*simulation, in_memory(bytes), neutral_input());
    REQUIRE(inputs);
    const auto test = [&](const InputChoice& choice) {
        return run_check(*simulation, choice, check);
    };
    Searched searched{find_inputs(*inputs, test, options), {}, {}};
    REQUIRE(searched.report);
    for (const std::size_t atom : searched.report->kept) {
        searched.kept.emplace_back(inputs->atoms()[atom].tick.value,
                                   inputs->atoms()[atom].slot.value);
    }
    auto plan = std::make_shared<SinkPlan>();
    const InputChoice choice(
        *inputs, searched.report->kept, searched.report->until, searched.report->replaced);
    REQUIRE(record_choice(*simulation, choice, std::make_unique<MemorySink>(plan)));
    searched.file = plan->file;
    return searched;
}

} // namespace

TEST_CASE("the two inputs that a forgotten field takes are found among thousands",
          "[replay][edit][bisect]") {
    const Bytes whole =
        record_faulty(1000, {{{123, 1}, {7, 3, 4, false}}, {{700, 2}, {-5, 9, 777, false}}});
    using Kind = DivergenceCheck::Kind;
    for (const Kind kind : {Kind::fork, Kind::round_trip}) {
        // Between arming and firing a state must be loaded, or nothing goes wrong.
        const Searched searched = search(whole, {kind, 50});
        REQUIRE(searched.report->divergence);
        CHECK(searched.report->inputs_before == 2103);
        CHECK(searched.report->divergence->tick == Tick{701});
        CHECK(searched.report->divergence->field == "score");
        CHECK(searched.report->minimal);
        using Kept = std::vector<std::pair<std::uint64_t, unsigned>>;
        CHECK(searched.kept == Kept{{123, 1}, {700, 2}});
        CHECK(searched.report->runs < 200);
        // Of each input one field is left.
        const auto compared =
            compare_inputs(make_simulation<FaultyGame>().get(),
                           *Reader::from_memory(searched.file),
                           *Reader::from_memory(record_faulty(701, {}, true)),
                           [](const InputDifference& difference) {
                               const bool first = difference.tick == Tick{123};
                               CHECK(difference.field == (first ? "slots[1].dx" : "slots[2].dy"));
                               CHECK(difference.left == (first ? "7" : "9"));
                           });
        REQUIRE(compared);
        CHECK(compared->fields_different == 2);
        // What is written still goes wrong, and ends right there.
        const Searched again = search(searched.file, {kind, 50});
        REQUIRE(again.report->divergence);
        CHECK(again.report->divergence->tick == Tick{701});
        CHECK(again.kept == Kept{{123, 1}, {700, 2}});
        auto reader = Reader::from_memory(searched.file);
        REQUIRE(reader);
        CHECK(summarise(searched.file)->ticks == 701);
    }
}

TEST_CASE("an input that leaves something behind in the process is found by running twice",
          "[replay][edit][bisect]") {
    const Bytes whole =
        record_faulty(300, {{{77, 0}, {7, 0, 0, true}}, {{200, 2}, {7, 0, 0, true}}});
    const Searched searched = search(whole, {DivergenceCheck::Kind::twice, 1});
    REQUIRE(searched.report->divergence);
    CHECK(searched.report->divergence->section == "game");
    REQUIRE(searched.kept.size() == 1);
    CHECK(searched.kept[0] == std::pair<std::uint64_t, unsigned>{77, 0});
}

TEST_CASE("a search over a recording that holds finds nothing", "[replay][edit][bisect]") {
    const Bytes whole = record_faulty(200, {{{50, 0}, {7, 0, 0, false}}});
    const Searched searched = search(whole, {DivergenceCheck::Kind::fork, 1});
    CHECK(!searched.report->divergence);
    CHECK(searched.report->runs == 1);
    CHECK(searched.kept.empty());
}

TEST_CASE("a search that is cut short says so and still goes wrong", "[replay][edit][bisect]") {
    const Bytes whole =
        record_faulty(1000, {{{123, 1}, {7, 0, 0, false}}, {{700, 2}, {0, 9, 0, false}}});
    BisectOptions options;
    options.runs_max = 6;
    const Searched searched = search(whole, {DivergenceCheck::Kind::fork, 50}, options);
    CHECK(searched.report->runs == 6);
    CHECK(!searched.report->minimal);
    CHECK(searched.kept.size() > 2);
    CHECK(searched.report->divergence);
    const Searched again = search(searched.file, {DivergenceCheck::Kind::fork, 50});
    CHECK(again.report->divergence);
}

// --- when a game changed on purpose ---

namespace {

/// A behaviour of the game for a scope.
class VersionStep {
public:
    explicit VersionStep(std::int32_t step) { FaultyGame::version_step = step; }

    ~VersionStep() { FaultyGame::version_step = 0; }

    VersionStep(const VersionStep&) = delete;
    VersionStep& operator=(const VersionStep&) = delete;
};

} // namespace

TEST_CASE("new hashes come with the reason, the old chain and the first difference",
          "[replay][edit][rebaseline]") {
    const Bytes old = record_faulty(100, {});
    auto simulation = make_simulation<FaultyGame>();
    const auto same = plan_rebaseline(*simulation, in_memory(old));
    REQUIRE(same);
    CHECK(!same->changed());
    CHECK(same->old_hash == same->new_hash);

    const VersionStep changed(3);
    const auto plan = plan_rebaseline(*simulation, in_memory(old));
    REQUIRE(plan);
    REQUIRE(plan->changed());
    CHECK(plan->difference->tick == Tick{1});
    CHECK(plan->difference->section == "game");
    auto sink = std::make_shared<SinkPlan>();
    const auto report = rebaseline(
        *simulation, in_memory(old), *plan, "faster", std::make_unique<MemorySink>(sink));
    REQUIRE(report);
    CHECK(note(sink->file, rebaseline_reason_key) == "faster");
    CHECK(note(sink->file, rebaseline_old_chain_key) == twinstep::to_hex(plan->old_chain));
    CHECK(note(sink->file, rebaseline_old_hash_key) == twinstep::to_hex(*plan->old_hash));
    CHECK(note(sink->file, rebaseline_new_hash_key) == twinstep::to_hex(plan->new_hash));
    auto fresh = make_simulation<FaultyGame>();
    const auto verified_new = verify(*fresh, *Reader::from_memory(sink->file));
    REQUIRE(verified_new);
    CHECK(!verified_new->divergence);
    CHECK(verified_new->ticks == 100);
    // Inputs are what they were.
    const auto compared = compare_inputs(simulation.get(),
                                         *Reader::from_memory(old),
                                         *Reader::from_memory(sink->file),
                                         [](const InputDifference&) {});
    REQUIRE(compared);
    CHECK(compared->ticks_compared == 100);
    CHECK(compared->ticks_different == 0);
    // The second time nothing has changed.
    const auto again = plan_rebaseline(*simulation, in_memory(sink->file));
    REQUIRE(again);
    CHECK(!again->changed());
}

TEST_CASE("a recording of the format corpus is never made anew", "[replay][edit][rebaseline]") {
    auto text = to_text(record_faulty(10, {}), {.proofs = false});
    REQUIRE(text);
    const std::size_t key = text->find(R"("record.sections")");
    text->insert(key, R"("record.corpus":"format",)");
    const auto marked = from_text(*text);
    REQUIRE(marked);
    const VersionStep changed(3);
    auto simulation = make_simulation<FaultyGame>();
    const auto plan = plan_rebaseline(*simulation, in_memory(*marked));
    REQUIRE(plan);
    auto sink = std::make_shared<SinkPlan>();
    const auto report = rebaseline(
        *simulation, in_memory(*marked), *plan, "faster", std::make_unique<MemorySink>(sink));
    REQUIRE(!report);
    CHECK(report.error().code == Errc::unsupported_version);
    CHECK(report.error().field == corpus_key);
    CHECK(sink->file.empty());
}
