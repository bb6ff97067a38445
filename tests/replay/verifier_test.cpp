// SPDX-License-Identifier: MIT
// Playback, verification and differences: what was planted is found where it was planted.
#include "recording_support.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

/// The text of a recording without proofs, so that it can be edited.
std::string editable(ByteView file) {
    return *to_text(file, {.proofs = false});
}

/// Replaces the first `what` after the line of a tick (or the last chunk end) starts.
std::string edited(std::string text,
                   const std::string& from,
                   const std::string& what,
                   const std::function<std::string(std::string)>& change,
                   std::size_t length) {
    const std::size_t line = text.rfind(from);
    REQUIRE(line != std::string::npos);
    const std::size_t key = text.find(what, line);
    REQUIRE(key != std::string::npos);
    const std::size_t value = key + what.size();
    text.replace(value, length, change(text.substr(value, length)));
    return text;
}

std::string tick_key(std::uint64_t tick) {
    return "\"tick\":\"" + std::to_string(tick) + "\"";
}

/// Changes the lowest bit of a two-digit hex byte.
std::string flip(std::string byte) {
    const std::string digits = "0123456789abcdef";
    byte.back() = digits[digits.find(byte.back()) ^ 1U];
    return byte;
}

VerifyReport verify_bytes(ByteView file, const VerifyOptions& options = {}) {
    auto simulation = make_simulation<ToyGame>();
    auto reader = Reader::from_memory(file, options.mode);
    REQUIRE(reader);
    auto report = verify(*simulation, std::move(*reader), options);
    if (!report) {
        FAIL(to_string(report.error()));
    }
    return *report;
}

Error verify_error(ByteView file) {
    auto simulation = make_simulation<ToyGame>();
    auto reader = Reader::from_memory(file);
    REQUIRE(reader);
    const auto report = verify(*simulation, std::move(*reader));
    REQUIRE_FALSE(report);
    return report.error();
}

} // namespace

TEST_CASE("a recording verifies, and every hash in it is counted", "[replay][unit]") {
    Hash128 final_hash;
    const Bytes file = record_toy({.ticks = 700, .slots = 2}, &final_hash);
    const VerifyReport report = verify_bytes(file);
    CHECK_FALSE(report.divergence);
    CHECK(report.ticks == 700);
    CHECK(report.hashes_checked == 702);
    CHECK(report.final_hash == final_hash);
    CHECK(report.state == FileState::closed);
}

TEST_CASE("an empty recording verifies nothing and says so", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 0});
    const VerifyReport report = verify_bytes(file);
    CHECK(report.ticks == 0);
    CHECK(report.hashes_checked == 0);
    CHECK(report.state == FileState::closed);
}

TEST_CASE("one flipped input bit diverges at the next tick in the right section",
          "[replay][golden]") {
    const Bytes file = record_toy({.ticks = 100});
    const Bytes planted =
        *from_text(edited(editable(file), tick_key(40), "\"slots\":[\"", flip, 2));
    REQUIRE(planted.size() == file.size());
    const VerifyReport report = verify_bytes(planted);
    REQUIRE(report.divergence);
    CHECK(report.divergence->tick == Tick{41});
    CHECK(report.divergence->section == "bodies");
    CHECK(report.ticks == 42);
}

TEST_CASE("one flipped bit of a tick's hash is found at that tick", "[replay][golden]") {
    const Bytes file = record_toy({.ticks = 100});
    const auto flip_last = [](std::string digits) {
        return digits.substr(0, 6) + flip(digits.substr(6));
    };
    const Bytes planted =
        *from_text(edited(editable(file), tick_key(63), "\"hash\":\"", flip_last, 8));
    const VerifyReport report = verify_bytes(planted);
    REQUIRE(report.divergence);
    CHECK(report.divergence->tick == Tick{63});
    CHECK(report.divergence->section.empty());
    CHECK(report.divergence->expected != report.divergence->actual);
    CHECK(report.divergence->expected.size() == 8);
}

TEST_CASE("one flipped bit of a section byte is found at that tick and section",
          "[replay][golden]") {
    const Bytes file = record_toy({.ticks = 100});
    const auto flip_world = [](std::string digits) {
        return digits.substr(0, 4) + flip(digits.substr(4));
    };
    const Bytes planted =
        *from_text(edited(editable(file), tick_key(63), "\"sections\":\"", flip_world, 6));
    const VerifyReport report = verify_bytes(planted);
    REQUIRE(report.divergence);
    CHECK(report.divergence->tick == Tick{63});
    CHECK(report.divergence->section == "world");
}

