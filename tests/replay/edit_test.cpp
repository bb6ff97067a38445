// SPDX-License-Identifier: MIT
// Editing: parts of recordings, joined and branched; their inputs compared and as a table.
#include "edit_support.hpp"
#include "test_random.hpp"

#include "twinstep/replay/edit.hpp"
#include "twinstep/replay/inputs.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace twinstep;
using namespace twinstep::replay;

namespace {

struct Edited {
    Result<EditReport> report;
    Bytes file;
};

Edited trimmed(const Bytes& bytes,
               std::optional<std::uint64_t> from,
               std::optional<std::uint64_t> until,
               bool with_game = true) {
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    const auto tick = [](const std::optional<std::uint64_t>& value) {
        return value ? std::optional(Tick{*value}) : std::nullopt;
    };
    auto report = trim(with_game ? simulation.get() : nullptr,
                       in_memory(bytes),
                       tick(from),
                       tick(until),
                       std::make_unique<MemorySink>(plan));
    return {std::move(report), plan->file};
}

Edited joined(const std::vector<Bytes>& files) {
    auto plan = std::make_shared<SinkPlan>();
    std::vector<ReadableRecording> parts;
    for (std::size_t i = 0; i < files.size(); ++i) {
        parts.push_back(in_memory(files[i], "part" + std::to_string(i)));
    }
    auto report = concat(parts, std::make_unique<MemorySink>(plan));
    return {std::move(report), plan->file};
}

Result<VerifyReport> verified(const Bytes& bytes) {
    auto reader = Reader::from_memory(bytes, ReadMode::strict);
    if (!reader) {
        return fail(reader.error());
    }
    auto simulation = toy_simulation();
    return verify(*simulation, std::move(*reader));
}

/// Everything that must survive: hashes, section bytes and frames of all ticks, in one string; and
/// data records with the tick they stand behind.
std::string content(const Bytes& bytes) {
    auto reader = Reader::from_memory(bytes, ReadMode::strict);
    REQUIRE(reader);
    std::string text;
    while (true) {
        const auto record = reader->next();
        REQUIRE(record);
        if (record->kind == RecordKind::tick) {
            text += std::to_string(record->tick.hash) + to_hex(record->tick.section_bytes) +
                    to_hex(record->tick.encoded) + "\n";
        } else if (record->kind == RecordKind::unknown) {
            text += "data " + std::to_string(record->tag) + to_hex(record->payload) + "\n";
        } else if (record->kind == RecordKind::end) {
            return text;
        }
    }
}

bool holds(const Bytes& bytes, std::uint64_t ticks) {
    const auto report = verified(bytes);
    return report && !report->divergence && report->ticks == ticks &&
           report->state == FileState::closed && report->hashes_checked > ticks;
}

/// The same recording with application data behind every tenth tick, some at ends of chunks.
Bytes with_data(const Bytes& bytes) {
    auto text = to_text(bytes, {.proofs = false});
    REQUIRE(text);
    std::string out;
    std::istringstream lines(*text);
    std::uint64_t ticks = 0;
    for (std::string line; std::getline(lines, line);) {
        // Some stand at the beginning of a chunk.
        if (line.find(R"("tick":"30",)") != std::string::npos ||
            line.find(R"("tick":"60",)") != std::string::npos) {
            out += R"({"type":"record","tag":201,"payload":"ab"})";
            out += "\n";
        }
        out += line + "\n";
        if (line.find(R"("type":"tick")") != std::string::npos && ++ticks % 10 == 0) {
            out +=
                R"({"type":"record","tag":200,"payload":"0)" + std::to_string(ticks % 8) + "\"}\n";
        }
    }
    auto made = from_text(out);
    REQUIRE(made);
    return *made;
}

} // namespace

TEST_CASE("a part from the start has the same ticks, and verifies", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    for (const std::uint64_t until : std::vector<std::uint64_t>{1, 29, 30, 31, 60, 99, 100}) {
        INFO("until " << until);
        const Edited part = trimmed(whole, std::nullopt, until);
        REQUIRE(part.report);
        REQUIRE(!part.report->divergence);
        REQUIRE(holds(part.file, until));
        REQUIRE(content(whole).starts_with(content(part.file)));
        REQUIRE(note(part.file, edit_key) == "trim");
        REQUIRE(note(part.file, parent_tick_key) == std::to_string(until));
        REQUIRE(note(part.file, parent_session_key) == to_hex(test_session()));
        // A part that ends with a chunk needs no simulation.
        REQUIRE((part.report->simulated_ticks == 0) == (until % 30 == 0 || until == 100));
    }
}

