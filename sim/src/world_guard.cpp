// SPDX-License-Identifier: MIT
// Catches whoever changes a state and is not its step.
#include "twinstep/sim/world_guard.hpp"

#include <string>

namespace twinstep {

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
    std::string field = "state";
    std::string detail = "by " + std::string(name);
    const auto before = hash_snapshot(before_);
    const auto after = hash_snapshot(after_);
    if (before && after && before->tick != after->tick) {
        field = "tick";
        detail += ", from " + std::to_string(before->tick.value) + " to " +
                  std::to_string(after->tick.value);
    } else if (before && after) {
        const auto found = difference(*before, *after);
        field = found && !found->section.empty() ? found->section : field;
    }
    return fail(Error(SimErrc::state_changed, std::move(field), std::move(detail)));
}

} // namespace twinstep
