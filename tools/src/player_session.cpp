// SPDX-License-Identifier: MIT
// A recording that can be gone through to and fro, with the keyframes that lie beside it.
#include "player_session.hpp"

#include "options.hpp"
#include "recordings.hpp"

#include <fmt/format.h>

#include <utility>

namespace twinstep::tools {

namespace {

std::string problem_line(const replay::KeyframeProblem& problem) {
    const std::string which =
        problem.tick ? fmt::format("keyframe of tick {}", problem.tick->value) : "keyframe";
    return fmt::format("{} not used: {}", which, to_string(problem.error));
}

} // namespace

void add_workers_option(CLI::App& verb, std::optional<std::uint32_t>& workers) {
    verb.add_option("--workers",
                    workers,
                    "Threads that compute a step together, where the game lets them; default: one "
                    "a processor, 4 at most")
        ->transform(whole_number(1, WorkerPool::count_max));
}

Result<PlayerSession>
open_player(const Context& context, const std::string& path, std::optional<std::uint32_t> workers) {
    auto recording = open_recording(context, path);
    if (!recording) {
        return fail(recording.error());
    }
    auto pool = WorkerPool::start(workers.value_or(default_workers()));
    if (!pool && workers) {
        return fail(pool.error());
    }
    if (pool) {
        recording->simulation->set_workers(pool->get());
    }
    replay::PlayerOptions options;
    options.keyframes.side_file = found_side_file(path);
    auto player =
        replay::Player::open(*recording->simulation, std::move(recording->reader), options);
    if (!player) {
        return fail(located(std::move(player.error()), path));
    }
    if (player->build_differs()) {
        note_other_build(path);
    }
    return PlayerSession{path,
                         pool ? std::move(*pool) : nullptr,
                         std::move(recording->simulation),
                         std::move(*player)};
}

Result<void> seek(PlayerSession& session, std::uint64_t tick, std::string_view option) {
    const replay::Player& player = session.player;
    if (tick < player.first_tick().value || tick > player.end_tick().value) {
        const bool late = player.first_tick() > Tick{0};
        return fail(
            Error(SimErrc::wrong_tick,
                  fmt::format("{} {}", option, tick),
                  late ? fmt::format("{} has ticks {} to {}",
                                     session.path,
                                     player.first_tick().value,
                                     player.end_tick().value)
                       : fmt::format("{} has {} ticks", session.path, player.end_tick().value)));
    }
    const Result<void> gone = session.player.seek(Tick{tick});
    return gone ? gone : fail(located(gone.error(), session.path));
}

std::size_t note_problems(const replay::KeyframedRecording& recording, std::size_t from) {
    const auto& problems = recording.problems();
    for (std::size_t i = from; i < problems.size(); ++i) {
        Context::note(problem_line(problems[i]));
    }
    if (recording.problems_left_out() > 0) {
        Context::note(fmt::format("and {} keyframes more", recording.problems_left_out()));
    }
    return problems.size();
}

Json to_json(const replay::KeyframeProblem& problem) {
    Json object{{"what", problem.error.code.message()},
                {"field", problem.error.field},
                {"detail", problem.error.detail}};
    object["offset"] = problem.error.offset ? Json(json_integer(*problem.error.offset)) : Json();
    object["tick"] = problem.tick ? Json(json_integer(problem.tick->value)) : Json();
    return object;
}

} // namespace twinstep::tools
