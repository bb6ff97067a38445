// SPDX-License-Identifier: MIT
// What a client remembers of its states: hashes, sections and the chain, for the desync search.
#pragma once

#include "twinstep/net/wire.hpp"
#include "twinstep/sim/hash.hpp"
#include "twinstep/sim/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::net {

/// The hashes of the last 512 states. Memory is taken with the first state that is reported.
class ClientHashes {
public:
    static constexpr std::size_t states_max = 512;

    /// Forgets everything; the next state reported is `state` + 1, whose chain goes on from
    /// `chain`.
    void start(std::uint64_t state, std::uint64_t chain);

    /// Takes the hashes of the next state. Requires that no state is left out.
    void report(const StateHashes& hashes);

    /// The newest state reported, or the one it began with.
    std::uint64_t newest() const { return newest_; }

    bool any() const { return newest_ > first_; }

    /// The chain at the newest state that is a multiple of `interval` and not beyond `limit`;
    /// false if there is none in memory.
    bool chain_to_report(std::uint8_t interval,
                         std::uint64_t limit,
                         std::uint64_t& state,
                         std::uint32_t& chain) const;

    std::uint64_t chain() const { return chain_; }

    /// The chain at a state in memory, or at the newest one; otherwise 0.
    std::uint64_t chain_at(std::uint64_t state) const;

    /// The hashes of as many of the states asked for as are known. False if all of them are still
    /// to come, or none is known.
    bool answer(const wire::HashQuery& query, wire::HashAnswer& answer) const;
    bool answer_sections(std::uint64_t state, wire::SectionAnswer& answer) const;

    /// The state's hash in hexadecimal, or empty.
    std::string state_text(std::uint64_t state) const;
    /// A relay knows no names and says a section's number: its name, or the text as it is.
    std::string section_name(std::string_view text) const;
    /// The low 32 bits of a section's hash in hexadecimal, or empty.
    std::string section_text(std::uint64_t state, std::string_view section) const;

private:
    bool has(std::uint64_t state) const {
        return state > first_ && state <= newest_ && newest_ - state < states_max;
    }

    std::uint64_t first_ = 0;
    std::uint64_t newest_ = 0;
    std::uint64_t chain_ = 0;
    Hasher hasher_;
    std::vector<Hash128> states_;
    std::vector<std::uint64_t> chains_;
    std::vector<std::string> names_;
    std::vector<std::uint32_t> sections_; ///< names_.size() of each state.
};

} // namespace twinstep::net
