// SPDX-License-Identifier: MIT
// Inputs given at their times to a transport that is none of ours.
#pragma once

#include "net/lateness.hpp"
#include "net/socket.hpp"

#include <cstdint>

namespace bench {

/// Gives each input when it is due, until all are there or patience is over. `give(input)` hands
/// one to the transport; `turn(until)` moves what is due and sleeps until then at most.
template <class Give, class Turn>
void play_paced(LatenessLog& log, Give&& give, Turn&& turn) {
    using twinstep::net::Micros;
    const Micros start = now();
    const Micros end = start + twinstep::net::seconds(loss_seconds) + loss_patience;
    while (log.available_count() < loss_ticks && now() < end) {
        const std::uint64_t next = log.given_count();
        const Micros due =
            start + Micros{static_cast<std::int64_t>(next * 1'000'000 / loss_rate_hz)};
        const bool more = next < loss_ticks;
        if (more && now() >= due) {
            log.given(next + 1, now());
            give(static_cast<std::uint32_t>(next));
        }
        turn(more ? due : now() + twinstep::net::milliseconds(5));
    }
}

} // namespace bench