TEST_CASE("one flipped bit in the last chunk end is found after the last tick",
          "[replay][golden]") {
    const Bytes file = record_toy({.ticks = 100});
    for (const std::string key : {"\"bodies\":\"", "\"state\":\""}) {
        const Bytes planted =
            *from_text(edited(editable(file), "\"type\":\"chunk_end\"", key, flip, 2));
        const VerifyReport report = verify_bytes(planted);
        REQUIRE(report.divergence);
        CHECK(report.divergence->tick == Tick{100});
        CHECK(report.divergence->section == (key == "\"state\":\"" ? "" : "bodies"));
        CHECK(report.divergence->expected.size() == 32);
        CHECK(report.ticks == 100);
    }
}

TEST_CASE("a viewer goes on after a divergence and keeps the first", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 100});
    const Bytes planted =
        *from_text(edited(editable(file), tick_key(40), "\"slots\":[\"", flip, 2));
    const VerifyReport report = verify_bytes(planted, {ReadMode::tail, false});
    CHECK(report.ticks == 100);
    CHECK(report.hashes_checked == 101);
    REQUIRE(report.divergence);
    CHECK(report.divergence->tick == Tick{41});
}

TEST_CASE("another simulation is refused by key with both values", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 10});
    const auto with = [&](const std::string& key, const std::string& value) {
        const std::string what = "\"" + key + "\":\"";
        const std::string text = editable(file);
        const std::size_t begin = text.find(what) + what.size();
        return *from_text(std::string(text).replace(begin, text.find('"', begin) - begin, value));
    };
    const Error version = verify_error(with("sim.version", "7"));
    CHECK(version.code == Errc::incompatible_simulation);
    CHECK(version.field == "sim.version");
    CHECK(version.detail.find("'7'") != std::string::npos);
    CHECK(version.detail.find("'1'") != std::string::npos);
    CHECK(verify_error(with("sim.id", "chess")).field == "sim.id");
    CHECK(verify_error(with("state.fingerprint", "00")).field == "state.fingerprint");
    CHECK(verify_error(with("session.seed", "x")).code == Errc::corrupt_head);
    CHECK(verify_bytes(with("sim.source_digest", "other")).build_differs);
    CHECK_FALSE(verify_bytes(with("build.compiler", "other")).build_differs);
    // Another seed is another session: the set-up is taken from the file, the states differ.
    CHECK(verify_bytes(with("session.seed", "8")).divergence->tick == Tick{0});
}

TEST_CASE("a damaged file is an error and a cut one a value", "[replay][unit]") {
    Bytes file = record_toy({.ticks = 100});
    const auto cut = Bytes(file.begin(), file.end() - 300);
    const VerifyReport report = verify_bytes(cut);
    CHECK(report.state == FileState::truncated);
    CHECK(report.defects.size() == 1);
    CHECK(report.ticks > 50);
    CHECK(report.hashes_checked == report.ticks);
    CHECK_FALSE(report.divergence);

    const Outcome whole = read_all(file);
    file[static_cast<std::size_t>(whole.records[50].offset + 5)] ^= std::byte{4};
    CHECK(verify_error(file).code == Errc::corrupt_record);
    CHECK(verify_bytes(file, {ReadMode::prefix, true}).ticks == 50);
}

TEST_CASE("a playback skips forward to a loaded state and never back", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 100});
    auto reader = Reader::from_memory(file);
    REQUIRE(reader);
    auto simulation = toy_simulation();
    Bytes snapshot;
    {
        ToySource source(1);
        Driver driver(*simulation, source);
        REQUIRE(driver.advance(30));
        simulation->save(snapshot);
    }
    auto other = toy_simulation();
    REQUIRE(other->load(snapshot));
    Playback playback(std::move(*reader));
    Driver driver(*other, playback.source());
    driver.add(playback.verifier());
    REQUIRE(driver.advance(20)->ticks == 20);
    CHECK(playback.verdict().hashes_checked == 20);
    CHECK_FALSE(playback.verdict().divergence);
    REQUIRE(other->load(snapshot));
    const auto back = driver.advance(1);
    REQUIRE_FALSE(back);
    CHECK(back.error().code == Errc::wrong_tick);
}

namespace {

Difference difference_of(ByteView left_file, ByteView right_file) {
    auto left = make_simulation<ToyGame>();
    auto right = make_simulation<ToyGame>();
    auto difference = first_difference(
        *left, *right, *Reader::from_memory(left_file), *Reader::from_memory(right_file));
    if (!difference) {
        FAIL(to_string(difference.error()));
    }
    return *difference;
}

} // namespace