TEST_CASE("a part that needs no state needs no game, any other says so", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    REQUIRE(trimmed(whole, std::nullopt, 60, false).report);
    const Edited cut = trimmed(whole, std::nullopt, 61, false);
    REQUIRE(!cut.report);
    REQUIRE(cut.report.error().code == Errc::incompatible_simulation);
    REQUIRE(!trimmed(whole, 30, std::nullopt, false).report);
}

TEST_CASE("a part from the middle is a late start that verifies", "[replay][edit]") {
    const Bytes whole = with_data(record_small_chunks(100, 30));
    for (const std::uint64_t from : std::vector<std::uint64_t>{1, 29, 30, 31, 60, 99}) {
        INFO("from " << from);
        const Edited part = trimmed(whole, from, std::nullopt);
        REQUIRE(part.report);
        REQUIRE(!part.report->divergence);
        REQUIRE(holds(part.file, 100 - from));
        REQUIRE(content(whole).ends_with(content(part.file)));
        REQUIRE(note(part.file, first_tick_key) == std::to_string(from));
        // A part of a part is one of the whole.
        if (from < 95) {
            const Edited inner = trimmed(part.file, from + 2, 98);
            REQUIRE(inner.report);
            REQUIRE(holds(inner.file, 98 - from - 2));
        }
        const Edited first = trimmed(part.file, std::nullopt, from + 1);
        REQUIRE(first.report);
        REQUIRE(holds(first.file, 1));
    }
}

TEST_CASE("an empty part and one beyond the recording are refused", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    using Range = std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>;
    for (const Range& range : {Range{0, 0}, {50, 50}, {51, 50}, {0, 101}, {100, 100}, {200, 300}}) {
        const Edited part = trimmed(whole, range.first, range.second);
        REQUIRE(!part.report);
        REQUIRE(part.report.error().code == Errc::wrong_tick);
    }
}

TEST_CASE("cut anywhere and joined again, a recording has the same frames and hashes",
          "[replay][edit]") {
    const Bytes whole = with_data(record_small_chunks(100, 30));
    TestRandom random;
    TWINSTEP_SHOW_SEED();
    std::vector<std::uint64_t> cuts{1, 30, 60, 99};
    for (int i = 0; i < 12; ++i) {
        cuts.push_back(1 + random.below(99));
    }
    for (const std::uint64_t cut : cuts) {
        INFO("cut at " << cut);
        const Edited first = trimmed(whole, std::nullopt, cut);
        const Edited second = trimmed(whole, cut, std::nullopt);
        REQUIRE(first.report);
        REQUIRE(second.report);
        const Edited again = joined({first.file, second.file});
        REQUIRE(again.report);
        REQUIRE(again.report->final_hash == second.report->final_hash);
        REQUIRE(holds(again.file, 100));
        REQUIRE(content(again.file) == content(whole));
        REQUIRE(note(again.file, parent_tick_key) == std::to_string(cut) + " 100");
    }
}

TEST_CASE("three parts in a packed form join as well", "[replay][edit]") {
    const Bytes whole = record_small_chunks(90, 20);
    std::vector<Bytes> parts;
    for (const std::uint64_t from : std::vector<std::uint64_t>{0, 25, 60}) {
        const std::uint64_t until = from == 0 ? 25 : from == 25 ? 60 : 90;
        const Edited part = trimmed(whole, from, until);
        REQUIRE(part.report);
        auto plan = std::make_shared<SinkPlan>();
        auto reader = Reader::from_memory(part.file);
        REQUIRE(reader);
        REQUIRE(pack(*reader, std::make_unique<MemorySink>(plan), {.level = 0}));
        parts.push_back(plan->file);
    }
    const Edited again = joined(parts);
    REQUIRE(again.report);
    REQUIRE(holds(again.file, 90));
    REQUIRE(content(again.file) == content(whole));
}

