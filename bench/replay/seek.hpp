// SPDX-License-Identifier: MIT
// How long it takes to go to a random tick of an hour of swarm.
#pragma once

#include "report.hpp"

namespace bench {

/// Records an hour of swarm with 10,000 units (a minute or two), adds keyframes every 10 s and goes
/// to 200 random ticks. False if a hash was not that of the straight run.
bool seek_rows(Report& report);

} // namespace bench
