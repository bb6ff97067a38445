// SPDX-License-Identifier: MIT
// twinstep play: replays a recording through the real loop.
#include "command.hpp"
#include "frame_loop.hpp"
#include "options.hpp"
#include "recordings.hpp"

#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

struct PlayOptions {
    std::string path;
    std::optional<std::string> frames; ///< Default: unlimited, or 60 in real time.
    std::optional<double> speed;
    std::uint64_t from = 0;
    std::optional<std::uint64_t> until;
};

Exit play(Context& context, const PlayOptions& options) {
    if (options.until && *options.until < options.from) {
        Context::note("--until is before --from");
        return Exit::usage;
    }
    auto cadence =
        Cadence::parse(options.frames.value_or(options.speed.has_value() ? "60" : "unlimited"));
    if (!cadence) {
        return Context::refuse_option(cadence.error());
    }
    if (options.speed && cadence->unlimited()) {
        Context::note("--speed: unlimited frames know no time: leave --frames out or give a rate");
        return Exit::usage;
    }
    auto session = start_replay(context, options.path);
    if (!session) {
        return Context::refuse(session.error());
    }
    if (session->other_build) {
        note_other_build(options.path);
    }
    if (const Result<void> reached = seek(*session, options.from, "--from"); !reached) {
        return Context::refuse_option(reached.error());
    }
    const auto loop =
        run_loop(session->driver,
                 *cadence,
                 {.ticks_max = options.until ? *options.until - options.from : UINT64_MAX,
                  .speed = options.speed.value_or(1.0),
                  .real_time = options.speed.has_value()});
    if (!loop) {
        return Context::refuse(located(loop.error(), options.path));
    }
    const replay::Verdict& verdict = session->playback.verdict();
    const bool matched = !verdict.divergence && verdict.hashes_checked > 0;
    const std::string final_hash = to_hex(session->simulation->hash().state);
    context.print({{"file", options.path},
                   {"ticks", json_integer(loop->ticks)},
                   {"final_hash", final_hash},
                   {"matched", matched},
                   {"hashes_checked", json_integer(verdict.hashes_checked)},
                   {"frames", json_integer(loop->frames)}});
    context.say(fmt::format("{}: {} ticks in {} frames, final hash {}, {}",
                            options.path,
                            loop->ticks,
                            loop->frames,
                            final_hash,
                            matched              ? "every hash matched"
                            : verdict.divergence ? "NOT matched"
                                                 : "no hash was checked"));
    if (verdict.divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*verdict.divergence)));
        return Exit::divergence;
    }
    if (verdict.hashes_checked == 0) {
        Context::note(fmt::format("{}: nothing was checked: no tick was played", options.path));
        return Exit::nothing_checked;
    }
    // What lies behind --until was not read, so nothing is known of it.
    if (!loop->ended) {
        return Exit::done;
    }
    const replay::Reader& reader = session->playback.reader();
    return exit_for_state(options.path, reader.state(), reader.defects());
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
    verb.add_option("--speed", options->speed, "Play in real time, 0.1 to 4 times as fast")
        ->check(number(0.1, 4.0));
    verb.add_option("--from", options->from, "First tick that is played")
        ->transform(whole_number(0, UINT64_MAX))
        ->capture_default_str();
    verb.add_option("--until", options->until, "Tick before which playing ends")
        ->transform(whole_number(0, UINT64_MAX));
    verb.callback(
        [&action, options] { action = [options](Context& c) { return play(c, *options); }; });
}

} // namespace twinstep::tools