TEST_CASE("parts that do not follow each other are refused by name", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    const Bytes first = trimmed(whole, 0, 50).file;
    const Bytes second = trimmed(whole, 50, 100).file;
    const Bytes gap = trimmed(whole, 51, 100).file;
    const auto refused = [](const std::vector<Bytes>& parts) {
        const Edited edited = joined(parts);
        REQUIRE(!edited.report);
        return to_string(edited.report.error());
    };
    REQUIRE(joined({first, second}).report);
    using Catch::Contains;
    CHECK_THAT(refused({first, gap}),
               Contains("part1") && Contains("51") && Contains("50") && Contains("part0"));
    CHECK_THAT(refused({second, first}), Contains("tick 0"));
    // The same ticks of a session that went another way: only the hashes can tell.
    auto other_plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    ToySource source(1, 100);

    class Other final : public ToySource {
    public:
        using ToySource::ToySource;

        Result<Supply> next(Tick tick, TickFrame& frame) override {
            auto supply = ToySource::next(Tick{tick.value}, frame);
            if (supply && *supply == Supply::ready && tick == Tick{10}) {
                Bytes bytes;
                encode_input(ToyInput{1, 2, 3, true}, bytes);
                frame.set_input(Slot{0}, bytes);
            }
            return supply;
        }
    };

    Other other(1, 100);
    Driver driver(*simulation, other);
    auto recorder = Recorder::create(
        std::make_unique<MemorySink>(other_plan), *simulation, {test_session(9), {}});
    REQUIRE(recorder);
    driver.add(*recorder);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    const Bytes strange = trimmed(other_plan->file, 50, 100).file;
    const Hash128 ours = *trimmed(whole, 0, 50).report->final_hash;
    const Hash128 theirs = *trimmed(other_plan->file, 0, 50).report->final_hash;
    CHECK_THAT(refused({first, strange}),
               Contains("tick 50") && Contains(twinstep::to_hex(ours)) &&
                   Contains(twinstep::to_hex(theirs)));
    // Another seed is another session.
    ToyOptions seeded;
    seeded.seed = 8;
    CHECK_THAT(refused({first, trimmed(record_toy(seeded), std::nullopt, 20).file}),
               Contains("session.seed"));
}

TEST_CASE("a part of a recording that goes another way is not made", "[replay][edit]") {
    auto text = to_text(record_small_chunks(100, 30), {.proofs = false});
    REQUIRE(text);
    // One input that is not what was played: hashes from tick 41 on do not fit any more.
    const std::size_t line = text->find(R"("tick":"40")");
    const std::size_t slot = text->find(R"("slots":[")", line) + 10;
    (*text)[slot] = (*text)[slot] == '0' ? '1' : '0';
    auto wrong = from_text(*text);
    REQUIRE(wrong);
    const Edited before = trimmed(*wrong, 0, 40);
    REQUIRE(before.report);
    REQUIRE(!before.report->divergence);
    // Also where the first wrong state is the one that the part begins or ends with.
    using Range = std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>;
    for (const Range& range : {Range{50, std::nullopt}, {41, std::nullopt}, {0, 41}, {10, 41}}) {
        const Edited after = trimmed(*wrong, range.first, range.second);
        REQUIRE(after.report);
        REQUIRE(after.report->divergence);
        REQUIRE(after.report->divergence->tick == Tick{41});
    }
}

TEST_CASE("the state before a part comes from the nearest keyframe", "[replay][edit]") {
    const Bytes whole = record_small_chunks(400, 20);
    auto plan = std::make_shared<SinkPlan>();
    auto simulation = toy_simulation();
    auto reader = Reader::from_memory(whole);
    REQUIRE(reader);
    REQUIRE(add_keyframes(
        *simulation, std::move(*reader), std::make_unique<MemorySink>(plan), {.every_ticks = 100}));
    const Edited part = trimmed(plan->file, 310, 330);
    REQUIRE(part.report);
    REQUIRE(part.report->simulated_ticks == 10 + 20);
    REQUIRE(part.report->keyframes == 1);
    REQUIRE(part.report->frames_dropped == 3);
    REQUIRE(holds(part.file, 20));
    // Keyframes of the ticks that are kept are kept, a delta only with what it differs from.
    const Edited tail = trimmed(plan->file, 50, std::nullopt);
    REQUIRE(tail.report);
    REQUIRE(holds(tail.file, 350));
    auto kept = Reader::from_memory(tail.file);
    REQUIRE(kept);
    auto keyframed = KeyframedRecording::open(std::move(*kept));
    REQUIRE(keyframed);
    REQUIRE(keyframed->problems().empty());
    auto fresh = toy_simulation();
    const auto checked = check_keyframes(*fresh, *keyframed);
    REQUIRE(checked);
    REQUIRE(checked->problems.empty());
}

