// SPDX-License-Identifier: MIT
// Verifies one recording, with whatever further checks were asked for.
#pragma once

#include "command.hpp"
#include "verification_progress.hpp"

#include "twinstep/replay/reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// Checks beside the recorded hashes; zero switches one off.
struct VerificationOptions {
    bool twice = false;                ///< Run it all again in this process.
    std::uint64_t fork_every = 0;      ///< Every K ticks load the state into a second simulation.
    std::uint64_t roundtrip_every = 0; ///< Every K ticks save the state and load it again.
    std::uint64_t rollback_every = 0;  ///< Every K ticks go back and take the same steps again,
    std::uint32_t rollback_depth = 8;  ///< by 1 to so many ticks.
    std::uint32_t workers_each = 0;    ///< Compare with 2 to so many workers.
    bool poison = false;               ///< Compare with fresh memory and stack that were filled.
    bool shuffle = false;              ///< Compare with memory at other addresses, by the seed.
    bool perturb = false;              ///< Compare with another locale and float mode outside.
    bool fresh = false;                ///< Run it again in another process.
    std::string other_build;           ///< Another build of this command to compare with, or "".
    std::uint64_t seed = 1;            ///< Of what the checks choose at random.
    unsigned segment_jobs = 0;         ///< Threads for the segments of one recording; 0: one pass.
};

/// What became of one file.
struct Outcome {
    std::string path;
    Exit exit = Exit::failed;
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    std::uint64_t segments = 0; ///< That were verified by themselves; 0: it was one pass.
    bool other_build = false;
    replay::FileState state = replay::FileState::closed;
    std::optional<replay::Loss> loss;
    std::optional<Divergence> divergence;
    std::string failed_check;   ///< Which check found the divergence: "recorded hash", "fork", ...
    std::string again;          ///< The command that finds it again; empty: the same as before.
    std::optional<Error> error; ///< What kept the file from being read or simulated to its end.
    std::optional<Tick> broken_tick;           ///< First tick that is not there, in a broken file.
    std::optional<std::uint64_t> broken_chunk; ///< Number of the chunk that is damaged.
    std::vector<std::string> remarks;          ///< One line each, for people.
};

/// True if the file, or the side file beside it, has keyframes. False if it cannot be read.
bool has_keyframes(const std::string& path);

/// Simulates a recording again and compares. `progress` counts steps meanwhile.
Outcome verify_recording(const Context& context,
                         const std::string& path,
                         const VerificationOptions& options,
                         FileProgress& progress);

/// What a run of verify was asked to look at: which of how many shards, of which files.
struct Shard {
    std::size_t index = 1;
    std::size_t count = 1;
    std::size_t files = 0; ///< Of all shards together.
    std::string list;      ///< Digest of the names of all of them, in order.
};

/// The gravest exit of all files. Divergence comes first: it is what verify is for.
Exit overall_exit(const std::vector<Outcome>& outcomes);

/// The graver of two exits of verify.
Exit graver(Exit left, Exit right);

/// The report as JSON.
Json report_json(const std::vector<Outcome>& outcomes, const Shard& shard);

/// Writes the outcomes in a format: text, json, junit, tap or github.
std::string
format_report(const std::vector<Outcome>& outcomes, const Shard& shard, std::string_view format);

/// "DIVERGES", "incompatible", ... for one outcome, for people.
std::string reason_of(const Outcome& outcome);

/// The fixed word for what is wrong: docs/cli.md lists them. "identical" if nothing is.
std::string_view verdict_of(const Outcome& outcome);

} // namespace twinstep::tools
