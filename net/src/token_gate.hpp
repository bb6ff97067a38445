// SPDX-License-Identifier: MIT
// Which tokens a server takes: audience, lifetime, start of the process, and each one once.
#pragma once

#include "twinstep/net/crypto.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace twinstep::net {

/// Judges opened tokens and remembers the ones that were used. Bounded: when the table is full of
/// tokens that still live, further ones are refused; nothing is forgotten early.
class TokenGate {
public:
    struct Rules {
        std::uint64_t server_id = 0; ///< 0: any audience.
        std::uint64_t started_unix_s = 0;
        bool accept_older = false;
        std::size_t ids_max = 65'536;
    };

    /// Of clocks that differ, in seconds.
    static constexpr std::uint64_t leeway_s = 30;

    TokenGate(const Rules& rules, std::uint64_t secret);

    void set_wall_clock(std::uint64_t unix_s) { wall_s_ = unix_s; }

    /// True if the claims are good now and the token is unused.
    bool admits(const TokenClaims& claims);
    /// The token is used up. Requires that admits() just said yes.
    void use(const TokenClaims& claims);

    std::size_t memory_bytes() const;

private:
    struct IdHash {
        std::uint64_t secret = 0;
        std::size_t operator()(const wire::Random16& id) const;
    };

    static std::uint64_t end_of(const TokenClaims& claims);
    void forget_ended();

    Rules rules_;
    std::uint64_t wall_s_ = 0;
    /// Tokens that end before this may have been forgotten and are refused, whatever the clock
    /// says.
    std::uint64_t floor_s_ = 0;
    std::unordered_map<wire::Random16, std::uint64_t, IdHash> used_; ///< Id to its end.
};

} // namespace twinstep::net
