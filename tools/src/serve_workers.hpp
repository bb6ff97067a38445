// SPDX-License-Identifier: MIT
// Threads that simulate the matches, so that a long step never delays an acknowledgement.
#pragma once

#include "serve_simulated_match.hpp"

#include "twinstep/net/match.hpp"
#include "twinstep/net/types.hpp"
#include "twinstep/sim/bytes.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::tools {

/// What a worker has to say about a match.
struct WorkDone {
    enum class Kind : std::uint8_t {
        stepped,           ///< `hashes` of the state reached, if wanted; `took` for the step.
        snapshot,          ///< `snapshot` of `hashes.tick`.
        evidence,          ///< `path` was written, or `error` says why not.
        recording_stopped, ///< `error` says why; the match may go on.
        failed,            ///< `error` says why; this match is simulated no longer.
        finished,          ///< The recording is closed.
    };

    Kind kind{};
    net::MatchId match = 0;
    StateHashes hashes;
    net::Micros took;
    Bytes snapshot;
    Error error;
    std::string path;
};

/// A few threads; each match lives on one of them. Everything that goes in is copied into a bounded
/// queue, everything that comes out waits until it is taken.
/// Thread: one owner, usually the network's; heartbeat_age may be asked by any.
class Workers {
public:
    /// Frames of one match that may wait: two minutes at 60 Hz. More means that the simulation
    /// cannot keep up with the match at all.
    static constexpr std::size_t frames_waiting_max = 7200;

    /// `wake` is called from the workers when something is there to be taken; it must not block.
    Workers(std::uint32_t threads, std::function<void()> wake);
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    /// Waits for the threads.
    ~Workers();

    /// Gives a match to the thread with the fewest.
    void add(net::MatchId match, std::unique_ptr<SimulatedMatch> simulation);
    /// The next closed tick. False: the queue is full, and the match cannot be simulated on.
    bool push(net::MatchId match, ByteView frame);
    /// A snapshot of any state from `tick` on.
    void want_snapshot(net::MatchId match, Tick tick);
    /// The state of `tick`, to a new file.
    void write_evidence(net::MatchId match, Tick tick, std::string path);
    /// No further ticks come: what waits is stepped, then the recording is closed.
    void finish(net::MatchId match);

    /// Moves what has been done to the end of `target`.
    void take(std::vector<WorkDone>& target);

    /// Steps waiting for all matches.
    std::size_t waiting() const;

    /// How long the slowest thread has said nothing. Idle threads speak up several times a second.
    net::Micros heartbeat_age(net::Micros now) const;

    /// Ends without stepping what waits: recordings are closed after the step that runs. Waits for
    /// `patience` at most; false: a thread is stuck, and the process can only be ended.
    bool stop(net::Micros patience);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace twinstep::tools
