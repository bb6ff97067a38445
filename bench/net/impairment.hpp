// SPDX-License-Identifier: MIT
// A bad link: seeded delay, jitter and loss for one flow in one direction.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"

#include <cstdint>
#include <deque>
#include <random>

namespace bench {

/// How bad. Delay is uniform between the bounds, and packets are never reordered. A packet that
/// comes after two lost ones is 33 ms late plus the jitter: with more than 16 ms of it no transport
/// that sends once a tick keeps every tick within 50 ms.
struct Link {
    twinstep::net::Micros delay_min = twinstep::net::milliseconds(40);
    twinstep::net::Micros delay_max = twinstep::net::milliseconds(60);
    double loss = 0.05;
    double burst_mean = 1.0; ///< Packets; 1: each packet is lost or not by itself.
};

/// One flow in one direction. The state of a burst belongs to it alone: shared between flows, a
/// burst of four would hit each of four flows once, which every transport survives.
class Impairment {
public:
    Impairment(const Link& link, std::uint64_t seed)
        : link_(link)
        , random_(seed) {}

    void offer(twinstep::net::Micros now, twinstep::ByteView packet) {
        if (lost()) {
            return;
        }
        const std::int64_t span = link_.delay_max.value - link_.delay_min.value + 1;
        const auto jitter = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(span));
        const twinstep::net::Micros due = now + link_.delay_min + twinstep::net::Micros{jitter};
        last_due_ = std::max(last_due_, due);
        queue_.push_back({last_due_, {packet.begin(), packet.end()}});
    }

    /// Hands over what has arrived by now.
    template <class Deliver>
    void deliver(twinstep::net::Micros now, Deliver&& deliver) {
        while (!queue_.empty() && queue_.front().due <= now) {
            deliver(twinstep::ByteView(queue_.front().bytes));
            queue_.pop_front();
        }
    }

    twinstep::net::Micros next() const {
        return queue_.empty() ? twinstep::net::never : queue_.front().due;
    }

private:
    struct Packet {
        twinstep::net::Micros due;
        twinstep::Bytes bytes;
    };

    /// Gilbert's model: in the bad state everything is lost; its mean length is burst_mean.
    bool lost() {
        const double chance = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
        if (link_.burst_mean <= 1.0) {
            return chance < link_.loss;
        }
        const double leave = 1.0 / link_.burst_mean;
        const double enter = leave * link_.loss / (1.0 - link_.loss);
        bad_ = bad_ ? chance >= leave : chance < enter;
        return bad_;
    }

    Link link_;
    std::mt19937_64 random_;
    std::deque<Packet> queue_;
    twinstep::net::Micros last_due_;
    bool bad_ = false;
};

} // namespace bench
