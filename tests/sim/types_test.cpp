// SPDX-License-Identifier: MIT
// Text forms, errors in one line, and the assertion handler.
#include "assertion_of.hpp"
#include "hex.hpp"

#include "twinstep/sim/types.hpp"

#include <catch2/catch.hpp>

using namespace twinstep;

TEST_CASE("hashes are shown most significant digit first", "[sim][unit]") {
    REQUIRE(to_hex(std::uint64_t{0x0123456789ABCDEF}) == "0123456789abcdef");
    REQUIRE(to_hex(Hash128{1, 0xFE}) == "00000000000000fe0000000000000001");
}

TEST_CASE("a tick rate is an exact rational", "[sim][unit]") {
    REQUIRE(to_string(TickRate(35)) == "35/1");
    REQUIRE(to_string(TickRate(60000, 1001)) == "60000/1001");
}

TEST_CASE("ticks count and compare", "[sim][unit]") {
    REQUIRE(Tick{3} + 4 == Tick{7});
    REQUIRE(Tick{3} < Tick{4});
}

TEST_CASE("an error is one line, and its empty parts are left out", "[sim][unit]") {
    REQUIRE(to_string(Error(SimErrc::truncated)) == "the bytes end too early");
    REQUIRE(to_string(Error(SimErrc::malformed, "field", "what to do").at(17).in("file.twin")) ==
            "file.twin: byte 17: field: the value is not valid: what to do");
    REQUIRE(to_string(Error(SimErrc::malformed).at(0)) == "byte 0: the value is not valid");
}

TEST_CASE("every error has a text of its own", "[sim][unit]") {
    std::vector<std::string> texts;
    for (int code = 1; code <= static_cast<int>(SimErrc::bad_float_environment); ++code) {
        const std::string text = make_error_code(static_cast<SimErrc>(code)).message();
        REQUIRE(text != "unknown error");
        REQUIRE(std::find(texts.begin(), texts.end(), text) == texts.end());
        texts.push_back(text);
    }
    REQUIRE(sim_category().message(0) == "unknown error");
    REQUIRE(std::string_view(sim_category().name()) == "twinstep.sim");
}

TEST_CASE("a failed assertion calls the handler and then aborts", "[sim][unit]") {
    REQUIRE(assertion_of([] { TWINSTEP_ASSERT(1 + 1 == 3); }) == "1 + 1 == 3");
    REQUIRE(assertion_of([] { TWINSTEP_ASSERT(1 + 1 == 2); }) == "no assertion");
}

TEST_CASE("setting a handler yields the one before, and none means the default", "[sim][unit]") {
    const AssertionHandler mine = [](const AssertionFailure&) {};
    const AssertionHandler first = set_assertion_handler(mine);
    REQUIRE(first != nullptr);
    REQUIRE(set_assertion_handler(nullptr) == mine);
    REQUIRE(set_assertion_handler(first) == first);
}
