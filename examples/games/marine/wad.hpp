// SPDX-License-Identifier: MIT
// Takes one lump out of a WAD archive without reading the rest of it.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace twinstep::games {

/// Limits of what is read from a WAD.
inline constexpr std::size_t wad_lump_bytes_max = 16 * 1024 * 1024;
inline constexpr std::size_t wad_lumps_max = 1024 * 1024;

/// Reads the lump `name` (compared without case, 1 to 8 ASCII characters) of an IWAD or PWAD; of
/// several with the name the last one counts, as in Doom. Memory: the lump and a small buffer.
/// Errors: std::errc for a file that cannot be opened or read; truncated, malformed or
/// limit_exceeded with the offset and the field; malformed too if there is no such
/// lump, naming the demo lumps there are.
/// Source: id Software, "The Unofficial Doom Specs" 1.666, chapter 2.
Result<Bytes> read_wad_lump(const std::string& path, std::string_view name);

/// Reads a whole file of at most `bytes_max` bytes. Errors: std::errc for a file that cannot be
/// opened or read; limit_exceeded.
Result<Bytes> read_small_file(const std::string& path, std::size_t bytes_max);

} // namespace twinstep::games
