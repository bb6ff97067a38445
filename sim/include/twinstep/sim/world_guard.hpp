// SPDX-License-Identifier: MIT
// Catches whoever changes a state and is not its step.
#pragma once

#include "twinstep/sim/bytes.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

namespace twinstep {

/// At which ticks a driver watches what it calls, unless somebody says otherwise: every 64th in
/// builds with TWINSTEP_VALIDATE, none in others.
std::uint32_t watch_ticks_default() noexcept;

/// Compares the state before and after calls that have no business in it: drawing, sound, network,
/// a plugin. Cost: two snapshots a call, and their memory.
/// Thread: the simulation's owner.
class WorldGuard {
public:
    /// The simulation is borrowed. When off, calls are made and nothing is compared.
    explicit WorldGuard(Simulation& simulation, bool on = watch_ticks_default() != 0)
        : simulation_(simulation)
        , on_(on) {}

    /// Calls `work()`. Errors: state_changed if the simulation has another state afterwards, with
    /// the first section that differs as field and `name` in the detail. The change stays.
    template <class Work>
    Result<void> call(std::string_view name, Work&& work) {
        if (!on_) {
            std::forward<Work>(work)();
            return {};
        }
        simulation_.save(before_);
        std::forward<Work>(work)();
        return compare(name);
    }

private:
    Result<void> compare(std::string_view name);

    Simulation& simulation_;
    bool on_;
    Bytes before_;
    Bytes after_;
};

} // namespace twinstep
