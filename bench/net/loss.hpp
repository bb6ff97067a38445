// SPDX-License-Identifier: MIT
// The transports that are compared over the same bad link, one function each.
#pragma once

#include "net/impairment.hpp"
#include "net/lateness.hpp"

#include <cstdint>

namespace bench {

/// The product's client and match: every unacknowledged input in every datagram.
LossResult measure_twinstep(const Link& link, std::uint64_t seed);
/// A reliable channel of ENet, through a relay between two sockets.
LossResult measure_enet(const Link& link, std::uint64_t seed);
/// The kernel's TCP without delay, through two TUN devices in network namespaces of their own.
/// Needs root and /dev/net/tun.
LossResult measure_tcp(const Link& link, std::uint64_t seed);

} // namespace bench
