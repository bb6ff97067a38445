// SPDX-License-Identifier: MIT
// A recording that can be gone through to and fro, with the keyframes that lie beside it.
#pragma once

#include "command.hpp"

#include "twinstep/replay/player.hpp"
#include "twinstep/sim/workers.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// A player and the simulation that it plays.
struct PlayerSession {
    std::string path;
    std::unique_ptr<WorkerPool> workers; ///< Of the simulation; null: it is alone.
    std::unique_ptr<Simulation> simulation;
    replay::Player player;
};

/// Adds --workers: how many threads take the parts of a step's loops. Default: one a processor,
/// four at most.
void add_workers_option(CLI::App& verb, std::optional<std::uint32_t>& workers);

/// Opens a recording and its side file, if there is one, at the recording's first tick. Notes what
/// people should know: another build, keyframes that are not used. Errors: those of open_recording
/// and replay::Player::open, with the path; WorkerPool::start's, if `workers` were asked for.
Result<PlayerSession>
open_player(const Context& context, const std::string& path, std::optional<std::uint32_t> workers);

/// Goes to a tick. Errors: the player's; wrong_tick, naming `option`, if the recording has no such
/// tick.
Result<void> seek(PlayerSession& session, std::uint64_t tick, std::string_view option);

/// Notes each keyframe that is not used, from number `from` on; how many there are now.
std::size_t note_problems(const replay::KeyframedRecording& recording, std::size_t from = 0);

Json to_json(const replay::KeyframeProblem& problem);

} // namespace twinstep::tools
