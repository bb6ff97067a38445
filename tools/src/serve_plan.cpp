// SPDX-License-Identifier: MIT
// The last checks before the server opens anything: keys, tokens, the game and its set-up.
#include "config_file.hpp"
#include "serve_process.hpp"
#include "text_file.hpp"

#include "twinstep/net/errc.hpp"
#include "twinstep/replay/errc.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t secret_bytes_max = 4096;
constexpr std::size_t token_bytes_min = 16;

Error about(const ServeSettings& settings, const char* key, std::string detail) {
    const auto text = settings.texts.find(key);
    return Error(net::NetErrc::bad_setting, key, std::move(detail))
        .in(text == settings.texts.end() ? "default" : text->second.origin);
}

Result<net::Key>
read_key(const ServeSettings& settings, const char* name, const std::string& path) {
    const Result<std::string> text = read_text_file(path, secret_bytes_max);
    if (!text) {
        return fail(about(settings, name, to_string(text.error())));
    }
    Result<net::Key> key = net::parse_key(*text);
    if (!key) {
        // The content stays out of the message.
        return fail(
            about(settings, name, fmt::format("{}: 64 hexadecimal digits are needed", path)));
    }
    return key;
}

Result<std::string> read_token(const ServeSettings& settings) {
    const Result<std::string> text = read_text_file(settings.admin_token_file, secret_bytes_max);
    if (!text) {
        return fail(about(settings, "admin-token-file", to_string(text.error())));
    }
    std::string token = *text;
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) {
        token.pop_back();
    }
    const bool visible = token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                                 "XYZ0123456789-._~+/=") == std::string::npos;
    if (token.size() < token_bytes_min || !visible) {
        return fail(about(settings,
                          "admin-token-file",
                          fmt::format("{}: one line of at least {} letters and digits is needed",
                                      settings.admin_token_file,
                                      token_bytes_min)));
    }
    return token;
}

/// Whether the game would take the set-up that every match gets.
Result<void> check_game(ServePlan& plan) {
    ServeSettings& settings = plan.settings;
    const auto simulation = plan.entry->make();
    const SimulationInfo& info = simulation->info();
    if (settings.slots < info.slots_min || settings.slots > info.slots_max) {
        return fail(about(
            settings,
            "slots",
            fmt::format(
                "{}: {} has {} to {}", settings.slots, info.id, info.slots_min, info.slots_max)));
    }
    if (plan.entry->neutral.size() > settings.match.input_bytes_max) {
        return fail(about(settings,
                          "input-bytes-max",
                          fmt::format("{}: an input of {} has {} bytes",
                                      settings.match.input_bytes_max,
                                      info.id,
                                      plan.entry->neutral.size())));
    }
    if (!settings.config_game.empty()) {
        auto config = read_config_file(settings.config_game);
        if (!config) {
            return fail(about(settings, "config-game", to_string(config.error())));
        }
        plan.game_config = std::move(*config);
    }
    const Setup setup{settings.seed.value_or(1), settings.slots, plan.game_config};
    if (Result<void> reset = simulation->reset(setup); !reset) {
        return fail(about(settings, "config-game", to_string(reset.error())));
    }
    settings.match.tick_rate = info.tick_rate;
    return {};
}

} // namespace

Result<ServePlan> make_serve_plan(const Context& context, ServeSettings settings) {
    ServePlan plan;
    plan.settings = std::move(settings);
    const ServeSettings& chosen = plan.settings;
    if (!chosen.game.empty()) {
        const Result<const GameEntry*> entry = context.find_game(chosen.game);
        if (!entry) {
            return fail(about(chosen, "game", to_string(entry.error())));
        }
        plan.entry = *entry;
        if (Result<void> good = check_game(plan); !good) {
            return fail(good.error());
        }
    }
    const bool room = !chosen.room_key_file.empty();
    if (room || !chosen.token_key_file.empty()) {
        plan.mode = room ? net::wire::Mode::room_key : net::wire::Mode::token;
        Result<net::Key> key = room ? read_key(chosen, "room-key-file", chosen.room_key_file)
                                    : read_key(chosen, "token-key-file", chosen.token_key_file);
        if (!key) {
            return fail(key.error());
        }
        plan.key = *key;
    }
    if (!chosen.admin_token_file.empty()) {
        Result<std::string> token = read_token(chosen);
        if (!token) {
            return fail(token.error());
        }
        plan.admin_token = std::move(*token);
    }
    for (const auto& [key, path] : {std::pair{"record-dir", &chosen.record_dir},
                                    std::pair{"evidence-dir", &chosen.evidence_dir}}) {
        std::error_code error;
        if (!path->empty() && !std::filesystem::is_directory(*path, error)) {
            return fail(
                about(chosen, key, fmt::format("\"{}\": there is no such directory", *path)));
        }
    }
    return plan;
}

} // namespace twinstep::tools
