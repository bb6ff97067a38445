// SPDX-License-Identifier: MIT
// Whose hash is right: the server's own states, or a strict majority of the players who owe a
// report.
#pragma once

#include "twinstep/net/types.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// What reports about one state come to.
enum class Outcome : std::uint8_t {
    open,     ///< More reports may decide.
    agreed,   ///< More than half of all who owe one say the same.
    disputed, ///< They contradict each other and no side has more than half.
    silent,   ///< Too few spoke; those who did say the same. It is no agreement.
};

template <class Value>
struct Judgement {
    Outcome outcome = Outcome::open;
    Value value{};                ///< With `agreed`.
    std::uint64_t dissenters = 0; ///< With `agreed`: slots that said something else.
};

/// Judges reports; bit i of a mask is slot i. Silence counts for nobody: the majority is one of all
/// who owe a report. `closed`: nothing more will be heard. Determinism: pure.
template <class Value>
Judgement<Value>
judge(std::span<const Value> values, std::uint64_t reported, std::uint64_t owing, bool closed) {
    const std::uint64_t heard = reported & owing;
    const int owed = std::popcount(owing);
    if (!closed && heard != owing && 2 * std::popcount(heard) <= owed) {
        return {}; // Too few to decide anything yet.
    }
    bool contradiction = false;
    for (std::uint64_t rest = heard; rest != 0; rest &= rest - 1) {
        const Value& value = values[static_cast<std::size_t>(std::countr_zero(rest))];
        std::uint64_t same = 0;
        for (std::uint64_t each = heard; each != 0; each &= each - 1) {
            const int slot = std::countr_zero(each);
            if (values[static_cast<std::size_t>(slot)] == value) {
                same |= std::uint64_t{1} << slot;
            }
        }
        if (2 * std::popcount(same) > owed) {
            return {Outcome::agreed, value, heard & ~same};
        }
        contradiction = contradiction || same != heard;
    }
    if (heard != owing && !closed) {
        return {};
    }
    return {contradiction ? Outcome::disputed : Outcome::silent, {}, 0};
}

/// Reports of the hash chain at the newest check ticks; bounded, first word counts.
class VoteTable {
public:
    static constexpr std::size_t ticks_max = 128;

    struct Entry {
        std::uint64_t tick_and_one = 0; ///< 0: empty.
        std::uint64_t reported = 0;
        bool agreed = false;
        bool disputed = false;
        std::uint32_t value = 0; ///< The agreed one.
    };

    /// Keeps reports about multiples of `interval_ticks`.
    void configure(std::size_t slots, std::uint64_t interval_ticks);

    /// Takes a report. Null: too old, or of no check tick. The pointer is valid until the next
    /// call.
    Entry* put(std::uint64_t tick, std::size_t slot, std::uint32_t value);
    const Entry* find(std::uint64_t tick) const;
    std::span<const std::uint32_t> values(const Entry& entry) const;
    std::size_t memory_bytes() const;

private:
    std::size_t index_of(std::uint64_t tick) const {
        return static_cast<std::size_t>(tick / interval_ % ticks_max);
    }

    std::size_t slots_ = 0;
    std::uint64_t interval_ = 1;
    std::array<Entry, ticks_max> entries_{};
    std::vector<std::uint32_t> values_;
};

/// The newest states of the server's own simulation.
class HashHistory {
public:
    static constexpr std::size_t ticks_max = 512;

    /// The next state, in order. The first one may be any.
    void add(const StateHashes& hashes);

    bool empty() const { return count_ == 0; }

    /// First and last state that are kept. Require !empty().
    std::uint64_t first() const { return next_ - count_; }

    std::uint64_t last() const { return next_ - 1; }

    bool has(std::uint64_t tick) const { return count_ != 0 && tick >= first() && tick <= last(); }

    /// Each requires has(tick).
    std::uint64_t chain(std::uint64_t tick) const { return place(tick).chain; }

    const Hash128& state(std::uint64_t tick) const { return place(tick).state; }

    /// Low 32 bits of each section's hash; empty if that state was given without sections.
    std::span<const std::uint32_t> sections(std::uint64_t tick) const;
    /// Name of a section, or its number as text.
    std::string section_name(std::size_t index) const;
    std::size_t memory_bytes() const;

private:
    struct Place {
        Hash128 state;
        std::uint64_t chain = 0;
        std::uint16_t sections = 0;
    };

    const Place& place(std::uint64_t tick) const {
        return places_[static_cast<std::size_t>(tick % ticks_max)];
    }

    Hasher hasher_; ///< Kept: nothing is allocated per state.
    std::uint64_t next_ = 0;
    std::size_t count_ = 0;
    std::vector<Place> places_;
    std::size_t stride_ = 0;
    std::vector<std::uint32_t> sections_;
    std::vector<std::string> names_;
};

} // namespace twinstep::net