TEST_CASE("a branch has the ticks of its parent up to where it leaves it", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);

    class Idle final : public Source {
    public:
        Result<Supply> next(Tick tick, TickFrame& frame) override {
            Bytes bytes;
            encode_input(ToyInput{}, bytes);
            frame.reset(tick, 1);
            frame.set_input(Slot{0}, bytes);
            return Supply::ready;
        }
    };

    for (const std::uint64_t at : std::vector<std::uint64_t>{0, 1, 30, 45, 100}) {
        INFO("at " << at);
        Idle idle;
        auto plan = std::make_shared<SinkPlan>();
        auto simulation = toy_simulation();
        const auto report = fork_at(*simulation,
                                    in_memory(whole),
                                    Tick{at},
                                    {&idle, 25},
                                    std::make_unique<MemorySink>(plan));
        REQUIRE(report);
        REQUIRE(!report->divergence);
        REQUIRE(report->end == Tick{at + 25});
        REQUIRE(holds(plan->file, at + 25));
        REQUIRE(
            content(plan->file).starts_with(at == 0 ? "" : content(trimmed(whole, 0, at).file)));
        REQUIRE(note(plan->file, edit_key) == "fork");
        REQUIRE(note(plan->file, parent_tick_key) == std::to_string(at));
        auto left = Reader::from_memory(whole);
        auto right = Reader::from_memory(plan->file);
        auto left_simulation = toy_simulation();
        auto right_simulation = toy_simulation();
        const auto difference = first_difference(
            *left_simulation, *right_simulation, std::move(*left), std::move(*right));
        REQUIRE(difference);
        if (at < 100) {
            REQUIRE(difference->input);
            REQUIRE(difference->input->tick == Tick{at});
        }
    }
}

TEST_CASE("inputs differ where they do, whatever the forms and lengths", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    auto text = to_text(whole, {.proofs = false});
    REQUIRE(text);
    for (const char* tick : {R"("tick":"40")", R"("tick":"70")"}) {
        const std::size_t line = text->find(tick);
        const std::size_t slot = text->find(R"("slots":[")", line) + 10;
        text->replace(slot, 2, "55"); // dx
    }
    auto changed = from_text(*text);
    REQUIRE(changed);
    const auto simulation = toy_simulation();
    std::vector<InputDifference> found;
    const auto keep = [&found](const InputDifference& difference) { found.push_back(difference); };
    const auto compare = [&](const Bytes& left, const Bytes& right) {
        found.clear();
        return compare_inputs(
            simulation.get(), *Reader::from_memory(left), *Reader::from_memory(right), keep);
    };
    auto result = compare(whole, *changed);
    REQUIRE(result);
    REQUIRE(result->ticks_compared == 100);
    REQUIRE(result->ticks_different == 2);
    REQUIRE(found.size() == 2);
    REQUIRE(found[0].tick == Tick{40});
    REQUIRE(found[0].field == "slots[0].dx");
    REQUIRE(found[0].left == std::to_string(40 % 7 - 3));
    REQUIRE(found[0].right == "85");
    // A late start and a shorter one have ticks 50 to 60 in common.
    result = compare(trimmed(whole, 50, 80).file, trimmed(*changed, 0, 40).file);
    REQUIRE(result);
    REQUIRE(result->ticks_compared == 0);
    REQUIRE(result->left_first == Tick{50});
    REQUIRE(result->right_end == Tick{40});
    result = compare(trimmed(whole, 50, 80).file, *changed);
    REQUIRE(result);
    REQUIRE(result->ticks_compared == 30);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].tick == Tick{70});
}

TEST_CASE("a late start is compared with the whole from its first tick on", "[replay][edit]") {
    const Bytes whole = record_small_chunks(100, 30);
    const Bytes late = trimmed(whole, 45, std::nullopt).file;
    auto left = toy_simulation();
    auto right = toy_simulation();
    const auto difference =
        first_difference(*left, *right, *Reader::from_memory(whole), *Reader::from_memory(late));
    REQUIRE(difference);
    REQUIRE(!difference->state);
    REQUIRE(!difference->input);
    REQUIRE(difference->ticks_left == 100);
    REQUIRE(difference->ticks_right == 55);
}

