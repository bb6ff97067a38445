// SPDX-License-Identifier: MIT
// How a configuration is refused: one spelling for the files that check one.
#pragma once

#include <twinstep/timer/config.hpp>

#include <string_view>

namespace twinstep::timer {

inline tl::unexpected<ConfigError> refuse(ConfigFault fault, std::string_view field) {
    return tl::make_unexpected(ConfigError{fault, field});
}

} // namespace twinstep::timer
