// SPDX-License-Identifier: MIT
// Claims against the clock and the table of used ids.
#include "token_gate.hpp"

#include <cstring>

namespace twinstep::net {

TokenGate::TokenGate(const Rules& rules, std::uint64_t secret)
    : rules_(rules)
    , used_(0, IdHash{secret}) {}

std::size_t TokenGate::IdHash::operator()(const wire::Random16& id) const {
    std::uint64_t
        words[2]; // Ids come from the backend; the secret is against one that is careless.
    std::memcpy(words, id.data(), sizeof(words));
    const std::uint64_t x = (words[0] ^ secret) * 0x9E37'79B9'7F4A'7C15;
    return static_cast<std::size_t>((x ^ x >> 32U ^ words[1]) * 0xBF58'476D'1CE4'E5B9);
}

std::uint64_t TokenGate::end_of(const TokenClaims& claims) {
    const std::uint64_t end = claims.issued_unix_s + claims.lifetime_s + leeway_s;
    return end < claims.issued_unix_s ? 0 : end; // Issued at the end of time: never good.
}

void TokenGate::forget_ended() {
    const std::size_t before = used_.size();
    std::erase_if(used_, [&](const auto& entry) { return entry.second < wall_s_; });
    if (used_.size() != before) {
        floor_s_ = std::max(floor_s_, wall_s_);
    }
}

bool TokenGate::admits(const TokenClaims& claims) {
    const std::uint64_t end = end_of(claims);
    const bool for_us =
        claims.server_id == 0 || rules_.server_id == 0 || claims.server_id == rules_.server_id;
    const bool of_this_start = rules_.accept_older || claims.issued_unix_s >= rules_.started_unix_s;
    const bool alive =
        end >= wall_s_ && end >= floor_s_ && claims.issued_unix_s <= wall_s_ + leeway_s;
    if (!for_us || !of_this_start || !alive || used_.contains(claims.id)) {
        return false;
    }
    if (used_.size() >= rules_.ids_max) {
        forget_ended();
    }
    return used_.size() < rules_.ids_max;
}

void TokenGate::use(const TokenClaims& claims) {
    used_.emplace(claims.id, end_of(claims));
}

std::size_t TokenGate::memory_bytes() const {
    constexpr std::size_t node = sizeof(std::pair<const wire::Random16, std::uint64_t>) + 16;
    return used_.size() * node + used_.bucket_count() * sizeof(void*);
}

} // namespace twinstep::net
