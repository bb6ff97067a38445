// SPDX-License-Identifier: MIT
// twinstep serve: a headless lockstep server, with a simulation or as a relay.
#include "command.hpp"
#include "serve_process.hpp"
#include "text_file.hpp"

#include "twinstep/net/errc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace twinstep::tools {

namespace {

constexpr std::uint64_t config_bytes_max_of_server = std::uint64_t{1} << 20;

struct ServeOptions {
    std::string game;
    std::string config;
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, bool> flags;
    bool print_config = false;
    bool check_config = false;
};

SettingTexts settings_of_flags(const ServeOptions& options) {
    SettingTexts texts;
    if (!options.game.empty()) {
        texts["game"] = {{options.game}, "GAME"};
    }
    for (const auto& [key, values] : options.values) {
        if (!values.empty()) {
            texts[key] = {values, "--" + key};
        }
    }
    for (const auto& [key, on] : options.flags) {
        if (on) {
            texts[key] = {{"on"}, "--" + key};
        }
    }
    return texts;
}

Result<ServeSettings> read_settings(const Context& context, const ServeOptions& options) {
    std::vector<SettingTexts> layers{settings_of_flags(options)};
    Result<SettingTexts> environment = settings_of_environment();
    if (!environment) {
        return fail(environment.error());
    }
    layers.push_back(std::move(*environment));
    if (!options.config.empty()) {
        const Result<std::string> text = read_text_file(options.config, config_bytes_max_of_server);
        if (!text) {
            return fail(text.error());
        }
        Result<SettingTexts> file = parse_setting_file(*text, options.config);
        if (!file) {
            return fail(file.error());
        }
        layers.push_back(std::move(*file));
    }
    return make_serve_settings(layers, [&context](const std::string& game) -> std::uint16_t {
        const Result<const GameEntry*> entry = context.find_game(game);
        if (!entry) {
            return 2; // The plan says that there is no such game.
        }
        const auto simulation = (*entry)->make();
        return std::clamp<std::uint16_t>(
            2, simulation->info().slots_min, simulation->info().slots_max);
    });
}

Exit refuse_setting(const Error& error) {
    const Exit exit = Context::refuse(error);
    return error.code == net::NetErrc::bad_setting ? Exit::usage : exit;
}

Exit run_serve(const Context& context, const ServeOptions& options) {
    Result<ServeSettings> settings = read_settings(context, options);
    if (!settings) {
        return refuse_setting(settings.error());
    }
    const Result<ServePlan> plan = make_serve_plan(context, std::move(*settings));
    if (!plan) {
        return refuse_setting(plan.error());
    }
    if (options.print_config) {
        Context::data(print_settings(plan->settings));
        return Exit::done;
    }
    if (options.check_config) {
        context.say("the configuration is good");
        context.print({{"good", true}});
        return Exit::done;
    }
    Log log = Log::to_standard_error(log_level_of(plan->settings.log_level),
                                     plan->settings.log_format == "json");
    return serve(context, *plan, log);
}

std::string help_of(const SettingSpec& spec) {
    std::string help = spec.help;
    if (spec.kind == SettingKind::choice) {
        help += fmt::format(" ({})", spec.choices);
    }
    if (*spec.fallback != '\0' && spec.kind != SettingKind::yes) {
        help += fmt::format(" [{}]", spec.fallback);
    }
    return help;
}

} // namespace

void declare_serve(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb =
        declare_verb(app,
                     context,
                     "serve",
                     "Serves lockstep matches, with a simulation or, without GAME, as a relay",
                     "twinstep serve marine --record-dir recordings --admin-listen 127.0.0.1:9600");
    auto options = std::make_shared<ServeOptions>();
    verb.add_option("GAME", options->game, "The game; see twinstep games");
    verb.add_option("--config", options->config, "File with settings, key = value");
    verb.add_flag("--print-config", options->print_config, "Print what is in effect, and end");
    verb.add_flag("--check-config", options->check_config, "Only check, and end");
    for (const SettingSpec& spec : serve_setting_specs()) {
        const std::string key = spec.key;
        if (key == "game") {
            continue;
        }
        if (spec.kind == SettingKind::yes) {
            verb.add_flag("--" + key, options->flags[key], help_of(spec));
        } else {
            // One value each time; that a setting is given twice is said by the checks.
            verb.add_option("--" + key, options->values[key], help_of(spec))
                ->expected(1)
                ->take_all();
        }
    }
    verb.callback(
        [&action, options] { action = [options](Context& c) { return run_serve(c, *options); }; });
}

} // namespace twinstep::tools
