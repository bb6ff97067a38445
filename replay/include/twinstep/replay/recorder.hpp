// SPDX-License-Identifier: MIT
// An observer that records a session as it is played.
#pragma once

#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

/// What may be chosen about a recording.
struct RecorderOptions {
    /// Drawn from the system if empty.
    std::optional<SessionId> session;
    /// Further manifest entries, such as "record.created_utc". Keys begin with "record.".
    std::map<std::string, std::string> notes;
};

/// How a recording is doing.
struct RecorderStatus {
    std::uint64_t ticks = 0;      ///< Ticks in the file.
    std::uint64_t lost_ticks = 0; ///< Ticks played after recording stopped.
    std::uint64_t bytes = 0;      ///< Size of the file.
    Hash128 chain;                ///< Digest of the last chunk, which fixes everything before it.
    bool closed = false;          ///< The trailer is written.
    std::optional<Error> error;   ///< Why recording stopped.
};

/// Records every tick before its step, so that the inputs of a step that kills the process are in
/// the file. A failing disk stops the recording, never the game; so does a state that was loaded or
/// reset meanwhile, because the file would not lead to it. Several recorders may share a driver.
/// Add it to the driver where it stays: nothing may be called on a recorder that was moved from.
/// Thread: the driver's.
class Recorder final : public Observer {
public:
    /// Creates the file `path` (UTF-8). The simulation is at tick 0. Errors: already_exists,
    /// io_error, wrong_tick, corrupt_head (text that is not UTF-8), limit_exceeded.
    static Result<Recorder>
    create(const std::string& path, Simulation& simulation, const RecorderOptions& options = {});
    /// The same into any sink.
    static Result<Recorder> create(std::unique_ptr<FileSink> sink,
                                   Simulation& simulation,
                                   const RecorderOptions& options = {});

    Recorder(Recorder&&) noexcept;
    Recorder& operator=(Recorder&&) noexcept;
    /// Closes if close() was not called.
    ~Recorder() override;

    /// Writes the tick's record.
    void before(const TickBegin& begin) override;
    /// Ends the chunk if it is due.
    void after(const StateHashes& hashes) override;

    /// Ends the last chunk, writes the trailer and closes the file. A recording whose last step
    /// never returned stays open: it is whole, but has no trailer. Errors: what stopped the
    /// recording, or io_error.
    Result<void> close();

    RecorderStatus status() const;

private:
    struct Impl;
    explicit Recorder(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::replay
