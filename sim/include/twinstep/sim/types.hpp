// SPDX-License-Identifier: MIT
// The words everything else is written in: tick, slot, tick rate, state hash, divergence.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace twinstep {

/// The number of a step. Tick T is the step that takes state T to state T+1; state 0 is the state
/// after reset. Range: 0 to 2^63 - 1.
struct Tick {
    std::uint64_t value = 0;

    constexpr auto operator<=>(const Tick&) const = default;
};

/// The last tick there is; every decoder refuses a greater one.
inline constexpr std::uint64_t tick_max = (std::uint64_t{1} << 63) - 1;

/// The tick `count` ticks after `tick`.
constexpr Tick operator+(Tick tick, std::uint64_t count) {
    return Tick{tick.value + count};
}

/// A player's seat, numbered from 0. Range: 0 to slots_max - 1.
struct Slot {
    std::uint16_t value = 0;

    constexpr auto operator<=>(const Slot&) const = default;
};

/// Ticks per second as an exact rational, so that 60000/1001 is as good as 60.
/// Range: both parts at least 1.
struct TickRate {
    std::uint32_t num = 1; ///< Ticks ...
    std::uint32_t den = 1; ///< ... in this many seconds.

    constexpr TickRate() = default;

    constexpr explicit TickRate(std::uint32_t ticks, std::uint32_t seconds = 1)
        : num(ticks)
        , den(seconds) {}

    constexpr auto operator<=>(const TickRate&) const = default;
};

/// "35/1", as manifests and listings show it.
std::string to_string(TickRate rate);

/// 128 bits of XXH3 over canonical bytes; see hash.hpp for what exactly is hashed.
struct Hash128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    constexpr auto operator<=>(const Hash128&) const = default;
};

/// 32 lower-case hexadecimal digits, most significant first.
std::string to_hex(const Hash128& hash);
/// 16 lower-case hexadecimal digits, most significant first.
std::string to_hex(std::uint64_t value);

/// The hash of one named section of the state.
struct SectionHash {
    std::string name;
    Hash128 hash;
};

/// The hashes of one state. `state` is made from the section hashes in order, so the first section
/// that differs between two machines names the part of the state that differs.
struct StateHashes {
    Tick tick; ///< The state before the inputs of this tick.
    Hash128 state;
    std::vector<SectionHash> sections;
};

/// The first difference between two runs. A value, not an error: viewers go on, verifiers report
/// it.
struct Divergence {
    Tick tick;            ///< First state that differs: hash(tick) is not what was expected.
    std::string section;  ///< Section that differs, or empty when only the state hash is known.
    std::string field;    ///< Path of the field, such as "players[2].x", or empty when unknown.
    std::string expected; ///< Hash or value on the expected side.
    std::string actual;   ///< Hash or value on the other side.
};

} // namespace twinstep
