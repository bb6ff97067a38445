// SPDX-License-Identifier: MIT
// The checks that every simulation shares.
#include "twinstep/sim/game.hpp"

namespace twinstep::detail {

Result<void> check_setup(const SimulationInfo& info, const Setup& setup) {
    if (setup.slots < info.slots_min || setup.slots > info.slots_max) {
        return fail(Error(SimErrc::wrong_slots,
                          "slots",
                          std::to_string(setup.slots) + " given, " + info.id + " takes " +
                              std::to_string(info.slots_min) + " to " +
                              std::to_string(info.slots_max)));
    }
    if (setup.config.size() > config_entries_max) {
        return fail(Error(SimErrc::bad_setup, "config", "too many entries"));
    }
    std::size_t config_bytes = 0;
    for (const auto& [key, value] : setup.config) {
        config_bytes += key.size() + value.size();
        if (key.empty() || key.size() > config_text_bytes_max ||
            value.size() > config_text_bytes_max) {
            return fail(Error(SimErrc::bad_setup, "config." + key.substr(0, 64), "bad length"));
        }
    }
    if (config_bytes > config_bytes_max) {
        return fail(Error(SimErrc::bad_setup, "config", "too many bytes"));
    }
    return {};
}

Result<void> check_frame(const TickFrame& frame, Tick tick, std::uint16_t slots) {
    if (tick.value >= tick_max) {
        return fail(Error(SimErrc::limit_exceeded, "tick", "there is no state after this one"));
    }
    if (frame.tick() != tick) {
        return fail(Error(SimErrc::wrong_tick,
                          "tick",
                          std::to_string(frame.tick().value) + " given, " +
                              std::to_string(tick.value) + " is next"));
    }
    if (frame.slot_count() != slots) {
        return fail(Error(SimErrc::wrong_slots,
                          "slots",
                          "a frame of " + std::to_string(frame.slot_count()) + " in a session of " +
                              std::to_string(slots)));
    }
    return {};
}

Error input_error(Error error, std::size_t slot) {
    error.field = "slot " + std::to_string(slot) + " input " + error.field;
    return error;
}

Result<void> check_snapshot_seed(std::uint64_t found, std::uint64_t seed) {
    if (found != seed) {
        return fail(Error(SimErrc::bad_setup,
                          "random.draws.seed",
                          "the snapshot is of seed " + std::to_string(found) +
                              ", this session has " + std::to_string(seed)));
    }
    return {};
}

Error thrown(SimErrc code, const char* field, const char* what) {
    return Error(code, field, what);
}

} // namespace twinstep::detail
