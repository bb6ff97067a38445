// SPDX-License-Identifier: MIT
// Every metric of the server, by name.
#pragma once

#include "serve_matches.hpp"
#include "serve_workers.hpp"

#include "twinstep/net/host.hpp"
#include "twinstep/net/udp_port.hpp"

#include <cstdint>
#include <string>

namespace twinstep::tools {

/// Where the numbers come from.
struct MetricsSources {
    const Matches& matches;
    const Workers& workers;
    const net::Host& host;
    const net::UdpStatus& udp;
    std::uint64_t recording_bytes = 0;
    std::string game; ///< "none": a relay.
    double drain_seconds_left = 0.0;
};

/// The body of /metrics. Thread: the network's.
std::string metrics_text(const MetricsSources& from);

} // namespace twinstep::tools
