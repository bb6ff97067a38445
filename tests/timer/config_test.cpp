// SPDX-License-Identifier: MIT
// Rationals as text, and seconds as counts.
#include <twinstep/timer/config.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <set>
#include <string>

using namespace twinstep::timer;

TEST_CASE("decimals and ratios are read without rounding", "[timer][unit]") {
    CHECK(parse_rational("60") == Rational{60, 1});
    CHECK(parse_rational("0.25") == Rational{1, 4});
    CHECK(parse_rational("0.1") == Rational{1, 10});
    CHECK(parse_rational("59.94") == Rational{2'997, 50});
    CHECK(parse_rational("60000/1001") == Rational{60'000, 1'001});
    CHECK(parse_rational("120/2") == Rational{60, 1});
    CHECK(parse_rational("0") == Rational{0, 1});
    CHECK(parse_rational("9223372036854775807") == Rational{INT64_MAX, 1});
}

TEST_CASE("text that is no plain number is refused", "[timer][unit]") {
    const char* const broken[] = {"",
                                  " 60",
                                  "60 ",
                                  "-1",
                                  "+1",
                                  "1e3",
                                  ".5",
                                  "5.",
                                  "1/",
                                  "/2",
                                  "1/2/3",
                                  "1.2.3",
                                  "0.5/2",
                                  "nan",
                                  "inf",
                                  "0x10",
                                  "1,5",
                                  "6/0",
                                  "0/0"};
    for (const char* const text : broken) {
        CAPTURE(text);
        const auto value = parse_rational(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().fault == ConfigFault::not_a_number);
    }
    const std::string digits(1'000, '9');
    for (const std::string& text : {std::string("9223372036854775808"),
                                    digits,
                                    "1/" + digits,
                                    "0." + digits,
                                    "0." + std::string(30, '0')}) {
        CAPTURE(text);
        const auto value = parse_rational(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().fault == ConfigFault::overflow);
    }
}

TEST_CASE("seconds become whole counts, rounded down", "[timer][unit]") {
    CHECK(counts_in({1, 4}, 10'000'000) == 2'500'000);
    CHECK(counts_in({1, 4}, 3'579'545) == 894'886);
    CHECK(counts_in({2, 3}, 10) == 6);
    CHECK(counts_in({0, 1}, 10) == 0);
    CHECK(counts_in({INT64_MAX, INT64_MAX}, INT64_MAX) == INT64_MAX);
    CHECK(counts_in({1, INT64_MAX}, INT64_MAX) == 1);
    CHECK(counts_in({INT64_MAX, 2}, 3).error().fault == ConfigFault::overflow);
    CHECK(counts_in({1, 1}, 0).error().fault == ConfigFault::frequency_not_positive);
}

TEST_CASE("every configuration fault has a text of its own", "[timer][unit]") {
    std::set<std::string> texts;
    for (int i = 0; i <= static_cast<int>(ConfigFault::not_a_number); ++i) {
        texts.insert(std::string(to_string(static_cast<ConfigFault>(i))));
    }
    CHECK(texts.size() == 8);
    CHECK(texts.count("unknown") == 0);
    const ConfigError error{ConfigFault::cap_below_one, "max_steps"};
    CHECK(error.reason() == to_string(ConfigFault::cap_below_one));
}
