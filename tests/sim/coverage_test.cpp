// SPDX-License-Identifier: MIT
// Which fields of a state matter: those that a later step reads.
#include "toy_game.hpp"

#include "twinstep/sim.hpp"
#include "twinstep/sim/coverage.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace twinstep;

namespace {

struct Part {
    std::uint32_t read = 1;    ///< Others depend on it.
    std::uint32_t written = 0; ///< Every step writes it before anybody reads it.
    std::uint32_t idle = 7;    ///< Nobody reads or writes it.

    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(read), CEREAL_NVP(written), CEREAL_NVP(idle));
    }
};

/// One field of each kind there is.
class KindsGame {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "kinds";
    static constexpr TickRate tick_rate{10};

    void reset(const Setup&) { parts_.assign(3, {}); }

    void step(const Step<Input>& step) {
        std::uint32_t sum = 0;
        for (Part& part : parts_) {
            sum += part.read;
            part.written = step.players[0].input.turn;
        }
        total_ = sum;
        late_ += step.tick.value == 40 ? hidden_ : 0;
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("parts", CEREAL_NVP(parts_)),
                section("sums", CEREAL_NVP(total_), CEREAL_NVP(late_), CEREAL_NVP(hidden_)),
                section("fixed", CEREAL_NVP(level_)));
        if constexpr (std::is_same_v<Archive, InArchive>) {
            if (level_ != 3) {
                archive.reader().fail(SimErrc::malformed, "level");
            }
        }
    }

private:
    std::vector<Part> parts_;
    std::uint32_t total_ = 0;
    std::uint32_t late_ = 0;
    std::uint32_t hidden_ = 5; ///< Read at tick 40.
    std::int32_t level_ = 3;   ///< Loading refuses any other.
};

std::map<std::string, FieldCoverage> by_name(const CoverageReport& report) {
    std::map<std::string, FieldCoverage> fields;
    for (const FieldCoverage& field : report.fields) {
        fields[field.section + " " + field.field] = field;
    }
    return fields;
}

} // namespace

TEST_CASE("coverage tells what later steps read from what they do not", "[sim][coverage][unit]") {
    GameSimulation<KindsGame> simulation;
    REQUIRE(simulation.reset({}));
    ToySource source(1);
    Driver driver(simulation, source);
    REQUIRE(driver.advance(10));
    const Hash128 before = simulation.hash().state;
    CoverageOptions options;
    options.ticks = 20;
    std::uint64_t made = 0;
    options.progress = [&](std::uint64_t now, std::uint64_t all) {
        made = now;
        CHECK(now <= all);
    };
    const auto report = measure_coverage(simulation, source, options);
    REQUIRE(report);
    CHECK(simulation.hash().state == before);
    CHECK(report->tick == Tick{10});
    CHECK(report->ticks == 20);
    CHECK(made == report->samples);
    // 8 bits of each byte are the most there are to change.
    CHECK(report->samples == std::min<std::uint64_t>(1000, report->bytes * 8));
    const auto fields = by_name(*report);
    CHECK(fields.size() == 9);
    const auto expect = [&](const char* name, bool noticed) {
        CAPTURE(name);
        const FieldCoverage& field = fields.at(name);
        CHECK(field.changed > 10);
        CHECK(field.noticed == (noticed ? field.changed : 0));
        CHECK(field.unhashed == 0);
    };
    expect("parts parts[].read", true);
    expect("parts parts[].written", false);
    expect("parts parts[].idle", false);
    expect("sums total", false);
    expect("sums late", false);
    expect("sums hidden", false);
    expect("random draws.count", false);
    CHECK(fields.at("fixed level").changed == 0);
    CHECK(report->refused > 10);
    CHECK(report->reshaped == 0);

    SECTION("what is read later is noticed later") {
        options.ticks = 60;
        const auto longer = measure_coverage(simulation, source, options);
        REQUIRE(longer);
        const FieldCoverage hidden = by_name(*longer).at("sums hidden");
        CHECK(hidden.changed > 10);
        CHECK(hidden.noticed == hidden.changed);
    }
    SECTION("the same again gives the same") {
        const auto again = measure_coverage(simulation, source, options);
        REQUIRE(again);
        const auto same = by_name(*again);
        for (const auto& [name, field] : fields) {
            CHECK(same.at(name).changed == field.changed);
            CHECK(same.at(name).noticed == field.noticed);
        }
    }
}

TEST_CASE("coverage needs a tick to play, and plays no more than there are",
          "[sim][coverage][unit]") {
    GameSimulation<KindsGame> simulation;
    REQUIRE(simulation.reset({}));
    ToySource source(1, 15);
    Driver driver(simulation, source);
    REQUIRE(driver.advance(12));
    const auto report = measure_coverage(simulation, source, {});
    REQUIRE(report);
    CHECK(report->ticks == 3);
    REQUIRE(driver.advance(3));
    const auto none = measure_coverage(simulation, source, {});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == SimErrc::wrong_tick);
    CHECK(simulation.tick() == Tick{15});
}
