// SPDX-License-Identifier: MIT
// One file given to `lint`: what is in it, what was looked at, what was found.
#pragma once

#include "lint_findings.hpp"

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools::lint {

/// An object of an archive, or the whole file.
struct Part {
    std::string member;  ///< Empty for the file itself.
    std::string target;  ///< As CodeImage::target.
    bool linked = false; ///< Offsets of findings are addresses.
    std::uint64_t functions = 0;
    std::uint64_t code_bytes = 0;
    Decoding decoding;
    std::vector<Finding> findings;
    std::uint64_t dropped = 0; ///< Findings beyond FindingList::findings_max.
    std::uint64_t allowed = 0; ///< Places that the AllowList let pass.
};

/// A member that has code, and was not looked at.
struct Unchecked {
    std::string member;
    std::string_view reason;
};

struct FileReport {
    std::vector<Part> parts; ///< Those with code.
    std::vector<Unchecked> unchecked;
    std::uint64_t without_code = 0; ///< Members that have none.
};

/// Looks at a whole file. Errors: malformed, truncated, limit_exceeded; of an archive's member with
/// its name as the place.
Result<FileReport> lint_bytes(ByteView file, AllowList& allowed);

} // namespace twinstep::tools::lint
