// SPDX-License-Identifier: MIT
// One datagram of every kind, in plain mode: for golden bytes, damage, fuzz seeds, other decoders.
#pragma once

#include "wire_check.hpp"

#include "twinstep/sim/bytes.hpp"

#include <string>
#include <vector>

struct WireSample {
    std::string name;
    bool up = false;
    twinstep::Bytes datagram;
};

/// All of them, always the same, in the default WireContext.
std::vector<WireSample> wire_samples();

/// "up 40..." or "down 40...", then "# name".
std::string to_line(const WireSample& sample);
