// SPDX-License-Identifier: MIT
// What the verbs that make recordings out of recordings share.
#pragma once

#include "beside.hpp"
#include "command.hpp"

#include "twinstep/replay/edit.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace twinstep::tools {

/// A recording by its path. Errors of opening: those of open_reader.
replay::ReadableRecording readable(const std::string& path);

/// A new simulation of the game that made a recording, or null if the game is unknown here. Errors:
/// those of open_reader.
Result<std::unique_ptr<Simulation>> known_game(const Context& context, const std::string& path);

/// A line on standard error that is drawn over, on a terminal only and only for work longer than a
/// second. Thread: one.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Draws, at most four times a second. `rate` counts something per second.
    void draw(std::string_view text, std::uint64_t count, std::string_view unit);

    double seconds() const;

private:
    bool visible_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_{};
};

/// What of a recording went where, to be compared when it is read back.
struct CopiedPart {
    replay::ReadableRecording source;
    Tick from;
    Tick until;
};

/// Reads what was written, strictly and to its end, and compares it with what it was copied from.
/// With a simulation, the state that it begins with is proved as well. Errors: corrupt_record where
/// it differs; the reader's; prepare_simulation's.
Result<void>
read_back(const std::string& path, std::span<const CopiedPart> parts, Simulation* simulation);

/// Says that the game went another way than a recording.
Exit refuse_divergence(Context& context, const std::string& path, const Divergence& divergence);

/// The keys that all edits have.
Json edit_answer(const std::string& output, const replay::EditReport& report);

/// "out.twin: ticks 100 to 200, 300 bytes, chain ..." for people.
std::string edit_line(const std::string& output, const replay::EditReport& report);

} // namespace twinstep::tools
