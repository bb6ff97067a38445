// SPDX-License-Identifier: MIT
// Text files that a user names: configurations, counter streams, text recordings.
#pragma once

#include "twinstep/sim/result.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// Opens a text file or a pipe for reading. Errors: io_error with the path and the reason, also
/// for a directory.
Result<std::ifstream> open_text_file(const std::string& path);

/// Reads a text file of at most `bytes_max` bytes. Errors: io_error, limit_exceeded.
Result<std::string> read_text_file(const std::string& path, std::uint64_t bytes_max);

/// A line, or a part of one, without the blanks around it; a carriage return is one.
std::string_view trimmed(std::string_view text);

} // namespace twinstep::tools
