// SPDX-License-Identifier: MIT
// Decoding demos: what is read, what is kept of damaged ones, what is refused and how.
#include "marine_support.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

using namespace twinstep;
using namespace twinstep::games;
using namespace marine_test;

namespace {

using Raw = std::vector<std::uint8_t>;

/// Version 109, skill 3, episode 2, map 4, one player.
Raw header() {
    return {109, 3, 2, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0};
}

Raw operator+(Raw left, const Raw& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

Raw with(Raw bytes, std::size_t offset, std::uint8_t value) {
    bytes.at(offset) = value;
    return bytes;
}

ByteView view(const Raw& bytes) {
    return std::as_bytes(std::span(bytes));
}

struct Refused {
    const char* what;
    Raw bytes;
    SimErrc code;
    std::uint64_t offset;
    const char* field;
    const char* detail; ///< Part of the line that people see.
};

struct Kept {
    const char* what;
    Raw bytes;
    std::uint64_t tics;
    bool complete;
    const char* note;
};

} // namespace

TEST_CASE("a demo of one player is decoded tic by tic", "[games][marine][demo][unit]") {
    const Raw bytes = header() + Raw{50, 0xE8, 0xFF, 1, 0xCE, 40, 0x80, 255, 0x80};
    const auto demo = parse_demo(view(bytes));
    REQUIRE(demo);
    CHECK(demo->complete);
    CHECK(demo->note.empty());
    CHECK(demo->skill == 3);
    CHECK(demo->episode == 2);
    CHECK(demo->map == 4);
    REQUIRE(demo->tics() == 2);
    CHECK(demo->inputs[0].forward == 50);
    CHECK(demo->inputs[0].side == -24);
    CHECK(demo->inputs[0].turn == -256);
    CHECK(demo->inputs[0].buttons == 1);
    CHECK(demo->inputs[1].forward == -50);
    CHECK(demo->inputs[1].side == 40);
    CHECK(demo->inputs[1].turn == -32768);
    CHECK(demo->inputs[1].buttons == 255);
}

TEST_CASE("a demo whose header is wrong is refused with offset, field and value",
          "[games][marine][demo][fault]") {
    const Raw tic{1, 2, 3, 4, 0x80};
    const Raw good = header() + tic;
    const std::vector<Refused> table{
        {"empty", {}, SimErrc::truncated, 0, "version", ""},
        {"header cut", Raw{109, 3, 2}, SimErrc::truncated, 3, "map", ""},
        {"flags cut",
         Raw{109, 3, 2, 4, 0, 0, 0, 0, 0, 1},
         SimErrc::truncated,
         10,
         "playeringame",
         ""},
        {"version before", with(good, 0, 108), SimErrc::malformed, 0, "version", "108"},
        {"version after", with(good, 0, 110), SimErrc::malformed, 0, "version", "110"},
        {"old version", with(good, 0, 103), SimErrc::malformed, 0, "version", "103"},
        {"longtics", with(good, 0, 111), SimErrc::malformed, 0, "version", "111"},
        {"Boom", with(good, 0, 202), SimErrc::malformed, 0, "version", "202"},
        {"no demo", with(good, 0, 0), SimErrc::malformed, 0, "version", "0"},
        {"skill", with(good, 1, 5), SimErrc::malformed, 1, "skill", "0 to 4"},
        {"episode", with(good, 2, 0), SimErrc::malformed, 2, "episode", "1 to 9"},
        {"map", with(good, 3, 100), SimErrc::malformed, 3, "map", "1 to 99"},
        {"deathmatch", with(good, 4, 3), SimErrc::malformed, 4, "deathmatch", "0 to 2"},
        {"respawn", with(good, 5, 2), SimErrc::malformed, 5, "respawn", "0 to 1"},
        {"fast", with(good, 6, 255), SimErrc::malformed, 6, "fast", "255"},
        {"nomonsters", with(good, 7, 2), SimErrc::malformed, 7, "nomonsters", "2"},
        {"consoleplayer", with(good, 8, 4), SimErrc::malformed, 8, "consoleplayer", "4"},
        {"absent console player",
         with(good, 8, 2),
         SimErrc::malformed,
         8,
         "consoleplayer",
         "a player in the game"},
        {"flag 2", with(good, 9, 2), SimErrc::malformed, 9, "playeringame", "0 or 1"},
        {"last flag 7", with(good, 12, 7), SimErrc::malformed, 12, "playeringame", "7"},
        {"nobody plays", with(good, 9, 0), SimErrc::malformed, 9, "playeringame", "nobody"},
    };
    for (const Refused& row : table) {
        CAPTURE(row.what);
        const auto demo = parse_demo(view(row.bytes));
        REQUIRE_FALSE(demo);
        CHECK(demo.error().code == make_error_code(row.code));
        CHECK(demo.error().offset == row.offset);
        CHECK(demo.error().field == row.field);
        CHECK_THAT(to_string(demo.error()), Catch::Contains(row.detail));
    }
}

TEST_CASE("a demo larger than the limit is refused before anything is decoded",
          "[games][marine][demo][fault]") {
    const Raw bytes = header() + Raw(demo_bytes_max, 1);
    const auto demo = parse_demo(view(bytes));
    REQUIRE_FALSE(demo);
    CHECK(demo.error().code == make_error_code(SimErrc::limit_exceeded));
}

TEST_CASE("a demo that ends early is kept up to its last whole tic, with a note",
          "[games][marine][demo][fault]") {
    const Raw two = with(header(), 11, 1);
    const std::vector<Kept> table{
        {"no tic", header() + Raw{0x80}, 0, true, ""},
        {"nothing after the header", header(), 0, false, "no end marker; kept 0 whole tics"},
        {"no end", header() + Raw{1, 2, 3, 4}, 1, false, "no end marker; kept 1 whole tics"},
        {"cut tic", header() + Raw{1, 2, 3, 4, 5, 6}, 1, false, "within a tic; kept 1"},
        {"cut after forward", header() + Raw{1, 2, 3, 4, 5}, 1, false, "within a tic; kept 1"},
        {"second player cut",
         two + Raw{1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9},
         1,
         false,
         "within a tic; kept 1"},
        {"bytes after the end",
         header() + Raw{1, 2, 3, 4, 0x80, 7, 7},
         1,
         true,
         "2 bytes after the end marker"},
        {"forward of -128 ends",
         header() + Raw{1, 2, 3, 4, 0x80, 2, 3, 4, 0x80},
         1,
         true,
         "4 bytes after the end marker"},
        {"0x80 elsewhere in a tic", header() + Raw{1, 0x80, 0x80, 0x80, 0x80}, 1, true, ""},
        {"0x80 of the second player", two + Raw{1, 2, 3, 4, 0x80, 6, 7, 8, 0x80}, 1, true, ""},
    };
    for (const Kept& row : table) {
        CAPTURE(row.what);
        const auto demo = parse_demo(view(row.bytes));
        REQUIRE(demo);
        CHECK(demo->tics() == row.tics);
        CHECK(demo->complete == row.complete);
        if (std::string_view(row.note).empty()) {
            CHECK(demo->note.empty());
        } else {
            CHECK_THAT(demo->note, Catch::Contains(row.note));
        }
    }
}

TEST_CASE("every prefix of a demo is refused or kept, never more than it holds",
          "[games][marine][demo][fault]") {
    const Raw whole =
        with(header(), 12, 1) + Raw{1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 2, 2, 2, 2, 0x80};
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        CAPTURE(size);
        const Raw part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto demo = parse_demo(view(part));
        CHECK(demo.has_value() == (size >= 13));
        if (demo) {
            CHECK(demo->tics() == (size - 13) / 8);
            CHECK(demo->complete == (size == whole.size()));
            CHECK(demo->complete == demo->note.empty());
        }
    }
}

