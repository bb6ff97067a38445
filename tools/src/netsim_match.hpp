// SPDX-License-Identifier: MIT
// Runs one simulated match from its plan and says what was wrong with it.
#pragma once

#include "netsim_plan.hpp"
#include "netsim_world.hpp"

#include "twinstep/net/match.hpp"
#include "twinstep/tools/run.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace twinstep::tools::netsim {

/// What became of a match.
struct MatchReport {
    Plan plan;
    std::vector<std::string> failures; ///< Empty: everything held.
    std::uint64_t ticks = 0;           ///< Closed by the server.
    std::uint64_t frames_compared = 0; ///< At peers and in the recording.
    std::uint64_t hashes_compared = 0;
    std::uint64_t recording_hashes = 0; ///< Checked by simulating the recording again.
    std::uint64_t events = 0;
    std::uint64_t digest = 0; ///< Of the event log; equal on every run.
    std::uint64_t blamed = 0;
    std::uint64_t packets = 0;
    std::uint64_t memory_bytes_max = 0; ///< Of the server.
    net::MatchStatus status;
    /// Traffic at the server after the first 300 ticks, in datagrams and bytes of UDP payload.
    std::uint64_t steady_ticks = 0;
    std::uint64_t datagrams_up = 0;
    std::uint64_t datagrams_down = 0;
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::vector<PeerNumbers> peers;
    std::vector<Blamed> verdicts;
    std::vector<std::string> log;
    std::vector<std::string> capture; ///< Lines for the independent decoder.
    bool plant_fired = false;
};

/// Runs the match. Determinism: pure; every run of equal arguments gives an equal report.
MatchReport run_match(const GameEntry& game, const Plan& plan, const MatchOptions& options = {});

/// Runs it with fewer and fewer faults, then peers, then ticks, as long as it still fails. `still`
/// says whether to go on after each run; gets the number of runs so far.
Plan shrink(const GameEntry& game, const Plan& failing, const std::function<bool(unsigned)>& still);

/// The command that repeats a match.
std::string command_for(const Plan& plan, std::string_view program, std::string_view game);

} // namespace twinstep::tools::netsim
