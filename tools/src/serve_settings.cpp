// SPDX-License-Identifier: MIT
// Reads the layers of the server's settings and checks them as a whole.
#include "serve_settings.hpp"

#include "twinstep/net/crypto.hpp"
#include "twinstep/net/errc.hpp"
#include "twinstep/net/udp_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#if defined(_WIN32)
#define environ _environ
#else
#include <unistd.h>
#endif

namespace twinstep::tools {

namespace {

using Kind = SettingKind;

Error bad(const SettingText& text, std::string_view key, std::string detail) {
    return Error(net::NetErrc::bad_setting, std::string(key), std::move(detail)).in(text.origin);
}

std::string spelled(Kind kind, std::uint64_t value) {
    if (kind == Kind::duration) {
        return value % 1000 == 0 ? fmt::format("{}s", value / 1000) : fmt::format("{}ms", value);
    }
    return std::to_string(value);
}

bool whole(std::string_view text, std::uint64_t& value) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    return !text.empty() && parsed.ec == std::errc{} && parsed.ptr == end;
}

struct Unit {
    std::string_view suffix;
    std::uint64_t factor;
};

/// A whole number and one of the units; false also if the product does not fit.
bool with_unit(std::string_view text, std::span<const Unit> units, std::uint64_t& value) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view suffix = text.substr(digits);
    const auto* unit = std::find_if(units.data(), units.data() + units.size(), [&](const Unit& u) {
        return u.suffix == suffix;
    });
    std::uint64_t number = 0;
    if (unit == units.data() + units.size() || !whole(text.substr(0, digits), number) ||
        number > UINT64_MAX / unit->factor) {
        return false;
    }
    value = number * unit->factor;
    return true;
}

constexpr Unit byte_units[] = {{"", 1}, {"K", 1U << 10U}, {"M", 1U << 20U}, {"G", 1U << 30U}};
constexpr Unit time_units[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"", 1'000}};

bool parse_rate(std::string_view text, TickRate& rate) {
    const std::size_t slash = text.find('/');
    std::uint64_t num = 0;
    std::uint64_t den = 1;
    if (!whole(text.substr(0, slash), num) ||
        (slash != std::string_view::npos && !whole(text.substr(slash + 1), den))) {
        return false;
    }
    if (num == 0 || den == 0 || num > 1'000'000 || den > 1'000'000 || num > 1000 * den) {
        return false;
    }
    rate = TickRate(static_cast<std::uint32_t>(num), static_cast<std::uint32_t>(den));
    return true;
}

/// Empty if the text fits the setting, otherwise what would.
std::string complaint(const SettingSpec& spec, const std::string& text) {
    std::uint64_t value = 0;
    const auto in_range = [&] { return value >= spec.low && value <= spec.high; };
    const auto range = [&](std::string_view form) {
        return fmt::format("\"{}\": use {} of {} to {}",
                           text,
                           form,
                           spelled(spec.kind, spec.low),
                           spelled(spec.kind, spec.high));
    };
    switch (spec.kind) {
    case Kind::text:
        return text.empty() ? "\"\": the value is empty" : "";
    case Kind::choice: {
        const std::string all = fmt::format("|{}|", spec.choices);
        const bool known = !text.empty() && text.find('|') == std::string::npos &&
                           all.find(fmt::format("|{}|", text)) != std::string::npos;
        return known ? "" : fmt::format("\"{}\": use {}", text, spec.choices);
    }
    case Kind::number:
        return whole(text, value) && in_range() ? "" : range("a whole number");
    case Kind::bytes:
        return with_unit(text, byte_units, value) && in_range()
                   ? ""
                   : range("a number of bytes, such as 512M,");
    case Kind::duration:
        return with_unit(text, time_units, value) && in_range()
                   ? ""
                   : range("a duration, such as 500ms or 30s,");
    case Kind::rate: {
        TickRate rate;
        return parse_rate(text, rate)
                   ? ""
                   : fmt::format("\"{}\": use N or N/D, 1 to 1000 a second", text);
    }
    case Kind::yes:
        return text == "on" || text == "off" || text == "true" || text == "false"
                   ? ""
                   : fmt::format("\"{}\": use on or off", text);
    }
    return {};
}

const SettingSpec* find_spec(std::string_view key) {
    for (const SettingSpec& spec : serve_setting_specs()) {
        if (key == spec.key) {
            return &spec;
        }
    }
    return nullptr;
}

/// Damerau-Levenshtein would be better at transpositions; for a handful of keys this is enough.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
            corner = above;
        }
    }
    return row[b.size()];
}