TEST_CASE("any bytes are decoded or refused without harm", "[games][marine][demo][fault]") {
    const std::uint64_t seed = test_seed(20260101);
    CAPTURE(seed);
    for (std::uint64_t round = 0; round < 2000; ++round) {
        Random random(seed, Tick{round});
        Raw bytes = with(header(), 9, 1) + Raw(random.below(40), 0);
        for (std::uint32_t i = random.below(8); i > 0; --i) {
            const std::uint32_t place = random.below(static_cast<std::uint32_t>(bytes.size()));
            bytes[place] = static_cast<std::uint8_t>(random.below(256));
        }
        const auto demo = parse_demo(view(bytes));
        if (demo) {
            REQUIRE(demo->tics() * demo->players * 4 + 13 <= bytes.size());
            REQUIRE(Marine::check(setup_for(*demo)));
        } else {
            REQUIRE(demo.error().offset <= bytes.size());
        }
    }
}

TEST_CASE("a demo's set-up has a slot for each player and its header as config",
          "[games][marine][demo][unit]") {
    const Raw bytes =
        Raw{109, 4, 3, 7, 1, 1, 1, 1, 3, 0, 1, 0, 1} + Raw{1, 2, 3, 4, 5, 6, 7, 8, 0x80};
    const auto demo = parse_demo(view(bytes));
    REQUIRE(demo);
    const Setup setup = setup_for(*demo);
    CHECK(setup.slots == 2);
    CHECK(setup.config.at("skill") == "4");
    CHECK(setup.config.at("episode") == "3");
    CHECK(setup.config.at("map") == "7");
    CHECK(setup.config.at("deathmatch") == "1");
    CHECK(setup.config.at("respawn") == "1");
    CHECK(setup.config.at("fast") == "1");
    CHECK(setup.config.at("monsters") == "0");
    CHECK(setup.config.at("console_player") == "1");
    REQUIRE(Marine::check(setup));

    DemoSource source(*demo);
    TickFrame frame;
    REQUIRE(source.next(Tick{0}, frame).value() == Supply::ready);
    REQUIRE(frame.slot_count() == 2);
    Marine::Input input;
    REQUIRE(decode_input(frame.input(Slot{1}), input));
    CHECK(input.forward == 5);
    CHECK(input.turn == 7 * 256);
    CHECK(source.next(Tick{1}, frame).value() == Supply::end);
}

TEST_CASE("a demo file that is missing or no file is refused with its name",
          "[games][marine][demo][fault]") {
    const auto folder = std::filesystem::temp_directory_path();
    const auto missing = read_demo_file((folder / "twinstep no such.lmp").string());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == std::errc::no_such_file_or_directory);
    CHECK_THAT(to_string(missing.error()), Catch::Contains("twinstep no such.lmp"));
    const auto not_a_file = read_demo_file(folder.string());
    REQUIRE_FALSE(not_a_file);
    CHECK_THAT(to_string(not_a_file.error()), Catch::Contains("not a regular file"));
}
