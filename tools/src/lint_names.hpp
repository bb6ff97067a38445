// SPDX-License-Identifier: MIT
// Symbols as people and rules know them.
#pragma once

#include <string>
#include <string_view>

namespace twinstep::tools::lint {

/// Longest name that a report shows; what follows is "...".
inline constexpr std::size_t shown_name_bytes_max = 400;

/// A C++ name of the Itanium ABI as a path: "twinstep::Game::step". Parameters, template arguments
/// and inline namespaces of standard libraries are left out, which needs neither recursion nor more
/// bytes than the name has. Any other name, and one that this does not understand, is returned as
/// it is.
std::string readable_name(std::string_view symbol);

/// The name in C's source: without version (sin@GLIBC_2.29), thunk (__imp_rand), and with `coff32`
/// without what 32-bit Windows adds (_rand, _Sleep@4).
std::string_view plain_name(std::string_view symbol, bool coff32);

} // namespace twinstep::tools::lint
