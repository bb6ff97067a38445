// SPDX-License-Identifier: MIT
// A game's own settings as a file of text.
#pragma once

#include "twinstep/sim/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// Lines of "key = value"; blank lines and lines that begin with # are skipped. Errors: bad_setup
/// with the line.
Result<std::map<std::string, std::string>> parse_config(std::string_view text);

/// The same of a file. Errors: also those of read_text_file.
Result<std::map<std::string, std::string>> read_config_file(const std::string& path);

} // namespace twinstep::tools