TEST_CASE("the table of inputs is RFC 4180 and safe to open", "[replay][edit]") {
    const Bytes whole = record_small_chunks(15, 30, 2);
    const auto simulation = toy_simulation(2);
    std::vector<std::string> lines;
    const auto sink = [&lines](std::string_view line) -> Result<void> {
        lines.emplace_back(line);
        return {};
    };
    const auto report = export_csv(
        simulation.get(), [&] { return Reader::from_memory(whole); }, sink);
    REQUIRE(report);
    REQUIRE(report->ticks == 15);
    REQUIRE(lines.size() == 16);
    REQUIRE(lines[0] == "tick,slots[0],slots[0].dx,slots[0].dy,slots[0].turn,slots[0].fire,"
                        "slots[1],slots[1].dx,slots[1].dy,slots[1].turn,slots[1].fire,events");
    REQUIRE(lines[1] == "0,present,-3,0,0,true,present,-3,1,0,false,");
    REQUIRE(lines[14] == "13,present,3,0,143,false,present,3,1,143,false,kind 6 payload 6e6f7465");
    // Without the game the bytes are there all the same, and are no numbers.
    lines.clear();
    REQUIRE(export_csv(
        nullptr, [&] { return Reader::from_memory(whole); }, sink));
    REQUIRE(lines[0] == "tick,slots[0],slots[0].bytes,slots[1],slots[1].bytes,events");
    REQUIRE(lines[1] == "0,present,0xfd00000001,present,0xfd01000000,");
}

namespace {

/// Inputs with text and a list that grows: what spreadsheets and columns must bear.
class ChattyGame {
public:
    struct Input {
        std::string say;
        std::vector<std::int8_t> keys;
        std::int16_t turn = 0;

        template <class Archive>
        void serialize(Archive& archive) {
            archive(CEREAL_NVP(say), CEREAL_NVP(keys), CEREAL_NVP(turn));
        }
    };

    static constexpr std::string_view id = "chatty";
    static constexpr TickRate tick_rate{50};

    void reset(const Setup&) { said_ = 0; }

    void step(const Step<Input>& step) {
        said_ += static_cast<std::uint32_t>(step.players[0].input.say.size());
    }

    template <class Archive>
    void serialize(Archive& archive) {
        archive(section("game", CEREAL_NVP(said_)));
    }

private:
    std::uint32_t said_ = 0;
};

} // namespace

TEST_CASE("text in inputs is quoted, is no formula, and lists have columns of their own",
          "[replay][edit]") {
    const std::vector<ChattyGame::Input> said{
        {"=cmd|' /C calc'!A0", {}, -5}, {"a, \"b\"\nc", {1}, 0}, {"@x", {1, 2}, 7}, {"-3", {}, 7}};

    class Said final : public Source {
    public:
        explicit Said(const std::vector<ChattyGame::Input>& said)
            : said_(said) {}

        Result<Supply> next(Tick tick, TickFrame& frame) override {
            if (tick.value >= said_.size()) {
                return Supply::end;
            }
            Bytes bytes;
            encode_input(said_[tick.value], bytes);
            frame.reset(tick, 1);
            frame.set_input(Slot{0}, bytes);
            return Supply::ready;
        }

    private:
        const std::vector<ChattyGame::Input>& said_;
    };

    auto plan = std::make_shared<SinkPlan>();
    auto simulation = make_simulation<ChattyGame>();
    REQUIRE(simulation->reset({1, 1, {}}));
    Said source(said);
    Driver driver(*simulation, source);
    auto recorder = Recorder::create(std::make_unique<MemorySink>(plan), *simulation);
    REQUIRE(recorder);
    driver.add(*recorder);
    REQUIRE(driver.advance(UINT64_MAX));
    REQUIRE(recorder->close());
    std::vector<std::string> lines;
    const auto sink = [&lines](std::string_view line) -> Result<void> {
        lines.emplace_back(line);
        return {};
    };
    REQUIRE(export_csv(
        simulation.get(), [&] { return Reader::from_memory(plan->file); }, sink));
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] ==
          "tick,slots[0],slots[0].say,slots[0].keys[0],slots[0].keys[1],slots[0].turn,events");
    CHECK(lines[1] == "0,present,'=cmd|' /C calc'!A0,,,-5,");
    CHECK(lines[2] == "1,present,\"a, \"\"b\"\"\nc\",1,,0,");
    CHECK(lines[3] == "2,present,'@x,1,2,7,");
    CHECK(lines[4] == "3,present,'-3,,,7,");
}
