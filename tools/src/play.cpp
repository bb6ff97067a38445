// SPDX-License-Identifier: MIT
// twinstep play: replays a recording, or a part of it, through the real loop.
#include "command.hpp"
#include "frame_loop.hpp"
#include "options.hpp"
#include "parsed_number.hpp"
#include "player_session.hpp"
#include "recordings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace twinstep::tools {

namespace {

constexpr double speed_min = 0.1;
constexpr double speed_max = 64.0;

struct PlayOptions {
    std::string path;
    std::optional<std::string> frames; ///< Default: unlimited, or 60 in real time.
    std::optional<std::string> speed;  ///< "unlimited", the default, is no number.
    std::optional<std::uint64_t> from; ///< Default: the first tick.
    std::optional<std::uint64_t> until;
    bool backwards = false;
    std::optional<std::uint32_t> workers;

    std::optional<double> speed_factor() const {
        return speed ? parsed_number<double>(*speed) : std::nullopt;
    }
};

/// A number of speed_min to speed_max, or "unlimited".
CLI::Validator speed_text() {
    const auto check = [](std::string& text) -> std::string {
        const auto value = parsed_number<double>(text);
        const bool fits = value && *value >= speed_min && *value <= speed_max;
        return fits || text == "unlimited"
                   ? ""
                   : fmt::format("\"{}\": use a number of {} to {}, or unlimited",
                                 text,
                                 speed_min,
                                 speed_max);
    };
    return CLI::Validator(check, "");
}

/// Takes ticks forwards, or back from where the player is.
Advancer advancer_of(replay::Player& player, bool backwards) {
    if (!backwards) {
        return [&player](std::uint64_t ticks) -> Result<Advance> {
            const auto played = player.play(ticks);
            if (!played) {
                return fail(played.error());
            }
            return Advance{*played, *played < ticks ? DriverState::ended : DriverState::running};
        };
    }
    return [&player](std::uint64_t ticks) -> Result<Advance> {
        Advance advance;
        while (advance.ticks < ticks) {
            if (player.tick() == player.first_tick()) {
                advance.state = DriverState::ended;
                break;
            }
            if (auto back = player.step_back(); !back) {
                return fail(back.error());
            }
            ++advance.ticks;
        }
        return advance;
    };
}

void report(Context& context, PlayerSession& session, const LoopReport& loop) {
    const replay::Verdict& verdict = session.player.verdict();
    const bool matched = !verdict.divergence && verdict.hashes_checked > 0;
    const std::string final_hash = to_hex(session.simulation->hash().state);
    context.print({{"file", session.path},
                   {"ticks", json_integer(loop.ticks)},
                   {"final_hash", final_hash},
                   {"matched", matched},
                   {"hashes_checked", json_integer(verdict.hashes_checked)},
                   {"frames", json_integer(loop.frames)}});
    context.say(fmt::format("{}: {} ticks in {} frames, final hash {}, {}",
                            session.path,
                            loop.ticks,
                            loop.frames,
                            final_hash,
                            matched              ? "every hash matched"
                            : verdict.divergence ? "NOT matched"
                                                 : "no hash was checked"));
}

/// Goes to where playing begins and plays. Errors are noted.
tl::expected<LoopReport, Exit>
play_part(PlayerSession& session, Cadence& cadence, const PlayOptions& options) {
    replay::Player& player = session.player;
    const std::uint64_t from = options.from.value_or(player.first_tick().value);
    const std::uint64_t until = options.until.value_or(player.end_tick().value);
    const bool to_the_end = !options.backwards && !options.until;
    if (const auto reached = options.backwards
                                 ? seek(session, until, options.until ? "--until" : "the end")
                                 : seek(session, from, "--from");
        !reached) {
        return tl::make_unexpected(Context::refuse_option(reached.error()));
    }
    // What was found on the way to a part is about the way, but a wrong start makes it all wrong.
    if (!player.verdict().divergence) {
        player.clear_verdict();
    }
    const auto speed = options.speed_factor();
    const auto loop =
        run_loop(advancer_of(player, options.backwards),
                 session.simulation->info().tick_rate,
                 cadence,
                 {.ticks_max = to_the_end ? UINT64_MAX : until - std::min(from, until),
                  .speed = speed.value_or(1.0),
                  .real_time = speed.has_value()});
    if (!loop) {
        return tl::make_unexpected(Context::refuse(located(loop.error(), options.path)));
    }
    return *loop;
}

Exit play(Context& context, const PlayOptions& options) {
    if (options.until && *options.until < options.from.value_or(0)) {
        Context::note("--until is before --from");
        return Exit::usage;
    }
    const auto speed = options.speed_factor();
    auto cadence = Cadence::parse(options.frames.value_or(speed ? "60" : "unlimited"));
    if (!cadence) {
        return Context::refuse_option(cadence.error());
    }
    if (speed && cadence->unlimited()) {
        Context::note("--speed: unlimited frames know no time: leave --frames out or give a rate");
        return Exit::usage;
    }
    auto session = open_player(context, options.path, options.workers);
    if (!session) {
        return Context::refuse(session.error());
    }
    const auto loop = play_part(*session, *cadence, options);
    if (!loop) {
        return loop.error();
    }
    report(context, *session, *loop);
    note_problems(session->player.recording());
    const replay::Verdict& verdict = session->player.verdict();
    if (verdict.divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*verdict.divergence)));
        return Exit::divergence;
    }
    if (verdict.hashes_checked == 0) {
        Context::note(fmt::format("{}: nothing was checked: no tick was played", options.path));
        return Exit::nothing_checked;
    }
    // Of what lies behind --until nothing is said.
    if (!loop->ended || options.backwards) {
        return Exit::done;
    }
    const replay::KeyframedRecording& recording = session->player.recording();
    return exit_for_state(options.path, recording.state(), recording.defects());
}

} // namespace

void declare_play(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "play",
                                  "Replay a recording through the real loop",
                                  "twinstep play bot.twin --frames 144");
    auto options = std::make_shared<PlayOptions>();
    verb.add_option("file", options->path, "Recording")->required()->check(not_empty());
    verb.add_option("--frames",
                    options->frames,
                    "When frames are drawn: N, unlimited, jitter:SEED, counts:FILE; default: "
                    "unlimited, or 60 with --speed");
    verb.add_option("--speed",
                    options->speed,
                    "Play in real time, 0.1 to 64 times as fast; unlimited: as fast as it goes")
        ->check(speed_text());
    verb.add_option("--from", options->from, "First tick that is played; default: the first one")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--until", options->until, "Tick before which playing ends")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_flag("--backwards", options->backwards, "Play from the end of the part to its start");
    add_workers_option(verb, options->workers);
    verb.callback(
        [&action, options] { action = [options](Context& c) { return play(c, *options); }; });
}

} // namespace twinstep::tools
