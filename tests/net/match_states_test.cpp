// SPDX-License-Identifier: MIT
// The page of states and the code say the same.
#include "player_table.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <fstream>
#include <set>
#include <string>
#include <utility>

using namespace twinstep::net;

namespace {

/// "| a | b |" rows of the section with this title.
std::set<std::pair<std::string, std::string>> listed(const std::string& title) {
    std::ifstream page(TWINSTEP_DOCS "/lockstep-states.md");
    std::set<std::pair<std::string, std::string>> rows;
    std::string line;
    bool inside = false;
    while (std::getline(page, line)) {
        if (line.starts_with("#")) {
            inside = line == "## " + title;
        }
        if (!inside || !line.starts_with("| ")) {
            continue;
        }
        const auto first = line.find(" |", 2);
        const auto second = line.find(" |", first + 2);
        const std::string from = line.substr(2, first - 2);
        if (from != "From") {
            rows.emplace(from, line.substr(first + 3, second - first - 3));
        }
    }
    return rows;
}

} // namespace

TEST_CASE("the page lists exactly the transitions of a player that the code allows",
          "[net][match][states]") {
    using enum PlayerState;
    std::set<std::pair<std::string, std::string>> allowed;
    for (const PlayerState from : std::array{empty, joining, live, lagging, absent}) {
        for (const PlayerState to : std::array{empty, joining, live, lagging, absent}) {
            if (may_follow(from, to)) {
                allowed.emplace(to_string(from), to_string(to));
            }
        }
    }
    CHECK(allowed.size() == 12);
    CHECK(listed("Player") == allowed);
}
