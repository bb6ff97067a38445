// SPDX-License-Identifier: MIT
// twinstep play: replays a recording through the real loop.
#include "command.hpp"
#include "frame_loop.hpp"
#include "recordings.hpp"

#include "twinstep/replay/playback.hpp"

#include <fmt/format.h>

#include <memory>

namespace twinstep::tools {

namespace {

struct PlayOptions {
    std::string path;
    std::string frames = "unlimited";
    std::optional<double> speed;
    std::uint64_t from = 0;
    std::optional<std::uint64_t> until;
};

Exit play(Context& context, const PlayOptions& options) {
    if (options.until && *options.until < options.from) {
        Context::note("--until is before --from");
        return Exit::usage;
    }
    auto cadence = Cadence::parse(options.frames);
    if (!cadence) {
        Context::refuse(cadence.error());
        return Exit::usage;
    }
    auto recording = open_recording(context, options.path);
    if (!recording) {
        return Context::refuse(recording.error());
    }
    Simulation& simulation = *recording->simulation;
    const auto other_build = replay::prepare_simulation(simulation, recording->reader);
    if (!other_build) {
        return Context::refuse(other_build.error());
    }
    if (*other_build) {
        note_other_build(options.path);
    }
    replay::Playback playback(std::move(recording->reader));
    Driver driver(simulation, playback.source());
    driver.add(playback.verifier());
    // Without keyframes the way to a tick leads through all ticks before it.
    if (const auto seek = driver.advance(options.from); !seek) {
        return Context::refuse(seek.error());
    }
    if (simulation.tick().value < options.from) {
        Context::note(fmt::format("{}: --from {}: the recording has {} ticks",
                                  options.path,
                                  options.from,
                                  simulation.tick().value));
        return Exit::usage;
    }
    const auto loop =
        run_loop(driver,
                 *cadence,
                 {.ticks_max = options.until ? *options.until - options.from : UINT64_MAX,
                  .speed = options.speed.value_or(1.0),
                  .real_time = options.speed.has_value()});
    if (!loop) {
        return Context::refuse(loop.error());
    }
    const replay::Verdict& verdict = playback.verdict();
    const bool matched = !verdict.divergence && verdict.hashes_checked > 0;
    const std::string final_hash = to_hex(simulation.hash().state);
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
                            matched ? "every hash matched" : "NOT matched"));
    if (verdict.divergence) {
        Context::note(fmt::format("{}: {}", options.path, to_line(*verdict.divergence)));
        return Exit::divergence;
    }
    return verdict.hashes_checked == 0 ? Exit::nothing_checked : Exit::done;
}

} // namespace

void declare_play(CLI::App& app, Context& context, Action& action) {
    CLI::App& verb = declare_verb(app,
                                  context,
                                  "play",
                                  "Replay a recording through the real loop",
                                  "twinstep play bot.twin --frames 144");
    auto options = std::make_shared<PlayOptions>();
    verb.add_option("file", options->path, "Recording")->required();
    verb.add_option("--frames",
                    options->frames,
                    "When frames are drawn: N, unlimited, jitter:SEED, counts:FILE")
        ->capture_default_str();
    verb.add_option("--speed", options->speed, "Play in real time, 0.1 to 4 times as fast");
    verb.add_option("--from", options->from, "First tick that is played")->capture_default_str();
    verb.add_option("--until", options->until, "Tick before which playing ends");
    verb.callback(
        [&action, options] { action = [options](Context& c) { return play(c, *options); }; });
}

} // namespace twinstep::tools
