// SPDX-License-Identifier: MIT
// Texts of addresses, roles, policies, states and reasons.
#include "twinstep/net/types.hpp"

#include <algorithm>
#include <cstddef>

namespace twinstep::net {

namespace {

bool is_mapped_v4(const Address& address) {
    const auto& ip = address.ip;
    return std::all_of(ip.begin(), ip.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
           ip[10] == 0xFF && ip[11] == 0xFF;
}

/// RFC 5952: lower case, the longest run of at least two zero groups as "::".
std::string v6_text(const std::array<std::uint8_t, 16>& ip) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned, 8> groups{};
    for (std::size_t i = 0; i < 8; ++i) {
        groups[i] = static_cast<unsigned>(ip[2 * i]) << 8U | ip[2 * i + 1];
    }
    std::size_t best = 8;
    std::size_t best_length = 1;
    for (std::size_t i = 0; i < 8; ++i) {
        std::size_t end = i;
        while (end < 8 && groups[end] == 0) {
            ++end;
        }
        if (end - i > best_length) {
            best = i;
            best_length = end - i;
        }
    }
    std::string text;
    for (std::size_t i = 0; i < 8; ++i) {
        if (i == best) {
            text += "::";
            i += best_length - 1;
            continue;
        }
        if (!text.empty() && text.back() != ':') {
            text += ':';
        }
        bool leading = true;
        for (int shift = 12; shift >= 0; shift -= 4) {
            const unsigned digit = groups[i] >> shift & 0xFU;
            leading = leading && digit == 0 && shift != 0;
            if (!leading) {
                text += digits[digit];
            }
        }
    }
    return text;
}

} // namespace

bool is_loopback(const Address& address) {
    if (is_mapped_v4(address)) {
        return address.ip[12] == 127;
    }
    return std::all_of(address.ip.begin(),
                       address.ip.end() - 1,
                       [](std::uint8_t byte) { return byte == 0; }) &&
           address.ip[15] == 1;
}

std::string to_string(const Address& address) {
    const std::string port = std::to_string(address.port);
    if (is_mapped_v4(address)) {
        std::string text;
        for (std::size_t i = 12; i < 16; ++i) {
            text += std::to_string(address.ip[i]);
            text += i == 15 ? ':' : '.';
        }
        return text + port;
    }
    return "[" + v6_text(address.ip) + "]:" + port;
}

std::string_view to_string(CloseReason reason) {
    switch (reason) {
    case CloseReason::none:
        return "none";
    case CloseReason::leaving:
        return "leaving";
    case CloseReason::match_ended:
        return "match_ended";
    case CloseReason::timed_out:
        return "timed_out";
    case CloseReason::protocol_error:
        return "protocol_error";
    case CloseReason::flooding:
        return "flooding";
    case CloseReason::full:
        return "full";
    case CloseReason::draining:
        return "draining";
    case CloseReason::unsupported_version:
        return "unsupported_version";
    case CloseReason::different_simulation:
        return "different_simulation";
    case CloseReason::not_admitted:
        return "not_admitted";
    case CloseReason::no_such_match:
        return "no_such_match";
    case CloseReason::role_refused:
        return "role_refused";
    case CloseReason::too_slow:
        return "too_slow";
    case CloseReason::diverged:
        return "diverged";
    case CloseReason::replaced:
        return "replaced";
    case CloseReason::going_down:
        return "going_down";
    }
    return "unknown";
}

std::string_view to_string(Role role) {
    return role == Role::player ? "player" : "spectator";
}

std::string_view to_string(Policy policy) {
    switch (policy) {
    case Policy::deadline:
        return "deadline";
    case Policy::wait:
        return "wait";
    case Policy::strict:
        return "strict";
    }
    return "unknown";
}

std::string_view to_string(PlayerState state) {
    switch (state) {
    case PlayerState::empty:
        return "empty";
    case PlayerState::joining:
        return "joining";
    case PlayerState::live:
        return "live";
    case PlayerState::lagging:
        return "lagging";
    case PlayerState::absent:
        return "absent";
    }
    return "unknown";
}

} // namespace twinstep::net
