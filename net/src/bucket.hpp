// SPDX-License-Identifier: MIT
// Token buckets in integers: a rate with a burst, one number for each bucket, and a bounded table
// of them for the senders nobody knows.
#pragma once

#include "twinstep/net/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace twinstep::net {

/// What a bucket lets through. Shared by all buckets of one kind.
struct BucketRate {
    std::int64_t cost_ns = 0;  ///< Of one unit.
    std::int64_t burst_ns = 0; ///< Cost of all the units that may come at once.

    static constexpr BucketRate per_second(std::uint64_t units, std::uint64_t burst) {
        const std::int64_t cost = 1'000'000'000 / static_cast<std::int64_t>(units);
        return {cost, cost * static_cast<std::int64_t>(burst)};
    }
};

/// One bucket. It keeps the time at which it will be full again, so that refilling is no work.
/// Source: the generic cell rate algorithm, ITU-T I.371.
class Bucket {
public:
    /// Takes `units`, or nothing at all if they are not there.
    bool take(const BucketRate& rate, Micros now, std::int64_t units = 1) {
        const std::int64_t after = level(now) + rate.cost_ns * units;
        if (after - now.value * 1000 > rate.burst_ns) {
            return false;
        }
        full_at_ns_ = after;
        return true;
    }

    /// Whether take() would succeed.
    bool has(const BucketRate& rate, Micros now, std::int64_t units = 1) const {
        return level(now) + rate.cost_ns * units - now.value * 1000 <= rate.burst_ns;
    }

private:
    std::int64_t level(Micros now) const { return std::max(full_at_ns_, now.value * 1000); }

    std::int64_t full_at_ns_ = 0;
};

/// Who is counted together: an IPv4 address, or the /64 of an IPv6 address.
inline std::uint64_t prefix_of(const Address& address) {
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        high = high << 8U | address.ip[i];
    }
    std::uint64_t low = 0;
    for (std::size_t i = 8; i < 16; ++i) {
        low = low << 8U | address.ip[i];
    }
    // Mapped IPv4 has a high half of zeros; ::/64 itself is nobody's.
    return high == 0 ? low : high;
}

/// Buckets for prefixes, in memory that never grows. Who falls on another one's place gets a fresh
/// bucket: a flood from many prefixes never locks an honest sender out, and one from a single
/// prefix stays limited. The places depend on a secret, so that nobody picks his neighbours.
class PrefixBuckets {
public:
    explicit PrefixBuckets(std::uint64_t secret)
        : secret_(secret)
        , places_(std::make_unique<Places>()) {}

    bool take(const BucketRate& rate, Micros now, std::uint64_t prefix) {
        Place& place = (*places_)[index_of(prefix)];
        if (place.prefix != prefix) {
            place = {prefix, {}};
        }
        return place.budget.take(rate, now);
    }

    static constexpr std::size_t memory_bytes() { return sizeof(Places); }

private:
    struct Place {
        std::uint64_t prefix = 0;
        Bucket budget;
    };

    static constexpr std::size_t places_max = 4096;
    using Places = std::array<Place, places_max>;

    /// Two rounds of multiply and fold; nothing of it is ever visible from outside.
    std::size_t index_of(std::uint64_t prefix) const {
        std::uint64_t x = (prefix ^ secret_) * 0x9E37'79B9'7F4A'7C15;
        x = (x ^ x >> 32U ^ secret_) * 0xBF58'476D'1CE4'E5B9;
        return static_cast<std::size_t>(x >> 52U);
    }

    std::uint64_t secret_;
    std::unique_ptr<Places> places_;
};

} // namespace twinstep::net
