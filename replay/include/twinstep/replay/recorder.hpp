// SPDX-License-Identifier: MIT
// An observer that records a session as it is played.
#pragma once

#include "twinstep/replay/writer.hpp"
#include "twinstep/sim/driver.hpp"
#include "twinstep/sim/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace twinstep::replay {

class SigningKey;

/// What of a recording survives what. In all of them a killed process loses no tick whose step had
/// begun, and the thread that plays never waits for a disk.
enum class Durability : std::uint8_t {
    process, ///< A loss of power may take whatever the system had not written by itself.
    chunk,   ///< ... at most the last chunk (600 ticks or 64 KiB) and what a slow disk still owes.
    tick,    ///< ... only the ticks that were on their way: every tick is synced as it comes.
};

/// What happens when the disk is so slow that the queue is full.
enum class WhenFull : std::uint8_t {
    lose, ///< Recording ends there; the ticks that follow are counted and told of in the file.
    wait, ///< The recorder waits: for sessions that no clock drives.
};

/// What may be chosen about a recording.
struct RecorderOptions {
    /// Drawn from the system if empty.
    std::optional<SessionId> session = std::nullopt;
    /// Further manifest entries, such as "record.created_utc". Keys begin with "record.".
    std::map<std::string, std::string> notes = {};
    // For recordings into a file; a sink of one's own is written directly.
    Durability durability = Durability::chunk;
    WhenFull when_full = WhenFull::lose;
    /// Bytes that a disk standing still may owe: 1 MiB are 15 minutes of one player at 60 ticks a
    /// second. Rounded up to a power of two, 128 KiB to 1 GiB.
    std::size_t queue_bytes = std::size_t{1} << 20;
    /// Recording stops when fewer bytes are free on the disk; 0: when none is.
    std::uint64_t free_bytes_min = 0;
    /// Signs each chunk at its end, and on close that the recording ends there; none: signs
    /// nothing. Some 50 us of the thread that plays for each chunk.
    std::shared_ptr<const SigningKey> signing_key = nullptr;
};

/// How a recording is doing.
struct RecorderStatus {
    std::uint64_t ticks = 0; ///< Ticks in the file.
    std::uint64_t lost_ticks =
        0;                   ///< Ticks played after recording stopped or while the queue was full.
    std::uint64_t bytes = 0; ///< Size of the file.
    Hash128 chain;           ///< Digest of the last chunk, which fixes everything before it.
    bool closed = false;     ///< The trailer is written.
    bool queued = false; ///< A thread of its own carries the bytes to the disk; else this one does.
    std::string
        journal; ///< Where the last ticks are that have not arrived in the file; empty: none.
    std::optional<Error> error; ///< Why recording stopped.
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
    /// The same into a file that the caller has just created at `path`, perhaps behind limits of
    /// his own; if this fails, what to do with the file is his business too.
    static Result<Recorder> create(std::unique_ptr<FileSink> file,
                                   const std::string& path,
                                   Simulation& simulation,
                                   const RecorderOptions& options);
    /// The same into any sink, which is written directly.
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

    std::string_view name() const override { return "the recorder"; }

    /// Ends the last chunk, writes the trailer and closes the file. A recording whose last step
    /// never returned stays open: it is whole, but has no trailer. Errors: what stopped the
    /// recording, or io_error.
    Result<void> close();

    RecorderStatus status() const;

private:
    struct Impl;
    explicit Recorder(std::unique_ptr<Impl> impl);
    static Result<Recorder> start(std::unique_ptr<FileSink> sink,
                                  const Head& head,
                                  Simulation& simulation,
                                  const RecorderOptions& options);
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::replay
