// SPDX-License-Identifier: MIT
// What a match can be given, and what it says about the rest.
#include "match_impl.hpp"

#include "twinstep/sim/manifest.hpp"

#include <algorithm>
#include <string>

namespace twinstep::net {

namespace {

Error bad(std::string key, std::string value, std::string allowed) {
    return Error(NetErrc::bad_setting, std::move(key), value + ": allowed is " + allowed);
}

struct Range {
    const char* key;
    std::int64_t value;
    std::int64_t least;
    std::int64_t greatest;
};

Result<void> check_ranges(const MatchSettings& s) {
    constexpr std::int64_t day = seconds(86'400).value;
    const Range ranges[] = {
        {"slots", s.slots, 1, 64},
        {"start_players", s.start_players, 1, s.slots},
        {"spectators_max", s.spectators_max, 0, 1024},
        {"input_bytes_max", s.input_bytes_max, 1, 256},
        {"grace", s.grace.value, 0, seconds(1).value},
        {"stall_max", s.stall_max.value, 0, seconds(60).value},
        {"absent_after", s.absent_after.value, milliseconds(100).value, seconds(60).value},
        {"rejoin_window", s.rejoin_window.value, 0, day},
        {"ring", s.ring.value, seconds(1).value, seconds(3600).value},
        {"spectator_delay", s.spectator_delay.value, 0, s.ring.value / 2},
        {"delay_ticks_min", s.delay_ticks_min, 1, s.delay_ticks_max},
        {"delay_ticks_max", s.delay_ticks_max, 1, 120},
        {"hash_interval_ticks", s.hash_interval_ticks, 1, 64},
        {"join_bytes_per_s", s.join_bytes_per_s, 4096, INT32_MAX},
        {"join_bytes_per_s_all", s.join_bytes_per_s_all, s.join_bytes_per_s, UINT32_MAX},
        {"snapshot_bytes_max", s.snapshot_bytes_max, 1, std::int64_t{64} << 20},
        {"spectator_bytes_per_s", s.spectator_bytes_per_s, 4096, INT32_MAX},
        {"tick_rate.num", s.tick_rate.num, 1, 1'000'000},
        {"tick_rate.den", s.tick_rate.den, 1, 10'000},
    };
    for (const Range& range : ranges) {
        if (range.value < range.least || range.value > range.greatest) {
            return fail(bad(range.key,
                            std::to_string(range.value),
                            std::to_string(range.least) + " to " + std::to_string(range.greatest)));
        }
    }
    return {};
}

bool is_enumerator(const MatchSettings& s, const char*& key) {
    const auto within = [](auto value, int last) {
        return static_cast<int>(value) >= 1 && static_cast<int>(value) <= last;
    };
    key = !within(s.policy, 3)      ? "policy"
          : !within(s.authority, 2) ? "authority"
          : !within(s.filler, 2)    ? "filler"
                                    : nullptr;
    return key == nullptr;
}

Result<void> check_manifest(const MatchSettings& s) {
    if (s.manifest.empty()) {
        if (s.authority == Authority::simulation) {
            return fail(bad("manifest", "empty", "only with authority relay"));
        }
        return {};
    }
    const auto setup = setup_of(s.manifest);
    if (!setup) {
        return fail(bad("manifest", to_string(setup.error()), "a manifest with its set-up"));
    }
    if (setup->slots != s.slots) {
        return fail(bad("slots", std::to_string(s.slots), std::to_string(setup->slots)));
    }
    const auto rate = s.manifest.find("sim.tick_rate");
    if (rate != s.manifest.end() && rate->second != to_string(s.tick_rate)) {
        return fail(bad("tick_rate", to_string(s.tick_rate), rate->second));
    }
    return {};
}

/// The ticks of an earlier process follow each other and have this match's slots.
Result<void> check_history(const MatchSettings& s) {
    TickFrame frame;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < s.history.size(); ++i) {
        if (auto decoded = decode_frame(s.history[i], frame); !decoded) {
            return fail(bad("history", to_string(decoded.error()), "an encoded frame"));
        }
        const std::uint64_t tick = frame.tick().value;
        if (i != 0 && tick != expected) {
            return fail(bad("history", "tick " + std::to_string(tick), std::to_string(expected)));
        }
        if (frame.slot_count() != s.slots) {
            return fail(bad(
                "history", std::to_string(frame.slot_count()) + " slots", std::to_string(s.slots)));
        }
        for (std::uint16_t slot = 0; slot < s.slots; ++slot) {
            if (frame.input(Slot{slot}).size() > s.input_bytes_max) {
                return fail(bad("history",
                                std::to_string(frame.input(Slot{slot}).size()) + " input bytes",
                                "at most input_bytes_max"));
            }
        }
        if (tick >= tick_max - 8192) {
            return fail(bad("history", "tick " + std::to_string(tick), "less"));
        }
        expected = tick + 1;
    }
    if (!s.history.empty() && s.manifest.empty()) {
        return fail(bad("manifest", "empty", "only without history"));
    }
    return {};
}

} // namespace

Result<void> check_settings(const MatchSettings& s) {
    if (s.id == 0) {
        return fail(bad("id", "0", "any other number"));
    }
    if (auto ranges = check_ranges(s); !ranges) {
        return ranges;
    }
    const char* key = nullptr;
    if (!is_enumerator(s, key)) {
        return fail(bad(key, "unknown", "a listed value"));
    }
    if (s.tick_rate.num < s.tick_rate.den ||
        s.tick_rate.num > std::uint64_t{1000} * s.tick_rate.den) {
        return fail(bad("tick_rate", to_string(s.tick_rate), "1 to 1000 ticks per second"));
    }
    if (s.slots * (s.input_bytes_max + 2U) > 1000) {
        return fail(bad("input_bytes_max",
                        std::to_string(s.input_bytes_max),
                        "1 to " + std::to_string(1000 / s.slots - 2) + " with " +
                            std::to_string(s.slots) + " slots"));
    }
    const std::size_t neutral_max =
        std::min<std::size_t>(wire::neutral_bytes_max, s.input_bytes_max);
    if (s.neutral.size() > neutral_max) {
        return fail(bad("neutral",
                        std::to_string(s.neutral.size()) + " bytes",
                        "at most " + std::to_string(neutral_max)));
    }
    if (auto history = check_history(s); !history) {
        return history;
    }
    return check_manifest(s);
}

} // namespace twinstep::net
