// SPDX-License-Identifier: MIT
// Puts the layers of the server's settings together and checks them as a whole.
#include "serve_settings.hpp"

#include "options.hpp"
#include "serve_setting_texts.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/errc.hpp"
#include "twinstep/net/udp_port.hpp"

#include <fmt/format.h>

#include <utility>

namespace twinstep::tools {

namespace {

Error bad(const SettingText& text, std::string_view key, std::string detail) {
    return Error(net::NetErrc::bad_setting, std::string(key), std::move(detail)).in(text.origin);
}

/// Typed access to texts that were found good.
class Values {
public:
    explicit Values(const SettingTexts& texts)
        : texts_(texts) {}

    bool has(const char* key) const { return texts_.contains(key); }

    std::string text(const char* key) const {
        return has(key) ? texts_.at(key).values.back() : std::string{};
    }

    bool yes(const char* key) const {
        const std::string value = text(key);
        return value == "on" || value == "true";
    }

    std::uint64_t number(const char* key) const {
        return setting_number(*find_setting(key), text(key));
    }

    template <class T>
    T as(const char* key) const {
        return static_cast<T>(number(key));
    }

    net::Micros time(const char* key) const { return net::milliseconds(as<std::int64_t>(key)); }

private:
    const SettingTexts& texts_;
};

void fill_match(const Values& values, net::MatchSettings& match) {
    const std::string policy = values.text("policy");
    match.policy = policy == "wait"     ? net::Policy::wait
                   : policy == "strict" ? net::Policy::strict
                                        : net::Policy::deadline;
    match.authority =
        values.text("authority") == "relay" ? net::Authority::relay : net::Authority::simulation;
    match.filler =
        values.text("filler") == "neutral" ? net::Filler::neutral : net::Filler::repeat_last;
    match.grace = values.time("grace-ms");
    match.stall_max = values.time("stall-max");
    match.rejoin_window = values.time("rejoin-window");
    match.ring = values.time("ring");
    match.spectator_delay = values.time("spectator-delay");
    match.spectators_max = values.as<std::uint16_t>("max-spectators");
    match.input_bytes_max = values.as<std::uint16_t>("input-bytes-max");
    match.delay_ticks_min = values.as<std::uint8_t>("delay-min");
    match.delay_ticks_max = values.as<std::uint8_t>("delay-max");
    match.equal_delay = values.yes("equal-delay");
    match.redundancy = values.text("redundancy") == "auto";
    match.pace_median = values.text("pace") == "median";
    match.hash_interval_ticks = values.as<std::uint8_t>("hash-interval");
    match.slots = values.as<std::uint16_t>("slots");
    match.start_players = values.as<std::uint16_t>("players");
    static_cast<void>(parse_setting_rate(values.text("tick-rate"), match.tick_rate));
}

ServeSettings fill(SettingTexts texts) {
    const Values values(texts);
    ServeSettings settings;
    settings.game = values.text("game");
    settings.listen = texts.at("listen").values;
    settings.admin_listen = values.text("admin-listen");
    settings.admin_token_file = values.text("admin-token-file");
    settings.room_key_file = values.text("room-key-file");
    settings.token_key_file = values.text("token-key-file");
    settings.server_id = values.number("server-id");
    settings.accept_older_tokens = values.yes("accept-older-tokens");
    settings.slots = values.as<std::uint16_t>("slots");
    settings.players = values.as<std::uint16_t>("players");
    if (values.has("seed")) {
        settings.seed = values.number("seed");
    }
    settings.config_game = values.text("config-game");
    fill_match(values, settings.match);
    settings.max_matches = values.as<std::uint32_t>("max-matches");
    settings.matches = values.number("matches");
    settings.max_peers = values.as<std::uint16_t>("max-peers");
    settings.workers = values.as<std::uint32_t>("workers");
    settings.record_dir = values.text("record-dir");
    settings.record_quota = values.number("record-quota");
    settings.record_match_max = values.number("record-match-max");
    settings.record_required = values.yes("record-required");
    settings.evidence_dir = values.text("evidence-dir");
    settings.resume = values.yes("resume");
    settings.drain_timeout = values.time("drain-timeout");
    settings.exit_when_empty = values.yes("exit-when-empty");
    settings.fail_on_desync = values.yes("fail-on-desync");
    settings.agones = values.text("agones") == "auto";
    settings.log_level = values.text("log-level");
    settings.log_format = values.text("log-format");
    settings.ready_file = values.text("ready-file");
    settings.texts = std::move(texts);
    return settings;
}

/// The settings whose default depends on others.
void fill_derived_defaults(SettingTexts& texts) {
    const auto derive = [&texts](const char* key, std::vector<std::string> values) {
        texts.emplace(key, SettingText{std::move(values), "default"});
    };
    const bool has_key = texts.contains("room-key-file") || texts.contains("token-key-file");
    derive("listen",
           has_key ? std::vector<std::string>{"0.0.0.0:7777", "[::]:7777"}
                   : std::vector<std::string>{"127.0.0.1:7777", "[::1]:7777"});
    derive("players", {texts.at("slots").values.back()});
    derive("authority", {texts.contains("game") ? "sim" : "relay"});
    derive("workers", {std::to_string(default_workers())});
    if (!texts.contains("game")) {
        derive("tick-rate", {"60"});
    }
}

/// Every text by itself.
Result<void> check_each(const SettingTexts& texts) {
    for (const auto& [key, text] : texts) {
        const SettingSpec& spec = *find_setting(key);
        if (text.values.size() != 1 && !spec.repeatable) {
            return fail(bad(text, key, "one value is needed"));
        }
        for (const std::string& value : text.values) {
            if (std::string wrong = setting_complaint(spec, value); !wrong.empty()) {
                return fail(bad(text, key, std::move(wrong)));
            }
        }
    }
    return {};
}

Result<void> check_addresses(const SettingTexts& texts) {
    const bool has_key = texts.contains("room-key-file") || texts.contains("token-key-file");
    for (const std::string& value : texts.at("listen").values) {
        const Result<net::Address> address = net::parse_address(value);
        if (!address) {
            return fail(bad(texts.at("listen"), "listen", address.error().detail));
        }
        if (!has_key && !net::is_loopback(*address)) {
            return fail(bad(texts.at("listen"),
                            "listen",
                            fmt::format("\"{}\": beyond loopback a room-key-file or "
                                        "token-key-file is needed",
                                        value)));
        }
    }
    const std::string& admin = texts.at("admin-listen").values.back();
    if (admin != "off") {
        const Result<net::Address> address = net::parse_address(admin, 9600);
        if (!address) {
            return fail(bad(texts.at("admin-listen"), "admin-listen", address.error().detail));
        }
        if (!net::is_loopback(*address) && !texts.contains("admin-token-file")) {
            return fail(
                bad(texts.at("admin-listen"),
                    "admin-listen",
                    fmt::format("\"{}\": beyond loopback an admin-token-file is needed", admin)));
        }
    }
    return {};
}

/// What one setting means for another.
Result<void> check_together(const SettingTexts& texts) {
    const Values values(texts);
    const auto wrong = [&texts](const char* key, std::string detail) {
        return fail(bad(texts.at(key), key, std::move(detail)));
    };
    const bool relay = !values.has("game");
    if (values.has("room-key-file") && values.has("token-key-file")) {
        return wrong("token-key-file", "there is a room-key-file too; choose one");
    }
    if (values.yes("insecure-loopback") &&
        (values.has("room-key-file") || values.has("token-key-file"))) {
        return wrong("insecure-loopback", "there is a key file too; choose one");
    }
    if ((values.has("room-key-file") || values.has("token-key-file")) && !net::has_crypto()) {
        return wrong(values.has("room-key-file") ? "room-key-file" : "token-key-file",
                     "this build has no libsodium: only plain connections on loopback");
    }
    if (values.number("players") > values.number("slots")) {
        return wrong(
            "players",
            fmt::format("{}: there are {} slots", values.text("players"), values.text("slots")));
    }
    const std::uint64_t input = values.number("input-bytes-max");
    if (values.number("slots") * (input + 2) > 1000) {
        return wrong("input-bytes-max",
                     fmt::format("{}: with {} slots use at most {}",
                                 input,
                                 values.text("slots"),
                                 1000 / values.number("slots") - 2));
    }
    if (values.number("delay-min") > values.number("delay-max")) {
        return wrong(
            "delay-min",
            fmt::format("{}: delay-max is {}", values.text("delay-min"), values.text("delay-max")));
    }
    if (values.number("spectator-delay") > values.number("ring")) {
        return wrong("spectator-delay",
                     fmt::format("{}: the ring keeps {}",
                                 values.text("spectator-delay"),
                                 values.text("ring")));
    }
    if (relay && values.text("authority") == "sim") {
        return wrong("authority", "sim: a game is needed");
    }
    for (const char* key : {"record-dir", "evidence-dir", "seed", "config-game"}) {
        if (relay && values.has(key)) {
            return wrong(key, "a relay knows no states: a game is needed");
        }
    }
    if (!relay && values.has("tick-rate")) {
        return wrong("tick-rate", "a game brings its own");
    }
    if (!values.has("record-dir") && (values.yes("resume") || values.yes("record-required"))) {
        return wrong(values.yes("resume") ? "resume" : "record-required", "a record-dir is needed");
    }
    if (values.number("record-match-max") > values.number("record-quota")) {
        return wrong("record-quota",
                     fmt::format("{}: record-match-max is {}",
                                 values.text("record-quota"),
                                 values.text("record-match-max")));
    }
    return {};
}

} // namespace

Result<ServeSettings>
make_serve_settings(std::span<const SettingTexts> layers,
                    const std::function<std::uint16_t(const std::string& game)>& default_slots) {
    SettingTexts texts;
    for (const SettingTexts& layer : layers) {
        texts.insert(layer.begin(), layer.end());
    }
    const bool listen_is_default = !texts.contains("listen");
    for (const SettingSpec& spec : serve_setting_specs()) {
        if (*spec.fallback != '\0') {
            texts.emplace(spec.key, SettingText{{spec.fallback}, "default"});
        }
    }
    if (Result<void> good = check_each(texts); !good) {
        return fail(good.error());
    }
    const std::uint16_t slots =
        texts.contains("game") ? default_slots(texts.at("game").values.back()) : std::uint16_t{2};
    texts.emplace("slots", SettingText{{std::to_string(slots)}, "default"});
    fill_derived_defaults(texts);
    if (Result<void> good = check_addresses(texts); !good) {
        return fail(good.error());
    }
    if (Result<void> good = check_together(texts); !good) {
        return fail(good.error());
    }
    ServeSettings settings = fill(std::move(texts));
    settings.listen_is_default = listen_is_default;
    return settings;
}

std::string print_settings(const ServeSettings& settings) {
    std::string out;
    for (const SettingSpec& spec : serve_setting_specs()) {
        const auto found = settings.texts.find(spec.key);
        if (found == settings.texts.end()) {
            out += fmt::format("# {} = \"\"  # not set\n", spec.key);
            continue;
        }
        std::string values;
        for (const std::string& value : found->second.values) {
            std::string quoted;
            for (const char letter : value) {
                quoted += letter == '"' || letter == '\\' ? "\\" : "";
                quoted += letter;
            }
            values += fmt::format("{}\"{}\"", values.empty() ? "" : ", ", quoted);
        }
        const bool list = found->second.values.size() > 1;
        out += fmt::format("{} = {}{}{}  # {}\n",
                           spec.key,
                           list ? "[" : "",
                           values,
                           list ? "]" : "",
                           found->second.origin);
    }
    return out;
}

} // namespace twinstep::tools
