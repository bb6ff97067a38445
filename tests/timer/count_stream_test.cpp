// SPDX-License-Identifier: MIT
// Count streams: what is read, what is refused and where, what a row says.
#include "seeded.hpp"
#include "usual.hpp"

#include <twinstep/timer/count_stream.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace twinstep::timer;
using namespace timer_test;

namespace {

std::vector<FrameRow> play(const std::string& text, const FixedStepConfig& config = usual()) {
    const auto tokens = parse_count_stream(text);
    REQUIRE(tokens);
    const auto rows = play_count_stream(*tokens, config);
    REQUIRE(rows);
    return *rows;
}

} // namespace

TEST_CASE("a stream is read token by token", "[timer][unit]") {
    const auto tokens = parse_count_stream("166667\n-50\n+5000\nS\nG\nR\nB\n0\n-0\n+0");
    REQUIRE(tokens);
    CHECK(*tokens == std::vector<CountToken>{{CountOp::tick, 166'667},
                                             {CountOp::tick, -50},
                                             {CountOp::advance, 5'000},
                                             {CountOp::stop, 0},
                                             {CountOp::start, 0},
                                             {CountOp::reset, 0},
                                             {CountOp::rebase, 0},
                                             {CountOp::tick, 0},
                                             {CountOp::tick, 0},
                                             {CountOp::advance, 0}});
}

TEST_CASE("a hostile stream is refused with its line and token", "[timer][fault]") {
    struct Case {
        std::string text;
        StreamFault fault;
        std::size_t line;
        std::size_t byte_offset;
        std::string token;
    };

    const std::string top = std::to_string(counts_max);
    const std::vector<Case> cases{
        {"", StreamFault::empty_stream, 1, 0, ""},
        {"\n", StreamFault::empty_line, 1, 0, ""},
        {"5\n\n5\n", StreamFault::empty_line, 2, 2, ""},
        {"5\n5\n\n", StreamFault::empty_line, 3, 4, ""},
        {"5\r\n6\r\n", StreamFault::carriage_return, 1, 0, "5?"},
        {"S\n5\r", StreamFault::carriage_return, 2, 2, "5?"},
        {"5\nX\n", StreamFault::unknown_token, 2, 2, "X"},
        {"s\n", StreamFault::unknown_token, 1, 0, "s"},
        {"SG\n", StreamFault::unknown_token, 1, 0, "SG"},
        {" 5\n", StreamFault::unknown_token, 1, 0, " 5"},
        {"5 \n", StreamFault::unknown_token, 1, 0, "5 "},
        {"5 6\n", StreamFault::unknown_token, 1, 0, "5 6"},
        {"+\n", StreamFault::unknown_token, 1, 0, "+"},
        {"-\n", StreamFault::unknown_token, 1, 0, "-"},
        {"+-5\n", StreamFault::unknown_token, 1, 0, "+-5"},
        {"++5\n", StreamFault::unknown_token, 1, 0, "++5"},
        {"--5\n", StreamFault::unknown_token, 1, 0, "--5"},
        {"0x10\n", StreamFault::unknown_token, 1, 0, "0x10"},
        {"1e3\n", StreamFault::unknown_token, 1, 0, "1e3"},
        {"1.5\n", StreamFault::unknown_token, 1, 0, "1.5"},
        {std::string("5\0\n", 3), StreamFault::unknown_token, 1, 0, "5?"},
        {"\xef\xbb\xbf"
         "5\n",
         StreamFault::unknown_token,
         1,
         0,
         "???5"},
        {"9223372036854775808\n", StreamFault::number_too_large, 1, 0, "9223372036854775808"},
        {"-9223372036854775809\n", StreamFault::number_too_large, 1, 0, "-9223372036854775809"},
        {std::string(1'000, '9'), StreamFault::number_too_large, 1, 0, std::string(40, '9')},
        {"9223372036854775807\n", StreamFault::counter_overflow, 1, 0, "9223372036854775807"},
        {"-9223372036854775808\n", StreamFault::counter_overflow, 1, 0, "-9223372036854775808"},
        {top + "\n1\n", StreamFault::counter_overflow, 2, top.size() + 1, "1"},
        {"+" + top + "\n+1\n", StreamFault::counter_overflow, 2, top.size() + 2, "+1"},
        {"-" + top + "\n-1\n", StreamFault::counter_overflow, 2, top.size() + 2, "-1"},
    };
    for (const Case& one : cases) {
        CAPTURE(one.text.substr(0, 60));
        const auto tokens = parse_count_stream(one.text);
        REQUIRE_FALSE(tokens);
        CHECK(tokens.error().fault == one.fault);
        CHECK(tokens.error().line == one.line);
        CHECK(tokens.error().byte_offset == one.byte_offset);
        CHECK(tokens.error().token == one.token);
    }
}

TEST_CASE("the widest streams that are accepted also play", "[timer][unit]") {
    const std::string top = std::to_string(counts_max);
    const auto rows = play("-" + top + "\nR\n" + std::to_string(2 * counts_max) + "\n-5\n");
    REQUIRE(rows.size() == 3);
    CHECK(rows[1].raw_counts == 2 * counts_max);
    CHECK(rows[1].steps == 8);
    CHECK(rows[1].dropped_counts == 2 * counts_max - 2'500'000);
    CHECK(rows[2].regressions == 1);
}

TEST_CASE("a stream of more tokens than the limit is refused", "[timer][fault]") {
    std::string text;
    text.reserve(2 * (count_tokens_max + 1));
    for (std::size_t i = 0; i < count_tokens_max; ++i) {
        text += "0\n";
    }
    REQUIRE(parse_count_stream(text));
    text += "7\n";
    const auto tokens = parse_count_stream(text);
    REQUIRE_FALSE(tokens);
    CHECK(tokens.error().fault == StreamFault::too_many_tokens);
    CHECK(tokens.error().line == count_tokens_max + 1);
    CHECK(tokens.error().token == "7");
}

TEST_CASE("random bytes are refused or read, and what is read plays", "[timer][property]") {
    const std::uint64_t seed = timer_test::test_seed("timer count stream bytes");
    CAPTURE(seed);
    timer_test::Random random(seed);
    const std::string alphabet = "0123456789+-SGRB\n\n\n\n\r x\xff";
    const auto step = FixedStep::create(usual());
    REQUIRE(step);
    int read = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        const std::int64_t length = 1 + random.below(24);
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t kinds =
                static_cast<std::int64_t>(random.below(3) == 0 ? alphabet.size() : std::size_t{20});
            text += alphabet[static_cast<std::size_t>(random.below(kinds))];
        }
        const auto tokens = parse_count_stream(text);
        if (!tokens) {
            REQUIRE(tokens.error().byte_offset <= text.size());
            REQUIRE(tokens.error().line >= 1);
            continue;
        }
        ++read;
        CountPlayer player(*step);
        for (const CountToken& token : *tokens) {
            static_cast<void>(player.play(token));
        }
        REQUIRE(is_balanced(player.step().ledger(), player.step().terms()));
    }
    CHECK(read > 100);
}

TEST_CASE("only ticks make rows, and a row tells about its frame", "[timer][unit]") {
    const auto rows = play("166667\n+333333\n333334\n27000000\n-50\n60\nB\n0\n");
    REQUIRE(rows.size() == 6);
    CHECK(rows[1].raw_counts == 666'667);
    CHECK(rows[1].steps == 4);
    CHECK(rows[2].raw_counts == 27'000'000);
    CHECK(rows[2].delta_counts == 2'500'000);
    CHECK(rows[2].delta_seconds == 0.25);
    CHECK(rows[2].total_counts == t60 + 666'667 + 27'000'000);
    CHECK(rows[2].steps == 8);
    CHECK(rows[2].dropped_counts == 24'500'000);
    CHECK(rows[2].dropped_steps == 7);
    CHECK(rows[3].dropped_counts == 0);
    CHECK(rows[3].dropped_steps == 0);
    CHECK(rows[3].regressions == 1);
    CHECK(rows[4].regressions == 0);
    CHECK(rows[4].regressions_total == 1);
    CHECK(rows[4].raw_counts == 10);
    CHECK(rows[5].raw_counts == 0);
    CHECK(rows[5].total_seconds == static_cast<double>(rows[5].total_counts) / 1e7);
}

TEST_CASE("a paused stream runs no steps and resumes with one frame", "[timer][unit]") {
    const auto rows = play("166667\nS\n600000000\n166667\nG\n166667\n");
    REQUIRE(rows.size() == 4);
    CHECK(rows[1].steps == 0);
    CHECK(rows[1].raw_counts == 0);
    CHECK(rows[1].alpha == rows[0].alpha);
    CHECK(rows[2].total_counts == t60);
    CHECK(rows[3].raw_counts == t60);
    CHECK(rows[3].steps == 1);
    CHECK(rows[3].total_counts == 2 * t60);
}

TEST_CASE("owed steps wait while the stream is paused", "[timer][unit]") {
    auto config = usual();
    config.overload = Overload::lockstep_owes_steps;
    const auto rows = play("2500000\nS\n5\nG\n0\n", config);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].owed_steps == 7);
    CHECK(rows[1].steps == 0);
    CHECK(rows[1].owed_steps == 7);
    CHECK(rows[2].steps == 7);
    CHECK(rows[2].owed_steps == 0);
}

TEST_CASE("reset starts both the time line and the accumulator anew", "[timer][unit]") {
    const auto rows = play("250000\n-5\nR\n83334\nB\n+83333\nB\n83334\n");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].alpha == Approx(0.5));
    CHECK(rows[2].steps == 0);
    CHECK(rows[2].total_counts == 83'334);
    CHECK(rows[2].regressions_total == 0);
    CHECK(rows[3].raw_counts == 83'334);
    CHECK(rows[3].steps == 1);
    CHECK(rows[3].total_counts == 83'334 + 83'333 + 83'334);
}

TEST_CASE("a stream plays the same one token at a time", "[timer][unit]") {
    const auto tokens = parse_count_stream("166667\nS\n+9\nG\n166667\nB\n5\n");
    REQUIRE(tokens);
    const auto rows = play_count_stream(*tokens, usual());
    REQUIRE(rows);
    const auto step = FixedStep::create(usual());
    REQUIRE(step);
    CountPlayer player(*step);
    std::size_t at = 0;
    for (const CountToken& token : *tokens) {
        if (const auto row = player.play(token)) {
            REQUIRE(at < rows->size());
            CHECK(row->total_counts == (*rows)[at].total_counts);
            CHECK(row->alpha == (*rows)[at].alpha);
            ++at;
        }
    }
    CHECK(at == rows->size());
}

TEST_CASE("a configuration that cannot work is refused before a token is played", "[timer][unit]") {
    auto config = usual();
    config.max_steps = 0;
    const auto rows = play_count_stream({{CountOp::tick, 1}}, config);
    REQUIRE_FALSE(rows);
    CHECK(rows.error().fault == ConfigFault::cap_below_one);
}

TEST_CASE("every stream fault has a text of its own", "[timer][unit]") {
    std::set<std::string> texts;
    for (int i = 0; i <= static_cast<int>(StreamFault::too_many_tokens); ++i) {
        texts.insert(std::string(to_string(static_cast<StreamFault>(i))));
    }
    CHECK(texts.size() == 7);
    CHECK(texts.count("unknown") == 0);
}
