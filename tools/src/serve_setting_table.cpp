// SPDX-License-Identifier: MIT
// The table of the server's settings: docs/serve.md shows the same, and a test compares the two.
#include "serve_settings.hpp"

#include <limits>

namespace twinstep::tools {

namespace {

using Kind = SettingKind;
constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t hour_ms = 3'600'000;

// clang-format off
constexpr SettingSpec specs[] = {
    {"game", Kind::text, "", "", 0, 0, false,
     "The game to simulate; none: a relay, which needs no game"},
    {"listen", Kind::text, "", "", 0, 0, true,
     "Address and port for players, port 0 for any free one; default: port 7777, on loopback "
     "without a key, everywhere with one"},
    {"room-key-file", Kind::text, "", "", 0, 0, false,
     "File with 64 hexadecimal digits that everybody who may play knows"},
    {"token-key-file", Kind::text, "", "", 0, 0, false,
     "File with the key that this server shares with the backend that grants tokens"},
    {"insecure-loopback", Kind::yes, "off", "", 0, 0, false,
     "Plain connections, on loopback only; also what happens without a key"},
    {"server-id", Kind::number, "0", "", 0, any, false,
     "Audience of tokens; 0: any"},
    {"accept-older-tokens", Kind::yes, "off", "", 0, 0, false,
     "Take tokens that were granted before this server started"},
    {"admin-listen", Kind::text, "off", "", 0, 0, false,
     "Address and port for /healthz, /readyz, /metrics, /matches and /drain; off: none"},
    {"admin-token-file", Kind::text, "", "", 0, 0, false,
     "File with the bearer token of the admin endpoints; required beyond loopback"},
    {"slots", Kind::number, "", "", 1, 64, false,
     "Seats in a match; default: 2, or as near as the game has"},
    {"players", Kind::number, "", "", 1, 64, false,
     "Ready players with whom a match begins; default: all slots"},
    {"seed", Kind::number, "", "", 0, any, false,
     "Seed of every match; default: drawn for each"},
    {"config-game", Kind::text, "", "", 0, 0, false,
     "File with the game's own settings, key = value"},
    {"tick-rate", Kind::rate, "", "", 1, 1000, false,
     "Ticks per second of a relay, N or N/D; a game brings its own; default: 60"},
    {"input-bytes-max", Kind::number, "64", "", 1, 256, false,
     "Longest input of a slot; slots times (this + 2) is at most 1000"},
    {"policy", Kind::choice, "deadline", "deadline|wait|strict", 0, 0, false,
     "When a tick is closed whose inputs are not all there"},
    {"grace-ms", Kind::number, "50", "", 0, 1000, false,
     "deadline: how long a late input is waited for"},
    {"stall-max", Kind::duration, "2s", "", 0, 60'000, false,
     "wait: how long at most a player is waited for"},
    {"filler", Kind::choice, "repeat-last", "repeat-last|neutral", 0, 0, false,
     "What a missing input is substituted with"},
    {"authority", Kind::choice, "", "sim|relay", 0, 0, false,
     "Whose hash is right: the server's simulation, or a strict majority of the players; default: "
     "sim with a game"},
    {"hash-interval", Kind::number, "16", "", 1, 64, false,
     "Ticks between two hash reports of a player"},
    {"delay-min", Kind::number, "1", "", 1, 30, false,
     "Least input delay, in ticks"},
    {"delay-max", Kind::number, "30", "", 1, 30, false,
     "Greatest input delay, in ticks"},
    {"equal-delay", Kind::yes, "off", "", 0, 0, false,
     "One input delay for everybody"},
    {"redundancy", Kind::choice, "auto", "auto|off", 0, 0, false,
     "auto: send each tick twice to a player who reports loss"},
    {"pace", Kind::choice, "fixed", "fixed|median", 0, 0, false,
     "median: stretch a tick by up to 10 % while most players are behind"},
    {"rejoin-window", Kind::duration, "120s", "", 1'000, hour_ms, false,
     "How long the slot of an absent player is kept"},
    {"ring", Kind::duration, "120s", "", 10'000, hour_ms, false,
     "How many closed ticks are kept for those who join"},
    {"spectator-delay", Kind::duration, "10s", "", 0, 600'000, false,
     "How far spectators are behind"},
    {"max-spectators", Kind::number, "16", "", 0, 1000, false,
     "Spectators of a match"},
    {"max-matches", Kind::number, "1", "", 1, 1000, false,
     "Matches at a time; another opens when none has a free slot"},
    {"matches", Kind::number, "0", "", 0, any, false,
     "Drain after so many matches have ended; 0: go on"},
    {"max-peers", Kind::number, "4096", "", 1, 65'000, false,
     "Connections at a time"},
    {"workers", Kind::number, "", "", 1, 256, false,
     "Threads that simulate; default: the processor's, at most 4"},
    {"record-dir", Kind::text, "", "", 0, 0, false,
     "Directory for a recording of every match; needs a game"},
    {"record-quota", Kind::bytes, "10G", "", 1'048'576, any, false,
     "Bytes of all recordings in the directory; then recording stops and the matches go on"},
    {"record-match-max", Kind::bytes, "1G", "", 65'536, any, false,
     "Bytes of one recording"},
    {"record-required", Kind::yes, "off", "", 0, 0, false,
     "A match that cannot be recorded does not begin, or ends"},
    {"evidence-dir", Kind::text, "", "", 0, 0, false,
     "Directory for the server's state at the tick of a desync; see twinstep diff"},
    {"resume", Kind::yes, "off", "", 0, 0, false,
     "Go on with the unfinished recordings in record-dir, the newest max-matches of them"},
    {"drain-timeout", Kind::duration, "120s", "", 0, hour_ms, false,
     "How long running matches may take to finish after SIGTERM or POST /drain"},
    {"exit-when-empty", Kind::yes, "off", "", 0, 0, false,
     "Drain when the first match has ended and nobody is connected"},
    {"fail-on-desync", Kind::yes, "off", "", 0, 0, false,
     "The first verdict on a desync ends everything, with exit code 4"},
    {"agones", Kind::choice, "auto", "auto|off", 0, 0, false,
     "auto: talk to the Agones sidecar if AGONES_SDK_HTTP_PORT is set"},
    {"log-level", Kind::choice, "info", "debug|info|warn|error", 0, 0, false,
     "What is logged, to standard error"},
    {"log-format", Kind::choice, "text", "text|json", 0, 0, false,
     "One line each: key=value, or a JSON object"},
    {"ready-file", Kind::text, "", "", 0, 0, false,
     "Written when the ports are bound: one JSON object with listen[] and admin"},
};
// clang-format on

} // namespace

std::span<const SettingSpec> serve_setting_specs() {
    return specs;
}

} // namespace twinstep::tools
