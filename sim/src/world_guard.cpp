// SPDX-License-Identifier: MIT
// Catches whoever changes a state and is not its step.
#include "twinstep/sim/world_guard.hpp"

#include <algorithm>
#include <string>

namespace twinstep {

namespace {

/// The first section that differs between two snapshots of one simulation.
std::string first_section(const StateHashes& before, const StateHashes& after) {
    const std::size_t both = std::min(before.sections.size(), after.sections.size());
    for (std::size_t i = 0; i < both; ++i) {
        if (before.sections[i].hash != after.sections[i].hash) {
            return before.sections[i].name;
        }
    }
    return "state";
}

} // namespace

std::uint32_t watch_ticks_default() noexcept {
#if defined(TWINSTEP_VALIDATE_ENABLED) && TWINSTEP_VALIDATE_ENABLED
    return 64;
#else
    return 0;
#endif
}

Result<void> WorldGuard::compare(std::string_view name) {
    simulation_.save(after_);
    if (after_ == before_) {
        return {};
    }
    std::string section = "state";
    std::string detail = "by " + std::string(name);
    const auto before = hash_snapshot(before_);
    const auto after = hash_snapshot(after_);
    if (before && after && before->tick != after->tick) {
        section = "tick";
        detail += ", from " + std::to_string(before->tick.value) + " to " +
                  std::to_string(after->tick.value);
    } else if (before && after) {
        section = first_section(*before, *after);
    }
    return fail(Error(SimErrc::state_changed, std::move(section), std::move(detail)));
}

} // namespace twinstep