TEST_CASE("two equal recordings do not differ", "[replay][unit]") {
    const Difference difference = difference_of(
        record_toy({.ticks = 80}), record_toy({.ticks = 80, .session = test_session(3)}));
    CHECK(difference.same());
    CHECK(difference.ticks_left == 80);
    CHECK_FALSE(difference_of(record_toy({.ticks = 80}), record_toy({.ticks = 81})).same());
}

TEST_CASE("a difference names tick, slot and field of the input and of the state",
          "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 100, .slots = 2});
    const Bytes planted =
        *from_text(edited(editable(file), tick_key(40), "\"slots\":[\"", flip, 2));
    const Difference difference = difference_of(file, planted);
    REQUIRE(difference.input);
    CHECK(difference.input->tick == Tick{40});
    CHECK(difference.input->field == "slots[0].dx");
    CHECK(difference.input->expected == "2");
    CHECK(difference.input->actual == "3");
    REQUIRE(difference.state);
    CHECK(difference.state->tick == Tick{41});
    CHECK(difference.state->section == "bodies");
    CHECK(difference.state->field == "bodies[0].x");
    CHECK(difference.state->expected != difference.state->actual);
}

TEST_CASE("a difference names an event that only one recording has", "[replay][unit]") {
    const Bytes file = record_toy({.ticks = 60});
    const std::string text = editable(file);
    const std::size_t line = text.find(tick_key(53));
    const std::size_t event = text.find(",\"events\"", line);
    const std::size_t end = text.find(']', event);
    const Bytes planted = *from_text(std::string(text).erase(event, end + 1 - event));
    const Difference difference = difference_of(file, planted);
    REQUIRE(difference.input);
    CHECK(difference.input->tick == Tick{53});
    CHECK(difference.input->section == "events");
    CHECK(difference.input->field == "events[0]");
    CHECK(difference.input->actual == "(missing)");
    REQUIRE(difference.state);
    CHECK(difference.state->tick == Tick{54});
    CHECK(difference.state->section == "world");
    CHECK(difference.state->field.starts_with("log["));
}

TEST_CASE("two live simulations are compared down to the field", "[replay][unit]") {
    auto left = toy_simulation(1, 7);
    auto right = toy_simulation(1, 7);
    CHECK_FALSE(compare_states(*left, *right));
    auto other_seed = toy_simulation(1, 8);
    const auto divergence = compare_states(*left, *other_seed);
    REQUIRE(divergence);
    CHECK(divergence->section == "random");
    CHECK(divergence->field == "draws.seed");
    CHECK(divergence->expected == "7");
    CHECK(divergence->actual == "8");
    auto two_slots = toy_simulation(2, 7);
    const auto longer = compare_states(*left, *two_slots);
    REQUIRE(longer);
    CHECK(longer->section == "bodies");
    CHECK(longer->field == "bodies[1]");
    CHECK(longer->expected == "(missing)");
}

namespace {

/// Wagons with a place in fixed point; the second stands where the config's size says.
class Wagons {
public:
    using Input = ToyInput;
    static constexpr std::string_view id = "wagons";
    static constexpr TickRate tick_rate{50};

    struct Wagon {
        Q16x16 place;
        DrawCount draws;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(place), CEREAL_NVP(draws));
        }
    };

    void reset(const Setup& setup) {
        const auto first = wagons_.insert({});
        wagons_.insert({Q16x16{1}, {}});
        wagons_.insert({Q16x16::ratio(static_cast<std::int32_t>(setup.config.size()), 10), {}});
        wagons_.erase(first);
    }

    void step(const Step<Input>&) {}

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("wagons", CEREAL_NVP(wagons_)));
    }

private:
    SlotMap<Wagon, 8> wagons_;
};

} // namespace

TEST_CASE("a difference in fixed point is told in decimals, under its slot", "[replay][unit]") {
    GameSimulation<Wagons> left;
    GameSimulation<Wagons> right;
    REQUIRE(left.reset({1, 1, {}}));
    REQUIRE(right.reset({1, 1, {{"a", "b"}}}));
    const auto divergence = compare_states(left, right);
    REQUIRE(divergence);
    CHECK(divergence->section == "wagons");
    CHECK(divergence->field == "wagons.values[2].place");
    CHECK(divergence->expected == "0");
    CHECK(divergence->actual == "0.1");
}
