// SPDX-License-Identifier: MIT
// The ring of state hashes.
#include "client_hashes.hpp"

#include "twinstep/net/identity.hpp"
#include "twinstep/sim/assert.hpp"

#include <algorithm>
#include <charconv>

namespace twinstep::net {

void ClientHashes::start(std::uint64_t state, std::uint64_t chain) {
    first_ = state;
    newest_ = state;
    chain_ = chain;
}

void ClientHashes::report(const StateHashes& hashes) {
    TWINSTEP_ASSERT(hashes.tick.value == newest_ + 1);
    if (states_.empty()) {
        states_.resize(states_max);
        chains_.resize(states_max);
        const std::size_t count = std::min(hashes.sections.size(), wire::section_answer_max);
        for (std::size_t i = 0; i < count; ++i) {
            names_.push_back(hashes.sections[i].name);
        }
        sections_.resize(states_max * count);
    }
    newest_ = hashes.tick.value;
    chain_ = next_chain(hasher_, chain_, hashes.tick, hashes.state);
    const std::size_t at = newest_ % states_max;
    states_[at] = hashes.state;
    chains_[at] = chain_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        const bool there = i < hashes.sections.size();
        sections_[at * names_.size() + i] =
            there ? static_cast<std::uint32_t>(hashes.sections[i].hash.low) : 0;
    }
}

bool ClientHashes::chain_to_report(std::uint8_t interval,
                                   std::uint64_t limit,
                                   std::uint64_t& state,
                                   std::uint32_t& chain) const {
    const std::uint64_t newest = std::min(newest_, limit);
    const std::uint64_t checked = newest - newest % (interval == 0 ? 1 : interval);
    if (!has(checked)) {
        return false;
    }
    state = checked;
    chain = static_cast<std::uint32_t>(chains_[checked % states_max]);
    return true;
}

std::uint64_t ClientHashes::chain_at(std::uint64_t state) const {
    if (has(state)) {
        return chains_[state % states_max];
    }
    return state == newest_ ? chain_ : 0;
}

bool ClientHashes::answer(const wire::HashQuery& query, wire::HashAnswer& answer) const {
    if (query.last > newest_) {
        return false; // Comes with the state.
    }
    answer.count = 0;
    for (std::uint64_t state = query.first; state <= query.last; ++state) {
        if (!has(state) || answer.count == wire::hash_answer_max) {
            if (answer.count > 0) {
                break;
            }
            continue;
        }
        if (answer.count == 0) {
            answer.first = state;
        }
        answer.hashes[answer.count] = states_[state % states_max];
        ++answer.count;
    }
    return answer.count > 0;
}

bool ClientHashes::answer_sections(std::uint64_t state, wire::SectionAnswer& answer) const {
    if (!has(state)) {
        return false;
    }
    answer.tick = state;
    answer.count = static_cast<std::uint16_t>(names_.size());
    const std::size_t at = state % states_max * names_.size();
    std::copy_n(sections_.begin() + static_cast<std::ptrdiff_t>(at),
                names_.size(),
                answer.sections.begin());
    return true;
}

std::string ClientHashes::state_text(std::uint64_t state) const {
    return has(state) ? to_hex(states_[state % states_max]) : std::string();
}

std::string ClientHashes::section_name(std::string_view text) const {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    return is_number && number < names_.size() ? names_[number] : std::string(text);
}

std::string ClientHashes::section_text(std::uint64_t state, std::string_view section) const {
    const auto found = std::find(names_.begin(), names_.end(), section);
    if (!has(state) || found == names_.end()) {
        return {};
    }
    const auto index = static_cast<std::size_t>(found - names_.begin());
    return to_hex(std::uint64_t{sections_[state % states_max * names_.size() + index]}).substr(8);
}

} // namespace twinstep::net
