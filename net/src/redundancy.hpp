// SPDX-License-Identifier: MIT
// Sending each tick twice where packets are lost: who says so, when it is said, and until when it
// counts.
#pragma once

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"

#include <cstdint>

namespace twinstep::net {

/// The sender's half. Nothing but reports turns it on, so a report can double what goes to whoever
/// reports, and do nothing else.
class Redundancy {
public:
    /// Reported losses from which on it is worth it: 1.6 % of the window.
    static constexpr std::uint8_t lost_least = 2;
    /// On a path that loses 5 % a window has fewer losses once in a hundred times: ten seconds
    /// without two of them are a path that has become better.
    static constexpr Micros kept = seconds(10);

    void on_report(Micros now, std::uint8_t lost) {
        if (lost >= lost_least) {
            until_ = now + kept;
        }
    }

    bool is_on(Micros now) const { return now < until_; }

private:
    Micros until_{INT64_MIN};
};

/// The receiver's half: what to say, if it is time to say something.
class LossReport {
public:
    /// Appends a LOSS frame in front of the packet's others: four times a second while something is
    /// missing, so that the first one comes soon and a lost one does not matter.
    void compose(Micros now, const Opener& opener, Bytes& plaintext) {
        if (now < next_look_) {
            return;
        }
        next_look_ = now + interval;
        if (const std::uint8_t lost = opener.lost(); lost > 0) {
            wire::encode_loss(lost, plaintext);
        }
    }

private:
    static constexpr Micros interval = milliseconds(250);
    Micros next_look_{INT64_MIN};
};

/// A LOSS frame and its length.
inline constexpr std::size_t loss_frame_bytes = 3;

} // namespace twinstep::net
