// SPDX-License-Identifier: MIT
// Text forms of the basic types.
#include "twinstep/sim/types.hpp"

namespace twinstep {

std::string to_string(TickRate rate) {
    return std::to_string(rate.num) + "/" + std::to_string(rate.den);
}

std::string to_hex(std::uint64_t value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = digits[(value >> (60 - 4 * i)) & 0xF];
    }
    return text;
}

std::string to_hex(const Hash128& hash) {
    return to_hex(hash.high) + to_hex(hash.low);
}

} // namespace twinstep
