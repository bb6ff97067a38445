// SPDX-License-Identifier: MIT
// How long the thread that plays is held up by its recorder while the disk is slow.
#pragma once

#include "report.hpp"

#include <string>

namespace bench {

/// Adds rows: the recorder behind its journal, next to a write of each tick by the game itself,
/// alone and with a sync, all at the same moments; while another process writes and syncs without a
/// pause, and while every write of the file takes 20 ms. False if something could not be measured.
bool add_stall_rows(Report& report, const std::string& folder);

} // namespace bench
