// SPDX-License-Identifier: MIT
// One datagram of every kind, in plain mode: for golden bytes, damage, fuzz seeds, other decoders.
#pragma once

#include "wire_check.hpp"

#include "twinstep/sim/bytes.hpp"

#include <string>
#include <string_view>
#include <vector>

struct WireSample {
    std::string name;
    bool up = false;
    twinstep::Bytes datagram;
};

/// All of them, always the same, in the default WireContext.
std::vector<WireSample> wire_samples();

/// A capture's line: "up 40..." or "down 40...", the verdict if there is one, then "# name" if any.
std::string to_line(const WireSample& sample, std::string_view verdict = {});
