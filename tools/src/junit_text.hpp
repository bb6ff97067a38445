// SPDX-License-Identifier: MIT
// The JUnit report of verify, as text and back.
#pragma once

#include "verification.hpp"

#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools {

/// One file.
struct JunitCase {
    std::string name;
    std::string verdict; ///< Empty: it passed.
    std::string message; ///< The verdict for people.
    std::string text;    ///< Lines that say why.
};

struct JunitReport {
    Shard shard;
    int exit = 0;
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    std::vector<JunitCase> cases;
};

/// XML 1.0, whatever the names are.
std::string junit_text(const JunitReport& report);

/// Reads what junit_text wrote, and nothing else that is XML. Errors: bad_text with the offset.
Result<JunitReport> parse_junit(std::string_view text);

} // namespace twinstep::tools
