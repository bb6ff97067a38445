// SPDX-License-Identifier: MIT
// What relaying costs: the product's host and matches next to a loop that only moves the bytes.
#pragma once

#include "report.hpp"

namespace bench {

/// CPU time for each client and tick, clients a core, memory a peer, allocations a datagram.
/// False: it could not be measured.
bool relay_rows(Report& report);
/// How late ticks close with 256 peers in 32 matches, in real time on real sockets.
bool lateness_row(Report& report);
/// Bytes and datagrams of two players, 50 ms apart from the server, on virtual time.
bool traffic_rows(Report& report);

/// What refusing a forged first message costs, next to libsodium's share of it.
bool forged_rows(Report& report);

} // namespace bench
