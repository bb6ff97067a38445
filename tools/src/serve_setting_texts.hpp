// SPDX-License-Identifier: MIT
// What one setting's text must look like.
#pragma once

#include "serve_settings.hpp"

#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// The setting with this key, or nullptr.
const SettingSpec* find_setting(std::string_view key);

/// Empty if the text fits the setting, otherwise the text and what would fit.
std::string setting_complaint(const SettingSpec& spec, const std::string& text);

/// The number, bytes or milliseconds of a text that fits.
std::uint64_t setting_number(const SettingSpec& spec, std::string_view text);

/// "60" or "60000/1001", 1 to 1000 a second.
bool parse_setting_rate(std::string_view text, TickRate& rate);

} // namespace twinstep::tools
