// SPDX-License-Identifier: MIT
// The search for the first wrong state and section after a difference of hashes.
#pragma once

#include "hash_votes.hpp"

#include "twinstep/net/types.hpp"
#include "twinstep/net/wire.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace twinstep::net {

/// What a search has found.
struct Finding {
    std::uint64_t tick = 0;   ///< First state that differs.
    bool disputed = false;    ///< Nobody is blamed.
    std::uint64_t blamed = 0; ///< Slots that differ from the reference.
    std::string section;      ///< Empty: not known.
};

/// One search: asks for the state hashes of a range, finds the first tick that differs, asks for
/// its sections. Two round trips, or as many more as the range has pieces of 64. Memory is taken
/// when a search begins and given back when it ends.
class DesyncSearch {
public:
    enum class Stage : std::uint8_t { idle, hashes, sections };

    static constexpr Micros patience = seconds(2);      ///< For the answers of a stage.
    static constexpr Micros repeat = milliseconds(250); ///< Of a question.

    struct Start {
        std::uint64_t parties = 0; ///< Slots that are asked.
        std::uint64_t blamed = 0;  ///< By the reports; what counts if the answers say nothing.
        std::uint64_t first = 0;   ///< First state that may be wrong.
        std::uint64_t bad = 0;     ///< First report that was.
        std::size_t slots = 0;
        bool own_reference = false; ///< The server's own states are right.
    };

    void start(Micros now, const Start& start);
    void stop();

    bool active() const { return stage_ != Stage::idle; }

    Stage stage() const { return stage_; }

    /// What is asked now: states first .. last, or the sections of first.
    wire::HashQuery question() const { return {first_, last_}; }

    /// Slots that have not answered yet.
    std::uint64_t open() const { return parties_ & ~answered_; }

    std::uint64_t parties() const { return parties_; }

    void on_answer(std::size_t slot, const wire::HashAnswer& answer);
    void on_answer(std::size_t slot, const wire::SectionAnswer& answer);
    /// A player has left.
    void forget(std::size_t slot);

    /// Moves on if all have answered or time is up. True: `finding` is filled in and the search is
    /// over. Sets `ask` if a question is to be sent (again) to open().
    bool advance(Micros now, const HashHistory& own, bool& ask, Finding& finding);
    Micros next_wake() const;
    std::size_t memory_bytes() const;

private:
    void next_stage(Micros now, Stage stage);
    bool judge_hashes(Micros now, const HashHistory& own, Finding& finding);
    void judge_sections(const HashHistory& own, Finding& finding) const;
    bool judge_tick(std::size_t index, const HashHistory& own);
    void finish(Finding& finding);

    Stage stage_ = Stage::idle;
    std::uint64_t parties_ = 0;
    std::uint64_t answered_ = 0;
    std::uint64_t owing_ = 0; ///< As at the start: the majority is one of these.
    std::uint64_t blamed_ = 0;
    bool disputed_ = false;
    bool own_reference_ = false;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t bad_ = 0;
    Micros deadline_ = never;
    Micros ask_at_ = never;
    std::vector<wire::HashAnswer> hashes_;      ///< By slot.
    std::vector<wire::SectionAnswer> sections_; ///< By slot.
};

} // namespace twinstep::net
