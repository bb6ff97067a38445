// SPDX-License-Identifier: MIT
// The server's settings: flags over environment over file over defaults, checked as a whole.
#pragma once

#include "twinstep/net/match.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/result.hpp"
#include "twinstep/sim/types.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinstep::tools {

/// What the text of a setting must look like.
enum class SettingKind : std::uint8_t {
    text,     ///< Anything but nothing.
    choice,   ///< One of a few words.
    number,   ///< A whole number in a range.
    bytes,    ///< The same with K, M or G behind it.
    duration, ///< A whole number with ms, s, m or h behind it; in milliseconds.
    rate,     ///< "60" or "60000/1001".
    yes,      ///< On or off.
};

/// One setting. The table of them is the authority for flags, files, help and documentation.
struct SettingSpec {
    const char* key;
    SettingKind kind;
    const char* fallback; ///< Default, as text; empty: not set.
    const char* choices;  ///< Of a choice, separated by "|".
    std::uint64_t low;    ///< Of numbers, bytes and durations.
    std::uint64_t high;
    bool repeatable;
    const char* help;
};

std::span<const SettingSpec> serve_setting_specs();

/// The texts of one setting, and who gave them.
struct SettingText {
    std::vector<std::string> values;
    std::string origin; ///< "--grace-ms", "TWINSTEP_SERVE_GRACE_MS", "server.conf, line 3".
};

using SettingTexts = std::map<std::string, SettingText>;

/// Lines of "key = value", as in TOML without tables. Errors: bad_setting, for an unknown key with
/// the nearest known one.
Result<SettingTexts> parse_setting_file(std::string_view text, const std::string& path);
/// TWINSTEP_SERVE_*. Errors: bad_setting for an unknown one.
Result<SettingTexts> settings_of_environment();

/// What the server works with.
struct ServeSettings {
    std::string game; ///< Empty: a relay.
    std::vector<std::string> listen;
    bool listen_is_default = false;
    std::string admin_listen; ///< "off" or an address.
    std::string admin_token_file;
    std::string room_key_file;
    std::string token_key_file;
    std::uint64_t server_id = 0;
    bool accept_older_tokens = false;
    std::uint16_t slots = 2;
    std::uint16_t players = 2;
    std::optional<std::uint64_t> seed; ///< Nothing: drawn for each match.
    std::string config_game;
    net::MatchSettings match; ///< Policy, timing and limits; the session's part is filled in later.
    std::uint32_t max_matches = 1;
    std::uint64_t matches = 0; ///< Stop after as many; 0: never.
    std::uint16_t max_peers = 4096;
    std::uint32_t workers = 1;
    std::string record_dir;
    std::uint64_t record_quota = 0;
    std::uint64_t record_match_max = 0;
    bool record_required = false;
    std::string evidence_dir;
    bool resume = false;
    net::Micros drain_timeout;
    bool exit_when_empty = false;
    bool fail_on_desync = false;
    bool agones = true;
    std::string log_level;
    std::string log_format;
    std::string ready_file;
    SettingTexts texts; ///< What all of it came from.
};

/// Puts the layers together, strongest first, and checks everything that can be checked without
/// opening a socket. `default_slots` is asked for a game. Errors: bad_setting with the origin as
/// `where` and the key as `field`.
Result<ServeSettings>
make_serve_settings(std::span<const SettingTexts> layers,
                    const std::function<std::uint16_t(const std::string& game)>& default_slots);

/// "key = value  # origin" for every setting: itself a file that can be read again. Key files are
/// named, their content never is.
std::string print_settings(const ServeSettings& settings);

} // namespace twinstep::tools
