// SPDX-License-Identifier: MIT
// When each tick's input was given and when it was there in order: how many were late.
#pragma once

#include "twinstep/net/types.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Inputs at 60 Hz for so long.
inline constexpr std::uint64_t loss_rate_hz = 60;
inline constexpr std::uint64_t loss_seconds = 45;
inline constexpr std::uint64_t loss_ticks = loss_rate_hz * loss_seconds;
/// What has not come so long after the last input was given is late, however long it would take.
inline constexpr twinstep::net::Micros loss_patience = twinstep::net::seconds(5);

/// What became of a row.
struct Lateness {
    double late_50_percent = 0; ///< Available in order more than 50 ms after the fastest one.
    double p99_ms = 0;          ///< Of the time from giving to being there.
    double max_ms = 0;
    std::uint64_t ticks = 0;
};

/// A row: the numbers, or why there are none.
struct LossResult {
    std::optional<Lateness> lateness;
    std::string why_not;
};

/// Notes times; evaluates them at the end.
class LatenessLog {
public:
    /// Every tick below `count` has been given by `now`.
    void given(std::uint64_t count, twinstep::net::Micros now) {
        given_.resize(std::max<std::size_t>(given_.size(), count), now);
    }

    /// Every tick below `count` is there.
    void available(std::uint64_t count, twinstep::net::Micros now) {
        available_.resize(std::max<std::size_t>(available_.size(), count), now);
    }

    std::uint64_t given_count() const { return given_.size(); }

    std::uint64_t available_count() const { return available_.size(); }

    /// Ticks before `skip` are not counted. Those that never came are late without end.
    Lateness evaluate(std::uint64_t skip = 0) const {
        std::vector<double> took;
        for (std::size_t i = skip; i < given_.size(); ++i) {
            took.push_back(i < available_.size()
                               ? static_cast<double>((available_[i] - given_[i]).value) / 1000.0
                               : 1e9);
        }
        Lateness result;
        if (took.empty()) {
            return result;
        }
        std::sort(took.begin(), took.end());
        const double bound = took.front() + 50.0;
        const auto late = took.end() - std::upper_bound(took.begin(), took.end(), bound);
        result.ticks = took.size();
        result.late_50_percent =
            100.0 * static_cast<double>(late) / static_cast<double>(took.size());
        result.p99_ms = took[took.size() * 99 / 100];
        result.max_ms = took.back();
        return result;
    }

private:
    std::vector<twinstep::net::Micros> given_;
    std::vector<twinstep::net::Micros> available_;
};

} // namespace bench
