// SPDX-License-Identifier: MIT
// Verifies one recording, with whatever further checks were asked for.
#pragma once

#include "command.hpp"

#include "twinstep/replay/reader.hpp"

#include <atomic>
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
};

/// What became of one file.
struct Outcome {
    std::string path;
    Exit exit = Exit::failed;
    std::uint64_t ticks = 0;
    std::uint64_t hashes_checked = 0;
    bool other_build = false;
    replay::FileState state = replay::FileState::closed;
    std::optional<replay::Loss> loss;
    std::optional<Divergence> divergence;
    std::string failed_check; ///< Which check found the divergence: "recorded hash", "fork", ...
    std::vector<std::string> remarks; ///< One line each, for people.
};

/// Simulates a recording again and compares. `ticks_done` counts steps while it runs.
Outcome verify_recording(const Context& context,
                         const std::string& path,
                         const VerificationOptions& options,
                         std::atomic<std::uint64_t>& ticks_done);

/// Writes the outcomes in a format: text, junit, tap or github.
std::string format_report(const std::vector<Outcome>& outcomes, std::string_view format);

/// "divergence at ...", "incompatible", ... for one outcome that is not done.
std::string reason_of(const Outcome& outcome);

} // namespace twinstep::tools
