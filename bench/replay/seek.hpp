// SPDX-License-Identifier: MIT
// How long it takes to go to a random tick of an hour of swarm.
#pragma once

#include "report.hpp"

#include <cstdint>

namespace bench {

/// Records swarm with 10,000 units for so many ticks, usually an hour (a minute or two), adds
/// keyframes every 10 s and goes to 200 random ticks. False if a hash was not that of the straight
/// run.
bool seek_rows(Report& report, std::uint64_t ticks);

} // namespace bench