Error unknown_key(std::string_view key, std::string origin) {
    const SettingSpec* nearest = nullptr;
    std::size_t least = key.size() / 2 + 1;
    for (const SettingSpec& spec : serve_setting_specs()) {
        if (const std::size_t far = distance(key, spec.key); far < least) {
            least = far;
            nearest = &spec;
        }
    }
    const std::string hint = nearest != nullptr
                                 ? fmt::format("no such setting; did you mean {}?", nearest->key)
                                 : std::string("no such setting; see serve --print-config");
    return Error(net::NetErrc::bad_setting, std::string(key), hint).in(origin);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t first = text.find_first_not_of(blank);
    return first == std::string_view::npos
               ? std::string_view{}
               : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// One value at the front of `rest`: quoted or bare. False: it cannot be read.
bool take_value(std::string_view& rest, std::string& value) {
    rest = trimmed(rest);
    value.clear();
    if (!rest.starts_with('"')) {
        const std::size_t end = std::min(rest.find_first_of(",]#"), rest.size());
        value = trimmed(rest.substr(0, end));
        rest = trimmed(rest.substr(end));
        return !value.empty() && value.find('"') == std::string::npos;
    }
    for (std::size_t at = 1; at < rest.size(); ++at) {
        if (rest[at] == '"') {
            rest = trimmed(rest.substr(at + 1));
            return true;
        }
        if (rest[at] == '\\') {
            ++at;
            if (at == rest.size() || (rest[at] != '"' && rest[at] != '\\')) {
                return false;
            }
        }
        value += rest[at];
    }
    return false;
}

/// The right-hand side of a line: a value, or several in brackets.
bool take_values(std::string_view rest, std::vector<std::string>& values) {
    std::string value;
    if (!rest.starts_with('[')) {
        if (!take_value(rest, value)) {
            return false;
        }
        values.push_back(value);
        return rest.empty() || rest.front() == '#';
    }
    rest = trimmed(rest.substr(1));
    while (!rest.starts_with(']')) {
        if (!take_value(rest, value)) {
            return false;
        }
        values.push_back(value);
        if (rest.starts_with(',')) {
            rest = trimmed(rest.substr(1));
        } else if (!rest.starts_with(']')) {
            return false;
        }
    }
    rest = trimmed(rest.substr(1));
    return !values.empty() && (rest.empty() || rest.front() == '#');
}

} // namespace

Result<SettingTexts> parse_setting_file(std::string_view text, const std::string& path) {
    SettingTexts texts;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const std::string origin = fmt::format("{}, line {}", path, number);
        const std::size_t equals = line.find('=');
        const std::string key(trimmed(line.substr(0, equals)));
        SettingText found{{}, origin};
        if (equals == std::string_view::npos || key.empty() ||
            !take_values(trimmed(line.substr(equals + 1)), found.values)) {
            return fail(Error(net::NetErrc::bad_setting, {}, "write key = value").in(origin));
        }
        if (find_spec(key) == nullptr) {
            return fail(unknown_key(key, origin));
        }
        if (!texts.emplace(key, std::move(found)).second) {
            return fail(Error(net::NetErrc::bad_setting, key, "is set twice").in(origin));
        }
    }
    return texts;
}

Result<SettingTexts> settings_of_environment() {
    constexpr std::string_view prefix = "TWINSTEP_SERVE_";
    SettingTexts texts;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        const std::size_t equals = line.find('=');
        if (!line.starts_with(prefix) || equals == std::string_view::npos) {
            continue;
        }
        const std::string name(line.substr(0, equals));
        std::string key;
        for (const char letter : name.substr(prefix.size())) {
            const bool upper = letter >= 'A' && letter <= 'Z';
            key += letter == '_' ? '-' : upper ? static_cast<char>(letter - 'A' + 'a') : letter;
        }
        const SettingSpec* spec = find_spec(key);
        if (spec == nullptr) {
            return fail(unknown_key(key, name));
        }
        SettingText found{{}, name};
        std::string_view rest = line.substr(equals + 1);
        while (spec->repeatable && rest.find(',') != std::string_view::npos) {
            found.values.emplace_back(trimmed(rest.substr(0, rest.find(','))));
            rest = rest.substr(rest.find(',') + 1);
        }
        found.values.emplace_back(trimmed(rest));
        texts.emplace(key, std::move(found));
    }
    return texts;
}

namespace {

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
        std::uint64_t value = 0;
        const std::string& spelling = text(key);
        const Kind kind = find_spec(key)->kind;
        if (kind == Kind::bytes) {
            static_cast<void>(with_unit(spelling, byte_units, value));
        } else if (kind == Kind::duration) {
            static_cast<void>(with_unit(spelling, time_units, value));
        } else {
            static_cast<void>(whole(spelling, value));
        }
        return value;
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
    match.pace_median = values.text("pace") == "median";
    match.hash_interval_ticks = values.as<std::uint8_t>("hash-interval");
    match.slots = values.as<std::uint16_t>("slots");
    match.start_players = values.as<std::uint16_t>("players");
    static_cast<void>(parse_rate(values.text("tick-rate"), match.tick_rate));
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
    derive("workers", {std::to_string(std::clamp(std::thread::hardware_concurrency(), 1U, 4U))});
    if (!texts.contains("game")) {
        derive("tick-rate", {"60"});
    }
}

/// Every text by itself.
Result<void> check_each(const SettingTexts& texts) {
    for (const auto& [key, text] : texts) {
        const SettingSpec& spec = *find_spec(key);
        if (text.values.size() != 1 && !spec.repeatable) {
            return fail(bad(text, key, "one value is needed"));
        }
        for (const std::string& value : text.values) {
            if (std::string wrong = complaint(spec, value); !wrong.empty()) {
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
    for (const char* key : {"record-dir", "seed", "config-game"}) {
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
            out += fmt::format("# {} =  # not set\n", spec.key);
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
